/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sums.c - the program of the tests of faults: sums in nested regions, whose result is known by the
 * number of steps, with a ledger of its own, a shared file that outlives it.
 *
 *	sums LOG run THREADS ROUNDS PAUSE	ROUNDS for each thread, 0: until `stop`; PAUSE in us
 *	sums LOG alone THREADS ROUNDS PAUSE	the same, waiting for nobody
 *	sums LOG storm THREADS ROUNDS		all threads are alive at once
 *	sums LOG bomb LANES ROUNDS		forks until nobody may fork, or all lanes are used
 *	sums LOG execs COUNT ROUNDS		its children, one after the other, exec it again
 *
 * A round is one call of "outer" and three of "inner". Each thread counts a call before its begin
 * and after its end. It begins when the log's `go` is set, and leaves when `leave` is, so that its
 * semaphores can be looked at before and after. lib/sums.py is the other side.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usdt/sp_region.h"

#define MAGIC 0x31534d5553505321u
#define STEPS 40 /* of the sum in a call of "inner" */

struct lane {
	uint32_t pid, tid;
	uint64_t entered, left; /* calls: counted before their begin, after their end */
	uint64_t steps, state;	/* of the sum */
	uint64_t done;
};

struct ledger {
	uint64_t magic;
	uint32_t go, stop, leave, used; /* used: lanes */
	uint32_t refused, done; /* forks or threads that the kernel refused; 1: all is done */
	uint64_t lanes;
	struct lane lane[];
};

static struct ledger *ledger;
static uint64_t rounds;
static unsigned pause_us;
static pthread_barrier_t barrier;

static int flag(const uint32_t *word)
{
	return (int)__atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void wait_for(const uint32_t *word)
{
	while (!flag(word))
		usleep(1000);
}

/* Without a call, so that its locals are below the stack pointer. */
static __attribute__((noinline)) uint64_t advance(uint64_t x)
{
	volatile uint64_t below[4] = {x, x, x, x};

	for (int i = 0; i < STEPS; i++) {
		below[i & 3] = below[(i + 3) & 3] * 6364136223846793005u + 1442695040888963407u;
		x = below[i & 3];
	}
	return x;
}

static void inner(struct lane *l)
{
	l->entered++;
	SP_REGION_BEGIN("inner");
	l->state = advance(l->state);
	SP_REGION_END("inner");
	l->left++;
	l->steps += STEPS;
}

static void work(struct lane *l)
{
	for (uint64_t i = 0; rounds ? i < rounds : !flag(&ledger->stop); i++) {
		l->entered++;
		SP_REGION_BEGIN("outer");
		inner(l);
		inner(l);
		inner(l);
		SP_REGION_END("outer");
		l->left++;
		if (pause_us)
			usleep(pause_us);
	}
	__atomic_store_n(&l->done, 1, __ATOMIC_RELEASE);
}

/* The next lane, NULL if all are used. */
static struct lane *take_lane(void)
{
	uint32_t n = __atomic_fetch_add(&ledger->used, 1, __ATOMIC_ACQ_REL);
	struct lane *l = &ledger->lane[n];

	if (n >= ledger->lanes) {
		__atomic_fetch_sub(&ledger->used, 1, __ATOMIC_ACQ_REL);
		return NULL;
	}
	l->state = n + 1;
	l->pid = (uint32_t)getpid();
	l->tid = (uint32_t)syscall(SYS_gettid);
	return l;
}

static void *thread(void *arg)
{
	((struct lane *)arg)->tid = (uint32_t)syscall(SYS_gettid);
	wait_for(&ledger->go);
	work(arg);
	return NULL;
}

static void *storm_thread(void *arg)
{
	((struct lane *)arg)->tid = (uint32_t)syscall(SYS_gettid);
	work(arg);
	(void)pthread_barrier_wait(&barrier);
	return NULL;
}

static void make_threads(unsigned count, void *(*body)(void *))
{
	pthread_t *ids = calloc(count, sizeof(*ids));
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64u << 10);
	for (unsigned i = 0; i < count; i++) {
		int r = pthread_create(&ids[i], &small, body, take_lane());

		if (r) {
			fprintf(stderr, "thread %u: %s\n", i, strerror(r));
			exit(9);
		}
	}
	if (body == thread)
		__atomic_store_n(&ledger->magic, MAGIC, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < count; i++)
		pthread_join(ids[i], NULL);
	free(ids);
}

/* Each process works, and forks two more, until the kernel refuses. */
static void bomb(void)
{
	struct lane *l = take_lane();
	int children = 0;

	if (!l)
		return;
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();

		if (child < 0)
			__atomic_fetch_add(&ledger->refused, 1, __ATOMIC_RELAXED);
		if (child == 0) {
			bomb();
			_exit(0);
		}
		children += child > 0;
	}
	work(l);
	/* All are alive until one was refused, or none is left to be made. */
	while (!flag(&ledger->refused) && flag(&ledger->used) < (int)ledger->lanes)
		usleep(20000);
	while (children-- > 0)
		wait(NULL);
}

static void execs(char **argv, unsigned count)
{
	for (unsigned i = 0; i < count && !flag(&ledger->stop); i++) {
		pid_t child = fork();

		if (child == 0) {
			execl("/proc/self/exe", argv[0], argv[1], "one", "0", argv[4], NULL);
			_exit(127);
		}
		if (child < 0)
			__atomic_fetch_add(&ledger->refused, 1, __ATOMIC_RELAXED);
		else
			waitpid(child, NULL, 0);
		usleep(pause_us);
	}
}

static struct ledger *open_ledger(const char *path, uint64_t lanes)
{
	size_t bytes = sizeof(struct ledger) + lanes * sizeof(struct lane);
	int fd = open(path, O_RDWR | (lanes ? O_CREAT | O_EXCL : 0), 0666);
	struct ledger *l;

	if (fd >= 0 && !lanes)
		bytes = (size_t)lseek(fd, 0, SEEK_END);
	l = fd < 0 || (lanes && ftruncate(fd, (off_t)bytes))
		    ? MAP_FAILED
		    : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (l == MAP_FAILED) {
		perror(path);
		exit(9);
	}
	close(fd);
	if (lanes)
		l->lanes = lanes;
	return l;
}

int main(int argc, char **argv)
{
	unsigned count = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
	const char *mode = argc > 4 ? argv[2] : "";

	rounds = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	pause_us = argc > 5 ? (unsigned)atoi(argv[5]) : 0;
	if (!strcmp(mode, "one")) {
		ledger = open_ledger(argv[1], 0);
		struct lane *l = take_lane();

		if (l)
			work(l);
		return 0;
	}
	if (!*mode)
		return 2;
	ledger = open_ledger(argv[1], count);
	if (!strcmp(mode, "alone"))
		ledger->go = ledger->leave = 1;
	if (!strcmp(mode, "run") || !strcmp(mode, "alone")) {
		make_threads(count, thread);
	} else {
		__atomic_store_n(&ledger->magic, MAGIC, __ATOMIC_RELEASE);
		wait_for(&ledger->go);
		if (!strcmp(mode, "storm")) {
			pthread_barrier_init(&barrier, NULL, count);
			make_threads(count, storm_thread);
		} else if (!strcmp(mode, "bomb")) {
			bomb();
		} else {
			execs(argv, count);
		}
	}
	__atomic_store_n(&ledger->done, 1, __ATOMIC_RELEASE);
	wait_for(&ledger->leave);
	printf("%u lanes\n", flag(&ledger->used));
	return 0;
}
