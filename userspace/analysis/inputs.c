/* SPDX-License-Identifier: BSD-2-Clause
 *
 * inputs.c - see inputs.h.
 */
#include "userspace/analysis/inputs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/profile_guard.h"
#include "userspace/analysis/inputs_notes.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/idmap.h"

void sp_inputs_free(struct sp_inputs *inputs)
{
	for (size_t i = 0; i < inputs->n; i++) {
		sp_profile_free(inputs->items[i].profile);
		free(inputs->items[i].path);
	}
	for (size_t i = 0; i < inputs->n_notes; i++)
		free(inputs->notes[i].text);
	free(inputs->items);
	free(inputs->notes);
	free(inputs->losses);
	free(inputs->cuts);
	sp_gaps_free(&inputs->gaps);
	*inputs = (struct sp_inputs){0};
}

static int blame(struct sp_inputs *inputs, const char *path, int code)
{
	snprintf(inputs->failed, sizeof(inputs->failed), "%s", path);
	return code;
}

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

/* ---- which files ---- */

static bool ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && !strcmp(name + n - m, suffix);
}

static int add_file(struct sp_inputs *inputs, const char *path, struct sp_error *error)
{
	struct sp_given *input = sp_array_add(&inputs->items, &inputs->n, &inputs->room);
	enum sp_format format;
	int r;

	if (input)
		input->path = strdup(path);
	if (!input || !input->path)
		return out_of_memory(error);
	r = sp_format_detect(path, &format, error);
	if (r < 0)
		return blame(inputs, path, r);
	if (format == SP_FORMAT_JOURNAL) {
		blame(inputs, path, 0);
		return sp_error_set(
			error, -SP_E_FORMAT, 0,
			"is a journal; make its final files first: sp-report recover %s", path);
	}
	r = sp_profile_open_guarded(path, NULL, &input->profile, error);
	return r < 0 ? blame(inputs, path, r) : 0;
}

static int select_suffix(const struct dirent *entry, const char *suffix)
{
	return entry->d_name[0] != '.' && ends_with(entry->d_name, suffix);
}

static int is_h5(const struct dirent *entry)
{
	return select_suffix(entry, ".h5");
}

static int is_spt(const struct dirent *entry)
{
	return select_suffix(entry, ".spt");
}

static int is_sps(const struct dirent *entry)
{
	return select_suffix(entry, ".sps");
}

static int is_journal(const struct dirent *entry)
{
	return select_suffix(entry, ".spj");
}

/* Adds the files of a directory that @filter takes; their number, or -errno. */
static int add_matching(struct sp_inputs *inputs, const char *directory,
			int (*filter)(const struct dirent *), struct sp_error *error)
{
	struct dirent **entries = NULL;
	int n = scandir(directory, &entries, filter, alphasort), r = 0;

	if (n < 0) {
		r = blame(inputs, directory, -errno);
		return sp_error_set(error, r, 0, "cannot be listed: %s", strerror(-r));
	}
	for (int i = 0; i < n; i++) {
		sp_cleanup(sp_freep) char *path = NULL;

		if (r == 0 && asprintf(&path, "%s/%s", directory, entries[i]->d_name) < 0) {
			path = NULL;
			r = out_of_memory(error);
		}
		if (r == 0)
			r = add_file(inputs, path, error);
		free(entries[i]);
	}
	free(entries);
	return r < 0 ? r : n;
}

static int no_files(struct sp_inputs *inputs, const char *directory, struct sp_error *error)
{
	struct dirent **entries = NULL;
	int n = scandir(directory, &entries, is_journal, alphasort);

	blame(inputs, directory, 0);
	if (n > 0)
		sp_error_set(error, -ENOENT, 0,
			     "has no profile, but a journal; make its final files first: sp-report "
			     "recover %s/%s",
			     directory, entries[0]->d_name);
	else
		sp_error_set(error, -ENOENT, 0,
			     "has no profile: no .h5, .spt or .sps file is in it");
	while (n > 0)
		free(entries[--n]);
	free(entries);
	return -ENOENT;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int note_other(struct sp_inputs *inputs, const char *directory, struct sp_error *error)
{
	sp_cleanup(sp_freep) char *other = NULL;

	if (asprintf(&other, "%s/other", directory) < 0) {
		other = NULL;
		return out_of_memory(error);
	}
	if (is_directory(other) && sp_inputs_note(inputs, inputs->n - 1, false,
						  "processes without a rank are in %s", other) < 0)
		return out_of_memory(error);
	return 0;
}

static int add_directory(struct sp_inputs *inputs, const char *directory, struct sp_error *error)
{
	sp_cleanup(sp_freep) char *spt = NULL;
	int n = add_matching(inputs, directory, is_h5, error), samples;

	if (n < 0)
		return n;
	if (n > 0)
		return note_other(inputs, directory, error);
	n = add_matching(inputs, directory, is_spt, error);
	if (n == 0) {
		if (asprintf(&spt, "%s/spt", directory) < 0) {
			spt = NULL;
			return out_of_memory(error);
		}
		if (is_directory(spt))
			n = add_matching(inputs, spt, is_spt, error);
	}
	samples = n < 0 ? n : add_matching(inputs, directory, is_sps, error);
	if (samples < 0)
		return samples;
	return n + samples ? note_other(inputs, directory, error)
			   : no_files(inputs, directory, error);
}

int sp_inputs_add(struct sp_inputs *inputs, const char *path, struct sp_error *error)
{
	sp_cleanup(sp_freep) char *clean = strdup(path);

	if (!clean)
		return out_of_memory(error);
	while (strlen(clean) > 1 && clean[strlen(clean) - 1] == '/')
		clean[strlen(clean) - 1] = 0;
	return is_directory(clean) ? add_directory(inputs, clean, error)
				   : add_file(inputs, clean, error);
}

/* ---- facts ---- */

static const struct sp_fact *find_fact(const struct sp_given *input, const char *key)
{
	const struct sp_fact *facts, *found = NULL;
	size_t n;

	if (sp_profile_meta(input->profile, &facts, &n, NULL) == 0)
		found = sp_fact_find(facts, n, key);
	if (!found && sp_profile_metadata(input->profile, &facts, &n, NULL) == 0)
		found = sp_fact_find(facts, n, key);
	return found;
}

const char *sp_given_text(const struct sp_given *input, const char *key)
{
	const struct sp_fact *fact = find_fact(input, key);

	return fact && fact->text[0] ? fact->text : NULL;
}

int64_t sp_given_number(const struct sp_given *input, const char *key, int64_t otherwise)
{
	const struct sp_fact *fact = find_fact(input, key);

	return fact && fact->is_number ? fact->number : otherwise;
}

void sp_given_rates(const struct sp_given *input, int64_t *ret_lowest, int64_t *ret_highest)
{
	const struct sp_rank_fact_row *rows;
	int64_t lowest = sp_profile_info(input->profile)->hz, highest;
	size_t n;

	if (lowest < 0)
		lowest = sp_given_number(input, "sample_hz", -1);
	highest = lowest;
	if (sp_profile_rank_facts(input->profile, &rows, &n, NULL) < 0)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t hz;

		if (rows[i].kind != SP_FACT_NUMBER || strcmp(rows[i].key, "sample_hz") != 0)
			continue;
		hz = strtoll(rows[i].text, NULL, 10);
		lowest = lowest < 0 || hz < lowest ? hz : lowest;
		highest = hz > highest ? hz : highest;
	}
	*ret_lowest = lowest;
	*ret_highest = highest;
}

/* ---- all of them ---- */

static int refuse_rank(struct sp_inputs *inputs, size_t input, size_t owner, uint32_t rank,
		       struct sp_error *error)
{
	const struct sp_given *one = &inputs->items[input], *other = &inputs->items[owner];

	blame(inputs, one->path, 0);
	if (one->group == other->group || !one->recording || !other->recording)
		return sp_error_set(error, -EINVAL, 0,
				    "holds rank %u, as %s does; give one of the two", rank,
				    other->path);
	return sp_error_set(error, -EINVAL, 0,
			    "holds rank %u, as %s does. Numbers are added up over the ranks of one "
			    "run, and these are two runs: give them one by one",
			    rank, other->path);
}

static int check_ranks(struct sp_inputs *inputs, struct sp_error *error)
{
	struct sp_idmap owners = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < inputs->n; i++) {
		const struct sp_profile_info *info = sp_profile_info(inputs->items[i].profile);
		bool sps = info->format == SP_FORMAT_SPS; /* may stand beside a trace of its rank */
		uint64_t group = inputs->apart ? inputs->items[i].group : 0;

		for (uint32_t k = 0; r == 0 && k < info->n_ranks; k++) {
			uint32_t rank = sp_profile_rank(inputs->items[i].profile, k);
			uint64_t key = group << 33 | (uint64_t)sps << 32 | rank;
			uint32_t owner = sp_idmap_get(&owners, key);

			if (owner != SP_IDMAP_NONE)
				r = refuse_rank(inputs, i, owner, rank, error);
			else if (sp_idmap_set(&owners, key, (uint32_t)i) < 0)
				r = out_of_memory(error);
		}
	}
	sp_idmap_free(&owners);
	return r;
}

static void find_recordings(struct sp_inputs *inputs)
{
	for (size_t i = 0; i < inputs->n; i++) {
		struct sp_given *input = &inputs->items[i];

		input->recording = sp_given_text(input, "recording_id");
		input->group = i;
		for (size_t k = 0; input->recording && k < i; k++)
			if (inputs->items[k].recording &&
			    !strcmp(inputs->items[k].recording, input->recording)) {
				input->group = k;
				break;
			}
	}
}

int sp_inputs_finish(struct sp_inputs *inputs, struct sp_error *error)
{
	int r;

	find_recordings(inputs);
	r = check_ranks(inputs, error);
	for (size_t i = 0; r == 0 && i < inputs->n; i++) {
		r = sp_profile_complete(inputs->items[i].profile, inputs->no_self ? 0 : UINT64_MAX,
					error);
		if (r < 0)
			return blame(inputs, inputs->items[i].path, r);
	}
	return r < 0 ? r : sp_inputs_gather(inputs, error);
}
