/* SPDX-License-Identifier: BSD-2-Clause
 *
 * write_sps.c - the samples of one rank of a profile as a file of native samples.
 *
 * The format has place for samples inside regions only; the others are counted in its ticks. Its
 * tables stand before the samples, so these are read twice: first to find which modules they name.
 * A module there is a file at a load bias; mappings of one at the same bias are one. Regions are
 * those of the rank's rows, and what samples name besides.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/sps.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/pool.h"
#include "userspace/export/write.h"

enum { SAMPLES = 1 << 12 }; /* read at once */

struct sps_copy {
	struct sp_profile *profile;
	const struct sp_write_options *options;
	uint32_t rank;
	uint64_t first, end;  /* samples to look at */
	uint64_t all, inside; /* of the rank; in a region */
	const struct sp_module_row *module_rows;
	size_t n_module_rows;
	int32_t *regions; /* number in the file of each region and module, -1 none */
	int32_t *module_numbers;
	const char **names;
	size_t n_names;
	struct sp_sps_module *modules;
	size_t n_modules;
	struct sp_pool *paths;
	struct sp_sample_row *block;
	struct sp_sps_sample *out;
};

static void sps_copy_free(struct sps_copy *copy)
{
	free(copy->regions);
	free(copy->module_numbers);
	free(copy->names);
	free(copy->modules);
	free(copy->block);
	free(copy->out);
	sp_pool_free(copy->paths);
}

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

static int allocate(struct sps_copy *copy, struct sp_error *error)
{
	size_t n = sp_profile_info(copy->profile)->n_regions;

	copy->regions = calloc(n + 1, sizeof(*copy->regions));
	copy->names = calloc(n + 1, sizeof(*copy->names));
	copy->module_numbers = calloc(copy->n_module_rows + 1, sizeof(*copy->module_numbers));
	copy->modules = calloc(copy->n_module_rows + 1, sizeof(*copy->modules));
	copy->block = malloc(SAMPLES * sizeof(*copy->block));
	copy->out = malloc(SAMPLES * sizeof(*copy->out));
	copy->paths = sp_pool_new();
	if (!copy->regions || !copy->names || !copy->module_numbers || !copy->modules ||
	    !copy->block || !copy->out || !copy->paths)
		return out_of_memory(error);
	return 0;
}

/* ---- reading ---- */

static int each_block(struct sps_copy *copy, struct sp_sps_writer *writer,
		      int (*use)(struct sps_copy *copy, size_t n, struct sp_sps_writer *writer,
				 struct sp_error *error),
		      struct sp_error *error)
{
	uint64_t total = copy->end - copy->first;
	int r = 0;

	for (uint64_t at = copy->first; r == 0 && at < copy->end; at += SAMPLES) {
		size_t n = copy->end - at < SAMPLES ? (size_t)(copy->end - at) : SAMPLES;

		r = sp_profile_read_samples(copy->profile, at, n, copy->block, error);
		if (r == 0)
			r = use(copy, n, writer, error);
		if (r == 0 && copy->options->progress)
			r = copy->options->progress(copy->options->progress_data,
						    writer ? at + n - copy->first : 0, total);
	}
	return r;
}

/* Marks what the samples name. */
static int look_at_block(struct sps_copy *copy, size_t n, struct sp_sps_writer *writer,
			 struct sp_error *error)
{
	uint32_t n_regions = sp_profile_info(copy->profile)->n_regions;

	(void)writer;
	for (size_t i = 0; i < n; i++) {
		const struct sp_sample_row *sample = &copy->block[i];

		if (sample->rank != copy->rank)
			continue;
		copy->all++;
		if (sample->region < 0)
			continue;
		if (sample->region >= n_regions ||
		    (sample->module >= 0 && (uint64_t)sample->module >= copy->n_module_rows))
			return sp_error_set(error, -SP_E_DAMAGED, 0,
					    "a sample names region %lld or module %lld, which do "
					    "not exist",
					    (long long)sample->region, (long long)sample->module);
		copy->inside++;
		copy->regions[sample->region] = 1;
		if (sample->module >= 0)
			copy->module_numbers[sample->module] = 1;
	}
	return 0;
}

static int write_block(struct sps_copy *copy, size_t n, struct sp_sps_writer *writer,
		       struct sp_error *error)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		const struct sp_sample_row *sample = &copy->block[i];

		if (sample->rank != copy->rank || sample->region < 0)
			continue;
		copy->out[kept++] = (struct sp_sps_sample){
			.region = copy->regions[sample->region],
			.module = sample->module < 0 ? -1 : copy->module_numbers[sample->module],
			.ip = sample->ip,
		};
	}
	return sp_sps_writer_add(writer, copy->out, kept, error);
}

/* ---- tables ---- */

/* Whether everything in the profile is the rank's: a file of samples has no rows that tell. */
static bool is_all_its(const struct sps_copy *copy)
{
	const struct sp_profile_info *info = sp_profile_info(copy->profile);

	return !info->n_rows && info->n_ranks <= 1;
}

static void number_regions(struct sps_copy *copy)
{
	const struct sp_profile_info *info = sp_profile_info(copy->profile);

	for (uint32_t i = 0; i < info->n_rows; i++) {
		const struct sp_row *row = sp_profile_row(copy->profile, i);

		if (row->rank == copy->rank)
			copy->regions[row->region] = 1;
	}
	for (uint32_t i = 0; i < info->n_regions; i++) {
		bool used = copy->regions[i] || is_all_its(copy);

		copy->regions[i] = used ? (int32_t)copy->n_names : -1;
		if (used)
			copy->names[copy->n_names++] = sp_profile_region(copy->profile, i);
	}
}

/* What has no file: memory that the program filled itself, the vdso. */
static bool is_file(const char *path)
{
	return path[0] && path[0] != '[' && strncmp(path, "//", 2) != 0;
}

static int number_module(struct sps_copy *copy, size_t index)
{
	const struct sp_module_row *row = &copy->module_rows[index];
	sp_cleanup(sp_freep) char *key = NULL;
	uint32_t number;
	int r;

	if (asprintf(&key, "%016llx%s", (unsigned long long)row->bias, row->path) < 0) {
		key = NULL;
		return -ENOMEM;
	}
	r = sp_pool_number(copy->paths, key, &number);
	if (r < 0)
		return r;
	copy->module_numbers[index] = number < SP_SPS_MAX_TABLE ? (int32_t)number : -1;
	if (number == copy->n_modules && number < SP_SPS_MAX_TABLE)
		copy->modules[copy->n_modules++] =
			(struct sp_sps_module){.path = row->path, .bias = row->bias};
	return 0;
}

/* Those that samples name, and those of the rank's processes. */
static int number_modules(struct sps_copy *copy, struct sp_error *error)
{
	const struct sp_process_row *processes;
	bool all = is_all_its(copy);
	size_t n;
	int r = sp_profile_processes(copy->profile, &processes, &n, error);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < copy->n_module_rows; i++) {
		const struct sp_module_row *row = &copy->module_rows[i];
		bool wanted = all || copy->module_numbers[i] ||
			      (row->process < n && processes[row->process].rank == copy->rank);

		copy->module_numbers[i] = -1;
		if (wanted && is_file(row->path))
			r = number_module(copy, i);
	}
	return r < 0 ? out_of_memory(error) : 0;
}

/* ---- rate and ticks ---- */

/* A number that the rank's own input had, the profile's, or -1. */
static int find_number(struct sps_copy *copy, const char *key, int64_t *ret, struct sp_error *error)
{
	const struct sp_rank_fact_row *ranks;
	const struct sp_fact *facts, *fact;
	size_t n;
	int r = sp_profile_rank_facts(copy->profile, &ranks, &n, error);

	*ret = -1;
	for (size_t i = 0; r == 0 && i < n; i++)
		if (ranks[i].rank == copy->rank && !strcmp(ranks[i].part, "meta") &&
		    !strcmp(ranks[i].key, key) && ranks[i].kind == SP_FACT_NUMBER) {
			*ret = strtoll(ranks[i].text, NULL, 10);
			return 0;
		}
	if (r == 0)
		r = sp_profile_meta(copy->profile, &facts, &n, error);
	if (r < 0)
		return r;
	fact = sp_fact_find(facts, n, key);
	if (fact && fact->kind == SP_FACT_NUMBER)
		*ret = fact->number;
	return 0;
}

static int find_sampling(struct sps_copy *copy, int32_t *ret_hz, int64_t *ret_ticks,
			 struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(copy->profile);
	int64_t hz, ticks;
	int r = find_number(copy, "sample_hz", &hz, error);

	if (r == 0)
		r = find_number(copy, "sample_ticks", &ticks, error);
	if (r < 0)
		return r;
	hz = hz < 0 ? info->hz : hz;
	ticks = ticks < 0 && info->n_ranks <= 1 ? info->ticks : ticks;
	*ret_hz = hz < 0 || hz > INT32_MAX ? 0 : (int32_t)hz;
	*ret_ticks = ticks > (int64_t)copy->all ? ticks : (int64_t)copy->all;
	return 0;
}

int sp_write_sps(struct sp_profile *profile, uint32_t rank, const char *path,
		 const struct sp_write_options *options, struct sp_error *error)
{
	sp_cleanup(sps_copy_free) struct sps_copy copy = {
		.profile = profile,
		.options = options,
		.rank = rank,
		.first = options->first_sample,
		.end = options->end_sample,
	};
	struct sp_sps_writer *writer = NULL;
	int64_t ticks = 0;
	int32_t hz = 0;
	int r;

	if (!copy.end)
		copy.end = sp_profile_info(profile)->n_samples;
	if (rank > INT32_MAX)
		return sp_error_set(error, -ERANGE, 0, "samples cannot have the rank %u", rank);
	r = sp_profile_modules(profile, &copy.module_rows, &copy.n_module_rows, error);
	if (r == 0)
		r = allocate(&copy, error);
	if (r == 0)
		r = each_block(&copy, NULL, look_at_block, error);
	if (r == 0)
		r = number_modules(&copy, error);
	if (r == 0)
		r = find_sampling(&copy, &hz, &ticks, error);
	if (r < 0)
		return r;
	number_regions(&copy);
	r = sp_sps_writer_open(path, options->output_flags, (int32_t)rank, hz, copy.names,
			       copy.n_names, copy.modules, copy.n_modules, &writer, error);
	if (r == 0)
		r = each_block(&copy, writer, write_block, error);
	if (r == 0)
		r = sp_sps_writer_commit(writer, ticks, error);
	sp_sps_writer_free(writer);
	return r;
}
