// SPDX-License-Identifier: BSD-2-Clause
// Parallel constructs in methods, templates, lambdas and plain functions.
#include <cstdio>

namespace n {
struct A {
	double v[100];
	void solve();
	template <class T> T sum(T x);
};

void A::solve()
{
#pragma omp parallel for
	for (int i = 0; i < 100; i++)
		v[i] *= 2;
#pragma omp parallel
	{
#pragma omp task
		v[0] += 1;
#pragma omp for
		for (int i = 0; i < 100; i++)
			v[i] *= 2;
	}
}

template <class T> T A::sum(T x)
{
	double s = 0;
#pragma omp parallel for reduction(+ : s)
	for (int i = 0; i < 100; i++)
		s += v[i] * x;
	return s;
}
} // namespace n

static __attribute__((noinline)) double lambdas(double *v)
{
	auto f = [&](int n) {
		double s = 0;
#pragma omp parallel for reduction(+ : s)
		for (int i = 0; i < n; i++)
			s += v[i];
		return s;
	};
	return f(100);
}

extern "C" int plain(double *v)
{
#pragma omp parallel sections
	{
#pragma omp section
		v[0] = 1;
#pragma omp section
		v[1] = 1;
	}
	return 0;
}

int main()
{
	n::A a{};

	a.solve();
	a.sum(3.0);
	plain(a.v);
	printf("%g\n", lambdas(a.v));
}
