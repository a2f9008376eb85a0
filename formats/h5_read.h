/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5_read.h - careful reading of HDF5 files: what profile_h5*.c is made of. Not installed.
 *
 * Invariant: no link leads out of the file (only hard links are followed, no data set with external
 * or virtual storage is opened), types and shapes are checked before anything is read, and memory
 * is allocated for at most SP_PROFILE_MAX_ROWS elements, and only if the file stores them
 * plausibly.
 */
#ifndef SP_FORMATS_H5_READ_H
#define SP_FORMATS_H5_READ_H

#include "formats/h5_util.h"

#define SP_H5_ANY_LENGTH UINT64_MAX

/* Opens the file read-only. -SP_E_FORMAT if it is not HDF5. */
int sp_h5_open(const char *path, hid_t *ret_file, struct sp_error *error);
/* 1 if @path leads to an object in the file, 0 if not, -errno if it leads out of it. */
int sp_h5_exists(hid_t file, const char *path, struct sp_error *error);
/* Opens a one-dimensional data set (one of a null data space has no element). If it is not there:
 * -SP_E_MISSING if @required, else success and *@ret_dataset is -1. -ENOTSUP names a filter that is
 * missing here. */
int sp_h5_open_dataset(hid_t file, const char *path, bool required, hid_t *ret_dataset,
		       uint64_t *ret_length, struct sp_error *error);
/* -SP_E_DAMAGED unless @length is as @wanted, which may be SP_H5_ANY_LENGTH. */
int sp_h5_check_length(const char *path, uint64_t length, uint64_t wanted, struct sp_error *error);
/* The same, and the elements are integers (or an enumeration). @length must match unless
 * SP_H5_ANY_LENGTH. */
int sp_h5_open_numbers(hid_t file, const char *path, bool required, uint64_t length,
		       hid_t *ret_dataset, uint64_t *ret_length, struct sp_error *error);
/* Reads elements @first … @first + @n − 1 of numbers. -SP_E_COUNT if one does not fit the type of
 * the memory. */
int sp_h5_read_slab(hid_t dataset, const char *path, hid_t memory_type, uint64_t first, uint64_t n,
		    void *ret_values, struct sp_error *error);
/* Reads a whole column into memory to be freed; *@ret_values is NULL if it is optional and absent.
 */
int sp_h5_read_numbers(hid_t file, const char *path, enum sp_h5_type type, bool required,
		       uint64_t length, void **ret_values, uint64_t *ret_length,
		       struct sp_error *error);
/* Reads all of a data set of integers or reals with one or two dimensions, into memory to be freed.
 * -SP_E_MISSING if it is not there. @ret_sides has @n_dims elements. */
int sp_h5_read_reals(hid_t file, const char *path, int n_dims, double **ret_values,
		     uint64_t *ret_sides, struct sp_error *error);

/* ---- h5_read_texts.c: strings of variable or fixed length; each is repaired to UTF-8 ---- */

int sp_h5_open_texts(hid_t file, const char *path, bool required, uint64_t length,
		     hid_t *ret_dataset, uint64_t *ret_length, struct sp_error *error);
/* Takes one string, which is valid until it returns. What it returns but 0 ends the reading. */
typedef int (*sp_h5_text_fn)(void *data, uint64_t index, const char *text, struct sp_error *error);
/* Hands over strings @first … @first + @n − 1, in blocks of bounded memory. */
int sp_h5_each_text(hid_t dataset, const char *path, uint64_t first, uint64_t n, sp_h5_text_fn take,
		    void *data, struct sp_error *error);
/* A column that is small enough to be kept; see sp_h5_read_numbers(). */
int sp_h5_read_texts(hid_t file, const char *path, bool required, uint64_t length,
		     char ***ret_texts, uint64_t *ret_length, struct sp_error *error);
/* One string, to be freed. */
int sp_h5_read_text(hid_t dataset, const char *path, uint64_t index, char **ret_text,
		    struct sp_error *error);
void sp_h5_free_texts(char **texts, uint64_t n);

/* ---- h5_storage.c ---- */

/* Refuses data outside the file, a filter that the library does not have, and chunks beyond belief.
 * *@ret_access: how to open it again so that its cache holds its chunks, -1 if the default does. */
int sp_h5_check_properties(hid_t dataset, const char *path, hid_t *ret_access,
			   struct sp_error *error);
/* Refuses a number of elements that the stored bytes cannot plausibly expand to; the second also
 * more than SP_PROFILE_MAX_ROWS. */
int sp_h5_check_size(hid_t dataset, const char *path, uint64_t n, struct sp_error *error);
int sp_h5_check_storage(hid_t dataset, const char *path, uint64_t n, struct sp_error *error);
bool sp_h5_is_filtered(hid_t dataset);
/* After a failed read: what libhdf5 says, or the filter that is missing. */
int sp_h5_dataset_failed(hid_t dataset, const char *path, struct sp_error *error);

/* ---- h5_read_group.c ---- */

struct sp_h5_names {
	char **names; /* as they stand in the file */
	size_t n, capacity;
};
#define sp_cleanup_h5_names __attribute__((cleanup(sp_h5_names_free)))

/* Names of the links in a group, in the order in which h5py lists them: that of their creation if
 * the file has it, else of their bytes. */
int sp_h5_list(hid_t file, const char *path, struct sp_h5_names *ret_names, struct sp_error *error);
void sp_h5_names_free(struct sp_h5_names *names);
/* The groups rank<digits> of the file, ascending by their number. */
struct sp_h5_rank {
	uint32_t rank;
	char *path; /* "/rank7" */
};
int sp_h5_list_ranks(hid_t file, struct sp_h5_rank **ret_ranks, size_t *ret_n,
		     struct sp_error *error);
void sp_h5_free_ranks(struct sp_h5_rank *ranks, size_t n);
/* 1 if there is a group at @path, 0 if there is nothing; -SP_E_DAMAGED if it is something else. */
int sp_h5_is_group(hid_t file, const char *path, struct sp_error *error);
/* "@path/@name", to be freed; NULL without memory. */
char *sp_h5_join(const char *path, const char *name);

/* ---- h5_read_facts.c ---- */

/* All attributes of the group at @path as facts, sorted by key; none if there is no such group. */
int sp_h5_read_facts(hid_t file, const char *path, struct sp_fact **ret_facts, size_t *ret_n,
		     struct sp_error *error);
/* Reads any attribute; the key is left to the caller. */
int sp_h5_read_attribute(hid_t attribute, struct sp_fact *ret_fact);
/* Frees what a fact owns, but not the struct. */
void sp_h5_fact_free(struct sp_fact *fact);

/* ---- h5_read_attributes.c ---- */

/* Attributes of one object. If there is none of that name: success, *@ret_found is false and the
 * text NULL. -SP_E_DAMAGED if it is of another kind, -SP_E_COUNT if a number is too large. */
int sp_h5_read_number_attribute(hid_t object, const char *key, bool *ret_found, int64_t *ret_number,
				struct sp_error *error);
int sp_h5_read_real_attribute(hid_t object, const char *key, bool *ret_found, double *ret_number,
			      struct sp_error *error);
int sp_h5_read_text_attribute(hid_t object, const char *key, char **ret_text,
			      struct sp_error *error);
/* A one-dimensional list of strings, to be freed with sp_h5_free_texts(); NULL if it is empty. */
int sp_h5_read_texts_attribute(hid_t object, const char *key, char ***ret_texts, size_t *ret_n,
			       struct sp_error *error);

/* ---- h5_read_extras.c ---- */

/* All of FORMAT.md, section 3.7. */
int sp_h5_read_extras(hid_t file, struct sp_extras *ret_extras, struct sp_error *error);

/* ---- h5_read_tables.c ---- */

/* All rows of a table, none if it is not in the file; to be freed with the next. @origin is added
 * to relative times. */
int sp_h5_read_table(hid_t file, enum sp_h5_table which, int64_t origin, void **ret_rows,
		     size_t *ret_n, struct sp_error *error);
void sp_h5_free_table(enum sp_h5_table which, void *rows, size_t n);

#endif
