/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_rows_header.c - headers of line-number programs: their lists of directories and files, and
 * paths made of these.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "userspace/analysis/debug_rows_private.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define MAX_LIST (1u << 20) /* directories or files of a program */
#define MAX_FORMATS 16

/* ---- the header ---- */

bool sp_rows_read_header(const struct sp_debug_sections *sections, uint64_t offset,
			 uint8_t address_size, struct sp_rows_program *program)
{
	struct sp_bytes bytes = sp_bytes_from(sections->line, offset);
	uint64_t length = sp_bytes_number(&bytes, 4), header;

	*program = (struct sp_rows_program){
		.sections = sections, .address_size = address_size, .offset_size = 4};
	if (length == UINT32_MAX) {
		length = sp_bytes_number(&bytes, 8);
		program->offset_size = 8;
	}
	if (bytes.bad || length > (size_t)(bytes.end - bytes.at))
		return false;
	bytes.end = bytes.at + length;
	program->version = (uint16_t)sp_bytes_number(&bytes, 2);
	if (program->version < 2 || program->version > 5)
		return false;
	if (program->version >= 5) {
		program->address_size = (uint8_t)sp_bytes_number(&bytes, 1);
		sp_bytes_skip(&bytes, 1); /* size of segment selectors */
	}
	header = sp_bytes_number(&bytes, program->offset_size);
	if (bytes.bad || header > (size_t)(bytes.end - bytes.at))
		return false;
	program->bytes = bytes;
	sp_bytes_skip(&program->bytes, header);
	bytes.end = program->bytes.at;
	program->minimum = (uint8_t)sp_bytes_number(&bytes, 1);
	program->most = program->version >= 4 ? (uint8_t)sp_bytes_number(&bytes, 1) : 1;
	sp_bytes_skip(&bytes, 1); /* default of is_stmt */
	program->line_base = (int8_t)sp_bytes_number(&bytes, 1);
	program->line_range = (uint8_t)sp_bytes_number(&bytes, 1);
	program->opcode_base = (uint8_t)sp_bytes_number(&bytes, 1);
	for (unsigned int i = 1; i < program->opcode_base; i++)
		program->lengths[i] = (uint8_t)sp_bytes_number(&bytes, 1);
	program->prologue = bytes;
	return !bytes.bad && program->line_range && program->opcode_base &&
	       (program->address_size == 4 || program->address_size == 8);
}

static int add_directory(struct sp_debug_rows *table, const char *name)
{
	const char **added =
		sp_array_add(&table->directories, &table->n_directories, &table->directories_room);

	if (!added)
		return -ENOMEM;
	*added = name;
	return 0;
}

static int add_file(struct sp_debug_rows *table, const char *name, uint64_t directory)
{
	struct sp_rows_file *added =
		sp_array_add(&table->files, &table->n_files, &table->files_room);

	if (!added)
		return -ENOMEM;
	*added = (struct sp_rows_file){name, directory, NULL};
	return 0;
}

/* Up to DWARF 4: names in a row; number 0 is the compiler's directory, and no file. */
static int read_old_lists(struct sp_rows_program *program, struct sp_debug_rows *table)
{
	struct sp_bytes *bytes = &program->prologue;
	const char *name;
	int r = add_directory(table, NULL);

	if (r == 0)
		r = add_file(table, NULL, 0);
	while (r == 0 && (name = sp_bytes_text(bytes)) && *name && table->n_directories < MAX_LIST)
		r = add_directory(table, name);
	while (r == 0 && (name = sp_bytes_text(bytes)) && *name && table->n_files < MAX_LIST) {
		r = add_file(table, name, sp_bytes_uleb(bytes));
		sp_bytes_uleb(bytes); /* when it was changed */
		sp_bytes_uleb(bytes); /* its size */
	}
	return r;
}

/* One attribute of a directory or file. False for forms that nobody uses there. */
static bool read_content(struct sp_rows_program *program, uint64_t form, const char **text,
			 uint64_t *number)
{
	struct sp_bytes *bytes = &program->prologue;

	switch (form) {
	case DW_FORM_string:
		*text = sp_bytes_text(bytes);
		return *text != NULL;
	case DW_FORM_line_strp:
		*text = sp_section_text(program->sections->line_str,
					sp_bytes_number(bytes, program->offset_size));
		break;
	case DW_FORM_strp:
		*text = sp_section_text(program->sections->str,
					sp_bytes_number(bytes, program->offset_size));
		break;
	case DW_FORM_udata:
		*number = sp_bytes_uleb(bytes);
		break;
	case DW_FORM_data1:
		*number = sp_bytes_number(bytes, 1);
		break;
	case DW_FORM_data2:
		*number = sp_bytes_number(bytes, 2);
		break;
	case DW_FORM_data4:
		*number = sp_bytes_number(bytes, 4);
		break;
	case DW_FORM_data8:
		*number = sp_bytes_number(bytes, 8);
		break;
	case DW_FORM_data16:
		return sp_bytes_skip(bytes, 16);
	case DW_FORM_block:
		return sp_bytes_skip(bytes, sp_bytes_uleb(bytes));
	default:
		return false;
	}
	return !bytes->bad;
}

/* DWARF 5: what an entry has is described first. */
static int read_new_list(struct sp_rows_program *program, struct sp_debug_rows *table, bool files)
{
	struct sp_bytes *bytes = &program->prologue;
	uint64_t formats[MAX_FORMATS][2], count;
	unsigned int n = (unsigned int)sp_bytes_number(bytes, 1);
	int r = 0;

	if (n > MAX_FORMATS)
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		formats[i][0] = sp_bytes_uleb(bytes);
		formats[i][1] = sp_bytes_uleb(bytes);
	}
	count = sp_bytes_uleb(bytes);
	if (bytes->bad || count > MAX_LIST || !n)
		return 0;
	for (uint64_t i = 0; i < count && r == 0; i++) {
		const char *name = NULL;
		uint64_t directory = 0;

		for (unsigned int k = 0; k < n; k++) {
			const char *text = NULL;
			uint64_t number = 0;

			if (!read_content(program, formats[k][1], &text, &number))
				return 0;
			if (formats[k][0] == DW_LNCT_path)
				name = text;
			else if (formats[k][0] == DW_LNCT_directory_index)
				directory = number;
		}
		r = files ? add_file(table, name, directory) : add_directory(table, name);
	}
	return r;
}

int sp_rows_read_lists(struct sp_rows_program *program, struct sp_debug_rows *table)
{
	int r;

	table->version = program->version;
	if (program->version < 5)
		return read_old_lists(program, table);
	r = read_new_list(program, table, false);
	return r < 0 ? r : read_new_list(program, table, true);
}

/* ---- paths ---- */

static const char *join(struct sp_pool *pool, const char *first, const char *second,
			const char *third)
{
	sp_cleanup(sp_freep) char *joined = NULL;

	if (asprintf(&joined, "%s%s%s%s%s", first ? first : "", first ? "/" : "",
		     second ? second : "", second ? "/" : "", third) < 0) {
		joined = NULL;
		return NULL;
	}
	return sp_pool_add(pool, joined);
}

const char *sp_debug_rows_file(struct sp_debug_rows *table, uint64_t number)
{
	struct sp_rows_file *file = number < table->n_files ? &table->files[number] : NULL;
	const char *directory, *base = table->directory;

	if (!file || !file->name)
		return NULL;
	if (file->path)
		return file->path;
	directory =
		file->directory < table->n_directories ? table->directories[file->directory] : NULL;
	/* From DWARF 5 on the list begins with the compiler's directory itself. */
	if (directory && (directory[0] == '/' || (table->version >= 5 && !file->directory)))
		base = NULL;
	if (file->name[0] == '/')
		base = directory = NULL;
	file->path = join(table->paths, base && *base ? base : NULL,
			  directory && *directory ? directory : NULL, file->name);
	return file->path;
}
