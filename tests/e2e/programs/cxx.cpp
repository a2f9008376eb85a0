/* SPDX-License-Identifier: BSD-2-Clause
 *
 * cxx.cpp - regions in what C++ has and C has not: scopes that exceptions leave, templates,
 * lambdas, constructors, virtual functions, threads, thread_local objects, static initialisation.
 */
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "usdt/sp_region.h"

namespace
{

struct early {
	early()
	{
		SP_REGION_SCOPE("static initialisation");
	}
	~early()
	{
		SP_REGION_SCOPE("static destruction");
	}
} before_main;

struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
};

struct square : shape {
	double side;

	explicit square(double s) : side(s)
	{
		SP_REGION_FUNCTION();
	}
	double area() const override
	{
		SP_REGION_FUNCTION();
		return side * side;
	}
};

template <typename T> T twice(T value)
{
	SP_REGION_SCOPE("template");
	return value + value;
}

template <int N> int deep()
{
	SP_REGION_SCOPE("recursive template");
	return 1 + deep<N - 1>();
}

template <> int deep<0>()
{
	return 0;
}

void thrower(int depth)
{
	SP_REGION_SCOPE_TAGGED("left by exception", "error,unwinding");
	if (depth == 0)
		throw std::runtime_error("on purpose");
	thrower(depth - 1);
}

int exceptions(int count)
{
	int caught = 0;

	for (int i = 0; i < count; i++) {
		SP_REGION_SCOPE("try");
		try {
			thrower(i % 4);
		} catch (const std::runtime_error &) {
			SP_REGION_SCOPE("catch");
			caught++;
		}
	}
	return caught;
}

int lambdas(int count)
{
	int sum = 0;
	std::function<void(int)> add = [&sum](int i) {
		SP_REGION_SCOPE("lambda");
		sum += i;
	};

	for (int i = 0; i < count; i++)
		add(i);
	return sum;
}

struct per_thread {
	~per_thread()
	{
		SP_REGION_SCOPE("thread_local destruction");
	}
};

void in_thread()
{
	thread_local per_thread object;

	(void)object;
	SP_REGION_SCOPE("in thread");
}

int early_return(int i)
{
	SP_REGION_SCOPE("early return");
	if (i % 2)
		return 1;
	if (i % 3 == 0) {
		SP_REGION_SCOPE("inner");
		return 2;
	}
	return 3;
}

} // namespace

int main()
{
	std::vector<std::thread> threads;
	std::unique_ptr<shape> s(new square(3));
	double total = 0;

	for (int i = 0; i < 100; i++)
		total += s->area() + twice(i) + twice(0.5);
	total += twice(std::string("ab")).size();
	total += deep<10>();
	total += exceptions(100);
	total += lambdas(100);
	for (int i = 0; i < 60; i++)
		total += early_return(i);
	for (int i = 0; i < 8; i++)
		threads.emplace_back(in_thread);
	for (auto &t : threads)
		t.join();
	std::printf("%.3f\n", total);
	return 0;
}
