/* SPDX-License-Identifier: BSD-2-Clause
 *
 * storm.c - fires regions as fast as it can, and counts what each thread fired of each: the truth for
 * a recorder that cannot keep up.
 *
 *	storm THREADS ROUNDS pinned|free [deep] [unattended] [NAMES]
 *
 * Pinned: thread i runs on CPU i alone (modulo how many there are). Deep: a recursion beyond the limit
 * of the recorder in every 64th round. Unattended: the parent, which records it, is stopped meanwhile.
 * NAMES: so many run-time names, each of them once, by the first
 * thread. Prints "THREAD-ID CPU REGION COUNT" for each; CPU -1 if it was free.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "usdt/sp_region.h"

#define DEPTH 100

enum region { OUTER, LEAF, MADE, DEEP, REGIONS };

static const char *const names[] = {"outer", "leaf", "made at run time", "deep"};

struct thread {
	pthread_t id;
	int cpu, tid;
	unsigned rounds, deep, names;
	uint64_t fired[REGIONS];
};

static sp_region_t made;

static __attribute__((noinline)) void leaf(struct thread *t)
{
	SP_REGION_BEGIN("leaf");
	t->fired[LEAF]++;
	SP_REGION_END("leaf");
}

static __attribute__((noinline)) void deep(struct thread *t, unsigned left)
{
	SP_REGION_BEGIN("deep");
	t->fired[DEEP]++;
	if (left)
		deep(t, left - 1);
	SP_REGION_END("deep");
}

static void fire_names(struct thread *t)
{
	char name[32];

	for (unsigned i = 0; i < t->names; i++) {
		sp_region_t region;

		snprintf(name, sizeof(name), "name %u", i);
		region = sp_region_intern(name);
		sp_region_begin(region);
		sp_region_end(region);
	}
}

static void *run(void *arg)
{
	struct thread *t = arg;

	t->tid = (int)syscall(SYS_gettid);
	if (t->cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET((size_t)t->cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set)) {
			perror("storm: sched_setaffinity");
			exit(1);
		}
	}
	for (unsigned i = 0; i < t->rounds; i++) {
		SP_REGION_BEGIN("outer");
		t->fired[OUTER]++;
		leaf(t);
		sp_region_begin(made);
		t->fired[MADE]++;
		leaf(t);
		sp_region_end(made);
		SP_REGION_END("outer");
		if (t->deep && i % 64 == 0)
			deep(t, DEPTH - 1);
	}
	fire_names(t);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 3 ? (unsigned)atoi(argv[1]) : 0;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct thread *threads = calloc(n + 1, sizeof(*threads));
	bool unattended = false;

	if (!n || !threads) {
		fprintf(stderr, "usage: storm THREADS ROUNDS pinned|free [deep] [NAMES]\n");
		return 2;
	}
	made = sp_region_intern(names[MADE]);
	for (int k = 4; k < argc; k++)
		unattended |= !strcmp(argv[k], "unattended");
	if (unattended)
		kill(getppid(), SIGSTOP);
	for (unsigned i = 0; i < n; i++) {
		struct thread *t = &threads[i];

		t->rounds = (unsigned)atoi(argv[2]);
		t->cpu = strcmp(argv[3], "pinned") ? -1 : (int)(i % (unsigned long)cpus);
		for (int k = 4; k < argc; k++)
			if (!strcmp(argv[k], "deep"))
				t->deep = 1;
			else if (i == 0 && strcmp(argv[k], "unattended"))
				t->names = (unsigned)atoi(argv[k]);
		if (pthread_create(&t->id, NULL, run, t)) {
			perror("storm: pthread_create");
			return 1;
		}
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i].id, NULL);
	if (unattended)
		kill(getppid(), SIGCONT);
	for (unsigned i = 0; i < n; i++) {
		for (int k = 0; k < REGIONS; k++)
			printf("%d %d %s %llu\n", threads[i].tid, threads[i].cpu, names[k],
			       (unsigned long long)threads[i].fired[k]);
	}
	free(threads);
	return 0;
}
