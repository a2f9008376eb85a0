// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_read_extras.c - what ranks have besides calls: perf events and line profiles; LIKWID has its
 * own file.
 *
 * Invariant: every list of a struct has the length that the struct says; the number of structs and
 * the bytes of all of them are bounded, whatever the file's links repeat.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_read_extras.h"
#include "formats/utf8.h"
#include "formats/util.h"

enum {
	MAX_DEPTH = 32,	      /* of groups that stand for a name with slashes */
	MAX_VISITS = 1 << 20, /* groups */
};
#define MAX_BYTES ((uint64_t)1 << 30)

/* The same place may be linked many times: counts what is kept, and where we have been. */
int sp_h5_extras_count(struct sp_h5_extras *reader, uint64_t elements, const char *path,
		       struct sp_error *error)
{
	reader->bytes += elements * 8;
	if (reader->visits++ < MAX_VISITS && reader->bytes <= MAX_BYTES)
		return 0;
	return sp_error_set(error, -SP_E_COUNT, 0, "%s is one group too many: more than %u", path,
			    MAX_VISITS);
}

int sp_h5_extras_no_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "no memory");
}

/* Names the object in what is said of one of its attributes. */
int sp_h5_extras_name(struct sp_error *error, int r, const char *path)
{
	struct sp_error reason;

	if (!r || !error)
		return r;
	reason = *error;
	return sp_error_set(error, r, 0, "%.100s: %s", path, reason.text);
}

int sp_h5_extras_open(hid_t file, const char *path, hid_t *ret_group, struct sp_error *error)
{
	int r = sp_h5_is_group(file, path, error);

	if (r < 0)
		return r;
	*ret_group = r ? H5Oopen(file, path, H5P_DEFAULT) : -1;
	return *ret_group < 0 ? sp_h5_read_failed(error, path) : 0;
}

/* A text attribute, or @missing if there is none. */
int sp_h5_extras_text(hid_t group, const char *key, const char *missing, const char **ret_text,
		      struct sp_error *error)
{
	char *text;
	int r = sp_h5_read_text_attribute(group, key, &text, error);

	if (r)
		return r;
	*ret_text = text ? text : strdup(missing);
	return *ret_text ? 0 : sp_h5_extras_no_memory(error);
}

/* Reads the integers at @path/@name; *@io_n is the length that it must have, or SP_H5_ANY_LENGTH,
 * and then becomes its length. */
int sp_h5_extras_integers(struct sp_h5_extras *reader, const char *path, const char *name,
			  enum sp_h5_type type, uint64_t *io_n, const void *ret_values,
			  struct sp_error *error)
{
	sp_cleanup_free char *full = sp_h5_join(path, name);

	if (!full)
		return sp_h5_extras_no_memory(error);
	return sp_h5_read_numbers(reader->file, full, type, true, *io_n,
				  (void **)(uintptr_t)ret_values, io_n, error);
}

int sp_h5_extras_reals(struct sp_h5_extras *reader, const char *path, const char *name, uint64_t n,
		       const double **ret_values, struct sp_error *error)
{
	sp_cleanup_free char *full = sp_h5_join(path, name);
	double *values;
	uint64_t found;
	int r;

	if (!full)
		return sp_h5_extras_no_memory(error);
	r = sp_h5_read_reals(reader->file, full, 1, &values, &found, error);
	if (!r) {
		r = sp_h5_check_length(full, found, n, error);
		if (r)
			free(values);
		else
			*ret_values = values;
	}
	return r;
}

int sp_h5_extras_once(struct sp_intern *names, const char *name, const char *path,
		      struct sp_error *error)
{
	uint32_t number;
	bool is_new;

	if (sp_intern_add(names, name, &number, &is_new))
		return sp_h5_extras_no_memory(error);
	return is_new ? 0
		      : sp_error_set(error, -SP_E_DAMAGED, 0, "%.100s is the second for \"%.64s\"",
				     path, name);
}

/* ---- perf events ---- */

/* Adds the region whose group is at @path. */
static int add_perf_events(struct sp_h5_extras *reader, hid_t group, const char *path,
			   const char *name, struct sp_error *error)
{
	struct sp_extras *extras = &reader->extras;
	struct sp_perf_events *events;
	sp_cleanup_free char *repaired = sp_utf8_repair(name);
	char **names = NULL;
	uint64_t n;
	size_t n_names;
	bool found;
	int r;

	if (!repaired || sp_array_reserve((void **)&extras->perf_events, &reader->perf_events,
					  extras->n_perf_events, sizeof(*events)))
		return sp_h5_extras_no_memory(error);
	events = &extras->perf_events[extras->n_perf_events++];
	*events = (struct sp_perf_events){.rank = reader->rank};
	r = sp_h5_extras_text(group, "region", repaired, &events->region, error);
	if (!r)
		r = sp_h5_extras_once(&reader->regions, events->region, path, error);
	if (!r)
		r = sp_h5_read_number_attribute(group, "calls", &found, &events->calls, error);
	if (!r)
		r = sp_h5_read_texts_attribute(group, "event_names", &names, &n_names, error);
	if (r)
		return sp_h5_extras_name(error, r, path);
	events->names = (const char *const *)names;
	events->n = n_names;
	n = n_names;
	r = sp_h5_extras_integers(reader, path, "values", SP_H5_u64, &n, &events->values, error);
	return r ? r : sp_h5_extras_count(reader, n, path, error);
}

static int read_perf_events(struct sp_h5_extras *reader, const char *path, const char *name,
			    int depth, struct sp_error *error);

/* Reads the groups in the group at @path; @name is what their names continue. */
static int read_perf_members(struct sp_h5_extras *reader, const char *path, const char *name,
			     int depth, size_t *ret_groups, struct sp_error *error)
{
	sp_cleanup_h5_names struct sp_h5_names names = {0};
	size_t groups = 0;
	int r = sp_h5_list(reader->file, path, &names, error);

	for (size_t i = 0; !r && i < names.n; i++) {
		sp_cleanup_free char *inner = sp_h5_join(path, names.names[i]);
		sp_cleanup_free char *whole = sp_h5_join(name, names.names[i]);

		if (!inner || !whole)
			return sp_h5_extras_no_memory(error);
		if (sp_h5_is_group(reader->file, inner, NULL) <= 0)
			continue; /* the values, and what we do not know */
		r = read_perf_events(reader, inner, whole, depth + 1, error);
		groups++;
	}
	*ret_groups = groups;
	return r;
}

/* A group is a region, or part of the name of those in it, or both. */
static int read_perf_events(struct sp_h5_extras *reader, const char *path, const char *name,
			    int depth, struct sp_error *error)
{
	sp_cleanup_h5 hid_t group = -1;
	sp_cleanup_free char *values = sp_h5_join(path, "values");
	size_t inner = 0;
	int r, has_values;

	if (!values)
		return sp_h5_extras_no_memory(error);
	if (depth > MAX_DEPTH)
		return sp_error_set(error, -SP_E_COUNT, 0, "%.100s… is nested too deeply", path);
	r = sp_h5_extras_count(reader, 0, path, error);
	if (!r)
		r = sp_h5_extras_open(reader->file, path, &group, error);
	if (!r)
		r = read_perf_members(reader, path, name, depth, &inner, error);
	if (r)
		return r;
	has_values = sp_h5_exists(reader->file, values, error);
	if (has_values < 0)
		return has_values;
	if (!has_values && inner && H5Aexists(group, "event_names") <= 0)
		return 0;
	return add_perf_events(reader, group, path, name, error);
}

/* ---- line profiles ---- */

static int read_line_profile(struct sp_h5_extras *reader, const char *path, struct sp_error *error)
{
	sp_cleanup_h5 hid_t group = -1;
	struct sp_extras *extras = &reader->extras;
	struct sp_line_profile *lines;
	uint64_t n = SP_H5_ANY_LENGTH;
	char *source = NULL;
	bool found;
	int r = sp_h5_extras_open(reader->file, path, &group, error);

	if (r)
		return r;
	if (sp_array_reserve((void **)&extras->line_profiles, &reader->line_profiles,
			     extras->n_line_profiles, sizeof(*lines)))
		return sp_h5_extras_no_memory(error);
	lines = &extras->line_profiles[extras->n_line_profiles++];
	*lines = (struct sp_line_profile){.rank = reader->rank, .unit = 1};
	r = sp_h5_extras_text(group, "region", "", &lines->region, error);
	if (!r)
		r = sp_h5_extras_text(group, "filename", "", &lines->filename, error);
	if (!r)
		r = sp_h5_extras_text(group, "function", "", &lines->function, error);
	if (!r)
		r = sp_h5_read_number_attribute(group, "first_lineno", &found, &lines->first_line,
						error);
	if (!r)
		r = sp_h5_read_real_attribute(group, "unit", &found, &lines->unit, error);
	if (!r)
		r = sp_h5_read_number_attribute(group, "source_first_lineno", &found,
						&lines->source_first_line, error);
	if (!r)
		r = sp_h5_read_text_attribute(group, "source", &source, error);
	if (r)
		return sp_h5_extras_name(error, r, path);
	/* Either is worth nothing without the other. */
	if (found)
		lines->source = source;
	else
		free(source);
	if (!lines->source)
		lines->source_first_line = 0;
	r = sp_h5_extras_integers(reader, path, "line_numbers", SP_H5_s64, &n, &lines->lines,
				  error);
	if (!r)
		r = sp_h5_extras_integers(reader, path, "hits", SP_H5_s64, &n, &lines->hits, error);
	if (!r)
		r = sp_h5_extras_reals(reader, path, "times", n, &lines->times, error);
	lines->n = r ? 0 : n;
	return r ? r : sp_h5_extras_count(reader, 3 * n, path, error);
}

/* Numbers in their order, and whatever else by name: a writer counts its records. */
static int compare_numbered(const void *a, const void *b)
{
	const char *left = *(char *const *)a, *right = *(char *const *)b;
	size_t left_size = strlen(left), right_size = strlen(right);
	bool numbers = strspn(left, "0123456789") == left_size &&
		       strspn(right, "0123456789") == right_size;

	if (numbers && left_size != right_size)
		return left_size < right_size ? -1 : 1;
	return strcmp(left, right);
}

/* ---- all ---- */

/* Reads each member of the group at @path, if it is there. */
static int each_member(struct sp_h5_extras *reader, const char *path, bool numbered,
		       int (*read)(struct sp_h5_extras *reader, const char *path, const char *name,
				   struct sp_error *error),
		       struct sp_error *error)
{
	sp_cleanup_h5_names struct sp_h5_names names = {0};
	int r = sp_h5_is_group(reader->file, path, error);

	if (r <= 0)
		return r;
	r = sp_h5_list(reader->file, path, &names, error);
	if (!r && numbered && names.n)
		qsort(names.names, names.n, sizeof(*names.names), compare_numbered);
	for (size_t i = 0; !r && i < names.n; i++) {
		sp_cleanup_free char *inner = sp_h5_join(path, names.names[i]);

		if (!inner)
			return sp_h5_extras_no_memory(error);
		r = sp_h5_extras_count(reader, 0, inner, error);
		if (!r)
			r = read(reader, inner, names.names[i], error);
	}
	return r;
}

static int read_perf_region(struct sp_h5_extras *reader, const char *path, const char *name,
			    struct sp_error *error)
{
	return read_perf_events(reader, path, name, 1, error);
}

static int read_lines(struct sp_h5_extras *reader, const char *path, const char *name,
		      struct sp_error *error)
{
	(void)name;
	return read_line_profile(reader, path, error);
}

static int read_rank(struct sp_h5_extras *reader, const char *rank, struct sp_error *error)
{
	sp_cleanup_free char *perf = sp_h5_join(rank, "perf_events");
	sp_cleanup_free char *lines = sp_h5_join(rank, "line_profile");
	sp_cleanup_free char *likwid = sp_h5_join(rank, "likwid");
	sp_cleanup_free char *regions = sp_h5_join(rank, "likwid/regions");
	int r;

	if (!perf || !lines || !likwid || !regions)
		return sp_h5_extras_no_memory(error);
	r = each_member(reader, perf, false, read_perf_region, error);
	if (!r)
		r = each_member(reader, lines, true, read_lines, error);
	if (!r) {
		r = sp_h5_is_group(reader->file, likwid, error);
		if (r <= 0)
			return r;
		r = sp_h5_extras_likwid_environment(reader, likwid, error);
	}
	return r ? r : each_member(reader, regions, false, sp_h5_extras_likwid_region, error);
}

int sp_h5_read_extras(hid_t file, struct sp_extras *ret_extras, struct sp_error *error)
{
	struct sp_h5_extras reader = {.file = file};
	struct sp_h5_rank *ranks;
	size_t n;
	int r = sp_h5_list_ranks(file, &ranks, &n, error);

	if (r)
		return r;
	for (size_t i = 0; !r && i < n; i++) {
		reader.rank = ranks[i].rank;
		sp_intern_free(&reader.regions);
		sp_intern_free(&reader.tags);
		r = sp_h5_is_group(file, ranks[i].path, error);
		if (r > 0)
			r = read_rank(&reader, ranks[i].path, error);
	}
	sp_h5_free_ranks(ranks, n);
	sp_intern_free(&reader.regions);
	sp_intern_free(&reader.tags);
	if (r) {
		sp_extras_free(&reader.extras);
		return r;
	}
	*ret_extras = reader.extras;
	return 0;
}
