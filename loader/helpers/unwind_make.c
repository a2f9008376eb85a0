/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_make.c - from entries in a file's order to one table in the order of addresses.
 *
 * Which entry counts where several are for one address: that of .eh_frame before that of
 * .debug_frame, which is taken only for code of which .eh_frame says nothing at all; else the one
 * that begins first, then the one that stands first. Entries for what is not executable code of
 * this file (of functions that the linker threw out) do not count. Where nobody says anything,
 * what is known of stubs (unwind_extra.c) and what functions' code says (unwind_code.c) counts.
 *
 * Invariant: rows ascend strictly, no two neighbours have one rule, all lie within executable
 * segments or at their end.
 */
#include "loader/helpers/unwind_make.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/search.h"
#include "loader/helpers/elf_file.h"
#include "loader/helpers/unwind_cfi.h"
#include "loader/helpers/unwind_code.h"
#include "loader/helpers/unwind_extra.h"
#include "loader/helpers/unwind_fdes.h"
#include "loader/helpers/unwind_file.h"
#include "loader/helpers/unwind_functions.h"
#include "loader/helpers/unwind_rows.h"
#include "userspace/base/array.h"

#define MAX_CIES (1u << 20)
/* Of functions without call frame information. OpenBLAS has 2,355 with 11 MB. */
#define MAX_FUNCTIONS 65536u
#define MAX_CODE (32u << 20)

struct cie {
	uint64_t offset; /* in its section */
	struct sp_cfi_cie cfi;
};

struct cies {
	struct cie *at; /* in ascending order */
	size_t count, room;
	size_t last; /* that was asked for */
};

struct maker {
	struct sp_elf_file file;
	const struct sp_cfi_machine *machine;
	struct sp_unwind_section section[2]; /* .eh_frame, .debug_frame */
	struct cies cies[2];
	struct sp_unwind_fdes fdes[2];
	struct sp_cfi_cie extra_cie, clone_cie;
	struct sp_unwind_fdes described; /* of .debug_frame, while what nobody describes is added */
	uint8_t **programs;		 /* ours, for that */
	size_t program_count, program_room;
	uint64_t code_bytes;
	struct sp_unwind_table *table;
	struct sp_unwind_rows rows;
	uint64_t from; /* of the FDE at hand */
	struct sp_error *err;
};

static int no_memory(struct maker *m)
{
	return sp_error_set(m->err, -ENOMEM, 0, "its call frame information takes too much memory");
}

/* ---- entries ---- */

static int add_cie(struct maker *m, struct cies *cies, uint64_t offset, const Dwarf_CIE *entry)
{
	struct cie *grown;

	if (cies->count == MAX_CIES)
		return sp_error_set(m->err, -SP_E_COUNT, offset,
				    "its call frame information has more than %u CIEs", MAX_CIES);
	grown = sp_array_grow(cies->at, cies->count, &cies->room, sizeof(*grown));
	if (!grown)
		return no_memory(m);
	cies->at = grown;
	grown[cies->count].offset = offset;
	sp_cfi_cie_read(entry, m->machine, &grown[cies->count++].cfi);
	return 0;
}

static const struct sp_cfi_cie *find_cie(struct cies *cies, uint64_t offset)
{
	size_t low;

	if (cies->last < cies->count && cies->at[cies->last].offset == offset)
		return &cies->at[cies->last].cfi;
	low = sp_search(cies->count, i, cies->at[i].offset < offset);
	if (low == cies->count || cies->at[low].offset != offset)
		return NULL;
	cies->last = low;
	return &cies->at[low].cfi;
}

static bool is_code(const struct sp_elf_file *file, uint64_t start, uint64_t end)
{
	uint64_t unused;

	return start && start < end &&
	       sp_elf_file_offset(file, start, end - start, PF_X, &unused) == 0;
}

static int add_fde(struct maker *m, size_t which, const Dwarf_FDE *entry)
{
	const struct sp_unwind_section *section = &m->section[which];
	const struct sp_cfi_cie *cie = find_cie(&m->cies[which], entry->CIE_pointer);
	struct sp_bytes in = {entry->start, entry->end, false};
	uint64_t place = section->address + (uint64_t)(entry->start - section->bytes);
	struct sp_unwind_fde fde = {.cie = cie};
	uint64_t length;

	if (!cie || !sp_cfi_read_address(&in, cie->encoding, place, &fde.start) ||
	    !sp_cfi_read_address(&in, cie->encoding & 0x07, 0, &length))
		return 0;
	if (cie->sized)
		sp_bytes_block(&in, sp_bytes_uleb(&in));
	if (in.broken || __builtin_add_overflow(fde.start, length, &fde.end) ||
	    !is_code(&m->file, fde.start, fde.end))
		return 0;
	fde.from = fde.start;
	fde.program = in.at;
	fde.bytes = (uint32_t)(in.end - in.at);
	return sp_unwind_fdes_add(&m->fdes[which], &fde, m->err);
}

/* All entries of one kind. CIEs first: an FDE may stand before its own. */
static int walk(struct maker *m, size_t which, bool cies)
{
	static const unsigned char ident[EI_NIDENT] = {ELFMAG0,	   ELFMAG1,	ELFMAG2,   ELFMAG3,
						       ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
	struct sp_unwind_section *section = &m->section[which];
	Elf_Data data = {.d_buf = section->bytes, .d_size = section->size, .d_type = ELF_T_BYTE};
	Dwarf_Off at = 0, next = 0;
	Dwarf_CFI_Entry entry;
	int r = 0;

	while (r == 0 && at < section->size) {
		int said = dwarf_next_cfi(ident, &data, section->eh_frame, at, &next, &entry);

		if (said > 0)
			break;
		if (said < 0 && (next <= at || next > section->size)) {
			/* No way to tell where the next one begins. */
			if (!section->open_end)
				sp_error_set(m->err, -SP_E_DAMAGED, at,
					     "its %s is damaged, and counts only up to there",
					     section->eh_frame ? ".eh_frame" : ".debug_frame");
			break;
		}
		if (said == 0 && dwarf_cfi_cie_p(&entry) == cies)
			r = cies ? add_cie(m, &m->cies[which], at, &entry.cie)
				 : add_fde(m, which, &entry.fde);
		at = next;
	}
	return r;
}

/* A function that a symbol table names: if nobody describes it, its code does. */
static int take_function(uint64_t start, uint64_t size, void *arg)
{
	struct maker *m = arg;
	uint64_t offset, end = start + size;
	uint8_t *code, **program;
	size_t bytes;
	int r;

	if (size > SP_UNWIND_MAX_FUNCTION || size > MAX_CODE - m->code_bytes ||
	    m->program_count == MAX_FUNCTIONS ||
	    !sp_unwind_fdes_are_away(&m->fdes[0], start, end) ||
	    !sp_unwind_fdes_are_away(&m->described, start, end) ||
	    sp_elf_file_offset(&m->file, start, size, PF_X, &offset) < 0)
		return 0;
	m->code_bytes += size;
	program = sp_array_add(&m->programs, &m->program_count, &m->program_room);
	code = malloc(size);
	if (!program || !code) {
		free(code);
		return no_memory(m);
	}
	r = sp_elf_file_read(&m->file, offset, code, size);
	if (r == 0)
		r = sp_unwind_code_read(code, size, program, &bytes);
	free(code);
	if (r < 0)
		return r == -ENOMEM ? no_memory(m) : 0;
	return sp_unwind_fdes_add(&m->fdes[1],
				  &(struct sp_unwind_fde){.start = start,
							  .end = end,
							  .from = start,
							  .cie = &m->extra_cie,
							  .program = *program,
							  .bytes = (uint32_t)bytes},
				  m->err);
}

/* The gaps in which clone() returns twice. Those before functions, which compilers align, are not
 * looked at, so that few are read. */
static int add_clones(struct maker *m)
{
	const struct sp_unwind_fdes *fdes = &m->fdes[0];
	int r = 0;

	m->clone_cie = m->extra_cie;
	m->clone_cie.clones = true;
	for (size_t i = 1; i < fdes->count && r == 0; i++) {
		struct sp_unwind_fde fde = {.start = fdes->at[i - 1].end,
					    .end = fdes->at[i].from,
					    .from = fdes->at[i - 1].end,
					    .cie = &m->clone_cie};
		struct sp_bytes program;

		if (fde.end % 16 == 0 ||
		    !sp_unwind_fdes_are_away(&m->described, fde.start, fde.end) ||
		    !sp_unwind_extra_clone(&m->file, fde.start, fde.end, &program))
			continue;
		fde.program = program.at;
		fde.bytes = (uint32_t)(program.end - program.at);
		r = sp_unwind_fdes_add(&m->fdes[1], &fde, m->err);
	}
	return r;
}

/* Code that nobody describes, but that is known: for the gaps of both. */
static int add_extras(struct maker *m)
{
	struct sp_unwind_extra extras[SP_UNWIND_MAX_EXTRAS];
	size_t n = sp_unwind_extras(&m->file, extras);
	int r = 0;

	m->extra_cie = sp_unwind_extra_cie(m->machine);
	/* A copy: the array moves as it grows. */
	m->described.at = malloc((m->fdes[1].count + 1) * sizeof(m->described.at[0]));
	if (!m->described.at)
		return no_memory(m);
	m->described.count = m->fdes[1].count;
	if (m->described.count)
		memcpy(m->described.at, m->fdes[1].at,
		       m->described.count * sizeof(m->described.at[0]));
	for (size_t i = 0; i < n && r == 0; i++) {
		struct sp_unwind_fde fde = {.start = extras[i].start,
					    .end = extras[i].end,
					    .from = extras[i].start,
					    .cie = &m->extra_cie,
					    .program = extras[i].program.at};

		fde.bytes = (uint32_t)(extras[i].program.end - extras[i].program.at);
		sp_unwind_fdes_shorten(&m->fdes[0], &fde);
		sp_unwind_fdes_shorten(&m->described, &fde);
		if (is_code(&m->file, fde.start, fde.end))
			r = sp_unwind_fdes_add(&m->fdes[1], &fde, m->err);
	}
	if (r == 0 && m->machine->machine == EM_X86_64)
		r = add_clones(m);
	if (r == 0 && m->machine->machine == EM_X86_64)
		r = sp_unwind_functions(&m->file, take_function, m);
	return r < 0 ? r : sp_unwind_fdes_sort(&m->fdes[1], m->err);
}

static int take_row(uint64_t pc, const struct sp_unwind_rule *rule, void *arg)
{
	struct maker *m = arg;

	return sp_unwind_rows_add(&m->rows, pc < m->from ? m->from : pc, rule, m->err);
}

static int make_rows(struct maker *m)
{
	static const struct sp_unwind_rule none;
	const struct sp_unwind_fdes *eh = &m->fdes[0], *debug = &m->fdes[1];
	size_t a = 0, b = 0;
	int r = 0;

	while (r == 0 && (a < eh->count || b < debug->count)) {
		const struct sp_unwind_fde *fde =
			b == debug->count || (a < eh->count && eh->at[a].from < debug->at[b].from)
				? &eh->at[a++]
				: &debug->at[b++];

		m->from = fde->from;
		r = sp_cfi_run(fde->cie, fde->start, fde->end,
			       (struct sp_bytes){fde->program, fde->program + fde->bytes, false},
			       take_row, m);
		if (r == 0)
			r = sp_unwind_rows_add(&m->rows, fde->end, &none, m->err);
	}
	return r;
}

/* ---- all of it ---- */

static int take_segments(struct maker *m)
{
	struct sp_unwind_table *table = m->table;

	for (size_t i = 0; i < m->file.segment_count; i++) {
		const struct sp_elf_segment *s = &m->file.segments[i];

		if (!(s->flags & PF_X))
			continue;
		if (table->segments == SP_UNWIND_LIMIT_SEGMENTS)
			return sp_error_set(m->err, -SP_E_COUNT, 0,
					    "it has more than %u executable segments",
					    SP_UNWIND_LIMIT_SEGMENTS);
		table->segment[table->segments++] = (struct sp_unwind_segment){
			.address = s->address, .file_offset = s->offset, .file_size = s->bytes};
	}
	return 0;
}

static int make(struct maker *m, int fd)
{
	int r = sp_elf_file_open(&m->file, fd);

	if (r < 0)
		return r;
	m->machine = sp_cfi_machine_find(m->file.machine);
	if (!m->machine)
		return -ENOTSUP;
	r = take_segments(m);
	if (r == 0)
		r = sp_unwind_sections_read(&m->file, &m->section[0], &m->section[1], m->err);
	if (r == 0)
		r = sp_unwind_rows_begin(&m->rows, m->table, m->err);
	for (size_t i = 0; i < 2 && r == 0; i++) {
		r = walk(m, i, true);
		if (r == 0)
			r = walk(m, i, false);
		if (r == 0)
			r = sp_unwind_fdes_sort(&m->fdes[i], m->err);
	}
	if (r < 0)
		return r;
	sp_unwind_fdes_keep_in_gaps(&m->fdes[1], &m->fdes[0]);
	/* A file without call frame information has no table, whatever else is known of it. */
	r = m->fdes[0].count || m->fdes[1].count ? add_extras(m) : 0;
	if (r == 0)
		r = make_rows(m);
	if (r == 0 && m->rows.rules_full)
		sp_error_set(m->err, -SP_E_COUNT, 0,
			     "it has more than %u different rules; the others do not count",
			     SP_UNWIND_LIMIT_RULES);
	if (r < 0 || m->table->rows)
		return r;
	return m->err->code ? m->err->code : -SP_E_MISSING;
}

int sp_unwind_make(int fd, struct sp_unwind_table *ret_table, struct sp_error *err)
{
	struct sp_error unwanted;
	struct sp_unwind_table table = {0};
	struct maker *m = calloc(1, sizeof(*m));
	int r;

	if (!err)
		err = &unwanted;
	*err = (struct sp_error){0};
	if (!m)
		return sp_error_set(err, -ENOMEM, 0, "out of memory");
	m->table = &table;
	m->err = err;
	r = make(m, fd);
	sp_elf_file_close(&m->file);
	for (size_t i = 0; i < 2; i++) {
		free(m->section[i].bytes);
		free(m->cies[i].at);
		free(m->fdes[i].at);
	}
	for (size_t i = 0; i < m->program_count; i++)
		free(m->programs[i]);
	free(m->programs);
	free(m->described.at);
	free(m);
	if (r < 0)
		sp_unwind_table_clear(&table);
	else
		*ret_table = table;
	return r;
}
