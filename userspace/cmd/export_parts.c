/* SPDX-License-Identifier: BSD-2-Clause
 *
 * export_parts.c - see export_parts.h.
 */
#include "userspace/cmd/export_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/directory.h"
#include "formats/search.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/text.h"

static struct sp_export_part *find_part(struct sp_export_parts *parts, uint32_t rank)
{
	size_t low = sp_search(parts->n, i, parts->items[i].rank < rank);

	return low < parts->n && parts->items[low].rank == rank ? &parts->items[low] : NULL;
}

static int add_part(struct sp_export_parts *parts, uint32_t rank)
{
	struct sp_export_part *part = sp_array_add(&parts->items, &parts->n, &parts->room);

	if (!part)
		return -ENOMEM;
	part->rank = rank;
	return 0;
}

/* Ranks with calls, for traces. */
static int find_ranks(struct sp_export_parts *parts, struct sp_profile *profile)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	int r = 0;

	for (uint32_t i = 0; r == 0 && info->n_rows && i < info->n_ranks; i++)
		r = add_part(parts, sp_profile_rank(profile, i));
	return r;
}

static int compare_parts(const void *a, const void *b)
{
	const struct sp_export_part *one = a, *two = b;

	return one->rank < two->rank ? -1 : one->rank > two->rank;
}

/* Ranks with samples, and the range that holds each one's. */
static int find_samples(struct sp_export_parts *parts, struct sp_profile *profile,
			struct sp_error *error)
{
	enum { BLOCK = 4096 };
	uint64_t n = sp_profile_info(profile)->n_samples;
	sp_cleanup(sp_freep) struct sp_sample_row *block = malloc(BLOCK * sizeof(*block));
	struct sp_export_part *part = NULL;
	int r = block ? 0 : sp_error_set(error, -ENOMEM, 0, "out of memory");

	for (uint64_t at = 0; r == 0 && at < n; at += BLOCK) {
		size_t some = n - at < BLOCK ? (size_t)(n - at) : BLOCK;

		r = sp_profile_read_samples(profile, at, some, block, error);
		for (size_t i = 0; r == 0 && i < some; i++) {
			if (!part || part->rank != block[i].rank)
				part = find_part(parts, block[i].rank);
			if (!part) {
				if (add_part(parts, block[i].rank) < 0)
					return sp_error_set(error, -ENOMEM, 0, "out of memory");
				qsort(parts->items, parts->n, sizeof(*parts->items), compare_parts);
				part = find_part(parts, block[i].rank);
			}
			part->first_sample = part->end_sample ? part->first_sample : at + i;
			part->end_sample = at + i + 1;
			parts->outside += block[i].region < 0;
		}
	}
	return r;
}

/* The first input's name without directory, suffix and rank; to free(). */
static char *default_prefix(const struct sp_found *found)
{
	char *name = strdup(sp_base_name(found->files[0].path)),
	     *dot = name ? strrchr(name, '.') : NULL;
	char *rank;

	if (dot && dot > name)
		*dot = 0;
	rank = name ? strstr(name, "_rank") : NULL;
	if (rank && rank > name && rank[5] && rank[5 + strspn(rank + 5, "0123456789")] == 0)
		*rank = 0;
	return name;
}

/* Where each part goes. One part is the output itself, unless that is a directory. */
static int name_parts(struct sp_export_parts *parts, const char *output, const char *prefix,
		      const char *suffix)
{
	size_t length = strlen(output);
	bool slash = output[length - 1] == '/', there;
	struct stat st;
	int r;

	there = stat(output, &st) == 0 && S_ISDIR(st.st_mode);
	for (size_t i = 0; i < parts->n; i++) {
		struct sp_export_part *part = &parts->items[i];
		int n;

		if (parts->n == 1 && !there && !slash)
			n = asprintf(&part->path, "%s", output);
		else
			n = asprintf(&part->path, "%s%s%s_rank%05u.%s", output, slash ? "" : "/",
				     prefix, part->rank, suffix);
		if (n < 0) {
			part->path = NULL;
			return -ENOMEM;
		}
	}
	if (there || (parts->n == 1 && !slash))
		return 0;
	if (sp_convert_check_directory(output) < 0)
		return -ENOENT;
	r = sp_directory_make(output);
	return r == -EEXIST ? -ENOTDIR : r;
}

int sp_export_parts_prepare(struct sp_export_parts *parts, const struct sp_convert *convert,
			    const char *output, const char *prefix, const char *suffix,
			    bool samples)
{
	sp_cleanup(sp_freep) char *name = prefix ? strdup(prefix) : default_prefix(&convert->found);
	struct sp_error error = {.text = "out of memory"};
	int r = samples ? find_samples(parts, convert->profile, &error)
			: find_ranks(parts, convert->profile);

	if (r < 0 || !name) {
		sp_log_error("%s", error.text);
		return -1;
	}
	if (!parts->n) {
		sp_log_error("there is nothing to export: the inputs have no %s",
			     samples ? "samples" : "regions");
		return -1;
	}
	r = name_parts(parts, output, name, suffix);
	if (r < 0) {
		if (r != -ENOENT) /* that was said */
			sp_log_error("%s: cannot be made as a directory: %s", output,
				     sp_directory_error(r));
		return -1;
	}
	for (size_t i = 0; i < parts->n; i++)
		if (sp_convert_check_output(convert, parts->items[i].path) < 0)
			return -1;
	return 0;
}

void sp_export_parts_free(struct sp_export_parts *parts)
{
	for (size_t i = 0; i < parts->n; i++)
		free(parts->items[i].path);
	free(parts->items);
	*parts = (struct sp_export_parts){0};
}
