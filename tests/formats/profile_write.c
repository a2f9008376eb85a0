// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_write.c - writes what a script says with the library's HDF5 writer.
 *
 *	profile_write SCRIPT FILE.h5
 *
 * A script is words: a command, then its arguments in the order of the struct that the writer
 * takes (profile_tables.def for tables). Texts have every byte that is no letter or digit as %XX
 * and start with "="; "~" is NULL. Reals are C's hexadecimal ones. differential.py makes scripts
 * from its models.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_write.h"

static struct sp_error error;
static FILE *script;
static struct sp_h5_writer *writer;
static struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC};

static void fail(const char *what)
{
	fprintf(stderr, "profile_write: %s: %s\n", what, error.text);
	exit(1);
}

static void must(int r, const char *what)
{
	if (r)
		fail(what);
}

static void *some(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p)
		fail("out of memory");
	return p;
}

/* The next word, NULL at the end. Valid until the next call. */
static const char *word(void)
{
	static char *buffer;
	static size_t capacity;
	size_t n = 0;
	int c;

	while ((c = getc_unlocked(script)) == ' ' || c == '\n')
		;
	for (; c != EOF && c != ' ' && c != '\n'; c = getc_unlocked(script)) {
		if (n + 1 >= capacity)
			buffer = realloc(buffer, capacity = 2 * capacity + 256);
		if (!buffer)
			fail("out of memory");
		buffer[n++] = (char)c;
	}
	if (!n)
		return NULL;
	buffer[n] = '\0';
	return buffer;
}

static const char *must_word(void)
{
	const char *next = word();

	if (!next)
		fail("the script ends early");
	return next;
}

static int64_t number(void)
{
	return strtoll(must_word(), NULL, 10);
}

static uint64_t natural(void)
{
	return strtoull(must_word(), NULL, 10);
}

static double real(void)
{
	return strtod(must_word(), NULL);
}

static char *text(void)
{
	const char *in = must_word();
	char *out, *at;

	if (*in == '~')
		return NULL;
	at = out = some(strlen(in), 1);
	for (in++; *in; in++) {
		if (*in == '%') {
			char digits[3] = {in[1], in[2], '\0'};

			*at++ = (char)strtoul(digits, NULL, 16);
			in += 2;
		} else {
			*at++ = *in;
		}
	}
	return out;
}

static char **texts(size_t n)
{
	char **all = some(n, sizeof(*all));

	for (size_t i = 0; i < n; i++)
		all[i] = text();
	return all;
}

static void free_texts(char **all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(all[i]);
	free(all);
}

static int64_t *numbers(size_t n)
{
	int64_t *all = some(n, sizeof(*all));

	for (size_t i = 0; i < n; i++)
		all[i] = number();
	return all;
}

static double *reals(size_t n)
{
	double *all = some(n, sizeof(*all));

	for (size_t i = 0; i < n; i++)
		all[i] = real();
	return all;
}

#define READ_u8 (uint8_t) natural()
#define READ_u16 (uint16_t) natural()
#define READ_u32 (uint32_t) natural()
#define READ_u64 natural()
#define READ_s8 (int8_t) number()
#define READ_s64 number()
#define READ_reltime number()
#define READ_relend number()
#define READ_str (strings[n_strings++] = text())

/* read_thread_row and so on; the strings are freed by the caller. */
#define SP_TABLE(name, doc) \
	static size_t read_##name##_row(struct sp_##name##_row *row, char **strings) \
	{ \
		size_t n_strings = 0; \
		(void)strings;
#define SP_COL(table, type, field, path, need, default, doc) row->field = READ_##type;
#define SP_TABLE_END(name) \
	return n_strings; \
	}
#include "formats/profile_tables.def"
#undef SP_TABLE
#undef SP_COL
#undef SP_TABLE_END

#define TABLE(singular, plural) \
	if (strcmp(command, #singular) == 0) { \
		struct sp_##singular##_row row = {0}; \
		char *strings[8]; \
		size_t n = read_##singular##_row(&row, strings); \
\
		must(sp_h5_writer_add_##plural(writer, &row, 1, &error), command); \
		while (n) \
			free(strings[--n]); \
		return true; \
	}

static bool add_table_row(const char *command)
{
	TABLE(thread, threads)
	TABLE(task, tasks)
	TABLE(site, sites)
	TABLE(module, modules)
	TABLE(process, processes)
	TABLE(loss, losses)
	TABLE(cut, cuts)
	TABLE(clock, clocks)
	TABLE(rank_fact, rank_facts)
	TABLE(kernel_symbol, kernel_symbols)
	if (strcmp(command, "sample") == 0) {
		struct sp_sample_row row = {0};
		char *none[1];
		uint64_t *frames, n;

		read_sample_row(&row, none);
		n = natural();
		frames = (uint64_t *)some(n, sizeof(*frames));
		for (uint64_t i = 0; i < n; i++)
			frames[i] = natural();
		must(sp_h5_writer_add_sample(writer, &row, frames, n, &error), command);
		free(frames);
		return true;
	}
	return false;
}

/* row REGION RANK FILE LINE TEXT TAGS SELF EVENT_METADATA CALLS BLOCK, then the calls, which are
 * added BLOCK at a time; or, in the aggregate layout, the statistics. */
static void add_row(void)
{
	struct sp_h5_row row = {.region = (uint32_t)natural(), .rank = (uint32_t)natural()};
	char *file = text(), *source, *tags, *metadata;
	struct sp_stats stats = {0};
	struct sp_calls calls;
	uint64_t n, block;

	row.source_file = file;
	row.source_line = number();
	row.source_text = source = text();
	row.tags = tags = text();
	row.self_ns = number();
	row.event_metadata = metadata = text();
	n = natural();
	block = natural();
	if (options.aggregate) {
		stats.calls = n;
		stats.total = number();
		stats.self = number();
		stats.minimum = number();
		stats.maximum = number();
		stats.first = stats.last = stats.start_minimum = stats.end_maximum = -1;
		stats.mean = n ? (double)stats.total / (double)n : 0;
		stats.m2 = -1;
		row.stats = &stats;
		n = 0;
	}
	must(sp_h5_writer_begin_row(writer, &row, &error), "row");
	if (sp_calls_alloc(&calls, block, options.columns))
		fail("out of memory");
	for (uint64_t at = 0; at < n; at += block) {
		size_t part = n - at < block ? n - at : block;

		for (size_t i = 0; i < part; i++) {
			calls.start[i] = number();
			calls.end[i] = number();
#define SP_CALL_COLUMN(type, field, path, default, doc) \
	if (options.columns & SP_CALLS_##field) \
		calls.field[i] = READ_##type;
#include "formats/profile_tables.def"
#undef SP_CALL_COLUMN
		}
		must(sp_h5_writer_add_calls(writer, &calls, part, &error), "calls");
	}
	sp_calls_free(&calls);
	free(file);
	free(source);
	free(tags);
	free(metadata);
}

static void add_perf_events(void)
{
	struct sp_perf_events one = {.rank = (uint32_t)natural()};
	char *region = text(), **names;
	uint64_t *values;

	one.region = region;
	one.calls = number();
	one.n = natural();
	one.names = (const char *const *)(names = texts(one.n));
	one.values = values = some(one.n, sizeof(*values));
	for (size_t i = 0; i < one.n; i++)
		values[i] = natural();
	must(sp_h5_writer_add_perf_events(writer, &one, &error), "perf events");
	free_texts(names, one.n);
	free(values);
	free(region);
}

static void add_line_profile(void)
{
	struct sp_line_profile one = {.rank = (uint32_t)natural()};
	char *region = text(), *filename = text(), *function = text(), *source;
	int64_t *lines, *hits;
	double *times;

	one.region = region;
	one.filename = filename;
	one.function = function;
	one.first_line = number();
	one.unit = real();
	one.source = source = text();
	one.source_first_line = number();
	one.n = natural();
	one.lines = lines = numbers(one.n);
	one.hits = hits = numbers(one.n);
	one.times = times = reals(one.n);
	must(sp_h5_writer_add_line_profile(writer, &one, &error), "line profile");
	free(region);
	free(filename);
	free(function);
	free(source);
	free(lines);
	free(hits);
	free(times);
}

static void add_likwid(void)
{
	struct sp_likwid one = {.rank = (uint32_t)natural()};
	char *tag = text(), *group, *source, **events, **counters, **metrics;

	one.tag = tag;
	one.group_id = number();
	one.group_name = group = text();
	one.source = source = text();
	one.n_threads = natural();
	one.n_events = natural();
	one.n_counters = natural();
	one.n_metrics = natural();
	one.cpus = numbers(one.n_threads);
	one.times = reals(one.n_threads);
	one.call_counts = numbers(one.n_threads);
	one.event_names = (const char *const *)(events = texts(one.n_events));
	one.counter_names = (const char *const *)(counters = texts(one.n_counters));
	one.events = reals(one.n_events * one.n_threads);
	one.metric_names = (const char *const *)(metrics = texts(one.n_metrics));
	one.metrics = reals(one.n_metrics * one.n_threads);
	must(sp_h5_writer_add_likwid(writer, &one, &error), "likwid");
	free(tag);
	free(group);
	free(source);
	free_texts(events, one.n_events);
	free_texts(counters, one.n_counters);
	free_texts(metrics, one.n_metrics);
	free((void *)one.cpus);
	free((void *)one.times);
	free((void *)one.call_counts);
	free((void *)one.events);
	free((void *)one.metrics);
}

/* KEY KIND VALUE…: a number, a real, a text, or a count and texts. */
static struct sp_fact read_fact(void)
{
	struct sp_fact fact = {.key = text(), .kind = (enum sp_fact_kind)natural(), .text = ""};

	fact.is_number = fact.kind == SP_FACT_NUMBER;
	if (fact.kind == SP_FACT_NUMBER || fact.kind == SP_FACT_BOOL)
		fact.number = number();
	else if (fact.kind == SP_FACT_REAL)
		fact.real = real();
	else if (fact.kind == SP_FACT_TEXT)
		fact.text = text();
	else
		fact.items = (const char *const *)texts(fact.n_items = natural());
	return fact;
}

static void free_fact(struct sp_fact *fact)
{
	free((char *)fact->key);
	if (fact->kind == SP_FACT_TEXT)
		free((char *)fact->text);
	free_texts((char **)fact->items, fact->n_items);
}

static void add_fact(bool ours)
{
	struct sp_fact fact = read_fact();

	must(ours ? sp_h5_writer_set_meta_fact(writer, &fact, &error)
		  : sp_h5_writer_set_metadata_fact(writer, &fact, &error),
	     "fact");
	free_fact(&fact);
}

static void add_environment(void)
{
	struct sp_likwid_environment one = {.rank = (uint32_t)natural(), .n = natural()};
	struct sp_fact *facts = some(one.n, sizeof(*facts));

	for (size_t i = 0; i < one.n; i++)
		facts[i] = read_fact();
	one.facts = facts;
	must(sp_h5_writer_add_likwid_environment(writer, &one, &error), "likwid environment");
	for (size_t i = 0; i < one.n; i++)
		free_fact(&facts[i]);
	free(facts);
}

static void open_writer(const char *path)
{
	options.columns = (unsigned int)natural();
	options.gzip = (unsigned int)natural();
	options.threads = (unsigned int)natural();
	options.schema = (int)number();
	options.aggregate = natural();
	options.event_metadata = natural();
	options.start_time_ns = number();
	must(sp_h5_writer_open(path, &options, &writer, &error), "open");
}

int main(int argc, char **argv)
{
	const char *next;

	if (argc != 3 || !(script = fopen(argv[1], "r"))) {
		fprintf(stderr, "usage: %s SCRIPT FILE.h5\n", argv[0]);
		return 2;
	}
	open_writer(argv[2]);
	while ((next = word())) {
		char command[32];

		snprintf(command, sizeof(command), "%s", next);
		if (strcmp(command, "region") == 0) {
			char *name = text();
			uint32_t id;

			must(sp_h5_writer_add_region(writer, name, &id, &error), "region");
			free(name);
		} else if (strcmp(command, "row") == 0) {
			add_row();
		} else if (strcmp(command, "perf_events") == 0) {
			add_perf_events();
		} else if (strcmp(command, "line_profile") == 0) {
			add_line_profile();
		} else if (strcmp(command, "likwid") == 0) {
			add_likwid();
		} else if (strcmp(command, "likwid_environment") == 0) {
			add_environment();
		} else if (strcmp(command, "metadata") == 0) {
			add_fact(false);
		} else if (strcmp(command, "meta") == 0) {
			add_fact(true);
		} else if (!add_table_row(command)) {
			fprintf(stderr, "profile_write: what is '%s'?\n", command);
			return 2;
		}
	}
	must(sp_h5_writer_commit(writer, &error), "commit");
	sp_h5_writer_free(writer);
	fclose(script);
	return 0;
}
