/* SPDX-License-Identifier: BSD-2-Clause
 *
 * identity.h - on whose behalf sp-trace runs: the user who called sudo, or oneself.
 */
#ifndef SP_LOADER_IDENTITY_H
#define SP_LOADER_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

struct sp_identity {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t group_count;
	char *name, *home, *shell; /* NULL where unknown */
	bool changed; /* differs from the effective user: files and commands go over to it */
};

/* From SUDO_UID and SUDO_GID where the effective user is root, else the real user. @as_root: stay
 * root. */
int sp_identity_find(bool as_root, struct sp_identity *ret_identity);
void sp_identity_clear(struct sp_identity *identity);

/* Takes on the user's identity for good, in a child about to exec: groups, ids, HOME, USER,
 * LOGNAME, SHELL. Async-signal-safety is not claimed. -errno. */
int sp_identity_become(const struct sp_identity *identity);

/* Between the two, files are opened and made with the user's rights alone, so that root writes
 * nothing through a link of somebody else's. Changes the calling thread alone. */
int sp_identity_enter(const struct sp_identity *identity);
void sp_identity_leave(const struct sp_identity *identity);

#endif
