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
/* Opens a one-dimensional data set. If it is not there: -SP_E_MISSING if @required, else success
 * and
 * *@ret_dataset is -1. */
int sp_h5_open_dataset(hid_t file, const char *path, bool required, hid_t *ret_dataset,
		       uint64_t *ret_length, struct sp_error *error);
/* The same, and the elements are integers. @length must match unless SP_H5_ANY_LENGTH. */
int sp_h5_open_numbers(hid_t file, const char *path, bool required, uint64_t length,
		       hid_t *ret_dataset, uint64_t *ret_length, struct sp_error *error);
/* Reads elements @first … @first + @n − 1 of integers. */
int sp_h5_read_slab(hid_t dataset, const char *path, hid_t memory_type, uint64_t first, uint64_t n,
		    void *ret_values, struct sp_error *error);
/* Reads a whole column into memory to be freed; *@ret_values is NULL if it is optional and absent.
 */
int sp_h5_read_numbers(hid_t file, const char *path, enum sp_h5_type type, bool required,
		       uint64_t length, void **ret_values, uint64_t *ret_length,
		       struct sp_error *error);
/* The same for strings of either kind; each is repaired to UTF-8. */
int sp_h5_read_texts(hid_t file, const char *path, bool required, uint64_t length,
		     char ***ret_texts, uint64_t *ret_length, struct sp_error *error);
void sp_h5_free_texts(char **texts, uint64_t n);
/* Refuses sizes that the stored bytes cannot plausibly expand to. */
int sp_h5_check_storage(hid_t dataset, const char *path, uint64_t n, struct sp_error *error);

/* ---- h5_read_facts.c ---- */

/* All attributes of the group at @path as facts, sorted by key; none if there is no such group. */
int sp_h5_read_facts(hid_t file, const char *path, struct sp_fact **ret_facts, size_t *ret_n,
		     struct sp_error *error);
/* An attribute of an object. *@ret_text is NULL and *@ret_found false if it is not there. A number
 * must be a scalar integer, else -SP_E_DAMAGED. */
int sp_h5_read_number_attribute(hid_t object, const char *key, bool *ret_found, int64_t *ret_number,
				struct sp_error *error);
int sp_h5_read_text_attribute(hid_t object, const char *key, char **ret_text,
			      struct sp_error *error);

/* ---- h5_read_tables.c ---- */

/* All rows of a table, none if it is not in the file; to be freed with the next. @origin is added
 * to relative times. */
int sp_h5_read_table(hid_t file, enum sp_h5_table which, int64_t origin, void **ret_rows,
		     size_t *ret_n, struct sp_error *error);
void sp_h5_free_table(enum sp_h5_table which, void *rows, size_t n);

#endif
