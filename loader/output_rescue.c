/* SPDX-License-Identifier: BSD-2-Clause
 *
 * output_rescue.c - the output directory or the journal was renamed or removed while we recorded,
 * or is out of reach.
 *
 * A file that is open has its content as long as it is open, so nothing is lost yet; but the
 * conversion is another program, and takes a name. New files are made with the user's rights alone.
 */
#include "loader/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

bool sp_output_is_removed(const struct sp_output *out)
{
	struct stat st;

	return out->journal_fd >= 0 && fstat(out->journal_fd, &st) == 0 && st.st_nlink == 0;
}

/* The name stands for what is open. */
static bool is_at(const char *path, int fd)
{
	struct stat named, opened;

	return stat(path, &named) == 0 && fstat(fd, &opened) == 0 &&
	       named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/* What the name of an open file is now. */
static char *name_now(int fd)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return NULL;
	path[n] = 0;
	return is_at(path, fd) ? strdup(path) : NULL;
}

/* Moved, not removed: the names are corrected. */
static int follow(struct sp_output *out)
{
	char *directory = NULL, *journal = NULL;

	if (!is_at(out->directory, out->directory_fd)) {
		directory = name_now(out->directory_fd);
		if (directory) {
			free(out->directory);
			out->directory = directory;
		}
	}
	if (!is_at(out->journal, out->journal_fd)) {
		journal = name_now(out->journal_fd);
		if (!journal)
			return -ENOENT;
		free(out->journal);
		out->journal = journal;
	}
	if (directory || journal)
		sp_log_warning("the output was moved while it was written: the journal is %s now",
			       out->journal);
	return 0;
}

static int copy(int from, int to)
{
	off_t at = 0;
	struct stat st;

	if (fstat(from, &st))
		return -errno;
	while (at < st.st_size) {
		ssize_t n = sendfile(to, from, &at, (size_t)(st.st_size - at));

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -EIO;
	}
	return 0;
}

/* Makes the output anew. @wanted: as for sp_output_make(). */
static int write_again(struct sp_output *out, const char *wanted, const char *program,
		       const struct sp_identity *identity)
{
	struct sp_output again;
	sp_cleanup(sp_closep) int fd = -1;
	int r = sp_output_make(wanted, program, identity, &again, &fd);

	if (r < 0)
		return r;
	r = copy(out->journal_fd, fd);
	if (r < 0) {
		sp_log_error("cannot write to %s: %s", again.directory, strerror(-r));
		sp_output_discard(&again, identity);
		sp_output_clear(&again);
		return r;
	}
	sp_output_clear(out);
	*out = again;
	return 0;
}

int sp_output_settle(struct sp_output *out, const char *program, const struct sp_identity *identity)
{
	bool removed = sp_output_is_removed(out);
	int r;

	if (!removed && follow(out) == 0)
		return 0;
	if (!removed)
		sp_log_warning("nothing leads to %s any more: its file system was unmounted, or "
			       "something was mounted over it",
			       out->journal);
	r = write_again(out, out->directory, program, identity);
	if (r < 0)
		r = write_again(out, NULL, program, identity);
	if (r < 0 && removed) {
		sp_log_error("the recording is lost: its journal was removed, and could not be "
			     "written again");
		sp_log_hint("record into another directory with -o DIR");
	} else if (r < 0) {
		sp_log_error("the journal could not be written again");
		sp_log_hint("it is where it was: mount that again, and sp-report recover %s",
			    out->journal);
	}
	if (r < 0)
		return r;
	sp_log_warning("the journal was written again, to %s", out->journal);
	return 0;
}
