/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cxx.cpp - scope_profiler.hpp: scopes end however they are left, move, and vanish when disabled.
 *
 * builds.py compiles it as C++11 to C++20 with scope_profiler.c, header-only with C++17 together
 * with cxx_other.cpp (one state for both files), and with SP_DISABLE_PROFILING.
 */
#include "scope_profiler.hpp"

#include "check.h"

#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

int other_file(); /* of cxx_other.cpp: enters "both files" once and returns its handle there */

static_assert(std::is_nothrow_move_constructible<sp::Scope>::value, "moves");
static_assert(std::is_nothrow_move_assignable<sp::Scope>::value, "moves");
static_assert(!std::is_copy_constructible<sp::Scope>::value, "is one call");
static_assert(!std::is_convertible<int, sp::Scope>::value, "is explicit");
static_assert(!std::is_move_constructible<sp::ProfileScope>::value, "stays where it is");
static_assert(!std::is_copy_constructible<sp::LikwidSession>::value, "is one session");

#ifndef SP_DISABLE_PROFILING
static int64_t calls(const char *name)
{
	sp_profiler *p = sp_default_profiler();

	return sp_trace_num_calls(p, sp_trace_find(p, name));
}

static int64_t open_calls(const char *name)
{
	sp_profiler *p = sp_default_profiler();

	return sp_trace_num_open(p, sp_trace_find(p, name));
}

static int left_early(int i)
{
	SP_PROFILE_SCOPE("left early");
	if (i == 0)
		return 0;
	SP_PROFILE_SCOPE("inner");
	if (i == 1)
		throw std::runtime_error("left by a throw");
	return 1;
}

static void test_scopes()
{
	left_early(0);
	left_early(2);
	try {
		left_early(1);
	} catch (const std::runtime_error &) {
	}
	CHECK(calls("left early"), 3);
	CHECK(calls("inner"), 2);
	CHECK(open_calls("left early") + open_calls("inner"), 0);
	for (int i = 0; i < 5; i++) {
		SP_PROFILE_SCOPE("loop");
		CHECK(open_calls("loop"), 1);
	}
	CHECK(calls("loop"), 5);
}

static sp::Scope make(int region)
{
	return sp::Scope(region);
}

static void test_moves()
{
	int a = sp_region("moved"), b = sp_region("replaced");

	{
		sp::Scope first = make(a);
		sp::Scope second(std::move(first));

		CHECK(open_calls("moved"), 1);
		sp::Scope third(sp_default_profiler(), b);
		CHECK(open_calls("replaced"), 1);
		third = std::move(second);
		CHECK(open_calls("replaced"), 0);
		CHECK(open_calls("moved"), 1);
		sp::Scope &self = third;
		third = std::move(self);
		CHECK(open_calls("moved"), 1);
	}
	CHECK(open_calls("moved"), 0);
	CHECK(sp_num_calls(a), 1);
	CHECK(sp_num_calls(b), 1);
	CHECK(sp_profiler_last_error(sp_default_profiler()), SP_OK);
	sp::Scope nothing(nullptr, 0), bad(-1);
}

template <class T> static T in_template(T value)
{
	SP_PROFILE_FUNCTION();
	auto twice = [](T x) {
		SP_PROFILE_SCOPE("lambda");
		return x + x;
	};
	return twice(value);
}

static void test_functions()
{
	sp_profiler *own = sp_create("own", 0);

	CHECK(in_template(3), 6);
	CHECK(in_template(2.0), 4);
	CHECK(calls("lambda"), 2);
	{
		SP_PROFILE_FUNCTION_CTX(own);
		SP_PROFILE_SCOPE_CTX(own, "in a profiler of one's own");
	}
	CHECK(sp_profiler_num_regions(own), 2);
	CHECK(std::strstr(sp_profiler_region_name(own, 0), "test_functions") != nullptr, 1);
	CHECK(sp_trace_num_calls(own, 1), 1);
	CHECK(sp_profiler_finalize(own), 0);
	sp_destroy(own);
}

int main()
{
	sp::LikwidSession session;

	sp::likwid_thread_init();
	{
		SP_PROFILE_SCOPE("before sp_init");
	}
	CHECK(sp_init("cxx", 0), 0);
	CHECK(sp_profiler_num_regions(sp_default_profiler()), 0);
	test_scopes();
	test_moves();
	test_functions();
	{
		SP_PROFILE_SCOPE("both files");
	}
	CHECK(other_file(), sp_region("both files"));
	CHECK(calls("both files"), 2);
	CHECK(sp_finalize(), 0);
	CHECK(sp_profiler_last_error(sp_default_profiler()), SP_OK);
	return 0;
}
#else
/* Neither linked with scope_profiler.c, nor are the arguments evaluated. */
static const char *never(int *evaluated)
{
	++*evaluated;
	return "never";
}

int main()
{
	int evaluated = 0;

	SP_PROFILE_SCOPE(never(&evaluated));
	SP_PROFILE_SCOPE_CTX(undeclared, undeclared);
	SP_PROFILE_FUNCTION();
	SP_PROFILE_FUNCTION_CTX(undeclared);
	if (!evaluated)
		SP_PROFILE_SCOPE("a statement");
	else
		evaluated += never(&evaluated)[0];
	CHECK(evaluated, 0);
	return 0;
}
#endif
