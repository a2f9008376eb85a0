/* SPDX-License-Identifier: BSD-2-Clause
 *
 * write_h5.c - a profile as HDF5.
 *
 * Everything that profile_read.h can give arrives. Tables go out whole and in their order, so
 * references between them hold; only ids of regions change, where the writer numbers them
 * otherwise.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_write.h"
#include "userspace/base/cleanup.h"
#include "userspace/export/write_h5_copy.h"
#include "userspace/export/write_rows.h"

enum { CALLS = 1 << 18 }; /* read and written at once */

int sp_h5_copy_progress(struct sp_h5_copy *copy, uint64_t more)
{
	copy->done += more;
	return copy->options->progress ? copy->options->progress(copy->options->progress_data,
								 copy->done, copy->total)
				       : 0;
}

/* ---- regions and rows ---- */

static int copy_regions(struct sp_h5_copy *copy, struct sp_error *error)
{
	int r = 0;

	copy->regions = calloc((size_t)copy->info->n_regions + 1, sizeof(*copy->regions));
	if (!copy->regions)
		return sp_h5_copy_no_memory(error);
	for (uint32_t i = 0; r == 0 && i < copy->info->n_regions; i++)
		r = sp_h5_writer_add_region(copy->writer, sp_profile_region(copy->profile, i),
					    &copy->regions[i], error);
	return r;
}

static int copy_calls(struct sp_h5_copy *copy, uint32_t row, uint64_t n, struct sp_calls *calls,
		      struct sp_error *error)
{
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < n; at += CALLS) {
		size_t some = n - at < CALLS ? (size_t)(n - at) : CALLS;

		r = sp_profile_read_calls(copy->profile, row, at, some, calls, error);
		if (r == 0)
			r = sp_h5_writer_add_calls(copy->writer, calls, some, error);
		if (r == 0)
			r = sp_h5_copy_progress(copy, some);
	}
	return r;
}

static int copy_row(struct sp_h5_copy *copy, uint32_t number, struct sp_calls *calls,
		    struct sp_error *error)
{
	const struct sp_row *from = sp_profile_row(copy->profile, number);
	sp_cleanup(sp_freep) char *metadata = NULL;
	struct sp_h5_row row = {
		.region = copy->regions[from->region],
		.rank = from->rank,
		.source_file = from->source_file,
		.source_line = from->source_line,
		.source_text = from->source_text,
		.tags = from->tags,
		.self_ns = from->stats.self,
		.stats = copy->aggregate ? &from->stats : NULL,
	};
	int r = 0;

	if (!copy->aggregate && copy->info->has_event_metadata)
		r = sp_profile_event_metadata(copy->profile, number, &metadata, error);
	row.event_metadata = metadata;
	if (r == 0)
		r = sp_h5_writer_begin_row(copy->writer, &row, error);
	return r < 0 || copy->aggregate ? r
					: copy_calls(copy, number, from->stats.calls, calls, error);
}

/* One that is only there so that the region has a row. */
static int make_row(struct sp_h5_copy *copy, const struct sp_write_row *made,
		    struct sp_error *error)
{
	const struct sp_stats none = {0};
	struct sp_h5_row row = {
		.region = copy->regions[made->region],
		.rank = made->rank,
		.source_line = -1,
		.stats = copy->aggregate ? &none : NULL,
	};

	return sp_h5_writer_begin_row(copy->writer, &row, error);
}

static int copy_rows(struct sp_h5_copy *copy, struct sp_error *error)
{
	sp_cleanup(sp_freep) struct sp_write_row *rows = NULL;
	struct sp_calls calls = {0};
	uint64_t longest = 1;
	size_t n;
	int r = sp_write_list_rows(copy->profile, &rows, &n, error);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < copy->info->n_rows; i++) {
		uint64_t length = sp_profile_row(copy->profile, i)->stats.calls;

		longest = length > longest ? length : longest;
	}
	if (!copy->aggregate &&
	    sp_calls_alloc(&calls, longest < CALLS ? (size_t)longest : CALLS, copy->info->columns))
		return sp_h5_copy_no_memory(error);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = rows[i].row == SP_WRITE_NO_ROW ? make_row(copy, &rows[i], error)
						   : copy_row(copy, rows[i].row, &calls, error);
	sp_calls_free(&calls);
	return r;
}

/* ---- tables ---- */

static int copy_threads_and_tasks(struct sp_h5_copy *copy, struct sp_error *error)
{
	const struct sp_thread_row *threads;
	const struct sp_task_row *tasks;
	size_t n;
	int r = sp_profile_threads(copy->profile, &threads, &n, error);

	if (r == 0)
		r = sp_h5_writer_add_threads(copy->writer, threads, n, error);
	if (r == 0)
		r = sp_profile_tasks(copy->profile, &tasks, &n, error);
	return r ? r : sp_h5_writer_add_tasks(copy->writer, tasks, n, error);
}

static int copy_sites_and_cuts(struct sp_h5_copy *copy, struct sp_error *error)
{
	const struct sp_site_row *sites;
	const struct sp_cut_row *cuts;
	size_t n;
	int r = sp_profile_sites(copy->profile, &sites, &n, error);

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct sp_site_row site = sites[i];

		site.region = sp_h5_copy_region(copy, site.region);
		r = sp_h5_writer_add_sites(copy->writer, &site, 1, error);
	}
	if (r == 0)
		r = sp_profile_cuts(copy->profile, &cuts, &n, error);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct sp_cut_row cut = cuts[i];

		cut.region = sp_h5_copy_region(copy, cut.region);
		r = sp_h5_writer_add_cuts(copy->writer, &cut, 1, error);
	}
	return r;
}

#define COPY_TABLE(singular, plural) \
	static int copy_##plural(struct sp_h5_copy *copy, struct sp_error *error) \
	{ \
		const struct sp_##singular##_row *rows; \
		size_t n; \
		int r = sp_profile_##plural(copy->profile, &rows, &n, error); \
\
		return r ? r : sp_h5_writer_add_##plural(copy->writer, rows, n, error); \
	}

COPY_TABLE(module, modules)
COPY_TABLE(process, processes)
COPY_TABLE(loss, losses)
COPY_TABLE(clock, clocks)
COPY_TABLE(rank_fact, rank_facts)
COPY_TABLE(kernel_symbol, kernel_symbols)

/* ---- extras and facts ---- */

static int copy_extras(struct sp_h5_copy *copy, struct sp_error *error)
{
	struct sp_h5_writer *writer = copy->writer;
	const struct sp_extras *extras;
	int r = sp_profile_extras(copy->profile, &extras, error);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < extras->n_perf_events; i++)
		r = sp_h5_writer_add_perf_events(writer, &extras->perf_events[i], error);
	for (size_t i = 0; r == 0 && i < extras->n_line_profiles; i++)
		r = sp_h5_writer_add_line_profile(writer, &extras->line_profiles[i], error);
	for (size_t i = 0; r == 0 && i < extras->n_likwid_environments; i++)
		r = sp_h5_writer_add_likwid_environment(writer, &extras->likwid_environments[i],
							error);
	for (size_t i = 0; r == 0 && i < extras->n_likwid; i++)
		r = sp_h5_writer_add_likwid(writer, &extras->likwid[i], error);
	return r;
}

/* What only .sps files know of themselves becomes facts. */
static int set_sampling(struct sp_h5_copy *copy, const struct sp_fact *meta, size_t n,
			struct sp_error *error)
{
	const struct sp_profile_info *info = copy->info;
	int r = 0;

	if (info->hz >= 0 && !sp_fact_find(meta, n, "sample_hz"))
		r = sp_h5_writer_set_meta_number(copy->writer, "sample_hz", info->hz, error);
	if (r == 0 && info->ticks >= 0 && !sp_fact_find(meta, n, "sample_ticks"))
		r = sp_h5_writer_set_meta_number(copy->writer, "sample_ticks", info->ticks, error);
	return r;
}

static int copy_facts(struct sp_h5_copy *copy, struct sp_error *error)
{
	const struct sp_write_options *options = copy->options;
	const struct sp_fact *facts;
	size_t n;
	int r = sp_profile_meta(copy->profile, &facts, &n, error);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = sp_h5_writer_set_meta_fact(copy->writer, &facts[i], error);
	if (r == 0)
		r = set_sampling(copy, facts, n, error);
	if (r == 0 && options->written_by && !sp_fact_find(facts, n, "recording_id") &&
	    !sp_fact_find(facts, n, "written_by"))
		r = sp_h5_writer_set_meta(copy->writer, "written_by", options->written_by, error);
	if (r == 0)
		r = sp_profile_metadata(copy->profile, &facts, &n, error);
	for (size_t i = 0; r == 0 && i < options->n_defaults; i++)
		if (!sp_fact_find(facts, n, options->defaults[i].key))
			r = sp_h5_writer_set_metadata_fact(copy->writer, &options->defaults[i],
							   error);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (strcmp(facts[i].key, "start_time_ns") != 0) /* the writer's */
			r = sp_h5_writer_set_metadata_fact(copy->writer, &facts[i], error);
	if (r == 0 && options->label)
		r = sp_h5_writer_set_metadata(copy->writer, "label", options->label, error);
	return r;
}

/* ---- all of it ---- */

static int copy_all(struct sp_h5_copy *copy, struct sp_error *error)
{
	static int (*const steps[])(struct sp_h5_copy *, struct sp_error *) = {
		copy_regions,	     copy_rows,		 copy_threads_and_tasks,
		copy_sites_and_cuts, copy_modules,	 copy_processes,
		copy_losses,	     copy_clocks,	 copy_rank_facts,
		copy_kernel_symbols, sp_h5_copy_samples, copy_extras,
		copy_facts,
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sp_array_size(steps); i++)
		r = steps[i](copy, error);
	return r ? r : sp_h5_writer_commit(copy->writer, error);
}

/* Where the timeline begins. Without any statement about it: at the first call of a row, since
 * calls stand in order of entry. */
static int find_start(struct sp_profile *profile, int64_t *ret_start, struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	int64_t start = info->start_time_ns, first;
	bool known = start != 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && !info->aggregate && i < info->n_rows; i++) {
		const struct sp_stats *stats = &sp_profile_row(profile, i)->stats;

		if (!stats->calls || stats->m2 >= 0)
			continue;
		r = sp_profile_read_calls(profile, i, 0, 1, &(struct sp_calls){.start = &first},
					  error);
		if (r == 0 && (!known || first < start)) {
			start = first;
			known = true;
		}
	}
	*ret_start = start;
	return r;
}

int sp_write_h5(struct sp_profile *profile, const char *path,
		const struct sp_write_options *options, struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	struct sp_h5_copy copy = {
		.profile = profile,
		.info = info,
		.options = options,
		.aggregate = options->aggregate || info->aggregate,
	};
	struct sp_h5_options h5 = {
		.output_flags = options->output_flags,
		.columns = copy.aggregate ? 0 : info->columns,
		.gzip = options->gzip,
		.threads = options->threads,
		.schema = options->schema,
		.aggregate = copy.aggregate,
		.event_metadata = !copy.aggregate && info->has_event_metadata,
	};
	int r = 0;

	/* Aggregates are all that remains of the calls. */
	if (options->aggregate)
		r = sp_profile_complete(profile, UINT64_MAX, error);
	if (r == 0)
		r = find_start(profile, &h5.start_time_ns, error);
	if (r < 0)
		return r;
	copy.total = info->n_samples + (copy.aggregate ? 0 : info->n_calls);
	r = sp_h5_writer_open(path, &h5, &copy.writer, error);
	if (r == 0)
		r = copy_all(&copy, error);
	sp_h5_writer_free(copy.writer);
	free(copy.regions);
	return r;
}
