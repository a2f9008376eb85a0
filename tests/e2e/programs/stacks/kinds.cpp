// SPDX-License-Identifier: BSD-2-Clause
//
// kinds.cpp - C++ whose stacks are hard to unwind: exceptions through many frames, lambdas, virtual
// calls, templates of the standard library.
//
//     kinds SECONDS [KIND…]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#define NOINLINE __attribute__((noinline))

using when = std::clock_t; // of processor time
static volatile double sink;
static volatile long count;

static bool before(when until)
{
	return std::clock() < until;
}

struct noisy {
	std::string text;
	explicit noisy(int n) : text("a text that is long enough to be allocated " + std::to_string(n))
	{
	}
	NOINLINE ~noisy()
	{
		count = count + static_cast<long>(text.size());
	}
};

static NOINLINE int thrower(int depth)
{
	noisy here(depth);

	if (depth)
		return thrower(depth - 1) + static_cast<int>(here.text.size());
	if (count % 2)
		throw std::runtime_error(here.text);
	throw depth;
}

static NOINLINE int rethrower(int depth)
{
	try {
		return thrower(depth);
	} catch (int n) {
		count = count + n;
		throw std::logic_error("again");
	}
}

static void exceptions(when until)
{
	do
		for (int i = 0; i < 20; i++)
			try {
				count = count + rethrower(i % 12);
			} catch (const std::exception &e) {
				count = count + static_cast<long>(std::strlen(e.what()));
			}
	while (before(until));
}

static NOINLINE double apply(const std::function<double(double)> &function, double x)
{
	return function(x) + function(x + 1);
}

static void lambdas(when until)
{
	std::vector<double> numbers(3000);

	do {
		double factor = static_cast<double>(count % 10) + 1;

		std::iota(numbers.begin(), numbers.end(), 0.5);
		std::transform(numbers.begin(), numbers.end(), numbers.begin(), [&](double x) {
			return apply([=](double y) { return std::sqrt(y * factor) + x; }, x);
		});
		std::sort(numbers.begin(), numbers.end(), [](double a, double b) {
			count = count + 1;
			return std::fabs(std::sin(a)) < std::fabs(std::sin(b));
		});
		sink = std::accumulate(numbers.begin(), numbers.end(), 0.0);
	} while (before(until));
}

struct shape {
	virtual ~shape() = default;
	virtual double area(double scale) const = 0;
};
struct square : shape {
	double side = 2;
	double area(double scale) const override
	{
		return side * side * scale;
	}
};
struct group : shape {
	std::vector<std::unique_ptr<shape>> parts;
	double area(double scale) const override
	{
		double sum = 0;

		for (const auto &part : parts)
			sum += part->area(scale * 0.5);
		return sum;
	}
};

static std::unique_ptr<shape> make_shape(int depth)
{
	if (!depth)
		return std::make_unique<square>();
	auto made = std::make_unique<group>();
	for (int i = 0; i < 3; i++)
		made->parts.push_back(make_shape(depth - 1));
	return made;
}

static void virtuals(when until)
{
	auto shapes = make_shape(7);

	do
		sink = shapes->area(1);
	while (before(until));
}

static void containers(when until)
{
	do {
		std::map<std::string, int> tree;
		std::unordered_map<int, std::string> table;
		std::ostringstream out;

		for (int i = 0; i < 300; i++) {
			std::string key = "key " + std::to_string(i * 7919 % 300);

			tree[key] += i;
			table[i] = key;
			out << key << ' ' << i * 0.5 << '\n';
		}
		for (const auto &[key, value] : tree)
			count = count + value + static_cast<long>(key.size());
		count = count + static_cast<long>(table.size() + out.str().size());
	} while (before(until));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(when);
	} kinds[] = {{"exceptions", exceptions},
		     {"lambdas", lambdas},
		     {"virtuals", virtuals},
		     {"containers", containers}};
	double seconds = argc > 1 ? std::atof(argv[1]) : 0.3;

	for (const auto &kind : kinds) {
		bool wanted = argc <= 2;

		for (int i = 2; i < argc; i++)
			wanted |= !std::strcmp(argv[i], kind.name);
		if (wanted)
			kind.run(std::clock() + static_cast<when>(seconds * CLOCKS_PER_SEC));
	}
	return 0;
}
