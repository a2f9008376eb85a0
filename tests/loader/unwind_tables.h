/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_tables.h - tables of any shape, and a cache for them, for tests of what the recorder
 * keeps.
 */
#ifndef SP_TESTS_LOADER_UNWIND_TABLES_H
#define SP_TESTS_LOADER_UNWIND_TABLES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/unwind_cache.h"
#include "tests/loader/check.h"
#include "tests/loader/unwind_fake.h"

#define SECOND 1000000000ull

static uint64_t seed = 1;

static inline uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static inline struct sp_unwind_rule rule_of(unsigned number)
{
	if (!number)
		return (struct sp_unwind_rule){0};
	return (struct sp_unwind_rule){
		.kind = SP_UNWIND_REG, .reg = 7, .offset = (int)(8 * number), .ra = -1};
}

/* Rows every @step bytes from @start on, with rules 1 … @rules in turn. */
static inline struct sp_unwind_table make_table(size_t rows, uint64_t start, uint64_t step,
						unsigned rules, unsigned first_rule)
{
	struct sp_unwind_table t = {.rows = rows, .rules = rules + 1, .segments = 1};

	t.pc = calloc(rows, sizeof(*t.pc));
	t.rule = calloc(rows, sizeof(*t.rule));
	t.rules_at = calloc(rules + 1, sizeof(*t.rules_at));
	if (!t.pc || !t.rule || !t.rules_at)
		abort();
	for (unsigned i = 1; i <= rules; i++)
		t.rules_at[i] = rule_of(first_rule + i - 1);
	for (size_t i = 0; i < rows; i++) {
		t.pc[i] = start + i * step;
		t.rule[i] = (uint16_t)(1 + i % rules);
	}
	t.segment[0] = (struct sp_unwind_segment){start, 0x1000, rows * step};
	return t;
}

static inline void free_table(struct sp_unwind_table *t)
{
	free(t->pc);
	free(t->rule);
	free(t->rules_at);
}

static inline struct sp_unwind_cache *open_cache(struct sp_bpf *bpf, size_t chunks)
{
	struct sp_unwind_cache *cache = NULL;
	struct sp_unwind_chunk *chunk;
	uint32_t number;

	fake_open(bpf, chunks);
	CHECK(sp_unwind_cache_new(bpf, &cache) == 0, "cache");
	while (sp_bpf_unwind_add_chunk(bpf, &chunk, &number) == 0)
		sp_unwind_cache_give(cache, chunk, number);
	return cache;
}

static inline struct sp_unwind_file *add_file_of(struct sp_unwind_cache *cache, uid_t uid,
						 uint64_t inode, uint64_t now)
{
	struct sp_filekey key = {.device = 1, .inode = inode, .size = 1};
	char name[32];

	snprintf(name, sizeof(name), "file%llu", (unsigned long long)inode);
	return sp_unwind_cache_file(cache, &key, uid, name, now);
}

static inline struct sp_unwind_file *add_file(struct sp_unwind_cache *cache, uint64_t inode,
					      uint64_t now)
{
	return add_file_of(cache, 0, inode, now);
}

/* All rows of a table are found in the file's parts, with their rules. */
static inline void check_parts(const struct sp_bpf *bpf, const struct sp_unwind_file *file,
			       const struct sp_unwind_table *t)
{
	size_t row = 0;

	for (size_t i = 0; i < file->part_count; i++) {
		const struct sp_unwind_part *p = &file->parts[i];
		const struct sp_unwind_chunk *chunk = bpf->chunks[p->chunk];

		CHECK(p->start == t->pc[row], "part %zu begins elsewhere", i);
		CHECK(p->first + p->count <= SP_UNWIND_CHUNK_ROWS, "part %zu leaves its chunk", i);
		CHECK(p->end - p->base <= 1ull << 32, "part %zu is too long", i);
		for (uint32_t k = p->first; k < p->first + p->count; k++, row++) {
			struct sp_unwind_rule want = t->rules_at[t->rule[row]];

			if (p->base + chunk->pc[k] != t->pc[row] ||
			    memcmp(&bpf->rules[chunk->rule[k]], &want, sizeof(want))) {
				CHECK(false, "row %zu is wrong", row);
				return;
			}
		}
	}
	CHECK(row == t->rows, "%zu of %zu rows", row, t->rows);
}

#endif
