// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_read_tables.c - tables of HDF5 profiles as arrays of structs.
 *
 * Invariant: a text in a row is owned by the row, until sp_h5_free_table.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/h5_read.h"
#include "formats/util.h"

static int read_texts(hid_t file, const struct sp_h5_table_def *table,
		      const struct sp_h5_column_def *def, char *rows, size_t n,
		      struct sp_error *error)
{
	char **texts;
	int r = sp_h5_read_texts(file, def->path, def->required, n, &texts, NULL, error);

	for (size_t i = 0; !r && i < n; i++) {
		char **field = (char **)(void *)(rows + i * table->row_size + def->offset);

		*field = texts ? texts[i] : strdup(def->text);
		if (!*field)
			r = sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	if (!r)
		free(texts);
	return r;
}

/* Stores @number in a field of the column's type. */
static void store(void *field, enum sp_h5_type type, int64_t number)
{
	uint8_t u8 = (uint8_t)number;
	uint16_t u16 = (uint16_t)number;
	uint32_t u32 = (uint32_t)number;

	switch (sp_h5_type_size(type)) {
	case 1:
		memcpy(field, &u8, sizeof(u8));
		break;
	case 2:
		memcpy(field, &u16, sizeof(u16));
		break;
	case 4:
		memcpy(field, &u32, sizeof(u32));
		break;
	default:
		memcpy(field, &number, sizeof(number));
	}
}

static int read_numbers(hid_t file, const struct sp_h5_table_def *table,
			const struct sp_h5_column_def *def, int64_t origin, char *rows, size_t n,
			struct sp_error *error)
{
	sp_cleanup_free void *values = NULL;
	size_t size = sp_h5_type_size(def->type);
	int r = sp_h5_read_numbers(file, def->path, def->type, def->required, n, &values, NULL,
				   error);

	if (r)
		return r;
	for (size_t i = 0; i < n; i++) {
		char *field = rows + i * table->row_size + def->offset;
		int64_t time;

		if (!values) {
			store(field, def->type, def->number);
			continue;
		}
		memcpy(field, (char *)values + i * size, size);
		if (def->type != SP_H5_reltime && def->type != SP_H5_relend)
			continue;
		memcpy(&time, field, sizeof(time));
		if (def->type == SP_H5_reltime || time != -1)
			time = sp_wrap_add(time, origin);
		memcpy(field, &time, sizeof(time));
	}
	return 0;
}

int sp_h5_read_table(hid_t file, enum sp_h5_table which, int64_t origin, void **ret_rows,
		     size_t *ret_n, struct sp_error *error)
{
	const struct sp_h5_table_def *table = &sp_h5_tables[which];
	sp_cleanup_h5 hid_t first = -1;
	uint64_t n;
	char *rows;
	int r = sp_h5_open_dataset(file, table->columns[0].path, false, &first, &n, error);

	if (!r && first >= 0)
		r = sp_h5_check_storage(first, table->columns[0].path, n, error);
	if (r)
		return r;
	if (first < 0 || !n) {
		*ret_rows = NULL;
		*ret_n = 0;
		return 0;
	}
	rows = calloc(n, table->row_size);
	if (!rows)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (size_t c = 0; !r && c < table->n_columns; c++)
		r = table->columns[c].type == SP_H5_str
			    ? read_texts(file, table, &table->columns[c], rows, n, error)
			    : read_numbers(file, table, &table->columns[c], origin, rows, n, error);
	if (r) {
		sp_h5_free_table(which, rows, n);
		return r;
	}
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}

void sp_h5_free_table(enum sp_h5_table which, void *rows, size_t n)
{
	const struct sp_h5_table_def *table = &sp_h5_tables[which];

	for (size_t c = 0; rows && c < table->n_columns; c++) {
		if (table->columns[c].type != SP_H5_str)
			continue;
		for (size_t i = 0; i < n; i++)
			free(*(char **)(void *)((char *)rows + i * table->row_size +
						table->columns[c].offset));
	}
	free(rows);
}
