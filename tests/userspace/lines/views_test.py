# SPDX-License-Identifier: BSD-2-Clause
"""What the views of samples say: names of C++ in short, probes, modules without symbols, what is elsewhere.

Usage: views_test.py SP_REPORT HEADER WORK
"""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import sps

SP_REPORT, HEADER, WORK = sys.argv[1:4]
BASE = 0x5500_0000_0000

SOURCE = r"""
#include "sp_region.h"
namespace sim {
template <class T, int N> struct Grid {
	T v[N];
	template <class F> T reduce(F f) { T s = 0; for (T &x : v) s += f(x); return s; }
};
namespace {
struct Op { double operator()(double x) const { return x * 3; } };
}
static double hidden(double x)
{
	auto first = [](double y) { return y + 1; };
	auto second = [](double y) { return y * 2; };
	return first(x) + second(x);
}
struct Pair { Grid<Grid<double, 8>, 2> deep; };
template <class T> T twice(T x) { return x; }
}
extern "C" double plain(double x) { return sim::hidden(x); }
int main()
{
	sim::Grid<double, 3> g = {};
	SP_REGION_SCOPE("r");
	auto f = [&](double x) { return plain(x); };
	sim::Pair p = {};
	return (int)(g.reduce(f) + g.reduce(sim::Op()) + sim::twice(p).deep.v[0].v[0]);
}
"""


def run(*command, status=0, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == status, (command, done.returncode, done.stdout, done.stderr)
    return done


def path(*names):
    return os.path.join(WORK, *names)


class Views(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        with open(path("views.cpp"), "w") as file:
            file.write(SOURCE)
        cls.program = path("views")
        # Without optimization all is a function of its own, so that nm knows where it is.
        run("g++", "-g", "-O0", "-pie", "-I", os.path.dirname(HEADER), "-o", cls.program, path("views.cpp"))
        cls.functions = {}
        for line in run("nm", "--defined-only", "-S", cls.program).stdout.splitlines():
            part = line.split()
            if len(part) == 4:
                cls.functions[part[3]] = int(part[0], 16)

    def address(self, pattern):
        found = [a for name, a in self.functions.items() if re.fullmatch(pattern, name)]
        self.assertEqual(len(found), 1, (pattern, found))
        return BASE + found[0]

    def report(self, command, *patterns, program=None, options=(), name="views.sps"):
        samples = [(0, 0, self.address(p) if isinstance(p, str) else BASE + p) for p in patterns]
        sps.write(path(name), ["r"], [(program or self.program, BASE)], samples)
        return run(SP_REPORT, *command, *options, path(name)).stdout

    def test_names_that_only_debug_information_has(self):
        """Scopes stand around what has no linker name; whole in JSON, short for people."""
        patterns = {"_ZN3simL6hiddenEd": ("sim::hidden(double)", "sim::hidden"),
                    "_ZZN3simL6hiddenEdENKUldE_clEd": ("sim::hidden::{lambda}::operator()(double)", "sim::hidden::{lambda}"),
                    "_ZZN3simL6hiddenEdENKUldE0_clEd":
                    ("sim::hidden::{lambda#2}::operator()(double)", "sim::hidden::{lambda#2}"),
                    "_ZZ4mainENKUldE_clEd": ("main::{lambda}::operator()(double)", "main::{lambda}"),
                    "_ZNK3sim12_GLOBAL__N_12OpclEd":
                    ("sim::(anonymous namespace)::Op::operator()(double)", "sim::(anonymous namespace)::Op::operator()"),
                    "plain": ("plain", "plain"), "main": ("main", "main")}
        names = list(patterns)
        answer = json.loads(self.report(["lines", "--json"], *names))
        self.assertEqual({row["function"] for row in answer["regions"][0]["lines"]},
                         {whole for whole, _ in patterns.values()})
        tree = self.report(["tree"], *names)
        for _, short in patterns.values():
            self.assertRegex(tree, rf"(?m)[ ─]{re.escape(short)}$")

    def test_short_names(self):
        deep = r"_ZN3sim5twiceINS_4PairEEET_S2_"
        lambdas = r"_ZN3sim4GridIdLi3EE6reduceIZ4mainEUldE_EEdT_"
        text = self.report(["tree"], deep, lambdas)
        self.assertIn("sim::twice<sim::Pair>\n", text)
        self.assertIn("sim::Grid<double, 3>::reduce<…>\n", text)
        for command in ["tree", "--wide"], ["tree", "--csv"], ["lines", "--wide"]:
            self.assertIn("sim::Pair sim::twice<sim::Pair>(sim::Pair)", self.report(command, deep, lambdas))
        # Two instances that would look alike are told apart.
        other = r"_ZN3sim4GridIdLi3EE6reduceINS_12_GLOBAL__N_12OpEEEdT_"
        for command in ["tree"], ["export", "folded"]:
            both = self.report(command, lambdas, other)
            self.assertNotIn("reduce<…>", both)
            self.assertIn("::reduce<main()::<lambda(double)> >", both)
        self.assertEqual(sorted(self.report(["export", "folded"], deep, lambdas, deep).splitlines()),
                         ["r;sim::Grid<double, 3>::reduce<…> 1", "r;sim::twice<sim::Pair> 2"])
        self.assertIn("r;sim::Pair sim::twice<sim::Pair>(sim::Pair) 1\n",
                      self.report(["export", "folded", "--wide"], deep, lambdas))
        self.assertIn("--wide does not go with flamegraph",
                      run(SP_REPORT, "export", "flamegraph", "--wide", path("views.sps"), status=2).stderr)
        svg = self.report(["export", "flamegraph"], deep)
        self.assertIn('data-t="sim::twice&lt;sim::Pair&gt;"', svg)
        self.assertIn("<title>sim::Pair sim::twice&lt;sim::Pair&gt;(sim::Pair)", svg)

    def test_probes(self):
        """All that the header adds is one function, in every view; what merely sounds so is not."""
        with open(HEADER) as file:
            header = set(re.findall(r"\b(sp_[a-z_]+_v1)\(", file.read()))
        self.assertGreater(len(header), 15)
        names = sorted(header | {"sp_begin_stub_v1", "sp_trace_site_end", "sp_region_begin"})
        others = ["sp_solve_v2", "sp_gate", "sp_begin", "solve_v1"]
        with open(path("probes.s"), "w") as file:
            for name in names + others:
                file.write(f".globl {name}\n.type {name},@function\n{name}: nop\nret\n.size {name},.-{name}\n")
        run("gcc", "-shared", "-nostdlib", "-o", path("probes.so"), path("probes.s"))
        at = {line.split()[2]: int(line.split()[0], 16)
              for line in run("nm", "--defined-only", path("probes.so")).stdout.splitlines()}
        places = [at[name] for name in names + others]
        for command in ["tree"], ["tree", "--bottom-up"], ["lines", "--top", "0"], ["export", "folded"]:
            text = self.report(command, *places, program=path("probes.so"))
            self.assertEqual(text.count("(probes of sp-trace)"), 1, text)
            for name in others:
                self.assertRegex(text, rf"\b{name}\b")
        self.assertIn(f"(probes of sp-trace) {len(names)}\n", text)

    def test_without_symbols(self):
        """The tree says whose code has no names, how much that is, and what helps."""
        shutil.copy(self.program, path("bare"))
        run("strip", path("bare"))
        address = self.functions["plain"]
        text = self.report(["tree"], address, address, address, program=path("bare"))
        note = text.splitlines()[0]
        for word in "no symbols", "[FILE]: bare (100.0 % of the samples)", "-g", "--debug-dir", "DEBUGINFOD_URLS":
            self.assertIn(word, note)
        self.assertIn("[bare]", text)
        self.assertNotIn("no symbols", self.report(["tree"], "plain"))

    def test_elsewhere(self):
        """Processes without a rank are told of, with the command that shows them."""
        os.makedirs(path("ranks.sp", "other"))
        for name in ("p_rank00000.sps",), ("other", "mpirun_rank00000.sps"):
            sps.write(path("ranks.sp", *name), ["r"], [(self.program, BASE)], [(0, 0, self.address("plain"))])
        other = path("ranks.sp", "other")
        for command in "tree", "lines":
            self.assertIn(f"sp-report {command} {other}\n", run(SP_REPORT, command, path("ranks.sp")).stdout)
            both = run(SP_REPORT, command, path("ranks.sp"), other).stdout
            self.assertNotIn("without a rank", both)
            self.assertIn("2 samples", both)

    def test_messages(self):
        file = path("messages.sps")
        sps.write(file, ["alpha", "beta"], [(self.program, BASE)], [(0, 0, self.address("plain"))], rank=4)
        for command in "tree", "lines":
            self.assertIn('did you mean "alpha"?',
                          run(SP_REPORT, command, "--region", "alhpa", file, status=1).stderr)
            self.assertIn('the recording has "alpha"',
                          run(SP_REPORT, command, "--region", "zzzzzzzz", file, status=1).stderr)
            self.assertIn("ranks with samples: 4\n",
                          run(SP_REPORT, command, "--rank", "0-2", file, status=1).stderr)


if __name__ == "__main__":
    for tool in "g++", "nm", "strip":
        if not shutil.which(tool):
            print(f"no {tool} here")
            sys.exit(77)
    unittest.main(argv=[sys.argv[0]])
