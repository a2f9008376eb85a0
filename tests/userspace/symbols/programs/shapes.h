/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHAPES_H
#define SHAPES_H
#include <algorithm>
#include <string>
#include <vector>

/* Kept apart, so that there is something to inline them into. */
#define APART __attribute__((noinline))

namespace shapes {

template <int N>
struct Row {
	double cells[N];

	double
	sum() const
	{
		double total = 0;

		for (double cell : cells)
			total += cell * N;
		return total;
	}
};

static inline double
square(double x)
{
	return x * x + 1;
}

static inline double
twice_squared(double x)
{
	if (x > 3)
		x = square(x) - square(x / 2);
	return square(x) + 2;
}

double area(const std::vector<double> &sides, volatile double *sink);
double rows(volatile double *sink);

} // namespace shapes
#endif
