/* SPDX-License-Identifier: BSD-2-Clause
 *
 * find.c - see find.h. Invariant: paths are clean (no "//", no "/./", no slash at the end), so that
 * equal ones are equal texts.
 */
#include "userspace/analysis/find.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/profile_guard.h"
#include "formats/profile_merge.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

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

/* ---- paths ---- */

static char *join(const char *folder, const char *name)
{
	char *path;

	if (!strcmp(folder, "."))
		return strdup(name);
	return asprintf(&path, "%s/%s", strcmp(folder, "/") ? folder : "", name) < 0 ? NULL : path;
}

/* Without doubled slashes, "." and a slash at the end, as scope-profiler compares paths. */
static char *clean(const char *path)
{
	char *out = malloc(strlen(path) + 2), *end = out;

	if (!out)
		return NULL;
	if (*path == '/')
		*end++ = '/';
	while (*path) {
		size_t length = strcspn(path, "/");

		if (length && !(length == 1 && *path == '.')) {
			if (end > out && end[-1] != '/')
				*end++ = '/';
			end = mempcpy(end, path, length);
		}
		path += length + (path[length] == '/');
	}
	if (end == out)
		*end++ = '.';
	*end = 0;
	return out;
}

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

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The folder that a file is in, or the one above if that is spt/. */
static char *folder_of(const char *path, bool *ret_spt)
{
	const char *name = base_of(path), *end = name > path + 1 ? name - 1 : name;
	char *folder = name == path ? strdup(".") : strndup(path, (size_t)(end - path));

	*ret_spt = false;
	if (folder && !strcmp(base_of(folder), "spt")) {
		char *above;

		*ret_spt = true;
		above = strcmp(folder, "spt") ? folder_of(folder, &(bool){0}) : strdup(".");
		free(folder);
		return above;
	}
	return folder;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- files and sets ---- */

static int find_set(struct sp_found *found, const char *folder, const char *root, size_t *ret_set)
{
	struct sp_found_set *set;

	/* Files of one set come together, mostly. */
	for (size_t i = found->n_sets; i-- > 0;)
		if (!strcmp(found->sets[i].folder, folder)) {
			set = &found->sets[i];
			if (root && !set->root && !(set->root = strdup(root)))
				return -ENOMEM;
			*ret_set = i;
			return 0;
		}
	set = sp_array_add(&found->sets, &found->n_sets, &found->sets_room);
	if (!set)
		return -ENOMEM;
	set->folder = strdup(folder);
	set->root = root ? strdup(root) : NULL;
	*ret_set = found->n_sets - 1;
	return !set->folder || (root && !set->root) ? -ENOMEM : 0;
}

static int add_file(struct sp_found *found, const char *path, const char *root)
{
	bool spt;
	sp_cleanup(sp_freep) char *folder = folder_of(path, &spt);
	struct sp_found_file *file =
		sp_array_add(&found->files, &found->n_files, &found->files_room);

	if (file)
		file->path = strdup(path);
	if (!file || !file->path || !folder)
		return -ENOMEM;
	file->in_spt_folder = spt;
	file->operand = found->n_operands;
	return find_set(found, folder, root, &file->set);
}

static bool is_wanted(const char *name)
{
	return !fnmatch("*.spt", name, 0) || !fnmatch("*_rank[0-9]*.h5", name, 0) ||
	       !fnmatch("*.sps", name, 0);
}

/* ---- directories ---- */

struct names {
	struct dirent **entries;
	int n;
};

static void names_free(struct names *names)
{
	while (names->n > 0)
		free(names->entries[--names->n]);
	free(names->entries);
	names->entries = NULL;
}

static int list(struct sp_found *found, const char *folder, struct names *names)
{
	names->n = scandir(folder, &names->entries, NULL, alphasort);
	if (names->n >= 0)
		return 0;
	names->n = 0;
	return sp_found_fail(found, -errno, "%s: cannot be listed: %s", folder, strerror(errno));
}

static int add_folder(struct sp_found *found, const char *folder, const char *root, int depth);

/* One entry of a folder; *@ret_spt: it is a trace. */
static int add_entry(struct sp_found *found, const char *folder, const char *name, const char *root,
		     bool *ret_spt)
{
	sp_cleanup(sp_freep) char *path = join(folder, name);

	if (!path)
		return -ENOMEM;
	if (!is_wanted(name) || is_directory(path))
		return 0;
	*ret_spt |= !fnmatch("*.spt", name, 0);
	return add_file(found, path, root);
}

/* Whether a recorder makes folders of this name at that depth: job_X/other/spt/. */
static bool is_ours(const char *name, int depth)
{
	return !strcmp(name, "spt") || (!strcmp(name, "other") && depth < 2) ||
	       (!strncmp(name, "job_", 4) && depth == 0);
}

static int add_below(struct sp_found *found, const char *folder, const struct names *names,
		     const char *root, int depth)
{
	int r = 0;

	for (int i = 0; r == 0 && i < names->n; i++) {
		const char *name = names->entries[i]->d_name;
		sp_cleanup(sp_freep) char *path = is_ours(name, depth) ? join(folder, name) : NULL;

		if (path && is_directory(path))
			r = add_folder(found, path, root,
				       !strncmp(name, "job_", 4) ? 1
				       : !strcmp(name, "other")	 ? 2
								 : 3);
	}
	return r;
}

/* @depth: 0 the root, 1 a job, 2 other, 3 spt. */
static int add_folder(struct sp_found *found, const char *folder, const char *root, int depth)
{
	sp_cleanup(names_free) struct names names = {0};
	bool traces = false;
	int r = list(found, folder, &names);

	for (int i = 0; r == 0 && i < names.n; i++)
		r = add_entry(found, folder, names.entries[i]->d_name, root, &traces);
	if (r == 0 && depth < 3 && !traces)
		r = add_below(found, folder, &names, root, depth);
	return r;
}

/* What to say of a directory without files for us. */
static int refuse_directory(struct sp_found *found, const char *folder)
{
	sp_cleanup(names_free) struct names names = {0};
	const char *other = NULL;
	int r = list(found, folder, &names);

	if (r < 0)
		return r;
	for (int i = 0; i < names.n; i++) {
		const char *name = names.entries[i]->d_name;

		if (!fnmatch("*.spj", name, FNM_PERIOD))
			return sp_found_fail(
				found, -ENOENT,
				"%s: has no profile, but a journal; make its final files first: "
				"sp-report recover %s/%s",
				folder, folder, name);
		if (!fnmatch("*.h5", name, FNM_PERIOD) || !fnmatch("*.json", name, FNM_PERIOD) ||
		    !fnmatch("*.json.gz", name, FNM_PERIOD))
			other = name;
	}
	if (other)
		return sp_found_fail(
			found, -ENOENT,
			"%s: has no file of a rank: no .spt, _rank<N>.h5 or .sps. To take "
			"%s, name it: %s/%s",
			folder, other, folder, other);
	return sp_found_fail(found, -ENOENT,
			     "%s: has no file of a rank: no .spt, _rank<N>.h5 or .sps", folder);
}

int sp_found_add(struct sp_found *found, const char *given)
{
	sp_cleanup(sp_freep) char *path = clean(given);
	size_t before = found->n_files;
	struct stat st;
	int r;

	if (!path)
		return -ENOMEM;
	if (!*given || stat(given, &st) < 0)
		return sp_found_fail(found, *given ? -errno : -ENOENT, "%s: cannot be opened: %s",
				     given, strerror(*given ? errno : ENOENT));
	found->n_operands++;
	if (!S_ISDIR(st.st_mode))
		return add_file(found, path, NULL);
	r = add_folder(found, path, path, 0);
	return r == 0 && found->n_files == before ? refuse_directory(found, path) : r;
}

/* ---- opening ---- */

/* Processes without a rank come last: they are those whose rank gives way. */
static bool is_other(const struct sp_found *found, const struct sp_found_file *file)
{
	const struct sp_found_set *set = &found->sets[file->set];

	return set->root && !strcmp(base_of(set->folder), "other") &&
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
