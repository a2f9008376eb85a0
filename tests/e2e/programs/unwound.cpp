// SPDX-License-Identifier: BSD-2-Clause
//
// unwound.cpp SECONDS - throws and catches through frames, sorts with a lambda, calls virtual methods.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

struct Base {
	virtual ~Base() = default;
	virtual double method(double seconds) = 0;
};

struct Thrower : Base {
	NOINLINE static double deep(int n)
	{
		if (n == 0)
			throw std::runtime_error("on purpose");
		return deep(n - 1) + 1;
	}

	NOINLINE double method(double seconds) override
	{
		auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
		double caught = 0;

		while (std::chrono::steady_clock::now() < end) {
			std::vector<double> some(5000);

			for (std::size_t i = 0; i < some.size(); i++)
				some[i] = double((i * 2654435761u) % 1000003);
			std::sort(some.begin(), some.end(), [](double a, double b) { return a > b; });
			try {
				caught += deep(10);
			} catch (const std::exception &) {
				caught += some[0];
			}
		}
		return caught;
	}
};

NOINLINE double run(Base &what, double seconds)
{
	return what.method(seconds) + 1;
}

int main(int argc, char **argv)
{
	std::unique_ptr<Base> what(new Thrower);

	return argc == 2 && run(*what, std::atof(argv[1])) == 0.5;
}
