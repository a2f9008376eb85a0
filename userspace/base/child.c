/* SPDX-License-Identifier: BSD-2-Clause
 *
 * child.c - see child.h.
 */
#include "userspace/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"

#define PIPE_BYTES (256 << 10) /* so that neither end waits for the other all the time */
#define DEATH_MS 200	       /* that a killed child takes to die, unless it hangs */

/* @ends: this process's, and the child's. */
static int start(int (*body)(const void *context, int fd, pid_t parent), const void *context,
		 const int ends[2], struct sp_child *ret_child)
{
	pid_t parent = getpid(), pid = fork();
	int r;

	if (pid < 0) {
		r = -errno;
		close(ends[0]);
		close(ends[1]);
		return r;
	}
	if (pid == 0) {
		close(ends[0]);
		_exit(body(context, ends[1], parent));
	}
	close(ends[1]);
	*ret_child = (struct sp_child){.pid = pid, .fd = ends[0]};
	return 0;
}

int sp_child_start(int (*body)(const void *context, int fd, pid_t parent), const void *context,
		   struct sp_child *ret_child)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES); /* if it may */
	return start(body, context, ends, ret_child);
}

int sp_child_start_socket(int (*body)(const void *context, int fd, pid_t parent),
			  const void *context, struct sp_child *ret_child)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	return start(body, context, ends, ret_child);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* One that was killed and hangs in the kernel stays a zombie until this process ends. */
static int await_end(pid_t pid, bool killed)
{
	uint64_t until = now_ms() + DEATH_MS;
	int status = SIGKILL;

	for (;;) {
		pid_t r = waitpid(pid, &status, killed ? WNOHANG : 0);

		if (r == pid || (r < 0 && errno != EINTR))
			return status;
		if (killed && now_ms() >= until)
			return SIGKILL;
		if (killed)
			usleep(1000);
	}
}

int sp_child_end(struct sp_child *child, int kill_it)
{
	int status;

	if (child->pid <= 0)
		return 0;
	close(child->fd);
	if (kill_it)
		kill(child->pid, SIGKILL);
	status = await_end(child->pid, kill_it);
	*child = (struct sp_child){.fd = -1};
	return status;
}

/* What /proc has of it; false: nothing, or it runs, or wants to. */
static bool is_asleep(pid_t pid, bool *ret_disk, uint64_t *ret_ran_ns)
{
	uint64_t user = 0, system = 0;
	char path[40], text[1024], state = '?', *end;
	sp_cleanup(sp_fclosep) FILE *stat = NULL;
	sp_cleanup(sp_fclosep) FILE *precise = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	stat = fopen(path, "re");
	/* The name, which may be anything, ends at the last parenthesis. */
	if (!stat || !fgets(text, sizeof(text), stat) || !(end = strrchr(text, ')')) ||
	    sscanf(end + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
		   &state, &user, &system) != 3)
		return false;
	*ret_disk = state == 'D';
	*ret_ran_ns = (user + system) * 10000000;
	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	precise = fopen(path, "re"); /* not every kernel has it */
	if (precise && fscanf(precise, "%" SCNu64, &user) == 1)
		*ret_ran_ns = user;
	return state == 'D' || state == 'S';
}

uint64_t sp_child_rest_ms(const struct sp_child *child, struct sp_child_pulse *pulse)
{
	uint64_t now = now_ms(), ran_ns = 0;
	bool disk = false, asleep = is_asleep(child->pid, &disk, &ran_ns);

	if (!asleep || ran_ns != pulse->ran_ns || !pulse->since_ms)
		*pulse = (struct sp_child_pulse){ran_ns, now};
	return (now - pulse->since_ms) / (disk ? 3 : 1);
}

bool sp_child_send(int fd, const void *bytes, size_t size)
{
	while (size) {
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes = (const char *)bytes + n;
		size -= (size_t)n;
	}
	return true;
}
