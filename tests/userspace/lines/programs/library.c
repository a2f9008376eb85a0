/* SPDX-License-Identifier: BSD-2-Clause */
/* A shared library. */
#include <math.h>

double library_work(double x, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += sqrt(x + i) * 0.5;
	return sum;
}
