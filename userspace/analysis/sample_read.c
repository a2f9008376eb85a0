/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_read.c - what stands in the files that have samples.
 *
 * Reads in pieces of a fixed size, so memory does not depend on the number of samples.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/profile_guard.h"
#include "formats/util.h"
#include "userspace/analysis/sample_files_private.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define CHUNK 8192

SP_DEFINE_CLEANUP(struct sp_profile *, sp_profile_free);

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
			return sp_sample_files_no_memory(error);
		loss->cause = gap->name;
		sp_add_capped(&loss->count, gap->count);
		if (sp_loss_of(gap->cause) != SP_LOSS_OF_SAMPLES)
			continue;
		if (gap->rank == UINT32_MAX)
			sp_add_capped(&files->by_rank.lost, gap->count);
		else if (sp_sample_ranks_add(&files->by_rank, gap->rank, 0, gap->count) < 0)
			return sp_sample_files_no_memory(error);
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
			return sp_sample_files_no_memory(error);
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
		return sp_sample_files_no_memory(error);
	for (uint64_t at = 0; at < total;) {
		size_t n = total - at < CHUNK ? (size_t)(total - at) : CHUNK;
		int r = sp_profile_read_samples(profile, at, n, samples, error);

		if (r == 0 && count_samples(files, samples, n, sampled, info->n_regions) < 0)
			return sp_sample_files_no_memory(error);
		if (r == 0)
			r = reader->take(reader->data, profile, samples, at, n, error);
		if (r)
			return r;
		at += n;
	}
	for (uint32_t i = 0; i < info->n_regions; i++)
		if (sampled[i] &&
		    sp_sample_gaps_note_sampled(&files->gaps, sp_profile_region(profile, i)) < 0)
			return sp_sample_files_no_memory(error);
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
		r = sp_sample_files_note_line_profiles(files, profile, error);
	if (r == 0 && !sp_profile_info(profile)->n_samples &&
	    sp_profile_info(profile)->format == SP_FORMAT_HDF5)
		r = sp_sample_files_note_unsampled(files, profile, error);
	return r;
}

int sp_sample_files_read(struct sp_sample_files *files, const struct sp_sample_reader *reader,
			 struct sp_error *error)
{
	for (size_t i = 0; i < files->n; i++) {
		int r = read_file(files, i, reader, error);

		if (r)
			return sp_sample_files_failed(files, r, files->paths[i]);
	}
	return 0;
}

uint64_t sp_sample_files_stored_lines(const struct sp_sample_files *files)
{
	uint64_t samples = 0, known = 0;

	for (size_t i = 0; i < files->n; i++) {
		sp_cleanup(sp_profile_freep) struct sp_profile *profile = NULL;
		const struct sp_extras *extras;
		struct sp_error error;

		if (sp_profile_open_guarded(files->paths[i], NULL, &profile, &error) < 0 ||
		    sp_profile_extras(profile, &extras, &error) < 0)
			return 0;
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
	return samples == files->samples ? known : 0;
}
