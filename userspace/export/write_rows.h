/* SPDX-License-Identifier: BSD-2-Clause
 *
 * write_rows.h - the rows of an HDF5 file that is made of a profile.
 */
#ifndef SP_EXPORT_WRITE_ROWS_H
#define SP_EXPORT_WRITE_ROWS_H

#include "formats/profile_read.h"

#define SP_WRITE_NO_ROW UINT32_MAX

struct sp_write_row {
	uint32_t rank, region;
	uint32_t row; /* of the profile; SP_WRITE_NO_ROW: without calls, made up */
};

/* The rows by rank, then in the profile's order; to be freed. A region needs a row, since
 * scope-profiler cannot read one without. Ranks that have samples and no row get one for each
 * region of their samples; what is left without goes to the lowest rank. Reads all samples if there
 * is such a rank. */
int sp_write_list_rows(struct sp_profile *profile, struct sp_write_row **ret_rows, size_t *ret_n,
		       struct sp_error *error);

#endif
