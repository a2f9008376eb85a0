# SPDX-License-Identifier: BSD-2-Clause
"""Tests which lines `sp-report lines` finds in real programs: against addr2line and scope-profiler.

Usage: lines_test.py SP_REPORT MAKE_PROFILE SYMBOLS_TEST SOURCES WORK
"""

import collections
import csv
import io
import json
import os
import random
import re

import sps
from built import (BASE, Built, Program, SCOPE_PYTHON, SOURCES, SP_REPORT, WORK, addr2line, counts, lines,
                   lines_json, main, path, pooled, run, symbolizer, there)


class Lines(Built):
    @classmethod
    def build(cls):
        c, f90 = "hot.c", "solver.f90"
        programs = super().build() + [
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
            programs.append(Program("c_clang", "clang", c, "-O2", "-g"))
            programs.append(Program("cxx_clang", "clang++", "templates.cpp", "-O2", "-g"))
        if there("gfortran"):
            programs.append(Program("fortran", "gfortran", f90, "-O2", "-g", f"-J{WORK}"))
        return programs

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

    def test_halves_of_constructs(self):
        """clang makes two functions of a construct, and one inside of the other is no call."""
        for version in 4, 5:
            if not there("clang++"):
                continue
            for level in "-O0", "-O2":
                with self.subTest(version=version, level=level):
                    library = path("halves.so")
                    run("clang++", level, f"-gdwarf-{version}", "-fopenmp", "-fPIC", "-c", "-o", path("halves.o"),
                        os.path.join(SOURCES, "outlined.cpp"))
                    run("gcc", "-shared", "-o", library, path("halves.o"))
                    out = run("objdump", "-d", "--no-show-raw-insn", library).stdout
                    sps.write(path("halves.sps"), ["r"], [(library, BASE)],
                              [(0, 0, BASE + int(a, 16)) for a in re.findall(r"^\s+([0-9a-f]+):\t", out, re.M)])
                    for how in "--innermost", "--outermost":
                        names = {row["function"] for row in lines_json(how, path("halves.sps"))["regions"][0]["lines"]}
                        self.assertEqual([name for name in names if name.startswith("[omp")], [], how)
                        self.assertIn("n::A::solve() [omp task 1]", names, how)
                    stacks = run(SP_REPORT, "export", "folded", "--wide", path("halves.sps")).stdout
                    self.assertIn(";n::A::solve() [omp task 1] ", stacks)
                    self.assertEqual(re.findall(r";([^;]*\[omp[^;]*);\1[; ]", stacks), [])

    def test_one_trouble_of_many_files(self):
        """What is wrong with several files in the same way is said once, with their names."""
        modules, samples = [], []
        for number, name in enumerate(("first", "second", "third")):
            library = path(f"{name}.so")
            run("gcc", "-shared", "-fPIC", "-g", "-gz=zlib", f"-DADD={number}", "-o", library, "-x", "c", "-",
                stdin="int add(int x) { return x + ADD; }\n")
            if name != "third":  # of these the method is said to be zstd
                info = re.search(r"\.debug_info +PROGBITS +\S+ +(\S+)", run("readelf", "-SW", library).stdout)
                with open(library, "r+b") as file:
                    file.seek(int(info.group(1), 16))
                    file.write(b"\2")
            symbol = re.search(r"^(\S+) T add$", run("nm", library).stdout, re.M)
            modules.append((library, BASE + (number << 32)))
            samples.append((0, number, BASE + (number << 32) + int(symbol.group(1), 16)))
        sps.write(path("trouble.sps"), ["r"], modules, samples)
        out = lines(path("trouble.sps")).stdout
        self.assertEqual(re.findall(r"^note: (.*): its debug information is compressed with zstd", out, re.M),
                         ["first.so, second.so"], out)

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


if __name__ == "__main__":
    main()
