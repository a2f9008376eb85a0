/* SPDX-License-Identifier: BSD-2-Clause
 *
 * files.h - opening files whose names come from others: from recordings, from traced programs.
 */
#ifndef SP_BASE_FILES_H
#define SP_BASE_FILES_H

#include <stdbool.h>
#include <sys/stat.h>

/* Opens a regular file for reading. What it is, is looked at before it is opened: the open of a
 * FIFO may wait for ever, that of a device may do something. *ret_status (NULL: not wanted) is the
 * file's. The descriptor; -ENOEXEC for what is no regular file, else -errno. */
int sp_file_open(const char *path, struct stat *ret_status);
/* The same of a file below a directory, wherever links on the way to it point. -EXDEV: it would be
 * outside. */
int sp_file_open_below(const char *directory, const char *path, struct stat *ret_status);
/* Whether a path stays below where it begins, going by its words: it is not absolute and has no
 * "..". */
bool sp_path_stays_below(const char *path);

#endif
