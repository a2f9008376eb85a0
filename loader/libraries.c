/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libraries.c - asks the dynamic linker, which knows caches, run paths and $ORIGIN, and does not
 * trust what it then hears.
 *
 * Invariant: it ends within DEADLINE_MS and some, and takes no more than TEXT_MOST of an answer.
 */
#include "loader/libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/recorder.h"
#include "loader/filekey.h"
#include "loader/sandbox.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

#define DEADLINE_MS 1000
#define TEXT_MOST (256u << 10)
#define MEMORY_BYTES (8ull << 30) /* of address space: libraries are mapped, not read */
#define CPU_SECONDS 2

/* Called by its own name, never by what the program asks for. */
static const char *const linkers[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"};

/* Of our environment only what decides which libraries are found: the rest is nobody's business. */
static void choose_environment(const char *env[3], char *room[2])
{
	static const char *const names[] = {"LD_LIBRARY_PATH", "LD_PRELOAD"};
	size_t n = 0;

	for (size_t i = 0; i < 2; i++) {
		const char *value = getenv(names[i]);

		if (value && asprintf(&room[i], "%s=%s", names[i], value) >= 0)
			env[n++] = room[i];
		else
			room[i] = NULL;
	}
	env[n] = NULL;
}

/* Whoever could have written the file has no more rights in there than before. */
static void choose_user(struct sp_sandbox *box, int fd, const struct sp_identity *runner)
{
	struct stat st;

	box->uid = box->gid = SP_SANDBOX_NOBODY;
	if (runner) {
		box->uid = runner->uid;
		box->gid = runner->gid;
		box->groups = runner->groups;
		box->group_count = runner->group_count;
		box->root_files = true; /* the program may be in a folder of a user's */
	} else if (sp_filekey_stat(fd, &st) == 0 && !(st.st_mode & S_IWOTH)) {
		box->uid = st.st_uid;
		box->gid = st.st_gid;
	}
}

/* All that is said until the end or the deadline. False if it did not come to an end. */
static bool read_all(int fd, char *text, size_t *ret_bytes)
{
	uint64_t until = sp_now() + DEADLINE_MS * 1000000ull, now;
	size_t used = 0;

	while ((now = sp_now()) < until && used < TEXT_MOST) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (poll(&p, 1, (int)((until - now) / 1000000) + 1) <= 0)
			continue;
		n = read(fd, text + used, TEXT_MOST - used);
		if (n < 0 && errno == EINTR)
			continue;
		*ret_bytes = used;
		if (n <= 0)
			return n == 0;
		used += (size_t)n;
	}
	return false;
}

/* Lines like "libm.so.6 => /lib/libm.so.6 (0x7f…)" and "/lib64/ld-linux… (0x7f…)". */
static void take_lines(char *text, void (*cb)(void *arg, const char *path), void *arg)
{
	char *state = NULL;

	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		char *at = strstr(line, "=> "), *end;

		at = at ? at + 3 : line + strspn(line, " \t");
		end = strstr(at, " (0x");
		if (*at != '/' || !end)
			continue;
		*end = 0;
		cb(arg, at);
	}
}

void sp_libraries_list(const char *path, int fd, const struct sp_identity *runner,
		       void (*cb)(void *arg, const char *path), void *arg)
{
	sp_cleanup(sp_freep) char *text = malloc(TEXT_MOST + 1);
	sp_cleanup(sp_closep) int helper = -1, in = -1, out = -1;
	const char *linker = NULL, *env[3];
	char *room[2];
	struct sp_sandbox box = {.in = -1, .err = -1, .own_group = true, .no_files = true};
	struct sp_error err = {0};
	int ends[2], status;
	size_t bytes = 0;
	pid_t pid;
	bool ended;

	for (size_t i = 0; i < sp_array_size(linkers) && !linker; i++)
		linker = access(linkers[i], X_OK) == 0 ? linkers[i] : NULL;
	if (!text || !linker)
		return;
	if (sp_sandbox_open("sp-libs", &helper, &err) < 0) {
		sp_log_warning("%s", err.text);
		return;
	}
	if (pipe2(ends, O_CLOEXEC))
		return;
	in = ends[0];
	box.out = out = ends[1];
	box.argv = (const char *const[]){"sp-libs", linker, path, NULL};
	box.cpu_seconds = CPU_SECONDS;
	box.memory_bytes = MEMORY_BYTES;
	choose_user(&box, fd, runner);
	choose_environment(env, room);
	box.env = env;
	if (sp_sandbox_spawn(helper, &box, &pid, &err) == 0) {
		close(out);
		out = -1;
		ended = read_all(in, text, &bytes);
		(void)sp_sandbox_wait(pid, !ended, &status);
		if (!ended)
			bytes = 0;
	}
	free(room[0]);
	free(room[1]);
	text[bytes] = 0;
	take_lines(text, cb, arg);
}
