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
#include <pthread.h>
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

/* ---- reading and printing: own, since they would take longer than looking up ---- */

#define PART 2048		/* addresses that are printed by one thread at a time */
#define USUAL_BYTES (1u << 20)	/* that they make */
#define LEAST_BYTES (66u << 10) /* more than the longest text has */

struct out {
	char *bytes;
	size_t used, room;
	bool failed;
};

/* Room for so many more bytes. */
static bool has_room(struct out *out, size_t size)
{
	size_t room = 2 * out->room + size;
	char *grown;

	if (size <= out->room - out->used)
		return true;
	grown = realloc(out->bytes, room);
	if (!grown) {
		out->failed = true;
		return false;
	}
	out->bytes = grown;
	out->room = room;
	return true;
}

/* A few bytes. */
static void put(struct out *out, const char *text, size_t size)
{
	if (!has_room(out, size))
		return;
	memcpy(out->bytes + out->used, text, size);
	out->used += size;
}

static void put_text(struct out *out, const char *text)
{
	if (has_room(out, LEAST_BYTES))
		out->used = (size_t)(stpcpy(out->bytes + out->used, text) - out->bytes);
}

static void put_address(struct out *out, uint64_t address)
{
	char text[19] = "0x";

	for (int i = 0; i < 16; i++)
		text[2 + i] = "0123456789abcdef"[address >> (60 - 4 * i) & 0xf];
	text[18] = '\n';
	put(out, text, sizeof(text));
}

/* ":LINE" and a new line. */
static void put_line(struct out *out, uint32_t line)
{
	char text[12];
	size_t at = sizeof(text);

	text[--at] = '\n';
	do
		text[--at] = (char)('0' + line % 10);
	while (line /= 10);
	text[--at] = ':';
	put(out, text + at, sizeof(text) - at);
}

static void print_one(struct out *out, uint64_t address, const struct sp_symbol *symbol,
		      bool functions)
{
	struct sp_frame frame = sp_symbol_innermost(symbol);

	if (functions)
		put_address(out, address);
	do {
		if (functions) {
			put_text(out, frame.raw);
			put(out, "\n", 1);
		}
		put_text(out, frame.file);
		put_line(out, frame.line);
	} while (sp_frame_leave(&frame));
}

/* What one of the two threads prints of the list. */
struct print_part {
	const struct sp_symbols *symbols;
	uint32_t module;
	bool functions;
	const uint64_t *addresses;
	size_t n;
	struct out out;
};

static void *print_part(void *arg)
{
	struct print_part *part = arg;
	const struct sp_symbol *found[64];

	part->out.used = 0;
	for (size_t i = 0; i < part->n; i += sp_array_size(found)) {
		size_t n = part->n - i;

		if (n > sp_array_size(found))
			n = sp_array_size(found);
		sp_symbols_find_all(part->symbols, part->module, part->addresses + i, n, found);
		for (size_t k = 0; k < n; k++)
			print_one(&part->out, part->addresses[i + k], found[k], part->functions);
	}
	return NULL;
}

/* Two parts of the list at a time, each by a thread. */
static int print(const struct sp_symbols *symbols, uint32_t module, const uint64_t *addresses,
		 size_t n, bool functions)
{
	struct print_part parts[2] = {
		{.symbols = symbols, .module = module, .functions = functions},
		{.symbols = symbols, .module = module, .functions = functions},
	};
	int r = 0;

	for (int i = 0; i < 2; i++) /* by this thread, so that the other needs no heap */
		has_room(&parts[i].out, USUAL_BYTES);
	for (size_t at = 0; at < n && r == 0;) {
		pthread_t other;
		bool both;

		for (int i = 0; i < 2; i++) {
			parts[i].addresses = addresses + at;
			parts[i].n = n - at < PART ? n - at : PART;
			at += parts[i].n;
		}
		both = parts[1].n && pthread_create(&other, NULL, print_part, &parts[1]) == 0;
		print_part(&parts[0]);
		if (both)
			pthread_join(other, NULL);
		else
			print_part(&parts[1]);
		for (int i = 0; i < 2; i++) {
			if (parts[i].out.used)
				fwrite(parts[i].out.bytes, 1, parts[i].out.used, stdout);
			if (parts[i].out.failed)
				r = -ENOMEM;
		}
	}
	free(parts[0].out.bytes);
	free(parts[1].out.bytes);
	return r;
}

/* Digits by their characters; 16 for all others. */
static void list_digits(uint8_t digits[256])
{
	memset(digits, 16, 256);
	for (unsigned int i = 0; i < 10; i++)
		digits['0' + i] = (uint8_t)i;
	for (unsigned int i = 0; i < 6; i++)
		digits['a' + i] = digits['A' + i] = (uint8_t)(10 + i);
}

/* The address on a line, which ends with a new line. Behind that. */
static const unsigned char *hexadecimal(const unsigned char *text, const uint8_t digits[256],
					uint64_t *ret_value)
{
	uint64_t value = 0;

	for (; *text == ' ' || *text == '\t'; text++)
		;
	if (text[0] == '0' && (text[1] | 0x20) == 'x')
		text += 2;
	for (; digits[*text] < 16; text++)
		value = value << 4 | digits[*text];
	while (*text++ != '\n')
		;
	*ret_value = value;
	return text;
}

/* All of standard input, by line. */
static int read_addresses(struct sp_symbols *symbols, uint32_t module, uint64_t **ret_addresses,
			  size_t *ret_n)
{
	static unsigned char text[(64 << 10) + 1];
	const size_t room = sizeof(text) - 1; /* and a new line for the last line */
	size_t used = 0, got, addresses_room = 0;
	uint8_t digits[256];
	int r = 0;

	list_digits(digits);
	do {
		const unsigned char *at = text, *end;

		got = fread(text + used, 1, room - used, stdin);
		used += got;
		if (!got && used)
			text[used++] = '\n';
		end = memrchr(text, '\n', used);
		if (!end)
			continue;
		while (at <= end && r == 0) {
			uint64_t *added = sp_array_add(ret_addresses, ret_n, &addresses_room);

			if (!added)
				return -ENOMEM;
			at = hexadecimal(at, digits, added);
			r = sp_symbols_add(symbols, module, *added);
		}
		used = (size_t)(text + used - at);
		memmove(text, at, used);
	} while (got && r == 0);
	return r;
}

static int look_up(const struct sp_symbols_options *how, const char *path, const char *build_id,
		   const char *copy, enum print print_what)
{
	static const char *const statuses[] = {"pending", "lines",   "names",
					       "changed", "missing", "damaged"};
	sp_cleanup(sp_symbols_freep) struct sp_symbols *symbols = NULL;
	sp_cleanup(sp_freep) uint64_t *addresses = NULL;
	const struct sp_symbols_module *known;
	size_t n = 0;
	double start = now();
	uint32_t module;
	int r = sp_symbols_new(how, &symbols);

	if (r == 0)
		r = sp_symbols_add_module(symbols, path, build_id, &module);
	if (r == 0 && copy)
		r = sp_symbols_add_copy(symbols, module, copy);
	if (r == 0)
		r = read_addresses(symbols, module, &addresses, &n);
	if (r == 0)
		r = sp_symbols_resolve(symbols);
	if (r < 0)
		return r;
	if (print_what != PRINT_NOTHING)
		r = print(symbols, module, addresses, n, print_what == PRINT_FUNCTIONS);
	if (r < 0)
		return r;
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
