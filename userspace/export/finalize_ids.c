/* SPDX-License-Identifier: BSD-2-Clause
 *
 * finalize_ids.c - by what the files of a recording are known again: their build-ids, or what
 * stands for these (content_id.h).
 *
 * Invariant: a file gets an id of its content only if it is what was recorded: a copy of it, or of
 * the size and the time that the recorder saw.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "userspace/analysis/content_id.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/files.h"
#include "userspace/export/finalize_internal.h"

static bool is_as_recorded(const struct sp_image *image, const struct stat *status)
{
	return image->size == (uint64_t)status->st_size &&
	       image->mtime ==
		       status->st_mtim.tv_sec * (int64_t)1000000000 + status->st_mtim.tv_nsec;
}

static const char *make_id(const struct sp_finalizer *fin, const struct sp_map *map,
			   const struct sp_image *image, char made[SP_CONTENT_ID_BYTES])
{
	sp_cleanup(sp_closep) int fd = -1;
	struct stat status;

	if (image->archived[0]) {
		const char *journal = fin->options->journal, *slash = strrchr(journal, '/');
		sp_cleanup(sp_freep) char *directory =
			slash ? strndup(journal, (size_t)(slash - journal) + 1) : strdup(".");

		if (directory)
			fd = sp_file_open_below(directory, image->archived, NULL);
	}
	if (fd < 0) {
		if (map->path[0] != '/' || !image->size)
			return "";
		fd = sp_file_open(map->path, &status);
		if (fd >= 0 && !is_as_recorded(image, &status))
			return SP_CONTENT_ID_LOST;
	}
	return fd >= 0 && sp_content_id_read(fd, made) == 0 ? made : "";
}

const char *sp_finalizer_build_id(struct sp_finalizer *fin, const struct sp_map *map)
{
	uint32_t index = map->image;
	const struct sp_image *image = index == SP_NONE ? NULL : &fin->recording->images[index];
	char made[SP_CONTENT_ID_BYTES];

	if (!image) /* that of the vDSO, which is no file, tells if another kernel's is the same */
		return strcmp(map->path, SP_VDSO_NAME) ? "" : fin->vdso;
	if (image->build_id[0])
		return image->build_id;
	if (!fin->ids)
		fin->ids = calloc(fin->recording->n_images, sizeof(*fin->ids));
	if (fin->ids && !fin->ids[index])
		fin->ids[index] = strdup(make_id(fin, map, image, made));
	return fin->ids && fin->ids[index] ? fin->ids[index] : "";
}

void sp_finalizer_free_ids(struct sp_finalizer *fin)
{
	for (size_t i = 0; fin->ids && i < fin->recording->n_images; i++)
		free(fin->ids[i]);
	free(fin->ids);
}
