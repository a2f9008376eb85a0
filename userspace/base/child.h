/* SPDX-License-Identifier: BSD-2-Clause
 *
 * child.h - a child process that answers through a pipe.
 */
#ifndef SP_BASE_CHILD_H
#define SP_BASE_CHILD_H

#include <sys/types.h>

struct sp_child {
	pid_t pid;
	int fd; /* what it writes; reading does not block */
};

/* Runs @body in a fork of this process, which ends with the status that it returns. It writes to
 * @fd, and should call sp_confine_child() first, or see itself that @parent is still there. -errno
 * without a process. */
int sp_child_start(int (*body)(const void *context, int fd, pid_t parent), const void *context,
		   struct sp_child *ret_child);
/* Ends the child, by force if @kill_it, waits for it and closes the pipe. Returns its status, as
 * waitpid() has it. Does nothing, and returns 0, for one that was ended, or is all zero. */
int sp_child_end(struct sp_child *child, int kill_it);

#endif
