/* SPDX-License-Identifier: BSD-2-Clause
 *
 * archive.h - copies of the ELF files that traced processes mapped, so that symbols can be had
 * later: of files that are deleted or replaced meanwhile, or that lie in a container.
 *
 * Files are held by descriptor from the moment they are seen (images.h has them through
 * /proc/PID/map_files or /proc/PID/root), and copied at the end, off the hot path, into
 * DIR/archive/<build-id, or image number>-<name>. Files are made and written with the user's rights
 * alone, and a file that the user who records or the one who mapped it may not read is not copied:
 * root's rights must not hand it over. Nor is another user's file that lies where the one who
 * records cannot go; where that is root, nobody else can read the copy.
 *
 * Life cycle: new, add …, write, free.
 */
#ifndef SP_LOADER_ARCHIVE_H
#define SP_LOADER_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/identity.h"
#include "userspace/base/user.h"

#define SP_ARCHIVE_FOLDER "archive"
#define SP_ARCHIVE_BYTES (4ull << 30) /* of all copies of a recording */
#define SP_ARCHIVE_FILES 4096	      /* each takes a descriptor */
#define SP_ARCHIVE_PATIENCE_MS 10000  /* 8 MiB of a file that take longer are not waited for */

struct sp_archive;

/* @directory_fd is the recording's directory, and stays the caller's, as @identity does. */
int sp_archive_new(int directory_fd, const struct sp_identity *identity,
		   struct sp_archive **ret_archive);
/* Who does sp_archive_judge() where that may not be waited for; @arg is handed on. */
typedef int (*sp_archive_judge_cb)(void *arg, int fd, const char *path, const struct sp_user *user,
				   bool *ret_private);
void sp_archive_set_judge(struct sp_archive *archive, sp_archive_judge_cb judge, void *arg);
/* Limits other than the above, for tests. */
void sp_archive_limit(struct sp_archive *archive, uint64_t bytes, size_t files);
void sp_archive_hurry(struct sp_archive *archive, unsigned patience_ms);

/* Holds a file; duplicates @fd. Once for each @image (number in the recording). @build_id is in
 * hexadecimal, "" unknown. @user mapped it; NULL: he for whom we record. Beyond SP_ARCHIVE_FILES it
 * will be told as not copied. -errno. */
int sp_archive_add(struct sp_archive *archive, int fd, const char *path, const char *build_id,
		   uint32_t image, const struct sp_user *user);

struct sp_archive_ops {
	/* Told of each file: @path is relative to the recording's directory, "" if it was not
	 * copied, which @error (-errno) and @why (a sentence) say. @name is the file's own path. */
	void (*wrote)(void *arg, uint32_t image, uint64_t size, int error, const char *path,
		      const char *name, const char *why);
	/* Asked often: 0 to go on, -errno to stop copying. */
	int (*go_on)(void *arg);
};

struct sp_archive_counts {
	size_t copied, left; /* files */
	uint64_t bytes;	     /* that were copied */
};

/* Copies all that is held, in a child: a file system that does not answer costs its file and ten
 * seconds, three of them all the rest. What is no ELF file is passed over. */
void sp_archive_write(struct sp_archive *archive, const struct sp_archive_ops *ops, void *arg,
		      struct sp_archive_counts *ret_counts);

void sp_archive_free(struct sp_archive *archive);

#endif
