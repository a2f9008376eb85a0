/* SPDX-License-Identifier: BSD-2-Clause
 *
 * filekey.h - what tells files apart in caches: never a name or a build-id, which anybody can
 * forge.
 */
#ifndef SP_LOADER_FILEKEY_H
#define SP_LOADER_FILEKEY_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

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

/* Of an open file. -EINVAL: it is not a regular one. */
static inline int sp_filekey_read(int fd, struct sp_filekey *ret_key)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
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
