#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""stacks.py - the stacks that are found in the kernel by tables are those that libdw finds in a copy of
the same moment: at least 99.5 % of them, frame by frame, for each program.

Programs in C, C++ and Fortran (programs/stacks/) whose stacks are hard to unwind, kind by kind, built by
gcc and clang in many ways. Each is recorded with --stacks dwarf, which takes both unwinds of each sample;
`sp-report verify --stacks` compares them. All differences are printed. With SP_TEST_FULL=1 every kind is
held to the share alone, too, and there are some fifty builds instead of eight.
"""
import json
import os
import shutil
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import SOURCE, SP_REPORT, check, equal, good, have, main, need_root, need_tool, recorded, run, trace

need_root()
need_tool("gcc")
FULL = bool(os.environ.get("SP_TEST_FULL"))
PROGRAMS = SOURCE / "tests/e2e/programs/stacks"
LEAST = 0.995
SECONDS = 0.5 if FULL else 0.25  # of processor time, for each kind
AVX = ["-mavx2"] if " avx2 " in open("/proc/cpuinfo").read() else []
KINDS = """calls copying sorting allocating printing mathematics clocks system_calls signals
    signals_elsewhere raising tiny opening binding tail_calls allocas realigned deep too_deep threads many_threads""".split()


# ---- builds ----

def compile_c(into, compiler, flags, static=False):
    """kinds.c and its libraries; returns the program."""
    libraries = ["-lm", "-lpthread", "-ldl"]
    common = [compiler, "-g", "-D_GNU_SOURCE", *flags]
    shared = [f for f in flags if not f.startswith(("-no-pie", "-fno-pi", "-static"))]
    program = into / "kinds"
    tiny = [PROGRAMS / "tiny.c"]
    if not static:
        good([compiler, "-g", *shared, "-fPIC", "-shared", PROGRAMS / "tiny.c", "-o", into / "libtiny.so"])
        good([compiler, "-g", *shared, "-fPIC", "-shared", PROGRAMS / "plugin.c", "-o", into / "plugin.so", "-lm",
              f"-L{into}", "-ltiny", "-Wl,-rpath,$ORIGIN", "-Wl,-z,lazy"])
        tiny = [f"-L{into}", "-ltiny", "-Wl,-rpath,$ORIGIN"]
    good([*common, PROGRAMS / "kinds.c", *tiny, "-o", program, *libraries])
    return program


def kinds_of(static):
    """In a run of all kinds, not those that open a library: they have tests of their own. For some
    milliseconds after it is mapped it has no table, which is a large share of so short a time."""
    return [k for k in KINDS if k not in ("opening", "binding")]


# ---- recording and comparing ----

def compare(what, into, command, just_mapped=0):
    """Records the command, compares, prints, checks. `just_mapped`: the share of stacks that may end in code
    which had no table yet, beside the others."""
    out = into / "out"
    shutil.rmtree(out, ignore_errors=True)
    done = trace("--stacks", "dwarf,65536", "-F", "997", "--keep-journal", "-o", out, "--", *command)
    if not check(done.returncode == 0, f"{what}: sp-trace ended with {done.returncode}: {done.stderr}"):
        return
    said = run([SP_REPORT, "verify", "--stacks", "--json", out / "journal.spj"])
    if not check(said.stdout.startswith("{"), f"{what}: verify said nothing: {said.stderr}"):
        return
    file = json.loads(said.stdout)["files"][0]
    seen = file.get("stacks")
    if not check(seen, f"{what}: {file}"):
        return
    new = sum(d["count"] for d in seen["differences"] if d["end"] in ("pending", "no mapping")) if just_mapped else 0
    all_ends = seen["identical"] + seen["different"] - new
    share = seen["identical"] / all_ends if all_ends else 0
    print(f"{what}: {seen['samples']} samples; {seen['identical']} of {all_ends} identical ({100 * share:.2f} %), "
          f"{seen['as_far_as_copied']} as far as copied; whole: {seen['whole_by_tables']} by tables, "
          f"{seen['whole_by_libdw']} by libdw", flush=True)
    for d in seen["differences"][:12]:
        module = os.path.basename(d["module"] or "?")
        print(f"    {d['count']} x {d['kind']} from {module}+{d['address']:#x} (end: {d['end']}), frame {d['frame']}: "
              f"{d['tables']:#x}, libdw {d['libdw']:#x}")
    check(all_ends >= 500, f"{what}: only {all_ends} stacks were compared to the end")
    check(new <= just_mapped * (all_ends + new), f"{what}: {new} stacks end in code that had just been mapped")
    check(share >= LEAST, f"{what}: {100 * share:.2f} % identical, not {100 * LEAST} %")
    verdict = seen["identical"] >= LEAST * (seen["identical"] + seen["different"])
    equal((file["ok"], said.returncode), (verdict, 0 if verdict else 1), f"{what}: verify's verdict")
    equal(seen["unusable_files"], [], f"{what}: files that could not be used")
    equal(seen["not_tried"], 0, f"{what}: stacks that libdw was not tried on")
    check(seen["without_copy"] <= 0.05 * (seen["samples"] + seen["without_copy"]),
          f"{what}: {seen['without_copy']} samples without a copy")
    equal(seen["samples"] + seen["without_copy"], recorded(done.stderr)[1], f"{what}: samples of the recording")
    shutil.rmtree(out, ignore_errors=True)


def c_build(name, into, compiler, flags, static=False):
    static = static or "-static" in flags
    if not have(compiler):
        return
    program = compile_c(into, compiler, flags, static)
    compare(name, into, [program, SECONDS, *kinds_of(static)])


# ---- tests ----

def c_gcc_O2(into):
    c_build("gcc -O2", into, "gcc", ["-O2"])


def c_clang_O3_no_pie(into):
    c_build("clang -O3 -no-pie", into, "clang", ["-O3", "-fno-pic", "-no-pie", *AVX])


def c_gcc_O0_static(into):
    c_build("gcc -O0 -static", into, "gcc", ["-O0", "-static"], static=True)


def c_gcc_O3_plt_sec(into):
    """Lazy binding, and the second table of stubs that control-flow protection brings."""
    c_build("gcc -O3 with .plt.sec", into, "gcc",
            ["-O3", *AVX, "-fcf-protection=full", "-Wl,-z,ibtplt", "-Wl,-z,lazy"])


def opened_libraries(into):
    """Code that the program opens itself, and closes, and opens again. What runs in the first moments
    after it is mapped has no table, the longer the busier the machine is: that is told apart."""
    program = compile_c(into, "gcc", ["-O2"])
    compare("gcc -O2 opening", into, [program, 8 if FULL else 4, "opening"], just_mapped=0.02)


def bound_late(into):
    """The dynamic linker on its way to functions that are called for the first time: in frames that it finds by rbx."""
    program = compile_c(into, "gcc", ["-O2"])
    compare("gcc -O2 binding", into, [program, 2, "binding"], just_mapped=0.3)


def unruled(into):
    """Where libdw has no rule, it takes the frame pointer for the interrupted function's own, which skips a caller that
    the tables know by the code: that is told apart, and the longer stacks are kept."""
    program, out = into / "unruled", into / "out"
    good(["gcc", "-O2", "-fno-omit-frame-pointer", "-momit-leaf-frame-pointer", "-fno-asynchronous-unwind-tables",
          "-fno-exceptions", PROGRAMS / "unruled.c", "-o", program])
    done = trace("--stacks", "dwarf", "-F", "997", "--keep-journal", "-o", out, "--", program, 1)
    equal(done.returncode, 0, done.stderr)
    seen = json.loads(run([SP_REPORT, "verify", "--stacks", "--json", out / "journal.spj"]).stdout)["files"][0]["stacks"]
    print(f"unruled: {seen['samples']} samples, {seen['identical']} identical, {seen['different']} different, "
          f"{seen['reference_ended']} of which libdw guesses the caller")
    check(seen["reference_ended"] >= 100, "libdw knows who called")
    late = sum(d["count"] for d in seen["differences"] if d["end"] in ("pending", "no mapping"))
    equal(seen["different"], late, "stacks that differ")
    folded = good([SP_REPORT, "export", "folded", out]).stdout
    whole = sum(int(line.split()[-1]) for line in folded.splitlines() if "main;outer;middle;leaf " in line)
    check(whole >= 0.9 * seen["reference_ended"], f"of these only {whole} have kept their caller: {folded}")


def cxx(into):
    need_tool("g++")
    for compiler in ["g++", "clang++"]:
        for level in (["-O0", "-O1", "-O2", "-O3"] if FULL else ["-O2"]):
            if not have(compiler):
                continue
            good([compiler, "-std=c++17", level, "-g", PROGRAMS / "kinds.cpp", "-o", into / "kinds"])
            compare(f"{compiler} {level}", into, [into / "kinds", 2 * SECONDS])


def fortran(into):
    if not have("gfortran"):
        return
    for flags in ([["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-O2", "-static"]] if FULL else [["-O2"]]):
        good(["gfortran", *flags, "-g", f"-J{into}", PROGRAMS / "kinds.f90", "-o", into / "kinds"])
        compare(f"gfortran {' '.join(flags)}", into, [into / "kinds", 2 * SECONDS])


def openmp(into):
    for level in (["-O0", "-O1", "-O2", "-O3"] if FULL else ["-O2"]):
        good(["gcc", level, "-g", "-fopenmp", PROGRAMS / "omp.c", "-o", into / "omp", "-lm"])
        compare(f"gcc {level} -fopenmp", into, [into / "omp", 2 * SECONDS])


def all_builds(into):
    """Every level, as position-independent, fixed and static program."""
    if not FULL:
        return
    for compiler in ["gcc", "clang"]:
        for level in ["-O0", "-O1", "-O2", "-O3", "-Os"]:
            for name, more in {"-pie": ["-fPIE", "-pie"], "-no-pie": ["-fno-pic", "-no-pie"],
                               "-static": ["-static"]}.items():
                c_build(f"{compiler} {level} {name}", into, compiler, [level, *more], static=name == "-static")


def each_kind(into):
    """Each kind alone, so that a rare one cannot hide among the others."""
    if not FULL:
        return
    for compiler, flags in [("gcc", ["-O2", *AVX]), ("clang", ["-O2"])]:
        program = compile_c(into, compiler, flags)
        for kind in kinds_of(False):
            compare(f"{compiler} {kind}", into, [program, 2.5, kind])


main(c_gcc_O2, c_clang_O3_no_pie, c_gcc_O0_static, c_gcc_O3_plt_sec, opened_libraries, bound_late, unruled, cxx, fortran, openmp, all_builds, each_kind)
