#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The library as other programs meet it: installed, found by pkg-config and by CMake, linked both ways.

usage: install_test.py SOURCE BUILD WORKDIR
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

source, build, work = (pathlib.Path(arg).resolve() for arg in sys.argv[1:4])
sanitized = "SP_SANITIZE:BOOL=ON" in (build / "CMakeCache.txt").read_text()
failures = 0


def run(*args, check=True, **kw):
    done = subprocess.run([str(arg) for arg in args], capture_output=True, text=True, **kw)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(map(str, args))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def check(condition, *what):
    global failures
    if not condition:
        failures += 1
        print("wrong:", *what, file=sys.stderr)


def tries(program, library):
    """The example's table, by the expected lines of the compatibility set."""
    env = dict(os.environ, LD_LIBRARY_PATH=str(library), ASAN_OPTIONS="detect_leaks=0")
    for name, head in (("hdf5-schema-3.h5", "hdf5, version 3: 1 ranks, 3 calls"),
                       ("hdf5-schema-1.h5", "hdf5, version 1: 1 ranks, 3 calls"),
                       ("native-v2.spt", "spt, version 2: 1 ranks, 3 calls")):
        done = run(program, source / "tests/golden" / name, env=env)
        lines = done.stdout.splitlines()
        check(lines[0] == head, program, name, lines[:1])
        # Starts 10, 20, 40; ends 15, 33, 55: 33 ns.
        check(lines[2].split() == ["0", "3", "0.000000033", "0.000000033", "solve"], program, name, lines)
    done = run(program, source / "README.md", env=env, check=False)
    check(done.returncode == 1 and "is neither" in done.stderr, program, done)


def symbols(library, headers):
    """The library exports what the headers declare, no more and no less."""
    exported = {line.split()[2] for line in run("nm", "-D", "--defined-only", library).stdout.splitlines()}
    exported = {name for name in exported if name.startswith("sp_")}
    declared = set()
    for header in headers.glob("*.h"):
        text = run("cc", "-E", "-P", f"-I{headers.parent}", header).stdout
        text = re.sub(r"\{[^{}]*\}", "", re.sub(r"\{[^{}]*\}", "", text))
        for statement in text.split(";"):
            match = re.search(r"\b(sp_[a-z0-9_]+)\s*\(", statement)
            if match and "typedef" not in statement and "inline" not in statement:
                declared.add(match.group(1))
    check(not exported - declared, "exported, and no header declares it:", sorted(exported - declared))
    check(not declared - exported, "declared, and not exported:", sorted(declared - exported))
    others = run("nm", "-D", "--defined-only", library).stdout
    check(not re.search(r" [TDB] (?!sp_)(?!__|_init|_fini|asan|ubsan)", others) or sanitized, "other symbols:", others)


def main():
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    prefix = work / "prefix"
    run("cmake", "--install", build, "--prefix", prefix)
    (pc,) = prefix.rglob("sp_formats.pc")
    (library,) = prefix.rglob("libsp_formats.so")
    headers = prefix / "include/sp-trace/formats"
    example = source / "examples/profile_table.c"
    flags = ["-fsanitize=address,undefined"] if sanitized else []
    env = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent))

    for header in sorted(headers.glob("*.h")):
        for compiler, standard in (("cc", "-std=c11"), ("cc", "-std=gnu17"), ("c++", "-std=c++17")):
            if header.name in ("wire.h", "codec.h", "journal.h") and compiler == "c++":
                continue  # C only, as their comments say
            unit = work / ("unit.c" if compiler == "cc" else "unit.cpp")
            unit.write_text(f"#include <formats/{header.name}>\n")
            run(compiler, standard, "-Wall", "-Wextra", "-Werror", f"-I{headers.parent}", "-fsyntax-only", unit)
    # All together, and with those of the instrumentation.
    unit = work / "all.c"
    unit.write_text('#include "scope_profiler.h"\n' +
                    "".join(f"#include <formats/{header.name}>\n" for header in sorted(headers.glob("*.h"))))
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{headers.parent}", f"-I{source}/usdt", "-fsyntax-only", unit)
    symbols(library, headers)

    asked = run("pkg-config", "--cflags", "--libs", "sp_formats", env=env).stdout.split()
    run("cc", *flags, example, *asked, "-o", work / "with_pkgconfig")
    tries(work / "with_pkgconfig", library.parent)
    if not sanitized:
        asked = run("pkg-config", "--static", "--cflags", "--libs", "sp_formats", env=env).stdout.split()
        # The static twin of ours alone: the other libraries come as they are.
        static = [str(library.with_suffix(".a")) if arg == "-lsp_formats" else arg for arg in asked]
        run("cc", example, *static, "-o", work / "static")
        tries(work / "static", "")

    project = work / "project"
    project.mkdir()
    shutil.copy(example, project)
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(user C)\nfind_package(sp_formats REQUIRED)\n"
        "add_executable(with_cmake profile_table.c)\n"
        "target_link_libraries(with_cmake sp_formats::sp_formats " + " ".join(flags) + ")\n")
    run("cmake", "-G", "Ninja", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", project / "build")
    tries(project / "build/with_cmake", "")

    lines = example.read_text().splitlines()
    check(len(lines) <= 42, "the example has", len(lines), "lines")
    sys.exit(failures != 0)


main()
