/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_inflate.h - compressed debug sections, inflated once for all processes that read a file.
 *
 * libdw inflates all of a file's .debug_* sections when it opens it, in each process anew, with
 * zlib, which takes longer than all that follows. Here it is given a view of the file: a file in
 * memory in which the sections that symbols need are inflated, and the others are missing.
 */
#ifndef SP_ANALYSIS_DEBUG_INFLATE_H
#define SP_ANALYSIS_DEBUG_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* What stays out of the view, and is not for libdw either. */
enum sp_inflate_refusal {
	SP_INFLATE_ALL = 0,
	SP_INFLATE_TOO_LARGE = 1, /* would take more memory than there is for it */
	SP_INFLATE_ZSTD = 2,
};

/* In memory that processes share: of which file the view is that one of them has made. */
struct sp_inflated_file {
	bool taken, ready;
	struct stat status;
	enum sp_inflate_refusal refusal;
};

/* A view for the processes that read the same file, of which the first is to be through with this
 * before another begins. */
struct sp_inflate_share {
	int fd; /* of a file in memory, empty at first */
	struct sp_inflated_file *file;
};

/* The file to read instead of @fd, which is closed then; @fd itself if nothing is compressed, or
 * so that libdw must see to it. Its memory is taken off RLIMIT_DATA. @share: NULL for a process
 * that is alone. *ret_refusal is set where there is one. */
int sp_debug_inflate(int fd, const struct sp_inflate_share *share,
		     enum sp_inflate_refusal *ret_refusal);
/* A clause that says why, perhaps in @buffer. NULL: nothing is refused. */
const char *sp_debug_inflate_reason(enum sp_inflate_refusal refusal, char *buffer, size_t size);

#endif
