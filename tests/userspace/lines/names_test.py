# SPDX-License-Identifier: BSD-2-Clause
"""Names that the compilers of this machine make, made readable.

Usage: names_test.py NAMES_TEST SOURCES WORK
"""

import os
import shutil
import subprocess
import sys
import unittest

NAMES_TEST, SOURCES, WORK = sys.argv[1:4]

# What is in mangled.f90, however it is spelled.
MODULE = {"heat::step", "heat::f", "heat::s", "heat::sub::deep", "heat::sub::private_one"}
CPLUSPLUS = {
    "n::A::solve() [omp 1]",
    "n::A::solve() [omp 2]",
    "double n::A::sum<double>(double) [omp 1]",
    "plain [omp 1]",
}


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def readable(names, *keep):
    return run(NAMES_TEST, "show", *keep, input="".join(name + "\n" for name in names)).splitlines()


def functions(compiler, source, *flags):
    """{linker name: readable name} of what the compiler makes of the source."""
    out = os.path.join(WORK, source + ".o")
    run(compiler, *flags, "-c", "-o", out, os.path.join(SOURCES, source), cwd=WORK)
    names = [line.split()[-1] for line in run("nm", "--defined-only", out).splitlines()
             if line.split()[-2] in "tTwW"]
    return dict(zip(names, readable(names)))


def compiler(name, *versions):
    found = [f"{name}-{version}" for version in versions if shutil.which(f"{name}-{version}")]
    return found or ([name] if shutil.which(name) else [])


class Names(unittest.TestCase):
    def test_gfortran(self):
        for level in "-O0", "-O1", "-O3":
            with self.subTest(level):
                names = functions("gfortran", "mangled.f90", level, "-fopenmp")
                shown = set(names.values())
                self.assertLessEqual(MODULE | {"heat::step [omp 1]", "heat::grand::gp"}, shown)
                self.assertIn("inner [omp 1]", shown)
                self.assertEqual(names["plain_"], "plain_")  # C could have made it

    def test_flang(self):
        found = compiler("flang-new", 19, 16) + compiler("flang", 20, 19)
        if not found:
            self.skipTest("no flang here")
        for name in found:
            with self.subTest(name):
                shown = set(functions(name, "mangled.f90", "-O1", "-fopenmp").values())
                self.assertLessEqual(MODULE | {"heat::step [omp 1]", "heat::sub::grand::gp",
                                               "heat::step::inner [omp 1]", "plain [omp 1]"},
                                     shown)

    def test_gcc(self):
        for level in "-O0", "-O2":
            with self.subTest(level):
                shown = set(functions("g++", "outlined.cpp", level, "-fopenmp").values())
                self.assertLessEqual(
                    CPLUSPLUS | {"lambdas(double*)::{lambda(int)#1}::operator()(int) const [omp 1]"},
                    shown)

    def test_clang(self):
        for name in compiler("clang++", 19, 18, 17):
            with self.subTest(name):
                names = functions(name, "outlined.cpp", "-O1", "-fopenmp")
                shown = set(names.values())
                if ".omp_outlined." in names:  # before 17: without the function's name
                    self.assertEqual(names[".omp_outlined."], "[omp 1]")
                    self.assertIn("[omp task 1]", shown)
                else:  # numbers of the whole file
                    self.assertLessEqual(CPLUSPLUS - {"n::A::solve() [omp 2]"}, shown)

    def test_clones(self):
        source = os.path.join(WORK, "clones.c")
        with open(source, "w", encoding="ascii") as file:
            file.write("""
                __attribute__((noinline)) static int scale(int x, int by)
                {
                    if (__builtin_expect(x == by * 77, 0))
                        __builtin_abort();
                    return x * by;
                }
                __attribute__((target_clones("avx2", "default"))) int many(int x) { return x + 1; }
                int main(int argc, char **argv) { return scale(argc, 3) + many(argc); }""")
        for name in compiler("gcc"):
            names = functions(name, source, "-O2")
            clones = {raw for raw in names if raw.startswith(("scale.", "many."))}
            self.assertGreaterEqual(len(clones), 3, names)
            self.assertEqual({names[raw] for raw in clones}, {"scale", "many"})
            self.assertEqual(readable(sorted(clones), "keep"), sorted(clones))


if __name__ == "__main__":
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    if not shutil.which("nm"):
        print("no nm here")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0]])
