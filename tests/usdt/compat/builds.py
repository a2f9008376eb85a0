#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""builds.py - the drop-in API builds as a stranger would build it, without a warning, and works.

    builds.py USDT_DIR c|cxx|fortran|examples

c: scope_profiler.c and its tests as C99 to C17, gcc and clang, and as a shared library. cxx: cxx.cpp
as C++11 to C++20, header-only, disabled. fortran: the module and the include. examples: the installed
scope-profiler's own example.c and example.f90, unchanged: they run as with the original, but leave no
file. Compilers that are missing are named and left out; a failed build or run fails the test.
"""
import os
import shutil
import subprocess
import sys
import tempfile

from differential import package

HERE = os.path.dirname(os.path.abspath(__file__))
WARN = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


def run(command, status=0, **how):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **how)
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}, not {status}:\n"
                 f"{done.stdout}{done.stderr}")
    return done


def compilers(*names):
    found = [name for name in names if shutil.which(name)]
    for name in set(names) - set(found):
        print(f"not installed, left out: {name}")
        if os.environ.get("CI") == "true":
            sys.exit(1)
    if not found:
        print("no compiler for this")
        sys.exit(77)
    return found


def test_c(usdt, into):
    library = f"{usdt}/scope_profiler.c"
    include = [f"-I{usdt}"]
    for cc in compilers("gcc", "clang"):
        for std in ("c99", "c11", "c17"):
            for more in (["-O0"], ["-O2", "-Wshadow", "-Wconversion", "-Wstrict-prototypes", "-Wmissing-prototypes"],
                         ["-O2", "-DSP_REGION_DISABLE"]):
                run([cc, f"-std={std}", *WARN, *more, "-c", library, "-o", f"{into}/one.o"])
        run([cc, "-O2", "-flto", *WARN, *include, f"{HERE}/api.c", library, "-o", f"{into}/api"])
        run([f"{into}/api"])
        # With probes compiled out, the answers stay.
        run([cc, "-DSP_REGION_DISABLE", *WARN, *include, f"{HERE}/api.c", library, "-o", f"{into}/api"])
        run([f"{into}/api"])
        run([cc, "-O2", *WARN, *include, "-static", f"{HERE}/api.c", library, "-o", f"{into}/api"])
        run([f"{into}/api"])
        run([cc, "-O2", "-fPIC", "-shared", "-fvisibility=default", *WARN, library, "-o", f"{into}/libsp.so"])
        run([cc, "-O2", *WARN, *include, f"{HERE}/threads.c", f"-L{into}", "-lsp", f"-Wl,-rpath,{into}", "-pthread",
             "-o", f"{into}/threads"])
        run([f"{into}/threads"])
        # Both headers in one file.
        both = f"{into}/both.c"
        with open(both, "w") as out:
            out.write('#include "scope_profiler.h"\n#include "sp_region.h"\n'
                      'int main(void) { SP_REGION_SCOPE("a"); sp_init("x", 0); sp_begin(SP_REGION_AT("b"));\n'
                      '\tsp_end(sp_region("b")); return sp_num_calls(0) == 1 ? sp_finalize() : 1; }\n')
        run([cc, "-std=c11", *WARN, *include, both, library, "-o", f"{into}/both"])
        run([f"{into}/both"])


def test_cxx(usdt, into):
    sources = [f"{HERE}/cxx.cpp", f"{HERE}/cxx_other.cpp"]
    pairs = [("gcc", "g++"), ("clang", "clang++")]
    installed = compilers(*[cxx for _, cxx in pairs])
    for cc, cxx in [pair for pair in pairs if pair[1] in installed]:
        build = [cxx, *WARN, "-Wshadow", f"-I{usdt}"]
        run([cc, "-O2", "-c", f"{usdt}/scope_profiler.c", "-o", f"{into}/c.o"])
        for std in ("c++11", "c++14", "c++17", "c++20"):
            run([*build, f"-std={std}", "-O0", *sources, f"{into}/c.o", "-o", f"{into}/cxx"])
            run([f"{into}/cxx"])
        for std, more in (("c++17", ["-O2"]), ("c++17", ["-fsanitize=address,undefined"]), ("c++20", ["-O0"])):
            run([*build, f"-std={std}", "-DSP_HEADER_ONLY", *more, *sources, "-o", f"{into}/only"])
            run([f"{into}/only"])
        refused = run([cxx, "-std=c++14", f"-I{usdt}", "-DSP_HEADER_ONLY", "-fsyntax-only", sources[0]], status=1)
        if "SP_HEADER_ONLY needs C++17" not in refused.stderr:
            sys.exit(f"header-only C++14 is refused without saying why:\n{refused.stderr}")
        for std in ("c++11", "c++20"):
            run([*build, f"-std={std}", "-DSP_DISABLE_PROFILING", "-O0", sources[0], f"{into}/c.o", "-o", f"{into}/off"])
            run([f"{into}/off"])
        run([*build, "-std=c++17", "-DSP_DISABLE_PROFILING", "-O2", "-c", sources[0], "-o", f"{into}/off.o"])
        symbols = run(["nm", "-u", f"{into}/off.o"]).stdout
        if "sp_" in symbols:
            sys.exit(f"disabled, and still needs\n{symbols}")


def test_fortran(usdt, into):
    fc = compilers(os.environ.get("FC", "gfortran"))[0]
    run(["cc", "-O2", "-c", f"{usdt}/scope_profiler.c", "-o", f"{into}/c.o"])
    for std, level in (("f2008", "-O0"), ("f2018", "-O2"), ("gnu", "-O3")):
        build = [fc, f"-std={std}", level, *WARN, f"-I{usdt}", f"-J{into}", "-fopenmp"]
        run([*build, "-c", f"{usdt}/scope_profiler.f90", "-o", f"{into}/module.o"])
        run([*build, f"{HERE}/fortran.f90", f"{into}/module.o", f"{into}/c.o", "-o", f"{into}/fortran"])
        done = run([f"{into}/fortran"])
        told = done.stderr.splitlines()
        if done.stdout.strip() != "fortran: done" or len(told) != 1 or "without a begin" not in told[0]:
            sys.exit(f"fortran printed\n{done.stdout}and on stderr\n{done.stderr}")
        run([*build, "-I" + into, "-c", f"{HERE}/regions.F90", "-o", f"{into}/regions.o"])
        run([*build, f"{into}/regions.o", f"{into}/module.o", f"{into}/c.o", "-o", f"{into}/regions"])
        run([f"{into}/regions", "1000"])
        run([*build, "-DSP_REGION_DISABLE", f"{HERE}/regions.F90", "-o", f"{into}/disabled"])
        run([f"{into}/disabled"])
    # A name that is too long for the line is an error of the compiler, never a shorter name.
    long = f"{into}/long.F90"
    with open(long, "w") as out:
        out.write('#include "sp_region.F90.inc"\nprogram long\n'
                  f'SP_REGION_BEGIN("{"n" * 90}")\nSP_REGION_END("{"n" * 90}")\nend program long\n')
    build = [fc, f"-I{usdt}", f"-J{into}", long, f"{into}/module.o", f"{into}/c.o", "-fopenmp", "-o", f"{into}/long"]
    run(build, status=1)
    run([*build, "-ffree-line-length-none"])
    run([f"{into}/long"])


def test_examples(usdt, into):
    package_dir = package()
    if not package_dir:
        print("no scope-profiler: set SP_SCOPE_PROFILER_PYTHON to a Python that has it")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    fc = os.environ.get("FC", "gfortran")
    for name in ("theirs", "ours", "t", "o"):
        os.mkdir(f"{into}/{name}")
    c, f = f"{package_dir}/c", f"{package_dir}/fortran"
    run(["cc", "-O2", "-c", f"{usdt}/scope_profiler.c", "-o", f"{into}/c.o"])
    # A quoted include looks beside the example first: a copy alone finds ours, as in a rebuilt project.
    shutil.copy(f"{c}/example.c", f"{into}/example.c")
    run(["cc", "-O2", f"{c}/example.c", f"{c}/scope_profiler.c", "-lm", "-o", f"{into}/theirs-c"])
    run(["cc", "-O2", f"-I{usdt}", f"{into}/example.c", f"{usdt}/scope_profiler.c", "-lm", "-o", f"{into}/ours-c"])
    programs = ["c"]
    if fc in compilers("gcc", fc):
        programs.append("f")
        run([fc, "-O2", f"-J{into}/t", f"{f}/scope_profiler.f90", f"{f}/example.f90", "-o", f"{into}/theirs-f"])
        run([fc, "-O2", f"-J{into}/o", f"{usdt}/scope_profiler.f90", f"{f}/example.f90", f"{into}/c.o", "-o",
             f"{into}/ours-f"])
    for program in programs:
        said = {}
        for side in ("theirs", "ours"):
            done = run([f"{into}/{side}-{program}"], cwd=f"{into}/{side}")
            # The last line names the output file.
            said[side] = done.stdout.splitlines()[:-1]
            if done.stderr:
                sys.exit(f"{side} complains: {done.stderr}")
        if said["theirs"] != said["ours"] or "solve entered 20 time(s)" not in said["ours"]:
            sys.exit(f"the example says {said}")
        if not os.listdir(f"{into}/theirs") or os.listdir(f"{into}/ours"):
            sys.exit("scope-profiler's example should leave a file, and ours none: "
                     f"{os.listdir(into + '/theirs')} {os.listdir(into + '/ours')}")


def main():
    tests = {"c": test_c, "cxx": test_cxx, "fortran": test_fortran, "examples": test_examples}
    if len(sys.argv) != 3 or sys.argv[2] not in tests:
        sys.exit(f"usage: builds.py USDT_DIR {'|'.join(tests)}")
    with tempfile.TemporaryDirectory() as into:
        tests[sys.argv[2]](os.path.abspath(sys.argv[1]), into)


if __name__ == "__main__":
    main()
