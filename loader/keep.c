/* SPDX-License-Identifier: BSD-2-Clause
 *
 * keep.c - the keeper.
 *
 * It runs only what is in this file, in links.c and in companion.c. Invariant: nobody else ever has
 * a descriptor of a link. It ends when the other side of the socket is shut, or the recorder dead
 * (what that has forked may have the socket for a while longer), and its end closes all links.
 */
#include "loader/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/companion.h"
#include "loader/slice.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

#define HURRY (-10) /* nice value, as the recorder's */
#define TURN_MS 20
#define WAKE_MS 1000 /* a keeper that says nothing for so long may have been stopped */
#define LONG_MS 30000

enum descriptor { FILE_FD, BEGIN_FD, END_FD, FDS };

/* One message; one that arms has the descriptors of the file and of the programs beside it. */
struct order {
	uint32_t set;
	uint32_t count; /* of probes; 0: take the set off */
	bool multi;
	struct sp_bpf_probe probes[SP_ELF_LIMIT_PROBES];
};

struct answer {
	int32_t result;
};

struct sp_keep {
	int socket;
	pid_t keeper;
	uint32_t sets; /* numbers that were used */
	void (*meanwhile)(void *arg);
	void *arg;
};

/* ---- the keeper's side ---- */

struct kept {
	uint32_t set;
	int link;
};

struct keeper {
	struct kept *links;
	size_t count, room;
};

static void disarm(struct keeper *k, uint32_t set)
{
	size_t left = 0;

	/* Begins were made last, and go first. */
	for (size_t i = k->count; i-- > 0;)
		if (k->links[i].set == set)
			close(k->links[i].link);
	for (size_t i = 0; i < k->count; i++)
		if (k->links[i].set != set)
			k->links[left++] = k->links[i];
	k->count = left;
}

static int arm(struct keeper *k, const struct order *o, const int *fds)
{
	struct sp_link_programs programs = {
		.begin = fds[BEGIN_FD], .end = fds[END_FD], .multi = o->multi};
	int links[SP_ELF_LIMIT_PROBES];
	size_t count = 0;
	int r = sp_links_make(&programs, fds[FILE_FD], o->probes, o->count, links, &count);

	for (size_t i = 0; i < count && r == 0; i++) {
		struct kept *kept = sp_array_add(&k->links, &k->count, &k->room);

		if (kept) {
			*kept = (struct kept){.set = o->set, .link = links[i]};
		} else {
			sp_links_close(links + i, count - i);
			r = -ENOMEM;
		}
	}
	if (r < 0)
		disarm(k, o->set);
	return r;
}

/* The next order, and what came beside it. By its own end alone does the keeper close links in a
 * way that no kill can disturb, so it leaves as soon as there will be no more orders. */
static int take_order(int socket, int recorder, struct order *o, int *fds)
{
	struct pollfd p[] = {{.fd = socket, .events = POLLIN}, {.fd = recorder, .events = POLLIN}};
	int n;

	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			_exit(1);
	n = p[1].revents ? -ESHUTDOWN : sp_companion_receive(socket, o, sizeof(*o), fds, FDS, 0);
	if (n < 0)
		_exit(0);
	return n;
}

static void __attribute__((noreturn)) keep(int socket, int recorder)
{
	static struct keeper k;
	static struct order o;

	for (;;) {
		struct answer a = {0};
		int fds[FDS];
		int count = take_order(socket, recorder, &o, fds);

		if (o.count == 0) { /* nobody waits for that: it may take the kernel long */
			disarm(&k, o.set);
			continue;
		}
		if (count < FDS) /* no descriptor was free for the rest */
			a.result = -EMFILE;
		else
			a.result = arm(&k, &o, fds);
		for (int i = 0; i < count; i++)
			close(fds[i]);
		(void)send(socket, &a, sizeof(a), MSG_NOSIGNAL);
	}
}

/* It is small, and killed at the wrong moment it would leave probes behind. */
static void spare_from_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "-1000", 5) < 0) /* root without CAP_SYS_RESOURCE may not */
		errno = 0;
	if (fd >= 0)
		close(fd);
}

/* Whoever waits for the end of the recorder's output is not to wait for the keeper. */
static void leave_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 3; i++)
		if (null < 0 || dup2(null, i) < 0)
			close(i);
	if (null > 2)
		close(null);
}

static void run_keeper(pid_t recorder)
{
	(void)recorder;
	leave_streams();
	spare_from_oom();
	/* The recorder waits for it, and programs that are held at their exec for the recorder. */
	sp_slice_set(HURRY, true);
	keep(SP_COMPANION_SOCKET, SP_COMPANION_FD(0));
}

/* ---- the recorder's side ---- */

int sp_keep_start(struct sp_keep **ret_keep)
{
	struct sp_keep *keep = calloc(1, sizeof(*keep));
	sp_cleanup(sp_closep) int me = (int)syscall(__NR_pidfd_open, getpid(), 0);
	struct sp_companion keeper = {
		.name = "sp-keep",
		.fds = &me,
		.n_fds = 1,
		.run = run_keeper,
	};
	int r = me < 0 ? -errno : 0;

	if (!keep)
		return -ENOMEM;
	if (r == 0)
		r = sp_companion_start(&keeper, &keep->keeper, &keep->socket);
	if (r < 0) {
		free(keep);
		return r;
	}
	*ret_keep = keep;
	return 0;
}

int sp_keep_fd(const struct sp_keep *keep)
{
	return keep->socket;
}

void sp_keep_meanwhile(struct sp_keep *keep, void (*meanwhile)(void *arg), void *arg)
{
	keep->meanwhile = meanwhile;
	keep->arg = arg;
}

/* Without a limit: where the machine is short of processors, this may take the kernel long, and
 * given up, the probes would be on all the same. A keeper that somebody has stopped is woken: we
 * can do nothing without it. */
static void while_waiting(struct sp_keep *keep, int waited_ms)
{
	if (waited_ms % WAKE_MS == 0)
		(void)kill(keep->keeper, SIGCONT);
	if (waited_ms == LONG_MS)
		sp_log_warning("the kernel has not put probes on for %d s: the machine is too "
			       "busy, or the program's file system does not answer; what runs is "
			       "recorded meanwhile",
			       LONG_MS / 1000);
	if (keep->meanwhile)
		keep->meanwhile(keep->arg);
}

static int await_answer(struct sp_keep *keep, struct answer *a)
{
	struct pollfd p = {.fd = keep->socket, .events = POLLIN};
	int waited_ms = 0;
	ssize_t n;

	for (;;) {
		int ready = poll(&p, 1, TURN_MS);

		if (ready == 0)
			while_waiting(keep, waited_ms += TURN_MS);
		if (ready <= 0)
			continue;
		n = recv(keep->socket, a, sizeof(*a), MSG_DONTWAIT);
		if (n == sizeof(*a))
			return 0;
		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			return -ESHUTDOWN;
	}
}

static int send_order(struct sp_keep *keep, const struct order *o, const int *fds, size_t n_fds)
{
	if (keep->socket < 0)
		return -ESHUTDOWN;
	return sp_companion_send(keep->socket, o, sizeof(*o), fds, n_fds, 0);
}

int sp_keep_arm(struct sp_keep *keep, const struct sp_link_programs *programs, int file,
		const struct sp_bpf_probe *probes, size_t count, uint32_t *ret_set)
{
	struct order o = {.set = ++keep->sets, .count = (uint32_t)count, .multi = programs->multi};
	int fds[FDS] = {file, programs->begin, programs->end};
	struct answer a;
	int r;

	if (count == 0 || count > SP_ELF_LIMIT_PROBES)
		return -EINVAL;
	memcpy(o.probes, probes, count * sizeof(probes[0]));
	r = send_order(keep, &o, fds, FDS);
	if (r == 0)
		r = await_answer(keep, &a);
	if (r == 0)
		r = a.result;
	if (r < 0)
		return r;
	*ret_set = o.set;
	return 0;
}

void sp_keep_disarm(struct sp_keep *keep, uint32_t set)
{
	struct order o = {.set = set};

	(void)send_order(keep, &o, NULL, 0); /* if it is dead, they are off */
}

/* A command that is forked and not yet exec'd has the socket, too, so closing it tells nobody. The
 * keeper's status is there only after all of its files are closed. */
void sp_keep_end(struct sp_keep *keep)
{
	if (keep->socket < 0)
		return;
	(void)shutdown(keep->socket, SHUT_RDWR);
	close(keep->socket);
	keep->socket = -1;
	(void)kill(keep->keeper, SIGCONT);
	while (waitpid(keep->keeper, NULL, 0) < 0 && errno == EINTR)
		;
}

void sp_keep_free(struct sp_keep *keep)
{
	if (!keep)
		return;
	sp_keep_end(keep);
	free(keep);
}
