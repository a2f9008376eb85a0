/* SPDX-License-Identifier: BSD-2-Clause
 *
 * source_text.c - the texts that stand beside a region: its source line, its tags.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/files.h"
#include "userspace/base/json.h"
#include "userspace/base/reach.h"
#include "userspace/export/finalize_internal.h"

#define MAX_SOURCE_BYTES (16 << 20) /* larger files are not looked into */
#define MAX_LINE_BYTES 1024

/* The path was written by whoever built the program: it may name anything, so nothing that could
 * block or never end is read; nor by root what that user could not read, nor what others may not
 * read, since what is read here is stored where they may. */
static FILE *open_source(const struct sp_user *user, const char *path)
{
	struct sp_user_before before;
	struct stat st;
	FILE *file;
	int fd;

	if (sp_user_enter(user, &before) < 0)
		return NULL;
	fd = sp_file_open(path, &st);
	sp_user_leave(&before);

	if (fd < 0)
		return NULL;
	if (st.st_size > MAX_SOURCE_BYTES || (geteuid() == 0 && !(st.st_mode & S_IROTH))) {
		close(fd);
		return NULL;
	}
	file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

static bool read_line(FILE *file, int64_t line, char *out, size_t room)
{
	size_t n = 0;
	int c = 0;

	while (line > 1 && (c = getc_unlocked(file)) != EOF)
		line -= c == '\n';
	if (c == EOF)
		return false;
	while ((c = getc_unlocked(file)) != EOF && c != '\n' && c != 0 && n < room - 1)
		out[n++] = (char)c;
	out[n] = 0;
	return n > 0;
}

struct question {
	struct sp_user user;
	int64_t line;
	char path[PATH_MAX];
};

/* Ends with a NUL. */
static int find_line(const void *asked, struct sp_reach_answer *answer)
{
	const struct question *question = asked;
	sp_cleanup(sp_fclosep) FILE *source = open_source(&question->user, question->path);
	char text[MAX_LINE_BYTES];

	if (!source || !read_line(source, question->line, text, sizeof(text)))
		return -ENOENT;
	return sp_reach_put(answer, text, strlen(text) + 1) ? 0 : -ENOMEM;
}

char *sp_source_line(struct sp_reach *reach, const struct sp_user *user, const char *directory,
		     const char *file, int64_t line)
{
	sp_cleanup(sp_freep) struct question *question = calloc(1, sizeof(*question));
	sp_cleanup(sp_freep) void *text = NULL;
	bool relative = file[0] != '/' && directory;
	char *start;
	size_t n;

	if (!question)
		return NULL;
	n = (size_t)snprintf(question->path, sizeof(question->path), "%s%s%s",
			     relative ? directory : "", relative ? "/" : "", file);
	if (!file[0] || line < 1 || n >= sizeof(question->path))
		return strdup("");
	question->user = *user;
	question->line = line;
	if (sp_reach_ask(reach, question->path, find_line, question, sizeof(*question), &text, &n) <
		    0 ||
	    !text)
		return strdup("");
	start = text;
	start += strspn(start, " \t");
	n = strlen(start);
	while (n && strchr(" \t\r", start[n - 1]))
		n--;
	start[n] = 0;
	return strdup(start);
}

char *sp_tags_to_json(const char *tags)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	struct sp_json json = {.out = out, .compact = true};

	if (!out)
		return NULL;
	sp_json_open_array(&json, NULL);
	while (*tags) {
		size_t n;

		tags += strspn(tags, ", \t");
		n = strcspn(tags, ",");
		while (n && strchr(" \t", tags[n - 1]))
			n--;
		if (n) {
			sp_cleanup(sp_freep) char *tag = strndup(tags, n);

			sp_json_text(&json, NULL, tag);
		}
		tags += n;
	}
	sp_json_close_array(&json);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
