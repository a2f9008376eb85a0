/* SPDX-License-Identifier: BSD-2-Clause
 *
 * directory.h - directories that are written into. Root goes there through no symbolic link of
 * another user, who could lead it anywhere; for everybody else, paths mean what they always do.
 */
#ifndef SP_FORMATS_DIRECTORY_H
#define SP_FORMATS_DIRECTORY_H

/* A descriptor of the directory, or -errno; -ELOOP for another user's link. */
int sp_directory_open(const char *path);
/* mkdir(), rmdir() and unlink(): 0, or -errno as above. */
int sp_directory_make(const char *path);
int sp_directory_remove(const char *path);
int sp_directory_unlink(const char *path);
/* strerror() for what these return. */
const char *sp_directory_error(int error);

#endif
