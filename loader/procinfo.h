/* SPDX-License-Identifier: BSD-2-Clause
 *
 * procinfo.h - what a process is: its program, command line, owner and place in a parallel job.
 *
 * See also procrank.h (the job), procmaps.h (mappings), proctree.h (threads, descendants).
 */
#ifndef SP_LOADER_PROCINFO_H
#define SP_LOADER_PROCINFO_H

#include <stdbool.h>
#include <sys/types.h>

#include "loader/procrank.h"
#include "userspace/base/user.h"

#define SP_PROCINFO_COMMAND 4096 /* bytes of a command line that are kept, with its NUL */

struct sp_procinfo {
	pid_t pid, ppid;
	uid_t uid; /* real */
	gid_t gid;
	unsigned group_count;
	gid_t groups[SP_USER_GROUPS];
	bool same_files;  /* its paths name the same files as ours */
	char comm[64];	  /* the main thread's name */
	char exe[4096];	  /* "" where it cannot be read (kernel threads, other users' processes) */
	bool exe_deleted; /* and the file of that name, if there is one, is another */
	char command[SP_PROCINFO_COMMAND]; /* as for a shell, words quoted where they need it; ends
					    * with " …" where it was cut; "[comm]" if there is none
					    */
	struct sp_procrank rank;
	bool environ_unreadable; /* so the rank is not known rather than none */
};

/* Reads /proc/PID. Everything is of one process, even if the id is reused meanwhile. -ESRCH: there
 * is no such process. Parts that may not be read are left empty. Costs about 50 µs. May
 * wait for ever: a process's memory can be a file that does not answer. */
int sp_procinfo_read(pid_t pid, struct sp_procinfo *ret_info);

/* The same without what may wait for ever (look.h): neither command line nor environment are read,
 * and a program whose name says that it is deleted is taken to be. */
int sp_procinfo_read_little(pid_t pid, struct sp_procinfo *ret_info);

/* Who runs it, with his groups, as far as that tells which files he may read: not known of a
 * process that is gone, or whose paths name other files than ours. Costs about 20 µs. */
void sp_procinfo_user(pid_t pid, struct sp_user *ret_user);

#endif
