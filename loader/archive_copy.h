/* SPDX-License-Identifier: BSD-2-Clause
 *
 * archive_copy.h - inside of the archive: one file is copied.
 *
 * Reading a file can take forever (FUSE, a network that is gone), so all of this is done in a child
 * of the recorder's.
 */
#ifndef SP_LOADER_ARCHIVE_COPY_H
#define SP_LOADER_ARCHIVE_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "loader/filekey.h"

#define SP_ARCHIVE_NAME 256 /* room for the longest name that a copy gets */

struct sp_archive_held {
	int fd;		 /* -1: one too many, or refused */
	int refused;	 /* -errno: somebody may not have it */
	bool is_private; /* the copy is for root's eyes alone */
	uint32_t image;
	struct sp_filekey key;
	char *path, *build_id;
};

/* Asked before each 8 MiB: 0 to go on, -errno to stop. The file has the name by then. */
typedef int (*sp_archive_step)(void *arg, const char *name);

/* Makes a file in @folder, new and through no link, with the caller's rights. A copy that is not
 * whole is removed again. 1: it is no ELF file, nothing is copied. -EFBIG: larger than @room. */
int sp_archive_copy(int folder, const struct sp_archive_held *held, uint64_t room,
		    sp_archive_step step, void *arg, char **ret_name);

#endif
