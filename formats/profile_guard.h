/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile_guard.h - opens profiles whose content is not trusted.
 *
 * libhdf5 crashes and hangs on damaged files, so HDF5 is read in a child process that has limits on
 * memory and CPU time and nothing else to lose; its death, or its running out of either, is an
 * error of the call that was waiting, with a sentence. Our own parsers (.spt, .sps, JSON) need no
 * child and get none. Everything of profile_read.h works on a guarded profile as on another.
 *
 * At most SP_GUARD_MAX_CHILDREN children live at once: the one used longest ago is ended, and
 * started again when its file is asked for something; a file that has changed meanwhile is refused
 * (device, inode, size and change time are compared). So thousands of files may be open.
 *
 * Not for a process with threads of its own that use libhdf5. SIGCHLD must not be ignored.
 */
#ifndef SP_FORMATS_PROFILE_GUARD_H
#define SP_FORMATS_PROFILE_GUARD_H

#include "formats/api.h"
#include "formats/profile_read.h"

SP_API_BEGIN

#define SP_GUARD_MAX_CHILDREN 8

struct sp_guard_limits {
	uint64_t memory;	  /* bytes of address space that a child may add; 0: 1 GiB */
	unsigned int cpu_seconds; /* of one call of profile_read.h; 0: 30 */
};

/* As sp_profile_open(). -SP_E_DAMAGED: the child died, or used up a limit. @limits may be NULL. */
int sp_profile_open_guarded(const char *path, const struct sp_guard_limits *limits,
			    struct sp_profile **ret_profile, struct sp_error *error);

SP_API_END

#endif
