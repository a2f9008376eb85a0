/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_judge.c - unwind_judge HELPER RANDOM FILE…: tables against libdw's own interpreter.
 *
 * At each row, at the byte before it, and at RANDOM other addresses of the code, what the table
 * says is worked out with made-up registers and memory, and must come to the same CFA, frame
 * pointer and return address as the expressions that dwarf_cfi_addrframe() gives. So the table's
 * forms are judged by what they mean. What the table calls unsupported (or a frame pointer unknown)
 * is counted, and must be rare: a line a file says how rare.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "loader/unwind_scan.h"
#include "tests/loader/check.h"

#define MAX_COMPLAINTS 10

struct judge {
	char **paths;
	unsigned long random;
	/* of the file at hand */
	const char *path;
	Elf *elf;
	Dwarf_CFI *cfi[2];
	unsigned fp, bx, ra;
	bool aarch64;
	struct {
		uint64_t start, end;
	} extra[16]; /* code that the table knows of without anybody's word (unwind_extra.h) */
	size_t extras;
	size_t asked, known, unsupported, complaints;
	double libdw_ns;
};

/* What a frame's caller has; fp, bx and ra may be unknown. */
struct caller {
	bool found, outermost, unsupported, fp_known, bx_known, signal;
	uint64_t cfa, fp, bx, ra;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t memory(uint64_t address)
{
	return mix(address ^ 0x1234567) & 0x7ffffffffff8;
}

static uint64_t registers(uint64_t reg, uint64_t pc)
{
	return reg == 16 ? pc : mix(reg + 99) & 0x7ffffffffff8;
}

/* ---- by the table ---- */

static struct caller by_table(const struct judge *judge, const struct sp_unwind_table *table,
			      uint64_t pc)
{
	ptrdiff_t row = sp_unwind_table_find(table, pc);
	const struct sp_unwind_rule *r = row < 0 ? NULL : &table->rules_at[table->rule[row]];
	struct caller c = {.found = r && r->kind != SP_UNWIND_NONE};
	uint64_t reg, fp = registers(judge->fp, pc), bx = registers(judge->bx, pc), base;

	if (!c.found)
		return c;
	c.outermost = r->kind == SP_UNWIND_OUTERMOST;
	c.unsupported = r->kind == SP_UNWIND_UNSUPPORTED;
	if (c.outermost || c.unsupported)
		return c;
	reg = registers(r->reg, pc);
	c.signal = r->kind == SP_UNWIND_SIGNAL;
	if (r->kind == SP_UNWIND_REG)
		c.cfa = reg + (uint64_t)(int64_t)r->offset;
	else if (r->kind == SP_UNWIND_PLT)
		c.cfa = reg + 8 + ((pc & 15) >= (uint64_t)r->offset ? 8 : 0);
	else
		c.cfa = memory(reg + (uint64_t)(int64_t)r->offset) + (uint64_t)(int64_t)r->addend;
	base = r->flags & SP_UNWIND_BY_REG ? reg : c.cfa;
	c.ra = r->ra == SP_UNWIND_SAME ? registers(r->link, pc)
				       : memory(base + (uint64_t)(r->ra * 8l));
	c.fp_known = r->fp != SP_UNWIND_UNDEFINED;
	if (r->flags & SP_UNWIND_FP_BY_FP)
		base = fp;
	c.fp = r->fp == SP_UNWIND_SAME ? fp : memory(base + (uint64_t)(r->fp * 8l));
	c.bx_known = r->bx != SP_UNWIND_UNDEFINED && !judge->aarch64;
	c.bx = r->bx == SP_UNWIND_SAME ? bx : memory(base + (uint64_t)(r->bx * 8l));
	return c;
}

/* ---- by libdw ---- */

struct stack {
	uint64_t at[32];
	size_t n;
	bool bad;
};

static void push(struct stack *s, uint64_t value)
{
	if (s->n == 32)
		s->bad = true;
	else
		s->at[s->n++] = value;
}

static uint64_t pop(struct stack *s)
{
	if (s->n == 0) {
		s->bad = true;
		return 0;
	}
	return s->at[--s->n];
}

static bool run_binary(struct stack *s, uint8_t atom)
{
	uint64_t b = pop(s), a = pop(s);

	switch (atom) {
	case DW_OP_plus:
		push(s, a + b);
		return true;
	case DW_OP_minus:
		push(s, a - b);
		return true;
	case DW_OP_and:
		push(s, a & b);
		return true;
	case DW_OP_or:
		push(s, a | b);
		return true;
	case DW_OP_mul:
		push(s, a * b);
		return true;
	case DW_OP_shl:
		push(s, a << (b & 63));
		return true;
	case DW_OP_ge:
		push(s, (int64_t)a >= (int64_t)b);
		return true;
	default:
		s->bad = true;
		return false;
	}
}

/* Whether the expression gives a value (else the address where it is). */
static bool evaluate(const Dwarf_Op *ops, size_t n, uint64_t pc, uint64_t cfa, bool *ret_value,
		     uint64_t *ret)
{
	struct stack s = {0};

	*ret_value = false;
	for (size_t i = 0; i < n && !s.bad; i++) {
		uint8_t op = ops[i].atom;

		if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
			push(&s, registers(op - DW_OP_breg0, pc) + ops[i].number);
		else if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
			push(&s, op - DW_OP_lit0);
		else if (op >= DW_OP_reg0 && op <= DW_OP_reg31)
			push(&s, registers(op - DW_OP_reg0, pc)), *ret_value = true;
		else if (op == DW_OP_regx)
			push(&s, registers(ops[i].number, pc)), *ret_value = true;
		else if (op == DW_OP_bregx)
			push(&s, registers(ops[i].number, pc) + ops[i].number2);
		else if (op >= DW_OP_const1u && op <= DW_OP_consts)
			push(&s, ops[i].number);
		else if (op == DW_OP_call_frame_cfa)
			push(&s, cfa);
		else if (op == DW_OP_plus_uconst)
			push(&s, pop(&s) + ops[i].number);
		else if (op == DW_OP_deref)
			push(&s, memory(pop(&s)));
		else if (op == DW_OP_stack_value)
			*ret_value = true;
		else if (op != DW_OP_nop)
			run_binary(&s, op);
	}
	*ret = pop(&s);
	return !s.bad;
}

/* 0 undefined, 1 known, -1 cannot be worked out here. */
static int find_register(Dwarf_Frame *frame, unsigned reg, uint64_t pc, uint64_t cfa, uint64_t *ret)
{
	Dwarf_Op room[3], *ops;
	size_t n;
	bool value;

	if (dwarf_frame_register(frame, (int)reg, room, &ops, &n) < 0)
		return -1;
	if (n == 0 && ops) {
		return 0;
	}
	if (n == 0) {
		*ret = registers(reg, pc);
		return 1;
	}
	if (!evaluate(ops, n, pc, cfa, &value, ret))
		return -1;
	if (!value)
		*ret = memory(*ret);
	return 1;
}

static struct caller by_libdw(struct judge *judge, uint64_t pc)
{
	struct caller c = {0};
	Dwarf_Frame *frame = NULL;
	struct timespec a, b;
	Dwarf_Op *ops;
	bool value;
	size_t n;
	int r;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (size_t i = 0; i < 2 && !frame; i++)
		if (judge->cfi[i] && dwarf_cfi_addrframe(judge->cfi[i], pc, &frame) < 0)
			frame = NULL;
	clock_gettime(CLOCK_MONOTONIC, &b);
	judge->libdw_ns += (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
	if (!frame)
		return c;
	c.found = true;
	dwarf_frame_info(frame, NULL, NULL, &c.signal);
	r = find_register(frame, judge->ra, pc, 0, &c.ra);
	c.outermost = r == 0;
	if (!c.outermost && (dwarf_frame_cfa(frame, &ops, &n) < 0 || n == 0 ||
			     !evaluate(ops, n, pc, 0, &value, &c.cfa)))
		c.unsupported = true;
	if (!c.outermost && !c.unsupported) {
		c.unsupported = find_register(frame, judge->ra, pc, c.cfa, &c.ra) < 0;
		c.fp_known = find_register(frame, judge->fp, pc, c.cfa, &c.fp) > 0;
		c.bx_known =
			!judge->aarch64 && find_register(frame, judge->bx, pc, c.cfa, &c.bx) > 0;
	}
	free(frame);
	return c;
}

/* ---- both ---- */

static void find_extras(struct judge *judge, Elf *elf, const GElf_Ehdr *eh)
{
	Elf_Scn *scn = NULL;
	size_t names;

	judge->extras = 0;
	judge->extra[judge->extras].start = eh->e_entry;
	judge->extra[judge->extras++].end = eh->e_entry + 128;
	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	while ((scn = elf_nextscn(elf, scn)) && judge->extras < 16) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh) || !(name = elf_strptr(elf, names, sh.sh_name)) ||
		    (strncmp(name, ".plt", 4) && strcmp(name, ".iplt") && strcmp(name, ".init") &&
		     strcmp(name, ".fini")))
			continue;
		judge->extra[judge->extras].start = sh.sh_addr;
		judge->extra[judge->extras++].end = sh.sh_addr + sh.sh_size;
	}
}

/* Whether a symbol names the function around @pc, and libdw does not know its beginning either. */
static bool is_function(const struct judge *judge, uint64_t pc)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(judge->elf, scn))) {
		Elf_Data *data;
		GElf_Shdr sh;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM) ||
		    !(data = elf_getdata(scn, NULL)))
			continue;
		for (int i = 0; gelf_getsym(data, i, &sym); i++) {
			Dwarf_Frame *frame = NULL;
			bool known;

			if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || pc < sym.st_value ||
			    pc - sym.st_value >= sym.st_size)
				continue;
			known = judge->cfi[0] &&
				dwarf_cfi_addrframe(judge->cfi[0], sym.st_value, &frame) == 0;
			free(frame);
			if (!known)
				return true;
		}
	}
	return false;
}

static bool is_extra(const struct judge *judge, uint64_t pc)
{
	for (size_t i = 0; i < judge->extras; i++)
		if (pc >= judge->extra[i].start && pc < judge->extra[i].end)
			return true;
	return !judge->aarch64 && is_function(judge, pc);
}

/* Where clone() returns twice: behind what libdw knows, before what it says is the end of a new
 * thread's stack. */
static bool is_clone(struct judge *judge, const struct sp_unwind_table *table, uint64_t pc)
{
	ptrdiff_t row = sp_unwind_table_find(table, pc);

	return row > 0 && (size_t)row + 1 < table->rows &&
	       table->rules_at[table->rule[row]].flags & SP_UNWIND_UNLESS_0 &&
	       table->pc[row + 1] - table->pc[row] <= 14 &&
	       by_libdw(judge, table->pc[row] - 1).found &&
	       by_libdw(judge, table->pc[row + 1]).outermost;
}

static void compare(struct judge *judge, const struct sp_unwind_table *table, uint64_t pc)
{
	struct caller a = by_table(judge, table, pc), b = by_libdw(judge, pc);
	bool same;

	judge->asked++;
	judge->known += a.found;
	judge->unsupported += a.unsupported || (a.found && !a.fp_known && b.fp_known) ||
			      (a.found && !a.bx_known && b.bx_known);
	if (a.found && !b.found && !a.unsupported &&
	    (is_extra(judge, pc) || is_clone(judge, table, pc)))
		same = true;
	else if (a.unsupported)
		same = b.found;
	else if (!a.found || a.outermost)
		same = a.found == b.found && a.outermost == b.outermost;
	/* The table knows of aarch64's signal frames what their call frame information does not
	 * say. */
	else if (judge->aarch64 && a.signal)
		same = b.signal;
	/* libdw takes rbx for lost, not for kept, where nothing is said of it. */
	else
		same = b.found && !b.outermost && !b.unsupported && a.cfa == b.cfa &&
		       a.ra == b.ra && (!a.fp_known || (b.fp_known && a.fp == b.fp)) &&
		       (!a.bx_known || !b.bx_known || a.bx == b.bx) && a.signal == b.signal;
	check_count++;
	if (same)
		return;
	check_failures++;
	if (judge->complaints++ < MAX_COMPLAINTS)
		fprintf(stderr,
			"%s: %llx: table: found %d outermost %d unsupported %d signal %d cfa %llx "
			"fp %d %llx bx %d %llx ra %llx; libdw: %d %d %d %d %llx %d %llx %d %llx "
			"%llx\n",
			judge->path, (unsigned long long)pc, a.found, a.outermost, a.unsupported,
			a.signal, (unsigned long long)a.cfa, a.fp_known, (unsigned long long)a.fp,
			a.bx_known, (unsigned long long)a.bx, (unsigned long long)a.ra, b.found,
			b.outermost, b.unsupported, b.signal, (unsigned long long)b.cfa, b.fp_known,
			(unsigned long long)b.fp, b.bx_known, (unsigned long long)b.bx,
			(unsigned long long)b.ra);
}

static void compare_all(struct judge *judge, const struct sp_unwind_table *table)
{
	uint64_t state = 1;

	for (size_t i = 0; i < table->rows; i++) {
		compare(judge, table, table->pc[i]);
		compare(judge, table, table->pc[i] - 1);
	}
	for (unsigned long i = 0; i < judge->random; i++) {
		const struct sp_unwind_segment *s = &table->segment[i % table->segments];

		state = mix(state + i);
		compare(judge, table, s->address + state % s->file_size);
	}
}

static int take(size_t index, struct sp_unwind_table *table, int error, const char *why, void *arg)
{
	struct judge *judge = arg;
	const char *path = judge->path = judge->paths[index];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf *dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	GElf_Ehdr eh;

	judge->asked = judge->known = judge->unsupported = judge->complaints = 0;
	judge->libdw_ns = 0;
	CHECK(table && !why, "%s: %d, %s", path, error, why ? why : "-");
	if (table && elf && gelf_getehdr(elf, &eh)) {
		judge->aarch64 = eh.e_machine == EM_AARCH64;
		judge->fp = judge->aarch64 ? 29 : 6;
		judge->bx = 3;
		judge->ra = judge->aarch64 ? 30 : 16;
		judge->elf = elf;
		find_extras(judge, elf, &eh);
		judge->cfi[0] = dwarf_getcfi_elf(elf);
		judge->cfi[1] = dwarf ? dwarf_getcfi(dwarf) : NULL;
		compare_all(judge, table);
		CHECK(judge->unsupported <= 20 + judge->asked / 500,
		      "%s: %zu of %zu are unsupported", path, judge->unsupported, judge->asked);
		printf("%s: %zu rows, %zu addresses, %zu known, %zu unsupported, %zu differ, libdw "
		       "%.0f "
		       "ns each\n",
		       path, table->rows, judge->asked, judge->known, judge->unsupported,
		       judge->complaints, judge->libdw_ns / (double)(judge->asked + !judge->asked));
		if (judge->cfi[0])
			dwarf_cfi_end(judge->cfi[0]);
	}
	dwarf_end(dwarf);
	elf_end(elf);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct judge judge = {.paths = argv + 3};
	struct sp_error err = {0};
	size_t n = argc > 3 ? (size_t)argc - 3 : 0;
	int *fds = calloc(n + 1, sizeof(*fds));

	if (!n || !fds)
		return 2;
	elf_version(EV_CURRENT);
	judge.random = strtoul(argv[2], NULL, 10);
	for (size_t i = 0; i < n; i++)
		fds[i] = open(argv[3 + i], O_RDONLY | O_CLOEXEC);
	CHECK(sp_unwind_scan(argv[1], fds, n, take, &judge, &err) == 0, "%s", err.text);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	free(fds);
	return check_done();
}
