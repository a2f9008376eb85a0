/* SPDX-License-Identifier: BSD-2-Clause */
// Instances of one template with names too long for a table, and functions named like our probes.
#include <cstdio>

namespace some_rather_long_name_of_a_library {
template <int N> struct Tridiagonal_system_of_equations {
	__attribute__((noinline)) static double solve(double x)
	{
		return x * N - 1;
	}
};
} // namespace some_rather_long_name_of_a_library

extern "C" {
__attribute__((noinline)) double sp_gate_v1(double x)
{
	return x / 3;
}
__attribute__((noinline)) double sp_begin_stub_v1_place(double x)
{
	return x / 5;
}
}

int main(int argc, char **)
{
	using namespace some_rather_long_name_of_a_library;

	std::printf("%g\n", Tridiagonal_system_of_equations<11>::solve(argc) +
				    Tridiagonal_system_of_equations<12>::solve(argc) +
				    sp_gate_v1(argc) + sp_begin_stub_v1_place(argc));
}
