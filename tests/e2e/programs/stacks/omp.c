/* SPDX-License-Identifier: BSD-2-Clause
 *
 * omp.c - OpenMP: loops, reductions, tasks that make tasks, nested teams, waiting at barriers.
 *
 *     omp SECONDS
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile double sink;

/* Processor time of all threads. */
static double now(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static double numbers[200000];

static __attribute__((noinline)) double work(double x, int depth)
{
	volatile double kept = x;

	return depth ? work(x * 0.9, depth - 1) + kept : sin(kept) + sqrt(fabs(x));
}

static void loops(double until)
{
	do {
		double sum = 0;

#pragma omp parallel for schedule(dynamic, 500) reduction(+ : sum)
		for (int i = 0; i < 20000; i++) {
			numbers[i] = work(i, i % 8);
			sum += numbers[i];
		}
		sink = sum;
	} while (now() < until);
}

static long fibonacci(int n)
{
	long a, b;

	if (n < 12)
		return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
#pragma omp task shared(a)
	a = fibonacci(n - 1);
#pragma omp task shared(b)
	b = fibonacci(n - 2);
#pragma omp taskwait
	return a + b;
}

static void tasks(double until)
{
	do {
#pragma omp parallel
#pragma omp single
		sink = (double)fibonacci(22);
	} while (now() < until);
}

static void nested(double until)
{
	omp_set_max_active_levels(2);
	do {
#pragma omp parallel num_threads(2)
		{
#pragma omp parallel for num_threads(2)
			for (int i = 0; i < 2000; i++)
				numbers[i + omp_get_thread_num()] = work(i, 5);
#pragma omp critical
			sink = work(3, 10);
		}
	} while (now() < until);
}

/* One thread has more to do than the others, which wait for it. */
static void barriers(double until)
{
	int more = 1;

#pragma omp parallel
	while (more) {
		sink = work(omp_get_thread_num(), 20 * (omp_get_thread_num() + 1));
#pragma omp barrier
#pragma omp single
		more = now() < until;
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0.3;

	loops(now() + seconds);
	tasks(now() + seconds);
	nested(now() + seconds);
	barriers(now() + seconds);
	printf("%g\n", sink);
	return 0;
}
