/* SPDX-License-Identifier: BSD-2-Clause
 *
 * finalize_lines.c - the line profile of a recording: which addresses there are, while its samples
 * are sorted; then their lines, once for all units; then the counts, unit by unit.
 *
 * A line profile is worth much, but not a conversion: where it cannot be made the files are without
 * it, and the result says so.
 */
#include <errno.h>
#include <stdlib.h>

#include "userspace/base/cleanup.h"
#include "userspace/export/finalize_internal.h"
#include "userspace/export/line_profile.h"

#define LIMIT_S 10 /* for reading debug information */

struct sp_finalizer_lines {
	struct sp_line_profiles *profiles;
	/* By map, SP_NONE: not looked at. */
	uint32_t *modules;
	uint64_t *biases;
	const struct sp_finalizer *fin;
};

static void show_progress(void *context, size_t done, size_t total)
{
	const struct sp_finalizer *fin = ((struct sp_finalizer_lines *)context)->fin;

	if (fin->options->progress && total)
		fin->options->progress("finding lines", (double)done / (double)total);
}

/* True if a sink of this conversion has line profiles. */
static bool is_wanted(const struct sp_finalizer *fin)
{
	bool wanted = false;

	for (size_t i = 0; i < fin->n_sinks; i++)
		wanted |= fin->sinks[i]->add_line_profile != NULL;
	return wanted && !fin->options->no_line_profile && fin->recording->samples > 0;
}

int sp_finalizer_open_lines(struct sp_finalizer *fin)
{
	struct sp_finalizer_lines *lines;
	struct sp_symbols_options options = {
		.progress = show_progress, .limit_s = LIMIT_S, .reach = fin->reach};
	size_t n = fin->recording->n_maps;
	int r;

	if (!is_wanted(fin))
		return 0;
	lines = fin->lines = calloc(1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	lines->fin = fin;
	lines->modules = malloc((n + 1) * sizeof(*lines->modules));
	lines->biases = calloc(n + 1, sizeof(*lines->biases));
	if (!lines->modules || !lines->biases)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		lines->modules[i] = SP_NONE;
	options.context = lines;
	r = sp_line_profiles_new(&options, fin->result->facts.hz, &lines->profiles);
	if (r == 0)
		sp_line_profiles_set_user(lines->profiles, &fin->user);
	return r;
}

void sp_finalizer_free_lines(struct sp_finalizer *fin)
{
	if (!fin->lines)
		return;
	sp_line_profiles_free(fin->lines->profiles);
	free(fin->lines->modules);
	free(fin->lines->biases);
	free(fin->lines);
}

/* The module and link-time address of an address that was sampled. */
static int find_place(struct sp_finalizer *fin, uint32_t process, uint64_t ip, uint64_t time,
		      uint32_t *ret_module, uint64_t *ret_address)
{
	const struct sp_recording *rec = fin->recording;
	struct sp_finalizer_lines *lines = fin->lines;
	uint32_t map = ip ? sp_recording_find_map(rec, process, ip, time) : SP_NONE;

	*ret_module = SP_LINE_PROFILE_NO_MODULE;
	*ret_address = 0;
	if (map == SP_NONE || rec->maps[map].no_answer)
		return 0;
	if (lines->modules[map] == SP_NONE) {
		const struct sp_map *from = &rec->maps[map];
		bool fixed = false;
		int r = sp_line_profiles_module(lines->profiles, from->path,
						sp_finalizer_build_id(fin, from),
						&lines->modules[map], &fixed);

		if (r < 0)
			return r;
		lines->biases[map] = fixed ? 0 : from->bias;
	}
	*ret_module = lines->modules[map];
	*ret_address = ip - lines->biases[map];
	return 0;
}

int sp_finalizer_see_line(struct sp_finalizer *fin, uint32_t process, uint64_t ip, uint64_t time)
{
	uint32_t module;
	uint64_t address;
	int r;

	if (!fin->lines)
		return 0;
	r = find_place(fin, process, ip, time, &module, &address);
	return r < 0 ? r : sp_line_profiles_see(fin->lines->profiles, module, address);
}

int sp_finalizer_find_lines(struct sp_finalizer *fin)
{
	int r = fin->lines ? sp_line_profiles_resolve(fin->lines->profiles) : 0;

	if (r == -ENOMEM || !fin->lines)
		return r;
	if (r < 0)
		fin->result->no_lines = "debug information could not be read: the files have no "
					"line profile";
	else
		fin->result->no_lines = sp_line_profiles_missing(fin->lines->profiles);
	if (r < 0 || !sp_line_profiles_any(fin->lines->profiles)) {
		sp_finalizer_free_lines(fin);
		fin->lines = NULL;
	}
	return 0;
}

int sp_finalizer_count_line(struct sp_finalizer *fin, const char *region, uint32_t process,
			    uint64_t ip, uint64_t time)
{
	uint32_t module;
	uint64_t address;
	int r;

	if (!fin->lines)
		return 0;
	r = find_place(fin, process, ip, time, &module, &address);
	return r < 0 ? r : sp_line_profiles_count(fin->lines->profiles, region, module, address);
}

static int emit(void *context, const struct sp_line_profile *record, struct sp_error *error)
{
	struct sp_unit_writer *w = context;
	int r = 0;

	SP_FOR_SINKS(w, r, add_line_profile, record, error);
	return r;
}

int sp_unit_write_lines(struct sp_unit_writer *w, struct sp_error *error)
{
	return w->fin->lines ? sp_line_profiles_emit(w->fin->lines->profiles, w->unit.unit->rank,
						     emit, w, error)
			     : 0;
}
