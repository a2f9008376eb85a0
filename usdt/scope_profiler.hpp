/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scope_profiler.hpp - regions for C++ that end by themselves, with the API of scope-profiler's
 * C++ header; see scope_profiler.h for what is recorded and what is answered.
 *
 *	#include "scope_profiler.hpp"
 *
 *	void Solver::step()
 *	{
 *		SP_PROFILE_FUNCTION();			// until step() is left, also by a throw
 *		{
 *			SP_PROFILE_SCOPE("assemble");	// until the block is left
 *			assemble();
 *		}
 *		solve();
 *	}
 *
 * after an sp_init("run", 0) in main(). Either compile scope_profiler.c along (C++11 and newer), or
 * define SP_HEADER_ONLY before every inclusion (C++17 and newer), and nothing else is needed.
 * With SP_DISABLE_PROFILING the macros vanish: arguments are not evaluated, no object is made and
 * no function is called; the classes stay for code that names them.
 *
 * SP_USE_LIKWID has no effect: counters are the recorder's. sp::LikwidSession and
 * sp::likwid_thread_init() are there for programs that name them, and do nothing.
 *
 * Costs: a Scope is one begin and one end. The macros look their name up each time, some 10 ns more;
 * where that matters keep the handle, or use SP_REGION_SCOPE of sp_region.h, which looks up
 * nothing. Nothing here throws. A scope must end on the thread that began it; moved to another one,
 * its end is refused.
 */
#ifndef SCOPE_PROFILER_HPP
#define SCOPE_PROFILER_HPP

#if defined(SP_HEADER_ONLY) && __cplusplus < 201703L
#error "SP_HEADER_ONLY needs C++17 (inline variables); else leave it out and compile scope_profiler.c"
#endif

#include "scope_profiler.h"

namespace sp
{

/* One call of a region, from construction to destruction. Moving hands the call on. */
class Scope
{
      public:
	/* On a profiler of one's own. NULL, finalized ones and bad handles make an empty scope. */
	Scope(sp_profiler *profiler, int region) noexcept
		: scope_(sp_profiler_scope_begin(profiler, region))
	{
	}

	/* On the default profiler. */
	explicit Scope(int region) noexcept : Scope(sp_default_profiler(), region)
	{
	}

	~Scope()
	{
		sp_scope_end(&scope_);
	}

	Scope(Scope &&from) noexcept : scope_(from.release())
	{
	}

	/* Ends the call held so far, then takes over the other's. */
	Scope &operator=(Scope &&from) noexcept
	{
		if (this != &from) {
			sp_scope_end(&scope_);
			scope_ = from.release();
		}
		return *this;
	}

	Scope(const Scope &) = delete;
	Scope &operator=(const Scope &) = delete;

      private:
	sp_scope release() noexcept
	{
		const sp_scope held = scope_;

		scope_.slot = -1;
		return held;
	}

	sp_scope scope_;
};

/* What the macros below make: a region by name and place, looked up and entered. */
class ProfileScope
{
      public:
	ProfileScope(const char *name, const char *file, int line) noexcept
		: ProfileScope(sp_default_profiler(), name, file, line)
	{
	}

	ProfileScope(sp_profiler *profiler, const char *name, const char *file, int line) noexcept
		: scope_(profiler, sp_profiler_region_at(profiler, name, file, line))
	{
	}

	ProfileScope(const ProfileScope &) = delete;
	ProfileScope &operator=(const ProfileScope &) = delete;

      private:
	Scope scope_;
};

/* Do nothing; see above. */
class LikwidSession
{
      public:
	LikwidSession() noexcept
	{
	}
	~LikwidSession()
	{
	}
	LikwidSession(const LikwidSession &) = delete;
	LikwidSession &operator=(const LikwidSession &) = delete;
};

inline void likwid_thread_init() noexcept
{
}

} // namespace sp

/*
 * Until the end of the block: the default profiler, or (_CTX) a given one; the region is named by
 * the text, or (FUNCTION) by the function with its arguments' types. One of them to a line.
 */
#ifdef SP_DISABLE_PROFILING
#define SP_PROFILE_SCOPE(name) ((void)0)
#define SP_PROFILE_SCOPE_CTX(profiler, name) ((void)0)
#define SP_PROFILE_FUNCTION() ((void)0)
#define SP_PROFILE_FUNCTION_CTX(profiler) ((void)0)
#else
#define SP_PROFILE_SCOPE(name) ::sp::ProfileScope SP_CXX_NAME_(__LINE__)((name), __FILE__, __LINE__)
#define SP_PROFILE_SCOPE_CTX(profiler, name) \
	::sp::ProfileScope SP_CXX_NAME_(__LINE__)((profiler), (name), __FILE__, __LINE__)
#define SP_PROFILE_FUNCTION() SP_PROFILE_SCOPE(SP_CXX_FUNCTION_)
#define SP_PROFILE_FUNCTION_CTX(profiler) SP_PROFILE_SCOPE_CTX(profiler, SP_CXX_FUNCTION_)
#endif

#define SP_CXX_NAME_(line) SP_CXX_PASTE_(line)
#define SP_CXX_PASTE_(line) sp_scope_at_line_##line
#ifdef __GNUC__
#define SP_CXX_FUNCTION_ __PRETTY_FUNCTION__
#else
#define SP_CXX_FUNCTION_ __func__
#endif

/* Last: the functions in the file are declared above, and become inline here. */
#ifdef SP_HEADER_ONLY
#include "scope_profiler.c"
#endif

#endif /* SCOPE_PROFILER_HPP */
