# SPDX-License-Identifier: BSD-2-Clause
"""Programs that are built for the tests of `sp-report lines`, and samples at their instructions.

Each test that uses it is called as TEST SP_REPORT MAKE_PROFILE SYMBOLS_TEST SOURCES WORK
"""

import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import unittest

import sps

SP_REPORT, MAKE_PROFILE, SYMBOLS_TEST, SOURCES, WORK = sys.argv[1:6]
BASE = 0x5500_0000_0000
SCOPE_PYTHON = os.environ.get("SP_SCOPE_PROFILER_PYTHON")


def run(*command, status=0, stdin=None, env=None, cwd=None):
    done = subprocess.run([str(c) for c in command], input=stdin, capture_output=True, text=True,
                          cwd=cwd, env=None if env is None else os.environ | env)
    assert done.returncode == status, (command, done.returncode, done.stdout, done.stderr)
    return done


def lines(*arguments, **options):
    return run(SP_REPORT, "lines", *arguments, **options)


def lines_json(*arguments):
    return json.loads(lines("--json", *arguments).stdout)


def path(name):
    return os.path.join(WORK, name)


def there(tool):
    """Where everything must be there, what leaves out a part of a test fails it."""
    found = shutil.which(tool) is not None
    assert found or os.environ.get("CI") != "true", f"{tool} is missing, and CI=true"
    return found


class Program:
    """A program or library: what it was built with, and the addresses of its instructions."""

    def __init__(self, name, compiler, source, *flags):
        self.name = name
        self.path = path(name)
        # A source given as ./x is built from its folder, as makefiles do.
        place = source[2:] if source.startswith("./") else os.path.join(SOURCES, source)
        run(compiler, *flags, "-o", self.path, place, "-lm", cwd=SOURCES)
        head = run("readelf", "-hW", self.path).stdout
        self.fixed = "EXEC" in re.search(r"Type:\s+(\S+)", head).group(1)
        self.bias = 0 if self.fixed else BASE
        self.functions = {}
        for line in run("nm", "--defined-only", "-S", self.path).stdout.splitlines():
            part = line.split()
            if len(part) == 4 and part[2] in "tTwW":
                self.functions[part[3]] = (int(part[0], 16), int(part[1], 16))
        text = run("objdump", "-d", "--no-show-raw-insn", self.path).stdout
        found = re.findall(r"^\s+([0-9a-f]+):\t(.*)$", text, re.M)
        # Padding behind a function belongs to none; tools differ in what they call it.
        self.addresses = [int(a, 16) for a, code in found
                          if not re.search(r"\bnopw?\b|xchg +%ax,%ax|data16|int3", code)]

    def build_id(self):
        notes = run("readelf", "-nW", self.path).stdout
        return re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)


def addr2line(program, addresses):
    """{address: (function, file, line)}, demangled, by the tool everybody has."""
    out = run("addr2line", "-f", "-C", "-e", program.path,
              stdin="".join(f"{a:#x}\n" for a in addresses)).stdout.splitlines()
    answer = {}
    for address, function, where in zip(addresses, out[0::2], out[1::2]):
        file, _, line = where.partition(" (discriminator")[0].rpartition(":")
        answer[address] = (function, file, int(line) if line.isdigit() else 0)
    return answer


def symbolizer(program, addresses):
    """The functions, by LLVM: addr2line overlooks inlined calls that clang wrote."""
    out = run("llvm-symbolizer", "--functions=linkage", "--demangle", "-e", program.path,
              stdin="".join(f"{a:#x}\n" for a in addresses)).stdout
    blocks = [block.splitlines() for block in out.strip().split("\n\n")]
    return {a: block[0] for a, block in zip(addresses, blocks)}


def pooled(file, line):
    """Without a line, the file is unknown too: addr2line guesses it from the symbol table."""
    return (file, line) if line else ("??", 0)


def counts(regions):
    """{region: {(file, line): samples}} of our JSON."""
    answer = {}
    for region in regions:
        counter = answer.setdefault(region["region"], collections.Counter())
        for row in region["lines"]:
            counter[pooled(row["file"], row["line"])] += row["samples"]
    return answer


class Built(unittest.TestCase):
    @classmethod
    def build(cls):
        return [
            Program("c_pie", "gcc", "hot.c", "-O2", "-g", "-fPIE", "-pie"),
            Program("c_fixed", "gcc", "hot.c", "-O2", "-g", "-no-pie"),
            Program("c_relative", "gcc", "./../programs/hot.c", "-O2", "-g"),
        ]

    @classmethod
    def setUpClass(cls):
        random.seed(20)
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        cls.programs = cls.build()
        cls.by_name = {p.name: p for p in cls.programs}
        cls.stripped = Program("stripped", "gcc", "hot.c", "-O2", "-g")
        run("strip", cls.stripped.path)

    def write(self, name, programs, n=3000, **more):
        """An .sps file with random instructions of the programs, a region each."""
        samples = []
        for number, program in enumerate(programs):
            hot = random.choices(program.addresses, k=n)
            samples += [(number, number, a + program.bias) for a in hot]
        random.shuffle(samples)
        sps.write(path(name), [p.name for p in programs], [(p.path, p.bias) for p in programs],
                  samples, **more)
        return samples

    def all_of(self, program, function):
        """An .sps file with each instruction of a function once; its name."""
        start, size = program.functions[function]
        body = [a for a in program.addresses if start <= a < start + size]
        sps.write(path("own.sps"), ["r"], [(program.path, BASE)],
                  [(0, 0, BASE + a) for a in body])
        return path("own.sps")

    @staticmethod
    def profile(name, facts):
        run(MAKE_PROFILE, path(name), stdin="\n".join(facts) + "\n")


def main():
    program = unittest.main("__main__", argv=sys.argv[:1] + sys.argv[6:], exit=False)
    result = program.result
    if result.wasSuccessful() and result.skipped and len(result.skipped) == result.testsRun:
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
