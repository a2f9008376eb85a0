/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "formats/directory.h"
#include "userspace/base/log.h"

#define TRIES 10000

/* -EEXIST if there is something in it. */
static int check_empty(int fd)
{
	int copy = dup(fd), r = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	if (!dir) {
		r = -errno;
		if (copy >= 0)
			close(copy);
		return r;
	}
	while (r == 0 && (e = readdir(dir))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = -EEXIST;
	}
	closedir(dir);
	return r;
}

/* mkdir -p for the directories above. */
static int make_parents(const char *path)
{
	char *copy = strdup(path);
	int r = 0;

	if (!copy)
		return -ENOMEM;
	for (char *slash = strchr(copy + 1, '/'); slash && r == 0; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		r = sp_directory_make(copy);
		if (r == -EEXIST)
			r = 0;
		*slash = '/';
	}
	free(copy);
	return r;
}

static int open_directory(const char *path, struct sp_output *out)
{
	int fd;

	out->directory = strdup(path);
	if (!out->directory)
		return -ENOMEM;
	fd = sp_directory_open(path);
	if (fd < 0)
		return fd;
	out->directory_fd = fd;
	return 0;
}

/* Takes away what was made here. Its descriptors are closed first: finding the directory needs
 * some, and these may have been the last. */
static void undo(struct sp_output *out)
{
	if (out->journal)
		(void)unlinkat(out->directory_fd, SP_OUTPUT_JOURNAL, 0);
	if (out->journal_fd >= 0)
		close(out->journal_fd);
	if (out->directory_fd >= 0)
		close(out->directory_fd);
	out->journal_fd = out->directory_fd = -1;
	if (out->made && out->directory)
		(void)sp_directory_remove(out->directory);
}

static int make_wanted(const char *path, struct sp_output *out)
{
	int r = make_parents(path);

	if (r == 0) {
		r = sp_directory_make(path);
		out->made = r == 0;
		if (r == -EEXIST)
			r = 0;
	}
	if (r == 0)
		r = open_directory(path, out);
	if (r == 0)
		r = check_empty(out->directory_fd);
	if (r == -EEXIST) {
		sp_log_error("%s is not empty, and an earlier recording is never overwritten",
			     path);
		sp_log_hint("choose another directory with -o DIR, or remove this one first");
		return r;
	}
	if (r < 0) {
		sp_log_error("cannot write to %s: %s", path, sp_directory_error(r));
		sp_log_hint("choose another directory with -o DIR, one that you may write to");
		return r;
	}
	return 0;
}

static int make_default(const char *program, struct sp_output *out)
{
	char path[512];
	int r = -EEXIST;

	for (int i = 1; i < TRIES && r == -EEXIST; i++) {
		if (i == 1)
			snprintf(path, sizeof(path), "%.200s.sp", program);
		else
			snprintf(path, sizeof(path), "%.200s-%d.sp", program, i);
		r = sp_directory_make(path);
	}
	out->made = r == 0;
	if (r == 0)
		r = open_directory(path, out);
	if (r < 0) {
		sp_log_error("cannot make the directory %s here: %s", path, strerror(-r));
		sp_log_hint("choose a directory with -o DIR, one that you may write to");
		return r;
	}
	return 0;
}

static int make_journal(struct sp_output *out, int *ret_fd)
{
	int fd = openat(out->directory_fd, SP_OUTPUT_JOURNAL,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

	if (fd < 0) {
		int r = -errno;

		sp_log_error("cannot write to %s: %s", out->directory, strerror(-r));
		sp_log_hint("choose another directory with -o DIR");
		return r;
	}
	if (asprintf(&out->journal, "%s/" SP_OUTPUT_JOURNAL, out->directory) < 0) {
		out->journal = NULL;
		(void)unlinkat(out->directory_fd, SP_OUTPUT_JOURNAL, 0);
		close(fd);
		return -ENOMEM;
	}
	out->journal_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (out->journal_fd < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int sp_output_make(const char *wanted, const char *program, const struct sp_identity *identity,
		   struct sp_output *ret_output, int *ret_journal_fd)
{
	struct sp_output out = SP_OUTPUT_NONE;
	int r = sp_identity_enter(identity);

	if (r < 0) {
		sp_log_error("cannot act as user %u: %s", (unsigned)identity->uid, strerror(-r));
		return r;
	}
	r = wanted ? make_wanted(wanted, &out) : make_default(program, &out);
	if (r == 0)
		r = make_journal(&out, ret_journal_fd);
	if (r < 0)
		undo(&out);
	sp_identity_leave(identity);
	if (r < 0) {
		sp_output_clear(&out);
		return r;
	}
	*ret_output = out;
	return 0;
}

void sp_output_discard(struct sp_output *out, const struct sp_identity *identity)
{
	if (!out->directory || sp_identity_enter(identity) < 0)
		return;
	undo(out);
	sp_identity_leave(identity);
}

void sp_output_clear(struct sp_output *out)
{
	free(out->directory);
	free(out->journal);
	if (out->directory_fd >= 0)
		close(out->directory_fd);
	if (out->journal_fd >= 0)
		close(out->journal_fd);
	*out = (struct sp_output)SP_OUTPUT_NONE;
}

double sp_output_disk_use(const struct sp_output *out, uint64_t in_hand)
{
	struct statvfs v;
	double used, all;

	if (fstatvfs(out->directory_fd, &v) || v.f_blocks == 0)
		return 0;
	used = (double)(v.f_blocks - v.f_bfree);
	all = used + (double)v.f_bavail;
	used -= (double)in_hand / (double)v.f_frsize;
	return all > 0 && used > 0 ? used / all : 0;
}
