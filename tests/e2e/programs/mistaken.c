/* SPDX-License-Identifier: BSD-2-Clause
 *
 * mistaken.c - one wrong use of regions at a time, by name; between "around" and "after", which must
 * not be touched by it. Those of threads come often, and while another thread changes the mappings.
 */
#include <alloca.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usdt/sp_region.h"

#define NOINLINE __attribute__((noinline, noclone))
static __thread jmp_buf target;

static NOINLINE void scope_left(int n)
{
	char room[64];
	__asm__ volatile("" : : "r"(room) : "memory");
	SP_REGION_SCOPE("left");
	if (n)
		scope_left(n - 1);
	if (!n)
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

/* Every other level leaves its call open. */
static NOINLINE void recursion(int n)
{
	SP_REGION_BEGIN("level");
	if (n > 1)
		recursion(n - 1);
	__asm__ volatile("" : : : "memory");
	if (n % 2 == 0)
		SP_REGION_END("level");
}

/* The function around them is right below one helper's frame, for some size of its own. */
static NOINLINE void open_helper(void)
{
	char room[128];
	__asm__ volatile("" : : "r"(room) : "memory");
	SP_REGION_BEGIN("helped");
}

static NOINLINE void close_helper(void)
{
	SP_REGION_END("helped");
}

static NOINLINE void by_helpers(int n, size_t bytes)
{
	char *room = alloca(bytes);
	__asm__ volatile("" : : "r"(room) : "memory");
	open_helper();
	if (n > 1)
		by_helpers(n - 1, bytes);
	close_helper();
}

/* The same of a run-time name, whose end is called last: a jump, with the stack pointer of the
 * caller's begin. */
static sp_region_t handle;

static NOINLINE void open_handle(void)
{
	sp_region_begin(handle);
}

static NOINLINE void close_handle(void)
{
	sp_region_end(handle);
}

static NOINLINE void by_handle_helpers(int n)
{
	open_handle();
	if (n > 1)
		by_handle_helpers(n - 1);
	close_handle();
}

/* Every third level leaves its call open. */
static NOINLINE void handle_recursion(int n)
{
	sp_region_begin(handle);
	if (n > 1)
		handle_recursion(n - 1);
	__asm__ volatile("" : : : "memory");
	if (n % 3)
		sp_region_end(handle);
}

/* Level 40 is jumped to. */
static NOINLINE void too_deep(int n)
{
	SP_REGION_BEGIN("deep");
	if (n == 120)
		longjmp(target, 1);
	if (n != 40 || !setjmp(target))
		too_deep(n + 1);
	SP_REGION_END("deep");
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

/* The function that is jumped to is higher on the stack. */
static NOINLINE void leaves_scopes(void)
{
	if (!setjmp(target))
		scope_left(5);
	after();
}

#define THREADS 50
static int gate[2], forks;

static void *in_thread(void *arg)
{
	char byte;
	pid_t child;

	if (arg && read(gate[0], &byte, 1) != 1)
		abort();
	SP_REGION_SCOPE("thread");
	if (!forks) {
		leaves_scopes();
		return NULL;
	}
	child = fork();
	if (child == 0) {
		leaves_scopes();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return NULL;
}

static void *changes_mappings(void *stop)
{
	void *map;

	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
		map = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (map == MAP_FAILED || munmap(map, 1 << 16))
			abort();
	}
	return NULL;
}

/* @before: all are there before the first one goes on. */
static void in_threads(int before)
{
	pthread_t changer, thread[THREADS];
	int stop = 0;

	if (pipe(gate))
		abort();
	pthread_create(&changer, NULL, changes_mappings, &stop);
	for (int i = 0; i < THREADS; i++) {
		pthread_create(&thread[i], NULL, in_thread, before ? &stop : NULL);
		if (!before)
			pthread_join(thread[i], NULL);
	}
	if (before) {
		fputs("ready\n", stderr);
		getchar();
		for (int i = 0; i < THREADS; i++)
			if (write(gate[1], "", 1) != 1)
				abort();
		for (int i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(changer, NULL);
}

/* As in a container of old: the C library falls back to clone(). */
static void refuse_clone3(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		exit(3);
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
	} else if (!strcmp(what, "loop")) {
		SP_REGION_BEGIN("phase");
		for (int i = 0; i < 200; i++) {
			SP_REGION_BEGIN("step");
			SP_REGION_BEGIN("left");
			if (i % 2)
				SP_REGION_END("left");
		}
		SP_REGION_END("phase");
		after();
	} else if (!strcmp(what, "recursion")) {
		recursion(20);
		after();
	} else if (!strcmp(what, "helpers")) {
		for (size_t bytes = 0; bytes <= 256; bytes += 16)
			by_helpers(4, bytes);
		after();
	} else if (!strcmp(what, "names")) {
		handle = sp_region_intern("name");
		by_handle_helpers(40);
		handle_recursion(29);
		after();
	} else if (!strcmp(what, "deep")) {
		too_deep(2); /* "around" is one more */
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
	} else if (!strcmp(what, "threads")) {
		in_threads(0);
	} else if (!strcmp(what, "before")) {
		in_threads(1);
	} else if (!strcmp(what, "forks")) {
		forks = 1;
		in_threads(0);
	} else if (!strcmp(what, "clone")) {
		pthread_t thread;

		refuse_clone3();
		pthread_create(&thread, NULL, in_thread, NULL);
		pthread_join(thread, NULL);
	}
	return 0;
}
