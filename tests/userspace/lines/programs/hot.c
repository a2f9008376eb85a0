/* SPDX-License-Identifier: BSD-2-Clause */
/* Hot lines in a function of its own, an inlined one, and a static one. */
#include <stdio.h>
#include <stdlib.h>

#include "inner.h"

__attribute__((noinline)) double sweep(const double *u, int n)
{
	double sum = 0;

	for (int i = 1; i < n - 1; i++)
		sum += stencil(u[i - 1], u[i], u[i + 1]); /* inlined */
	return sum;
}

static __attribute__((noinline)) double scale(double x, int n)
{
	while (n--)
		x = x * 1.0000001 + 1e-9;
	return x;
}

int main(int argc, char **argv)
{
	volatile int times = 100; /* no clone of scale for a constant */
	double u[64];

	for (int i = 0; i < 64; i++)
		u[i] = i * 0.5 + argc;
	printf("%g %s\n", scale(sweep(u, 64), times), argv[0]);
	return 0;
}
