/* SPDX-License-Identifier: BSD-2-Clause
 *
 * prearm.c - files are opened as the user (look.h), after a look at what they are: what the
 * arguments and the dynamic linker say are only words, and may as well name a device.
 */
#include "loader/prearm.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/libraries.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

#define MOST_FILES 256
#define MOST_WORDS 64

struct files {
	struct sp_look *look;
	struct sp_images_file list[MOST_FILES];
	char *paths[MOST_FILES];
	size_t count;
};

static void free_files(struct files *files)
{
	for (size_t i = 0; files && i < files->count; i++)
		free(files->paths[i]);
	free(files);
}

/* Takes over the descriptor. */
static bool keep(struct files *files, const struct sp_look_file *file)
{
	char *path = files->count < MOST_FILES ? strdup(file->path) : NULL;

	if (!path) {
		close(file->fd);
		return false;
	}
	files->paths[files->count] = path;
	files->list[files->count++] = (struct sp_images_file){
		.fd = file->fd, .system = file->system, .place = file->place, .path = path};
	return true;
}

/* True for an ELF file that was not there before. */
static bool add_file(struct files *files, const char *name)
{
	sp_cleanup(sp_freep) struct sp_look_file *file = malloc(sizeof(*file));
	int r = -ENOMEM;

	for (size_t i = 0; i < files->count; i++)
		if (!strcmp(files->paths[i], name))
			return false;
	if (file && files->count < MOST_FILES)
		r = sp_look_program(files->look, name, file);
	if (r == -ETIMEDOUT)
		sp_log_warning("%s: its file system does not answer, or the machine is too busy to "
			       "ask it: its first regions may be missing",
			       name);
	if (r < 0)
		return false;
	for (size_t i = 0; i < files->count && file->is_elf; i++)
		if (!strcmp(files->paths[i], file->path))
			file->is_elf = false;
	if (!file->is_elf) {
		close(file->fd);
		return false;
	}
	return keep(files, file);
}

static void add_library(void *files, const char *path)
{
	(void)add_file(files, path);
}

/* @runner: who is about to run it for certain, or NULL. */
static void add_program(struct files *files, const char *name, const struct sp_identity *runner)
{
	size_t at = files->count;

	if (add_file(files, name))
		sp_libraries_list(files->paths[at], files->list[at].fd, runner, add_library, files);
}

/* @since: when they began to run, or will; 0: once they are armed. */
static int arm_files(struct sp_images *images, struct files *files, uint64_t since)
{
	uint64_t all[MOST_FILES];

	for (size_t i = 0; i < files->count; i++)
		all[i] = since;
	return sp_images_add(images, files->list, all, NULL, files->count);
}

int sp_prearm_file(struct sp_images *images, struct sp_look *look, int fd, uint64_t until)
{
	struct files *files = calloc(1, sizeof(*files));
	sp_cleanup(sp_freep) struct sp_look_file *file = malloc(sizeof(*file));
	char link[64], path[4096];
	ssize_t n;
	int r;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	r = files && file ? sp_look_open_file(look, fd, path, file) : -ENOMEM;
	if (r < 0) {
		close(fd);
	} else {
		files->look = look;
		if (keep(files, file) && file->is_elf && path[0] == '/')
			sp_libraries_list(path, fd, NULL, add_library, files);
		r = arm_files(images, files, until);
	}
	free_files(files);
	return r;
}

int sp_prearm_command(struct sp_images *images, struct sp_look *look, char *const *argv,
		      const struct sp_identity *identity)
{
	struct files *files = calloc(1, sizeof(*files));
	unsigned words = 0;
	int r;

	if (!files)
		return -ENOMEM;
	files->look = look;
	add_program(files, argv[0], identity);
	for (size_t i = 1; argv[i]; i++) {
		char *copy = strdup(argv[i]), *state = NULL;

		for (char *word = copy ? strtok_r(copy, " \t\n;|&()'\"", &state) : NULL;
		     word && words < MOST_WORDS;
		     word = strtok_r(NULL, " \t\n;|&()'\"", &state), words++)
			if (isalnum((unsigned char)*word) || *word == '.' || *word == '/' ||
			    *word == '_')
				add_program(files, word, NULL);
		free(copy);
	}
	r = arm_files(images, files, 0);
	free_files(files);
	return r;
}
