// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_util.c - handles, failures and the lists of columns that profile_tables.def describes.
 */
#include "formats/h5_util.h"

#include <string.h>

void sp_h5_close(hid_t *id)
{
	if (*id < 0)
		return;
	switch (H5Iget_type(*id)) {
	case H5I_FILE:
		H5Fclose(*id);
		break;
	case H5I_GROUP:
		H5Gclose(*id);
		break;
	case H5I_DATATYPE:
		H5Tclose(*id);
		break;
	case H5I_DATASPACE:
		H5Sclose(*id);
		break;
	case H5I_DATASET:
		H5Dclose(*id);
		break;
	case H5I_ATTR:
		H5Aclose(*id);
		break;
	case H5I_GENPROP_LST:
		H5Pclose(*id);
		break;
	default:
		break;
	}
	*id = -1;
}

void sp_h5_init(void)
{
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	sp_h5_register_lzf();
}

struct reason {
	const char *text;
	bool no_memory;
};

/* Keeps the innermost message: that is where it went wrong. */
static herr_t keep_first(unsigned int n, const H5E_error2_t *entry, void *data)
{
	struct reason *reason = data;

	if (n)
		return 0;
	reason->text = entry->desc;
	/* Some parts of libhdf5 say so in words alone. */
	reason->no_memory = (entry->maj_num == H5E_RESOURCE &&
			     (entry->min_num == H5E_NOSPACE || entry->min_num == H5E_CANTALLOC)) ||
			    (entry->desc && strstr(entry->desc, "memory allocation failed"));
	return 0;
}

static int failed(struct sp_error *error, int code, const char *what)
{
	struct reason reason = {0};

	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
	if (reason.no_memory)
		code = -ENOMEM;
	sp_error_set(error, code, 0, "%s: %s%s", what, reason.text ? reason.text : "libhdf5 failed",
		     reason.text && strstr(reason.text, "version number")
			     ? " (perhaps a newer libhdf5 has written it, and is needed to read it)"
			     : "");
	H5Eclear2(H5E_DEFAULT);
	return code;
}

int sp_h5_read_failed(struct sp_error *error, const char *what)
{
	return failed(error, -SP_E_DAMAGED, what);
}

int sp_h5_write_failed(struct sp_error *error, const char *what)
{
	int code = errno;

	switch (code) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return sp_error_set(error, -code, 0, "%s: %s", what, strerror(code));
	default:
		return failed(error, -EIO, what);
	}
}

size_t sp_h5_type_size(enum sp_h5_type type)
{
	static const size_t sizes[] = {
		[SP_H5_u8] = 1,	     [SP_H5_u16] = 2,	 [SP_H5_u32] = 4,
		[SP_H5_u64] = 8,     [SP_H5_s8] = 1,	 [SP_H5_s64] = 8,
		[SP_H5_reltime] = 8, [SP_H5_relend] = 8, [SP_H5_str] = sizeof(char *),
	};

	return sizes[type];
}

hid_t sp_h5_memory_type(enum sp_h5_type type)
{
	switch (type) {
	case SP_H5_u8:
		return H5T_NATIVE_UINT8;
	case SP_H5_u16:
		return H5T_NATIVE_UINT16;
	case SP_H5_u32:
		return H5T_NATIVE_UINT32;
	case SP_H5_u64:
		return H5T_NATIVE_UINT64;
	case SP_H5_s8:
		return H5T_NATIVE_INT8;
	default:
		return H5T_NATIVE_INT64;
	}
}

hid_t sp_h5_file_type(enum sp_h5_type type)
{
	switch (type) {
	case SP_H5_u8:
		return H5T_STD_U8LE;
	case SP_H5_u16:
		return H5T_STD_U16LE;
	case SP_H5_u32:
		return H5T_STD_U32LE;
	case SP_H5_u64:
		return H5T_STD_U64LE;
	case SP_H5_s8:
		return H5T_STD_I8LE;
	default:
		return H5T_STD_I64LE;
	}
}

hid_t sp_h5_string_type(void)
{
	hid_t type = H5Tcopy(H5T_C_S1);

	if (type >= 0 &&
	    (H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
		H5Tclose(type);
		return -1;
	}
	return type;
}

hid_t sp_h5_summary_type(void)
{
	static const struct {
		const char *name;
		size_t offset;
		char kind; /* s, u, d */
	} fields[] = {
		{"total", offsetof(struct sp_h5_summary, total), 's'},
		{"minimum", offsetof(struct sp_h5_summary, minimum), 's'},
		{"maximum", offsetof(struct sp_h5_summary, maximum), 's'},
		{"first", offsetof(struct sp_h5_summary, first), 's'},
		{"last", offsetof(struct sp_h5_summary, last), 's'},
		{"start_minimum", offsetof(struct sp_h5_summary, start_minimum), 's'},
		{"end_maximum", offsetof(struct sp_h5_summary, end_maximum), 's'},
		{"gpu_count", offsetof(struct sp_h5_summary, gpu_count), 'u'},
		{"gpu_total", offsetof(struct sp_h5_summary, gpu_total), 's'},
		{"mean", offsetof(struct sp_h5_summary, mean), 'd'},
		{"m2", offsetof(struct sp_h5_summary, m2), 'd'},
	};
	hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct sp_h5_summary));

	for (size_t i = 0; type >= 0 && i < sizeof(fields) / sizeof(fields[0]); i++) {
		hid_t field = fields[i].kind == 's'   ? H5T_NATIVE_INT64
			      : fields[i].kind == 'u' ? H5T_NATIVE_UINT64
						      : H5T_NATIVE_DOUBLE;

		if (H5Tinsert(type, fields[i].name, fields[i].offset, field) < 0)
			sp_h5_close(&type);
	}
	return type;
}

/* A default is a number or a text, by the column's type. */
#define SP_DEFAULT_u8(value) .number = (value)
#define SP_DEFAULT_u16(value) .number = (value)
#define SP_DEFAULT_u32(value) .number = (value)
#define SP_DEFAULT_u64(value) .number = (value)
#define SP_DEFAULT_s8(value) .number = (value)
#define SP_DEFAULT_s64(value) .number = (value)
#define SP_DEFAULT_reltime(value) .number = (value)
#define SP_DEFAULT_relend(value) .number = (value)
#define SP_DEFAULT_str(value) .text = (value)
#define SP_NEED_REQ true
#define SP_NEED_OPT false

#define SP_TABLE(name, doc) static const struct sp_h5_column_def name##_columns[] = {
#define SP_COL(table, kind, field, where, need, default, doc) \
	{.path = (where), \
	 .type = SP_H5_##kind, \
	 .offset = offsetof(struct sp_##table##_row, field), \
	 .required = SP_NEED_##need, \
	 SP_DEFAULT_##kind(default)},
#define SP_TABLE_END(name) \
	} \
	;
#include "formats/profile_tables.def"
#undef SP_TABLE
#undef SP_COL
#undef SP_TABLE_END

const struct sp_h5_table_def sp_h5_tables[SP_H5_N_TABLES] = {
#define SP_TABLE(id, doc) \
	{.name = #id, \
	 .row_size = sizeof(struct sp_##id##_row), \
	 .columns = id##_columns, \
	 .n_columns = sizeof(id##_columns) / sizeof(id##_columns[0])},
#define SP_COL(table, kind, field, where, need, default, doc)
#define SP_TABLE_END(id)
#include "formats/profile_tables.def"
#undef SP_TABLE
#undef SP_COL
#undef SP_TABLE_END
};

const struct sp_h5_column_def sp_h5_call_columns[SP_CALLS_N_COLUMNS] = {
#define SP_CALL_COLUMN(kind, field, where, default, doc) \
	{.path = (where), \
	 .type = SP_H5_##kind, \
	 .offset = offsetof(struct sp_calls, field), \
	 .number = (default)},
#include "formats/profile_tables.def"
#undef SP_CALL_COLUMN
};
