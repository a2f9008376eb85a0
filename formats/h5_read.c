// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_read.c - careful reading of HDF5 files; h5_read.h has the invariant.
 */
#include "formats/h5_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/utf8.h"
#include "formats/util.h"

/* What H5Fopen() said; of a file that was cut off, in words that do not need its source. */
static int refuse_file(struct sp_error *error)
{
	unsigned long long has, base, whole;
	struct sp_error reason = {0};
	int r = sp_h5_read_failed(&reason, "cannot be opened as an HDF5 file");
	const char *sizes = strstr(reason.text, "eof = ");

	if (sizes &&
	    sscanf(sizes, "eof = %llu, sblock->base_addr = %llu, stored_eof = %llu", &has, &base,
		   &whole) == 3 &&
	    has < whole)
		return sp_error_set(error, -SP_E_TRUNCATED, 0,
				    "is truncated: it has %llu of its %llu bytes", has, whole);
	if (error)
		*error = reason;
	return r;
}

int sp_h5_open(const char *path, hid_t *ret_file, struct sp_error *error)
{
	sp_cleanup_h5 hid_t access = -1;
	uint64_t size;
	htri_t is;
	int fd, r;

	r = sp_open_regular(path, &fd, &size, error);
	if (r)
		return r;
	close(fd);
	sp_h5_init();
	access = H5Pcreate(H5P_FILE_ACCESS);
	if (access < 0 || H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) < 0)
		return sp_h5_read_failed(error, "cannot be opened");
#if H5_VERSION_GE(1, 10, 7) && !(H5_VERS_MAJOR == 1 && H5_VERS_MINOR == 12 && H5_VERS_RELEASE == 0)
	/* Reading must work on file systems without locks, and on files that others hold. */
	H5Pset_file_locking(access, false, true);
#endif
	is = H5Fis_hdf5(path);
	if (is <= 0)
		return sp_error_set(error, -SP_E_FORMAT, 0, "is not an HDF5 file");
	*ret_file = H5Fopen(path, H5F_ACC_RDONLY, access);
	return *ret_file < 0 ? refuse_file(error) : 0;
}

int sp_h5_exists(hid_t file, const char *path, struct sp_error *error)
{
	sp_cleanup_free char *part = strdup(path);
	char *slash;

	if (!part)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (slash = strchr(part + 1, '/');; slash = strchr(slash + 1, '/')) {
		H5L_info_t info;
		htri_t exists;

		if (slash)
			*slash = '\0';
		exists = H5Lexists(file, part, H5P_DEFAULT);
		if (exists < 0)
			return sp_h5_read_failed(error, part);
		if (!exists)
			return 0;
		if (H5Lget_info(file, part, &info, H5P_DEFAULT) < 0)
			return sp_h5_read_failed(error, part);
		if (info.type != H5L_TYPE_HARD)
			return sp_error_set(error, -SP_E_DAMAGED, 0,
					    "%s is a soft or external link, which is not followed",
					    part);
		if (!slash)
			return 1;
		*slash = '/';
	}
}

/* The lengths of the @n_dims sides of a data set. None at all (a null data space) is no element. */
static int read_shape(hid_t dataset, const char *path, int n_dims, uint64_t *ret_sides,
		      struct sp_error *error)
{
	sp_cleanup_h5 hid_t space = H5Dget_space(dataset);
	hsize_t sides[H5S_MAX_RANK] = {0};

	if (space < 0)
		return sp_h5_read_failed(error, path);
	if (H5Sget_simple_extent_type(space) != H5S_NULL &&
	    (H5Sget_simple_extent_ndims(space) != n_dims ||
	     H5Sget_simple_extent_dims(space, sides, NULL) != n_dims))
		return sp_error_set(error, -SP_E_DAMAGED, 0, "%s is not %s-dimensional", path,
				    n_dims == 1 ? "one" : "two");
	for (int i = 0; i < n_dims; i++)
		ret_sides[i] = sides[i];
	return 0;
}

static int open_shaped(hid_t file, const char *path, bool required, int n_dims, hid_t *ret_dataset,
		       uint64_t *ret_sides, struct sp_error *error)
{
	sp_cleanup_h5 hid_t object = -1;
	sp_cleanup_h5 hid_t access = -1;
	uint64_t sides[2] = {0};
	int r = sp_h5_exists(file, path, error);

	if (r < 0)
		return r;
	if (!r && required)
		return sp_error_set(error, -SP_E_MISSING, 0, "has no data set %s", path);
	if (!r) {
		*ret_dataset = -1;
		*ret_sides = 0;
		return 0;
	}
	object = H5Oopen(file, path, H5P_DEFAULT);
	if (object < 0)
		return sp_h5_read_failed(error, path);
	if (H5Iget_type(object) != H5I_DATASET)
		return sp_error_set(error, -SP_E_DAMAGED, 0, "%s is not a data set", path);
	r = read_shape(object, path, n_dims, sides, error);
	if (!r)
		r = sp_h5_check_properties(object, path, &access, error);
	if (r)
		return r;
	if (access >= 0) { /* only who opens it can size its cache */
		sp_h5_close(&object);
		object = H5Dopen2(file, path, access);
		if (object < 0)
			return sp_h5_read_failed(error, path);
	}
	*ret_dataset = object;
	for (int i = 0; i < n_dims; i++)
		ret_sides[i] = sides[i];
	object = -1;
	return 0;
}

int sp_h5_open_dataset(hid_t file, const char *path, bool required, hid_t *ret_dataset,
		       uint64_t *ret_length, struct sp_error *error)
{
	return open_shaped(file, path, required, 1, ret_dataset, ret_length, error);
}

static bool holds_numbers(hid_t dataset, bool reals)
{
	sp_cleanup_h5 hid_t type = H5Dget_type(dataset);
	H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);

	/* An enumeration is how h5py stores truth values. */
	return class == H5T_INTEGER || class == H5T_ENUM || (reals && class == H5T_FLOAT);
}

int sp_h5_check_length(const char *path, uint64_t length, uint64_t wanted, struct sp_error *error)
{
	if (wanted == SP_H5_ANY_LENGTH || length == wanted)
		return 0;
	return sp_error_set(error, -SP_E_DAMAGED, 0,
			    "%s has %" PRIu64 " elements instead of %" PRIu64, path, length,
			    wanted);
}

int sp_h5_open_numbers(hid_t file, const char *path, bool required, uint64_t length,
		       hid_t *ret_dataset, uint64_t *ret_length, struct sp_error *error)
{
	sp_cleanup_h5 hid_t dataset = -1;
	uint64_t found;
	int r = sp_h5_open_dataset(file, path, required, &dataset, &found, error);

	if (r)
		return r;
	if (dataset >= 0) {
		if (!holds_numbers(dataset, false))
			return sp_error_set(error, -SP_E_DAMAGED, 0, "%s does not hold integers",
					    path);
		r = sp_h5_check_length(path, found, length, error);
		if (r)
			return r;
	}
	*ret_dataset = dataset;
	if (ret_length)
		*ret_length = found;
	dataset = -1;
	return 0;
}

/* libhdf5 clips a number that the memory's type cannot hold; a damaged file must not pass that way.
 */
static H5T_conv_ret_t refuse_clipping(H5T_conv_except_t what, hid_t from, hid_t to, void *value,
				      void *result, void *data)
{
	(void)from;
	(void)to;
	(void)value;
	(void)result;
	if (what == H5T_CONV_EXCEPT_PRECISION || what == H5T_CONV_EXCEPT_TRUNCATE)
		return H5T_CONV_UNHANDLED;
	*(bool *)data = true;
	return H5T_CONV_ABORT;
}

/* Reads what is selected in @file (H5S_ALL: everything). */
static int read_selected(hid_t dataset, const char *path, hid_t memory_type, hid_t memory,
			 hid_t file, void *ret_values, struct sp_error *error)
{
	sp_cleanup_h5 hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
	bool clipped = false;

	if (transfer >= 0 && H5Pset_type_conv_cb(transfer, refuse_clipping, &clipped) >= 0 &&
	    H5Dread(dataset, memory_type, memory, file, transfer, ret_values) >= 0)
		return 0;
	if (!clipped)
		return sp_h5_dataset_failed(dataset, path, error);
	H5Eclear2(H5E_DEFAULT);
	return sp_error_set(error, -SP_E_COUNT, 0, "%s has a number that is negative or too large",
			    path);
}

int sp_h5_read_slab(hid_t dataset, const char *path, hid_t memory_type, uint64_t first, uint64_t n,
		    void *ret_values, struct sp_error *error)
{
	hsize_t at = first, count = n;
	sp_cleanup_h5 hid_t file = -1;
	sp_cleanup_h5 hid_t memory = -1;

	if (!n)
		return 0;
	file = H5Dget_space(dataset);
	memory = H5Screate_simple(1, &count, NULL);
	if (file < 0 || memory < 0 ||
	    H5Sselect_hyperslab(file, H5S_SELECT_SET, &at, NULL, &count, NULL) < 0)
		return sp_h5_read_failed(error, path);
	return read_selected(dataset, path, memory_type, memory, file, ret_values, error);
}

int sp_h5_read_numbers(hid_t file, const char *path, enum sp_h5_type type, bool required,
		       uint64_t length, void **ret_values, uint64_t *ret_length,
		       struct sp_error *error)
{
	sp_cleanup_h5 hid_t dataset = -1;
	sp_cleanup_free void *values = NULL;
	uint64_t found;
	int r = sp_h5_open_numbers(file, path, required, length, &dataset, &found, error);

	if (!r && dataset >= 0)
		r = sp_h5_check_storage(dataset, path, found, error);
	if (r)
		return r;
	if (dataset >= 0) {
		values = calloc(found + 1, sp_h5_type_size(type));
		if (!values)
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		r = sp_h5_read_slab(dataset, path, sp_h5_memory_type(type), 0, found, values,
				    error);
		if (r)
			return r;
	}
	*ret_values = values;
	values = NULL;
	if (ret_length)
		*ret_length = found;
	return 0;
}

int sp_h5_read_reals(hid_t file, const char *path, int n_dims, double **ret_values,
		     uint64_t *ret_sides, struct sp_error *error)
{
	sp_cleanup_h5 hid_t dataset = -1;
	sp_cleanup_free double *values = NULL;
	uint64_t sides[2] = {0}, n;
	int r = open_shaped(file, path, true, n_dims, &dataset, sides, error);

	if (r)
		return r;
	if (!holds_numbers(dataset, true))
		return sp_error_set(error, -SP_E_DAMAGED, 0, "%s does not hold numbers", path);
	if (__builtin_mul_overflow(sides[0], n_dims == 1 ? 1 : sides[1], &n))
		return sp_error_set(error, -SP_E_COUNT, 0, "%s has too many elements", path);
	r = sp_h5_check_storage(dataset, path, n, error);
	if (r)
		return r;
	values = calloc(n + 1, sizeof(*values));
	if (!values)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	if (n)
		r = read_selected(dataset, path, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, values,
				  error);
	if (r)
		return r;
	*ret_values = values;
	values = NULL;
	for (int i = 0; i < n_dims; i++)
		ret_sides[i] = sides[i];
	return 0;
}
