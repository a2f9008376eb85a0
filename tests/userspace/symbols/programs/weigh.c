/* SPDX-License-Identifier: BSD-2-Clause
 * A function nested in another one, and one that is inlined twice over. */
double weigh(double x, int n);

static inline double half(double x)
{
	return x > 2 ? x / 2 : x;
}

static inline double quarter(double x)
{
	return half(half(x) + 1);
}

__attribute__((noinline)) double weigh(double x, int n)
{
	double total = 0;

#ifndef __clang__
	__attribute__((noinline)) double add(double y)
	{
		total += quarter(y);
		return total;
	}
#else
#define add(y) (total += quarter(y))
#endif

	for (int i = 0; i < n; i++)
		x += add(x) * quarter(x);
	return x + total;
}
