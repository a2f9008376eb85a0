/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/images.h"
#include "loader/rings.h"
#include "loader/sandbox.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

#define HELPER "sp-selftest"
#define DEADLINE_MS 5000
#define PATCHED 0xe8 /* a call: the kernel took the fast path */

struct outcome {
	unsigned calls, wrong, byte;
	double pair_ns;
	int child; /* how a forked child ended; 0 well */
	char page[2 * SP_UNWIND_TRAMPOLINE_BYTES + 1]; /* in hexadecimal, or "-" */
	unsigned recorded;
};

static void on_record(void *arg, unsigned cpu, const struct sp_head *event, size_t bytes)
{
	struct outcome *o = arg;

	(void)cpu;
	(void)bytes;
	o->recorded += event->type == SP_EV_call;
}

static int read_line(int fd, char *line, size_t room)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t at = 0;
	ssize_t n;

	for (;;) {
		if (poll(&p, 1, DEADLINE_MS) <= 0)
			return -ETIME;
		n = read(fd, line + at, room - 1 - at);
		if (n <= 0)
			return -EPIPE;
		at += (size_t)n;
		line[at] = 0;
		if (strchr(line, '\n'))
			return 0;
		if (at == room - 1)
			return -EPROTO;
	}
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
				 .cpu_seconds = 5,
				 .no_files = true,
				 .own_group = true};
	struct sp_error err = {0};
	char line[256] = "";
	int in[2], out[2], r, status;
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
		return r;
	}
	close(sp_take_fd(&out_write));
	r = sp_bpf_add_target(bpf, pid, false);
	if (r == 0)
		r = sp_bpf_find_tasks(bpf);
	if (r == 0 && write(in_write, "g", 1) != 1)
		r = -EPIPE;
	if (r == 0)
		r = read_line(out_read, line, sizeof(line));
	if (sp_sandbox_wait(pid, r < 0, &status) == 0 && r == 0 && status)
		r = -EPROTO;
	if (r == 0 &&
	    sscanf(line, "calls=%u wrong=%u byte=%x pair_ns=%lf child=%d page=%40[-0-9a-f]",
		   &o->calls, &o->wrong, &o->byte, &o->pair_ns, &o->child, o->page) != 6)
		r = -EPROTO;
	return r;
}

/* One try, with the probes where @fast says. */
static int attempt(struct sp_bpf *bpf, int helper, bool fast, struct outcome *o,
		   struct sp_images **ret_images)
{
	const char *path = HELPER;
	struct sp_images *images = NULL;
	struct sp_rings *rings = NULL;
	char link[64];
	unsigned fill;
	int r, fd, drained;

	memset(o, 0, sizeof(*o));
	r = sp_images_new(bpf, NULL, &images);
	if (r < 0)
		return r;
	sp_images_set_fast(images, fast);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", helper); /* it is open for exec only */
	fd = open(link, O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? -errno : sp_images_add(images, &fd, &path, NULL, 1);
	if (r == 0 && sp_images_armed(images) == 0)
		r = -ENXIO;
	if (r == 0)
		r = run_program(bpf, helper, o);
	/* Even if that failed: what it left would count for the next attempt. */
	drained = sp_rings_new(bpf, on_record, o, &rings);
	if (drained == 0)
		drained = sp_rings_drain(rings, &fill);
	if (drained == 0)
		drained = sp_rings_drain_control(rings);
	if (r == 0)
		r = drained;
	sp_rings_free(rings);
	/* The calls may be more than a small ring takes: seen they were. */
	o->recorded += (unsigned)sp_bpf_take_losses(bpf, SP_LOSS_CALL_RING_FULL);
	if (r < 0) {
		sp_images_free(images);
		return r;
	}
	*ret_images = images;
	return 0;
}

static bool is_good(const struct outcome *o)
{
	return o->wrong == 0 && o->child == 0 && o->recorded == o->calls && o->calls;
}

static void explain(char *out, size_t room, int r, const struct outcome *o)
{
	if (r < 0)
		snprintf(out, room, "the kernel does not take a probe on the 5-byte nop (%s)",
			 strerror(-r));
	else if (o->wrong)
		snprintf(out, room,
			 "a probe on the 5-byte nop corrupts the program on this kernel");
	else if (o->child)
		snprintf(out, room,
			 "with a probe on the 5-byte nop, a forked child that enters a region "
			 "crashes on this kernel");
	else if (o->recorded != o->calls)
		snprintf(out, room, "a probe on the 5-byte nop fired %u of %u times", o->recorded,
			 o->calls);
	else
		snprintf(out, room, "this kernel does not turn the 5-byte nop into a call");
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
	struct outcome o;
	struct sp_error err = {0};
	sp_cleanup(sp_closep) int helper = -1;
	int r = sp_sandbox_open(HELPER, &helper, &err);

	if (r < 0) {
		sp_log_error("%s", err.text);
		return r;
	}
	if (try_fast)
		r = attempt(bpf, helper, true, &o, &result.images);
	if (try_fast && r == 0 && is_good(&o) && o.byte == PATCHED) {
		result.fast = true;
		take_page(o.page, result.trampoline);
	} else {
		if (try_fast)
			explain(result.reason, sizeof(result.reason), r, &o);
		else
			snprintf(result.reason, sizeof(result.reason), "--breakpoints");
		sp_images_free(result.images);
		result.images = NULL;
		r = attempt(bpf, helper, false, &o, &result.images);
		if (r == 0 && !is_good(&o)) {
			sp_log_error("probes do not work on this kernel: %u of %u calls seen, %u "
				     "results wrong",
				     o.recorded, o.calls, o.wrong);
			r = -ENOTSUP;
		} else if (r < 0) {
			sp_log_error("cannot test the probes: %s", strerror(-r));
		}
		if (r < 0) {
			sp_images_free(result.images);
			return r;
		}
	}
	result.pair_ns = o.pair_ns;
	*ret_result = result;
	return 0;
}
