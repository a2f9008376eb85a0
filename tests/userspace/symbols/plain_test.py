#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Symbols of the plain form of debug information: what llvm-symbolizer and nm say, and the source lines of addr2line."""
import os
import random
import re
import subprocess
import unittest

from built import WORK, Known, addresses, build, chains_of, main, need, plain, run, where


class Plain(unittest.TestCase):
    def judge_by_llvm(self, program, wanted, known):
        need("llvm-symbolizer")
        said = run("llvm-symbolizer", "--no-demangle", "--addresses", "--functions=linkage", "--inlines",
                   "-e", program, input="\n".join(wanted).encode())
        judged = chains_of(re.sub(r"^(.*:\d+):\d+$", r"\1", said, flags=re.M))
        self.assertEqual(len(judged), len(known))
        for address, ours, theirs in zip(wanted, known, judged):
            places = [where(p) for _, p in ours] == [where(p) for _, p in theirs]
            names = len(ours) == len(theirs) and all(
                plain(a) == plain(b) or (a.startswith("_Z") and b in a) or b.startswith("operator")
                for (a, _), (b, _) in zip(ours, theirs))
            self.assertTrue(places and names, f"{program} {address}:\n{ours}\n{theirs}")

    def judge_by_addr2line(self, program, wanted, known):
        """Source lines alone: it takes names of inner functions from elsewhere, and where no function
        is (padding) the name of the one before."""
        judged = chains_of(run("addr2line", "-afi", "-e", program, input="\n".join(wanted).encode()))
        wrong = [(a, x, y) for a, x, y in zip(wanted, known, judged)
                 if x[0][0] != "??" and [where(p) for _, p in x] != [where(p) for _, p in y]]
        self.assertFalse(wrong[:3])

    def check(self, compiler, *options, link=(), addr2line=True):
        name = "-".join((compiler, *options)).replace("/", "")
        program = build(WORK / name, compiler, *options, link=link)
        wanted = addresses(program)
        known = Known(program, wanted)
        self.assertIn(": lines from", known.said)
        self.assertGreater(max(map(len, known.chains)), 1 if "-O0" in options else 4)
        self.judge_by_llvm(program, wanted, known.chains)
        if addr2line:
            self.judge_by_addr2line(program, wanted, known.chains)

    def test_gcc(self):
        for version in (4, 5):
            for level in ("-O0", "-O2", "-O3"):
                with self.subTest(version=version, level=level):
                    # addr2line 2.40 mistakes the files of inline functions of DWARF 5, and does not
                    # read clang's lists of ranges.
                    self.check("gcc", f"-gdwarf-{version}", level, addr2line=version == 4)

    def test_clang(self):
        for version in (4, 5):
            for level in ("-O0", "-O2", "-O3"):
                with self.subTest(version=version, level=level):
                    self.check("clang", f"-gdwarf-{version}", level, addr2line=version == 4)

    def test_link_time_optimization(self):
        self.check("gcc", "-flto", "-gdwarf-4")

    def test_sections(self):
        self.check("gcc", "-gdwarf-4", "-Os", "-ffunction-sections", link=["-Wl,--gc-sections"])


class Stubs(unittest.TestCase):
    """The linker's stubs have no symbols: they are named by what they call, and never like the code
    of another section."""

    SOURCE = """
        #include <math.h>
        #include <stdio.h>
        #include <stdlib.h>
        double (*volatile by_pointer)(double) = sin;
        int main(int argc, char **argv)
        {
                double sum = by_pointer(argc);
                for (int i = 0; i < 100; i++)
                        sum += cos(i + argc) + strtod(argv[0], NULL);
                printf("%g %d\\n", sum, rand());
        }
        """

    def stubs(self, name, *options):
        """{name of a stub: names of what is found at its instructions}, as objdump has them."""
        need("gcc", "objdump")
        folder = WORK / "stubs"
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / name
        run("gcc", "-O2", "-g", *options, "-x", "c", "-", "-o", program, "-lm", input=self.SOURCE.encode())
        found = {}
        for section in (".plt", ".plt.sec", ".plt.got"):
            text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-j", section, program],
                                  capture_output=True, text=True).stdout
            for stub, code in re.findall(r"^\w+ <(\S+)>:\n(.*?)(?:\n\n|\Z)", text, re.M | re.S):
                wanted = ["0x" + a for a in re.findall(r"^ +([0-9a-f]+):", code, re.M)]
                chains = Known(program, wanted).chains
                self.assertTrue(all(len(c) == 1 and c[0][1] == "??:0" for c in chains), chains)
                found.setdefault(stub, set()).update(c[0][0] for c in chains)
        return found

    def test_names(self):
        if os.uname().machine != "x86_64":
            self.skipTest("stubs are named on x86-64 alone")
        for name, options in {"lazy": ["-fcf-protection=none", "-Wl,-z,lazy"],
                              "now": ["-fcf-protection=none", "-Wl,-z,now"],
                              "ibt": ["-fcf-protection=full", "-Wl,-z,lazy", "-Wl,-z,ibtplt"],
                              "fixed": ["-no-pie", "-Wl,-z,lazy"],
                              "no-plt": ["-fno-plt"]}.items():
            with self.subTest(name=name):
                found = self.stubs(name, *options)
                for stub, names in found.items():
                    stub = re.sub(r"@.*plt", "@plt", stub)
                    # objdump gives the stubs that bind lazily, and do not name anybody, names of others.
                    self.assertTrue(names <= {stub, "[plt]"}, (stub, names))
                if name != "no-plt":
                    self.assertIn({"cos@plt"}, found.values())
                self.assertIn({"__cxa_finalize@plt"} if name != "fixed" else {"cos@plt"}, found.values())


class Large(unittest.TestCase):
    """So many addresses of a program so large that several processes share them out."""

    def test_many_addresses(self):
        need("llvm-symbolizer", "readelf")
        program = os.environ["SP_LARGE_PROGRAM"]
        if ".debug_line" not in run("readelf", "-SW", program):
            self.skipTest("built without debug information")
        text = re.search(r"\.text +PROGBITS +(\w+) +\w+ +(\w+)", run("readelf", "-SW", program))
        low, size = (int(number, 16) for number in text.groups())
        wanted = [hex(a) for a in random.Random(20).sample(range(low, low + size), min(20000, size))]
        one, several = (Known(program, wanted, "--jobs", jobs) for jobs in ("1", "5"))
        self.assertEqual(one.chains, several.chains)
        self.assertIn(": lines from", several.said)
        said = run("llvm-symbolizer", "--no-demangle", "--addresses", "--functions=linkage", "--inlines",
                   "-e", program, input="\n".join(wanted).encode())
        judged = chains_of(re.sub(r"^(.*:\d+):\d+$", r"\1", said, flags=re.M))
        self.assertEqual(len(judged), len(wanted))
        for address, ours, theirs in zip(wanted, several.chains, judged):
            self.assertEqual([where(p) for _, p in ours], [where(p) for _, p in theirs], address)


main()
