/* SPDX-License-Identifier: BSD-2-Clause
 *
 * write.h - writes a whole profile, of whatever format or merged of many, as a file of another.
 *
 * One format, one file: write_h5.c, write_spt.c, write_sps.c, write_json.c. Each streams: memory
 * does not depend on the number of calls and samples. The file appears complete or not at all.
 */
#ifndef SP_EXPORT_WRITE_H
#define SP_EXPORT_WRITE_H

#include "formats/profile_read.h"

struct sp_write_options {
	unsigned int output_flags; /* SP_OUTPUT_* */
	const char *label;	   /* replaces the profile's, NULL: keep */
	/* Metadata for a profile that has none of the same key. Not in .spt and .sps. */
	const struct sp_fact *defaults;
	size_t n_defaults;
	/* HDF5 */
	const char
		*written_by; /* a fact of meta, if nothing says who recorded or wrote it; or NULL */
	unsigned int gzip;   /* 0 … 9 or SP_H5_GZIP_AUTO */
	unsigned int threads; /* 0: all CPUs */
	int schema;	      /* 0: newest */
	bool aggregate;	      /* statistics only */
	/* .spt */
	int version; /* 0: newest */
	/* .sps: all samples of the rank are in [first_sample, end_sample); both 0: unknown. */
	uint64_t first_sample, end_sample;
	/* Called now and then with the calls and samples written so far and in all. What is not 0
	 * ends the writing, and is returned. NULL: not called. */
	int (*progress)(void *data, uint64_t done, uint64_t total);
	void *progress_data;
};

int sp_write_h5(struct sp_profile *profile, const char *path,
		const struct sp_write_options *options, struct sp_error *error);
/* One rank of the profile. Parts that the format has no place for are left out: the caller says so.
 */
int sp_write_spt(struct sp_profile *profile, uint32_t rank, const char *path,
		 const struct sp_write_options *options, struct sp_error *error);
int sp_write_sps(struct sp_profile *profile, uint32_t rank, const char *path,
		 const struct sp_write_options *options, struct sp_error *error);
/* gzip if @path ends with ".gz". */
int sp_write_json(struct sp_profile *profile, const char *path,
		  const struct sp_write_options *options, struct sp_error *error);

#endif
