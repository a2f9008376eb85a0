/* SPDX-License-Identifier: BSD-2-Clause
 *
 * names_test.c - readable names: one table for each scheme, hostile names, and a filter for tests
 * with real compilers.
 *
 *	names_test
 *	names_test show [keep]	the readable form of each line of the standard input
 *
 * Where no such compiler is at hand, the names are those of its documentation (Intel: "Fortran
 * Module Naming Conventions"), or stand in programs and traces that people published (icc's
 * L_main_27__par_region0_2.0, classic flang's __nv_MAIN__F1L38_1, icx's main.DIR.OMP.PARALLEL.2).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/names.h"
#include "userspace/base/cleanup.h"

static int failures;

static void check(const char *raw, const char *name, const char *expected)
{
	if (!expected ? !name : name && !strcmp(name, expected))
		return;
	fprintf(stderr, "\"%.200s\" gives \"%.200s\", not \"%s\"\n", raw, name ? name : "(none)",
		expected ? expected : "(none)");
	failures++;
}

static void check_readable(const char *raw, const struct sp_name_hints *hints, const char *expected)
{
	sp_cleanup(sp_freep) char *name = sp_name_readable(raw, hints);

	check(raw, name, expected);
}

static void test_schemes(void)
{
	static const char *const names[][2] = {
		{"", NULL},
		{"main", NULL},
		{"i", NULL},
		/* C++ */
		{"_Z3fooi", "foo(int)"},
		{"_ZN4grid5FieldILi7EfE5totalEf", "grid::Field<7, float>::total(float)"},
		{"_ZSt4cout@@GLIBCXX_3.4", "std::cout"},
		{"_Z", NULL},
		{"_Zzzzz", NULL},
		/* gfortran */
		{"__heat_MOD_step", "heat::step"},
		{"__heat.sub_MOD_step", "heat::sub::step"},
		{"__heat_MOD_master.0.step", "heat::step"},
		{"master.12.step_", "step"},
		{"master.0.step.constprop.0", "step"},
		{"master.step_", NULL},
		{"master.0.", NULL},
		{"master.0.Step", NULL},
		{"__heat_2_MOD_step_x.isra.0", "heat_2::step_x"},
		{"__heat_MOD___copy_heat_Field", "heat::__copy_heat_Field"},
		{"__MOD_step", NULL},
		{"__heat_MOD_", NULL},
		{"__heat_MOD_Step", NULL},
		{"__heat._MOD_step", NULL},
		{"__heat_MODstep", NULL},
		{"_MOD_", NULL},
		{"__libc_start_main", NULL},
		/* IBM */
		{"__heat_NMOD_step", "heat::step"},
		/* flang */
		{"_QMheatPstep", "heat::step"},
		{"_QMheatSsubPstep", "heat::sub::step"},
		{"_QMheatSsubSgrandPgp", "heat::sub::grand::gp"},
		{"_QMheatFstepPinner", "heat::step::inner"},
		{"_QMheatFstepB1Pinner", "heat::step::inner"},
		{"_QFPmine", "mine"},
		{"_QPsolve", "solve"},
		{"_QQmain", "main program"},
		{"_Q", NULL},
		{"_QM", NULL},
		{"_QMheat", NULL},
		{"_QMheatP", NULL},
		{"_QMheatEx", NULL},
		{"_QMheatPstepX", NULL},
		{"_QQclX2F", NULL},
		/* Intel, NAG, Cray */
		{"heat_mp_step_", "heat::step"},
		{"heat_mp_step", NULL},
		{"heat_MP_step", "heat::step"},
		{"heat_MP_step_", "heat::step"},
		{"_mp_step_", NULL},
		{"heat@sub_mp_step_", "heat::sub::step"},
		{"heat@sub_MP_step", "heat::sub::step"},
		{"L_heat@sub_mp_step__12__par_loop0_2_0", "heat::sub::step [omp line 12]"},
		{"heat@_mp_step_", NULL},
		{"@sub_mp_step_", NULL},
		{"heat@a@sub_mp_step_", NULL},
		{"heat_mp__", NULL},
		{"step$heat_", "heat::step"},
		{"step$", NULL},
		/* nvfortran's is like that of an external procedure: hints only. */
		{"heat_step_", NULL},
		{"solve_", NULL},
		/* Outlined functions: gcc */
		{"solve._omp_fn.0", "solve [omp 1]"},
		{"solve._omp_fn.11.cold", "solve [omp 12]"},
		{"_ZN1n1A5solveEv._omp_fn.1", "n::A::solve() [omp 2]"},
		{"__heat_MOD_step._omp_fn.0", "heat::step [omp 1]"},
		{"inner.0._omp_fn.1", "inner [omp 2]"},
		{"_omp_fn.0", "_omp_fn"},
		/* clang */
		{".omp_outlined.", "[omp 1]"},
		{".omp_outlined..12", "[omp 13]"},
		{".omp_outlined._debug__", "[omp 1]"},
		{".omp_outlined._debug__.1", "[omp 2]"},
		{".omp_task_entry..7", "[omp task 8]"},
		{".omp.reduction.reduction_func.11", "[omp reduction 12]"},
		{"__omp_outlined__", "[omp 1]"},
		{"__omp_outlined__2_debug__", "[omp 3]"},
		{"_ZN1n1A5solveEv.omp_outlined.2", "n::A::solve() [omp 3]"},
		{"_Z1fv.omp_outlined_debug__.omp.reduction.reduction_func", "f() [omp 1]"},
		{"plain.omp_outlined", "plain [omp 1]"},
		{"__omp_offloading_fe00_aac0c8__ZL3lamPd_l25", "lam(double*) [omp target line 25]"},
		{"__omp_offloading_fe00_aac0c8_main_l5_debug__", "main [omp target line 5]"},
		{"__omp_offloading_fe00_xyz_main", NULL},
		/* flang */
		{"_QMheatPstep..omp_par", "heat::step [omp 1]"},
		{"_QMheatFstepPinner..omp_par.1.wrapper", "heat::step::inner [omp 2]"},
		{"solve_..omp_par", "solve [omp 1]"},
		/* Intel */
		{"L_main_27__par_region0_2.0", "main [omp line 27]"},
		{"L_gather_smallbuf_20__par_region0_2_0", "gather_smallbuf [omp line 20]"},
		{"L__Z4simdPfll_28__par_loop1_2.2", "simd(float*, long, long) [omp line 28]"},
		{"L_solve__12__par_loop0_2_0", "solve [omp line 12]"},
		{"L_heat_mp_step__12__par_loop0_2_0", "heat::step [omp line 12]"},
		{"L_main", NULL},
		{"L__par_loop0", NULL},
		{"L_1__par_loop0", NULL},
		{"L_", NULL},
		{"main.DIR.OMP.PARALLEL.LOOP.2.split78", "main [omp 2]"},
		{"heat_mp_step_.DIR.OMP.PARALLEL.2", "heat::step [omp 2]"},
		{"_Z3Isov.DIR.OMP.PARALLEL2", "Iso() [omp 2]"},
		{".DIR.OMP.PARALLEL2", NULL},
		/* NVIDIA, classic flang */
		{"__nv_solve_F1L12_1", "solve [omp line 12]"},
		{"__nv_MAIN__F1L38_1_", "MAIN_ [omp line 38]"},
		{"__nv_solve__F1L12_1", "solve [omp line 12]"},
		{"__nv__F1L12", NULL},
		{"__nv_F1L12_1", NULL},
		{"__nv_", NULL},
		{"__nv_solve_F1", NULL},
		/* Clones and versions */
		{"solve.constprop.0", "solve"},
		{"solve.constprop.0.isra.0.cold", "solve"},
		{"solve.part.1", "solve"},
		{"solve.lto_priv.0", "solve"},
		{"solve.llvm.123456789", "solve"},
		{"solve.avx2.0", "solve"},
		{"solve.arch_haswell.1", "solve"},
		{"solve.resolver", "solve"},
		{"inner.0", "inner"},
		{"_ZL5scaledi.constprop.0", "scale(double, int)"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"memcpy@GLIBC_2.2.5", "memcpy"},
		{"memcpy@plt", NULL},
		{"_Z1fi@plt", "f(int)@plt"},
		{"a@b c", NULL},
		/* No suffixes of compilers */
		{"main.main", NULL},
		{"runtime.mallocgc", NULL},
		{"solve.llvm", NULL},
		{"solve.", NULL},
		{"solve..", NULL},
		{".cold", NULL},
		{".", NULL},
	};

	for (size_t i = 0; i < sp_array_size(names); i++) {
		sp_cleanup(sp_freep) char *name = sp_name_demangle(names[i][0]);

		check(names[i][0], name, names[i][1]);
	}
}

static void test_hints(void)
{
	static const struct {
		struct sp_name_hints hints;
		const char *raw, *expected;
	} cases[] = {
		{{.fortran = true}, "solve_", "solve"},
		{{.fortran = true, .name = "solve"}, "solve_", "solve"},
		{{.fortran = true, .name = "set_up"}, "set_up__", "set_up"},
		{{.fortran = true, .name = "Solve"}, "SOLVE", NULL},
		{{.fortran = true, .name = "c_name"}, "bound", NULL},
		{{.fortran = true, .name = "heat"}, "MAIN__", "heat"},
		{{.fortran = true, .name = "step", .module = "heat"}, "heat_step_", "heat::step"},
		{{.fortran = true, .name = "step", .module = "heat.sub"}, "x_", "heat::sub::step"},
		{{.fortran = true, .name = "step", .module = "heat"},
		 "__heat_MOD_step",
		 "heat::step"},
		{{.fortran = true, .name = "solve_._omp_fn.0"},
		 "solve_._omp_fn.0",
		 "solve [omp 1]"},
		{{.name = "solve"}, "solve_", NULL},
		{{.parent = "_ZN1n1A5solveEv", .construct = 2},
		 ".omp_outlined..12",
		 "n::A::solve() [omp 2]"},
		{{.parent = "main"}, ".omp_outlined._debug__", "main [omp 1]"},
		{{.parent = "main"}, "solve", NULL},
		{{.keep_clones = true}, "solve.constprop.0.cold", NULL},
		{{.keep_clones = true},
		 "_ZL5scaledi.constprop.0",
		 "scale(double, int) [clone .constprop.0]"},
		{{.keep_clones = true}, "__heat_MOD_step.part.1", "heat::step [clone .part.1]"},
		{{.keep_clones = true}, "solve._omp_fn.0.cold", "solve [omp 1] [clone .cold]"},
		{{.keep_clones = true}, "memcpy@@GLIBC_2.14", "memcpy"},
		{{.whole = "a::(anonymous namespace)::Op::operator()(int)"},
		 "operator()",
		 "a::(anonymous namespace)::Op::operator()(int)"},
		{{.whole = "a::f(int)"}, "_ZN1aL1fEi.constprop.0", "a::f(int)"},
		{{.whole = "a::f(int)", .keep_clones = true},
		 "_ZN1aL1fEi.constprop.0",
		 "a::f(int) [clone .constprop.0]"},
	};

	for (size_t i = 0; i < sp_array_size(cases); i++)
		check_readable(cases[i].raw, &cases[i].hints, cases[i].expected);
}

static void test_shorten(void)
{
	static const char *const names[][2] = {
		{"main", "main"},
		{"heat::step [omp 1]", "heat::step [omp 1]"},
		{"[omp 12]", "[omp 12]"},
		{"[omp task 3] [clone .cold]", "[omp task 3] [clone .cold]"},
		{"main program", "main program"},
		{"main program [omp 2]", "main program [omp 2]"},
		{"TLS init function for a::x", "TLS init function for a::x"},
		{"std::vector<int, std::allocator<int> >::push_back(int&&)",
		 "std::vector<…>::push_back"},
		{"double f<int>(int, std::map<int, int>)", "f<int>"},
		{"double f<int>(int) [omp 2]", "f<int> [omp 2]"},
		{"f(int, g(int)::{lambda()#1}) const", "f"},
		{"f(int) [omp target line 5] [clone .cold]", "f [omp target line 5] [clone .cold]"},
		{"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
		{"void sim::Grid<double, 20000>::sort_it() const",
		 "sim::Grid<double, 20000>::sort_it"},
		{"void a<b<c>, 1, 2>::f<std::vector<int, std::allocator<int> > >(int)",
		 "a<b<c>, 1, 2>::f<…>"},
		{"n::f(double)::{lambda(double)#1}::operator()(double) const", "n::f::{lambda}"},
		{"auto n::f(double)::{lambda(auto:1)#12}::operator()<int>(int) const",
		 "n::f::{lambda#12}"},
		{"main::{lambda(int)#2}::operator()(int) const::{lambda()#1}::operator()() const",
		 "main::{lambda#2}::{lambda}"},
		{"main::$_0::operator()(float) const", "main::{lambda}"},
		{"main::$_1::operator()(float) const", "main::{lambda#2}"},
		{"a::stat::{lambda#2}::operator()", "a::stat::{lambda#2}"},
		{"std::function<double (double)>::operator()(double) const",
		 "std::function<double (double)>::operator()"},
		{"std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <char>"},
		{"bool std::operator< <char, 1>(s<char> const&)", "std::operator< <char, 1>"},
		{"a::operator->() const", "a::operator->"},
		{"it<int>::difference_type operator-<int>(int)", "operator-<int>"},
		{"operator new(unsigned long)", "operator new"},
		{"a::operator unsigned long() const", "a::operator unsigned long"},
		{"a::operator[](int) [omp 1]", "a::operator[] [omp 1]"},
		{"my_operator<int>()", "my_operator<int>"},
		{"std::__cxx11::basic_string<char, std::char_traits<char> >::compare(int)",
		 "std::basic_string<…>::compare"},
		{"f[abi:cxx11](int)", "f"},
		{"decltype (a(b)) g<int>(int)", "g<int>"},
		{"non-virtual thunk to a::b::f(int)", "a::b::f"},
		{"main.(*Grid).Step", "main.(*Grid).Step"},
		{"$_x", "$_x"},
		{"{lambda", "{lambda}"},
		{"<", "<…>"},
		{">>>", ">>>"},
		{"(", "("},
		{")(", ")"},
		{"", ""},
	};

	for (size_t i = 0; i < sp_array_size(names); i++) {
		sp_cleanup(sp_freep) char *name = sp_name_shorten(names[i][0]);

		check(names[i][0], name, names[i][1]);
	}
}

/* Templates as they are used: beyond a kilobyte, where the C++ runtime gives up. */
static void test_long(void)
{
	char raw[16001] = "_Z1fI", *at = raw + 5;
	sp_cleanup(sp_freep) char *name = NULL;

	for (int i = 0; i < 400; i++)
		at += sprintf(at, "29parameter_of_some_dimension_%d", i % 10);
	strcpy(at, "Evv");
	name = sp_name_demangle(raw);
	if (!name || strncmp(name, "void f<parameter_of_some_dim", 28) != 0 ||
	    strlen(name) < 12000) {
		fprintf(stderr, "a long name gives %.60s\n", name ? name : "(none)");
		failures++;
	}
}

/* Each pair doubles the one before: 46 bytes for a hundred pairs, 2^40 for the text. */
static void test_bombs(void)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static char raw[100001];
	char *at = raw + sprintf(raw, "_Z1fSt4pairIiiE");

	for (int i = 0; i < 36; i++)
		at += sprintf(at, "S_IS%c_S%c_E", digits[i], digits[i]);
	check_readable(raw, NULL, NULL);
	strcpy(at, ".constprop.0");
	*at = '\0';
	for (size_t n = 1000; n < sizeof(raw); n *= 3) {
		static const char *const starts[] = {
			"_Z1f",	       "_ZN1aI",	  "solve.cold.",
			"_QM",	       "__m_MOD_",	  "L_",
			"__nv_F1L",    "m_mp_",		  "_Z1fP",
			"x.omp_par..", ".omp_outlined..", "a$",
			"x.1.1.1.1",   "x.DIR.OMP.PARA."};
		static const char fill[] = "PIN1a.cold._F1L_mp_";

		for (size_t i = 0; i < sp_array_size(starts); i++)
			for (size_t k = 0; k < sizeof(fill) - 1; k++) {
				size_t from = strlen(starts[i]);

				memcpy(raw, starts[i], from);
				for (size_t j = from; j < n; j++)
					raw[j] = k % 2 ? fill[k]
						       : fill[(j + k) % (sizeof(fill) - 1)];
				raw[n] = '\0';
				free(sp_name_demangle(raw));
			}
	}
	memset(raw, 'x', 16 << 10);
	strcpy(raw + (16 << 10), ".cold");
	check_readable(raw, NULL, NULL);
}

static uint64_t random_state = 88172645463325252u;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Pieces of names in any order; whatever comes out, a second time it is the same. */
static void test_random(void)
{
	static const char *const pieces[] = {"_Z",	    "_ZN",
					     "1f",	    "E",
					     "v",	    "_MOD_",
					     "_mp_",	    "_",
					     "__",	    "heat",
					     "_Q",	    "M",
					     "P",	    "S",
					     "F",	    "B1",
					     ".",	    ".cold",
					     "_omp_fn",	    ".0",
					     ".12",	    "L_",
					     "__nv_",	    "_F1L",
					     "12",	    "@",
					     "@plt",	    ".omp_outlined.",
					     "$",	    "..omp_par",
					     ".DIR.OMP.",   "PARALLEL",
					     "__par_loop0", "<",
					     "(",	    ")",
					     ">",	    "__omp_offloading_",
					     "fe_",	    "_l",
					     "\x01",	    "\xff"};

	for (int round = 0; round < 200000; round++) {
		char text[200] = "";
		struct sp_name_hints hints = {
			.fortran = random_number() % 2,
			.keep_clones = random_number() % 2,
			.name = random_number() % 4 ? NULL : "heat",
			.module = random_number() % 4 ? NULL : "m.s",
			.parent = random_number() % 4 ? NULL : "_Z1fv",
		};
		sp_cleanup(sp_freep) char *name = NULL, *again = NULL;

		for (size_t n = random_number() % 9; n; n--)
			strcat(text, pieces[random_number() % sp_array_size(pieces)]);
		name = sp_name_readable(text, &hints);
		again = sp_name_readable(text, &hints);
		if (!name != !again || (name && strcmp(name, again) != 0) ||
		    (name && !*name && *text)) {
			fprintf(stderr, "\"%s\" gives \"%s\"\n", text, name ? name : "(none)");
			failures++;
		}
		free(sp_name_shorten(name ? name : text));
	}
}

static int show(bool keep)
{
	struct sp_name_hints hints = {.keep_clones = keep};
	char line[32768];

	while (fgets(line, sizeof(line), stdin)) {
		sp_cleanup(sp_freep) char *name = NULL;

		line[strcspn(line, "\n")] = '\0';
		name = sp_name_readable(line, &hints);
		puts(name ? name : line);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "show"))
		return show(argc > 2);
	test_schemes();
	test_hints();
	test_shorten();
	test_long();
	test_bombs();
	test_random();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
