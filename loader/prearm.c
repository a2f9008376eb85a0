/* SPDX-License-Identifier: BSD-2-Clause
 *
 * prearm.c - files are opened as the user, after a look at what they are: what the arguments and
 * the dynamic linker say are only words, and may as well name a device.
 */
#include "loader/prearm.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/command.h"
#include "loader/libraries.h"
#include "userspace/base/cleanup.h"

#define MOST_FILES 256
#define MOST_WORDS 64

struct files {
	const struct sp_identity *identity;
	int fds[MOST_FILES];
	char *paths[MOST_FILES];
	size_t count;
};

static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4);
}

/* Opening anything but a file can have an effect, or take for ever. */
static int open_file(const char *path, int *ret_fd)
{
	sp_cleanup(sp_closep) int at = open(path, O_PATH | O_CLOEXEC);
	char self[32];
	struct stat st;

	if (at < 0 || fstat(at, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	*ret_fd = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return *ret_fd < 0 ? -errno : 0;
}

/* True for an ELF file that was not there before. */
static bool add_file(struct files *files, const char *path)
{
	int fd = -1, r;

	for (size_t i = 0; i < files->count; i++)
		if (!strcmp(files->paths[i], path))
			return false;
	if (files->count == MOST_FILES || sp_identity_enter(files->identity) < 0)
		return false;
	r = open_file(path, &fd);
	sp_identity_leave(files->identity);
	if (r < 0)
		return false;
	files->paths[files->count] = strdup(path);
	if (!is_elf(fd) || !files->paths[files->count]) {
		free(files->paths[files->count]);
		close(fd);
		return false;
	}
	files->fds[files->count++] = fd;
	return true;
}

static void add_library(void *files, const char *path)
{
	(void)add_file(files, path);
}

/* @runner: who is about to run it for certain, or NULL. */
static void add_program(struct files *files, const char *name, const struct sp_identity *runner)
{
	char *path = sp_command_find(name);

	if (path && add_file(files, path))
		sp_libraries_list(path, files->fds[files->count - 1], runner, add_library, files);
	free(path);
}

/* @since: when they began to run, or will; 0: once they are armed. */
static int arm_files(struct sp_images *images, struct files *files, uint64_t since)
{
	uint64_t all[MOST_FILES];
	int r;

	for (size_t i = 0; i < files->count; i++)
		all[i] = since;
	r = sp_images_add(images, files->fds, (const char *const *)files->paths, all, NULL,
			  files->count);
	for (size_t i = 0; i < files->count; i++)
		free(files->paths[i]);
	return r;
}

int sp_prearm_file(struct sp_images *images, int fd, const struct sp_identity *identity,
		   uint64_t until)
{
	sp_cleanup(sp_freep) struct files *files = calloc(1, sizeof(*files));
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	if (!files || !(files->paths[0] = strdup(path))) {
		close(fd);
		return -ENOMEM;
	}
	files->identity = identity;
	files->fds[0] = fd;
	files->count = 1;
	if (is_elf(fd) && path[0] == '/')
		sp_libraries_list(path, fd, NULL, add_library, files);
	return arm_files(images, files, until);
}

int sp_prearm_command(struct sp_images *images, char *const *argv,
		      const struct sp_identity *identity)
{
	sp_cleanup(sp_freep) struct files *files = calloc(1, sizeof(*files));
	unsigned words = 0;

	if (!files)
		return -ENOMEM;
	files->identity = identity;
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
	return arm_files(images, files, 0);
}
