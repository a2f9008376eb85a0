/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5_util.h - the one place that includes <hdf5.h>: handles, types, columns. Not installed.
 */
#ifndef SP_FORMATS_H5_UTIL_H
#define SP_FORMATS_H5_UTIL_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"
#include "formats/profile.h"

/* ---- handles: every hid_t is a local with cleanup, or a field that its owner's free() closes ----
 */

void sp_h5_close(hid_t *id);
#define sp_cleanup_h5 __attribute__((cleanup(sp_h5_close)))

/* Turns libhdf5's own printing off, and registers filters of ours; idempotent. */
void sp_h5_init(void);
void sp_h5_register_lzf(void); /* h5_lzf.c */
/* Failure of a libhdf5 call, in its words: "@what: reason". Reading gives -SP_E_DAMAGED, writing
 * the system's errno if one caused it, else -EIO; both -ENOMEM if it had no memory. */
int sp_h5_read_failed(struct sp_error *error, const char *what);
int sp_h5_write_failed(struct sp_error *error, const char *what);

/* A record of rank_region_index/summary_statistics, in memory. */
struct sp_h5_summary {
	int64_t total, minimum, maximum, first, last, start_minimum, end_maximum;
	uint64_t gpu_count;
	int64_t gpu_total;
	double mean, m2;
};
hid_t sp_h5_summary_type(void); /* to be closed */

/* ---- columns ---- */

enum sp_h5_type {
	SP_H5_u8,
	SP_H5_u16,
	SP_H5_u32,
	SP_H5_u64,
	SP_H5_s8,
	SP_H5_s64,
	SP_H5_reltime, /* s64 */
	SP_H5_relend,  /* s64 */
	SP_H5_str,
};

size_t sp_h5_type_size(enum sp_h5_type type);
hid_t sp_h5_memory_type(enum sp_h5_type type); /* of numbers; not to be closed */
hid_t sp_h5_file_type(enum sp_h5_type type);   /* of numbers; not to be closed */
hid_t sp_h5_string_type(void);		       /* variable-length UTF-8; to be closed */

struct sp_h5_column_def {
	const char *path;
	enum sp_h5_type type;
	size_t offset; /* in the row struct, or in struct sp_calls */
	bool required;
	int64_t number;	  /* default */
	const char *text; /* default */
};

struct sp_h5_table_def {
	const char *name;
	size_t row_size;
	const struct sp_h5_column_def *columns;
	size_t n_columns;
};

enum sp_h5_table {
#define SP_TABLE(name, doc) SP_H5_TABLE_##name,
#define SP_COL(table, type, field, path, need, default, doc)
#define SP_TABLE_END(name)
#include "formats/profile_tables.def"
#undef SP_TABLE
#undef SP_COL
#undef SP_TABLE_END
	SP_H5_N_TABLES,
};

extern const struct sp_h5_table_def sp_h5_tables[SP_H5_N_TABLES];
extern const struct sp_h5_column_def sp_h5_call_columns[SP_CALLS_N_COLUMNS];

#endif
