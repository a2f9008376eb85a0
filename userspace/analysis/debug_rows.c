/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_rows.c - line-number programs, run against a sorted list of addresses.
 *
 * A row holds from its address to that of the next row of its sequence. Of several rows at one
 * address the last one holds, as for addr2line. What the linker discarded begins at address 0.
 */
#include "userspace/analysis/debug_rows.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define MAX_LIST (1u << 20) /* directories or files of a program */
#define MAX_FORMATS 16

struct file {
	const char *name;
	uint64_t directory;
	const char *path; /* NULL until asked for */
};

struct sp_debug_rows {
	struct sp_pool *paths;
	const char *directory;
	const char **directories;
	size_t n_directories, directories_room;
	struct file *files;
	size_t n_files, files_room;
	uint16_t version;
};

struct program {
	const struct sp_debug_sections *sections;
	struct sp_bytes bytes;	  /* of the instructions */
	struct sp_bytes prologue; /* of the lists in the header */
	uint16_t version;
	uint8_t address_size, offset_size;
	uint8_t minimum, most, line_range, opcode_base;
	int8_t line_base;
	uint8_t lengths[256]; /* of standard opcodes: their arguments */
};

/* ---- the header ---- */

static bool read_header(const struct sp_debug_sections *sections, uint64_t offset,
			uint8_t address_size, struct program *program)
{
	struct sp_bytes bytes = sp_bytes_from(sections->line, offset);
	uint64_t length = sp_bytes_number(&bytes, 4), header;

	*program = (struct program){
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
	struct file *added = sp_array_add(&table->files, &table->n_files, &table->files_room);

	if (!added)
		return -ENOMEM;
	*added = (struct file){name, directory, NULL};
	return 0;
}

/* Up to DWARF 4: names in a row; number 0 is the compiler's directory, and no file. */
static int read_old_lists(struct program *program, struct sp_debug_rows *table)
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
static bool read_content(struct program *program, uint64_t form, const char **text,
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
static int read_new_list(struct program *program, struct sp_debug_rows *table, bool files)
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
	struct file *file = number < table->n_files ? &table->files[number] : NULL;
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

/* ---- the program ---- */

struct machine {
	uint64_t address;
	uint32_t op_index, file, line;
	bool open; /* a sequence was begun */
};

/* What becomes of rows: they are held against addresses, or their sequences are told. */
struct target {
	const uint64_t *addresses;
	size_t n, next; /* the first address that is not before the last row */
	struct sp_debug_row *rows;
	struct sp_debug_row last; /* holds from last_address on */
	uint64_t last_address, low, next_address;
	sp_debug_sequence sequence;
	void *context;
};

static size_t first_not_before(const struct target *target, uint64_t address)
{
	size_t low = 0, high = target->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (target->addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The rows are held against the addresses that are next, which is seldom. */
static int add_rare_row(struct target *target, const struct machine *machine, bool end)
{
	if (!machine->open) {
		target->low = machine->address;
		target->next = first_not_before(target, machine->address);
	} else if (machine->address < target->last_address) {
		target->next = first_not_before(target, machine->address);
	} else if (target->low) {
		for (;
		     target->next < target->n && target->addresses[target->next] < machine->address;
		     target->next++)
			if (target->rows[target->next].file == SP_DEBUG_NO_FILE)
				target->rows[target->next] = target->last;
	}
	target->last = (struct sp_debug_row){machine->file, machine->line};
	target->last_address = machine->address;
	target->next_address =
		target->next < target->n ? target->addresses[target->next] : UINT64_MAX;
	if (end && target->sequence && target->low && target->low < machine->address)
		return target->sequence(target->context, target->low, machine->address);
	return 0;
}

static inline int add_row(struct target *target, struct machine *machine, bool end)
{
	if (!machine->open || machine->address < target->last_address ||
	    machine->address > target->next_address || end) {
		struct machine copy = *machine; /* so that the machine can be in registers */

		machine->open = true;
		return add_rare_row(target, &copy, end);
	}
	target->last = (struct sp_debug_row){machine->file, machine->line};
	target->last_address = machine->address;
	return 0;
}

static void advance(const struct program *program, struct machine *machine, uint64_t operations)
{
	if (program->most <= 1) {
		machine->address += operations * program->minimum;
		return;
	}
	operations += machine->op_index;
	machine->address += operations / program->most * program->minimum;
	machine->op_index = (uint32_t)(operations % program->most);
}

static const struct machine start = {.file = 1, .line = 1};

static inline int run_extended(struct sp_bytes *bytes, struct machine *machine,
			       struct target *target)
{
	uint64_t length = sp_bytes_uleb(bytes);
	struct sp_bytes own = *bytes;
	int r;

	if (!length || !sp_bytes_skip(bytes, length))
		return 0;
	own.end = bytes->at;
	switch (sp_bytes_number(&own, 1)) {
	case DW_LNE_end_sequence:
		r = add_row(target, machine, true);
		*machine = start;
		return r;
	case DW_LNE_set_address:
		if (length - 1 <= 8)
			machine->address = sp_bytes_number(&own, (unsigned int)length - 1);
		machine->op_index = 0;
		return 0;
	default:
		return 0; /* discriminators, and what others invented */
	}
}

static inline int run_standard(const struct program *program, struct sp_bytes *bytes,
			       unsigned int opcode, struct machine *machine, struct target *target)
{
	switch (opcode) {
	case DW_LNS_copy:
		return add_row(target, machine, false);
	case DW_LNS_advance_pc:
		advance(program, machine, sp_bytes_uleb(bytes));
		return 0;
	case DW_LNS_advance_line:
		machine->line += (uint32_t)sp_bytes_sleb(bytes);
		return 0;
	case DW_LNS_set_file:
		machine->file = (uint32_t)sp_bytes_uleb(bytes);
		return 0;
	case DW_LNS_const_add_pc:
		advance(program, machine, (255u - program->opcode_base) / program->line_range);
		return 0;
	case DW_LNS_fixed_advance_pc:
		machine->address += sp_bytes_number(bytes, 2);
		machine->op_index = 0;
		return 0;
	default:
		for (unsigned int i = 0; i < program->lengths[opcode]; i++)
			sp_bytes_uleb(bytes);
		return 0;
	}
}

static int run(const struct program *program, struct target *target)
{
	struct machine machine = start;
	struct sp_bytes bytes = program->bytes;
	/* Divisions are the program's slowest instructions, and all have one divisor. */
	uint8_t operations[256];
	int16_t lines[256];
	bool usual = program->opcode_base > DW_LNS_set_column &&
		     program->lengths[DW_LNS_set_column] == 1;
	int r = 0;

	for (unsigned int i = program->opcode_base; i < 256; i++) {
		operations[i] = (uint8_t)((i - program->opcode_base) / program->line_range);
		lines[i] = (int16_t)(program->line_base +
				     (int)((i - program->opcode_base) % program->line_range));
	}
	while (bytes.at < bytes.end && r == 0) {
		unsigned int opcode = *bytes.at++;

		if (opcode - DW_LNS_advance_line <= 2 && usual && bytes.at < bytes.end &&
		    *bytes.at < 0x80) {
			/* Lines, files and columns come in no order that a processor could guess:
			 * so without a branch for each. */
			int32_t number = *bytes.at++;
			int32_t is_line = -(int32_t)(opcode == DW_LNS_advance_line);
			uint32_t is_file = -(uint32_t)(opcode == DW_LNS_set_file);

			machine.line += (uint32_t)(((number ^ 0x40) - 0x40) & is_line);
			machine.file ^= (machine.file ^ (uint32_t)number) & is_file;
		} else if (opcode >= program->opcode_base) {
			advance(program, &machine, operations[opcode]);
			machine.line += (uint32_t)(int)lines[opcode];
			r = add_row(target, &machine, false);
		} else if (opcode) {
			r = run_standard(program, &bytes, opcode, &machine, target);
		} else {
			r = run_extended(&bytes, &machine, target);
		}
	}
	return r;
}

/* ---- for others ---- */

int sp_debug_rows_sequences(const struct sp_debug_sections *sections, uint64_t offset,
			    uint8_t address_size, sp_debug_sequence sequence, void *context)
{
	struct target target = {.sequence = sequence, .context = context};
	struct program program;

	return read_header(sections, offset, address_size, &program) ? run(&program, &target) : 0;
}

int sp_debug_rows_read(const struct sp_debug_sections *sections, uint64_t offset,
		       uint8_t address_size, const char *directory, const uint64_t *addresses,
		       size_t n, struct sp_debug_row *rows, struct sp_pool *paths,
		       struct sp_debug_rows **ret_table)
{
	struct sp_debug_rows *table = calloc(1, sizeof(*table));
	struct target target = {.addresses = addresses, .n = n, .rows = rows};
	struct program program;
	int r = 0;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct sp_debug_row){SP_DEBUG_NO_FILE, 0};
	table->directory = directory;
	table->paths = paths;
	if (read_header(sections, offset, address_size, &program)) {
		table->version = program.version;
		if (program.version < 5)
			r = read_old_lists(&program, table);
		else
			r = read_new_list(&program, table, false);
		if (r == 0 && program.version >= 5)
			r = read_new_list(&program, table, true);
		if (r == 0)
			r = run(&program, &target);
	}
	if (r < 0) {
		sp_debug_rows_free(table);
		return r;
	}
	*ret_table = table;
	return 0;
}

void sp_debug_rows_free(struct sp_debug_rows *table)
{
	if (!table)
		return;
	free(table->directories);
	free(table->files);
	free(table);
}
