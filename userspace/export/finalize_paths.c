/* SPDX-License-Identifier: BSD-2-Clause
 *
 * finalize_paths.c - where the files of a recording are.
 *
 *   DIR/[job_JOB/][other/][spt/]PROGRAM_rankNNNNN.SUFFIX
 *
 * Invariant: whatever the names of program and job are, no file is made outside of DIR.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/directory.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/export/finalize_internal.h"

#define MAX_PART 128 /* bytes of a name that is put into a path */

/* A part of a path: no slash, no control character, no dot or dash in front. */
static void put_part(char *out, const char *name)
{
	size_t n = 0;

	for (; *name && n < MAX_PART; name++) {
		unsigned char c = (unsigned char)*name;

		out[n] = c == '/' || c < 0x20 || c == 0x7f || (n == 0 && (c == '.' || c == '-'))
				 ? '_'
				 : *name;
		n++;
	}
	/* Not half a character at the end. */
	while (*name && n && (out[n - 1] & 0x80)) {
		n--;
		if ((out[n] & 0xc0) == 0xc0)
			break;
	}
	out[n] = 0;
}

char *sp_finalizer_path(const struct sp_finalizer *fin, const struct sp_unit *unit,
			const struct sp_sink_ops *sink)
{
	char program[MAX_PART + 1], job[MAX_PART + 1], *path;

	put_part(program, fin->program);
	put_part(job, unit->job[0] ? unit->job : "none");
	if (asprintf(&path, "%s%s%s%s%s%s%s_rank%05u.%s",
		     fin->recording->several_jobs ? "job_" : "",
		     fin->recording->several_jobs ? job : "",
		     fin->recording->several_jobs ? "/" : "", unit->other ? "other/" : "",
		     sink->subdirectory ? sink->subdirectory : "", sink->subdirectory ? "/" : "",
		     program, unit->rank, sink->name) < 0)
		return NULL;
	return path;
}

char *sp_finalizer_full_path(const struct sp_finalizer *fin, const char *path)
{
	char *full;

	return asprintf(&full, "%s/%s", fin->options->directory, path) < 0 ? NULL : full;
}

static int make_directory(struct sp_finalizer *fin, const char *path, struct sp_error *error)
{
	int r = sp_directory_make(path);

	if (r == 0 || r == -EEXIST)
		return 0;
	sp_finalizer_blame(fin, path, r);
	return sp_error_set(error, r, 0, "the directory cannot be made: %s", sp_directory_error(r));
}

/* Makes the directories below the output directory that a path names. */
static int make_parents(struct sp_finalizer *fin, char *full, struct sp_error *error)
{
	for (char *at = full + strlen(fin->options->directory) + 1; (at = strchr(at, '/')); at++) {
		int r;

		*at = 0;
		r = make_directory(fin, full, error);
		*at = '/';
		if (r < 0)
			return r;
	}
	return 0;
}

static int prepare_path(struct sp_finalizer *fin, const struct sp_unit *unit,
			const struct sp_sink_ops *sink, bool make, struct sp_error *error)
{
	sp_cleanup(sp_freep) char *path = sp_finalizer_path(fin, unit, sink);
	sp_cleanup(sp_freep) char *full = path ? sp_finalizer_full_path(fin, path) : NULL;
	struct stat st;

	if (!full)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	if (make)
		return make_parents(fin, full, error);
	if (!fin->options->force && lstat(full, &st) == 0) {
		sp_finalizer_blame(fin, full, 0);
		return sp_error_set(
			error, -EEXIST, 0,
			"is there already: choose another directory with -o, or replace it "
			"with --force");
	}
	return 0;
}

int sp_finalizer_prepare_paths(struct sp_finalizer *fin, struct sp_error *error)
{
	int r = make_directory(fin, fin->options->directory, error);

	/* All are looked at before the first directory is made. */
	for (int make = 0; make < 2; make++)
		for (size_t u = 0; u < fin->recording->n_units; u++)
			for (size_t s = 0; r == 0 && s < fin->n_sinks; s++)
				r = prepare_path(fin, &fin->recording->units[u], fin->sinks[s],
						 make, error);
	return r;
}

/* Removes the directories above a file, up to the output directory, as far as they are empty. */
static void remove_parents(const struct sp_finalizer *fin, char *full)
{
	char *slash;

	while ((slash = strrchr(full, '/')) &&
	       slash - full > (long)strlen(fin->options->directory)) {
		*slash = 0;
		if (sp_directory_remove(full) < 0) /* refuses what is not empty */
			break;
	}
}

void sp_finalizer_remove_files(struct sp_finalizer *fin)
{
	for (size_t i = 0; i < fin->result->n_files; i++) {
		sp_cleanup(sp_freep) char *full =
			sp_finalizer_full_path(fin, fin->result->files[i]);

		if (full)
			(void)sp_directory_unlink(full);
	}
	/* Also those in which no file was begun. */
	for (size_t u = 0; fin->program && u < fin->recording->n_units; u++)
		for (size_t s = 0; s < fin->n_sinks; s++) {
			sp_cleanup(sp_freep) char *path =
				sp_finalizer_path(fin, &fin->recording->units[u], fin->sinks[s]);
			sp_cleanup(sp_freep) char *full =
				path ? sp_finalizer_full_path(fin, path) : NULL;

			if (full)
				remove_parents(fin, full);
		}
}
