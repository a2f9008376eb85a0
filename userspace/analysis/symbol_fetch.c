/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_fetch.c - see symbol_fetch.h.
 *
 * The answer is one letter, F for a file and R for a reason, and the text.
 */
#include "userspace/analysis/symbol_fetch.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "userspace/analysis/symbols.h"
#include "userspace/base/cleanup.h"

#define LIBRARY "libdebuginfod.so.1"

/* What is used of the library, whose header need not be installed. */
struct library {
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *build_id, int size, char **ret_path);
	void (*watch)(void *client, int (*progress)(void *client, long a, long b));
};

bool sp_symbol_fetch_possible(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && urls[strspn(urls, " ")];
}

/* ---- the process ---- */

static uint64_t deadline;

static bool is_late(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec >= deadline;
}

/* Nonzero makes the library give up. It (0.188) would then note in its cache that the servers have
 * nothing, for ten minutes, though they did not say so: without another descriptor it cannot. */
static int on_progress(void *client, long done, long total)
{
	const struct rlimit none = {0, 0};
	bool late = is_late();

	(void)client;
	(void)done;
	(void)total;
	if (late)
		setrlimit(RLIMIT_NOFILE, &none);
	return late;
}

static void *symbol_of(void *handle, const char *name)
{
	return handle ? dlsym(handle, name) : NULL;
}

static bool load(struct library *library)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW);

	*(void **)&library->begin = symbol_of(handle, "debuginfod_begin");
	*(void **)&library->find = symbol_of(handle, "debuginfod_find_debuginfo");
	*(void **)&library->watch = symbol_of(handle, "debuginfod_set_progressfn");
	return library->begin && library->find && library->watch;
}

static void answer(int fd, char kind, const char *text)
{
	char bytes[SP_FETCH_MAX_ANSWER];
	int size = snprintf(bytes, sizeof(bytes), "%c%s", kind, text);

	if (size > 0 && (size_t)size < sizeof(bytes) && write(fd, bytes, (size_t)size) == size)
		_exit(0);
	_exit(1);
}

static const char *reason_of(int code)
{
	const char *text;

	if (is_late())
		return SP_SYMBOLS_NO_ANSWER;
	switch (code) {
	case -ENOENT:
		return "debuginfod has nothing for its build-id";
	case -ETIME:
	case -ETIMEDOUT:
		return SP_SYMBOLS_NO_ANSWER;
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		return "debuginfod cannot be reached";
	default: /* the library's own code, which may be none of errno */
		text = strerrordesc_np(-code);
		return text ? text : "debuginfod failed and does not say why";
	}
}

static void fetch_it(int fd, const char *build_id)
{
	unsigned char id[64];
	struct library library;
	char *path = NULL;
	void *client;
	size_t size = 0;
	int file;

	for (; size < sizeof(id) && sscanf(build_id + 2 * size, "%2hhx", &id[size]) == 1; size++)
		if (!build_id[2 * size + 1])
			break;
	if (!load(&library))
		answer(fd, 'R', "debuginfod is not asked: " LIBRARY " is not installed");
	client = library.begin();
	if (!client || !size)
		answer(fd, 'R', "debuginfod is not asked: out of memory");
	library.watch(client, on_progress);
	file = library.find(client, id, (int)size, &path);
	if (file >= 0 && path)
		answer(fd, 'F', path);
	answer(fd, 'R', reason_of(file));
}

struct question {
	const char *build_id;
	uint64_t deadline_ns;
};

static int run(const void *context, int fd, pid_t parent)
{
	const struct question *question = context;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		return 1;
	if (null >= 0) { /* the library may talk */
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	deadline = question->deadline_ns;
	fetch_it(fd, question->build_id);
	return 1;
}

int sp_symbol_fetch_start(struct sp_symbol_fetch *fetch, const char *build_id, uint64_t deadline_ns)
{
	const struct question question = {build_id, deadline_ns};

	*fetch = (struct sp_symbol_fetch){0};
	return sp_child_start(run, &question, &fetch->child);
}

/* ---- the other end ---- */

int sp_symbol_fetch_hear(struct sp_symbol_fetch *fetch)
{
	ssize_t n = read(fetch->child.fd, fetch->answer + fetch->used,
			 SP_FETCH_MAX_ANSWER - fetch->used);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	fetch->used += (size_t)n;
	return n > 0;
}

void sp_symbol_fetch_end(struct sp_symbol_fetch *fetch, const char **ret_path,
			 const char **ret_reason)
{
	sp_child_end(&fetch->child, true); /* it has answered, or is too late */
	fetch->answer[fetch->used] = '\0';
	*ret_path = fetch->answer[0] == 'F' ? fetch->answer + 1 : NULL;
	*ret_reason = fetch->answer[0] == 'R' ? fetch->answer + 1
		      : fetch->answer[0]      ? ""
					      : SP_SYMBOLS_NO_ANSWER;
}
