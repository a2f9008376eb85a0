// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_read.c - careful reading of HDF5 files; h5_read.h has the invariant.
 */
#include "formats/h5_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/utf8.h"
#include "formats/util.h"

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
	if (*ret_file < 0)
		return sp_h5_read_failed(error, "cannot be opened as an HDF5 file");
	return 0;
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

/* Refuses storage outside the file, and names a filter that is missing. */
static int check_properties(hid_t dataset, const char *path, struct sp_error *error)
{
	sp_cleanup_h5 hid_t properties = H5Dget_create_plist(dataset);
	int n;

	if (properties < 0)
		return sp_h5_read_failed(error, path);
	if (H5Pget_layout(properties) == H5D_VIRTUAL || H5Pget_external_count(properties) > 0)
		return sp_error_set(error, -SP_E_DAMAGED, 0, "%s has its data in another file",
				    path);
	n = H5Pget_nfilters(properties);
	for (int i = 0; i < n; i++) {
		unsigned int flags, config;
		size_t n_values = 0;
		char name[64] = "";
		H5Z_filter_t filter = H5Pget_filter2(properties, (unsigned int)i, &flags, &n_values,
						     NULL, sizeof(name), name, &config);

		if (filter < 0)
			return sp_h5_read_failed(error, path);
		if (H5Zfilter_avail(filter) <= 0)
			return sp_error_set(
				error, -ENOTSUP, 0,
				"%s is compressed with filter %d (%s), which the HDF5 library "
				"here does not have; install its plugin or set HDF5_PLUGIN_PATH",
				path, (int)filter, name[0] ? name : "no name");
	}
	return 0;
}

int sp_h5_open_dataset(hid_t file, const char *path, bool required, hid_t *ret_dataset,
		       uint64_t *ret_length, struct sp_error *error)
{
	sp_cleanup_h5 hid_t object = -1;
	sp_cleanup_h5 hid_t space = -1;
	hsize_t length = 0;
	int r = sp_h5_exists(file, path, error);

	if (r < 0)
		return r;
	if (!r && required)
		return sp_error_set(error, -SP_E_MISSING, 0, "has no data set %s", path);
	if (!r) {
		*ret_dataset = -1;
		*ret_length = 0;
		return 0;
	}
	object = H5Oopen(file, path, H5P_DEFAULT);
	if (object < 0)
		return sp_h5_read_failed(error, path);
	if (H5Iget_type(object) != H5I_DATASET)
		return sp_error_set(error, -SP_E_DAMAGED, 0, "%s is not a data set", path);
	space = H5Dget_space(object);
	if (space < 0)
		return sp_h5_read_failed(error, path);
	if (H5Sget_simple_extent_ndims(space) != 1 ||
	    H5Sget_simple_extent_dims(space, &length, NULL) != 1)
		return sp_error_set(error, -SP_E_DAMAGED, 0, "%s is not one-dimensional", path);
	r = check_properties(object, path, error);
	if (r)
		return r;
	*ret_dataset = object;
	*ret_length = length;
	object = -1;
	return 0;
}

static H5T_class_t element_class(hid_t dataset)
{
	sp_cleanup_h5 hid_t type = H5Dget_type(dataset);

	return type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
}

static int check_length(const char *path, uint64_t length, uint64_t wanted, struct sp_error *error)
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
		if (element_class(dataset) != H5T_INTEGER)
			return sp_error_set(error, -SP_E_DAMAGED, 0, "%s does not hold integers",
					    path);
		r = check_length(path, found, length, error);
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
	if (what != H5T_CONV_EXCEPT_RANGE_HI && what != H5T_CONV_EXCEPT_RANGE_LOW)
		return H5T_CONV_UNHANDLED;
	*(bool *)data = true;
	return H5T_CONV_ABORT;
}

int sp_h5_read_slab(hid_t dataset, const char *path, hid_t memory_type, uint64_t first, uint64_t n,
		    void *ret_values, struct sp_error *error)
{
	hsize_t at = first, count = n;
	sp_cleanup_h5 hid_t file = -1;
	sp_cleanup_h5 hid_t memory = -1;
	sp_cleanup_h5 hid_t transfer = -1;
	bool clipped = false;

	if (!n)
		return 0;
	file = H5Dget_space(dataset);
	memory = H5Screate_simple(1, &count, NULL);
	transfer = H5Pcreate(H5P_DATASET_XFER);
	if (file < 0 || memory < 0 || transfer < 0 ||
	    H5Pset_type_conv_cb(transfer, refuse_clipping, &clipped) < 0 ||
	    H5Sselect_hyperslab(file, H5S_SELECT_SET, &at, NULL, &count, NULL) < 0 ||
	    H5Dread(dataset, memory_type, memory, file, transfer, ret_values) < 0) {
		if (!clipped)
			return sp_h5_read_failed(error, path);
		H5Eclear2(H5E_DEFAULT);
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "%s has a number that is negative or too large", path);
	}
	return 0;
}

int sp_h5_check_storage(hid_t dataset, const char *path, uint64_t n, struct sp_error *error)
{
	enum { SMALL = 1 << 20, RATIO = 1 << 16 };
	sp_cleanup_h5 hid_t type = H5Dget_type(dataset);
	uint64_t size = type < 0 ? 0 : H5Tget_size(type), stored = H5Dget_storage_size(dataset);

	if (n > SP_PROFILE_MAX_ROWS)
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "%s has %" PRIu64 " elements, more than %u", path, n,
				    SP_PROFILE_MAX_ROWS);
	if (!size || (size > SMALL && n))
		return sp_error_set(error, -SP_E_COUNT, 0, "%s has elements of %" PRIu64 " bytes",
				    path, size);
	if (n * size > SMALL && n * size / RATIO > stored)
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "%s claims %" PRIu64
				    " elements, for which the file stores %" PRIu64 " bytes",
				    path, n, stored);
	return 0;
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

/* Reads some variable-length strings. */
static int read_variable(hid_t dataset, const char *path, hid_t type, uint64_t first, uint64_t n,
			 char **texts, struct sp_error *error)
{
	hsize_t count = n;
	sp_cleanup_free char **raw = calloc(n, sizeof(*raw));
	sp_cleanup_h5 hid_t space = H5Screate_simple(1, &count, NULL);
	sp_cleanup_h5 hid_t memory = H5Tcopy(type); /* keeps the character set: no conversion */
	int r;

	if (!raw)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	r = sp_h5_read_slab(dataset, path, memory, first, n, raw, error);
	for (uint64_t i = 0; !r && i < n; i++) {
		texts[i] = sp_utf8_repair(raw[i] ? raw[i] : "");
		if (!texts[i])
			r = sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	H5Dvlen_reclaim(memory, space, H5P_DEFAULT, raw);
	return r;
}

/* Reads some strings of a fixed size, whatever pads them. */
static int read_fixed(hid_t dataset, const char *path, hid_t type, uint64_t first, uint64_t n,
		      char **texts, struct sp_error *error)
{
	size_t size = H5Tget_size(type);
	bool spaces = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
	sp_cleanup_free char *raw = calloc(n, size);
	sp_cleanup_free char *text = malloc(size + 1);
	int r;

	if (!raw || !text)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	r = sp_h5_read_slab(dataset, path, type, first, n, raw, error);
	for (uint64_t i = 0; !r && i < n; i++) {
		size_t used = strnlen(raw + i * size, size);

		while (spaces && used && raw[i * size + used - 1] == ' ')
			used--;
		memcpy(text, raw + i * size, used);
		text[used] = '\0';
		texts[i] = sp_utf8_repair(text);
		if (!texts[i])
			r = sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	return r;
}

int sp_h5_read_texts(hid_t file, const char *path, bool required, uint64_t length,
		     char ***ret_texts, uint64_t *ret_length, struct sp_error *error)
{
	enum { BLOCK = 4096 };
	sp_cleanup_h5 hid_t dataset = -1;
	sp_cleanup_h5 hid_t type = -1;
	char **texts = NULL;
	uint64_t found;
	int r = sp_h5_open_dataset(file, path, required, &dataset, &found, error);

	if (!r && dataset >= 0)
		r = check_length(path, found, length, error);
	if (!r && dataset >= 0 && element_class(dataset) != H5T_STRING)
		r = sp_error_set(error, -SP_E_DAMAGED, 0, "%s does not hold strings", path);
	if (!r && dataset >= 0)
		r = sp_h5_check_storage(dataset, path, found, error);
	if (r)
		return r;
	if (dataset >= 0) {
		htri_t variable;
		uint64_t block;

		type = H5Dget_type(dataset);
		variable = type < 0 ? -1 : H5Tis_variable_str(type);
		if (variable < 0)
			return sp_h5_read_failed(error, path);
		texts = calloc(found + 1, sizeof(*texts));
		if (!texts)
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		block = variable ? BLOCK : (1 << 20) / H5Tget_size(type) + 1;
		for (uint64_t at = 0; !r && at < found; at += block) {
			uint64_t some = found - at < block ? found - at : block;

			r = variable ? read_variable(dataset, path, type, at, some, texts + at,
						     error)
				     : read_fixed(dataset, path, type, at, some, texts + at, error);
		}
		if (r) {
			sp_h5_free_texts(texts, found);
			return r;
		}
	}
	*ret_texts = texts;
	if (ret_length)
		*ret_length = found;
	return 0;
}

void sp_h5_free_texts(char **texts, uint64_t n)
{
	for (uint64_t i = 0; texts && i < n; i++)
		free(texts[i]);
	free(texts);
}
