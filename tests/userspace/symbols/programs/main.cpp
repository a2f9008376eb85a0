// SPDX-License-Identifier: BSD-2-Clause
#include <cstdio>

#include "shapes.h"

extern "C" double weigh(double x, int n);

int
main(int argc, char **argv)
{
	std::vector<double> sides(argv[0] ? 10 : 1, argc);
	volatile double sink = argc;

	sides.push_back(shapes::twice_squared(argc));
	printf("%g %g %g\n", shapes::area(sides, &sink), shapes::rows(&sink), weigh(sink, argc));
}
