/* SPDX-License-Identifier: BSD-2-Clause
 *
 * spt.h - native traces (.spt): per region the start and end of every call on one rank.
 *
 * FORMAT.md, section 1, is the layout and what a reader refuses. Times are CLOCK_MONOTONIC
 * nanoseconds, absolute; calls of a region stand in order of entry. The format has no threads:
 * calls of several threads that overlap are kept as they are, and only plain statistics make sense
 * of them.
 */
#ifndef SP_FORMATS_SPT_H
#define SP_FORMATS_SPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/api.h"
#include "formats/error.h"
#include "formats/output.h"

SP_API_BEGIN

#define SP_SPT_VERSION 2	      /* newest, and the one written */
#define SP_SPT_MAX_REGIONS (1u << 20) /* more are refused */
#define SP_SPT_MAX_NAME (1u << 20)    /* bytes of a name or path; longer ones are refused */

struct sp_spt_region {
	const char *name;	 /* UTF-8 */
	const char *source_file; /* NULL or "" unknown; NULL in a version 1 file */
	int32_t source_line;	 /* -1 unknown */
	uint64_t calls;
};

/* ---- writing: open, add the calls of all regions in order, commit, free ----
 *
 * Memory does not depend on the number of calls (about 128 KiB, and the table of regions). */

struct sp_spt_writer;

/* Starts a file of @version 1 (which has no source locations) or 2, little-endian. The exact
 * numbers of calls must be known. Regions without a call may be given and are written. Names are
 * repaired to UTF-8 (utf8.h); the strings are not needed after the return. -EINVAL: a rank < 0, too
 * many regions, a name too long. */
int sp_spt_writer_open(const char *path, unsigned int output_flags, int version, int32_t rank,
		       const struct sp_spt_region *regions, size_t n_regions,
		       struct sp_spt_writer **ret_writer, struct sp_error *error);
/* Adds the next @n calls of the region with index @region. Regions come in order, each complete
 * before the next: -EINVAL otherwise, or if a region gets more calls than it was announced with. */
int sp_spt_writer_add(struct sp_spt_writer *writer, size_t region, const int64_t *starts,
		      const int64_t *ends, size_t n, struct sp_error *error);
/* Publishes the file. -EINVAL if calls are missing. */
int sp_spt_writer_commit(struct sp_spt_writer *writer, struct sp_error *error);
/* Frees; a file not committed vanishes. NULL is fine. */
void sp_spt_writer_free(struct sp_spt_writer *writer);

/* ---- reading ----
 *
 * Open walks all region records (not the calls) and refuses what FORMAT.md says; after that only an
 * I/O error, or a file that shrinks meanwhile, can fail. Memory: the table of regions, never more
 * than a small multiple of the file's size. Two regions may have one name: pool them. */

struct sp_spt_reader;

int sp_spt_reader_open(const char *path, struct sp_spt_reader **ret_reader, struct sp_error *error);
void sp_spt_reader_free(struct sp_spt_reader *reader);
int32_t sp_spt_reader_version(const struct sp_spt_reader *reader);
int32_t sp_spt_reader_rank(const struct sp_spt_reader *reader);
bool sp_spt_reader_big_endian(const struct sp_spt_reader *reader);
size_t sp_spt_reader_n_regions(const struct sp_spt_reader *reader);
/* Valid until free. @index < n_regions. */
const struct sp_spt_region *sp_spt_reader_region(const struct sp_spt_reader *reader, size_t index);
/* Reads calls @first … @first + @n − 1 of a region. Either array may be NULL. -EINVAL if the region
 * has not that many. Any order; sequential reads of 8,192 calls and more reach the speed of
 * pread(). */
int sp_spt_reader_calls(struct sp_spt_reader *reader, size_t region, uint64_t first, size_t n,
			int64_t *ret_starts, int64_t *ret_ends, struct sp_error *error);

SP_API_END

#endif
