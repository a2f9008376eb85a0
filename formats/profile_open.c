// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_open.c - opening a profile of any format: which one it is, its regions, rows and ranks.
 *
 * Invariant: after it the info says what the rest may be asked for, every row has good tags and a
 * rank that one can have, and the texts of rows are kept once each.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/h5_read.h"
#include "formats/journal.h"
#include "formats/json_pull.h"
#include "formats/profile_internal.h"
#include "formats/util.h"

/* ---- formats ---- */

static const struct {
	enum sp_format format;
	const char *name;
	const char *magic;
	size_t size;
} formats[] = {
	{SP_FORMAT_SPT, "spt", "SCOPEPRF", 8},
	{SP_FORMAT_SPS, "sps", "SCOPESMP", 8},
	{SP_FORMAT_HDF5, "hdf5", "\211HDF\r\n\032\n", 8},
	{SP_FORMAT_JOURNAL, "journal", SP_JOURNAL_MAGIC, 7}, /* of whatever version */
	{SP_FORMAT_JSON, "json", "{", 1},
	{SP_FORMAT_JSON, "json", "\037\213", 2}, /* gzip: nothing else of ours is packed */
};

const char *sp_format_name(enum sp_format format)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i].format == format)
			return formats[i].name;
	return "none";
}

/* JSON may begin with blanks. */
static bool begins_with_brace(int fd)
{
	char text[4096];
	ssize_t got = pread(fd, text, sizeof(text), 0), at = 0;

	while (at < got && memchr(" \t\r\n", text[at], 4))
		at++;
	return at < got && text[at] == '{';
}

int sp_format_detect(const char *path, enum sp_format *ret_format, struct sp_error *error)
{
	char start[8] = "";
	uint64_t size;
	int fd, r;

	r = sp_open_regular(path, &fd, &size, error);
	if (r)
		return r;
	r = sp_pread_all(fd, start, size < sizeof(start) ? size : sizeof(start), 0);
	/* HDF5 allows a block of the user's own before its signature, of 512 bytes or a power of
	 * two. */
	for (uint64_t at = 512; !r && at < size && at <= (1 << 20); at *= 2) {
		char signature[8];

		if (!sp_pread_all(fd, signature, sizeof(signature), at) &&
		    memcmp(signature, "\211HDF\r\n\032\n", sizeof(signature)) == 0 &&
		    memcmp(start, "SCOPE", 5) != 0)
			memcpy(start, signature, sizeof(start));
	}
	if (!r && begins_with_brace(fd))
		strcpy(start, "{");
	close(fd);
	if (r)
		return sp_error_set(error, r, 0, "cannot be read: %s", strerror(-r));
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (memcmp(start, formats[i].magic, formats[i].size) == 0) {
			*ret_format = formats[i].format;
			return 0;
		}
	}
	return sp_error_set(
		error, -SP_E_FORMAT, 0,
		size ? "is neither a profile (.h5, .json, .json.gz), a trace (.spt), samples "
		       "(.sps) nor a journal"
		     : "is empty");
}

/* ---- opening ---- */

int sp_profile_add_region(struct sp_profile *profile, const char *name, struct sp_error *error)
{
	char *copy = strdup(name);

	if (!copy || sp_array_reserve((void **)&profile->regions, &profile->regions_capacity,
				      profile->info.n_regions, sizeof(char *))) {
		free(copy);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	profile->regions[profile->info.n_regions++] = copy;
	return 0;
}

static int keep(struct sp_intern *intern, const char *text, const char **ret_kept, bool *ret_new,
		struct sp_error *error)
{
	uint32_t number;
	int r = sp_intern_add(intern, text, &number, ret_new);

	if (r)
		return sp_error_set(error, r, 0, "no memory");
	*ret_kept = sp_intern_text(intern, number);
	return 0;
}

static int check_tags(const struct sp_profile *profile, const struct sp_row *row,
		      struct sp_error *error)
{
	enum sp_json_list_kind kind;
	uint64_t n;
	int r = sp_json_list_length(row->tags, strlen(row->tags), &n, &kind);

	if (r == -ENOMEM)
		return sp_error_set(error, r, 0, "no memory");
	if (!r && (kind == SP_JSON_LIST_EMPTY || kind == SP_JSON_LIST_TEXTS))
		return 0;
	return sp_error_set(
		error, -SP_E_DAMAGED, 0,
		"region \"%.64s\" on rank %u has tags that are no JSON list of strings: "
		"%.64s",
		profile->regions[row->region], row->rank, row->tags);
}

int sp_profile_add_row(struct sp_profile *profile, const struct sp_row *row, struct sp_error *error)
{
	struct sp_row new = *row;
	bool new_tags;
	int r;

	/* In the tables it stands for "of no rank". */
	if (row->rank == UINT32_MAX)
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "region \"%.64s\" has the rank 4294967295, which none can have",
				    profile->regions[row->region]);
	if (row->stats.calls > INT64_MAX - profile->info.n_calls)
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "has more than %" PRId64 " calls, as far as region \"%.64s\"",
				    INT64_MAX, profile->regions[row->region]);
	if (sp_array_reserve((void **)&profile->rows, &profile->rows_capacity, profile->info.n_rows,
			     sizeof(*profile->rows)))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	r = keep(&profile->texts, row->source_file ? row->source_file : "", &new.source_file, NULL,
		 error);
	if (!r)
		r = keep(&profile->texts, row->source_text ? row->source_text : "",
			 &new.source_text, NULL, error);
	if (!r)
		r = keep(&profile->tags, row->tags && *row->tags ? row->tags : "[]", &new.tags,
			 &new_tags, error);
	if (!r && new_tags)
		r = check_tags(profile, &new, error);
	if (r)
		return r;
	profile->rows[profile->info.n_rows++] = new;
	profile->info.n_calls += row->stats.calls;
	profile->info.has_source_lines |= row->source_line >= 0;
	return 0;
}

struct sp_stats sp_profile_unknown_stats(uint64_t calls)
{
	if (!calls)
		return (struct sp_stats){0};
	return (struct sp_stats){
		.calls = calls,
		.total = -1,
		.self = -1,
		.minimum = -1,
		.maximum = -1,
		.first = -1,
		.last = -1,
		.start_minimum = -1,
		.end_maximum = -1,
		.mean = -1,
		.m2 = -1,
	};
}

/* Without any row a rank is told by its threads and processes. What cannot be read of them is told
 * when it is asked for. */
static int collect_ranks_of_tables(struct sp_profile *profile, size_t *ret_n)
{
	const struct sp_thread_row *threads;
	const struct sp_process_row *processes;
	size_t n_threads, n_processes, n = 0;

	if (sp_profile_threads(profile, &threads, &n_threads, NULL))
		n_threads = 0;
	if (sp_profile_processes(profile, &processes, &n_processes, NULL))
		n_processes = 0;
	profile->ranks = calloc(n_threads + n_processes + 1, sizeof(*profile->ranks));
	if (!profile->ranks)
		return -ENOMEM;
	for (size_t i = 0; i < n_threads; i++)
		profile->ranks[n++] = threads[i].rank;
	for (size_t i = 0; i < n_processes; i++)
		profile->ranks[n++] = processes[i].rank;
	*ret_n = n;
	return 0;
}

static int collect_ranks_of_rows(struct sp_profile *profile, size_t *ret_n)
{
	size_t n = profile->info.n_rows;

	profile->ranks = calloc(n + 1, sizeof(*profile->ranks));
	if (!profile->ranks)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		profile->ranks[i] = profile->rows[i].rank;
	*ret_n = n;
	return 0;
}

static int collect_ranks(struct sp_profile *profile, struct sp_error *error)
{
	size_t n;
	uint32_t kept = 0;
	int r;

	if (profile->ranks) /* a format without rows has set it */
		return 0;
	r = profile->info.n_rows ? collect_ranks_of_rows(profile, &n)
				 : collect_ranks_of_tables(profile, &n);
	if (r)
		return sp_error_set(error, r, 0, "no memory");
	qsort(profile->ranks, n, sizeof(*profile->ranks), sp_compare_u32);
	for (size_t i = 0; i < n; i++)
		if (!i || profile->ranks[i] != profile->ranks[i - 1])
			profile->ranks[kept++] = profile->ranks[i];
	profile->info.n_ranks = kept;
	return 0;
}

/* Without metadata the timeline begins with the earliest call that is known. */
void sp_profile_find_origin(struct sp_profile *profile)
{
	int64_t origin = INT64_MAX;

	if (profile->origin_known)
		return;
	for (uint32_t i = 0; i < profile->info.n_rows; i++) {
		const struct sp_stats *stats = &profile->rows[i].stats;

		if (stats->calls && stats->start_minimum >= 0 && stats->start_minimum < origin)
			origin = stats->start_minimum;
	}
	profile->info.start_time_ns = origin == INT64_MAX ? 0 : origin;
}

int sp_profile_opened(struct sp_profile *profile, struct sp_error *error)
{
	int r = collect_ranks(profile, error);

	if (!r)
		sp_profile_find_origin(profile);
	return r;
}

int sp_profile_open(const char *path, struct sp_profile **ret_profile, struct sp_error *error)
{
	enum sp_format format;
	struct sp_profile *profile;
	int r = sp_format_detect(path, &format, error);

	if (r)
		return r;
	profile = calloc(1, sizeof(*profile));
	if (profile)
		profile->path = strdup(path);
	if (!profile || !profile->path) {
		sp_profile_free(profile);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	profile->info.format = format;
	profile->info.ticks = profile->info.hz = -1;
	switch (format) {
	case SP_FORMAT_SPT:
		r = sp_profile_open_spt(profile, error);
		break;
	case SP_FORMAT_SPS:
		r = sp_profile_open_sps(profile, error);
		break;
	case SP_FORMAT_HDF5:
		r = sp_profile_open_h5(profile, error);
		break;
	case SP_FORMAT_JSON:
		r = sp_profile_open_json(profile, error);
		break;
	default:
		r = sp_error_set(error, -SP_E_FORMAT, 0,
				 "is a journal; sp-report recover makes a profile of it");
	}
	if (!r)
		r = sp_profile_opened(profile, error);
	if (r) {
		sp_profile_free(profile);
		return r;
	}
	*ret_profile = profile;
	return 0;
}

void sp_profile_free(struct sp_profile *profile)
{
	if (!profile)
		return;
	if (profile->ops && profile->ops->close)
		profile->ops->close(profile->implementation);
	for (uint32_t i = 0; i < profile->info.n_regions; i++)
		free(profile->regions[i]);
	sp_intern_free(&profile->texts);
	sp_intern_free(&profile->tags);
	for (size_t i = 0; i < SP_H5_N_TABLES; i++)
		sp_h5_free_table((enum sp_h5_table)i, profile->tables[i].rows,
				 profile->tables[i].n);
	sp_facts_free(profile->metadata.facts, profile->metadata.n);
	sp_facts_free(profile->meta.facts, profile->meta.n);
	sp_extras_free(&profile->extras);
	free(profile->regions);
	free(profile->rows);
	free(profile->ranks);
	free(profile->rank_rows);
	free(profile->rank_first);
	free(profile->path);
	free(profile);
}
