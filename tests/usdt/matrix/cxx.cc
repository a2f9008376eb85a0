/* SPDX-License-Identifier: BSD-2-Clause */
/* The C++ file of the matrix program: templates, lambdas, members, exceptions, static initializers.
 */
#include <stdexcept>

#include "unit.h"

namespace
{

template <typename T> T twice(T x)
{
	SP_REGION_FUNCTION();
	count_call("twice");
	SP_REGION_BEGIN("template pair");
	count_call("template pair");
	x = x + x;
	SP_REGION_END("template pair");
	return x;
}

struct solver {
	unsigned state;

	explicit solver(unsigned x) : state(x)
	{
		SP_REGION_SCOPE("solver::solver");
		count_call("solver::solver");
	}
	~solver()
	{
		SP_REGION_SCOPE("solver::~solver");
		count_call("solver::~solver");
	}
	template <int N> unsigned step() const
	{
		SP_REGION_SCOPE_TAGGED("solver::step", "template");
		count_call("solver::step");
		if (state == 0)
			throw std::runtime_error("state");
		return state * N;
	}
};

unsigned at_start = [] {
	SP_REGION_SCOPE("static initializer");
	return 5u;
}();

} // namespace

inline unsigned inline_cxx(unsigned x)
{
	SP_REGION_SCOPE("inline cxx");
	count_call("inline cxx");
	auto lambda = [&x](unsigned y) {
		SP_REGION_SCOPE("lambda");
		count_call("lambda");
		return [y, x] {
			SP_REGION_FUNCTION();
			count_call("operator()");
			return y + x;
		}();
	};
	return lambda(3);
}

unsigned cxx_run(unsigned x)
{
	unsigned result = twice(x) + static_cast<unsigned>(twice(2.5)) + inline_cxx(x) + at_start;

	for (unsigned state = 0; state < 2; state++) {
		try {
			solver s(state);

			SP_REGION_BEGIN("left by throw");
			SP_REGION_END("left by throw");
			count_call("left by throw");
			result += s.step<3>() + s.step<4>();
		} catch (const std::exception &) {
			SP_REGION_SCOPE("catch");
			count_call("catch");
			result++;
		}
	}
#if __cplusplus >= 201402L
	auto generic = [](auto y) {
		SP_REGION_SCOPE("generic lambda");
		count_call("generic lambda");
		return y;
	};
	result += generic(x) + static_cast<unsigned>(generic(2.0f));
#endif
	return result + static_inline(result) + extern_inline(result);
}
