/* SPDX-License-Identifier: BSD-2-Clause
 *
 * filekey.h - what tells files apart in caches: never a name or a build-id, which anybody can
 * forge.
 */
#ifndef SP_LOADER_FILEKEY_H
#define SP_LOADER_FILEKEY_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

struct sp_filekey {
	uint64_t device, inode, size;
	int64_t mtime, ctime; /* ns */
};

static inline struct sp_filekey sp_filekey_of(const struct stat *st)
{
	return (struct sp_filekey){
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
		.ctime = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec,
	};
}

/* What the kernel knows of an open file. Unlike fstat(2), never asks the file system, which may not
 * answer (look.h). Of the result: what is above, mode, owner and links. */
static inline int sp_filekey_stat(int fd, struct stat *ret_status)
{
	struct statx x;

	*ret_status = (struct stat){0};
	/* Nothing is demanded, so nothing has to be brought up to date; it is there all the same,
	 * but for the times of local file systems (Linux 6.13). */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &x))
		return -errno;
	if (!(x.stx_mask & STATX_MTIME) &&
	    statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MTIME | STATX_CTIME, &x))
		return -errno;
	*ret_status = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.st_ino = x.stx_ino,
		.st_mode = x.stx_mode,
		.st_nlink = x.stx_nlink,
		.st_uid = x.stx_uid,
		.st_gid = x.stx_gid,
		.st_size = (off_t)x.stx_size,
		.st_mtim = {x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec},
		.st_ctim = {x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec},
	};
	return 0;
}

/* Of an open file, in the same way. -EINVAL: it is not a regular one. */
static inline int sp_filekey_read(int fd, struct sp_filekey *ret_key)
{
	struct stat st;
	int r = sp_filekey_stat(fd, &st);

	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret_key = sp_filekey_of(&st);
	return 0;
}

static inline bool sp_filekey_equal(const struct sp_filekey *a, const struct sp_filekey *b)
{
	return a->inode == b->inode && a->device == b->device && a->size == b->size &&
	       a->mtime == b->mtime && a->ctime == b->ctime;
}

#endif
