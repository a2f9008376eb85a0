/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile_guard.h - opens profiles whose content is not trusted.
 *
 * libhdf5 crashes and hangs on damaged files, so HDF5 is read in a child process that has limits on
 * memory and CPU time and nothing else to lose; its death, or its running out of either, is an
 * error of the call that was waiting, with a sentence. Our own parsers (.spt, .sps, JSON) need no
 * child and get none. Everything of profile_read.h works on a guarded profile as on another.
 *
 * What is read forward is read ahead: the child fills the next block while the caller works on the
 * last one.
 *
 * At most SP_GUARD_MAX_CHILDREN children live at once: the one used longest ago is ended, after its
 * tables and facts were received, and started again when its file is asked for calls or samples; a
 * file that has changed meanwhile is refused with -ESTALE (device, inode, size and change time are
 * compared). So thousands of files may be open.
 *
 * From one thread only, which must live as long as the profile (the child ends with it). A file
 * that this process has open through libhdf5 itself cannot be opened at the same time. SIGCHLD must
 * not be ignored, and nobody else may wait for any child there is. A fork of the process may go on
 * with the profile: it gets a child of its own.
 */
#ifndef SP_FORMATS_PROFILE_GUARD_H
#define SP_FORMATS_PROFILE_GUARD_H

#include "formats/api.h"
#include "formats/profile_read.h"

SP_API_BEGIN

#define SP_GUARD_MAX_CHILDREN 8

struct sp_guard_limits {
	uint64_t memory;	  /* bytes of address space that a child may add; 0: 1 GiB */
	unsigned int cpu_seconds; /* of one call of profile_read.h; 0: 5, and one more for each 4
				     MiB of the file, up to 30 */
};

/* As sp_profile_open(). @limits may be NULL. This and every later call may fail with -SP_E_DAMAGED:
 * the child died, or used up a limit, or did nothing for four times as long as its limit of CPU
 * time; a profile whose child died stays so. */
int sp_profile_open_guarded(const char *path, const struct sp_guard_limits *limits,
			    struct sp_profile **ret_profile, struct sp_error *error);

SP_API_END

#endif
