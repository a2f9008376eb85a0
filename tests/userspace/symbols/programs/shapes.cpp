// SPDX-License-Identifier: BSD-2-Clause
// Functions whose addresses are looked up: inlined ones, methods of a local class, lambdas, a cold
// part, ranges that are not in one piece.
#include "shapes.h"

namespace shapes {

APART double
area(const std::vector<double> &sides, volatile double *sink)
{
	struct Local {
		APART static double
		longest(const std::vector<double> &all)
		{
			double most = 0;

			for (double one : all)
				most = std::max(most, square(one));
			return most;
		}
	};
	std::vector<double> sorted(sides);

	std::sort(sorted.begin(), sorted.end(),
		  [](double a, double b) { return twice_squared(a) < twice_squared(b); });
	for (double side : sorted)
		*sink = *sink + twice_squared(side);
	if (__builtin_expect(*sink < -1e300, 0))
		throw std::string("negative: ") + std::to_string(*sink);
	return *sink + Local::longest(sorted);
}

APART double
rows(volatile double *sink)
{
	Row<4> four;
	Row<7> seven;

	for (int i = 0; i < 4; i++)
		four.cells[i] = *sink;
	for (int i = 0; i < 7; i++)
		seven.cells[i] = *sink * i;
	return four.sum() + seven.sum();
}

} // namespace shapes
