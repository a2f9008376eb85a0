// SPDX-License-Identifier: BSD-2-Clause
/*
 * output.c - files that appear complete or not at all.
 *
 * Invariant: until commit has succeeded nothing at the final name has changed, and free() leaves no
 * temporary file behind. All names are resolved relative to the directory opened at first.
 *
 * A writer that is killed does leave one. A temporary file is locked as long as its writer lives,
 * so the next output of that name knows the dead ones, and removes them. A file is created before
 * it is locked; a writer whose file was taken for a dead one in between makes another.
 */
#include "formats/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/directory.h"
#include "formats/util.h"

#define TEMPORARY ".%.200s.tmp" /* then eight hexadecimal digits */

struct sp_output {
	char *path;
	char *temporary;       /* path of the temporary file */
	const char *name;      /* last component of path */
	const char *temp_name; /* last component of temporary */
	int directory;
	int fd;
	unsigned int flags;
	bool exists; /* the temporary file does */
};

/* True if @fd is still the file of that name. */
static bool is_at(const struct sp_output *output, const char *name, int fd)
{
	struct stat there, opened;

	return !fstatat(output->directory, name, &there, AT_SYMLINK_NOFOLLOW) &&
	       !fstat(fd, &opened) && there.st_dev == opened.st_dev &&
	       there.st_ino == opened.st_ino;
}

/* Locks the new temporary file. False if another writer has it for a dead one's. */
static bool lock_temporary(const struct sp_output *output)
{
	/* Where there are no locks, nobody removes anything. */
	if (flock(output->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return false;
	return is_at(output, output->temp_name, output->fd);
}

static int create_temporary(struct sp_output *output)
{
	size_t prefix = (size_t)(output->name - output->path);
	unsigned int number;

	for (int attempt = 0; attempt < 100; attempt++) {
		free(output->temporary);
		output->temporary = NULL;
		if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
			number = (unsigned int)getpid() * 100u + (unsigned int)attempt;
		if (asprintf(&output->temporary, "%.*s" TEMPORARY "%08x", (int)prefix, output->path,
			     output->name, number) < 0) {
			output->temporary = NULL;
			return -ENOMEM;
		}
		output->temp_name = output->temporary + prefix;
		output->fd = openat(output->directory, output->temp_name,
				    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (output->fd < 0 && errno != EEXIST)
			return -errno;
		if (output->fd < 0)
			continue;
		if (lock_temporary(output)) {
			output->exists = true;
			return 0;
		}
		unlinkat(output->directory, output->temp_name, 0);
		close(output->fd);
		output->fd = -1;
	}
	return -EEXIST;
}

/* ---- what dead writers left ---- */

/* True if @name is one of this output's temporary names. */
static bool is_temporary(const char *name, const char *begin)
{
	size_t size = strlen(begin);

	return strncmp(name, begin, size) == 0 && strlen(name) == size + 8 &&
	       strspn(name + size, "0123456789abcdef") == 8;
}

/* Removes @name if it is a plain file of this user's that nobody writes. */
static void remove_stale(const struct sp_output *output, const char *name)
{
	struct stat st;
	int fd;

	if (fstatat(output->directory, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid() || st.st_nlink != 1)
		return;
	fd = openat(output->directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    !flock(fd, LOCK_EX | LOCK_NB) && is_at(output, name, fd))
		unlinkat(output->directory, name, 0);
	close(fd);
}

/* Whatever goes wrong here is no failure of the output. */
static void remove_leftovers(const struct sp_output *output)
{
	int fd = openat(output->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	char *begin = NULL;

	if (!directory && fd >= 0)
		close(fd);
	if (directory && asprintf(&begin, TEMPORARY, output->name) < 0)
		begin = NULL;
	while (begin && (entry = readdir(directory)))
		if (is_temporary(entry->d_name, begin))
			remove_stale(output, entry->d_name);
	if (directory)
		closedir(directory);
	free(begin);
}

static int open_directory(struct sp_output *output)
{
	char *copy = strdup(output->path);

	if (!copy)
		return -ENOMEM;
	output->directory = sp_directory_open(dirname(copy));
	free(copy);
	return output->directory < 0 ? output->directory : 0;
}

int sp_output_open(const char *path, unsigned int flags, struct sp_output **ret_output,
		   struct sp_error *error)
{
	struct sp_output *output;
	const char *slash;
	struct stat st;
	int r;

	output = calloc(1, sizeof(*output));
	if (!output)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	output->directory = output->fd = -1;
	output->flags = flags;
	output->path = strdup(path);
	if (!output->path) {
		sp_output_free(output);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	slash = strrchr(output->path, '/');
	output->name = slash ? slash + 1 : output->path;
	r = output->name[0] ? open_directory(output) : -EISDIR;
	if (!r && !(flags & SP_OUTPUT_REPLACE) &&
	    !fstatat(output->directory, output->name, &st, AT_SYMLINK_NOFOLLOW))
		r = -EEXIST;
	/* A rename would take the place of /dev/null, too, if root asks for it. */
	if (!r && !fstatat(output->directory, output->name, &st, 0) && !S_ISREG(st.st_mode)) {
		sp_output_free(output);
		return sp_error_set(error, S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST, 0,
				    "is not a regular file, and is not replaced");
	}
	if (!r) {
		remove_leftovers(output);
		r = create_temporary(output);
	}
	if (r) {
		sp_output_free(output);
		if (r == -EEXIST)
			return sp_error_set(error, r, 0, "exists already, and is not replaced");
		return sp_error_set(error, r, 0, "cannot be created: %s",
				    sp_directory_error(r));
	}
	*ret_output = output;
	return 0;
}

const char *sp_output_temporary(const struct sp_output *output)
{
	return output->temporary;
}

int sp_output_fd(const struct sp_output *output)
{
	return output->fd;
}

int sp_output_write(struct sp_output *output, uint64_t offset, const void *data, size_t size,
		    struct sp_error *error)
{
	int r = sp_pwrite_all(output->fd, data, size, offset);

	return r ? sp_error_set(error, r, offset, "cannot be written: %s", strerror(-r)) : 0;
}

/* Gives the temporary file its name, without replacing one that is there. */
static int publish_new(struct sp_output *output)
{
	if (!renameat2(output->directory, output->temp_name, output->directory, output->name,
		       RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A file system without that flag: a hard link does not replace either. */
	if (linkat(output->directory, output->temp_name, output->directory, output->name, 0))
		return -errno;
	unlinkat(output->directory, output->temp_name, 0);
	return 0;
}

int sp_output_commit(struct sp_output *output, struct sp_error *error)
{
	bool sync = !(output->flags & SP_OUTPUT_NO_SYNC);
	int r = 0;

	if (sync && fsync(output->fd))
		return sp_error_set(error, -errno, 0, "cannot be synced: %s", strerror(errno));
	if (!(output->flags & SP_OUTPUT_REPLACE))
		r = publish_new(output);
	else if (renameat(output->directory, output->temp_name, output->directory, output->name))
		r = -errno;
	if (r == -EEXIST)
		return sp_error_set(error, r, 0, "exists already, and is not replaced");
	if (r)
		return sp_error_set(error, r, 0, "cannot be given its name: %s", strerror(-r));
	output->exists = false;
	/* Some file systems cannot sync a directory; the file itself is safe. */
	if (sync && fsync(output->directory) && errno != EINVAL && errno != ENOTSUP)
		return sp_error_set(error, -errno, 0, "its directory cannot be synced: %s",
				    strerror(errno));
	return 0;
}

void sp_output_free(struct sp_output *output)
{
	if (!output)
		return;
	if (output->exists)
		unlinkat(output->directory, output->temp_name, 0);
	if (output->fd >= 0)
		close(output->fd);
	if (output->directory >= 0)
		close(output->directory);
	free(output->temporary);
	free(output->path);
	free(output);
}
