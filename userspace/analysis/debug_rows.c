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
#include <stdlib.h>

#include "formats/search.h"
#include "userspace/analysis/debug_rows_private.h"

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
	return sp_search(target->n, i, target->addresses[i] < address);
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

static void advance(const struct sp_rows_program *program, struct machine *machine,
		    uint64_t operations)
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

static inline int run_standard(const struct sp_rows_program *program, struct sp_bytes *bytes,
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

static int run(const struct sp_rows_program *program, struct target *target)
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
	struct sp_rows_program program;

	return sp_rows_read_header(sections, offset, address_size, &program)
		       ? run(&program, &target)
		       : 0;
}

int sp_debug_rows_read(const struct sp_debug_sections *sections, uint64_t offset,
		       uint8_t address_size, const char *directory, const uint64_t *addresses,
		       size_t n, struct sp_debug_row *rows, struct sp_pool *paths,
		       struct sp_debug_rows **ret_table)
{
	struct sp_debug_rows *table = calloc(1, sizeof(*table));
	struct target target = {.addresses = addresses, .n = n, .rows = rows};
	struct sp_rows_program program;
	int r = 0;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct sp_debug_row){SP_DEBUG_NO_FILE, 0};
	table->directory = directory;
	table->paths = paths;
	if (sp_rows_read_header(sections, offset, address_size, &program)) {
		r = sp_rows_read_lists(&program, table);
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
