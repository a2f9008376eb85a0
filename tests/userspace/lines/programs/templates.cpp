/* SPDX-License-Identifier: BSD-2-Clause */
// Templates, an anonymous namespace, an operator, a lambda.
#include <cstdio>
#include <vector>

namespace grid {
template <int N, class T> struct Field {
	std::vector<T> v = std::vector<T>(N, T(1));
	__attribute__((noinline)) T total(T by) const
	{
		T sum = 0;
		for (const T &x : v)
			sum += x * by;
		return sum;
	}
	__attribute__((noinline)) T operator()(int i) const { return v[i % N] / 3; }
};
} // namespace grid

namespace {
__attribute__((noinline)) double hidden(double x)
{
	return x * x - 1;
}
} // namespace

int main(int argc, char **)
{
	grid::Field<100, double> f;
	grid::Field<7, float> g;
	auto twice = [&](double x) { return x + f.total(x); };
	std::printf("%g\n", twice(argc) + g.total(2) + f(argc) + hidden(argc));
}
