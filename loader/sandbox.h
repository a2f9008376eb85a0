/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sandbox.h - helper programs that run without the recorder's rights.
 *
 * A forked child that only changes its user id still holds the recorder's descriptors and its
 * memory, so a helper is another program: forked, stripped of everything, and exec'd. It starts
 * with
 *   - the descriptors that it is given and no others,
 *   - another user id, no capability in any set, no way to gain one (no_new_privs), no extra
 * groups,
 *   - resource limits, signals as at login, its death tied to that of the recorder,
 * and what reads hostile input locks itself in further (helpers/seccomp.h).
 */
#ifndef SP_LOADER_SANDBOX_H
#define SP_LOADER_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/error.h"

#define SP_SANDBOX_NOBODY 65534u

struct sp_sandbox {
	const char *const *argv; /* ends with NULL; argv[0] is what the helper is called */
	const char *const *env;	 /* ends with NULL; NULL: empty */
	const int *fds;		 /* become 3, 4, … in this order */
	size_t fd_count;
	int in, out, err; /* become 0, 1, 2; -1: /dev/null */

	/* Who it is, if this process is root; else it stays who we are. */
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t group_count;
	bool root_files; /* if it is root, it reaches files as root does; nothing else of root's */

	/* Limits; 0: as ours. */
	uint64_t cpu_seconds;
	uint64_t memory_bytes; /* of address space */
	bool no_files;	       /* it cannot make a file grow, nor dump core */
	bool own_group;	       /* Ctrl-C at the terminal does not reach it */
	const char *directory; /* where it works; NULL: where we do */
};

/* Opens a helper of this installation for sp_sandbox_spawn(): beside the running executable or in
 * `helpers` below it (a build tree), in ../libexec/sp-trace from there, else in the libexec
 * directory. No environment variable has a say. -ENOENT, with all places named. Close the
 * descriptor. */
int sp_sandbox_open(const char *name, int *ret_fd, struct sp_error *err);
/* The same for a helper whose path is known. */
int sp_sandbox_open_path(const char *path, int *ret_fd, struct sp_error *err);

/* Starts the helper. Costs a fork and an exec, about a millisecond. When it returns 0, the helper
 * has been exec'd; if any step before failed, nothing runs, and @err says which. */
int sp_sandbox_spawn(int helper_fd, const struct sp_sandbox *box, pid_t *ret_pid,
		     struct sp_error *err);

/* Waits for its end; @ret_status is as of wait(2). With @kill_it, it is killed first. -ECHILD where
 * somebody else waited, -ETIMEDOUT where it did not die within a second of being killed (it hangs
 * in the kernel; it stays our child). */
int sp_sandbox_wait(pid_t pid, bool kill_it, int *ret_status);

/* CPU time of the helpers that the calling thread has waited for so, in all, ns. */
uint64_t sp_sandbox_cpu_ns(void);

/* What a status means, as the end of a sentence ("was killed by signal 31 (Bad system call)"). */
void sp_sandbox_status_text(int status, char *out, size_t room);

#endif
