/* SPDX-License-Identifier: BSD-2-Clause
 *
 * line_profile.c - see line_profile.h. Counting is that of analysis/lines.h, once for all addresses
 * and once for each rank.
 */
#include "userspace/export/line_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/lines.h"
#include "userspace/analysis/source.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define MAX_SOURCE_LINES 1000	   /* of a function's text that is stored along */
#define MAX_SOURCE_BYTES (1 << 20) /* of a rank's */

struct sp_line_profiles {
	struct sp_symbols *symbols;
	struct sp_own *own;
	struct sp_sources *sources;
	struct sp_lines *seen; /* each address once: looks them up */
	struct sp_lines *rank; /* NULL: nothing was counted yet */
	size_t n_seen;
	uint64_t left_out; /* addresses beyond the bound, as often as they came */
	double period_ns;
	bool any;
};

SP_DEFINE_CLEANUP(struct sp_line_profiles *, sp_line_profiles_free);

int sp_line_profiles_new(const struct sp_symbols_options *symbols, int64_t hz,
			 struct sp_line_profiles **ret_profiles)
{
	sp_cleanup(sp_line_profiles_freep) struct sp_line_profiles *profiles =
		calloc(1, sizeof(*profiles));
	int r = profiles ? sp_symbols_new(symbols, &profiles->symbols) : -ENOMEM;

	if (r == 0)
		r = sp_own_new(&profiles->own);
	if (r == 0)
		r = sp_sources_new(sp_symbols_reach(profiles->symbols), &profiles->sources);
	if (r == 0)
		r = sp_lines_new(profiles->symbols, &profiles->seen);
	if (r < 0)
		return r;
	sp_line_profiles_set_user(profiles, &(struct sp_user){0});
	profiles->period_ns = hz > 0 ? 1e9 / (double)hz : 0;
	*ret_profiles = sp_take(profiles);
	return 0;
}

void sp_line_profiles_set_user(struct sp_line_profiles *profiles, const struct sp_user *user)
{
	sp_sources_set_user(profiles->sources, user);
}

void sp_line_profiles_free(struct sp_line_profiles *profiles)
{
	if (!profiles)
		return;
	sp_lines_free(profiles->seen);
	sp_lines_free(profiles->rank);
	sp_sources_free(profiles->sources);
	sp_own_free(profiles->own);
	sp_symbols_free(profiles->symbols);
	free(profiles);
}

int sp_line_profiles_module(struct sp_line_profiles *profiles, const char *path,
			    const char *build_id, uint32_t *ret_module, bool *ret_fixed)
{
	int r = sp_symbols_add_module(profiles->symbols, path, build_id, ret_module);

	if (r == 0)
		*ret_fixed = sp_symbols_module(profiles->symbols, *ret_module)->fixed_address;
	return r;
}

int sp_line_profiles_see(struct sp_line_profiles *profiles, uint32_t module, uint64_t address)
{
	if (module == SP_LINE_PROFILE_NO_MODULE)
		return 0;
	if (sp_lines_n_addresses(profiles->seen) >= SP_LINE_PROFILE_ADDRESSES) {
		profiles->left_out++;
		return 0;
	}
	return sp_lines_add(profiles->seen, SP_LINES_NO_REGION, module, address, 1);
}

int sp_line_profiles_resolve(struct sp_line_profiles *profiles)
{
	int r = sp_symbols_resolve(profiles->symbols);

	for (size_t i = 0; r == 0 && i < sp_symbols_n_modules(profiles->symbols); i++)
		profiles->any |= sp_symbols_module(profiles->symbols, (uint32_t)i)->status ==
				 SP_SYMBOLS_LINES;
	/* Its counts are of no use any more. */
	sp_lines_free(profiles->seen);
	profiles->seen = NULL;
	return r;
}

bool sp_line_profiles_any(const struct sp_line_profiles *profiles)
{
	return profiles->any;
}

const char *sp_line_profiles_missing(const struct sp_line_profiles *profiles)
{
	if (sp_symbols_ran_out_of_time(profiles->symbols))
		return "finding the lines of samples took too long: the line profile lacks some "
		       "(sp-report lines finds them)";
	if (sp_symbols_waited_in_vain(profiles->symbols))
		return "files that were sampled do not answer: the line profile lacks their lines "
		       "(sp-report lines finds them, once they do)";
	if (profiles->left_out)
		return "samples are in too many places: the line profile lacks the lines of some "
		       "(sp-report lines has them)";
	return "";
}

int sp_line_profiles_count(struct sp_line_profiles *profiles, const char *region, uint32_t module,
			   uint64_t address)
{
	uint32_t number = SP_LINES_NO_REGION;
	int r = profiles->rank ? 0 : sp_lines_new(profiles->symbols, &profiles->rank);

	if (r == 0)
		sp_lines_look_up(profiles->rank, false);
	if (r == 0 && region)
		r = sp_lines_add_region(profiles->rank, region, &number);
	if (r == 0)
		r = sp_lines_add(profiles->rank, number,
				 module == SP_LINE_PROFILE_NO_MODULE ? SP_LINES_NO_MODULE : module,
				 address, 1);
	return r;
}

/* ---- records ---- */

/* What a rank's records share. */
struct emitter {
	struct sp_line_profiles *profiles;
	struct sp_line_profile record;
	int64_t *lines, *hits;
	double *times;
	size_t source_bytes;
	int (*emit)(void *context, const struct sp_line_profile *record, struct sp_error *error);
	void *context;
	struct sp_error *error;
};

/* Rows without a line last; then by function. */
static int compare_rows(const void *a, const void *b)
{
	const struct sp_lines_row *x = a, *y = b;
	int order = !x->line - !y->line;

	if (!order && x->line) {
		order = strcmp(x->file, y->file);
		if (!order)
			order = strcmp(x->function, y->function);
		if (!order)
			order = (x->line > y->line) - (x->line < y->line);
	}
	return order;
}

static bool same_record(const struct sp_lines_row *x, const struct sp_lines_row *y)
{
	return !x->line == !y->line &&
	       (!x->line || (!strcmp(x->file, y->file) && !strcmp(x->function, y->function)));
}

/* The text from the record's first line to its last, to free(); NULL if it is not known, or would
 * be long. */
static char *find_source(struct emitter *emitter, const struct sp_lines_row *row, int64_t first,
			 int64_t last)
{
	const char *const *lines;
	size_t n, size = 0;
	char *text = NULL;
	FILE *out;

	if (last - first >= MAX_SOURCE_LINES || row->file[0] != '/' ||
	    sp_sources_file(emitter->profiles->sources, row->file, row->built, &lines, &n) !=
		    SP_SOURCE_FOUND ||
	    (uint64_t)last > n)
		return NULL;
	for (int64_t i = first; i <= last; i++)
		emitter->source_bytes += strlen(lines[i - 1]) + 1;
	if (emitter->source_bytes > MAX_SOURCE_BYTES)
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	for (int64_t i = first; i <= last; i++)
		fprintf(out, "%s%s", i == first ? "" : "\n", lines[i - 1]);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* One function's rows, by line; lines that only differ in their module are one. */
static int emit_record(struct emitter *emitter, const struct sp_lines_row *rows, size_t n)
{
	struct sp_line_profile *record = &emitter->record;
	sp_cleanup(sp_freep) char *source = NULL;
	bool known = rows[0].line != 0;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (!kept || emitter->lines[kept - 1] != rows[i].line) {
			emitter->lines[kept] = rows[i].line;
			emitter->hits[kept++] = 0;
		}
		emitter->hits[kept - 1] += (int64_t)rows[i].samples;
	}
	for (size_t i = 0; i < kept; i++)
		emitter->times[i] = (double)emitter->hits[i] * emitter->profiles->period_ns;
	if (known)
		source =
			find_source(emitter, &rows[0], emitter->lines[0], emitter->lines[kept - 1]);
	record->filename = known ? rows[0].file : "??";
	record->function = known ? rows[0].function : "??";
	record->first_line = emitter->lines[0];
	record->source = source;
	record->source_first_line = emitter->lines[0];
	record->n = kept;
	return emitter->emit(emitter->context, record, emitter->error);
}

/* Rows whose functions have fewer samples than the record needs lose their lines. */
static void drop_cold(struct sp_lines_row *rows, size_t n, uint64_t least)
{
	for (size_t from = 0, to; from < n && rows[from].line; from = to) {
		uint64_t samples = 0;

		for (to = from; to < n && same_record(&rows[from], &rows[to]); to++)
			samples += rows[to].samples;
		for (size_t i = from; samples < least && i < to; i++)
			rows[i].line = 0;
	}
}

static int compare_counts(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

static struct sp_lines_row *copy_rows(const struct sp_lines_region *region)
{
	struct sp_lines_row *rows = calloc(region->n_rows + 1, sizeof(*rows));

	if (rows)
		memcpy(rows, region->rows, region->n_rows * sizeof(*rows));
	return rows;
}

/* How many samples a function must have for a record of its own. */
static int find_least(const struct sp_lines *lines, uint64_t *ret_least)
{
	sp_cleanup(sp_freep) uint64_t *counts = NULL;
	size_t n = 0, room = 0;

	for (size_t i = 0; i < sp_lines_n_regions(lines); i++) {
		const struct sp_lines_region *region = sp_lines_region(lines, i);
		sp_cleanup(sp_freep) struct sp_lines_row *rows = copy_rows(region);

		if (!rows)
			return -ENOMEM;
		qsort(rows, region->n_rows, sizeof(*rows), compare_rows);
		for (size_t k = 0; k < region->n_rows && rows[k].line; k++) {
			if (!k || !same_record(&rows[k - 1], &rows[k])) {
				uint64_t *count = sp_array_add(&counts, &n, &room);

				if (!count)
					return -ENOMEM;
			}
			counts[n - 1] += rows[k].samples;
		}
	}
	*ret_least = 0;
	if (n <= SP_LINE_PROFILE_RECORDS)
		return 0;
	qsort(counts, n, sizeof(*counts), compare_counts);
	/* Of equal ones none, rather than too many. */
	*ret_least = counts[SP_LINE_PROFILE_RECORDS] + 1;
	return 0;
}

static int emit_region(struct emitter *emitter, const struct sp_lines_region *region,
		       uint64_t least)
{
	sp_cleanup(sp_freep) struct sp_lines_row *rows = copy_rows(region);
	sp_cleanup(sp_freep) int64_t *lines = calloc(region->n_rows, sizeof(*lines));
	sp_cleanup(sp_freep) int64_t *hits = calloc(region->n_rows, sizeof(*hits));
	sp_cleanup(sp_freep) double *times = calloc(region->n_rows, sizeof(*times));
	int r = 0;

	if (!rows || !lines || !hits || !times)
		return sp_error_set(emitter->error, -ENOMEM, 0, "out of memory");
	qsort(rows, region->n_rows, sizeof(*rows), compare_rows);
	drop_cold(rows, region->n_rows, least);
	qsort(rows, region->n_rows, sizeof(*rows), compare_rows);
	emitter->record.region = region->name ? region->name : SP_LINE_PROFILE_NO_REGION;
	emitter->record.lines = emitter->lines = lines;
	emitter->record.hits = emitter->hits = hits;
	emitter->record.times = emitter->times = times;
	for (size_t from = 0, to; r == 0 && from < region->n_rows; from = to) {
		for (to = from + 1; to < region->n_rows && same_record(&rows[from], &rows[to]);
		     to++)
			;
		r = emit_record(emitter, rows + from, to - from);
	}
	return r;
}

int sp_line_profiles_emit(struct sp_line_profiles *profiles, uint32_t rank,
			  int (*emit)(void *context, const struct sp_line_profile *record,
				      struct sp_error *error),
			  void *context, struct sp_error *error)
{
	struct emitter emitter = {
		.profiles = profiles,
		.record = {.rank = rank, .unit = 1e-9},
		.emit = emit,
		.context = context,
		.error = error,
	};
	uint64_t least = 0;
	int r = 0;

	if (!profiles->rank)
		return 0;
	if (profiles->any)
		r = sp_lines_count(profiles->rank, SP_LINES_OWN, profiles->own);
	if (r == 0 && profiles->any)
		r = find_least(profiles->rank, &least);
	if (r < 0)
		return sp_error_set(error, r, 0, "out of memory");
	for (size_t i = 0; r == 0 && profiles->any && i < sp_lines_n_regions(profiles->rank); i++)
		r = emit_region(&emitter, sp_lines_region(profiles->rank, i), least);
	sp_lines_free(profiles->rank);
	profiles->rank = NULL;
	return r;
}
