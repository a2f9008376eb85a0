/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_dump.c - unwind_dump HELPER [--rows] FILE…: the tables of files, as sp-unwind makes them.
 *
 * A line a file: "file PATH error N rows N rules N us N why TEXT". With --rows then "segment
 * ADDRESS OFFSET SIZE" and "row PC KIND REG OFFSET ADDEND FLAGS FP RA", behind it "bx BX" unless
 * rbx is in its register still and "link REG" where the return address is; without, "kinds" counts
 * the rows by what they are. Hexadecimal where it is an address, else decimal.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "loader/unwind_scan.h"

static const char *const kind_names[SP_UNWIND_KINDS] = {"none", "outermost", "reg",	   "deref",
							"plt",	"signal",    "unsupported"};

struct dump {
	char **paths;
	bool rows;
	double last; /* us */
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void print_rows(const struct sp_unwind_table *table)
{
	for (size_t i = 0; i < table->segments; i++)
		printf("segment %llx %llx %llx\n", (unsigned long long)table->segment[i].address,
		       (unsigned long long)table->segment[i].file_offset,
		       (unsigned long long)table->segment[i].file_size);
	for (size_t i = 0; i < table->rows; i++) {
		const struct sp_unwind_rule *r = &table->rules_at[table->rule[i]];

		printf("row %llx %s %u %d %d %u %d %d", (unsigned long long)table->pc[i],
		       kind_names[r->kind], r->reg, r->offset, r->addend, r->flags, r->fp, r->ra);
		if (r->bx && r->bx != SP_UNWIND_SAME)
			printf(" bx %d", r->bx);
		if (r->ra == SP_UNWIND_SAME)
			printf(" link %u", r->link);
		printf("\n");
	}
}

/* What is usual, and what is not. */
static void print_kinds(const struct sp_unwind_table *table)
{
	size_t kinds[SP_UNWIND_KINDS] = {0}, registers[SP_UNWIND_REGS] = {0};
	size_t by_fp = 0, by_reg = 0, fp_same = 0, fp_unknown = 0, fp_saved = 0, ra_same = 0;

	for (size_t i = 0; i < table->rows; i++) {
		const struct sp_unwind_rule *r = &table->rules_at[table->rule[i]];

		kinds[r->kind]++;
		if (r->kind < SP_UNWIND_REG || r->kind == SP_UNWIND_UNSUPPORTED)
			continue;
		registers[r->reg]++;
		by_fp += r->flags == SP_UNWIND_FP_BY_FP;
		by_reg += r->flags == SP_UNWIND_BY_REG;
		fp_same += r->fp == SP_UNWIND_SAME;
		fp_unknown += r->fp == SP_UNWIND_UNDEFINED;
		fp_saved += r->fp > SP_UNWIND_UNDEFINED;
		ra_same += r->ra == SP_UNWIND_SAME;
	}
	printf("kinds");
	for (size_t i = 0; i < SP_UNWIND_KINDS; i++)
		printf(" %s %zu", kind_names[i], kinds[i]);
	for (size_t i = 0; i < SP_UNWIND_REGS; i++)
		if (registers[i])
			printf(" r%zu %zu", i, registers[i]);
	printf(" fp_by_fp %zu by_reg %zu fp_same %zu fp_unknown %zu fp_saved %zu ra_same %zu\n",
	       by_fp, by_reg, fp_same, fp_unknown, fp_saved, ra_same);
}

static int take(size_t index, struct sp_unwind_table *table, int error, const char *why, void *arg)
{
	struct dump *dump = arg;
	double now = now_us();

	printf("file %s error %d rows %zu rules %zu us %.0f why %s\n", dump->paths[index], error,
	       table ? table->rows : 0, table ? table->rules : 0, now - dump->last,
	       why ? why : "-");
	if (table && dump->rows)
		print_rows(table);
	else if (table)
		print_kinds(table);
	dump->last = now_us();
	return 0;
}

int main(int argc, char **argv)
{
	struct dump dump = {.rows = argc > 2 && !strcmp(argv[2], "--rows")};
	size_t n = (size_t)argc - 2 - dump.rows;
	struct sp_error err = {0};
	int *fds;

	if (argc < 3)
		return 2;
	dump.paths = argv + 2 + dump.rows;
	fds = calloc(n + 1, sizeof(*fds));
	if (!fds)
		return 1;
	for (size_t i = 0; i < n; i++)
		fds[i] = open(dump.paths[i], O_RDONLY | O_CLOEXEC);
	dump.last = now_us();
	if (sp_unwind_scan(argv[1], fds, n, take, &dump, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(fds);
	return 0;
}
