/* SPDX-License-Identifier: BSD-2-Clause
 *
 * child.c - see child.h.
 */
#include "userspace/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIPE_BYTES (256 << 10) /* so that neither end waits for the other all the time */

int sp_child_start(int (*body)(const void *context, int fd, pid_t parent), const void *context,
		   struct sp_child *ret_child)
{
	pid_t parent = getpid(), pid;
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES); /* if it may */
	pid = fork();
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

int sp_child_end(struct sp_child *child, int kill_it)
{
	int status = 0;

	if (child->pid <= 0)
		return 0;
	close(child->fd);
	if (kill_it)
		kill(child->pid, SIGKILL);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	*child = (struct sp_child){.fd = -1};
	return status;
}
