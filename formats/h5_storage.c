// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_storage.c - how an HDF5 data set is stored, and whether that can be believed.
 *
 * Invariant: a data set that passed has its data in this file, and neither it nor one of its chunks
 * claims many times more than the bytes that the file stores of it.
 */
#include <inttypes.h>
#include <string.h>

#include "formats/h5_read.h"

enum {
	SMALL = 1 << 20,	 /* bytes that need no proof */
	CACHED_CHUNKS = 4,	 /* of a data set, so that rows can be read in turns */
	RATIO = 2048,		 /* deflate makes at most 1032 bytes of one */
	RATIO_OTHERS = 1 << 16,	 /* scaleoffset and zstd make more of what does not change */
	DEFAULT_CACHE = 1 << 20, /* of libhdf5, for a data set */
	FILTER_LZF = 32000,	 /* h5_lzf.c */
};

/* What a filter is called; the name that the file has may be long, or missing. */
static const char *filter_name(H5Z_filter_t id, const char *stored_name)
{
	static const struct {
		H5Z_filter_t id;
		const char *name;
	} names[] = {
		{H5Z_FILTER_DEFLATE, "gzip"},
		{H5Z_FILTER_SZIP, "szip"},
		{307, "bzip2"},
		{32001, "blosc"},
		{32004, "lz4"},
		{32008, "bitshuffle"},
		{32013, "zfp"},
		{32015, "zstd"},
		{32026, "blosc2"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].id == id)
			return names[i].name;
	return stored_name[0] ? stored_name : "an unnamed filter";
}

/* Names the first filter that is not available; an optional one may not have been used after all,
 * so it counts only if @optional. 0 if there is none. */
static int check_filters(hid_t properties, const char *path, bool optional, struct sp_error *error)
{
	int n = H5Pget_nfilters(properties);

	for (int i = 0; i < n; i++) {
		unsigned int flags, config;
		size_t n_values = 0;
		char stored_name[32] = "";
		H5Z_filter_t id = H5Pget_filter2(properties, (unsigned int)i, &flags, &n_values,
						 NULL, sizeof(stored_name), stored_name, &config);

		if (id < 0)
			return sp_h5_read_failed(error, path);
		if (H5Zfilter_avail(id) > 0 || (flags & H5Z_FLAG_OPTIONAL && !optional))
			continue;
		H5Eclear2(H5E_DEFAULT);
		return sp_error_set(
			error, -ENOTSUP, 0,
			"%.80s is compressed with %s (filter %d), which the HDF5 library "
			"here does not have; let HDF5_PLUGIN_PATH name a directory with "
			"its plugin, such as that of Python's hdf5plugin",
			path, filter_name(id, stored_name), (int)id);
	}
	return 0;
}

bool sp_h5_is_filtered(hid_t dataset)
{
	sp_cleanup_h5 hid_t properties = H5Dget_create_plist(dataset);

	return properties >= 0 && H5Pget_nfilters(properties) > 0;
}

/* How many bytes one stored byte can make, by the filters. */
static uint64_t expansion(hid_t dataset)
{
	sp_cleanup_h5 hid_t properties = H5Dget_create_plist(dataset);
	int n = properties < 0 ? 0 : H5Pget_nfilters(properties);

	for (int i = 0; i < n; i++) {
		unsigned int flags, config;
		size_t n_values = 0;
		H5Z_filter_t id = H5Pget_filter2(properties, (unsigned int)i, &flags, &n_values,
						 NULL, 0, NULL, &config);

		if (id != H5Z_FILTER_DEFLATE && id != H5Z_FILTER_SHUFFLE &&
		    id != H5Z_FILTER_FLETCHER32 && id != FILTER_LZF)
			return RATIO_OTHERS;
	}
	return RATIO;
}

/* Bytes of a chunk; 0 if the data set has none. UINT64_MAX: more than can be counted. */
static uint64_t chunk_bytes(hid_t dataset, hid_t properties)
{
	sp_cleanup_h5 hid_t type = H5Dget_type(dataset);
	uint64_t bytes = type < 0 ? 0 : H5Tget_size(type);
	hsize_t sides[H5S_MAX_RANK];
	int n;

	if (H5Pget_layout(properties) != H5D_CHUNKED)
		return 0;
	n = H5Pget_chunk(properties, H5S_MAX_RANK, sides);
	for (int i = 0; i < n; i++)
		if (__builtin_mul_overflow(bytes, sides[i], &bytes))
			return UINT64_MAX;
	return bytes;
}

int sp_h5_check_properties(hid_t dataset, const char *path, hid_t *ret_access,
			   struct sp_error *error)
{
	sp_cleanup_h5 hid_t properties = H5Dget_create_plist(dataset);
	sp_cleanup_h5 hid_t access = -1;
	uint64_t chunk, stored;
	bool filtered;
	int r;

	if (properties < 0)
		return sp_h5_read_failed(error, path);
	if (H5Pget_layout(properties) == H5D_VIRTUAL || H5Pget_external_count(properties) > 0)
		return sp_error_set(error, -SP_E_DAMAGED, 0, "%s has its data in another file",
				    path);
	stored = H5Dget_storage_size(dataset);
	r = stored ? check_filters(properties, path, false, error) : 0;
	if (r)
		return r;
	chunk = chunk_bytes(dataset, properties);
	filtered = H5Pget_nfilters(properties) > 0;
	if (stored && filtered && chunk > 16 * SMALL && chunk / expansion(dataset) > stored)
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "%s claims chunks of %" PRIu64
				    " bytes, and the file stores %" PRIu64,
				    path, chunk, stored);
	if (stored && filtered && CACHED_CHUNKS * chunk > DEFAULT_CACHE) {
		/* A chunk that the cache cannot hold would be unpacked for every block of it that
		 * is read. Others are read piece by piece, where they lie. */
		uint64_t cache = chunk > 2 * SMALL ? chunk : CACHED_CHUNKS * chunk;

		access = H5Pcreate(H5P_DATASET_ACCESS);
		if (access < 0 || H5Pset_chunk_cache(access, 127, cache, 0.75) < 0)
			return sp_h5_read_failed(error, path);
	}
	*ret_access = access;
	access = -1;
	return 0;
}

int sp_h5_dataset_failed(hid_t dataset, const char *path, struct sp_error *error)
{
	struct sp_error reason = {0};
	sp_cleanup_h5 hid_t properties = -1;
	int r = sp_h5_read_failed(&reason, path);

	properties = H5Dget_create_plist(dataset);
	if (properties >= 0 && check_filters(properties, path, true, error) == -ENOTSUP)
		return -ENOTSUP;
	if (error)
		*error = reason;
	return r;
}

int sp_h5_check_size(hid_t dataset, const char *path, uint64_t n, struct sp_error *error)
{
	sp_cleanup_h5 hid_t type = H5Dget_type(dataset);
	uint64_t size = type < 0 ? 0 : H5Tget_size(type), stored = H5Dget_storage_size(dataset);
	uint64_t bytes;

	if (!size)
		return sp_h5_read_failed(error, path);
	if (__builtin_mul_overflow(n, size, &bytes) ||
	    (bytes > SMALL && bytes / expansion(dataset) > stored))
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "%s claims %" PRIu64 " elements of %" PRIu64
				    " bytes, for which the file stores %" PRIu64 " bytes",
				    path, n, size, stored);
	return 0;
}

int sp_h5_check_storage(hid_t dataset, const char *path, uint64_t n, struct sp_error *error)
{
	if (n > SP_PROFILE_MAX_ROWS)
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "%s has %" PRIu64 " elements, more than %u", path, n,
				    SP_PROFILE_MAX_ROWS);
	return sp_h5_check_size(dataset, path, n, error);
}
