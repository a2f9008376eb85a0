/* SPDX-License-Identifier: BSD-2-Clause
 *
 * write_h5_copy.h - a profile on its way into an HDF5 file; for write_h5*.c only.
 */
#ifndef SP_EXPORT_WRITE_H5_COPY_H
#define SP_EXPORT_WRITE_H5_COPY_H

#include "formats/h5_write.h"
#include "userspace/export/write.h"

struct sp_h5_copy {
	struct sp_profile *profile;
	const struct sp_profile_info *info;
	const struct sp_write_options *options;
	struct sp_h5_writer *writer;
	uint32_t *regions; /* id in the file */
	bool aggregate;
	uint64_t done, total;
};

static inline int sp_h5_copy_no_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

/* A region of a table: its id in the file. */
static inline uint32_t sp_h5_copy_region(const struct sp_h5_copy *copy, uint32_t region)
{
	return region < copy->info->n_regions ? copy->regions[region] : region;
}

/* @more calls or samples are written. Not 0: that is enough. */
int sp_h5_copy_progress(struct sp_h5_copy *copy, uint64_t more);

/* write_h5_samples.c */
int sp_h5_copy_samples(struct sp_h5_copy *copy, struct sp_error *error);

#endif
