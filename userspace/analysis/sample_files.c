/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_files.c - which files have samples.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/profile_guard.h"
#include "userspace/analysis/sample_files_private.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

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

int sp_sample_files_failed(struct sp_sample_files *files, int code, const char *path)
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
		return sp_sample_files_no_memory(error);
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

int sp_sample_files_note_line_profiles(struct sp_sample_files *files, struct sp_profile *profile,
				       struct sp_error *error)
{
	const struct sp_extras *extras;
	int r = sp_profile_extras(profile, &extras, error);

	if (r < 0 || !extras->n_line_profiles)
		return r;
	files->line_profiles += extras->n_line_profiles;
	if (!files->with_line_profiles)
		files->with_line_profiles = strdup(sp_profile_path(profile));
	return files->with_line_profiles ? 0 : sp_sample_files_no_memory(error);
}

int sp_sample_files_note_unsampled(struct sp_sample_files *files, struct sp_profile *profile,
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
	r = sp_sample_files_note_unsampled(files, profile, error);
	return r < 0 ? r : sp_sample_files_note_line_profiles(files, profile, error);
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
		return sp_sample_files_no_memory(error);
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
	return r < 0 ? sp_sample_files_failed(files, r, path) : r;
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
		return sp_sample_files_no_memory(error);
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
	return r < 0 && !files->failed ? sp_sample_files_failed(files, r, path) : r;
}
