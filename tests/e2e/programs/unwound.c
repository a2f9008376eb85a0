/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwound.c - a program whose stacks are known: whatever it does, it does it below inner, middle,
 * outer, run and main (or the thread's start). Built without frame pointers.
 *
 *   unwound work SECONDS             calculates, sorts (callbacks through libc) and asks for the
 * time unwound fork SECONDS [LIBRARY]   three children do so, each with a library of its own
 *   unwound exec SECONDS TIMES       executes itself that many times
 *   unwound threads SECONDS          three threads
 *   unwound create SECONDS           threads that do nothing, one after the other
 *   unwound load SECONDS LIBRARY…    loads, uses and unloads the libraries in turn, every 50 ms
 *   unwound jit SECONDS              code made at run time, which keeps frame pointers, calls back
 *   unwound wait SECONDS [LIBRARY]   says "ready", waits for a line on stdin, loads the library,
 * works
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SOME 4000
#define NOINLINE __attribute__((noinline, noclone))

typedef double (*job)(double);

static volatile double total;
static char **arguments;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

NOINLINE static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

NOINLINE double work(double seconds)
{
	uint32_t some[SOME], x = 1;
	double end = now() + seconds;

	do {
		for (int i = 0; i < SOME; i++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			some[i] = x;
		}
		qsort(some, SOME, sizeof(some[0]), compare);
	} while (now() < end);
	return some[0];
}

/* Each with a frame of another size, and something to do after the call. */
NOINLINE double inner(job what, double seconds)
{
	volatile char room[24];

	room[0] = 1;
	return what(seconds) + room[0];
}

NOINLINE double middle(job what, double seconds)
{
	volatile char room[200];

	room[0] = 1;
	return inner(what, seconds) * room[0] + 1;
}

NOINLINE double outer(job what, double seconds, int n)
{
	volatile char
		room[n]; /* its caller is found from the frame pointer, of this one function */

	room[0] = (char)n;
	return middle(what, seconds) - room[0];
}

NOINLINE double run(job what, double seconds)
{
	double result = outer(what, seconds, 16 + (int)(seconds > 1e6));

	total += result;
	return result;
}

NOINLINE static void *run_thread(void *seconds)
{
	run(work, *(double *)seconds);
	return NULL;
}

static void run_threads(double seconds)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run_thread, &seconds);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void *do_nothing(void *arg)
{
	return arg;
}

NOINLINE static double make_threads(double seconds)
{
	double end = now() + seconds;
	pthread_t thread;

	while (now() < end)
		if (pthread_create(&thread, NULL, do_nothing, NULL) == 0)
			pthread_join(thread, NULL);
	return 0;
}

typedef double (*library_job)(job, double);

NOINLINE static double use_library(double seconds)
{
	library_job in = (library_job)dlsym(dlopen(arguments[0], RTLD_NOW), "library_outer");

	return in(work, seconds) + 1;
}

NOINLINE static void use_and_unload(const char *path, double seconds)
{
	void *library = dlopen(path, RTLD_NOW);
	library_job in = library ? (library_job)dlsym(library, "library_outer") : NULL;

	if (!in) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	total += in(work, seconds);
	dlclose(library);
}

NOINLINE static double load_in_turn(double seconds)
{
	double end = now() + seconds;

	for (int i = 0; now() < end; i++) {
		if (!arguments[i])
			i = 0;
		use_and_unload(arguments[i], 0.05);
	}
	return 0;
}

static double (*made)(double);

NOINLINE static double use_made(double seconds)
{
	return made(seconds) + 1;
}

/* push %rbp; mov %rsp,%rbp; movabs $work,%rax; call *%rax; pop %rbp; ret */
NOINLINE static void run_made(double seconds)
{
	uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0,    0,	  0,
			  0,	0,    0,    0,	  0,	0xff, 0xd0, 0x5d, 0xc3};
	job target = work;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code + 6, &target, 8);
	memcpy(page, code, sizeof(code));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	made = (job)page;
	total += run(use_made, seconds);
}

NOINLINE static void run_children(double seconds)
{
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			run(arguments[0] ? use_library : work, seconds);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

NOINLINE static void run_and_exec(char **argv, double seconds)
{
	int times = atoi(arguments[0]);
	char left[16];

	run(work, seconds);
	if (times <= 1)
		return;
	snprintf(left, sizeof(left), "%d", times - 1);
	execl("/proc/self/exe", argv[0], argv[1], argv[2], left, (char *)NULL);
	exit(1);
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) : 0;
	char line[16];

	if (argc < 3)
		return 2;
	arguments = argv + 3;
	if (!strcmp(argv[1], "work"))
		run(work, seconds);
	else if (!strcmp(argv[1], "fork"))
		run_children(seconds);
	else if (!strcmp(argv[1], "exec"))
		run_and_exec(argv, seconds);
	else if (!strcmp(argv[1], "threads"))
		run_threads(seconds);
	else if (!strcmp(argv[1], "create"))
		run(make_threads, seconds);
	else if (!strcmp(argv[1], "load"))
		run(load_in_turn, seconds);
	else if (!strcmp(argv[1], "jit"))
		run_made(seconds);
	else if (!strcmp(argv[1], "wait")) {
		puts("ready");
		fflush(stdout);
		if (fgets(line, sizeof(line), stdin))
			run(arguments[0] ? use_library : work, seconds);
	} else {
		return 2;
	}
	return total > 1e300;
}
