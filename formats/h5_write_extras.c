// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_write_extras.c - the HDF5 writer: perf events, line profiles and LIKWID of a rank.
 *
 * Invariant: what has a name stands under a link of that name, or, where HDF5 cannot have such a
 * link or it is taken, under a similar one; then (for LIKWID always) an attribute has the name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/codec.h"
#include "formats/h5_write_internal.h"
#include "formats/utf8.h"
#include "formats/util.h"

enum { LINK_MAX_BYTES = 1000 };

static uint64_t hash_text(const char *text)
{
	uint64_t hash = sp_name_hash(text, strlen(text));

	return hash ^ hash >> 29;
}

/* The name of a link for @name: as scope-profiler has it, without slashes. One that had to be cut,
 * and every @attempt but the first, ends with a hash of the whole name. To free(). */
static char *link_name(const char *name, unsigned int attempt)
{
	size_t size = strlen(name), cut = size;
	char *link = NULL;

	if (!size)
		name = "(empty)", cut = strlen(name);
	else if (strcmp(name, ".") == 0)
		name = "(.)", cut = strlen(name);
	if (size > LINK_MAX_BYTES)
		for (cut = LINK_MAX_BYTES; ((unsigned char)name[cut] & 0xc0) == 0x80; cut--)
			;
	if (attempt || cut < size) {
		if (asprintf(&link, "%.*s #%016llx", (int)cut, name,
			     (unsigned long long)(hash_text(name) + attempt)) < 0)
			return NULL;
	} else {
		link = strdup(name);
	}
	for (char *slash = link; slash && (slash = strchr(slash, '/'));)
		*slash = '|';
	return link;
}

/* True if what stands under @link is @name's. */
static bool is_same(hid_t parent, const char *link, const char *key, const char *name)
{
	sp_cleanup_h5 hid_t group = H5Gopen2(parent, link, H5P_DEFAULT);
	sp_cleanup_h5 hid_t attribute = -1;
	sp_cleanup_h5 hid_t type = -1;
	char *text = NULL;
	bool same;

	if (group < 0 || H5Aexists(group, key) <= 0)
		return strcmp(link, name) == 0;
	attribute = H5Aopen(group, key, H5P_DEFAULT);
	type = sp_h5_string_type();
	if (attribute < 0 || type < 0 || H5Aread(attribute, type, &text) < 0)
		return false;
	same = text && strcmp(text, name) == 0;
	H5free_memory(text);
	return same;
}

/* Creates the group of @name in @parent. Attribute @key has the name if the link does not, or
 * @always. */
static int create_named(hid_t parent, const char *name, const char *key, bool always,
			hid_t *ret_group, struct sp_error *error)
{
	sp_cleanup_free char *good = sp_utf8_repair(name ? name : "");
	sp_cleanup_free char *link = NULL;
	sp_cleanup_h5 hid_t links = H5Pcreate(H5P_LINK_CREATE);
	sp_cleanup_h5 hid_t properties = sp_h5_untimed(H5P_GROUP_CREATE);
	sp_cleanup_h5 hid_t group = -1;
	int r = 0;

	errno = 0;
	for (unsigned int attempt = 0; good; attempt++) {
		htri_t exists;

		free(link);
		link = link_name(good, attempt);
		if (!link)
			break;
		exists = H5Lexists(parent, link, H5P_DEFAULT);
		if (exists < 0)
			return sp_h5_write_failed(error, link);
		if (!exists)
			break;
		if (is_same(parent, link, key, good))
			return sp_error_set(error, -EINVAL, 0, "%s \"%s\" comes twice", key, good);
	}
	if (!good || !link)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	if (links < 0 || properties < 0 || H5Pset_char_encoding(links, H5T_CSET_UTF8) < 0)
		return sp_h5_write_failed(error, link);
	group = H5Gcreate2(parent, link, links, properties, H5P_DEFAULT);
	if (group < 0)
		return sp_h5_write_failed(error, link);
	if (always || strcmp(link, good) != 0)
		r = sp_h5_put_text(group, key, good, error);
	if (r)
		return r;
	*ret_group = group;
	group = -1;
	return 0;
}

/* Opens the group @name of a rank, with its parents. */
static int open_part(struct sp_h5_writer *writer, uint32_t rank, const char *name, hid_t *ret_group,
		     struct sp_error *error)
{
	char path[64];
	hid_t group;

	snprintf(path, sizeof(path), "/rank%u/%s", rank, name);
	errno = 0;
	group = sp_h5_open_group(writer->file, path);
	if (group < 0)
		return sp_h5_write_failed(error, path);
	*ret_group = group;
	return 0;
}

/* A data set of @rows × @columns; @rows is 0 for one dimension (then it may have no element). */
static int put_values(hid_t group, const char *name, hid_t file_type, hid_t memory_type,
		      const hsize_t *rows, hsize_t columns, const void *values,
		      struct sp_error *error)
{
	hsize_t sizes[2] = {rows ? *rows : columns, columns};
	sp_cleanup_h5 hid_t space = H5Screate_simple(rows ? 2 : 1, sizes, NULL);
	sp_cleanup_h5 hid_t properties = sp_h5_untimed(H5P_DATASET_CREATE);
	sp_cleanup_h5 hid_t dataset = -1;

	errno = 0;
	if (space >= 0 && properties >= 0)
		dataset = H5Dcreate2(group, name, file_type, space, H5P_DEFAULT, properties,
				     H5P_DEFAULT);
	if (dataset < 0 ||
	    (columns && sizes[0] &&
	     H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0))
		return sp_h5_write_failed(error, name);
	return 0;
}

static int put_int64s(hid_t group, const char *name, const int64_t *values, size_t n,
		      struct sp_error *error)
{
	return put_values(group, name, H5T_STD_I64LE, H5T_NATIVE_INT64, NULL, n, values, error);
}

static int put_doubles(hid_t group, const char *name, const hsize_t *rows, size_t n,
		       const double *values, struct sp_error *error)
{
	return put_values(group, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, rows, n, values, error);
}

/* ---- perf events ---- */

int sp_h5_writer_add_perf_events(struct sp_h5_writer *writer, const struct sp_perf_events *events,
				 struct sp_error *error)
{
	sp_cleanup_h5 hid_t part = -1;
	sp_cleanup_h5 hid_t group = -1;
	int r = open_part(writer, events->rank, "perf_events", &part, error);

	if (!r)
		r = create_named(part, events->region, "region", false, &group, error);
	if (!r)
		r = sp_h5_put_number(group, "calls", events->calls, error);
	if (!r)
		r = sp_h5_put_texts(group, "event_names", events->names, events->n, error);
	if (!r)
		r = put_values(group, "values", H5T_STD_U64LE, H5T_NATIVE_UINT64, NULL, events->n,
			       events->values, error);
	return sp_h5_writer_result(writer, r, error);
}

/* ---- line profiles ---- */

static int put_lines(hid_t group, const struct sp_line_profile *lines, struct sp_error *error)
{
	int r;

	r = sp_h5_put_text(group, "region", lines->region, error);
	if (!r)
		r = sp_h5_put_text(group, "filename", lines->filename, error);
	if (!r)
		r = sp_h5_put_text(group, "function", lines->function, error);
	if (!r)
		r = sp_h5_put_number(group, "first_lineno", lines->first_line, error);
	if (!r)
		r = sp_h5_put_real(group, "unit", lines->unit, error);
	if (!r && lines->source)
		r = sp_h5_put_text(group, "source", lines->source, error);
	if (!r && lines->source)
		r = sp_h5_put_number(group, "source_first_lineno", lines->source_first_line, error);
	if (!r)
		r = put_int64s(group, "line_numbers", lines->lines, lines->n, error);
	if (!r)
		r = put_int64s(group, "hits", lines->hits, lines->n, error);
	return r ? r : put_doubles(group, "times", NULL, lines->n, lines->times, error);
}

int sp_h5_writer_add_line_profile(struct sp_h5_writer *writer, const struct sp_line_profile *lines,
				  struct sp_error *error)
{
	sp_cleanup_h5 hid_t part = -1;
	sp_cleanup_h5 hid_t properties = sp_h5_untimed(H5P_GROUP_CREATE);
	sp_cleanup_h5 hid_t group = -1;
	H5G_info_t info;
	char name[32];
	int r = open_part(writer, lines->rank, "line_profile", &part, error);

	if (r)
		return sp_h5_writer_result(writer, r, error);
	errno = 0;
	if (H5Gget_info(part, &info) < 0)
		return sp_h5_write_failed(error, "line_profile");
	snprintf(name, sizeof(name), "%llu", (unsigned long long)info.nlinks);
	if (properties >= 0)
		group = H5Gcreate2(part, name, H5P_DEFAULT, properties, H5P_DEFAULT);
	r = group < 0 ? sp_h5_write_failed(error, name) : put_lines(group, lines, error);
	return sp_h5_writer_result(writer, r, error);
}

/* ---- LIKWID ---- */

/* The group of a rank, whose number of regions is @more than it was. */
static int open_likwid(struct sp_h5_writer *writer, uint32_t rank, int64_t more, hid_t *ret_group,
		       struct sp_error *error)
{
	sp_cleanup_h5 hid_t group = -1;
	sp_cleanup_h5 hid_t attribute = -1;
	int64_t number = 0;
	int r = open_part(writer, rank, "likwid", &group, error);

	if (r)
		return r;
	errno = 0;
	if (H5Aexists(group, "num_regions") > 0) {
		attribute = H5Aopen(group, "num_regions", H5P_DEFAULT);
		if (attribute < 0 || H5Aread(attribute, H5T_NATIVE_INT64, &number) < 0)
			return sp_h5_write_failed(error, "num_regions");
		sp_h5_close(&attribute);
	}
	r = sp_h5_put_number(group, "num_regions", number + more, error);
	if (r)
		return r;
	*ret_group = group;
	group = -1;
	return 0;
}

static int put_likwid(hid_t group, const struct sp_likwid *likwid, struct sp_error *error)
{
	hsize_t n_events = likwid->n_events, n_metrics = likwid->n_metrics;
	size_t threads = likwid->n_threads;
	int r;

	r = sp_h5_put_number(group, "group_id", likwid->group_id, error);
	if (!r)
		r = sp_h5_put_text(group, "group_name", likwid->group_name, error);
	if (!r)
		r = sp_h5_put_text(group, "source", likwid->source, error);
	if (!r)
		r = sp_h5_put_texts(group, "event_names", likwid->event_names, likwid->n_events,
				    error);
	if (!r)
		r = sp_h5_put_texts(group, "counter_names", likwid->counter_names,
				    likwid->n_counters, error);
	if (!r)
		r = sp_h5_put_texts(group, "metric_names", likwid->metric_names, likwid->n_metrics,
				    error);
	if (!r)
		r = put_int64s(group, "cpus", likwid->cpus, likwid->cpus ? threads : 0, error);
	if (!r)
		r = put_doubles(group, "times", NULL, threads, likwid->times, error);
	if (!r)
		r = put_int64s(group, "call_counts", likwid->call_counts, threads, error);
	if (!r)
		r = put_doubles(group, "events", &n_events, threads, likwid->events, error);
	return r ? r : put_doubles(group, "metrics", &n_metrics, threads, likwid->metrics, error);
}

int sp_h5_writer_add_likwid(struct sp_h5_writer *writer, const struct sp_likwid *likwid,
			    struct sp_error *error)
{
	sp_cleanup_h5 hid_t root = -1;
	sp_cleanup_h5 hid_t part = -1;
	sp_cleanup_h5 hid_t group = -1;
	int r = open_part(writer, likwid->rank, "likwid/regions", &part, error);

	if (!r)
		r = create_named(part, likwid->tag, "tag", true, &group, error);
	if (!r)
		r = put_likwid(group, likwid, error);
	if (!r)
		r = open_likwid(writer, likwid->rank, 1, &root, error);
	return sp_h5_writer_result(writer, r, error);
}

int sp_h5_writer_add_likwid_environment(struct sp_h5_writer *writer,
					const struct sp_likwid_environment *environment,
					struct sp_error *error)
{
	sp_cleanup_h5 hid_t root = -1;
	char path[64];
	int r = open_likwid(writer, environment->rank, 0, &root, error);

	snprintf(path, sizeof(path), "/rank%u/likwid", environment->rank);
	for (size_t i = 0; !r && i < environment->n; i++)
		if (strcmp(environment->facts[i].key, "num_regions") != 0)
			r = sp_h5_writer_put_fact(writer, path, &environment->facts[i], SIZE_MAX,
						  error);
	return sp_h5_writer_result(writer, r, error);
}
