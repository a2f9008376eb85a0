/* SPDX-License-Identifier: BSD-2-Clause
 *
 * mistaken.c - one wrong use of regions at a time, by name; between "around" and "after", which must not
 * be touched by it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "usdt/sp_region.h"

#define NOINLINE __attribute__((noinline, noclone))
static jmp_buf target;

static NOINLINE void scope_left(int n)
{
	char room[64];
	__asm__ volatile("" : : "r"(room) : "memory");
	SP_REGION_SCOPE("left");
	if (n)
		scope_left(n - 1);
	else
		longjmp(target, 1);
	__asm__ volatile("");
}

static NOINLINE void returns_early(void)
{
	SP_REGION_BEGIN("early");
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void first_half(void)
{
	SP_REGION_BEGIN("halves");
}

static NOINLINE void second_half(void)
{
	SP_REGION_END("halves");
}

static NOINLINE void after(void)
{
	SP_REGION_BEGIN("after");
	SP_REGION_END("after");
}

static void in_handler(int number)
{
	(void)number;
	SP_REGION_SCOPE("handler");
	after();
}

static void *waits(void *pipe_end)
{
	char byte;
	SP_REGION_SCOPE("cancelled");
	if (write(((int *)pipe_end)[1], "", 1) != 1)
		abort();
	for (;;)
		if (read(((int *)pipe_end)[2], &byte, 1) < 0) /* a cancellation point, where it stays */
			abort();
	return NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	SP_REGION_SCOPE("around");
	if (!strcmp(what, "longjmp")) {
		if (!setjmp(target))
			scope_left(5);
		SP_REGION_BEGIN("after"); /* in the function that was jumped to: its stack is higher */
		SP_REGION_END("after");
	} else if (!strcmp(what, "early")) {
		for (int i = 0; i < 200; i++)
			returns_early();
		after();
	} else if (!strcmp(what, "halves")) {
		first_half();
		for (int i = 0; i < 3; i++) {
			SP_REGION_SCOPE("after"); /* higher on the stack than the begin */
		}
		second_half();
	} else if (!strcmp(what, "twice")) {
		SP_REGION_BEGIN("once");
		SP_REGION_END("once");
		SP_REGION_END("once");
		after();
	} else if (!strcmp(what, "signal")) {
		/* Inside of main's frame: above the scopes on the stack, and no function has returned. */
		static char memory[65536];
		stack_t s = {.ss_sp = memory, .ss_size = sizeof(memory)};
		struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};

		sigaltstack(&s, NULL);
		sigaction(SIGUSR1, &action, NULL);
		SP_REGION_SCOPE("interrupted");
		raise(SIGUSR1);
	} else if (!strcmp(what, "cancel")) {
		pthread_t thread;
		int back[2], to[2], ends[3];
		char byte;

		if (pipe(back) || pipe(to))
			abort();
		ends[1] = back[1];
		ends[2] = to[0];
		pthread_create(&thread, NULL, waits, ends);
		if (read(back[0], &byte, 1) != 1)
			abort();
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		after();
	}
	return 0;
}
