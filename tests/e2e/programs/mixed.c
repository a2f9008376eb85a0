/* SPDX-License-Identifier: BSD-2-Clause
 *
 * mixed.c - a load of everything at a steady rate: threads that stay and threads that come and go,
 * nested regions of literal and run-time names, forks, execs, a library that is loaded and unloaded.
 *
 *	mixed COUNTS SECONDS RATE LIBRARY
 *	mixed COUNTS exec CALLS
 *
 * RATE: calls a second and staying thread. Each process appends to COUNTS, when it ends, a line
 *"PID REGION CALLS" for each region that it entered: exact, whatever was recorded.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "usdt/sp_region.h"

enum region { OUTER, INNER, NAMED, BRIEF, FORK, CHILD, EXECED, LIBRARY, REGIONS };

static const char *const names[REGIONS] = {"outer",	  "inner", "run-time name", "brief thread",
					   "around fork", "child", "exec'd",	    "library"};

#define STAYING 3
#define ROUND_MS 20
#define CHILD_CALLS 25
#define BRIEF_CALLS 10

struct counts {
	uint64_t of[REGIONS];
};

static const char *path;
static double until;
static int rate;
static sp_region_t named;
static volatile uint64_t sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what)
{
	perror(what);
	_exit(9);
}

static void append(const struct counts *counts)
{
	char text[1024];
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	size_t at = 0;

	for (int i = 0; i < REGIONS; i++)
		if (counts->of[i])
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%d\t%s\t%llu\n",
					       (int)getpid(), names[i],
					       (unsigned long long)counts->of[i]);
	if (fd < 0 || write(fd, text, at) != (ssize_t)at)
		fail(path);
	close(fd);
}

static void work(int rounds)
{
	uint64_t x = sink + 1;

	for (int i = 0; i < rounds; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}

/* Four calls. */
static void once(struct counts *c)
{
	SP_REGION_BEGIN("outer");
	for (int i = 0; i < 2; i++) {
		SP_REGION_BEGIN("inner");
		work(200);
		SP_REGION_END("inner");
	}
	sp_region_begin(named);
	work(100);
	sp_region_end(named);
	SP_REGION_END("outer");
	c->of[OUTER]++;
	c->of[INNER] += 2;
	c->of[NAMED]++;
}

/* A burst, then a rest, so that the rate is what was asked for. */
static void *stay(void *arg)
{
	struct counts *c = arg;
	double next = now(), rest;

	while (next < until) {
		for (int i = 0; i < rate * ROUND_MS / 1000 / 4; i++)
			once(c);
		/* The clock is read once: a rest that has become negative would last an hour. */
		next += ROUND_MS / 1000.0;
		rest = next - now();
		if (rest > 0)
			usleep((useconds_t)(rest * 1e6));
		else
			next -= rest;
	}
	return NULL;
}

static void *brief(void *arg)
{
	struct counts *c = arg;

	for (int i = 0; i < BRIEF_CALLS; i++) {
		SP_REGION_SCOPE("brief thread");
		c->of[BRIEF]++;
	}
	return NULL;
}

static void await_child(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		fail("child");
}

static void fork_once(struct counts *c)
{
	pid_t pid;

	SP_REGION_BEGIN("around fork");
	pid = fork();
	if (pid == 0) {
		struct counts mine = {{0}};

		for (; mine.of[CHILD] < CHILD_CALLS; mine.of[CHILD]++) {
			SP_REGION_BEGIN("child");
			work(100);
			SP_REGION_END("child");
		}
		append(&mine);
		_exit(0);
	}
	await_child(pid);
	SP_REGION_END("around fork");
	c->of[FORK]++;
}

static void exec_once(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/proc/self/exe", "mixed", path, "exec", "25", (char *)NULL);
		_exit(9);
	}
	await_child(pid);
}

static void load_once(struct counts *c, const char *library, int enter)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	void (*call)(void) = handle ? (void (*)(void))dlsym(handle, "mixed_call") : NULL;

	if (!call) {
		fprintf(stderr, "mixed: %s\n", dlerror());
		_exit(9);
	}
	if (enter) {
		call();
		c->of[LIBRARY]++;
	}
	dlclose(handle);
}

static void come_and_go(struct counts *c, const char *library)
{
	pthread_t thread;

	/* A library is armed once it has been seen; what it calls before that is nobody's to count.
	 */
	load_once(c, library, 0);
	usleep(500000);
	while (now() < until) {
		fork_once(c);
		exec_once();
		load_once(c, library, 1);
		if (pthread_create(&thread, NULL, brief, c) || pthread_join(thread, NULL))
			fail("thread");
		usleep(100000);
	}
}

int main(int argc, char **argv)
{
	struct counts counts[STAYING + 1] = {{{0}}};
	pthread_t threads[STAYING];

	if (argc != 4 && argc != 5)
		return 9;
	path = argv[1];
	if (argc == 4) {
		for (; counts->of[EXECED] < strtoull(argv[3], NULL, 10); counts->of[EXECED]++) {
			SP_REGION_BEGIN("exec'd");
			work(100);
			SP_REGION_END("exec'd");
		}
		append(counts);
		return 0;
	}
	until = now() + atof(argv[2]);
	rate = atoi(argv[3]);
	named = sp_region_intern("run-time name");
	for (int i = 0; i < STAYING; i++)
		if (pthread_create(&threads[i], NULL, stay, &counts[i]))
			fail("thread");
	come_and_go(&counts[STAYING], argv[4]);
	for (int i = 0; i < STAYING; i++) {
		pthread_join(threads[i], NULL);
		for (int k = 0; k < REGIONS; k++)
			counts[STAYING].of[k] += counts[i].of[k];
	}
	append(&counts[STAYING]);
	return 0;
}
