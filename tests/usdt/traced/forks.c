/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes of every descent, with regions of their own in a program and in two libraries (the same
 * file, compiled with -DUNIT=one and two). Usage: forks traced|quiet [no-mmap|no-madvise]
 *
 * Waits for tracers of all three unless told "quiet". With "no-mmap" or "no-madvise" the kernel
 * refuses what the header asks for, and that alone. Prints for each region how often it was begun
 * and ended, first by processes that use the places of their own, then by those that were forked
 * after the first traced region of that program or library. Fails if any process ended otherwise
 * than told.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "usdt/sp_region.h"

/* How often a library's region is entered, and whether a tracer listens on all places. */
void one_regions(const char *name, unsigned count);
void two_regions(const char *name, unsigned count);
int one_ready(void);
int two_ready(void);

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

/* Each probe has two places, and each counts itself. */
static int ready(void)
{
	return sp_begin_sema_v1 >= 2 && sp_end_sema_v1 >= 2;
}

#ifdef UNIT

int JOIN(UNIT, _ready)(void)
{
	return ready();
}

void JOIN(UNIT, _regions)(const char *name, unsigned count)
{
	sp_region_t region = sp_region_intern(name);

	for (; count; count--) {
		sp_region_begin(region);
		sp_region_end(region);
	}
}

#else

#define CALLS 100
#define THREADS 4
#define ROUNDS 25

enum {
	EARLY,
	EARLY_GRAND,
	PARENT,
	LATE,
	GRAND,
	GREAT,
	ORPHAN,
	VFORKED,
	THREAD,
	THREAD_CHILD,
	SCOPE,
	PAIR,
	HANDLE,
	ONE,
	ONE_CHILD,
	TWO_FIRST,
	TWO_CHILD,
	NAMES
};

static const char *const names[NAMES] = {
	"early",	"early grandchild",
	"parent",	"late",
	"grandchild",	"great-grandchild",
	"orphan",	"vforked",
	"thread",	"thread's child",
	"scope across", "pair across",
	"handle",	"one",
	"one, child",	"two, first in child",
	"two, child",
};

/* Of all processes: [name][begin or end][own place or children's]. */
static unsigned (*counts)[2][2];
static int inherited; /* forked after the program's first traced region */

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	_exit(9);
}

static void count(int name, int end, int child, unsigned number)
{
	__atomic_fetch_add(&counts[name][end][child], number, __ATOMIC_RELAXED);
}

#define REGIONS(index, text, number) \
	do { \
		for (unsigned i_ = 0; i_ < (number); i_++) { \
			count(index, 0, inherited, 1); \
			SP_REGION_BEGIN(text); \
			count(index, 1, inherited, 1); \
			SP_REGION_END(text); \
		} \
	} while (0)

static void join(pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fail("fork or wait");
	if (WIFSIGNALED(status))
		fail("a child was killed by a signal");
	if (WEXITSTATUS(status))
		fail("a child failed");
}

/* Children are made here; with true for one whose parent has entered a traced region before. */
static pid_t child(int late)
{
	pid_t pid = fork();

	if (pid == 0 && late)
		inherited = 1;
	return pid;
}

static void play_early(void)
{
	pid_t pid = child(0), grand;

	if (pid == 0) {
		REGIONS(EARLY, "early", CALLS);
		grand = child(1);
		if (grand == 0) {
			REGIONS(EARLY_GRAND, "early grandchild", CALLS);
			_exit(0);
		}
		join(grand);
		REGIONS(EARLY, "early", CALLS);
		_exit(0);
	}
	join(pid);
}

static void play_generations(void)
{
	pid_t pid = child(1);

	if (pid) {
		REGIONS(PARENT, "parent", CALLS);
		join(pid);
		return;
	}
	REGIONS(LATE, "late", CALLS);
	pid = child(1);
	if (pid == 0) {
		REGIONS(GRAND, "grandchild", CALLS);
		pid = child(1);
		if (pid == 0) {
			REGIONS(GREAT, "great-grandchild", CALLS);
			_exit(0);
		}
		join(pid);
		_exit(0);
	}
	join(pid);
	REGIONS(LATE, "late", CALLS);
	_exit(0);
}

/* A daemon: its parent has ended when it enters its regions. The pipe's end says that it is done.
 */
static void play_orphan(void)
{
	int wait[2], done[2];
	char byte;
	pid_t pid;

	if (pipe(wait) || pipe(done))
		fail("pipe");
	pid = child(1);
	if (pid == 0) {
		if (child(1))
			_exit(0);
		close(wait[1]);
		if (read(wait[0], &byte, 1) != 0)
			_exit(9);
		REGIONS(ORPHAN, "orphan", CALLS);
		_exit(write(done[1], "", 1) != 1);
	}
	join(pid);
	close(wait[0]);
	close(wait[1]);
	close(done[1]);
	if (read(done[0], &byte, 1) != 1)
		fail("the orphan did not live to its end");
	close(done[0]);
}

static __attribute__((noinline)) void play_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		REGIONS(VFORKED, "vforked", CALLS);
		_exit(0);
	}
	join(pid);
	REGIONS(PARENT, "parent", CALLS);
}

static void *thread(void *unused)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		pid_t pid;

		REGIONS(THREAD, "thread", CALLS);
		pid = fork();
		if (pid == 0) {
			inherited = 1;
			REGIONS(THREAD_CHILD, "thread's child", CALLS);
			_exit(0);
		}
		REGIONS(THREAD, "thread", CALLS);
		join(pid);
	}
	return unused;
}

static void play_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, NULL))
			fail("thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static pid_t fork_in_scope(void)
{
	pid_t pid;

	count(SCOPE, 0, inherited, 1);
	SP_REGION_SCOPE("scope across");
	pid = child(1);
	count(SCOPE, 1, inherited, 1);
	return pid;
}

static void play_across(void)
{
	pid_t pid;

	for (unsigned i = 0; i < CALLS; i++) {
		pid = fork_in_scope();
		if (pid == 0)
			_exit(0);
		join(pid);
	}
	count(PAIR, 0, inherited, 1);
	SP_REGION_BEGIN("pair across");
	pid = child(1);
	count(PAIR, 1, inherited, 1);
	SP_REGION_END("pair across");
	if (pid == 0)
		_exit(0);
	join(pid);
}

static void play_handle(void)
{
	sp_region_t region = sp_region_intern("handle");
	pid_t pid = child(1);

	for (unsigned i = 0; i < CALLS; i++) {
		count(HANDLE, 0, inherited, 1);
		sp_region_begin(region);
		count(HANDLE, 1, inherited, 1);
		sp_region_end(region);
	}
	if (pid == 0)
		_exit(0);
	join(pid);
}

static void library(int name, int child_, void (*regions)(const char *, unsigned))
{
	count(name, 0, child_, CALLS);
	count(name, 1, child_, CALLS);
	regions(names[name], CALLS);
}

/* Library one is used before the fork, library two for the first time in the child. */
static void play_libraries(void)
{
	pid_t pid;

	library(ONE, 0, one_regions);
	pid = child(1);
	if (pid == 0) {
		library(ONE_CHILD, 1, one_regions);
		library(TWO_FIRST, 0, two_regions);
		pid = child(1);
		if (pid == 0) {
			library(TWO_CHILD, 1, two_regions);
			_exit(0);
		}
		join(pid);
		_exit(0);
	}
	join(pid);
	library(ONE, 0, one_regions);
}

/* The header's mmap (4096 bytes, private, anonymous) or its madvise fails, with ENOMEM. */
static void refuse(const char *what)
{
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
	int map = !strcmp(what, "no-mmap");
	struct sock_filter filter[] = {
		LOAD(nr),
		UNLESS(map ? SYS_mmap : SYS_madvise, 5),
		LOAD(args[1]),
		UNLESS(4096, 3),
		LOAD(args[map ? 3 : 2]),
		UNLESS(map ? MAP_PRIVATE | MAP_ANONYMOUS : MADV_WIPEONFORK, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 12),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
	void *page;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		fail("seccomp");
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if ((page == MAP_FAILED) != map)
		fail("mmap is not refused as told");
	if (!map && !madvise(page, 4096, MADV_WIPEONFORK))
		fail("madvise is not refused");
}

static void await_tracers(void)
{
	struct timespec pause = {0, 10000000}, settle = {0, 500000000};
	unsigned i;

	for (i = 0; i < 10000 && !(ready() && one_ready() && two_ready()); i++)
		nanosleep(&pause, NULL);
	if (i == 10000)
		fail("no tracer on both places of all probes");
	nanosleep(&settle, NULL);
}

int main(int argc, char **argv)
{
	counts = mmap(NULL, sizeof(*counts) * NAMES, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		fail("mmap");
	if (argc > 1 && !strcmp(argv[1], "traced"))
		await_tracers();
	if (argc > 2)
		refuse(argv[2]);
	play_early();
	REGIONS(PARENT, "parent", CALLS);
	play_generations();
	play_orphan();
	play_vfork();
	play_threads();
	play_across();
	play_handle();
	play_libraries();
	REGIONS(PARENT, "parent", CALLS);
	for (int i = 0; i < NAMES; i++)
		printf("%u %u %u %u %s\n", counts[i][0][0], counts[i][1][0], counts[i][0][1],
		       counts[i][1][1], names[i]);
	return 0;
}

#endif
