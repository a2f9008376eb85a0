/* SPDX-License-Identifier: BSD-2-Clause
 *
 * find_files.c - which files an operand of the command line stands for, and which of them are a
 * set.
 *
 * Invariant: paths are clean (no "//", no "/./", no slash at the end), so that equal ones are equal
 * texts.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "userspace/analysis/find.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/text.h"

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

/* The folder that a file is in, or the one above if that is spt/. */
static char *folder_of(const char *path, bool *ret_spt)
{
	const char *name = sp_base_name(path), *end = name > path + 1 ? name - 1 : name;
	char *folder = name == path ? strdup(".") : strndup(path, (size_t)(end - path));

	*ret_spt = false;
	if (folder && !strcmp(sp_base_name(folder), "spt")) {
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
