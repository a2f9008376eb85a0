/* SPDX-License-Identifier: BSD-2-Clause
 *
 * archive_judge.h - who may have a copy of a file (archive.h).
 */
#ifndef SP_LOADER_ARCHIVE_JUDGE_H
#define SP_LOADER_ARCHIVE_JUDGE_H

#include <stdbool.h>

#include "loader/identity.h"
#include "userspace/base/user.h"

/* Whether who we are may read a file: 0 or -errno. The kernel looks at it alone, not at the way to
 * it, which in a container is not the user's either. */
int sp_archive_may_read(int fd);

/* Whether a copy of a file may be made: 0 or -errno; and whether it is for root's eyes alone. May
 * wait for ever. */
int sp_archive_judge(const struct sp_identity *identity, int fd, const char *path,
		     const struct sp_user *user, bool *ret_private);

#endif
