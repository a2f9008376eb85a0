/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks_unit.c - what a command cannot be brought to: stacks beyond the limit, very long ones, and
 * nodes with many children.
 *
 *   stacks_unit PROFILE    its name; made anew
 */
#include <stdlib.h>

#include "formats/h5_write.h"
#include "tests/lib/check.h"
#include "userspace/analysis/calltree.h"

#define BASE 0x10000u
#define STACKS 200
#define LONG 3000

/* Stacks of four callers that differ in each; one of LONG frames; all in one module of no file. */
static int make(const char *path)
{
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC};
	struct sp_module_row module = {.path = "/no/such/file",
				       .build_id = "",
				       .archived = "",
				       .start = BASE,
				       .end = BASE << 8,
				       .process = UINT32_MAX};
	struct sp_sample_row row = {.time_ns = 1,
				    .thread = -1,
				    .region = -1,
				    .call_id = -1,
				    .module = -1,
				    .stack_end = SP_STACK_COMPLETE};
	struct sp_h5_writer *writer = NULL;
	static uint64_t frames[LONG];
	int r = sp_h5_writer_open(path, &options, &writer, NULL);

	if (r == 0)
		r = sp_h5_writer_add_modules(writer, &module, 1, NULL);
	for (uint32_t i = 0; r == 0 && i < STACKS; i++) {
		for (uint32_t k = 0; k < 5; k++)
			frames[k] = BASE + i * 16 + k;
		r = sp_h5_writer_add_sample(writer, &row, frames, 5, NULL);
	}
	for (uint32_t i = 0; i < LONG; i++)
		frames[i] = BASE + i;
	if (r == 0)
		r = sp_h5_writer_add_sample(writer, &row, frames, LONG, NULL);
	if (r == 0)
		r = sp_h5_writer_commit(writer, NULL);
	sp_h5_writer_free(writer);
	return r;
}

static struct sp_stacks *read_stacks(const char *path, struct sp_symbols *symbols, uint64_t limit)
{
	struct sp_stacks_options options = {.max_caller_frames = limit};
	struct sp_sample_files files;
	struct sp_stacks *stacks = NULL;

	sp_sample_files_init(&files);
	CHECK_NUMBER(sp_stacks_new(&options, symbols, &stacks), 0);
	CHECK_NUMBER(sp_sample_files_add(&files, path, NULL), 0);
	CHECK_NUMBER(sp_stacks_read(stacks, &files, NULL), 0);
	CHECK_NUMBER(sp_stacks_resolve(stacks), 0);
	CHECK_NUMBER(files.samples, STACKS + 1);
	sp_sample_files_done(&files);
	return stacks;
}

static struct sp_symbols *new_symbols(void)
{
	struct sp_symbols_options options = {.in_process = true};
	struct sp_symbols *symbols = NULL;

	CHECK_NUMBER(sp_symbols_new(&options, &symbols), 0);
	return symbols;
}

/* Beyond the limit, callers are left out, and told of; no sample is. */
static void test_limit(const char *path)
{
	struct sp_symbols *symbols = new_symbols();
	struct sp_stacks *stacks = read_stacks(path, symbols, 40);
	struct sp_calltree *tree = NULL;
	uint64_t samples = 0, whole = 0;

	CHECK_NUMBER(sp_stacks_ends(stacks, SP_STACKS_LEFT_OUT), STACKS + 1 - 10);
	CHECK_NUMBER(sp_stacks_ends(stacks, SP_STACK_COMPLETE), 10);
	for (size_t i = 0; i < sp_stacks_n_rows(stacks); i++) {
		const struct sp_stack_row *row = sp_stacks_row(stacks, i);
		const uint32_t *places;
		unsigned end;
		uint32_t n = sp_stacks_callers(stacks, row->callers, &places, &end);

		CHECK(row->place != SP_STACKS_NONE);
		CHECK_NUMBER(n, end == SP_STACKS_LEFT_OUT ? 0 : 4);
		whole += n != 0;
		samples += row->samples;
	}
	CHECK_NUMBER(samples, STACKS + 1);
	CHECK_NUMBER(whole, 10);
	CHECK_NUMBER(sp_calltree_new(stacks, NULL, &tree), 0);
	CHECK_NUMBER(sp_calltree_node(tree, 0)->samples, STACKS + 1);
	CHECK_TEXT(sp_calltree_name(tree, sp_calltree_node(tree, 0)->first_child), "[truncated]");
	sp_calltree_free(tree);
	sp_stacks_free(stacks);
	sp_symbols_free(symbols);
}

/* Stacks of more frames than are looked at are cut, as others that were cut are. */
static void test_long(const char *path)
{
	struct sp_symbols *symbols = new_symbols();
	struct sp_stacks *stacks = read_stacks(path, symbols, 0);

	CHECK_NUMBER(sp_stacks_ends(stacks, SP_STACK_TRUNCATED), 1);
	CHECK_NUMBER(sp_stacks_ends(stacks, SP_STACK_COMPLETE), STACKS);
	for (size_t i = 0; i < sp_stacks_n_rows(stacks); i++) {
		const uint32_t *places;
		unsigned end;
		uint32_t n =
			sp_stacks_callers(stacks, sp_stacks_row(stacks, i)->callers, &places, &end);

		CHECK_NUMBER(n, end == SP_STACK_TRUNCATED ? SP_STACKS_MAX_FRAMES - 1 : 4);
	}
	sp_stacks_free(stacks);
	sp_symbols_free(symbols);
}

/* Turning a tree around keeps its samples. */
static void test_turn(const char *path)
{
	struct sp_symbols *symbols = new_symbols();
	struct sp_stacks *stacks = read_stacks(path, symbols, 0);
	struct sp_calltree *tree = NULL, *turned = NULL;
	struct sp_calltree_options fold = {.fold = true};
	uint64_t own = 0;

	CHECK_NUMBER(sp_calltree_new(stacks, &fold, &tree), 0);
	CHECK_NUMBER(sp_calltree_turn(tree, &turned), 0);
	CHECK_NUMBER(sp_calltree_node(turned, 0)->samples, STACKS + 1);
	for (size_t i = 0; i < sp_calltree_n(turned); i++)
		own += sp_calltree_node(turned, (uint32_t)i)->self;
	CHECK_NUMBER(own, STACKS + 1);
	/* "[file]" all the way: one node under the root, one more under "[truncated]". */
	CHECK_NUMBER(sp_calltree_n(tree), 4);
	sp_calltree_free(turned);
	sp_calltree_free(tree);
	sp_stacks_free(stacks);
	sp_symbols_free(symbols);
}

static bool has_more(const struct sp_calltree *tree)
{
	for (uint32_t i = 0; i < sp_calltree_n(tree); i++)
		if (sp_calltree_node(tree, i)->kind == SP_CALLTREE_MORE)
			return true;
	return false;
}

/* Beyond the most nodes, no sample is lost and none counts twice. */
static void test_more(const char *path)
{
	struct sp_symbols *symbols = new_symbols();
	struct sp_stacks *stacks = read_stacks(path, symbols, 0);

	for (size_t most = 1; most < 8; most++) {
		struct sp_calltree_options few = {.most_nodes = most};
		struct sp_calltree *trees[2] = {0};

		CHECK_NUMBER(sp_calltree_new(stacks, &few, &trees[0]), 0);
		CHECK_NUMBER(sp_calltree_turn(trees[0], &trees[1]), 0);
		CHECK(has_more(trees[0]));
		for (int k = 0; k < 2; k++) {
			const struct sp_calltree_node *root = sp_calltree_node(trees[k], 0);
			uint64_t own = 0, children = 0;

			for (size_t i = 0; i < sp_calltree_n(trees[k]); i++)
				own += sp_calltree_node(trees[k], (uint32_t)i)->self;
			for (uint32_t i = root->first_child; i != SP_CALLTREE_NONE;
			     i = sp_calltree_node(trees[k], i)->next)
				children += sp_calltree_node(trees[k], i)->samples;
			CHECK(sp_calltree_n(trees[k]) <= 2 * most);
			CHECK_NUMBER(root->samples, STACKS + 1);
			CHECK_NUMBER(children, STACKS + 1);
			if (k == 0)
				CHECK_NUMBER(own, STACKS + 1);
			sp_calltree_free(trees[k]);
		}
	}
	sp_stacks_free(stacks);
	sp_symbols_free(symbols);
}

int main(int argc, char **argv)
{
	if (argc != 2 || make(argv[1]) < 0) {
		fprintf(stderr, "stacks_unit: cannot make the profile\n");
		return 1;
	}
	test_limit(argv[1]);
	test_more(argv[1]);
	test_long(argv[1]);
	test_turn(argv[1]);
	return check_result();
}
