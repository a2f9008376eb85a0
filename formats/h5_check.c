// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_check.c - reads everything in an HDF5 file, whether this library knows it or not.
 *
 * Reading is what finds a damaged chunk, heap or header: libhdf5 checks the sums that a file has as
 * it reads. Nothing is kept. Invariant: a step reads a bounded number of bytes and depends on
 * nothing but the file and the numbers in struct sp_profile_check, so that the process that makes
 * the next one may be another; no link is followed out of the file.
 */
#include "formats/profile_h5.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/util.h"

enum {
	BLOCK = 1 << 22, /* bytes read at once */
	STEP = 1 << 26,	 /* bytes after which a step ends */
	MAX_OBJECTS = 1 << 24,
	SPARSE = 1 << 16, /* bytes of values that a stored byte can stand for */
	OBJECT = 1 << 10, /* what an object costs of a step besides its values */
};

#if H5_VERSION_GE(1, 12, 0)
#define visit_all(file, visitor, data) \
	H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_NATIVE, visitor, data, H5O_INFO_BASIC)
#else
#define visit_all(file, visitor, data) \
	H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, visitor, data, H5O_INFO_BASIC)
#endif

struct walk {
	struct sp_profile_check *check;
	hid_t file;
	uint64_t index;	 /* of the object that comes next */
	uint64_t budget; /* bytes that this step may still read */
	struct sp_error *error;
	int result;
};

/* A data set that is being read. */
struct subject {
	hid_t dataset, type, space;
	const char *name;
	int rank;
	hsize_t dims[H5S_MAX_RANK], block[H5S_MAX_RANK];
	uint64_t blocks[H5S_MAX_RANK], n_blocks; /* blocks in each dimension, and in all */
	bool in_heap;				 /* elements own memory */
};

/* Chooses blocks of at most BLOCK bytes, whole in the last dimensions. One dimension is cut at the
 * ends of chunks, so that none is unpacked twice. */
static void choose_blocks(struct subject *subject, hid_t properties, size_t size)
{
	uint64_t room = size < BLOCK ? BLOCK / size : 1;
	hsize_t chunk[H5S_MAX_RANK];

	subject->n_blocks = 1;
	if (subject->in_heap && room > 4096)
		room = 4096;
	for (int i = subject->rank - 1; i >= 0; i--) {
		hsize_t length = subject->dims[i];

		subject->block[i] = length < room ? (length ? length : 1) : room;
		room /= subject->block[i];
		room = room ? room : 1;
	}
	if (subject->rank == 1 && H5Pget_layout(properties) == H5D_CHUNKED &&
	    H5Pget_chunk(properties, 1, chunk) == 1 && chunk[0] < subject->block[0])
		subject->block[0] -= subject->block[0] % chunk[0];
	for (int i = 0; i < subject->rank; i++) {
		subject->blocks[i] = subject->dims[i] / subject->block[i] +
				     !!(subject->dims[i] % subject->block[i]);
		subject->n_blocks *= subject->blocks[i];
	}
}

static int read_block(const struct subject *subject, uint64_t number, uint64_t *ret_bytes,
		      struct sp_error *error)
{
	sp_cleanup_h5 hid_t memory = -1;
	sp_cleanup_free void *values = NULL;
	hsize_t start[H5S_MAX_RANK], count[H5S_MAX_RANK];
	size_t size = H5Tget_size(subject->type), n = 1;
	herr_t r;

	for (int i = subject->rank - 1; i >= 0; i--) {
		start[i] = number % subject->blocks[i] * subject->block[i];
		number /= subject->blocks[i];
		count[i] = subject->dims[i] - start[i];
		if (count[i] > subject->block[i])
			count[i] = subject->block[i];
		n *= count[i];
	}
	if (subject->rank &&
	    H5Sselect_hyperslab(subject->space, H5S_SELECT_SET, start, NULL, count, NULL) < 0)
		return sp_h5_read_failed(error, subject->name);
	memory = subject->rank ? H5Screate_simple(subject->rank, count, NULL)
			       : H5Screate(H5S_SCALAR);
	values = calloc(n, size);
	if (memory < 0 || !values)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	r = H5Dread(subject->dataset, subject->type, memory, subject->space, H5P_DEFAULT, values);
	if (r < 0)
		return sp_h5_dataset_failed(subject->dataset, subject->name, error);
	if (subject->in_heap)
		H5Dvlen_reclaim(subject->type, memory, H5P_DEFAULT, values);
	*ret_bytes = n * size;
	return 0;
}

/* Refuses what cannot be read in a time that the file's size would make one expect. */
static int check_extent(const struct subject *subject, size_t size, struct sp_error *error)
{
	uint64_t n = 1, bytes, stored = H5Dget_storage_size(subject->dataset);

	for (int i = 0; i < subject->rank; i++)
		if (__builtin_mul_overflow(n, subject->dims[i], &n))
			n = UINT64_MAX;
	if (__builtin_mul_overflow(n, size, &bytes))
		bytes = UINT64_MAX;
	if (size > STEP)
		return sp_error_set(error, -SP_E_COUNT, 0, "%s has elements of %zu bytes",
				    subject->name, size);
	if (bytes > STEP && bytes / SPARSE > stored)
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "%s claims %" PRIu64
				    " elements, for which the file stores %" PRIu64 " bytes",
				    subject->name, n, stored);
	return 0;
}

static int read_values(struct walk *walk, struct subject *subject)
{
	sp_cleanup_h5 hid_t properties = H5Dget_create_plist(subject->dataset);
	struct sp_profile_check *check = walk->check;
	H5S_class_t class = H5Sget_simple_extent_type(subject->space);
	size_t size = H5Tget_size(subject->type);
	int r;

	if (properties < 0 || class == H5S_NO_CLASS || !size)
		return sp_h5_read_failed(walk->error, subject->name);
	if (H5Pget_layout(properties) == H5D_VIRTUAL || H5Pget_external_count(properties) > 0)
		return sp_error_set(walk->error, -SP_E_DAMAGED, 0,
				    "%s has its data in another file", subject->name);
	if (class == H5S_NULL)
		return 0;
	subject->rank = H5Sget_simple_extent_dims(subject->space, subject->dims, NULL);
	if (subject->rank < 0)
		return sp_h5_read_failed(walk->error, subject->name);
	subject->in_heap = H5Tdetect_class(subject->type, H5T_VLEN) > 0 ||
			   H5Tdetect_class(subject->type, H5T_STRING) > 0;
	r = check_extent(subject, size, walk->error);
	if (r)
		return r;
	choose_blocks(subject, properties, size);
	while (check->next_value < subject->n_blocks) {
		uint64_t bytes = 0;

		if (!walk->budget)
			return 1;
		r = read_block(subject, check->next_value, &bytes, walk->error);
		if (r)
			return r;
		check->next_value++;
		check->bytes += bytes;
		walk->budget -= bytes < walk->budget ? bytes : walk->budget;
	}
	return 0;
}

static int read_dataset(struct walk *walk, hid_t object, const char *name)
{
	sp_cleanup_h5 hid_t type = H5Dget_type(object);
	sp_cleanup_h5 hid_t space = H5Dget_space(object);
	struct subject subject = {.dataset = object, .type = type, .space = space, .name = name};

	if (type < 0 || space < 0)
		return sp_h5_read_failed(walk->error, name);
	return read_values(walk, &subject);
}

static herr_t read_attribute(hid_t object, const char *key, const H5A_info_t *info, void *data)
{
	struct walk *walk = data;
	sp_cleanup_h5 hid_t attribute = H5Aopen(object, key, H5P_DEFAULT);
	sp_cleanup_h5 hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
	sp_cleanup_h5 hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
	sp_cleanup_free void *value = NULL;
	hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
	size_t size = type < 0 ? 0 : H5Tget_size(type);
	char what[128];

	snprintf(what, sizeof(what), "attribute %.100s", key);
	if (n < 0 || !size) {
		walk->result = sp_h5_read_failed(walk->error, what);
	} else if (info->data_size > STEP || (uint64_t)n > STEP / size) {
		walk->result =
			sp_error_set(walk->error, -SP_E_COUNT, 0,
				     "%s claims to have %" PRIi64 " elements", what, (int64_t)n);
	} else if (n) {
		value = calloc((size_t)n, size);
		if (!value)
			walk->result = sp_error_set(walk->error, -ENOMEM, 0, "no memory");
		else if (H5Aread(attribute, type, value) < 0)
			walk->result = sp_h5_read_failed(walk->error, what);
		else
			H5Dvlen_reclaim(type, space, H5P_DEFAULT, value);
	}
	walk->check->attributes++;
	return walk->result ? -1 : 0;
}

static int read_attributes(struct walk *walk, hid_t object)
{
	hsize_t at = 0;

	if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &at, read_attribute, walk) < 0 &&
	    !walk->result)
		return sp_h5_read_failed(walk->error, "attributes");
	return walk->result;
}

/* Says which object an error is about, where its sentence does not. */
static void name_object(struct walk *walk, const char *name)
{
	struct sp_error before;

	if (!walk->error || !strncmp(walk->error->text, name, strlen(name)))
		return;
	before = *walk->error;
	sp_error_set(walk->error, before.code, before.offset, "%.100s: %s", name, before.text);
}

static herr_t visit(hid_t root, const char *relative, const H5O_info_t *info, void *data)
{
	struct walk *walk = data;
	struct sp_profile_check *check = walk->check;
	sp_cleanup_h5 hid_t object = -1;
	sp_cleanup_free char *name = NULL;

	(void)root;
	if (walk->index++ < check->next_object)
		return 0;
	if (walk->index > MAX_OBJECTS) {
		walk->result = sp_error_set(walk->error, -SP_E_COUNT, 0, "has more than %d objects",
					    MAX_OBJECTS);
		return -1;
	}
	name = malloc(strlen(relative) + 2);
	if (!name) {
		walk->result = sp_error_set(walk->error, -ENOMEM, 0, "no memory");
		return -1;
	}
	sprintf(name, "/%s", strcmp(relative, ".") ? relative : "");
	object = H5Oopen(walk->file, name, H5P_DEFAULT);
	if (object < 0)
		walk->result = sp_h5_read_failed(walk->error, name);
	else if (!check->next_value) /* else the object was begun in the step before */
		walk->result = read_attributes(walk, object);
	if (!walk->result && info->type == H5O_TYPE_DATASET)
		walk->result = read_dataset(walk, object, name);
	if (walk->result < 0)
		name_object(walk, name);
	if (walk->result)
		return -1;
	check->objects++;
	check->next_object = walk->index;
	check->next_value = 0;
	walk->budget -= walk->budget < OBJECT ? walk->budget : OBJECT;
	if (walk->budget)
		return 0;
	walk->result = 1; /* the rest is for the next step */
	return -1;
}

/* Bytes behind the last one that the file's own structures claim. */
static int find_end(hid_t file, const char *path, struct sp_profile_check *check,
		    struct sp_error *error)
{
	sp_cleanup_h5 hid_t properties = H5Fget_create_plist(file);
	hsize_t user_block = 0;
	haddr_t end;
	struct stat st;

	if (properties < 0 || H5Pget_userblock(properties, &user_block) < 0 ||
	    H5Fget_eoa(file, &end) < 0)
		return sp_h5_read_failed(error, "end of the file");
	if (stat(path, &st) < 0)
		return sp_error_set(error, -errno, 0, "cannot be examined: %s", strerror(errno));
	if ((uint64_t)st.st_size > user_block && (uint64_t)st.st_size - user_block > end)
		check->beyond = (uint64_t)st.st_size - user_block - end;
	return 0;
}

static int check_file(hid_t file, const char *path, struct sp_profile_check *check,
		      struct sp_error *error)
{
	struct walk walk = {.check = check, .file = file, .budget = STEP, .error = error};
	herr_t r = visit_all(file, visit, &walk);

	H5Eclear2(H5E_DEFAULT);
	if (walk.result < 0)
		return walk.result;
	if (walk.result > 0)
		return 0;
	if (r < 0)
		return sp_h5_read_failed(error, "its groups cannot be walked");
	check->done = true;
	return find_end(file, path, check, error);
}

int sp_h5_profile_check(struct sp_profile *profile, struct sp_profile_check *check,
			struct sp_error *error)
{
	struct sp_h5_profile *h5 = profile->implementation;

	return check_file(h5->file, profile->path, check, error);
}

int sp_profile_check(struct sp_profile *profile, struct sp_profile_check *check,
		     struct sp_error *error)
{
	if (profile->ops->check)
		return profile->ops->check(profile, check, error);
	check->done = true; /* opening and reading see all of the other formats */
	return 0;
}
