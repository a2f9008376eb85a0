/* SPDX-License-Identifier: BSD-2-Clause
 *
 * source.c - whole files in memory, cut into lines in place.
 */
#include "userspace/analysis/source.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/files.h"
#include "userspace/base/pool.h"
#include "userspace/base/reach.h"

#define MAX_SIZE (64 << 20)

struct source {
	char *text; /* NULL: cannot be read */
	char **lines;
	size_t n_lines, lines_room;
	struct timespec changed;
};

struct sp_sources {
	struct sp_reach *reach;
	bool public_only;
	struct sp_user user; /* with public_only */
	char *silent;	     /* path of the first that was not answered for */
	struct sp_pool *paths;
	struct source *files; /* by number of the path */
	size_t n_files, files_room;
};

int sp_sources_new(struct sp_reach *reach, struct sp_sources **ret_sources)
{
	struct sp_sources *sources = calloc(1, sizeof(*sources));

	if (!sources)
		return -ENOMEM;
	sources->reach = reach;
	sources->paths = sp_pool_new();
	if (!sources->paths) {
		free(sources);
		return -ENOMEM;
	}
	*ret_sources = sources;
	return 0;
}

void sp_sources_free(struct sp_sources *sources)
{
	if (!sources)
		return;
	for (size_t i = 0; i < sources->n_files; i++) {
		free(sources->files[i].text);
		free(sources->files[i].lines);
	}
	free(sources->files);
	free(sources->silent);
	sp_pool_free(sources->paths);
	free(sources);
}

void sp_sources_set_user(struct sp_sources *sources, const struct sp_user *user)
{
	sources->user = *user;
	sources->public_only = geteuid() == 0;
}

/* ---- in the process that may hang ---- */

struct question {
	bool public_only;
	struct sp_user user;
	char path[PATH_MAX];
};

static int open_file(const struct question *question, struct stat *ret_status)
{
	struct sp_user_before before;
	int fd, r;

	if (!question->public_only)
		return sp_file_open(question->path, ret_status);
	r = sp_user_enter(&question->user, &before);
	if (r < 0)
		return r;
	fd = sp_file_open(question->path, ret_status);
	sp_user_leave(&before);
	return fd;
}

/* Its time, then its text. */
static int read_file(const void *asked, struct sp_reach_answer *answer)
{
	const struct question *question = asked;
	struct stat status;
	sp_cleanup(sp_closep) int fd = open_file(question, &status);
	sp_cleanup(sp_freep) char *text = NULL;
	size_t size, at = 0;

	if (fd < 0 || status.st_size > MAX_SIZE ||
	    (question->public_only && !(status.st_mode & S_IROTH)))
		return -ENOENT;
	size = (size_t)status.st_size;
	text = malloc(size + 1);
	while (text && at < size) {
		ssize_t n = read(fd, text + at, size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		at += (size_t)n;
	}
	return text && sp_reach_put(answer, &status.st_mtim, sizeof(status.st_mtim)) &&
			       sp_reach_put(answer, text, at)
		       ? 0
		       : -ENOMEM;
}

/* ---- here ---- */

static char *ask_for_file(struct sp_sources *sources, const char *path,
			  struct timespec *ret_changed)
{
	sp_cleanup(sp_freep) struct question *question = calloc(1, sizeof(*question));
	sp_cleanup(sp_freep) char *bytes = NULL;
	void *answer;
	size_t size, length;
	int r;

	if (!question || strlen(path) >= sizeof(question->path))
		return NULL;
	question->public_only = sources->public_only;
	question->user = sources->user;
	stpcpy(question->path, path);
	r = sp_reach_ask(sources->reach, path, read_file, question, sizeof(*question), &answer,
			 &size);
	bytes = answer;
	if (r == -ETIMEDOUT && !sources->silent)
		sources->silent = strdup(path);
	if (r < 0 || size < sizeof(*ret_changed))
		return NULL;
	memcpy(ret_changed, bytes, sizeof(*ret_changed));
	length = size - sizeof(*ret_changed);
	memmove(bytes, bytes + sizeof(*ret_changed), length);
	bytes[length] = '\0'; /* a NUL before hides the rest of its line, no more */
	return sp_take(bytes);
}

/* Cuts the text at its newlines, and the blanks off the ends of the lines. */
static void cut_lines(struct source *source)
{
	char *at = source->text, *end;

	for (bool more = true; more; at = end + 1) {
		char **line = sp_array_add(&source->lines, &source->n_lines, &source->lines_room);

		if (!line)
			return;
		end = strchrnul(at, '\n');
		more = *end;
		*end = '\0';
		*line = at;
		for (char *last = end; last > at && isspace((unsigned char)last[-1]); last--)
			last[-1] = '\0';
	}
}

/* NULL without memory. */
static struct source *find_source(struct sp_sources *sources, const char *path)
{
	struct source *source;
	uint32_t number;

	if (sp_pool_number(sources->paths, path, &number) < 0)
		return NULL;
	if (number == sources->n_files) {
		source = sp_array_add(&sources->files, &sources->n_files, &sources->files_room);
		if (!source)
			return NULL;
		source->text = ask_for_file(sources, path, &source->changed);
		if (source->text)
			cut_lines(source);
	}
	/* After a lack of memory there may be fewer. */
	return number < sources->n_files ? &sources->files[number] : NULL;
}

static bool is_newer(const struct source *source, struct timespec built)
{
	return built.tv_sec &&
	       (source->changed.tv_sec > built.tv_sec || (source->changed.tv_sec == built.tv_sec &&
							  source->changed.tv_nsec > built.tv_nsec));
}

const char *sp_sources_silent(const struct sp_sources *sources)
{
	return sources->silent;
}

enum sp_source_state sp_sources_line(struct sp_sources *sources, const char *path, uint32_t line,
				     struct timespec built, const char **ret_text)
{
	struct source *source = line && path[0] == '/' ? find_source(sources, path) : NULL;
	const char *text;

	*ret_text = "";
	if (!source || line > source->n_lines)
		return SP_SOURCE_MISSING;
	if (is_newer(source, built))
		return SP_SOURCE_NEWER;
	text = source->lines[line - 1];
	while (isspace((unsigned char)*text))
		text++;
	*ret_text = text;
	return SP_SOURCE_FOUND;
}

enum sp_source_state sp_sources_file(struct sp_sources *sources, const char *path,
				     struct timespec built, const char *const **ret_lines,
				     size_t *ret_n)
{
	struct source *source = find_source(sources, path);

	*ret_n = 0;
	if (!source || !source->text)
		return SP_SOURCE_MISSING;
	*ret_lines = (const char *const *)source->lines;
	*ret_n = source->n_lines;
	/* What ends with a newline has no line behind it. */
	if (*ret_n && !*source->lines[*ret_n - 1])
		--*ret_n;
	return is_newer(source, built) ? SP_SOURCE_NEWER : SP_SOURCE_FOUND;
}
