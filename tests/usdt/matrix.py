#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Builds one program in every way a user might, and judges each result.

Usage: matrix.py SOURCE_ROOT WORK_DIR [OPTION...]

Each build: no warning with everything on; `readelf -n` and our own reading of the file agree on one
note a probe with the documented arguments; descriptors say what the source says, without run-time
relocations; the program gives the same results untraced and with its semaphores raised. A pruned set
of combinations, in which every pair of options occurs; with SP_TEST_FULL=1 every triple, with
SP_TEST_FULL=all all of them. More arguments: only builds that have all of these options.
"""

import concurrent.futures
import itertools
import os
import re
import shutil
import subprocess
import sys

import elf

ROOT, WORK = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
HERE = os.path.join(ROOT, "tests/usdt/matrix")
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic-errors", "-Wshadow", "-Wconversion",
            "-Wundef", "-Wcast-qual", "-Wstrict-aliasing=2"]
ODD_NAME = "odd \"q\" 'a' 100%s %d %[x] {a|b} {} \\n \\ $0 #1 ; /* // @x \u00e4\u20ac"
ARGUMENTS = {
    elf.EM_X86_64: {"begin": "8@%rdi 8@%rsi 8@%rdx 8@%rcx", "end": "8@%rdi 8@%rsi 8@%rdx"},
    elf.EM_AARCH64: {"begin": "8@x0 8@x1 8@x2 8@x3", "end": "8@x0 8@x1 8@x2"},
}

DIMENSIONS = {
    "compiler": ["gcc", "clang"],
    "language": ["c11", "c17", "c2x", "c++11", "c++14", "c++17", "c++20", "mixed"],
    "optimize": ["-O0", "-O1", "-O2", "-O3", "-Os"],
    "link": ["pie", "no-pie", "static", "static-pie", "libraries"],
    "linker": ["bfd", "gold", "lld"],
    "lto": ["", "lto", "thin"],
    "extra": ["", "-fsanitize=address,undefined", "-fsanitize=thread", "-mcmodel=large",
              "-masm=intel -g -fcf-protection=full -fvisibility=hidden",
              "-ffunction-sections -fno-plt -fno-semantic-interposition "
              "-fno-asynchronous-unwind-tables"],
    "target": ["native"],
}


# In the default set some options share a build.
APART = ["-masm=intel", "-fcf-protection=full", "-fvisibility=hidden", "-ffunction-sections", "-g", "-pg",
         "-fpatchable-function-entry=4,2", "-DSP_REGION_NO_SYSCALLS",
         "-fno-plt -fno-semantic-interposition", "-fno-exceptions -fno-asynchronous-unwind-tables"]


def possible(b):
    """Combinations that compilers and linkers themselves refuse, whatever the program."""
    sanitizer = b["extra"].startswith("-fsanitize")
    if b["lto"] == "thin" and (b["compiler"] != "clang" or b["linker"] != "lld"):
        return False
    if b["lto"] == "lto" and b["compiler"] == "clang" and b["linker"] != "lld":
        return False  # needs the gold plugin, which Debian packages apart
    if b["lto"] == "lto" and b["compiler"] == "gcc" and b["linker"] == "lld":
        return False  # lld has no gcc plugin
    if b["linker"] == "gold" and b["link"] == "static-pie":
        return False  # gold lacks --no-dynamic-linker
    if sanitizer and b["link"].startswith("static"):
        return False
    if b["extra"] == "-fsanitize=thread" and b["link"] == "no-pie":
        return False
    if b["extra"] == "-mcmodel=large" and (b["link"] != "no-pie" or b["lto"]):
        return False  # gcc knows no large PIC; the C runtime's files are small
    if b["extra"].startswith("-fno-exceptions") and b["language"] in CXX:
        return False  # cxx.cc throws
    if b["extra"].startswith("-fpatchable") and b["compiler"] == "gcc" and b["language"] in CXX:
        return False  # gcc 12 lists functions of COMDATs outside of these: no linker takes two
    if b["extra"].startswith("-pg") and b["link"] in ("static-pie", "static"):
        return False
    if b["target"] == "aarch64":
        return (b["linker"] == "bfd" and not b["lto"] and b["link"] in ("pie", "static", "no-pie")
                and b["extra"] in ("", "-fvisibility=hidden", "-ffunction-sections", "-g"))
    return True


CXX = ("c++11", "c++14", "c++17", "c++20", "mixed")


def combinations(how):
    """how: every pair of options (default), every triple ("1"), or everything ("all": hours)."""
    dimensions = DIMENSIONS
    if how:
        shared = [e for e in DIMENSIONS["extra"] if len(e.split()) < 2]
        dimensions = dict(DIMENSIONS, extra=shared + APART)
    everything = [dict(zip(dimensions, values)) for values in
                  itertools.product(*dimensions.values())]
    everything = [b for b in everything if possible(b)]
    return everything if how == "all" else cover(everything, 3 if how == "1" else 2)


def cover(builds, together):
    """Greedy: the build that covers most of what was not seen together yet, until all was."""
    seen = [set(itertools.combinations(b.items(), together)) for b in builds]
    todo = set().union(*seen)
    chosen, step = [], max(1, len(builds) // 300)
    while todo:
        # A changing sample is enough to choose from while much is to do; what is last needs aim.
        sample = seen[len(chosen) % step::step]
        best = max(sample, key=lambda s: len(s & todo))
        if not best & todo:
            best = next(s for s in seen if s & todo)
        chosen.append(builds[seen.index(best)])
        todo -= best
    return chosen


def aarch64_builds():
    for compiler, language, optimize, link in (
            ("gcc", "c11", "-O2", "static"), ("gcc", "c++17", "-O0", "pie"),
            ("gcc", "mixed", "-O3", "static"), ("clang", "c11", "-O0", "pie"),
            ("clang", "mixed", "-O2", "static"), ("clang", "c++20", "-O3", "pie")):
        for extra in ("", "-ffunction-sections"):
            yield dict(compiler=compiler, language=language, optimize=optimize, link=link,
                       linker="bfd", lto="", extra=extra, target="aarch64")


def plain_builds():
    """What other architectures get, as far as it can be built here."""
    for compiler, language, optimize in (("gcc", "c11", "-O0"), ("gcc", "mixed", "-O2"),
                                         ("clang", "c17", "-O2"), ("clang", "c++17", "-O0")):
        yield dict(compiler=compiler, language=language, optimize=optimize, link="libraries",
                   linker="bfd", lto="", extra="-DSP_REGION_PLAIN_PROBES", target="native")


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120,
                          **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout[-2000:]}"
                             f"{done.stderr[-4000:]}")
    return done.stdout + done.stderr


class Build:
    def __init__(self, number, options):
        self.o = options
        self.dir = os.path.join(WORK, f"{number:04}")
        self.name = " ".join(v for v in options.values() if v and v != "native")
        self.aarch64 = options["target"] == "aarch64"
        self.files = []

    def compiler(self, cxx):
        o = self.o
        driver = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}[o["compiler"]][cxx]
        if not self.aarch64:
            return [driver]
        if o["compiler"] == "gcc":
            return ["aarch64-linux-gnu-" + driver]
        return [driver, "--target=aarch64-linux-gnu"]

    def flags(self):
        o = self.o
        flags = [o["optimize"], *o["extra"].split(), "-pthread", f"-I{ROOT}"]
        if o["lto"]:
            flags.append("-flto=thin" if o["lto"] == "thin" else "-flto")
        if "-fsanitize=address,undefined" in flags:
            flags.append("-fno-sanitize-recover=all")
        return flags

    def compile(self, source, output, pic, *more):
        """C files as C or C++, as the build has it; the second file of a mixed build as C++."""
        o = self.o
        cxx = source.endswith(".cc") or o["language"].startswith("c++")
        if o["language"] == "mixed":
            cxx = cxx or source == "part.c"
            standard = "c++17" if cxx else "c11"
        else:
            standard = o["language"]
        command = self.compiler(cxx) + ["-std=" + standard, *WARNINGS, *self.flags(), pic, *more]
        if cxx and source == "cxx.cc":
            command += ["-Wold-style-cast", "-Wzero-as-null-pointer-constant"]
        if o["language"] in CXX:
            command.append("-DWITH_CXX")
        if o["link"] == "libraries":
            command.append("-DWITH_LIBRARIES")
        output = os.path.join(self.dir, output)
        out = run(command + ["-x", "c++" if cxx else "c", "-c", os.path.join(HERE, source), "-o",
                             output])
        assert not out, f"the compiler said: {out}"
        return output

    def link(self, objects, output, *more):
        o = self.o
        output = os.path.join(self.dir, output)
        linker = [] if o["linker"] == "bfd" else ["-fuse-ld=" + o["linker"]]
        command = self.compiler(o["language"] in CXX) + self.flags() + linker
        if "-ffunction-sections" in o["extra"]:
            command.append("-Wl,--gc-sections")
            if o["linker"] != "bfd":
                command.append("-Wl,--icf=all")
        run(command + [*more, *objects, "-o", output])
        if "-g" not in o["extra"].split():
            run(["aarch64-linux-gnu-strip" if self.aarch64 else "strip", output])
        self.files.append(output)
        return output

    def make(self):
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)
        link = self.o["link"]
        pic = {"pie": "-fPIE", "static-pie": "-fPIE", "libraries": "-fPIE"}.get(link, "-fno-pie")
        how = {"pie": "-pie", "no-pie": "-no-pie", "static": "-static",
               "static-pie": "-static-pie", "libraries": "-pie"}[link]
        objects = [self.compile(s, s + ".o", pic) for s in ("app.c", "part.c", "only.c")]
        self.judge_only(objects[-1])
        if self.o["language"] in CXX:
            objects.append(self.compile("cxx.cc", "cxx.o", pic))
        self.judge_disabled(self.compile("disabled.c", "disabled.o", pic, "-DSP_REGION_DISABLE"))
        more = [how]
        after = []
        if link == "no-pie" and not self.o["lto"] and not self.aarch64:
            joined = os.path.join(self.dir, "joined.o")
            run(["ld", "-r", *objects, "-o", joined])
            objects = [joined]
        if link == "libraries":
            for unit in ("one", "two"):
                made = self.compile("lib.c", unit + ".o", "-fPIC", "-DUNIT=" + unit)
                after.append(self.link([made], f"lib{unit}.so", "-shared", "-Wl,-soname,"
                                      f"lib{unit}.so"))
            more += ["-rdynamic", "-Wl,-rpath," + self.dir]
        self.app = self.link(objects + after, "app", *more)

    def judge_only(self, path):
        """A file that only includes the header keeps no trace of it."""
        if not self.o["lto"]:
            with open(path, "rb") as file:
                left = re.findall(rb"sp_(?!region\.h)\w+|stapsdt", file.read())
            # Debug information names types, and the text of macros.
            assert not left or "-g" in self.o["extra"].split(), f"{path} keeps {set(left)}"

    def judge_disabled(self, path):
        if not self.o["lto"]:
            tool = "aarch64-linux-gnu-nm" if self.aarch64 else "nm"
            out = run([tool, path])
            assert "never_called" not in out, "an argument is evaluated with SP_REGION_DISABLE"
            assert not re.search(r"sp_\w+_v1|stapsdt", out), out
            assert not any(s[0].startswith(("sp_", ".probes", ".note.stapsdt"))
                           for s in elf.Elf(path).sections)

    def judge_file(self, path):
        e = elf.Elf(path)
        notes = [n for n in e.notes() if n[0] == "sp"]  # a static libstdc++ has some, too
        out = run(["readelf", "-n", path])
        assert out.count("Provider: sp\n") == len(notes), out
        probes = e.section(".probes")
        assert probes[7] >= 4096 and e.section("sp_level")[7] >= 4096, "not on pages of their own"
        for provider, name, address, semaphore, arguments in notes:
            assert provider == "sp" and arguments == ARGUMENTS[e.machine][name], arguments
            assert f"Location: {address:#018x}" in out and f"Semaphore: {semaphore:#018x}" in out
            assert f"Arguments: {arguments}\n" in out
            assert probes[2] <= semaphore <= probes[2] + probes[4] - 2, "semaphore"
        for place, _, _, _ in e.probes().values():
            pool = place + 16 + len(elf.NOPS[e.machine])
            pool += e.s32(pool)
            levels = e.section("sp_level")
            assert levels[2] <= pool <= levels[2] + levels[4] - 128, "pool of levels"
        assert not e.relocated("sp_desc"), "run-time relocations in sp_desc"
        return self.judge_descriptors(e)

    def judge_plain(self, path):
        """Ordinary USDT probes with a semaphore, at least one of each kind, of 4 and 3 arguments."""
        notes = [n for n in elf.Elf(path).notes() if n[0] == "sp"]
        assert {n[1] for n in notes} == {"begin", "end"}, notes
        for _, name, address, semaphore, arguments in notes:
            assert address and semaphore
            assert re.fullmatch(r"(8@%\w+ ?)+", arguments), arguments
            assert len(arguments.split()) == {"begin": 4, "end": 3}[name], arguments

    def judge_descriptors(self, e):
        found = e.descriptors()
        for d in found:
            assert os.path.dirname(d["file"]) == HERE, d
            with open(d["file"], encoding="utf-8") as file:
                line = file.read().split("\n")[d["line"] - 1]
            assert "SP_REGION_" in line, (d, line)
            assert ("_TAGGED" in line) == (d["tags"] is not None), (d, line)
            assert ("_END" in line) == bool(d["flags"] & elf.END_SITE), (d, line)
            assert (bool(re.search("SCOPE|FUNCTION", line)) == bool(d["flags"] & elf.LEXICAL)), d
            assert ("FUNCTION" in line) == bool(d["flags"] & elf.FUNCTION), d
            if d["flags"] & elf.FUNCTION:
                assert d["name"] == d["func"], d
            elif "ODD_NAME" in line:
                assert d["name"] == ODD_NAME, d
            else:
                assert f'"{d["name"]}"' in line, (d, line)
            if d["tags"]:
                assert f'"{d["tags"]}"' in line, (d, line)
            assert re.fullmatch(r"\w+|operator\(\)|~?solver", d["func"]), d
        return {d["name"] for d in found}

    def judge(self):
        expect = {"recurse", "early", ODD_NAME, "ends elsewhere", "part", "static_inline",
                  "extern inline", "inline pair"}
        if self.o["language"] in CXX:
            expect |= {"twice", "template pair", "solver::solver", "solver::~solver",
                       "solver::step", "static initializer", "inline cxx", "lambda", "operator()",
                       "catch", "left by throw"}
        for path in self.files:
            if "PLAIN" in self.o["extra"]:
                self.judge_plain(path)
                continue
            names = self.judge_file(path)
            missing = (expect if path == self.app else {"library", "extern inline"}) - names
            assert not missing, f"{path}: no descriptor for {missing}"

    def execute(self):
        start = []
        if self.aarch64:
            start = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
        environment = dict(os.environ, ASAN_OPTIONS="detect_stack_use_after_return=1",
                           GMON_OUT_PREFIX=os.path.join(self.dir, "gmon"))
        quiet = run([*start, self.app, "3"], env=environment, cwd=self.dir)
        raised = run([*start, self.app, "3", "raise"], env=environment, cwd=self.dir)
        assert quiet == raised and re.search(r"^sum \d+$", quiet, re.M), (quiet, raised)
        return quiet

    def test(self):
        self.make()
        self.judge()
        result = self.execute()
        shutil.rmtree(self.dir)
        return result


def attempt(build):
    try:
        return build, build.test(), None
    except (AssertionError, subprocess.TimeoutExpired, OSError, ValueError) as error:
        return build, None, error


def main():
    builds = combinations(os.environ.get("SP_TEST_FULL", ""))
    missing = [t for t in ("gcc", "g++", "clang", "clang++", "ld.gold", "ld.lld", "readelf")
               if not shutil.which(t)]
    if missing:
        print(f"cannot test the build matrix without {', '.join(missing)}")
        return 1 if os.environ.get("CI") == "true" else 77
    builds += plain_builds()
    if shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64"):
        builds += aarch64_builds()
    elif os.environ.get("CI") == "true":
        print("cannot test aarch64 without aarch64-linux-gnu-gcc and qemu-aarch64")
        return 1
    else:
        print("no aarch64: aarch64-linux-gnu-gcc or qemu-aarch64 is missing")
    if len(sys.argv) > 3:
        builds = [b for b in builds if all(w in b.values() for w in sys.argv[3:])]
    failed, sums = 0, {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for build, result, error in pool.map(attempt, [Build(i, b) for i, b in enumerate(builds)]):
            shape = (build.o["language"] in CXX, build.o["language"] == "c++11",
                     build.o["link"] == "libraries")
            if not error and sums.setdefault(shape, result) != result:
                error = f"prints {result!r}, others {sums[shape]!r}"
            if error:
                failed += 1
                print(f"FAILED {build.name}\n{error}\n", flush=True)
    print(f"{len(builds)} builds, {failed} failed")
    return 1 if failed or not builds else 0


if __name__ == "__main__":
    sys.exit(main())
