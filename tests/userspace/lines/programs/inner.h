/* SPDX-License-Identifier: BSD-2-Clause */
static inline __attribute__((always_inline)) double square(double x)
{
	return x * x;
}

static inline __attribute__((always_inline)) double stencil(double a, double b, double c)
{
	double middle = square(b);

	return a - 2 * middle + c;
}
