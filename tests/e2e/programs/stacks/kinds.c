/* SPDX-License-Identifier: BSD-2-Clause
 *
 * kinds.c - code whose stacks are hard to unwind, kind by kind, for some time each.
 *
 *     kinds SECONDS [KIND…]      all kinds without one; seconds of processor time each
 *
 * Built in many ways by stacks.py. Nothing here is traced or measured by the program itself.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tiny.h"

#define NOINLINE __attribute__((noinline))

static double seconds = 0.3;
static volatile double sink;
static volatile uint64_t count;
static const char *self;

/* Processor time: as many samples on a busy machine as on a quiet one. */
static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static NOINLINE void burn(int rounds)
{
	double x = 1;

	for (int i = 0; i < rounds; i++)
		x = x * 1.0000001 + 1e-9;
	sink = x;
}

/* Small enough to be nearly all prologue and epilogue. */
static NOINLINE uint64_t step(uint64_t a, uint64_t b)
{
	return a * 6364136223846793005u + b;
}

static NOINLINE uint64_t five(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	uint64_t f = step(a, b), g = step(c, d), h = step(e, f), i = step(g, h);

	return step(f ^ g, h ^ i) + step(a ^ b ^ c, d ^ e);
}

static NOINLINE uint64_t many_saved(uint64_t n)
{
	uint64_t a = n, b = n + 1, c = n + 2, d = n + 3, e = n + 4, f = n + 5;

	for (uint64_t i = 0; i < n; i++) {
		a = five(a, b, c, d, e);
		b = five(b, c, d, e, f);
		c = five(c, d, e, f, a);
		f = step(f, i);
	}
	return a ^ b ^ c ^ d ^ e ^ f;
}

static void calls(double until)
{
	do
		count += many_saved(2000);
	while (now() < until);
}

/* ---- the C library ---- */

static void copying(double until)
{
	static char from[1 << 20], to[1 << 20];
	size_t n = 1;

	do {
		for (int i = 0; i < 200; i++) {
			n = (n * 7919 + 13) % (i % 50 ? 4000 : sizeof(to) - 64);
			memcpy(to + i % 64, from + i % 16, n);
			memmove(to + i % 32, to + i % 16, n);
			memset(from, i, n);
			count += strlen(to + i) + (size_t)memcmp(from, to, n);
			count += memchr(to, 255, n) != NULL;
		}
		to[sizeof(to) - 1] = from[sizeof(from) - 1] = 0;
	} while (now() < until);
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	count++;
	return (*x > *y) - (*x < *y);
}

static void sorting(double until)
{
	static uint32_t numbers[20000];

	do {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			numbers[i] = (uint32_t)random();
		qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), compare);
		count += bsearch(&numbers[77], numbers, sizeof(numbers) / sizeof(numbers[0]),
				 sizeof(numbers[0]), compare) != NULL;
	} while (now() < until);
}

static void allocating(double until)
{
	void *blocks[512] = {0};

	do {
		for (int i = 0; i < 4096; i++) {
			size_t at = (size_t)random() % 512, size = (size_t)random() % 3000;

			free(blocks[at]);
			blocks[at] = i % 7 ? malloc(size) : calloc(3, size);
			if (i % 11 == 0)
				blocks[at] = realloc(blocks[at], size + 5000);
			if (i % 512 == 0) {
				free(blocks[at]);
				blocks[at] = malloc(400000);
			}
		}
		malloc_trim(0);
	} while (now() < until);
	for (int i = 0; i < 512; i++)
		free(blocks[i]);
}

static void printing(double until)
{
	char text[512];

	do
		for (int i = 0; i < 200; i++) {
			snprintf(text, sizeof(text), "%d %s %.17g %08lx %-20s|", i, self, sqrt(i),
				 (unsigned long)i * 77777, "x");
			count += (uint64_t)strtod(text + 2, NULL) + strtoul("12345", NULL, 10);
		}
	while (now() < until);
}

static void mathematics(double until)
{
	do
		for (int i = 0; i < 2000; i++) {
			double x = (double)i * 0.37;

			sink = sin(x) + cos(x) * exp(-x / 1000) + pow(1 + x, 0.73) + log1p(x) +
			       tan(x) + atan2(x, 3) + fmod(x * 1e5, 3.3) + tgamma(1 + x / 100) +
			       (double)sinf((float)x) + (double)powf(1 + (float)x, 0.3f) + cbrt(x) +
			       erf(x / 100) + sin(x * 1e18);
		}
	while (now() < until);
}

static void clocks(double until)
{
	struct timespec time;
	struct timeval day;

	while (now() < until)
		for (int i = 0; i < 200; i++) {
			clock_gettime(CLOCK_REALTIME, &time);
			clock_gettime(CLOCK_MONOTONIC, &time);
			gettimeofday(&day, NULL);
			count += (uint64_t)time.tv_nsec + (uint64_t)day.tv_usec;
		}
}

/* The kernel is entered from here: the stack is that of the system call. */
static void system_calls(double until)
{
	static char bytes[1 << 16];
	FILE *null = fopen("/dev/null", "w"), *zero = fopen("/dev/zero", "r");

	do
		for (int i = 0; i < 20; i++) {
			count += fread(bytes, 1, sizeof(bytes), zero);
			fwrite(bytes, 1, sizeof(bytes), null);
			count += (uint64_t)getppid();
			munmap(mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0),
			       1 << 16);
		}
	while (now() < until);
	fclose(null);
	fclose(zero);
}

/* ---- signals ---- */

static NOINLINE uint64_t in_handler(int depth)
{
	if (depth)
		return in_handler(depth - 1) + 1;
	burn(20000);
	return 0;
}

static void on_signal(int number)
{
	count += in_handler(number % 3 + 2);
}

static void with_timer(double until, int flags)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags | SA_RESTART};
	struct itimerval timer = {{0, 500}, {0, 500}}, none = {{0, 0}, {0, 0}};

	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &timer, NULL);
	do
		count += many_saved(500);
	while (now() < until);
	setitimer(ITIMER_PROF, &none, NULL);
	signal(SIGPROF, SIG_IGN);
}

static void signals(double until)
{
	with_timer(until, 0);
}

static void signals_elsewhere(double until)
{
	stack_t stack = {.ss_size = 1 << 16}, off = {.ss_flags = SS_DISABLE};

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	with_timer(until, SA_ONSTACK);
	sigaltstack(&off, NULL);
	free(stack.ss_sp);
}

static void raising(double until)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &action, NULL);
	do
		raise(SIGUSR1);
	while (now() < until);
}

/* ---- procedure linkage tables ---- */

static NOINLINE void through_plt(int rounds)
{
	for (int i = 0; i < rounds; i++)
		count += (uint64_t)(tiny_one(i) + tiny_two(i) + tiny_three(i, i) + tiny_back(tiny_one, i));
}

static void tiny(double until)
{
	do
		through_plt(10000);
	while (now() < until);
}

/* A library that is opened, used and closed again, at changing addresses. */
/* The plugin, and a function of it. */
static void *open_plugin(int mode, const char *name, void **ret_function)
{
	char path[4096];
	const char *slash = strrchr(self, '/');
	int n = slash ? (int)(slash - self) : 1;
	void *library;

	snprintf(path, sizeof(path), "%.*s/plugin.so", n, slash ? self : ".");
	library = dlopen(path, mode | RTLD_LOCAL);
	*ret_function = library ? dlsym(library, name) : NULL;
	if (!*ret_function) {
		fprintf(stderr, "no plugin: %s\n", dlerror());
		exit(1);
	}
	return library;
}

static void opening(double until)
{
	do {
		void *function, *library = open_plugin(RTLD_NOW, "plugin_work", &function);
		double (*work)(double, double (*)(void)) =
			(double (*)(double, double (*)(void)))function;

		sink = work(2 < until - now() ? 2 : until - now(), now);
		dlclose(library);
	} while (now() < until);
}

/* The dynamic linker looks functions up as they are called for the first time. */
static void binding(double until)
{
	do {
		void *function, *library = open_plugin(RTLD_LAZY, "plugin_bind", &function);

		sink = ((int (*)(int))function)(1);
		dlclose(library);
	} while (now() < until);
}

/* ---- frames of other shapes ---- */

static NOINLINE uint64_t tail_last(uint64_t a, uint64_t b)
{
	for (int i = 0; i < 50; i++)
		a = step(a, b);
	return a;
}

static NOINLINE uint64_t tail_middle(uint64_t a, uint64_t b)
{
	return a & 1 ? tail_last(b, a) : tail_last(a + 1, b);
}

static NOINLINE uint64_t tail_first(uint64_t a, uint64_t b)
{
	return tail_middle(a ^ 5, b + step(a, b));
}

static void tail_calls(double until)
{
	do
		for (int i = 0; i < 1000; i++)
			count += tail_first(count, (uint64_t)i);
	while (now() < until);
}

static NOINLINE uint64_t alloca_of(size_t n, int depth)
{
	volatile unsigned char *room = __builtin_alloca(n);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		room[i] = (unsigned char)i;
	if (depth)
		sum = alloca_of(n / 2 + 3, depth - 1);
	for (size_t i = 0; i < n; i++)
		sum += room[i];
	return sum + step(sum, n);
}

static NOINLINE uint64_t variable_array(int n)
{
	uint64_t numbers[n];

	for (int i = 0; i < n; i++)
		numbers[i] = step((uint64_t)i, (uint64_t)n);
	return numbers[n / 2] + tail_first(numbers[0], numbers[n - 1]);
}

static void allocas(double until)
{
	do
		for (int i = 0; i < 100; i++)
			count += alloca_of((size_t)(i * 5 + 1), 4) + variable_array(i + 1);
	while (now() < until);
}

typedef double vector __attribute__((vector_size(32)));

static NOINLINE double use_vectors(const volatile double *numbers, double (*next)(double))
{
	double sum = 0;

	for (int i = 0; i < 16; i++)
		sum += numbers[i] + next(numbers[i]);
	return sum;
}

static NOINLINE double half(double x)
{
	return x / 2;
}

static NOINLINE double realigned_32(int n)
{
	volatile double numbers[16] __attribute__((aligned(32)));

	for (int i = 0; i < 16; i++)
		numbers[i] = i * n;
	return use_vectors(numbers, half);
}

static NOINLINE double realigned_64(int n)
{
	volatile double numbers[16] __attribute__((aligned(64)));
	volatile char *room = __builtin_alloca((size_t)(n % 100 + 1));

	room[n % 100] = 1;
	for (int i = 0; i < 16; i++)
		numbers[i] = i + n;
	return use_vectors(numbers, half) + realigned_32(n) + room[0];
}

static void realigned(double until)
{
	do
		for (int i = 0; i < 1000; i++)
			sink = realigned_32(i) + realigned_64(i);
	while (now() < until);
}

static NOINLINE int deeper(int depth)
{
	volatile int here = depth;

	if (depth)
		return deeper(depth - 1) + here;
	burn(20000);
	return here;
}

static void deep(double until)
{
	do
		count += (uint64_t)(deeper(20) + deeper(60) + deeper(100));
	while (now() < until);
}

static void too_deep(double until)
{
	do
		count += (uint64_t)deeper(1000);
	while (now() < until);
}

/* ---- threads ---- */

static void *in_thread(void *arg)
{
	double until = *(double *)arg;

	do
		count += many_saved(300) + (uint64_t)deeper(10);
	while (now() < until);
	return NULL;
}

static void threads(double until)
{
	pthread_t ids[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&ids[i], NULL, in_thread, &until);
	for (int i = 0; i < 3; i++)
		pthread_join(ids[i], NULL);
}

static void *short_thread(void *arg)
{
	burn(2000);
	return arg;
}

static void many_threads(double until)
{
	do {
		pthread_t ids[8];
		int n = 0;

		while (n < 8 && !pthread_create(&ids[n], NULL, short_thread, NULL))
			n++;
		while (n--)
			pthread_join(ids[n], NULL);
	} while (now() < until);
}

static const struct {
	const char *name;
	void (*run)(double until);
} kinds[] = {
	{"calls", calls},
	{"copying", copying},
	{"sorting", sorting},
	{"allocating", allocating},
	{"printing", printing},
	{"mathematics", mathematics},
	{"clocks", clocks},
	{"system_calls", system_calls},
	{"signals", signals},
	{"signals_elsewhere", signals_elsewhere},
	{"raising", raising},
	{"tiny", tiny},
	{"opening", opening},
	{"binding", binding},
	{"tail_calls", tail_calls},
	{"allocas", allocas},
	{"realigned", realigned},
	{"deep", deep},
	{"too_deep", too_deep},
	{"threads", threads},
	{"many_threads", many_threads},
};

static NOINLINE void run(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(name, kinds[i].name)) {
			kinds[i].run(now() + seconds);
			return;
		}
	fprintf(stderr, "no such kind: %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	self = argv[0];
	seconds = argc > 1 ? atof(argv[1]) : 0.3;
	for (int i = 2; i < argc; i++)
		run(argv[i]);
	for (size_t i = 0; argc <= 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		run(kinds[i].name);
	return 0;
}
