/* SPDX-License-Identifier: BSD-2-Clause
 *
 * selftest.c - decides where probes go, by trying them on a program of ours.
 *
 * Invariant: the fast place is used only where every single thing that was tried on it came out
 * right; whatever else happened, up to a program that crashes or hangs, ends in the slow place,
 * which must pass the same test, and in a sentence that says why.
 */
#include "loader/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader/bpf_log.h"
#include "loader/elfscan.h"
#include "loader/images.h"
#include "loader/ledger.h"
#include "loader/rings.h"
#include "loader/sandbox.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

#define HELPER "sp-selftest"
#define DEADLINE_NS 10000000000u /* for all of it; it takes 50 ms, on an emulated machine 2 s */
#define PATCHED 0xe8		 /* a call: the kernel took the fast path */

#ifdef __x86_64__
#define HAS_FAST_PLACE 1
#else
#define HAS_FAST_PLACE 0 /* the stub is a nop and a return */
#endif

/* Where an attempt broke off. */
enum failure {
	FAIL_NONE,
	FAIL_ARM,   /* the kernel refused the probes */
	FAIL_HANG,  /* the program did not end */
	FAIL_CRASH, /* it ended otherwise than it should */
	FAIL_READ,  /* the helper that reads ELF files told of no probes in it */
	FAIL_FORK,  /* it could not fork */
	FAIL_OURS,  /* nothing that the kernel did with the probes */
};

struct outcome {
	unsigned calls, apart, wrong, byte;
	double pair_ns;
	int child; /* how a forked child ended; 0 well, -errno there was none */
	char page[2 * SP_UNWIND_TRAMPOLINE_BYTES + 1]; /* in hexadecimal, or "-" */
	unsigned recorded;
	enum failure failure;
	char ended[80]; /* after FAIL_CRASH: how */
};

static void on_record(void *arg, unsigned cpu, const struct sp_head *event, size_t bytes)
{
	struct outcome *o = arg;

	(void)cpu;
	(void)bytes;
	o->recorded += event->type == SP_EV_call;
}

/* Milliseconds until then, for poll(). */
static int left_ms(uint64_t deadline)
{
	uint64_t now = sp_now();

	return now >= deadline ? 0 : (int)((deadline - now) / 1000000 + 1);
}

/* All that the program says, until it ends or closes its output. */
static int read_all(int fd, char *text, size_t room, uint64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t at = 0;
	ssize_t n;

	for (;;) {
		n = poll(&p, 1, left_ms(deadline));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ETIME;
		n = read(fd, text + at, room - 1 - at);
		if (n < 0)
			return -errno;
		at += (size_t)n;
		text[at] = 0;
		if (n == 0 || at == room - 1)
			return 0;
	}
}

/* Waits for its end, and kills it if that does not come. -ETIME then; else its status. */
static int await_end(pid_t pid, uint64_t deadline, int *ret_status)
{
	sp_cleanup(sp_closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	bool over;
	int r;

	do
		r = fd < 0 ? -1 : poll(&p, 1, left_ms(deadline));
	while (r < 0 && fd >= 0 && errno == EINTR);
	over = r == 1;
	if (!over) /* its forked child is in its group */
		kill(-pid, SIGKILL);
	r = sp_sandbox_wait(pid, !over, ret_status);
	return r < 0 ? r : over ? 0 : -ETIME;
}

static int parse(const char *text, struct outcome *o)
{
	return sscanf(text,
		      "calls=%u apart=%u wrong=%u byte=%x pair_ns=%lf child=%d page=%40[-0-9a-f]",
		      &o->calls, &o->apart, &o->wrong, &o->byte, &o->pair_ns, &o->child,
		      o->page) == 7
		       ? 0
		       : -EPROTO;
}

/* How the program came to its end, and what it said. */
static int judge_end(int r, int status, const char *text, struct outcome *o)
{
	if (r == -ETIME) {
		o->failure = FAIL_HANG;
		return r;
	}
	if (r == 0 && status) {
		o->failure = FAIL_CRASH;
		sp_sandbox_status_text(status, o->ended, sizeof(o->ended));
		return -EPROTO;
	}
	if (r == 0 && parse(text, o) < 0) {
		o->failure = FAIL_CRASH;
		snprintf(o->ended, sizeof(o->ended), "said nothing that makes sense");
		return -EPROTO;
	}
	if (r == 0 && o->child < 0) {
		o->failure = FAIL_FORK;
		return o->child;
	}
	return r;
}

/* Starts the program, gives it a lane, lets it run and reads its line. */
static int run_program(struct sp_bpf *bpf, int helper, struct outcome *o)
{
	static const char *const argv[] = {HELPER, NULL};
	sp_cleanup(sp_closep) int in_read = -1;
	sp_cleanup(sp_closep) int in_write = -1;
	sp_cleanup(sp_closep) int out_read = -1;
	sp_cleanup(sp_closep) int out_write = -1;
	struct sp_sandbox box = {.argv = argv,
				 .err = -1,
				 .uid = SP_SANDBOX_NOBODY,
				 .gid = SP_SANDBOX_NOBODY,
				 .cpu_seconds = 10,
				 .no_files = true,
				 .own_group = true};
	struct sp_error err = {0};
	uint64_t deadline = sp_now() + DEADLINE_NS;
	char text[256] = "";
	int in[2], out[2], r, ended, status = 0;
	pid_t pid;

	if (pipe2(in, O_CLOEXEC))
		return -errno;
	in_read = in[0], in_write = in[1];
	if (pipe2(out, O_CLOEXEC))
		return -errno;
	out_read = out[0], out_write = out[1];
	box.in = in_read;
	box.out = out_write;
	r = sp_sandbox_spawn(helper, &box, &pid, &err);
	if (r < 0) {
		sp_log_error("cannot start the self-test: %s", err.text);
		sp_bpf_hint(r);
		return r;
	}
	close(sp_take_fd(&out_write));
	r = sp_bpf_add_target(bpf, pid, false);
	if (r == 0)
		r = sp_bpf_find_tasks(bpf);
	/* One that died before it read the byte is told by its status. */
	if (r == 0 && write(in_write, "g", 1) != 1 && errno != EPIPE)
		r = -errno;
	if (r == 0) {
		r = read_all(out_read, text, sizeof(text), deadline);
		ended = await_end(pid, r < 0 ? 0 : deadline, &status);
		r = judge_end(r < 0 ? r : ended, status, text, o);
	} else {
		sp_sandbox_wait(pid, true, &status);
	}
	sp_bpf_forget_target(bpf, pid);
	return r;
}

/* One try, with the probes where @fast says. */
static int attempt(struct sp_bpf *bpf, int helper, bool fast, struct outcome *o)
{
	struct sp_images_file file = {.path = HELPER};
	struct sp_images *images = NULL;
	struct sp_rings *rings = NULL;
	char link[64];
	unsigned fill;
	int r, drained;

	*o = (struct outcome){.failure = FAIL_NONE};
	r = sp_images_new(bpf, NULL, &images);
	if (r < 0)
		return r;
	sp_images_set_fast(images, fast);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", helper); /* it is open for exec only */
	file.fd = open(link, O_RDONLY | O_CLOEXEC);
	r = file.fd < 0 ? -errno : sp_images_add(images, &file, NULL, NULL, 1);
	if (r == 0 && sp_images_armed(images) == 0) {
		r = sp_images_arm_error(images);
		o->failure = r ? FAIL_ARM : FAIL_READ;
		if (r == 0)
			r = sp_images_read_error(images) ? sp_images_read_error(images) : -ENXIO;
	}
	sp_bpf_enable_regions(bpf, true);
	if (r == 0)
		r = run_program(bpf, helper, o);
	sp_bpf_enable_regions(bpf, false);
	if (r < 0 && o->failure == FAIL_NONE)
		o->failure = FAIL_OURS;
	/* Even if that failed: what it left would count for the next attempt. */
	drained = sp_rings_new(bpf, on_record, o, &rings);
	if (drained == 0)
		drained = sp_rings_drain(rings, &fill);
	if (drained == 0)
		drained = sp_rings_drain_control(rings);
	if (r == 0 && drained < 0) {
		r = drained;
		o->failure = FAIL_OURS;
	}
	sp_rings_free(rings);
	/* The calls may be more than a small ring takes: seen they were. */
	o->recorded += (unsigned)sp_ledger_take(bpf, SP_LOSS_CALL_RING_FULL);
	sp_images_free(images);
	return r;
}

static bool is_good(const struct outcome *o)
{
	return o->wrong == 0 && o->child == 0 && o->recorded == o->calls && o->calls;
}

static void explain(char *out, size_t room, int r, const struct outcome *o)
{
	if (o->failure == FAIL_ARM)
		snprintf(out, room, "the kernel refuses a probe on the 5-byte nop (%s)",
			 strerror(-r));
	else if (o->failure == FAIL_HANG)
		snprintf(out, room,
			 "a program with a probe on the 5-byte nop hangs on this kernel");
	else if (o->failure == FAIL_CRASH)
		snprintf(out, room,
			 "a program with a probe on the 5-byte nop fails on this kernel: it %s",
			 o->ended);
	else if (r < 0)
		snprintf(out, room, "the 5-byte nop could not be tried (%s)", strerror(-r));
	else if (o->wrong)
		snprintf(out, room,
			 "a probe on the 5-byte nop corrupts the program on this kernel (%u of its "
			 "results were wrong)",
			 o->wrong);
	else if (o->child)
		snprintf(out, room,
			 "with a probe on the 5-byte nop, a forked child that enters a region "
			 "crashes on this kernel");
	else if (o->recorded <= o->apart)
		snprintf(out, room, "the kernel takes a probe on the 5-byte nop that never fires");
	else if (o->recorded != o->calls)
		snprintf(out, room, "a probe on the 5-byte nop fired %u of %u times", o->recorded,
			 o->calls);
	else
		snprintf(out, room, "this kernel does not turn the 5-byte nop into a call");
}

/* Neither place works: nothing can be recorded without harm. */
static int give_up(int r, const struct outcome *o)
{
	if (o->failure == FAIL_HANG)
		sp_log_error("the program on which probes are tried hangs (%s)", HELPER);
	else if (o->failure == FAIL_CRASH)
		sp_log_error("the program on which probes are tried fails: %s %s", HELPER,
			     o->ended);
	else if (o->failure == FAIL_ARM)
		sp_log_error("the kernel refuses probes: %s", strerror(-r));
	else if (o->failure == FAIL_READ)
		sp_log_error("cannot test the probes: %s: %s", HELPER, sp_elfscan_error_text(r));
	else if (o->failure == FAIL_FORK)
		sp_log_error("cannot test the probes: %s cannot fork: %s", HELPER, strerror(-r));
	else if (r < 0)
		sp_log_error("cannot test the probes: %s", strerror(-r));
	else
		sp_log_error("probes do not work on this kernel: %u of %u calls seen, %u results "
			     "wrong",
			     o->recorded, o->calls, o->wrong);
	if (o->failure == FAIL_FORK || r == -EMFILE || r == -ENFILE || r == -ENOMEM)
		sp_bpf_hint(r);
	else if (r == -ETIME)
		sp_log_hint("nothing is recorded, since probes could harm the program; a machine "
			    "whose CPUs are taken looks the same: try again when it has time");
	else
		sp_log_hint("nothing is recorded, since probes could harm the program; if another "
			    "kernel does the same, install sp-trace again");
	return r < 0 ? r : -ENOTSUP;
}

static void take_page(const char *text, uint8_t *bytes)
{
	for (unsigned i = 0, byte; i < SP_UNWIND_TRAMPOLINE_BYTES; i++) {
		if (sscanf(text + 2 * i, "%2x", &byte) != 1)
			break;
		bytes[i] = (uint8_t)byte;
	}
}

int sp_selftest_run(struct sp_bpf *bpf, bool try_fast, struct sp_selftest *ret_result)
{
	struct sp_selftest result = {0};
	const char *why_not = NULL; /* it is not tried */
	struct outcome o;
	struct sp_error err = {0};
	sp_cleanup(sp_closep) int helper = -1;
	int r = sp_sandbox_open(HELPER, &helper, &err);

	if (r < 0) {
		sp_log_error("%s", err.text);
		if (r != -ENOENT)
			sp_bpf_hint(r);
		return r;
	}
	if (!try_fast)
		why_not = "--breakpoints";
	else if (!HAS_FAST_PLACE)
		why_not = "this architecture has no faster way";
	else
		r = attempt(bpf, helper, true, &o);
	if (!why_not && r == 0 && is_good(&o) && o.byte == PATCHED) {
		result.fast = true;
		take_page(o.page, result.trampoline);
	} else {
		if (why_not)
			snprintf(result.reason, sizeof(result.reason), "%s", why_not);
		else
			explain(result.reason, sizeof(result.reason), r, &o);
		r = attempt(bpf, helper, false, &o);
		if (r < 0 || !is_good(&o))
			return give_up(r, &o);
	}
	result.pair_ns = o.pair_ns;
	*ret_result = result;
	return 0;
}
