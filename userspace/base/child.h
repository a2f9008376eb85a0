/* SPDX-License-Identifier: BSD-2-Clause
 *
 * child.h - a child process that answers through a pipe.
 *
 * A child that looks at files may come to one that never answers, and then cannot be killed: it is
 * left to the kernel, and nobody waits for it.
 */
#ifndef SP_BASE_CHILD_H
#define SP_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
/* The same with a socket, through which it also hears. */
int sp_child_start_socket(int (*body)(const void *context, int fd, pid_t parent),
			  const void *context, struct sp_child *ret_child);
/* Sends all of it through such a socket, at either end; false if the other one is gone. */
bool sp_child_send(int fd, const void *bytes, size_t size);
/* Ends the child, by force if @kill_it, waits for it (if killed, not for long) and closes the pipe.
 * Returns its status, as waitpid() has it. Does nothing, and returns 0, for one that was ended, or
 * is all zero. */
int sp_child_end(struct sp_child *child, int kill_it);

/* Since when a child has not been seen to work; all zero at first. */
struct sp_child_pulse {
	uint64_t ran_ns, since_ms;
};
/* For how many milliseconds it has neither run nor wanted to. In a sleep that is for disks, which
 * may have to start, a third of them. */
uint64_t sp_child_rest_ms(const struct sp_child *child, struct sp_child_pulse *pulse);

#endif
