/* SPDX-License-Identifier: BSD-2-Clause
 *
 * hold.c - the doorkeeper.
 *
 * It runs only what is in this file and in companion.c. Invariant: an event is answered at once, or
 * PATIENCE_MS after its question was sent, or, once the recorder has said that it has begun with
 * it, MOST_MS after it came; while one waits, others are still answered (the recorder may have to
 * exec a helper before it can say something). A recorder that let DEAF_AFTER questions in a row go
 * unanswered is not waited for until it says something.
 */
#include "loader/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/config.h"
#include "loader/clock.h"
#include "loader/companion.h"
#include "loader/look.h"
#include "loader/without.h"

#define PATIENCE_MS 200
#define MOST_MS 1000
#define DEAF_AFTER 2
#define QUEUE 256 /* execs that wait; more pass */

struct sp_hold {
	int socket;
	pid_t doorkeeper;
	uint32_t question; /* to be answered */
};

/* A question has the file's descriptor beside it. */
struct question {
	uint32_t number;
	int32_t pid;
	int64_t deadline; /* ms: the exec goes on then … */
	int64_t most;	  /* … or then, if before the deadline we say that we have begun */
};

enum word { BEGUN, DONE, DONE_KNOWN };

struct answer {
	uint32_t number;
	uint32_t word;
};

/* ---- the doorkeeper's side ---- */

struct waiting {
	int fd; /* of the event: names it and its file */
	pid_t pid;
	int64_t since; /* ms */
};

struct doorkeeper {
	int fan, socket, lanes;
	uint32_t number;     /* of the question that is open */
	unsigned unanswered; /* questions in a row before it */
	int64_t deadline;    /* ms: of it … */
	int64_t most;	     /* … and at most, once the recorder has begun with it */
	size_t count;
	struct waiting
		queue[QUEUE]; /* recorded processes' execs; the question is about the first */
};

/* Those that cannot be marked have nothing to run. */
int sp_hold_mark(int fan)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int marked = 0;

	if (!f)
		return -errno;
	while ((m = getmntent(f)))
		if (strncmp(m->mnt_type, "fuse", 4) != 0 &&
		    fanotify_mark(fan, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN_EXEC_PERM,
				  AT_FDCWD, m->mnt_dir) == 0)
			marked++;
	endmntent(f);
	return marked ? 0 : -EOPNOTSUPP;
}

/* Recorded threads have a value in the task storage, which a pidfd finds. */
static bool is_recorded(const struct doorkeeper *d, pid_t pid)
{
	uint64_t value[SP_LANE_BYTES / 8];
	int fd = (int)syscall(__NR_pidfd_open, pid, 0);
	bool found = fd >= 0 && bpf_map_lookup_elem(d->lanes, &fd, value) == 0;

	if (fd >= 0)
		close(fd);
	return found;
}

/* About the first that waits. */
static bool send_question(struct doorkeeper *d)
{
	const struct waiting *first = &d->queue[0];
	struct question q = {.number = ++d->number, .pid = first->pid, .deadline = d->deadline};

	d->most = first->since + MOST_MS > d->deadline ? first->since + MOST_MS : d->deadline;
	q.most = d->most;
	return sp_companion_send(d->socket, &q, sizeof(q), &first->fd, 1, MSG_DONTWAIT) == 0;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void let_pass(struct doorkeeper *d, int fd, bool known)
{
	struct fanotify_response response = {.fd = fd, .response = FAN_ALLOW};
	char path[64];

	if (write(d->fan, &response, sizeof(response)) != sizeof(response))
		_exit(1); /* closing the descriptor lets everything pass */
	if (known) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		(void)fanotify_mark(d->fan, FAN_MARK_ADD | FAN_MARK_IGNORED_MASK,
				    FAN_OPEN_EXEC_PERM, AT_FDCWD, path);
	}
	close(fd);
}

static void pass_first(struct doorkeeper *d, bool known)
{
	let_pass(d, d->queue[0].fd, known);
	memmove(d->queue, d->queue + 1, --d->count * sizeof(d->queue[0]));
}

/* Asks about the first that waits; who cannot be asked about, or came too long ago, passes. */
static void ask(struct doorkeeper *d)
{
	int64_t now = now_ms();

	d->deadline = now + PATIENCE_MS;
	while (d->count && (d->unanswered >= DEAF_AFTER || now - d->queue[0].since >= MOST_MS ||
			    !send_question(d)))
		pass_first(d, false);
}

static void end_question(struct doorkeeper *d, bool known)
{
	pass_first(d, known);
	ask(d);
}

/* False: there is none. Leaves when the recorder is gone. */
static bool take_answer(struct doorkeeper *d)
{
	struct answer a;
	ssize_t n = recv(d->socket, &a, sizeof(a), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		_exit(0);
	if (n != sizeof(a))
		return false;
	d->unanswered = 0;
	if (d->count && a.number == d->number) {
		if (a.word == BEGUN)
			d->deadline = d->most;
		else
			end_question(d, a.word == DONE_KNOWN);
	}
	return true;
}

static void take_event(struct doorkeeper *d, const struct fanotify_event_metadata *ev)
{
	if (ev->fd < 0)
		return;
	if (d->count == QUEUE || d->unanswered >= DEAF_AFTER || !is_recorded(d, ev->pid)) {
		let_pass(d, ev->fd, false);
		return;
	}
	d->queue[d->count++] = (struct waiting){.fd = ev->fd, .pid = ev->pid, .since = now_ms()};
	if (d->count == 1)
		ask(d);
}

static void __attribute__((noreturn)) keep_door(struct doorkeeper *d)
{
	_Alignas(struct fanotify_event_metadata) char buffer[4096];
	struct pollfd fds[] = {{.fd = d->fan, .events = POLLIN},
			       {.fd = d->socket, .events = POLLIN}};

	for (;;) {
		const struct fanotify_event_metadata *ev = (const void *)buffer;
		int64_t left = d->count ? d->deadline - now_ms() : -1;
		ssize_t n;

		if (d->count && left <= 0) {
			/* What was said in time counts, also where we hear of it late. */
			if (!take_answer(d)) {
				d->unanswered++;
				end_question(d, false);
			}
			continue;
		}
		if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
			_exit(1);
		if (fds[1].revents)
			(void)take_answer(d);
		n = read(d->fan, buffer, sizeof(buffer));
		for (; n > 0 && FAN_EVENT_OK(ev, n); ev = FAN_EVENT_NEXT(ev, n))
			take_event(d, ev);
	}
}

static void run_doorkeeper(pid_t recorder)
{
	static struct doorkeeper d = {.fan = SP_COMPANION_FD(0),
				      .socket = SP_COMPANION_SOCKET,
				      .lanes = SP_COMPANION_FD(1)};
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (getppid() != recorder)
		_exit(0);
	keep_door(&d);
}

/* ---- the recorder's side ---- */

int sp_hold_start(int lanes, struct sp_look *look, struct sp_hold **ret_hold)
{
	struct sp_hold *hold = calloc(1, sizeof(*hold));
	struct sp_companion doorkeeper = {.name = "sp-hold", .run = run_doorkeeper};
	int fan, r;

	if (!hold)
		return -ENOMEM;
	errno = EOPNOTSUPP;
	fan = sp_without(SP_FEATURE_EXEC_HOLD)
		      ? -1
		      : fanotify_init(FAN_CLASS_CONTENT | FAN_UNLIMITED_QUEUE | FAN_CLOEXEC |
					      FAN_NONBLOCK,
				      O_RDONLY | O_CLOEXEC | O_LARGEFILE);
	if (fan < 0) {
		r = -errno;
		free(hold);
		return r;
	}
	doorkeeper.fds = (const int[]){fan, lanes};
	doorkeeper.n_fds = 2;
	r = sp_companion_start(&doorkeeper, &hold->doorkeeper, &hold->socket);
	if (r < 0) {
		close(fan);
		free(hold);
		return r;
	}
	/* The marks come last: from then on somebody must answer. */
	r = look ? sp_look_mark(look, fan) : sp_hold_mark(fan);
	if (r == -ETIMEDOUT) /* some are marked, perhaps all but one */
		r = 0;
	close(fan);
	if (r < 0) {
		sp_hold_stop(hold);
		return r;
	}
	*ret_hold = hold;
	return 0;
}

int sp_hold_fd(const struct sp_hold *hold)
{
	return hold->socket;
}

static void end_hold(struct sp_hold *hold)
{
	if (hold->doorkeeper > 0) {
		(void)kill(hold->doorkeeper, SIGKILL);
		(void)waitpid(hold->doorkeeper, NULL, 0);
	}
	if (hold->socket >= 0)
		close(hold->socket);
	hold->doorkeeper = -1;
	hold->socket = -1;
}

static bool say(struct sp_hold *hold, enum word word)
{
	struct answer a = {.number = hold->question, .word = word};

	return send(hold->socket, &a, sizeof(a), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(a);
}

int sp_hold_next(struct sp_hold *hold, pid_t *ret_pid, int *ret_fd, uint64_t *ret_until)
{
	struct question q;
	int n;

	if (hold->socket < 0)
		return 0;
	n = sp_companion_receive(hold->socket, &q, sizeof(q), ret_fd, 1, MSG_DONTWAIT);
	if (n == -ESHUTDOWN) {
		end_hold(hold);
		return n;
	}
	if (n != 1)
		return 0;
	*ret_pid = q.pid;
	hold->question = q.number;
	/* Only what was on its way before the deadline is sure to count. */
	if (say(hold, BEGUN) && now_ms() < q.deadline)
		q.deadline = q.most;
	*ret_until = sp_now() + (uint64_t)((q.deadline - now_ms()) * 1000000);
	return 1;
}

void sp_hold_answer(struct sp_hold *hold, bool known)
{
	if (hold->socket >= 0)
		(void)say(hold, known ? DONE_KNOWN : DONE);
}

void sp_hold_stop(struct sp_hold *hold)
{
	if (!hold)
		return;
	end_hold(hold);
	free(hold);
}
