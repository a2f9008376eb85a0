/* SPDX-License-Identifier: BSD-2-Clause
 *
 * finalize_ids.c - by what the files of a recording are known again: their build-ids, or what
 * stands for these (content_id.h).
 *
 * Invariant: a file gets an id of its content only if it is what was recorded: a copy of it, or of
 * the size and the time that the recorder saw.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "userspace/analysis/content_id.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/files.h"
#include "userspace/base/reach.h"
#include "userspace/export/finalize_internal.h"

struct question {
	uint64_t size; /* of the file that was recorded, */
	int64_t mtime; /* and its time */
	bool archived;
	char directory[PATH_MAX]; /* that a copy is below */
	char path[PATH_MAX];
};

static bool is_as_recorded(const struct question *question, const struct stat *status)
{
	return question->size == (uint64_t)status->st_size &&
	       question->mtime ==
		       status->st_mtim.tv_sec * (int64_t)1000000000 + status->st_mtim.tv_nsec;
}

static int read_id(const void *asked, struct sp_reach_answer *answer)
{
	const struct question *question = asked;
	char id[SP_CONTENT_ID_BYTES] = SP_CONTENT_ID_LOST;
	struct stat status;
	sp_cleanup(sp_closep) int fd =
		question->archived
			? sp_file_open_below(question->directory, question->path, &status)
			: sp_file_open(question->path, &status);
	int r = fd < 0 ? fd : 0;

	if (r == 0 && (question->archived || is_as_recorded(question, &status)))
		r = sp_content_id_read(fd, id);
	return r == 0 && !sp_reach_put(answer, id, sizeof(id)) ? -ENOMEM : r;
}

/* The id, to free(); NULL if there is none. */
static char *ask_for_id(const struct sp_finalizer *fin, const struct question *question)
{
	void *id = NULL;
	size_t size;
	int r = sp_reach_ask(fin->reach, question->path, read_id, question, sizeof(*question), &id,
			     &size);

	if (r == 0 && size == SP_CONTENT_ID_BYTES)
		return id;
	free(id);
	return NULL;
}

static char *make_id(const struct sp_finalizer *fin, const struct sp_map *map,
		     const struct sp_image *image)
{
	sp_cleanup(sp_freep) struct question *question = calloc(1, sizeof(*question));
	char *id = NULL;

	if (!question)
		return NULL;
	question->size = image->size;
	question->mtime = image->mtime;
	if (image->archived[0]) {
		const char *journal = fin->options->journal, *slash = strrchr(journal, '/');

		question->archived = true;
		snprintf(question->directory, sizeof(question->directory), "%.*s",
			 slash ? (int)(slash - journal) + 1 : 1, slash ? journal : ".");
		snprintf(question->path, sizeof(question->path), "%s", image->archived);
		id = ask_for_id(fin, question);
	}
	if (!id && map->path[0] == '/' && image->size) {
		question->archived = false;
		snprintf(question->path, sizeof(question->path), "%s", map->path);
		id = ask_for_id(fin, question);
	}
	return id ? id : strdup("");
}

const char *sp_finalizer_build_id(struct sp_finalizer *fin, const struct sp_map *map)
{
	uint32_t index = map->image;
	const struct sp_image *image = index == SP_NONE ? NULL : &fin->recording->images[index];

	if (!image) /* that of the vDSO, which is no file, tells if another kernel's is the same */
		return strcmp(map->path, SP_VDSO_NAME) ? "" : fin->vdso;
	if (image->build_id[0])
		return image->build_id;
	if (!fin->ids)
		fin->ids = calloc(fin->recording->n_images, sizeof(*fin->ids));
	if (fin->ids && !fin->ids[index])
		fin->ids[index] = make_id(fin, map, image);
	return fin->ids && fin->ids[index] ? fin->ids[index] : "";
}

void sp_finalizer_free_ids(struct sp_finalizer *fin)
{
	for (size_t i = 0; fin->ids && i < fin->recording->n_images; i++)
		free(fin->ids[i]);
	free(fin->ids);
}
