/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fibers.c - regions on several stacks of one thread, none of which is left: every call ends.
 *
 * "pair": two fibers of the main thread, on stacks that malloc puts beside its control block.
 * "arena": a thread and its fiber, on stacks of the program's own, in one mapping.
 * "fiber" or "signal", N: N calls deep in a thread, a fiber or handler on a stack that lies above.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "usdt/sp_region.h"

#define NOINLINE __attribute__((noinline, noclone))
#define BYTES 262144

static ucontext_t back, fiber[2];
static char *above;
static int by_signal;

static NOINLINE void plain(void)
{
	SP_REGION_BEGIN("plain");
	SP_REGION_END("plain");
}

static NOINLINE void first(void)
{
	SP_REGION_SCOPE("first");
	plain();
	swapcontext(&fiber[0], &back);
	plain();
}

static NOINLINE void second(void)
{
	SP_REGION_SCOPE("second");
	plain();
}

static void handler(int number)
{
	(void)number;
	SP_REGION_SCOPE("first");
	plain();
}

static void prepare(int i, void (*function)(void), void *memory)
{
	getcontext(&fiber[i]);
	fiber[i].uc_stack.ss_sp = memory;
	fiber[i].uc_stack.ss_size = BYTES;
	fiber[i].uc_link = &back;
	makecontext(&fiber[i], function, 0);
}

static void pair(void)
{
	char *one = malloc(BYTES), *other = malloc(BYTES);

	prepare(0, first, one < other ? one : other);
	prepare(1, second, one < other ? other : one);
	SP_REGION_SCOPE("around");
	swapcontext(&back, &fiber[0]);
	swapcontext(&back, &fiber[1]); /* higher than the first, in which a scope is open */
	swapcontext(&back, &fiber[0]);
}

static NOINLINE void descend(int n)
{
	SP_REGION_SCOPE("deep");
	if (n > 1) {
		descend(n - 1);
	} else if (by_signal) {
		raise(SIGUSR1);
	} else {
		prepare(0, first, above);
		swapcontext(&back, &fiber[0]);
		plain();
		swapcontext(&back, &fiber[0]);
	}
	__asm__ volatile("");
}

static void *thread(void *depth)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	stack_t s = {.ss_sp = above, .ss_size = BYTES};

	if ((char *)&s > above)
		exit(2); /* this would test nothing */
	if (by_signal) {
		sigaltstack(&s, NULL);
		sigaction(SIGUSR1, &action, NULL);
	}
	descend(*(int *)depth);
	plain();
	return NULL;
}

static void *with_fiber(void *arena)
{
	prepare(0, first, arena);
	SP_REGION_SCOPE("around");
	swapcontext(&back, &fiber[0]);
	plain(); /* higher than the fiber, in which a scope is open */
	swapcontext(&back, &fiber[0]);
	return NULL;
}

static void arena(void)
{
	char *memory = mmap(NULL, 3 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t id;

	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, memory + BYTES, 2 * BYTES);
	pthread_create(&id, &attributes, with_fiber, memory);
	pthread_join(id, NULL);
}

int main(int argc, char **argv)
{
	int depth = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t id;

	if (argc > 1 && !strcmp(argv[1], "arena")) {
		arena();
		return 0;
	}
	if (!depth) {
		pair();
		return 0;
	}
	by_signal = !strcmp(argv[1], "signal");
	above = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_create(&id, NULL, thread, &depth);
	pthread_join(id, NULL);
	return 0;
}
