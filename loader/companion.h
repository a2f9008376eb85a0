/* SPDX-License-Identifier: BSD-2-Clause
 *
 * companion.h - a process of its own beside the recorder: forked, not exec'd, and joined to it by a
 * socket.
 */
#ifndef SP_LOADER_COMPANION_H
#define SP_LOADER_COMPANION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SP_COMPANION_SOCKET 3
#define SP_COMPANION_FD(i) (4 + (i)) /* descriptors that it was given, in their order */
#define SP_COMPANION_MOST_FDS 4

struct sp_companion {
	const char *name;
	const int *fds;
	size_t n_fds;
	bool in_group; /* gets what is sent to the recorder's process group, SIGKILL and SIGSTOP, too */
	void (*run)(pid_t recorder); /* in the new process; does not return */
};

/* Starts it, with all signals blocked, and, if not otherwise asked for, in a session of its own. Of
 * the recorder's descriptors it has those that are named here, and the standard streams.
 * *@ret_socket takes messages. -errno without a process. */
int sp_companion_start(const struct sp_companion *companion, pid_t *ret_pid, int *ret_socket);

/* Both, for either side. @flags: MSG_DONTWAIT or 0. At most SP_COMPANION_MOST_FDS descriptors. */

/* One message, with descriptors beside it. -ESHUTDOWN: nobody is there to take it; or -errno. */
int sp_companion_send(int socket, const void *bytes, size_t n, const int *fds, size_t n_fds,
		      int flags);
/* The next message, of just @n bytes. How many descriptors came beside it, of @most at the most:
 * fewer where no more was free. -EAGAIN: nothing is there yet; -ESHUTDOWN: nothing will be; or
 * -errno. */
int sp_companion_receive(int socket, void *bytes, size_t n, int *fds, size_t most, int flags);

#endif
