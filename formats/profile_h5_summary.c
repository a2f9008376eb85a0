// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_h5_summary.c - the stored statistics of the rows of HDF5 profiles of schemas 2 and 3.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/profile_h5.h"
#include "formats/util.h"

int sp_h5_read_summary(hid_t file, uint64_t n_rows, struct sp_h5_summary **ret_summary,
		       struct sp_error *error)
{
	static const char path[] = "/rank_region_index/summary_statistics";
	sp_cleanup_h5 hid_t dataset = -1;
	sp_cleanup_h5 hid_t stored = -1;
	sp_cleanup_h5 hid_t wanted = -1;
	uint64_t n;
	int r = sp_h5_open_dataset(file, path, false, &dataset, &n, error);

	if (r || dataset < 0)
		return r;
	if (n != n_rows)
		return sp_error_set(error, -SP_E_DAMAGED, 0,
				    "%s has %" PRIu64 " elements instead of %" PRIu64, path, n,
				    n_rows);
	stored = H5Dget_type(dataset);
	wanted = sp_h5_summary_type();
	if (stored < 0 || wanted < 0)
		return sp_h5_read_failed(error, path);
	if (H5Tget_class(stored) != H5T_COMPOUND)
		return sp_error_set(error, -SP_E_DAMAGED, 0, "%s does not hold records", path);
	for (int i = 0; i < H5Tget_nmembers(wanted); i++) {
		char *name = H5Tget_member_name(wanted, (unsigned int)i);
		int member = name ? H5Tget_member_index(stored, name) : -1;
		H5T_class_t class = member < 0 ? H5T_NO_CLASS
					       : H5Tget_member_class(stored, (unsigned int)member);
		bool good = class == H5T_INTEGER || class == H5T_FLOAT;

		if (!good)
			r = sp_error_set(error, -SP_E_DAMAGED, 0, "%s has no usable field \"%s\"",
					 path, name ? name : "?");
		H5free_memory(name);
		if (r)
			return r;
	}
	r = sp_h5_check_storage(dataset, path, n, error);
	if (r)
		return r;
	*ret_summary = calloc(n + 1, sizeof(**ret_summary));
	if (!*ret_summary)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	return sp_h5_read_slab(dataset, path, wanted, 0, n, *ret_summary, error);
}
