/* SPDX-License-Identifier: BSD-2-Clause
 *
 * find.c - see find.h: the files that were found are sorted, opened and merged.
 */
#include "userspace/analysis/find.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/profile_guard.h"
#include "formats/profile_merge.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/text.h"

void sp_found_free(struct sp_found *found)
{
	for (size_t i = 0; i < found->n_files; i++) {
		sp_profile_free(found->files[i].profile);
		free(found->files[i].path);
		free(found->files[i].ranks);
	}
	for (size_t i = 0; i < found->n_sets; i++) {
		free(found->sets[i].folder);
		free(found->sets[i].root);
	}
	for (size_t i = 0; i < found->n_notes; i++)
		free(found->notes[i].text);
	free(found->files);
	free(found->sets);
	free(found->notes);
	free(found->reason);
	*found = (struct sp_found){0};
}

int sp_found_fail(struct sp_found *found, int code, const char *format, ...)
{
	va_list args;
	int n;

	free(found->reason);
	va_start(args, format);
	n = vasprintf(&found->reason, format, args);
	va_end(args);
	if (n >= 0)
		return code;
	found->reason = NULL;
	return -ENOMEM;
}

int sp_found_note(struct sp_found *found, bool minor, const char *format, ...)
{
	struct sp_found_note *note =
		sp_array_add(&found->notes, &found->n_notes, &found->notes_room);
	va_list args;
	int n;

	if (!note)
		return -ENOMEM;
	note->minor = minor;
	va_start(args, format);
	n = vasprintf(&note->text, format, args);
	va_end(args);
	if (n >= 0)
		return 0;
	note->text = NULL;
	found->n_notes--;
	return -ENOMEM;
}

/* ---- the order of the files ---- */

/* Component by component: "a/b" comes before "a-b". */
static int compare_paths(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a == *b)
		return 0;
	if (!*a || !*b)
		return *a ? 1 : -1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

/* Processes without a rank come last: they are those whose rank gives way. */
static bool is_other(const struct sp_found *found, const struct sp_found_file *file)
{
	const struct sp_found_set *set = &found->sets[file->set];

	return set->root && !strcmp(sp_base_name(set->folder), "other") &&
	       strcmp(set->folder, set->root) != 0;
}

static int by_path(const void *a, const void *b)
{
	const struct sp_found_file *one = a, *two = b;
	int r = compare_paths(one->path, two->path);

	return r ? r : (one->operand > two->operand) - (one->operand < two->operand);
}

/* As ranks are given. The order of the operands counts only for those who ask for new ranks, and
 * may want to say whose. */
static int compare_files(const void *a, const void *b, void *data)
{
	const struct sp_found *found = data;
	const struct sp_found_file *one = a, *two = b;
	int other = (int)is_other(found, one) - (int)is_other(found, two);

	if (found->renumber && one->operand != two->operand)
		return one->operand < two->operand ? -1 : 1;
	return other ? other : compare_paths(one->path, two->path);
}

static void sort_files(struct sp_found *found)
{
	size_t kept = 0;

	qsort(found->files, found->n_files, sizeof(*found->files), by_path);
	for (size_t i = 0; i < found->n_files; i++) {
		if (kept && !strcmp(found->files[kept - 1].path, found->files[i].path))
			free(found->files[i].path);
		else
			found->files[kept++] = found->files[i];
	}
	found->n_files = kept;
	qsort_r(found->files, found->n_files, sizeof(*found->files), compare_files, found);
}

/* ---- opening and merging ---- */

/* Has everything read that stays in memory. HDF5 files are read in a child, of which there are not
 * many at once: now it is there, later it would have to be started again. */
static int read_small_parts(struct sp_profile *profile, struct sp_error *error)
{
	const struct sp_extras *extras;
	const struct sp_fact *facts;
	size_t n;
	int r = sp_profile_metadata(profile, &facts, &n, error);

#define READ(singular, plural) \
	if (r == 0) { \
		const struct sp_##singular##_row *rows; \
\
		r = sp_profile_##plural(profile, &rows, &n, error); \
	}
	READ(thread, threads)
	READ(task, tasks)
	READ(site, sites)
	READ(module, modules)
	READ(process, processes)
	READ(loss, losses)
	READ(cut, cuts)
	READ(clock, clocks)
	READ(rank_fact, rank_facts)
#undef READ
	if (r == 0)
		r = sp_profile_meta(profile, &facts, &n, error);
	return r ? r : sp_profile_extras(profile, &extras, error);
}

static int open_file(struct sp_found *found, struct sp_found_file *file)
{
	struct sp_error error = {0};
	enum sp_format format;
	int r = sp_format_detect(file->path, &format, &error);

	if (r == 0 && format == SP_FORMAT_JOURNAL)
		return sp_found_fail(found, -SP_E_FORMAT,
				     "%s: is a journal; make its final files first: sp-report "
				     "recover %s",
				     file->path, file->path);
	if (r == 0)
		r = sp_profile_open_guarded(file->path, NULL, &file->profile, &error);
	if (r == 0)
		r = read_small_parts(file->profile, &error);
	if (r == -EMFILE)
		return sp_found_fail(found, r,
				     "%s: too many files are open; allow more with ulimit -n",
				     file->path);
	return r < 0 ? sp_found_fail(found, r, "%s: %s", file->path, error.text) : 0;
}

int sp_found_open(struct sp_found *found)
{
	int r = 0;

	sort_files(found);
	for (size_t i = 0; r == 0 && i < found->n_files; i++)
		r = open_file(found, &found->files[i]);
	return r < 0 ? r : sp_found_settle(found);
}

int sp_found_merge(struct sp_found *found, struct sp_profile **ret_profile)
{
	sp_cleanup(sp_freep) struct sp_merge_input *inputs =
		calloc(found->n_files + 1, sizeof(*inputs));
	struct sp_error error = {0};
	size_t n = 0;
	int r;

	if (!inputs)
		return -ENOMEM;
	for (size_t i = 0; i < found->n_files; i++)
		if (!found->files[i].left_out)
			inputs[n++] = (struct sp_merge_input){found->files[i].profile,
							      found->files[i].ranks};
	r = sp_profile_merge(inputs, n, ret_profile, &error);
	return r < 0 ? sp_found_fail(found, r, "%s", error.text) : 0;
}
