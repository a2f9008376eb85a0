# SPDX-License-Identifier: BSD-2-Clause
"""The line profile that recover stores: against addr2line, as sp-report and scope-profiler read it.

Usage: line_profile_test.py SP_REPORT MAKE_JOURNAL WORK

The journal is made up: 2 ranks, samples at every instruction of a real program, in regions, in none,
and in no program at all.
"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(__file__), "../lib"))
import journal

SP_REPORT, MAKE_JOURNAL, WORK = sys.argv[1:4]
SCOPE_PYTHON = os.environ.get("SP_SCOPE_PROFILER_PYTHON")
HZ, START = 500, 1_000_000_000_000

SOURCE = r"""
#include <stdio.h>
static inline __attribute__((always_inline)) double square(double x)
{
	return x * x;
}
__attribute__((noinline)) double sweep(const double *u, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += square(u[i]) - 1 / u[i];
	return sum;
}
int main(int argc, char **argv)
{
	double u[2] = {argc, 3};
	printf("%g %s\n", sweep(u, 2), argv[0]);
}
"""

# What scope-profiler makes of a file, and its own command on it.
JUDGE = """
import json, sys
from scope_profiler.h5reader import read_h5
from scope_profiler.line_profile_cli import print_line_profile
records = []
for rank, profile in read_h5(sys.argv[1]).line_profile.items():
    for r in profile:
        records.append({key: (value.tolist() if hasattr(value, "tolist") else value)
                        for key, value in r.items()} | {"rank": int(rank)})
with open(sys.argv[2], "w") as out:
    print_line_profile(sys.argv[1], stream=out)
print(json.dumps(records))
"""


def run(*command, status=0, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == status, (command, done.returncode, done.stdout, done.stderr)
    return done


def path(*names):
    return os.path.join(WORK, *names)


class LineProfile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        # Root reads as the user of the journal, who may not come to WORK, in root's home perhaps.
        cls.sources = tempfile.mkdtemp(prefix="sp-sources-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.sources)
        os.chmod(cls.sources, 0o755)
        cls.source = os.path.join(cls.sources, "hot.c")
        with open(cls.source, "w") as file:
            file.write(SOURCE)
        run(MAKE_JOURNAL, path("empty.spj"), "empty")
        with open(path("empty.spj"), "rb") as file:
            data = file.read()
        cls.schema, blocks = journal.read(data)
        cls.head = data[:blocks[1][0]]
        cls.program = cls.build("hot")

    @classmethod
    def build(cls, name, *flags):
        run("gcc", "-O2", "-g", "-no-pie", *flags, "-o", path(name), cls.source)
        return path(name)

    @staticmethod
    def addresses(program, *functions):
        """{instruction: (file, line)}, by the tools everybody has."""
        text = run("objdump", "-d", "--no-show-raw-insn", program).stdout
        found = []
        for name, body in re.findall(r"^[0-9a-f]+ <(\w+)>:\n(.*?)(?:\n\n|\Z)", text, re.M | re.S):
            if name in functions:
                found += [int(a, 16) for a, code in re.findall(r"^\s+([0-9a-f]+):\t(.*)", body, re.M)
                          if "nop" not in code and "xchg   %ax" not in code]
        out = run("addr2line", "-e", program, input="".join(f"{a:#x}\n" for a in found)).stdout
        answer = {}
        for address, where in zip(found, out.splitlines()):
            file, _, line = where.partition(" (disc")[0].rpartition(":")
            answer[address] = (file, int(line))
        return answer

    def record(self, name, program, samples, second=None):
        """A recording with samples of (rank, region, address); its directory. @second: rank 1's program."""
        programs = program, second or program
        p = journal.Packer(self.schema)
        for key, value in {"program": "hot", "sample_hz": str(HZ), "start_ns": str(START),
                           "stop_ns": str(START + 10**9), "working_directory": self.sources}.items():
            p.pack("meta", tail=f"{key}\0{value}".encode())
        for rank in range(1 + bool(second)):
            p.pack("image", image=rank + 1, device=7, inode=rank + 5, elf_type=2,
                   tail=f"{programs[rank]}\0".encode())
            p.pack("segment", image=rank + 1, address=0x400000, file_offset=0, file_size=1 << 20, flags=5)
        for number, region in enumerate(("stencil", "in/out"), 1):
            p.pack("site", site=number, image=1, line=number, hash=number,
                   tail=f"{region}\0hot.c\0\0main".encode())
        for rank in range(2):
            p.pack("process", time=START, process=rank + 1, pid=rank + 10, rank=rank, size=2,
                   tail=f"{programs[rank]}\0hot\0PMIX_RANK\0job".encode())
            p.pack("task", lane=rank + 1, time=START, process=rank + 1, pid=rank + 10,
                   tid=rank + 10, tail=b"hot")
            p.pack("map", time=START, start=0x400000, end=0x500000, device=7,
                   inode=5 + (rank if second else 0), process=rank + 1, pid=rank + 10,
                   tail=programs[rank].encode())
        for number, (rank, region, address) in enumerate(samples):
            p.pack("sample", lane=rank + 1, time=START + 1000 * number, ip=address,
                   number=0, site=region, process=rank + 1, pid=rank + 10, tid=rank + 10)
        os.makedirs(path(name))
        with open(path(name, "journal.spj"), "wb") as file:
            file.write(self.head + p.block(1))
        return path(name)

    def files(self, directory, *options):
        run(SP_REPORT, "recover", "--no-sync", "--keep-journal", *options, directory)
        return [os.path.join(directory, f"hot_rank{rank:05}.h5") for rank in range(2)]

    def records(self, file):
        """As sp-report dump has them, which must be how scope-profiler does."""
        text = run(SP_REPORT, "dump", "--section", "lines", file).stdout
        ours = collections.Counter()
        for number, line, n in re.findall(r"^line +line_profile=(\d+) +line=(\d+) +hits=(\d+)",
                                          text, re.M):
            ours[(number, line)] += int(n)
        if not SCOPE_PYTHON:
            if os.environ.get("CI") == "true":
                self.fail("SP_SCOPE_PROFILER_PYTHON is not set")
            return None, ours
        out = run(SCOPE_PYTHON, "-c", JUDGE, file, path("printed")).stdout
        return json.loads(out), ours

    def test_profile(self):
        where = self.addresses(self.program, "sweep", "main")
        samples, expected = [], collections.Counter()
        for number, (address, place) in enumerate(where.items()):
            rank, region = number % 2, number % 3
            n = 1 + number % 4
            samples += [(rank, region, address)] * n
            name = ("(no region)", "stencil", "in/out")[region]
            expected[(rank, name, *place)] += n
        for rank in range(2):
            samples += [(rank, 1, 0x1234)] * 5  # in no module
            expected[(rank, "stencil", "??", 0)] += 5
        directory = self.record("whole", self.program, samples)
        found, text = collections.Counter(), SOURCE.split("\n")
        for rank, file in enumerate(self.files(directory)):
            records, ours = self.records(file)
            total = sum(n for key, n in expected.items() if key[0] == rank)
            self.assertEqual(sum(ours.values()), total)
            if records is None:
                continue
            seen = set()
            for r in records:
                key = (r["region"], r["filename"], r["function"])
                self.assertNotIn(key, seen)
                seen.add(key)
                self.assertEqual(r["rank"], rank)
                self.assertEqual(r["line_numbers"], sorted(set(r["line_numbers"])))
                self.assertEqual(r["first_lineno"], r["line_numbers"][0])
                self.assertEqual(r["unit"], 1e-9)
                self.assertEqual(r["times"], [n * 1e9 / HZ for n in r["hits"]])
                for line, n in zip(r["line_numbers"], r["hits"]):
                    found[(rank, r["region"], r["filename"], line)] += n
                if r["filename"] == "??":
                    self.assertNotIn("source", r)
                    continue
                self.assertIn(r["function"], ("sweep", "main", "square"))
                first, last = r["line_numbers"][0], r["line_numbers"][-1]
                self.assertEqual(r["source"].split("\n"), text[first - 1:last])
                self.assertEqual(r["source_first_lineno"], first)
            run(SP_REPORT, "verify", file)
            with open(path("printed")) as printed:
                self.assertIn("return x * x;", printed.read())
        if SCOPE_PYTHON:
            self.assertEqual(found, expected)

    def test_left_out(self):
        where = self.addresses(self.program, "sweep")
        samples = [(rank, 1, a) for a in where for rank in range(2)]
        directory = self.record("without", self.program, samples)
        for file in self.files(directory, "--no-line-profile"):
            self.assertEqual(self.records(file), ([] if SCOPE_PYTHON else None, {}))

    def test_no_debug_information(self):
        program = self.build("stripped")
        where = self.addresses(program, "sweep")
        run("strip", program)
        directory = self.record("nothing", program, [(0, 1, a) for a in where] + [(1, 1, 0)])
        for file in self.files(directory):
            self.assertEqual(self.records(file)[1], {})
        # Nor with a file that is none, or is gone.
        with open(program, "wb") as file:
            file.write(os.urandom(5000))
        self.assertEqual(self.records(self.files(directory, "--force")[0])[1], {})
        os.unlink(program)
        self.assertEqual(self.records(self.files(directory, "--force")[0])[1], {})

    def test_program_gone(self):
        """sp-report lines shows what was stored, where it knows more than what is left."""
        program = self.build("gone")
        where = self.addresses(program, "sweep", "main")
        samples = [(n % 2, n % 3, a) for n, a in enumerate(where)] + [(0, 1, 0x1234)] * 3
        directory = self.record("outlived", program, samples)
        self.files(directory)

        def answer(*options):
            return json.loads(run(SP_REPORT, "lines", "--json", *options, directory).stdout)

        def rows(of):
            return {(region["region"], row["file"], row["line"], row["function"]): row["samples"]
                    for region in of["regions"] for row in region["lines"]}

        before = answer()
        self.assertFalse(before["stored_lines"])
        self.assertNotIn("sp-report lines has", run(SP_REPORT, "tree", directory).stdout)
        os.unlink(program)
        after = answer()
        self.assertTrue(after["stored_lines"])
        self.assertEqual(after["samples"], len(samples))
        self.assertEqual(rows(after), rows(before))
        self.assertEqual(answer("--rank", "1")["samples"],
                         sum(rows(answer("--rank", "1")).values()))
        text = run(SP_REPORT, "lines", directory).stdout
        self.assertIn(f"{program} cannot be read", text)
        self.assertIn("found when the recording was made", text)
        self.assertIn("sum += square(u[i])", text)
        # Callers are not stored: reports on stacks say where lines are.
        text = run(SP_REPORT, "tree", directory).stdout
        self.assertIn(f"{program} cannot be read", text)
        self.assertIn("note: sp-report lines has the functions and lines of these samples", text)
        self.assertIn("note: sp-report lines has the", run(SP_REPORT, "export", "folded", directory).stderr)
        # What the file cannot tell is not made up: it was counted for the usual lines.
        self.assertFalse(answer("--innermost")["stored_lines"])

    def test_program_gone_before(self):
        """Where nothing was found when the recording was made, reports on stacks send nobody there."""
        program = self.build("lost")
        samples = [(n % 2, 1, a) for n, a in enumerate(self.addresses(program, "sweep"))]
        os.unlink(program)
        directory = self.record("too_late", program, samples, self.program)
        self.assertTrue(self.records(self.files(directory)[1])[1])
        self.assertFalse(json.loads(run(SP_REPORT, "lines", "--json", directory).stdout)["stored_lines"])
        text = run(SP_REPORT, "tree", directory).stdout
        self.assertIn(f"{program} cannot be read", text)
        self.assertNotIn("sp-report lines has", text)

    def test_changed_source(self):
        """The text of a file that was changed after the build may be of other lines."""
        program = self.build("changed")
        where = self.addresses(program, "sweep")
        os.utime(self.source)
        directory = self.record("newer", program, [(0, 1, a) for a in where])
        records, ours = self.records(self.files(directory)[0])
        self.assertEqual(sum(ours.values()), len(where))
        if records:
            self.assertFalse([r for r in records if "source" in r])
        os.utime(self.source, (1e9, 1e9))

    def test_private_source(self):
        """Root stores no text that others may not read: the program says what its source is."""
        where = self.addresses(self.program, "sweep")
        directory = self.record("private", self.program,
                                [(0, region, a) for a in where for region in (1, 2)])
        for mode, there in (0o644, True), (0o600, os.geteuid() != 0):
            os.chmod(self.source, mode)
            self.addCleanup(os.chmod, self.source, 0o644)
            with open(self.files(directory, "--force")[0], "rb") as file:
                stored = file.read()
            for text in b"sum += square(u[i])", b"#include <stdio.h>":  # of a line, of a region
                self.assertEqual(text in stored, there, (oct(mode), text))


if __name__ == "__main__":
    for tool in "gcc", "objdump", "addr2line", "strip":
        if not shutil.which(tool):
            print(f"no {tool} here")
            sys.exit(77)
    unittest.main(argv=[sys.argv[0]])
