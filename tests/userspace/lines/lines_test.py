# SPDX-License-Identifier: BSD-2-Clause
"""Tests `sp-report lines` on real programs: against addr2line, scope-profiler and its own views.

Usage: lines_test.py SP_REPORT MAKE_PROFILE SYMBOLS_TEST SOURCES WORK
"""

import collections
import csv
import io
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


class Lines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        random.seed(20)
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        c, f90 = "hot.c", "solver.f90"
        cls.programs = [
            Program("c_pie", "gcc", c, "-O2", "-g", "-fPIE", "-pie"),
            Program("c_fixed", "gcc", c, "-O2", "-g", "-no-pie"),
            Program("c_relative", "gcc", "./../programs/hot.c", "-O2", "-g"),
            Program("c_mapped", "gcc", "./../programs/hot.c", "-O2", "-g",
                    f"-ffile-prefix-map={SOURCES}=."),
            Program("c_plain", "gcc", c, "-O0", "-g"),
            Program("c_dwarf4", "gcc", c, "-O3", "-gdwarf-4"),
            Program("c_zlib", "gcc", c, "-O2", "-g", "-gz"),
            Program("c_sections", "gcc", c, "-O2", "-g", "-ffunction-sections",
                    "-Wl,--gc-sections"),
            Program("cxx", "g++", "templates.cpp", "-O2", "-g"),
            Program("library.so", "gcc", "library.c", "-O2", "-g", "-shared", "-fPIC"),
        ]
        if there("clang"):
            cls.programs.append(Program("c_clang", "clang", c, "-O2", "-g"))
            cls.programs.append(Program("cxx_clang", "clang++", "templates.cpp", "-O2", "-g"))
        if there("gfortran"):
            cls.programs.append(Program("fortran", "gfortran", f90, "-O2", "-g", f"-J{WORK}"))
        cls.by_name = {p.name: p for p in cls.programs}
        cls.stripped = Program("stripped", "gcc", c, "-O2", "-g")
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

    def test_agrees_with_addr2line(self):
        samples = self.write("all.sps", self.programs)
        shown = {r["region"]: r for r in lines_json("--innermost", path("all.sps"))["regions"]}
        for number, program in enumerate(self.programs):
            hits = collections.Counter(a - program.bias for r, _, a in samples if r == number)
            places = addr2line(program, sorted(hits))
            names = {a: place[0] for a, place in places.items()}
            if "clang" in program.name and there("llvm-symbolizer"):
                names = symbolizer(program, sorted(hits))
            expected, functions = collections.Counter(), collections.defaultdict(set)
            for address, n in hits.items():
                _, file, line = places[address]
                expected[pooled(file, line)] += n
                functions[(file, line)].add(names[address])
            with self.subTest(program=program.name):
                region = shown[program.name]
                self.assertEqual(region["samples"], 3000)
                self.assertEqual(counts([region])[program.name], expected)
                self.assertGreater(len(expected), 5)
                order = [row["samples"] for row in region["lines"]]
                self.assertEqual(order, sorted(order, reverse=True))
                for row in region["lines"]:
                    # Neither knows Fortran's names; gcc gives inlined lambdas none.
                    known = functions[(row["file"], row["line"])]
                    if "MAIN__" in known:
                        known.add("solver")
                    if row["line"] and row["function"] != "operator()":
                        self.assertTrue({row["function"], row.get("symbol")} & known,
                                        (row, known))

    def test_agrees_with_scope_profiler(self):
        if not SCOPE_PYTHON:
            if os.environ.get("CI") == "true":
                self.fail("SP_SCOPE_PROFILER_PYTHON is not set")
            self.skipTest("SP_SCOPE_PROFILER_PYTHON is not set")
        # Not the fixed one with a base: scope-profiler subtracts it and gets nothing.
        self.write("judge_rank00000.sps", self.programs)
        self.write("judge_rank00001.sps", self.programs[::-1], rank=1)
        files = [path("judge_rank00000.sps"), path("judge_rank00001.sps")]
        judge = run(SCOPE_PYTHON, os.path.join(os.path.dirname(__file__), "judge.py"), *files)
        theirs = {}
        for region, rows in json.loads(judge.stdout).items():
            counter = theirs.setdefault(region, collections.Counter())
            for file, line, n in rows:
                file, line = pooled(file, line)
                counter[(os.path.basename(file), line)] += n
        ours = {}
        for region, rows in counts(lines_json("--innermost", *files)["regions"]).items():
            counter = ours.setdefault(region, collections.Counter())
            for (file, line), n in rows.items():
                counter[(os.path.basename(file), line)] += n
        self.assertEqual(ours, theirs)

    def test_inlined(self):
        program = self.by_name["c_pie"]
        start, size = program.functions["sweep"]
        body = [a for a in program.addresses if start <= a < start + size]
        sps.write(path("inlined.sps"), ["r"], [(program.path, BASE)],
                  [(0, 0, BASE + a) for a in body])
        inner = counts(lines_json("--innermost", path("inlined.sps"))["regions"])["r"]
        outer = counts(lines_json("--outermost", path("inlined.sps"))["regions"])["r"]
        header = sum(n for (file, _), n in inner.items() if file.endswith("inner.h"))
        self.assertGreater(header, 2)
        self.assertEqual(counts(lines_json(path("inlined.sps"))["regions"])["r"], inner)
        self.assertFalse([f for f, _ in outer if not f.endswith("hot.c")])
        with open(os.path.join(SOURCES, "hot.c")) as file:
            call = [i for i, text in enumerate(file, 1) if "stencil(" in text][0]
        moved = {line: n - inner.get((file, line), 0) for (file, line), n in outer.items()}
        self.assertEqual({l: n for l, n in moved.items() if n}, {call: header})

    def all_of(self, program, function):
        """An .sps file with each instruction of a function once; its name."""
        start, size = program.functions[function]
        body = [a for a in program.addresses if start <= a < start + size]
        sps.write(path("own.sps"), ["r"], [(program.path, BASE)],
                  [(0, 0, BASE + a) for a in body])
        return path("own.sps")

    def own_program(self):
        """Own code that calls inlined code of the system's and of a library kept beside it."""
        os.makedirs(path("vendor/fast"), exist_ok=True)
        with open(path("vendor/fast/fast.h"), "w") as file:
            file.write("static inline __attribute__((always_inline)) double\n"
                       "fast(double x) { return x * x * x - 1 / x; }\n")
        with open(path("own.cpp"), "w") as file:
            file.write("#include <numeric>\n#include <vector>\n#include <cstdio>\n"
                       "#include \"vendor/fast/fast.h\"\n"
                       "__attribute__((noinline)) double sweep(const std::vector<double> &v)\n"
                       "{\n"
                       "\tdouble sum = std::accumulate(v.begin(), v.end(), 0.0);\n"
                       "\tfor (double x : v)\n"
                       "\t\tsum += fast(x);\n"
                       "\treturn sum;\n"
                       "}\n"
                       "int main(int n, char **) { printf(\"%g\\n\", sweep(std::vector<double>(n, 2))); }\n")
        return Program("own", "g++", path("own.cpp"), "-O2", "-g", "-I", WORK)

    def test_own_code(self):
        program = self.own_program()
        file = self.all_of(program, "_Z5sweepRKSt6vectorIdSaIdEE")
        own, vendor = path("own.cpp"), path("vendor/fast/fast.h")

        def files(*options):
            return {f for f, _ in counts(lines_json(*options, file)["regions"])["r"]}

        self.assertEqual(files(), {own, vendor})
        inner = files("--innermost")
        self.assertTrue([f for f in inner if "/c++/" in f], inner)
        self.assertEqual(files("--outermost"), {own})
        for away in "vendor", path("vendor"), path("x/.././vendor/fast"), vendor, "fast/fast.h":
            self.assertEqual(files("--not-own", away), {own}, away)
        self.assertEqual(files("--not-own", "endor"), {own, vendor})
        self.assertEqual(files("--not-own", WORK, "--own", "vendor/fast"), {vendor, own})
        self.assertEqual(files("--own", "/usr/include/c++"), inner)
        # Which line of one's own is on the left; nothing is lost.
        total = lines_json(file)["samples"]
        rows = counts(lines_json("--not-own", "vendor", file)["regions"])["r"]
        self.assertEqual(sum(rows.values()), total)
        self.assertGreater(rows[(own, 9)], 3)
        self.assertGreater(rows[(own, 7)], 1)
        # Wholly of the system: the function that it ended up in.
        os.rename(own, path("other.cpp"))
        self.assertEqual(files("--not-own", WORK), {own})

    def test_annotate(self):
        program = self.own_program()
        file = self.all_of(program, "_Z5sweepRKSt6vectorIdSaIdEE")
        own = path("own.cpp")
        options = ["--not-own", "vendor", "--annotate"]
        rows = counts(lines_json("--not-own", "vendor", file)["regions"])["r"]
        total = sum(rows.values())
        with open(own) as source:
            text = [line.rstrip("\n") for line in source]

        # Every line of the file, with its samples.
        shown = lines(*options, "own.cpp", file).stdout
        head, *body = shown[shown.index("\n" + own):].strip("\n").splitlines()
        self.assertEqual(head, f"{own}  {total} of {total} samples, 100.0 %")
        self.assertEqual(len(body), len(text) + 1)
        self.assertNotIn("\033", shown)
        for number, line in enumerate(body[1:], 1):
            n = rows.get((own, number), 0)
            begin = f"{n:7}  {100 * n / total:5.1f} %" if n else " " * 16
            self.assertEqual(line.rstrip(), f"{begin}  {number:4}  "
                             f"{text[number - 1].expandtabs(8)}".rstrip())

        # Only what is around the hot ones.
        near = lines(*options, "own.cpp", "--context", "0", file).stdout
        kept = {int(n) for n in re.findall(r"^.{16}  ( *\d+)(?:  |$)", near, re.M)}
        self.assertEqual(kept, {line for (_, line) in rows})
        self.assertIn("…", near)

        # For programs; by region; by several names of a file.
        answer = json.loads(lines(*options, own, "--json", file).stdout)["files"]
        self.assertEqual([(f["file"], f["source"], f["samples"]) for f in answer],
                         [(own, "found", total)])
        self.assertEqual({row["line"]: row["samples"] for row in answer[0]["lines"]},
                         {line: n for (_, line), n in rows.items()})
        self.assertEqual(answer[0]["lines"][-1]["source"],
                         text[answer[0]["lines"][-1]["line"] - 1])
        table = list(csv.DictReader(io.StringIO(lines(*options, "own.cpp", "--csv", "-r", "r",
                                                      file).stdout)))
        self.assertEqual({(row["region"], row["file"]) for row in table}, {("r", own)})
        self.assertEqual(sum(int(row["samples"]) for row in table), total)
        self.assertIn(f"{own}  r  ", lines(*options, "own.cpp", "-r", "r", file).stdout)

        # What is not as it was.
        os.utime(own)
        self.assertIn("changed after the program was built",
                      lines(*options, "own.cpp", file).stdout)
        os.rename(own, path("gone.cpp"))
        gone = lines(*options, "own.cpp", file).stdout
        self.assertIn("there is no such file here", gone)
        self.assertEqual(gone.count("\n"), len(rows) + 5)
        os.makedirs(path("elsewhere"), exist_ok=True)
        os.rename(path("gone.cpp"), path("elsewhere/own.cpp"))
        run(SP_REPORT, "lines", *options, "own.cpp", file, cwd=path("elsewhere"))
        self.assertIn("std::accumulate", run(SP_REPORT, "lines", *options, "own.cpp", file,
                                             cwd=path("elsewhere")).stdout)

        # What cannot be.
        wrong = lines(*options, "wn.cpp", file, status=1).stderr
        self.assertIn("no sample counts for a line of a file wn.cpp", wrong)
        self.assertIn("--innermost", wrong)
        lines("--innermost", *options, "stl_numeric.h", file)
        lines("--context", "3", file, status=2)
        lines("--annotate", "own.cpp", "--top", "3", file, status=2)

    def test_names_by_debug_information(self):
        """Whose .omp_outlined. is, and that solve_ is solve, is not in the names."""
        for compiler, source in (("clang++", "outlined.cpp"), ("gfortran", "mangled.f90")):
            if not there(compiler):
                continue
            built = path(source + ".o")
            run(compiler, "-O2", "-g", "-fopenmp", "-fPIC", f"-I{WORK}", "-c", "-o", built,
                os.path.join(SOURCES, source), cwd=WORK)
            run("gcc", "-shared", "-o", path(source + ".so"), built)
            out = run("objdump", "-d", "--no-show-raw-insn", path(source + ".so")).stdout
            body = [int(a, 16) for a in re.findall(r"^\s+([0-9a-f]+):\t", out, re.M)]
            sps.write(path("omp.sps"), ["r"], [(path(source + ".so"), BASE)],
                      [(0, 0, BASE + a) for a in body])
            shown = {(row["function"], row.get("symbol", row["function"]))
                     for row in lines_json("--outermost", path("omp.sps"))["regions"][0]["lines"]}
            functions = {function for function, _ in shown}
            if compiler == "gfortran":
                self.assertLessEqual({"heat::step", "heat::step [omp 1]", "plain",
                                      "plain [omp 1]", "with_under"}, functions)
                self.assertIn(("plain", "plain_"), shown)
            else:
                self.assertLessEqual({"n::A::solve() [omp 1]", "n::A::solve() [omp 2]",
                                      "n::A::solve() [omp task 1]", "plain [omp 1]",
                                      "double n::A::sum<double>(double) [omp 1]"}, functions)
                self.assertTrue([f for f in functions
                                 if re.fullmatch(r"lambdas\(double\*\)::\$_\d::operator\(\)"
                                                 r"\(int\) const \[omp 1\]", f)], functions)

    def test_clones(self):
        with open(path("clones.c"), "w") as file:
            file.write("__attribute__((noinline)) static int scale(int x, int by)\n"
                       "{\n\tif (__builtin_expect(x == by * 77, 0))\n\t\t__builtin_abort();\n"
                       "\treturn x * by;\n}\n"
                       "int main(int argc, char **argv) { (void)argv; return scale(argc, 3); }\n")
        program = Program("clones", "gcc", path("clones.c"), "-O2", "-g")
        clone = [name for name in program.functions if name.startswith("scale.constprop")]
        self.assertTrue(clone, program.functions)
        file = self.all_of(program, clone[0])
        joined = {row["function"] for row in lines_json(file)["regions"][0]["lines"]}
        kept = {row["function"]
                for row in lines_json("--keep-clones", file)["regions"][0]["lines"]}
        self.assertEqual((joined, kept), ({"scale"}, {clone[0]}))

    def test_fixed_address_with_either_base(self):
        """scope-profiler stores dladdr's base for fixed programs; absolute addresses are right."""
        program = self.by_name["c_fixed"]
        for base in (0, 0x400000):
            sps.write(path("fixed.sps"), ["r"], [(program.path, base)],
                      [(0, 0, program.functions["scale"][0] + 4)] * 3)
            row, = lines_json(path("fixed.sps"))["regions"][0]["lines"]
            self.assertEqual((row["function"], row["samples"]), ("scale", 3))

    def test_byte_orders(self):
        program = self.by_name["c_pie"]
        samples = [(0, 0, BASE + random.choice(program.addresses)) for _ in range(200)]
        answers = []
        for order in "<>":
            sps.write(path("order.sps"), ["r"], [(program.path, BASE)], samples, order=order)
            answers.append(lines_json(path("order.sps")))
        self.assertEqual(*answers)

    def test_ranks(self):
        program = self.by_name["c_pie"]
        at = BASE + program.functions["scale"][0]
        for rank in range(3):
            sps.write(path(f"r_rank{rank:05}.sps"), ["r"], [(program.path, BASE)],
                      [(0, 0, at)] * 10 ** rank, rank=rank)
        files = [path(f"r_rank{rank:05}.sps") for rank in range(3)]
        for wanted, n in ([], 111), (["--rank", "0,2"], 101), (["--rank", "1-7"], 110):
            self.assertEqual(lines_json(*wanted, *files)["samples"], n)
        self.assertEqual(lines_json(files[1], files[1], path("./r_rank00001.sps"))["samples"], 10)
        self.assertIn("no samples of rank 9",
                      lines("--rank", "9", *files, status=1).stderr)

    def test_fortran_names(self):
        if "fortran" not in self.by_name:
            self.skipTest("no gfortran")
        program = self.by_name["fortran"]
        sps.write(path("f.sps"), ["r"], [(program.path, BASE)],
                  [(0, 0, BASE + program.functions["__heat_MOD_step"][0])])
        row, = lines_json(path("f.sps"))["regions"][0]["lines"]
        self.assertEqual((row["function"], row["symbol"]), ("heat::step", "__heat_MOD_step"))

    def test_without_debug_information(self):
        program = self.stripped
        samples = [(0, 0, BASE + program.functions["scale"][0])] * 5
        samples += [(0, -1, 77)] * 3 + [(0, 1, 99)] * 2
        sps.write(path("stripped.sps"), ["r"], [(program.path, BASE), ("[vdso]", 0)], samples)
        answer = lines_json(path("stripped.sps"))
        self.assertEqual(counts(answer["regions"]), {"r": {("??", 0): 10}})
        self.assertEqual([m["symbols"] for m in answer["modules"]], ["names", "missing"])
        text = lines(path("stripped.sps")).stdout
        self.assertIn("Build with -g", text)
        self.assertIn("??:0", text)
        self.assertIn("stripped", text)

    def test_symbol_table_names(self):
        program = Program("symtab", "gcc", "hot.c", "-O2")
        sps.write(path("symtab.sps"), ["r"], [(program.path, BASE)],
                  [(0, 0, BASE + program.functions["scale"][0] + 2)])
        row, = lines_json(path("symtab.sps"))["regions"][0]["lines"]
        self.assertEqual((row["function"], row["file"], row["line"]), ("scale", "??", 0))
        self.assertEqual(row["module"], program.path)

    def test_separate_debug_file(self):
        program = Program("separate", "gcc", "hot.c", "-O2", "-g")
        at = BASE + program.functions["scale"][0]
        sps.write(path("separate.sps"), ["r"], [(program.path, BASE)], [(0, 0, at)])
        before = lines_json(path("separate.sps"))["regions"]
        run("objcopy", "--only-keep-debug", program.path, program.path + ".debug")
        run("strip", program.path)
        run("objcopy", "--add-gnu-debuglink=" + program.path + ".debug", program.path)
        self.assertEqual(lines_json(path("separate.sps"))["regions"], before)
        self.assertEqual(before[0]["lines"][0]["function"], "scale")

    def test_split_dwarf(self):
        program = Program("split", "gcc", "hot.c", "-O2", "-g", "-gsplit-dwarf",
                          "-dumpbase", os.path.join(WORK, "split"))
        start, size = program.functions["sweep"]
        sps.write(path("split.sps"), ["r"], [(program.path, BASE)],
                  [(0, 0, BASE + a) for a in program.addresses if start <= a < start + size])
        rows = lines_json(path("split.sps"))["regions"][0]["lines"]
        self.assertIn("square", {row["function"] for row in rows})
        self.assertIn("sweep", {row["function"] for row in rows})

    # ---- HDF5 ----

    def profile(self, name, facts):
        run(MAKE_PROFILE, path(name), stdin="\n".join(facts) + "\n")

    def test_hdf5(self):
        program = self.by_name["c_pie"]
        at = BASE + program.functions["scale"][0]
        self.profile("h.h5", ["region a", "region b", "hz 499",
                              f"module {program.path} {program.build_id()} {BASE:x}"] +
                     [f"sample 0 0 {at:x} 0 0"] * 4 + [f"sample 1 0 {at:x} 1 1"] * 6 +
                     [f"sample -1 0 {at:x} 0 0"] * 20 + ["sample 0 -1 0 1 0"] +
                     ["loss 12 sample ring full", "loss 3 call ring full"])
        answer = lines_json(path("h.h5"))
        self.assertEqual([(r["region"], r["samples"]) for r in answer["regions"]],
                         [("b", 6), ("a", 5), (None, 20)])
        self.assertEqual((answer["samples"], answer["samples_in_kernel"], answer["hz"]),
                         (31, 7, 499))
        text = lines(path("h.h5")).stdout
        self.assertIn("12 lost: sample ring full", text)
        self.assertIn("3 lost: call ring full", text)
        self.assertLess(text.index("12 lost"), text.index("samples at 499 Hz"))
        self.assertIn("(no region)  20 samples", text)
        self.assertEqual(lines_json("--rank", "1", path("h.h5"))["samples"], 6)
        self.profile("quiet.h5", ["region a", "region quiet", f"module {program.path} "
                                  f"{program.build_id()} {BASE:x}", f"sample 0 0 {at:x} 0 0"])
        said = lines("-r", "quiet", path("quiet.h5"), status=1).stderr
        self.assertIn('no sample fell into region "quiet" itself', said)
        self.assertIn("sp-report summary", said)
        self.assertNotIn("did you mean", said)
        self.profile("one.h5", ["region a", "sample -1 -1 0 0 0"])
        self.assertIn("(no region)  1 sample, 100.0 % of all", lines(path("one.h5")).stdout)
        only = lines_json("--region", "(no region)", path("h.h5"))["regions"]
        self.assertEqual([r["samples"] for r in only], [20])

    def test_directory_prefers_hdf5(self):
        program = self.by_name["c_pie"]
        at = BASE + program.functions["scale"][0]
        os.makedirs(path("d.sp"))
        module = f"module {program.path} {program.build_id()} {BASE:x}"
        self.profile("d.sp/p_rank00000.h5", ["region a", module] + [f"sample 0 0 {at:x} 0 0"] * 7)
        self.profile("d.sp/p_rank00001.h5", ["region a"])  # no samples: its .sps is taken
        for rank, n in (0, 100), (1, 30):
            sps.write(path(f"d.sp/p_rank{rank:05}.sps"), ["a"], [(program.path, BASE)],
                      [(0, 0, at)] * n, rank=rank)
        self.assertEqual(lines_json(path("d.sp"))["samples"], 37)

    def test_rebuilt_program_is_refused(self):
        program = Program("rebuilt", "gcc", "hot.c", "-O2", "-g")
        at = BASE + program.functions["scale"][0]
        self.profile("rebuilt.h5", ["region a", f"module {program.path} {program.build_id()} "
                                    f"{BASE:x}", f"sample 0 0 {at:x} 0 0"])
        self.assertEqual(lines_json(path("rebuilt.h5"))["regions"][0]["lines"][0]["function"],
                         "scale")
        Program("rebuilt", "gcc", "hot.c", "-O3", "-g")
        answer = lines_json(path("rebuilt.h5"))
        row, = answer["regions"][0]["lines"]
        self.assertEqual((row["function"], row["file"], row["line"]), ("??", "??", 0))
        self.assertEqual(answer["modules"][0]["symbols"], "changed")
        self.assertIn("not the build that was recorded", lines(path("rebuilt.h5")).stdout)
        # A path is told of once, with the samples of all that was recorded under it.
        self.profile("rebuilt.h5", ["region a"] + [f"module {program.path} {n:040x} {BASE:x}" for n in (1, 2, 3)] +
                     [f"sample 0 {n % 3} {at:x} 0 0" for n in range(12)])
        text = lines(path("rebuilt.h5")).stdout
        self.assertEqual(text.count("is not the build that was recorded"), 1, text)
        self.assertIn("its samples (100.0 %) have no lines", text)
        os.unlink(program.path)
        self.assertEqual(lines(path("rebuilt.h5")).stdout.count("cannot be read"), 1)
        self.assertEqual(lines("--csv", path("rebuilt.h5")).stderr.count("cannot be read"), 1)

    # ---- what people see ----

    def test_views_agree(self):
        self.write("views.sps", self.programs[:3], ticks=10000)
        answer = lines_json(path("views.sps"))
        rows = list(csv.DictReader(io.StringIO(lines("--csv", path("views.sps")).stdout)))
        self.assertEqual([(r["region"], r["file"], int(r["line"]), r["function"],
                           int(r["samples"]), r["source"]) for r in rows],
                         [(g["region"], r["file"], r["line"], r["function"], r["samples"],
                           r.get("source", "")) for g in answer["regions"] for r in g["lines"]])
        text = lines("--top", "3", path("views.sps")).stdout
        self.assertIn("1,000 more samples fell outside of every region", text)
        for region in answer["regions"]:
            top = region["lines"][0]
            share = f"{100 * top['samples'] / region['samples']:.1f} %"
            where = f"{os.path.basename(top['file'])}:{top['line']}"
            self.assertRegex(text, rf"(?m)^\s+{top['samples']:,}\s+{share}\s+{re.escape(where)} ")
        self.assertEqual(text.count("more lines (--top 0"), 3)
        self.assertNotIn("\033", text)

    def test_rows_that_look_alike(self):
        """In the table instances of a template are one row, and so are the probes; JSON has all."""
        program = Program("fold", "g++", "fold.cpp", "-O2", "-g")
        solve = sorted(at for name, (at, _) in program.functions.items() if "solve" in name)
        gate, place = (program.functions[n][0] for n in ("sp_gate_v1", "sp_begin_stub_v1_place"))
        samples = [(solve[0], 10), (solve[1], 20), (gate, 3), (place, 4)]
        sps.write(path("fold.sps"), ["r"], [(program.path, program.bias)],
                  [(0, 0, program.bias + at) for at, n in samples for _ in range(n)])
        region, = lines_json(path("fold.sps"))["regions"]
        self.assertEqual([row["samples"] for row in region["lines"]], [20, 10, 4, 3])
        self.assertEqual(len({row["function"] for row in region["lines"]}), 4)
        text = lines("--no-source", path("fold.sps")).stdout
        table = [line.split(None, 4) for line in text.splitlines() if " % " in line][1:]
        self.assertEqual([(row[0], row[1], row[4]) for row in table],
                         [("30", "81.1", table[0][4]), ("7", "18.9", "(probes of sp-trace)")])
        self.assertRegex(table[0][3], r"fold\.cpp:\d+")
        self.assertEqual(table[1][3], "-")
        self.assertTrue(table[0][4].startswith("some_rather_long_name_of_a_library::"))
        # Folded before the hottest are chosen, so what is left out is counted in such rows, too.
        self.assertIn("and 7 in 1 more line (", lines("--top", "1", path("fold.sps")).stdout)

    def test_source_text(self):
        source = path("edited.c")
        shutil.copy(os.path.join(SOURCES, "hot.c"), source)
        shutil.copy(os.path.join(SOURCES, "inner.h"), path("inner.h"))
        program = Program("edited", "gcc", source, "-O0", "-g")
        start, size = program.functions["scale"]
        sps.write(path("edited.sps"), ["r"], [(program.path, BASE)],
                  [(0, 0, BASE + a) for a in program.addresses if start <= a < start + size])
        self.assertIn("x = x * 1.0000001 + 1e-9;", lines(path("edited.sps")).stdout)
        self.assertNotIn("1.0000001", lines("--no-source", path("edited.sps")).stdout)
        later = os.stat(program.path).st_mtime + 10
        os.utime(source, (later, later))
        text = lines(path("edited.sps")).stdout
        self.assertIn("edited.c was changed after the program was built", text)
        self.assertNotIn("1.0000001", text)

    def test_binary_newer_than_recording(self):
        program = self.by_name["c_pie"]
        sps.write(path("old.sps"), ["r"], [(program.path, BASE)],
                  [(0, 0, BASE + program.addresses[0])])
        self.assertNotIn("may be wrong", lines(path("old.sps")).stdout)
        os.utime(path("old.sps"), (1e9, 1e9))
        self.assertIn("may be wrong", lines(path("old.sps")).stdout)

    def test_hostile_names(self):
        name = "a\033]0;x\007\u202e\n,\"b"
        program = self.by_name["c_pie"]
        sps.write(path("names.sps"), [name, "=1"], [(path("no\033[31mmodule"), 0)],
                  [(0, 0, 5), (1, 0, 6)])
        text = lines(path("names.sps")).stdout
        for bad in "\033\007\u202e":
            self.assertNotIn(bad, text)
        regions = {r["region"] for r in lines_json(path("names.sps"))["regions"]}
        self.assertEqual(regions, {name, "=1"})
        rows = list(csv.DictReader(io.StringIO(lines("--csv", path("names.sps")).stdout)))
        # A spreadsheet is not to take it for a formula, nor a terminal for a command.
        self.assertEqual({r["region"] for r in rows}, {'a\\x1b]0;x\\x07\\u202e\n,"b', "'=1"})

    def test_modules_that_are_no_programs(self):
        os.mkfifo(path("fifo"))
        os.symlink("loop", path("loop"))
        open(path("empty"), "w").close()
        with open(path("text"), "w") as file:
            file.write("not ELF " * 100)
        modules = ["fifo", "loop", "empty", "text", ".", "nowhere"]
        sps.write(path("odd.sps"), ["r"], [(path(m), 0) for m in modules],
                  [(0, i, 0x1000) for i in range(len(modules))])
        answer = lines_json(path("odd.sps"))
        self.assertEqual(counts(answer["regions"]), {"r": {("??", 0): 6}})
        self.assertEqual([m["symbols"] for m in answer["modules"]],
                         ["damaged", "missing", "damaged", "damaged", "damaged", "missing"])
        self.assertTrue(all(m["reason"] for m in answer["modules"]))

    def test_module_that_hangs_or_crashes(self):
        """A debug file that is a FIFO blocks its reader: only that module's answers are missing."""
        program = Program("stuck", "gcc", "hot.c", "-O2", "-g")
        run("objcopy", "--only-keep-debug", program.path, program.path + ".debug")
        run("strip", program.path)
        run("objcopy", "--remove-section=.note.gnu.build-id",
            "--add-gnu-debuglink=" + program.path + ".debug", program.path)
        os.unlink(program.path + ".debug")
        os.mkfifo(program.path + ".debug")
        run(SYMBOLS_TEST, "stuck", program.path, self.by_name["c_pie"].path)

    def test_no_network(self):
        """Nothing asks a debuginfod server, whatever the environment says."""
        program = self.by_name["c_pie"]
        sps.write(path("net.sps"), ["r"], [(self.stripped.path, BASE), (program.path, BASE)],
                  [(0, 0, BASE + 0x1100), (0, 1, BASE + program.addresses[0])])
        if not there("strace"):
            self.skipTest("no strace")
        done = run("strace", "-f", "-e", "trace=socket,connect", SP_REPORT, "lines",
                   path("net.sps"), env={"DEBUGINFOD_URLS": "http://127.0.0.1:9",
                        "ASAN_OPTIONS": "detect_leaks=0"})
        self.assertNotIn("AF_INET", done.stderr)  # nscd, on the machine, may be asked for groups

    def test_messages(self):
        program = self.by_name["c_pie"]
        sps.write(path("m.sps"), ["solve"], [(program.path, BASE)],
                  [(0, 0, BASE + program.addresses[0])])
        sps.write(path("none.sps"), ["solve"], [], [], ticks=55)
        with open(path("m.sps"), "rb") as file:
            whole = file.read()
        with open(path("cut.sps"), "wb") as file:
            file.write(whole[:-3])
        os.makedirs(path("nothing"))
        for arguments, status, words in [
            ([], 2, "name the recording"),
            ([path("absent.sps")], 1, "absent.sps: No such file"),
            ([path("nothing")], 1, "nothing: no .sps file"),
            ([path("cut.sps")], 1, "cut.sps: "),
            ([path("none.sps")], 1, "none of the 55 samples is in a region"),
            ([os.path.join(SOURCES, "hot.c")], 1, "hot.c: "),
            (["--region", "slove", path("m.sps")], 1, 'did you mean "solve"?'),
            (["--top", "ten", path("m.sps")], 2, "--top"),
            (["--rank", "3-1", path("m.sps")], 2, "--rank"),
            (["--rank", "", path("m.sps")], 2, "--rank"),
            (["--json", "--csv", path("m.sps")], 2, "exclude each other"),
            (["--frobnicate"], 2, "frobnicate"),
        ]:
            with self.subTest(arguments=arguments):
                done = lines(*arguments, status=status)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stdout, "")
        self.assertIn("sp-report lines", lines("--help").stdout)


if __name__ == "__main__":
    program = unittest.main(argv=sys.argv[:1] + sys.argv[6:], exit=False)
    result = program.result
    if result.wasSuccessful() and result.skipped and len(result.skipped) == result.testsRun:
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
