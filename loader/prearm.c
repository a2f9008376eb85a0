/* SPDX-License-Identifier: BSD-2-Clause
 *
 * prearm.c - files are opened and the dynamic linker is asked as the user, who is about to run
 * them.
 */
#include "loader/prearm.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/command.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

#define MOST_FILES 256
#define MOST_WORDS 64

/* The dynamic linker lists what a program would load without running any of it. Called by its own
 * name, never by what the program asks for. */
static const char *const linkers[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"};

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

/* True for an ELF file that was not there before. */
static bool add_file(struct files *files, const char *path)
{
	struct stat st;
	int fd;

	for (size_t i = 0; i < files->count; i++)
		if (!strcmp(files->paths[i], path))
			return false;
	if (files->count == MOST_FILES || sp_identity_enter(files->identity) < 0)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	sp_identity_leave(files->identity);
	if (fd < 0)
		return false;
	files->paths[files->count] = strdup(path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !is_elf(fd) || !files->paths[files->count]) {
		free(files->paths[files->count]);
		close(fd);
		return false;
	}
	files->fds[files->count++] = fd;
	return true;
}

static void list_in_child(const struct sp_identity *identity, const char *linker, const char *path,
			  int out)
{
	int null = open("/dev/null", O_RDWR);

	if (sp_identity_become(identity) < 0 || null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(null, 2) < 0)
		_exit(127);
	execl(linker, linker, "--list", path, (char *)NULL);
	_exit(127);
}

static void read_list(struct files *files, int fd)
{
	FILE *f = fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;

	if (!f) {
		close(fd);
		return;
	}
	while (getline(&line, &room, f) >= 0) {
		char *at = strstr(line, "=> "), *end;

		at = at ? at + 3 : line + strspn(line, " \t");
		end = strstr(at, " (0x");
		if (*at == '/' && end) {
			*end = 0;
			(void)add_file(files, at);
		}
	}
	free(line);
	fclose(f);
}

static void add_libraries(struct files *files, const char *path)
{
	const char *linker = NULL;
	int pipe_fds[2];
	pid_t pid;

	for (size_t i = 0; i < sp_array_size(linkers) && !linker; i++)
		linker = access(linkers[i], X_OK) == 0 ? linkers[i] : NULL;
	if (!linker || pipe2(pipe_fds, O_CLOEXEC))
		return;
	pid = fork();
	if (pid == 0)
		list_in_child(files->identity, linker, path, pipe_fds[1]);
	close(pipe_fds[1]);
	if (pid < 0) {
		close(pipe_fds[0]);
		return;
	}
	read_list(files, pipe_fds[0]);
	(void)waitpid(pid, NULL, 0);
}

static void add_program(struct files *files, const char *name)
{
	char *path = sp_command_find(name);

	if (path && add_file(files, path))
		add_libraries(files, path);
	free(path);
}

static int arm_files(struct sp_images *images, struct files *files)
{
	int r = sp_images_add(images, files->fds, (const char *const *)files->paths, files->count);

	for (size_t i = 0; i < files->count; i++)
		free(files->paths[i]);
	return r;
}

int sp_prearm_file(struct sp_images *images, int fd, const struct sp_identity *identity)
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
		add_libraries(files, path);
	return arm_files(images, files);
}

int sp_prearm_command(struct sp_images *images, char *const *argv,
		      const struct sp_identity *identity)
{
	sp_cleanup(sp_freep) struct files *files = calloc(1, sizeof(*files));
	unsigned words = 0;

	if (!files)
		return -ENOMEM;
	files->identity = identity;
	add_program(files, argv[0]);
	for (size_t i = 1; argv[i]; i++) {
		char *copy = strdup(argv[i]), *state = NULL;

		for (char *word = copy ? strtok_r(copy, " \t\n;|&()'\"", &state) : NULL;
		     word && words < MOST_WORDS;
		     word = strtok_r(NULL, " \t\n;|&()'\"", &state), words++)
			if (isalnum((unsigned char)*word) || *word == '.' || *word == '/' ||
			    *word == '_')
				add_program(files, word);
		free(copy);
	}
	return arm_files(images, files);
}
