/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbols.c - what sp-report's symbols make of a list of addresses, in the words of addr2line.
 *
 *	symbols [OPTION]... FILE < ADDRESSES
 *
 * Reads hexadecimal addresses, one a line, from standard input. Prints as `addr2line -afi` does,
 * with linker names, so that the two can be compared line by line; nothing with --quiet. On
 * standard error stands what became of the file. The tests use this program, too.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/analysis/symbols.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/cmd/symbol_options.h"

SP_DEFINE_CLEANUP(struct sp_symbols *, sp_symbols_free);

enum print { PRINT_NOTHING, PRINT_PLACES, PRINT_FUNCTIONS };

enum key { KEY_QUIET = 256, KEY_BUILD_ID, KEY_JOBS, KEY_READABLE, KEY_COPY, KEY_PLACES };

static const struct sp_option options[] = {
	{"quiet", KEY_QUIET, NULL, "look up, but print nothing"},
	{"build-id", KEY_BUILD_ID, "HEX", "the build-id that FILE must have"},
	{"jobs", KEY_JOBS, "N", "processes at a time (0: one for each CPU)"},
	{"readable", KEY_READABLE, NULL, "make readable names, too (they are not printed)"},
	{"places", KEY_PLACES, NULL, "print files and lines alone, as addr2line -i does"},
	{"copy", KEY_COPY, "FILE", "another file that may be it"},
	SP_SYMBOL_OPTIONS,
	{0},
};

static const struct sp_cli cli = {
	.program = "symbols",
	.usage = "[OPTION]… FILE < ADDRESSES",
	.about = "Look up addresses as sp-report does, and print them as addr2line -afi does.",
	.options = options,
};

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void print(const struct sp_symbols *symbols, uint32_t module, const uint64_t *addresses,
		  size_t n, bool functions)
{
	for (size_t i = 0; i < n; i++) {
		const struct sp_symbol *symbol = sp_symbols_find(symbols, module, addresses[i]);

		if (functions)
			printf("0x%016" PRIx64 "\n", addresses[i]);
		for (uint32_t k = 0; k < symbol->n_frames; k++) {
			if (functions)
				puts(symbol->frames[k].raw);
			printf("%s:%" PRIu32 "\n", symbol->frames[k].file, symbol->frames[k].line);
		}
	}
}

static int look_up(const struct sp_symbols_options *how, const char *path, const char *build_id,
		   const char *copy, enum print print_what)
{
	static const char *const statuses[] = {"pending", "lines",   "names",
					       "changed", "missing", "damaged"};
	sp_cleanup(sp_symbols_freep) struct sp_symbols *symbols = NULL;
	sp_cleanup(sp_freep) uint64_t *addresses = NULL;
	const struct sp_symbols_module *known;
	size_t n = 0, room = 0;
	double start = now();
	uint64_t address, *added;
	char line[64];
	uint32_t module;
	int r = sp_symbols_new(how, &symbols);

	if (r == 0)
		r = sp_symbols_add_module(symbols, path, build_id, &module);
	if (r == 0 && copy)
		r = sp_symbols_add_copy(symbols, module, copy);
	while (r == 0 && fgets(line, sizeof(line), stdin)) {
		address = strtoull(line, NULL, 16);
		added = sp_array_add(&addresses, &n, &room);
		if (!added)
			return -ENOMEM;
		*added = address;
		r = sp_symbols_add(symbols, module, address);
	}
	if (r == 0)
		r = sp_symbols_resolve(symbols);
	if (r < 0)
		return r;
	if (print_what != PRINT_NOTHING)
		print(symbols, module, addresses, n, print_what == PRINT_FUNCTIONS);
	known = sp_symbols_module(symbols, module);
	fprintf(stderr, "%s: %s%s%s%s%s, %zu addresses in %.3f s\n", path, statuses[known->status],
		*known->debug_file ? " from " : "", known->debug_file, *known->reason ? ": " : "",
		known->reason, n, now() - start);
	return 0;
}

int main(int argc, char **argv)
{
	struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv);
	struct sp_symbols_options how = {.raw_names = true};
	const char *arg, *build_id = NULL;
	const char *copy = NULL;
	sp_cleanup(sp_symbol_choice_done) struct sp_symbol_choice choice = {0};
	enum print print_what = PRINT_FUNCTIONS;
	int key, r;

	while ((key = sp_cli_next(&parser, &arg)) > 0) {
		r = sp_symbol_choice_has(key) ? sp_symbol_choice_take(&choice, &cli, key, arg) : 0;
		if (r)
			return r;
		if (key == KEY_COPY)
			copy = arg;
		else if (key == KEY_QUIET)
			print_what = PRINT_NOTHING;
		else if (key == KEY_PLACES)
			print_what = PRINT_PLACES;
		else if (key == KEY_BUILD_ID)
			build_id = arg;
		else if (key == KEY_READABLE)
			how.raw_names = false;
		else if (key == KEY_JOBS)
			how.jobs = (unsigned int)strtoul(arg, NULL, 10);
	}
	if (key < 0)
		return sp_cli_status(key);
	if (parser.next + 1 != argc)
		return sp_cli_usage_error(&cli, "name one ELF file");
	sp_symbol_choice_apply(&choice, &how);
	r = look_up(&how, argv[parser.next], build_id, copy, print_what);
	if (r < 0) {
		sp_log_error("%s: %s", argv[parser.next], strerrordesc_np(-r));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
