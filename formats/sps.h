/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sps.h - native samples (.sps): instruction addresses by region and module on one rank.
 *
 * FORMAT.md, section 2. Addresses are absolute run-time addresses, and a module's number is its ELF
 * load bias: address − bias is the link-time address, which symbolizers take. Samples outside every
 * region have no place in the list; they are counted in the ticks.
 */
#ifndef SP_FORMATS_SPS_H
#define SP_FORMATS_SPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/api.h"
#include "formats/error.h"
#include "formats/output.h"

SP_API_BEGIN

#define SP_SPS_VERSION 1
#define SP_SPS_MAX_TABLE (1u << 20) /* regions, or modules; more are refused */
#define SP_SPS_MAX_NAME (1u << 20)  /* bytes of a name or path; longer ones are refused */

struct sp_sps_module {
	const char *path;
	uint64_t bias; /* run-time address − link-time address; 0 for an executable at fixed
			  addresses */
};

struct sp_sps_sample {
	int32_t region; /* index into the regions; a reader may meet -1, none */
	int32_t module; /* index into the modules, -1 unknown */
	uint64_t ip;	/* absolute address */
};

/* ---- writing: open, add samples, commit, free ---- */

struct sp_sps_writer;

/* Starts a version 1 file in native byte order, as the format wants. Strings are repaired to UTF-8
 * and not needed after the return. */
int sp_sps_writer_open(const char *path, unsigned int output_flags, int32_t rank, int32_t hz,
		       const char *const *regions, size_t n_regions,
		       const struct sp_sps_module *modules, size_t n_modules,
		       struct sp_sps_writer **ret_writer, struct sp_error *error);
/* -EINVAL for a region outside [0, n_regions) or a module outside [-1, n_modules). */
int sp_sps_writer_add(struct sp_sps_writer *writer, const struct sp_sps_sample *samples, size_t n,
		      struct sp_error *error);
/* Stores the counts and publishes the file. @ticks: timer expiries in all, in or out of a region;
 * raised to the number of samples if smaller. */
int sp_sps_writer_commit(struct sp_sps_writer *writer, int64_t ticks, struct sp_error *error);
void sp_sps_writer_free(struct sp_sps_writer *writer);

/* ---- reading ---- */

struct sp_sps_reader;

int sp_sps_reader_open(const char *path, struct sp_sps_reader **ret_reader, struct sp_error *error);
void sp_sps_reader_free(struct sp_sps_reader *reader);
int32_t sp_sps_reader_version(const struct sp_sps_reader *reader);
int32_t sp_sps_reader_rank(const struct sp_sps_reader *reader);
int32_t sp_sps_reader_hz(const struct sp_sps_reader *reader);
int64_t sp_sps_reader_ticks(const struct sp_sps_reader *reader);
bool sp_sps_reader_big_endian(const struct sp_sps_reader *reader);
size_t sp_sps_reader_n_regions(const struct sp_sps_reader *reader);
const char *sp_sps_reader_region(const struct sp_sps_reader *reader, size_t index);
size_t sp_sps_reader_n_modules(const struct sp_sps_reader *reader);
const struct sp_sps_module *sp_sps_reader_module(const struct sp_sps_reader *reader, size_t index);
uint64_t sp_sps_reader_n_samples(const struct sp_sps_reader *reader);
/* Reads samples @first … @first + @n − 1. -SP_E_DAMAGED for one whose region or module does not
 * exist. */
int sp_sps_reader_samples(struct sp_sps_reader *reader, uint64_t first, size_t n,
			  struct sp_sps_sample *ret_samples, struct sp_error *error);

SP_API_END

#endif
