/* SPDX-License-Identifier: BSD-2-Clause
 *
 * companion.c - see companion.h.
 */
#include "loader/companion.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* First out of the way of each other, then to their places. */
static int place_descriptors(const struct sp_companion *companion, int socket)
{
	int fds[1 + SP_COMPANION_MOST_FDS];
	int n = 1 + (int)companion->n_fds;

	for (int i = 0; i < n; i++)
		fds[i] = fcntl(i ? companion->fds[i - 1] : socket, F_DUPFD, 16);
	for (int i = 0; i < n; i++)
		if (dup2(fds[i], SP_COMPANION_SOCKET + i) < 0)
			return -errno;
	return syscall(__NR_close_range, SP_COMPANION_SOCKET + n, ~0u, 0u) ? -errno : 0;
}

static void __attribute__((noreturn))
become_companion(const struct sp_companion *companion, int socket, pid_t recorder)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (!companion->in_group)
		setsid();
	prctl(PR_SET_NAME, companion->name);
	if (place_descriptors(companion, socket) == 0)
		companion->run(recorder);
	_exit(1);
}

int sp_companion_start(const struct sp_companion *companion, pid_t *ret_pid, int *ret_socket)
{
	pid_t recorder = getpid(), pid;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become_companion(companion, pair[1], recorder);
	r = pid < 0 ? -errno : 0;
	close(pair[1]);
	if (r < 0) {
		close(pair[0]);
		return r;
	}
	*ret_pid = pid;
	*ret_socket = pair[0];
	return 0;
}

/* What goes beside a message. */
union control {
	char space[CMSG_SPACE(SP_COMPANION_MOST_FDS * sizeof(int))];
	struct cmsghdr align;
};

int sp_companion_send(int socket, const void *bytes, size_t n, const int *fds, size_t n_fds,
		      int flags)
{
	union control control = {0};
	struct iovec body = {(void *)bytes, n};
	struct msghdr m = {.msg_iov = &body, .msg_iovlen = 1};

	if (n_fds) {
		struct cmsghdr *c;

		m.msg_control = control.space;
		m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	while (sendmsg(socket, &m, flags | MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return errno == EPIPE || errno == ECONNRESET ? -ESHUTDOWN : -errno;
	return 0;
}

int sp_companion_receive(int socket, void *bytes, size_t n, int *fds, size_t most, int flags)
{
	union control control = {0};
	struct iovec body = {bytes, n};
	struct msghdr m = {.msg_iov = &body,
			   .msg_iovlen = 1,
			   .msg_control = control.space,
			   .msg_controllen = most ? CMSG_LEN(most * sizeof(int)) : 0};
	ssize_t got = recvmsg(socket, &m, flags | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	size_t held;

	if (got == 0 || (got < 0 && errno == ECONNRESET))
		return -ESHUTDOWN;
	if (got < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (got != (ssize_t)n)
		return -EPROTO;
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return 0;
	held = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(c), held * sizeof(int));
	return (int)held;
}
