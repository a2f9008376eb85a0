/* SPDX-License-Identifier: BSD-2-Clause
 *
 * archive.c - see archive.h.
 *
 * Invariant: whatever is opened or made below the recording's directory is so between
 * sp_identity_enter() and sp_identity_leave(), relative to that directory, new, and through no
 * link. A copy that is not whole is removed again.
 */
#include "loader/archive.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader/filekey.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define STEP (8u << 20) /* bytes between two questions whether to go on */
#define NAME_MOST 100
#define ID_MOST 64

struct held {
	int fd;		 /* -1: one too many, or refused */
	int refused;	 /* -errno: somebody may not have it */
	bool is_private; /* the copy is for root's eyes alone */
	uint32_t image;
	struct sp_filekey key;
	char *path, *build_id;
};

struct sp_archive {
	int directory_fd;
	const struct sp_identity *identity;
	struct held *list;
	size_t count, room, held;
	uint64_t most_bytes;
	size_t most_files;
};

int sp_archive_new(int directory_fd, const struct sp_identity *identity,
		   struct sp_archive **ret_archive)
{
	struct sp_archive *archive = calloc(1, sizeof(*archive));

	if (!archive)
		return -ENOMEM;
	archive->directory_fd = directory_fd;
	archive->identity = identity;
	archive->most_bytes = SP_ARCHIVE_BYTES;
	archive->most_files = SP_ARCHIVE_FILES;
	*ret_archive = archive;
	return 0;
}

void sp_archive_limit(struct sp_archive *archive, uint64_t bytes, size_t files)
{
	archive->most_bytes = bytes;
	archive->most_files = files;
}

void sp_archive_free(struct sp_archive *archive)
{
	if (!archive)
		return;
	for (size_t i = 0; i < archive->count; i++) {
		if (archive->list[i].fd >= 0)
			close(archive->list[i].fd);
		free(archive->list[i].path);
		free(archive->list[i].build_id);
	}
	free(archive->list);
	free(archive);
}

/* ---- who may have it ---- */

/* Whether who we are may read it. The kernel looks at the file alone, not at the way to it, which
 * in a container is not the user's either. */
static int may_read(int fd)
{
#ifdef SYS_faccessat2
	if (syscall(SYS_faccessat2, fd, "", R_OK, AT_EMPTY_PATH | AT_EACCESS) == 0)
		return 0;
	return -errno;
#else
	(void)fd;
	return -ENOSYS;
#endif
}

/* Whether the user comes to the file by its path. */
static bool can_reach(const struct sp_user *user, int fd, const char *path)
{
	struct sp_user_before before;
	struct stat of, at;
	bool same;

	if (fstat(fd, &of) < 0 || sp_user_enter(user, &before) < 0)
		return false;
	same = stat(path, &at) == 0 && at.st_dev == of.st_dev && at.st_ino == of.st_ino;
	sp_user_leave(&before);
	return same;
}

static int judge(const struct sp_archive *archive, int fd, const char *path,
		 const struct sp_user *user, struct held *held)
{
	const struct sp_identity *me = archive->identity;
	const struct sp_user self = {.uid = me->uid, .gid = me->gid, .known = true};
	const struct sp_user nobody = {0};
	struct sp_user_before before;
	struct stat status;
	int r;

	if (geteuid() != 0 || !user) /* we may do no more than he may */
		return 0;
	r = sp_user_enter(user, &before);
	if (r < 0)
		return r;
	r = may_read(fd);
	sp_user_leave(&before);
	if (r < 0)
		return r;
	if (user->known && user->uid == me->uid)
		return 0;
	/* What a container has of root's lies where no user goes, and is no secret. */
	if (fstat(fd, &status) < 0 || (!user->known && status.st_uid == 0))
		return 0;
	held->is_private = !can_reach(me->uid == 0 ? &nobody : &self, fd, path);
	return held->is_private && me->uid != 0 ? -EPERM : 0;
}

int sp_archive_add(struct sp_archive *archive, int fd, const char *path, const char *build_id,
		   uint32_t image, const struct sp_user *user)
{
	struct held held = {.fd = -1, .image = image};
	struct held *added;
	int r = sp_filekey_read(fd, &held.key);

	if (r < 0)
		return r;
	held.refused = judge(archive, fd, path, user, &held);
	if (!held.refused && archive->held < archive->most_files)
		held.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* none left: told at the end */
	held.path = strdup(path);
	held.build_id = strdup(build_id);
	added = held.path && held.build_id
			? sp_array_add(&archive->list, &archive->count, &archive->room)
			: NULL;
	if (!added) {
		free(held.path);
		free(held.build_id);
		if (held.fd >= 0)
			close(held.fd);
		return -ENOMEM;
	}
	archive->held += held.fd >= 0;
	*added = held;
	return 0;
}

/* ---- names ---- */

static bool is_hexadecimal(const char *text)
{
	size_t n = strspn(text, "0123456789abcdefABCDEF");

	return n && n <= ID_MOST && !text[n];
}

/* Its name in the folder: nothing but letters, digits and -_.+ */
static char *name_of(const struct held *held, bool with_number)
{
	bool id = is_hexadecimal(held->build_id);
	const char *slash = strrchr(held->path, '/'), *base = slash ? slash + 1 : held->path;
	const char *deleted = strstr(base, " (deleted)");
	size_t n = deleted && !deleted[10] ? (size_t)(deleted - base) : strlen(base);
	char number[32] = "";
	char *name;

	if (!id || with_number)
		snprintf(number, sizeof(number), "%s%u", id ? "-" : "image", held->image);
	if (asprintf(&name, "%s%s-%.*s", id ? held->build_id : "", number,
		     (int)(n < NAME_MOST ? n : NAME_MOST), base) < 0)
		return NULL;
	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-_.+", *at))
			*at = '_';
	return name;
}

/* ---- copying ---- */

static ssize_t copy_some(int in, off_t *at, int out, size_t n, int *method)
{
	static char buffer[1 << 16];
	ssize_t got = -1;

	if (*method == 0) {
		got = copy_file_range(in, at, out, NULL, n, 0);
		*method += got < 0 && errno != EINTR && errno != ENOSPC && errno != EDQUOT;
	}
	if (*method == 1) {
		got = sendfile(out, in, at, n);
		*method += got < 0 && (errno == EINVAL || errno == ENOSYS);
	}
	if (*method == 2) {
		got = pread(in, buffer, n < sizeof(buffer) ? n : sizeof(buffer), *at);
		if (got > 0)
			got = write(out, buffer, (size_t)got);
		if (got > 0)
			*at += got;
	}
	return got;
}

static int copy(int in, int out, uint64_t size, const struct sp_archive_ops *ops, void *arg)
{
	int method = 0;
	off_t at = 0;

	while ((uint64_t)at < size) {
		uint64_t left = size - (uint64_t)at;
		ssize_t got;
		int r = ops->go_on ? ops->go_on(arg) : 0;

		if (r < 0)
			return r;
		got = copy_some(in, &at, out, left < STEP ? (size_t)left : STEP, &method);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			return -ESTALE;
	}
	return 0;
}

/* A new file of the name, or of the name with the image's number where another file has the same
 * build-id: anybody can forge those. */
static int make_file(int folder, const struct held *held, char **ret_name)
{
	for (int number = 0; number < 2; number++) {
		sp_cleanup(sp_freep) char *name = name_of(held, number);
		int fd;

		if (!name)
			return -ENOMEM;
		fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    held->is_private ? 0600 : 0666);
		if (fd >= 0) {
			*ret_name = sp_take(name);
			return fd;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, "\177ELF", sizeof(magic));
}

/* 1: there is nothing to be copied. */
static int copy_held(int folder, const struct held *held, uint64_t room,
		     const struct sp_archive_ops *ops, void *arg, char **ret_name)
{
	sp_cleanup(sp_freep) char *name = NULL;
	struct sp_filekey key = {0};
	int out, r;

	if (held->refused)
		return held->refused;
	if (held->fd < 0)
		return -EMFILE;
	if (!is_elf(held->fd))
		return 1;
	r = may_read(held->fd);
	if (r == 0)
		r = sp_filekey_read(held->fd, &key);
	if (r < 0)
		return r;
	if (key.size != held->key.size || key.mtime != held->key.mtime)
		return -ESTALE;
	if (key.size > room)
		return -EFBIG;
	out = make_file(folder, held, &name);
	if (out < 0)
		return out;
	r = copy(held->fd, out, key.size, ops, arg);
	if (close(out) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		unlinkat(folder, name, 0);
	else
		*ret_name = sp_take(name);
	return r;
}

static const char *reason(int error)
{
	switch (error) {
	case -EMFILE:
		return "there are too many files";
	case -EFBIG:
		return "together they would be larger than an archive may be, 4 GiB";
	case -ESTALE:
		return "it was changed while it was mapped";
	case -EACCES:
		return "the user who records, or the one who ran it, may not read it";
	case -EPERM:
		return "it is another user's, in a place where the one who records may not look";
	case -EINTR:
		return "interrupted";
	default:
		return strerror(-error);
	}
}

/* With the user's rights. */
static int open_folder(struct sp_archive *archive)
{
	int fd;

	if (mkdirat(archive->directory_fd, SP_ARCHIVE_FOLDER, 0777) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(archive->directory_fd, SP_ARCHIVE_FOLDER,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int write_one(const struct held *held, int folder, uint64_t most_bytes,
		     const struct sp_archive_ops *ops, void *arg, struct sp_archive_counts *counts)
{
	sp_cleanup(sp_freep) char *name = NULL;
	sp_cleanup(sp_freep) char *path = NULL;
	int r = folder < 0 ? folder
			   : copy_held(folder, held, most_bytes - counts->bytes, ops, arg, &name);

	if (r == 1)
		return 0;
	if (r == 0 && asprintf(&path, SP_ARCHIVE_FOLDER "/%s", name) < 0) {
		path = NULL;
		r = -ENOMEM;
	}
	counts->copied += r == 0;
	counts->left += r < 0;
	counts->bytes += r == 0 ? held->key.size : 0;
	ops->wrote(arg, held->image, held->key.size, r, r == 0 ? path : "", held->path,
		   r < 0 ? reason(r) : "");
	return r;
}

void sp_archive_write(struct sp_archive *archive, const struct sp_archive_ops *ops, void *arg,
		      struct sp_archive_counts *ret_counts)
{
	struct sp_archive_counts counts = {0};
	int folder, entered;

	entered = archive->count ? sp_identity_enter(archive->identity) : 0;
	folder = entered < 0 ? entered : archive->count ? open_folder(archive) : -ENOENT;
	for (size_t i = 0; i < archive->count; i++) {
		int r = write_one(&archive->list[i], folder, archive->most_bytes, ops, arg,
				  &counts);

		/* What stops one of them stops all. */
		if (folder >= 0 && (r == -EINTR || r == -ENOSPC || r == -EDQUOT)) {
			close(folder);
			folder = r;
		}
	}
	if (folder >= 0)
		close(folder);
	if (entered == 0 && archive->count)
		sp_identity_leave(archive->identity);
	*ret_counts = counts;
}
