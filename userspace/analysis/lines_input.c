/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_input.c - finds sample files, streams their samples into the counts.
 *
 * Reads in pieces of a fixed size, so memory does not depend on the number of samples.
 */
#include "userspace/analysis/lines_input.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/profile_guard.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define CHUNK 8192

SP_DEFINE_CLEANUP(struct sp_profile *, sp_profile_free);

void sp_lines_input_init(struct sp_lines_input *input, struct sp_lines *lines,
			 struct sp_symbols *symbols)
{
	*input = (struct sp_lines_input){.lines = lines, .symbols = symbols, .hz = INT64_MIN};
}

void sp_lines_input_done(struct sp_lines_input *input)
{
	for (size_t i = 0; i < input->n_files; i++)
		free(input->files[i]);
	for (size_t i = 0; i < input->n_losses; i++)
		free((char *)input->losses[i].cause);
	free(input->files);
	free(input->losses);
	free(input->failed);
	free(input->with_line_profiles);
	*input = (struct sp_lines_input){0};
}

/* ---- which files ---- */

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

/* An error's text is about a file that it does not name: this one. */
static int failed(struct sp_lines_input *input, int code, const char *path)
{
	free(input->failed);
	input->failed = strdup(path);
	return code;
}

/* Two names of one file count once: its samples must not. */
static bool is_known(const struct sp_lines_input *input, const struct stat *status)
{
	struct stat other;

	for (size_t i = 0; i < input->n_files; i++)
		if (stat(input->files[i], &other) == 0 && other.st_dev == status->st_dev &&
		    other.st_ino == status->st_ino)
			return true;
	return false;
}

static int add_file(struct sp_lines_input *input, const char *path, struct sp_error *error)
{
	struct stat status;
	char **file;

	if (stat(path, &status) < 0) {
		int r = -errno;

		return sp_error_set(error, r, 0, "%s", strerrordesc_np(-r));
	}
	if (is_known(input, &status))
		return 0;
	file = sp_array_add(&input->files, &input->n_files, &input->files_room);
	if (file)
		*file = strdup(path);
	if (!file || !*file) {
		input->n_files -= file != NULL;
		return out_of_memory(error);
	}
	if (!input->written.tv_sec || status.st_mtim.tv_sec < input->written.tv_sec)
		input->written = status.st_mtim;
	return 0;
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name), end = strlen(suffix);

	return length > end && !strcmp(name + length - end, suffix);
}

static int is_sample_file(const struct dirent *entry)
{
	return has_suffix(entry->d_name, ".h5") || has_suffix(entry->d_name, ".sps");
}

/* What to point to where there are no samples. */
static int note_line_profiles(struct sp_lines_input *input, struct sp_profile *profile,
			      struct sp_error *error)
{
	const struct sp_extras *extras;
	int r = sp_profile_extras(profile, &extras, error);

	if (r < 0 || !extras->n_line_profiles)
		return r;
	input->line_profiles += extras->n_line_profiles;
	if (!input->with_line_profiles)
		input->with_line_profiles = strdup(sp_profile_path(profile));
	return input->with_line_profiles ? 0 : out_of_memory(error);
}

/* True if the HDF5 file has samples of ours. Others (scope-profiler's own) have none. */
static int has_samples(struct sp_lines_input *input, const char *path, bool *ret_has,
		       struct sp_error *error)
{
	sp_cleanup(sp_profile_freep) struct sp_profile *profile = NULL;
	int r = sp_profile_open_guarded(path, NULL, &profile, error);

	if (r == 0)
		*ret_has = sp_profile_info(profile)->n_samples > 0;
	return r < 0 || *ret_has ? r : note_line_profiles(input, profile, error);
}

/* Adds one file of a directory. The names are sorted, so x.h5 comes before x.sps; @taken is the
 * last .h5 that was added. */
static int add_entry(struct sp_lines_input *input, const char *directory, const char *name,
		     char *taken, struct sp_error *error)
{
	sp_cleanup(sp_freep) char *path = NULL;
	bool wanted = true;
	int r = 0;

	if (asprintf(&path, "%s/%s", directory, name) < 0) {
		path = NULL;
		return out_of_memory(error);
	}
	if (has_suffix(name, ".h5")) {
		r = has_samples(input, path, &wanted, error);
		if (r == 0 && wanted)
			snprintf(taken, NAME_MAX + 1, "%.*s", (int)strlen(name) - 3, name);
	} else {
		wanted = strlen(taken) != strlen(name) - 4 ||
			 strncmp(taken, name, strlen(taken)) != 0;
	}
	if (r == 0 && wanted)
		r = add_file(input, path, error);
	return r < 0 ? failed(input, r, path) : r;
}

static int add_directory(struct sp_lines_input *input, const char *path, struct sp_error *error)
{
	char taken[NAME_MAX + 1] = "";
	size_t before = input->n_files;
	struct dirent **entries;
	int n = scandir(path, &entries, is_sample_file, alphasort), r = 0;

	if (n < 0) {
		r = -errno;
		return sp_error_set(error, r, 0, "%s", strerrordesc_np(-r));
	}
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = add_entry(input, path, entries[i]->d_name, taken, error);
		free(entries[i]);
	}
	free(entries);
	if (r == 0 && input->n_files == before && input->line_profiles)
		r = sp_error_set(error, -ENOENT, 0,
				 "no samples are in this directory, but line profiles: sp-report "
				 "dump --section lines %s",
				 input->with_line_profiles);
	else if (r == 0 && input->n_files == before)
		r = sp_error_set(error, -ENOENT, 0,
				 "no .sps file and no .h5 file with samples is in this directory: "
				 "record with sampling on (sp-trace -F 99)");
	return r;
}

int sp_lines_input_add(struct sp_lines_input *input, const char *path, struct sp_error *error)
{
	struct stat status;
	int r;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		r = add_directory(input, path, error);
	else
		r = add_file(input, path, error);
	return r < 0 && !input->failed ? failed(input, r, path) : r;
}

/* ---- what stands in them ---- */

static bool is_wanted(const struct sp_lines_input *input, uint32_t rank)
{
	for (size_t i = 0; i < input->n_ranks; i++)
		if (input->ranks[i] == rank)
			return true;
	return !input->n_ranks;
}

/* One file's numbers of regions and modules, and ours. */
struct reading {
	uint32_t *regions;
	size_t n_regions;
	uint32_t *modules; /* in the symbols */
	uint64_t *biases;
	size_t n_modules;
};

static void reading_done(struct reading *reading)
{
	free(reading->regions);
	free(reading->modules);
	free(reading->biases);
}

static int read_tables(struct sp_lines_input *input, struct sp_profile *profile,
		       struct reading *reading, struct sp_error *error)
{
	const struct sp_module_row *modules;
	int r = sp_profile_modules(profile, &modules, &reading->n_modules, error);

	if (r < 0)
		return r;
	reading->n_regions = sp_profile_info(profile)->n_regions;
	reading->regions = calloc(reading->n_regions + 1, sizeof(*reading->regions));
	reading->modules = calloc(reading->n_modules + 1, sizeof(*reading->modules));
	reading->biases = calloc(reading->n_modules + 1, sizeof(*reading->biases));
	if (!reading->regions || !reading->modules || !reading->biases)
		return out_of_memory(error);
	for (size_t i = 0; i < reading->n_regions && r == 0; i++)
		r = sp_lines_add_region(input->lines, sp_profile_region(profile, (uint32_t)i),
					&reading->regions[i]);
	for (size_t i = 0; i < reading->n_modules && r == 0; i++) {
		r = sp_symbols_add_module(input->symbols, modules[i].path, modules[i].build_id,
					  &reading->modules[i]);
		if (r == 0 &&
		    !sp_symbols_module(input->symbols, reading->modules[i])->fixed_address)
			reading->biases[i] = modules[i].bias;
	}
	return r < 0 ? out_of_memory(error) : 0;
}

static int add_losses(struct sp_lines_input *input, struct sp_profile *profile,
		      struct sp_error *error)
{
	const struct sp_loss_row *rows;
	size_t n;
	int r = sp_profile_losses(profile, &rows, &n, error);

	for (size_t i = 0; i < n && r == 0; i++) {
		struct sp_lines_loss *loss = NULL;

		for (size_t k = 0; k < input->n_losses && !loss; k++)
			if (!strcmp(input->losses[k].cause, rows[i].cause))
				loss = &input->losses[k];
		if (!loss) {
			char *cause = strdup(rows[i].cause);

			loss = cause ? sp_array_add(&input->losses, &input->n_losses,
						    &input->losses_room)
				     : NULL;
			if (!loss) {
				free(cause);
				return out_of_memory(error);
			}
			loss->cause = cause;
		}
		loss->count += rows[i].count;
	}
	return r;
}

static int add_sample(struct sp_lines_input *input, const struct reading *reading,
		      const struct sp_sample_row *sample)
{
	uint32_t region = SP_LINES_NO_REGION, module = SP_LINES_NO_MODULE;
	uint64_t address = 0;

	input->samples++;
	input->in_kernel += sample->kernel != 0;
	if (sample->region >= 0 && (uint64_t)sample->region < reading->n_regions)
		region = reading->regions[sample->region];
	if (sample->module >= 0 && (uint64_t)sample->module < reading->n_modules) {
		module = reading->modules[sample->module];
		address = sample->ip - reading->biases[sample->module];
	}
	return sp_lines_add(input->lines, region, module, address, 1);
}

static int read_samples(struct sp_lines_input *input, struct sp_profile *profile,
			const struct reading *reading, struct sp_error *error)
{
	uint64_t total = sp_profile_info(profile)->n_samples;
	sp_cleanup(sp_freep) struct sp_sample_row *samples = calloc(CHUNK, sizeof(*samples));

	if (!samples)
		return out_of_memory(error);
	for (uint64_t at = 0; at < total;) {
		size_t n = total - at < CHUNK ? (size_t)(total - at) : CHUNK;
		int r = sp_profile_read_samples(profile, at, n, samples, error);

		if (r < 0)
			return r;
		for (size_t i = 0; i < n; i++)
			if (is_wanted(input, samples[i].rank) &&
			    add_sample(input, reading, &samples[i]) < 0)
				return out_of_memory(error);
		at += n;
	}
	return 0;
}

/* The facts that stand beside the samples. A .sps file is of one rank, which its samples carry too.
 */
static int read_facts(struct sp_lines_input *input, struct sp_profile *profile, uint64_t read,
		      struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	int64_t hz = info->hz;

	if (info->format == SP_FORMAT_SPS && read == info->n_samples && info->ticks > 0 &&
	    (uint64_t)info->ticks > info->n_samples)
		input->outside += (uint64_t)info->ticks - info->n_samples;
	if (info->format == SP_FORMAT_HDF5) {
		const struct sp_fact *facts, *fact;
		size_t n;
		int r = sp_profile_meta(profile, &facts, &n, error);

		if (r < 0)
			return r;
		fact = sp_fact_find(facts, n, "sample_hz");
		if (fact && fact->is_number)
			hz = fact->number;
		input->has_outside = true;
		input->foreign |= !sp_fact_find(facts, n, "recording_id");
	} else {
		input->foreign = true;
	}
	if (input->hz == INT64_MIN)
		input->hz = hz;
	else if (input->hz != hz)
		input->hz = -1;
	return 0;
}

static int read_file(struct sp_lines_input *input, const char *path, struct sp_error *error)
{
	sp_cleanup(sp_profile_freep) struct sp_profile *profile = NULL;
	struct reading reading = {0};
	uint64_t before = input->samples;
	int r = sp_profile_open_guarded(path, NULL, &profile, error);

	if (r == 0)
		r = read_tables(input, profile, &reading, error);
	if (r == 0)
		r = read_samples(input, profile, &reading, error);
	if (r == 0)
		r = read_facts(input, profile, input->samples - before, error);
	if (r == 0)
		r = add_losses(input, profile, error);
	if (r == 0 && !sp_profile_info(profile)->n_samples)
		r = note_line_profiles(input, profile, error);
	reading_done(&reading);
	return r;
}

int sp_lines_input_read(struct sp_lines_input *input, struct sp_error *error)
{
	for (size_t i = 0; i < input->n_files; i++) {
		int r = read_file(input, input->files[i], error);

		if (r < 0)
			return failed(input, r, input->files[i]);
	}
	return 0;
}
