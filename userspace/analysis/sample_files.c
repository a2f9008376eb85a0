/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_files.c - see sample_files.h.
 *
 * Reads in pieces of a fixed size, so memory does not depend on the number of samples.
 */
#include "userspace/analysis/sample_files.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/profile_guard.h"
#include "formats/util.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define CHUNK 8192

SP_DEFINE_CLEANUP(struct sp_profile *, sp_profile_free);

void sp_sample_files_init(struct sp_sample_files *files)
{
	*files = (struct sp_sample_files){.hz = INT64_MIN};
}

void sp_sample_files_done(struct sp_sample_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->paths[i]);
	free(files->paths);
	free(files->losses);
	sp_sample_gaps_done(&files->gaps);
	sp_sample_ranks_done(&files->by_rank);
	free(files->failed);
	free(files->other);
	free(files->with_line_profiles);
	*files = (struct sp_sample_files){0};
}

/* ---- which files ---- */

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

/* An error's text is about a file that it does not name: this one. */
static int failed(struct sp_sample_files *files, int code, const char *path)
{
	free(files->failed);
	files->failed = strdup(path);
	return code;
}

/* Two names of one file count once: its samples must not. */
static bool is_known(const struct sp_sample_files *files, const struct stat *status)
{
	struct stat other;

	for (size_t i = 0; i < files->n; i++)
		if (stat(files->paths[i], &other) == 0 && other.st_dev == status->st_dev &&
		    other.st_ino == status->st_ino)
			return true;
	return false;
}

static int add_file(struct sp_sample_files *files, const char *path, struct sp_error *error)
{
	struct stat status;
	char **file;

	if (stat(path, &status) < 0) {
		int r = -errno;

		return sp_error_set(error, r, 0, "%s", strerrordesc_np(-r));
	}
	if (is_known(files, &status))
		return 0;
	file = sp_array_add(&files->paths, &files->n, &files->room);
	if (file)
		*file = strdup(path);
	if (!file || !*file) {
		files->n -= file != NULL;
		return out_of_memory(error);
	}
	if (!files->written.tv_sec || status.st_mtim.tv_sec < files->written.tv_sec)
		files->written = status.st_mtim;
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
static int note_line_profiles(struct sp_sample_files *files, struct sp_profile *profile,
			      struct sp_error *error)
{
	const struct sp_extras *extras;
	int r = sp_profile_extras(profile, &extras, error);

	if (r < 0 || !extras->n_line_profiles)
		return r;
	files->line_profiles += extras->n_line_profiles;
	if (!files->with_line_profiles)
		files->with_line_profiles = strdup(sp_profile_path(profile));
	return files->with_line_profiles ? 0 : out_of_memory(error);
}

/* Whether a file without samples is a recording of ours, and what it wanted. */
static int note_unsampled(struct sp_sample_files *files, struct sp_profile *profile,
			  struct sp_error *error)
{
	const struct sp_fact *facts, *fact;
	size_t n;
	int r = sp_profile_meta(profile, &facts, &n, error);

	if (r < 0 || !sp_fact_find(facts, n, "recording_id"))
		return r;
	fact = sp_fact_find(facts, n, "sample_hz");
	files->unsampled = true;
	files->unsampled_hz = fact && fact->is_number ? fact->number : -1;
	return 0;
}

/* Whether the HDF5 file has samples of ours, or tells of losses. Others (scope-profiler's own) have
 * neither. */
static int look_inside(struct sp_sample_files *files, const char *path, bool *ret_samples,
		       bool *ret_losses, struct sp_error *error)
{
	sp_cleanup(sp_profile_freep) struct sp_profile *profile = NULL;
	const struct sp_loss_row *losses;
	size_t n = 0;
	int r = sp_profile_open_guarded(path, NULL, &profile, error);

	if (r == 0)
		r = sp_profile_losses(profile, &losses, &n, error);
	if (r < 0)
		return r;
	*ret_samples = sp_profile_info(profile)->n_samples > 0;
	*ret_losses = n > 0;
	if (*ret_samples || *ret_losses) /* noted when it is read */
		return 0;
	r = note_unsampled(files, profile, error);
	return r < 0 ? r : note_line_profiles(files, profile, error);
}

/* Adds one file of a directory. The names are sorted, so x.h5 comes before x.sps; @taken is the
 * last .h5 that was added. */
static int add_entry(struct sp_sample_files *files, const char *directory, const char *name,
		     char *taken, struct sp_error *error)
{
	sp_cleanup(sp_freep) char *path = NULL;
	bool wanted = true, samples, losses;
	int r = 0;

	if (asprintf(&path, "%s/%s", directory, name) < 0) {
		path = NULL;
		return out_of_memory(error);
	}
	if (has_suffix(name, ".h5")) {
		r = look_inside(files, path, &samples, &losses, error);
		wanted = r == 0 && (samples || losses);
		if (r == 0 && samples)
			snprintf(taken, NAME_MAX + 1, "%.*s", (int)strlen(name) - 3, name);
	} else {
		wanted = strlen(taken) != strlen(name) - 4 ||
			 strncmp(taken, name, strlen(taken)) != 0;
	}
	if (r == 0 && wanted)
		r = add_file(files, path, error);
	return r < 0 ? failed(files, r, path) : r;
}

static int add_directory(struct sp_sample_files *files, const char *path, struct sp_error *error)
{
	char taken[NAME_MAX + 1] = "";
	size_t before = files->n;
	struct dirent **entries;
	int n = scandir(path, &entries, is_sample_file, alphasort), r = 0;

	if (n < 0) {
		r = -errno;
		return sp_error_set(error, r, 0, "%s", strerrordesc_np(-r));
	}
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = add_entry(files, path, entries[i]->d_name, taken, error);
		free(entries[i]);
	}
	free(entries);
	if (r == 0 && files->n == before && files->line_profiles)
		r = sp_error_set(error, -ENOENT, 0,
				 "no samples are in this directory, but line profiles: sp-report "
				 "dump --section lines %s",
				 files->with_line_profiles);
	else if (r == 0 && files->n == before)
		r = sp_error_set(error, -ENOENT, 0,
				 "no .sps file and no .h5 file with samples is in this directory: "
				 "record with sampling on (sp-trace -F 99)");
	return r;
}

/* Processes without a rank are a recording of their own, beside those with one. */
static int note_other(struct sp_sample_files *files, const char *directory, struct sp_error *error)
{
	sp_cleanup(sp_freep) char *other = NULL;
	size_t length = strlen(directory);
	struct stat status;

	while (length > 1 && directory[length - 1] == '/')
		length--;
	if (asprintf(&other, "%.*s/other", (int)length, directory) < 0) {
		other = NULL;
		return out_of_memory(error);
	}
	if (!files->other && stat(other, &status) == 0 && S_ISDIR(status.st_mode))
		files->other = sp_take(other);
	return 0;
}

int sp_sample_files_add(struct sp_sample_files *files, const char *path, struct sp_error *error)
{
	struct stat status;
	int r;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
		r = add_directory(files, path, error);
		if (r == 0)
			r = note_other(files, path, error);
	} else {
		r = add_file(files, path, error);
	}
	return r < 0 && !files->failed ? failed(files, r, path) : r;
}

/* ---- what stands in them ---- */

bool sp_sample_files_wants(const struct sp_sample_files *files, uint32_t rank)
{
	for (size_t i = 0; i < files->n_ranks; i++)
		if (files->ranks[i] == rank)
			return true;
	return !files->n_ranks;
}

static bool is_wanted(const void *data, uint32_t rank)
{
	return sp_sample_files_wants(data, rank);
}

static int add_losses(struct sp_sample_files *files, struct sp_profile *profile, size_t file,
		      struct sp_error *error)
{
	size_t before = files->gaps.gaps.n;
	int r = sp_sample_gaps_add(&files->gaps, profile, file, is_wanted, files, error);

	for (size_t i = before; i < files->gaps.gaps.n && r == 0; i++) {
		const struct sp_gap *gap = &files->gaps.gaps.items[i];
		struct sp_sample_loss *loss = NULL;

		for (size_t k = 0; k < files->n_losses && !loss; k++)
			if (!strcmp(files->losses[k].cause, gap->name))
				loss = &files->losses[k];
		if (!loss)
			loss = sp_array_add(&files->losses, &files->n_losses, &files->losses_room);
		if (!loss)
			return out_of_memory(error);
		loss->cause = gap->name;
		sp_add_capped(&loss->count, gap->count);
		if (sp_loss_of(gap->cause) != SP_LOSS_OF_SAMPLES)
			continue;
		if (gap->rank == UINT32_MAX)
			sp_add_capped(&files->by_rank.lost, gap->count);
		else if (sp_sample_ranks_add(&files->by_rank, gap->rank, 0, gap->count) < 0)
			return out_of_memory(error);
	}
	return r;
}

/* Ranks without a sample are known by their calls and threads. */
static int add_ranks(struct sp_sample_files *files, struct sp_profile *profile,
		     struct sp_error *error)
{
	uint32_t n = sp_profile_info(profile)->n_ranks;

	for (uint32_t i = 0; i < n; i++)
		if (sp_sample_ranks_add(&files->by_rank, sp_profile_rank(profile, i), 0, 0) < 0)
			return out_of_memory(error);
	return 0;
}

/* @sampled: the file's regions that a wanted sample was in. */
static int count_samples(struct sp_sample_files *files, const struct sp_sample_row *samples,
			 size_t n, bool *sampled, size_t n_regions)
{
	for (size_t from = 0, to; from < n; from = to) {
		uint32_t rank = samples[from].rank;
		bool wanted = sp_sample_files_wants(files, rank);

		for (to = from; to < n && samples[to].rank == rank; to++) {
			int64_t region = samples[to].region;

			files->in_kernel += wanted && samples[to].kernel;
			if (wanted && region >= 0 && (uint64_t)region < n_regions)
				sampled[region] = true;
		}
		files->samples += wanted ? to - from : 0;
		if (sp_sample_ranks_add(&files->by_rank, rank, to - from, 0) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_samples(struct sp_sample_files *files, struct sp_profile *profile,
			const struct sp_sample_reader *reader, struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	uint64_t total = info->n_samples;
	sp_cleanup(sp_freep) struct sp_sample_row *samples = calloc(CHUNK, sizeof(*samples));
	sp_cleanup(sp_freep) bool *sampled = calloc(info->n_regions + 1, sizeof(*sampled));

	if (!samples || !sampled)
		return out_of_memory(error);
	for (uint64_t at = 0; at < total;) {
		size_t n = total - at < CHUNK ? (size_t)(total - at) : CHUNK;
		int r = sp_profile_read_samples(profile, at, n, samples, error);

		if (r == 0 && count_samples(files, samples, n, sampled, info->n_regions) < 0)
			return out_of_memory(error);
		if (r == 0)
			r = reader->take(reader->data, profile, samples, at, n, error);
		if (r)
			return r;
		at += n;
	}
	for (uint32_t i = 0; i < info->n_regions; i++)
		if (sampled[i] &&
		    sp_sample_gaps_note_sampled(&files->gaps, sp_profile_region(profile, i)) < 0)
			return out_of_memory(error);
	return 0;
}

/* The facts that stand beside the samples. A .sps file is of one rank, which its samples carry too.
 */
static int read_facts(struct sp_sample_files *files, struct sp_profile *profile, uint64_t read,
		      struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	int64_t hz = info->hz;

	if (info->format == SP_FORMAT_SPS && read == info->n_samples && info->ticks > 0 &&
	    (uint64_t)info->ticks > info->n_samples)
		files->outside += (uint64_t)info->ticks - info->n_samples;
	if (info->format == SP_FORMAT_HDF5) {
		const struct sp_fact *facts, *fact;
		size_t n;
		int r = sp_profile_meta(profile, &facts, &n, error);

		if (r < 0)
			return r;
		fact = sp_fact_find(facts, n, "sample_hz");
		if (fact && fact->is_number)
			hz = fact->number;
		files->has_outside = true;
		files->foreign |= !sp_fact_find(facts, n, "recording_id");
	} else {
		files->foreign = true;
	}
	if (files->hz == INT64_MIN)
		files->hz = hz;
	else if (files->hz != hz)
		files->hz = -1;
	return 0;
}

static int read_file(struct sp_sample_files *files, size_t file,
		     const struct sp_sample_reader *reader, struct sp_error *error)
{
	sp_cleanup(sp_profile_freep) struct sp_profile *profile = NULL;
	uint64_t before = files->samples;
	int r = sp_profile_open_guarded(files->paths[file], NULL, &profile, error);

	if (r == 0)
		r = reader->begin(reader->data, profile, error);
	if (r == 0)
		r = read_samples(files, profile, reader, error);
	if (r == 0 && reader->end)
		r = reader->end(reader->data, profile, error);
	if (r == 0)
		r = read_facts(files, profile, files->samples - before, error);
	if (r == 0)
		r = add_losses(files, profile, file, error);
	if (r == 0)
		r = add_ranks(files, profile, error);
	if (r == 0 && !sp_profile_info(profile)->n_samples)
		r = note_line_profiles(files, profile, error);
	if (r == 0 && !sp_profile_info(profile)->n_samples &&
	    sp_profile_info(profile)->format == SP_FORMAT_HDF5)
		r = note_unsampled(files, profile, error);
	return r;
}

int sp_sample_files_read(struct sp_sample_files *files, const struct sp_sample_reader *reader,
			 struct sp_error *error)
{
	for (size_t i = 0; i < files->n; i++) {
		int r = read_file(files, i, reader, error);

		if (r)
			return failed(files, r, files->paths[i]);
	}
	return 0;
}

bool sp_sample_files_have_lines(const struct sp_sample_files *files)
{
	uint64_t samples = 0, known = 0;

	for (size_t i = 0; i < files->n; i++) {
		sp_cleanup(sp_profile_freep) struct sp_profile *profile = NULL;
		const struct sp_extras *extras;
		struct sp_error error;

		if (sp_profile_open_guarded(files->paths[i], NULL, &profile, &error) < 0 ||
		    sp_profile_extras(profile, &extras, &error) < 0)
			return false;
		for (size_t k = 0; k < extras->n_line_profiles; k++) {
			const struct sp_line_profile *lines = &extras->line_profiles[k];

			for (size_t j = 0; j < lines->n; j++) {
				if (!sp_sample_files_wants(files, lines->rank) ||
				    lines->hits[j] <= 0)
					continue;
				sp_add_capped(&samples, (uint64_t)lines->hits[j]);
				if (lines->lines[j] > 0)
					sp_add_capped(&known, (uint64_t)lines->hits[j]);
			}
		}
	}
	return known && samples == files->samples;
}
