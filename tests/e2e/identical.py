#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""identical.py - a traced program computes, bit for bit, what it computes untraced: leaf functions that
live in the red zone, at -O2 and -O3 by gcc and clang, and the heat examples, sampled all the while."""
import re
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (BIN, SOURCE, check, equal, good, have, lost, main, need_root, need_scope_profiler, need_tool, recorded,
                 scaled, trace)

need_root()
need_scope_profiler()
need_tool("gcc")
from recording import Profile

CALLS = scaled(40_000)  # a leaf


def red_zone(into):
    for compiler in ("gcc", "clang"):
        if not have(compiler):
            continue
        for level in ("-O2", "-O3"):
            program = into / f"redzone{compiler}{level}"
            good([compiler, level, "-g", f"-I{SOURCE}", SOURCE / "tests/e2e/programs/redzone.c", "-o", program, "-lm"])
            code = good(["objdump", "-d", "--no-show-raw-insn", program]).stdout
            leaf = re.search(r"<red_zone_leaf>:\n(.*?)\n\n", code, re.S)[1]
            check(re.search(r"-0x[0-9a-f]+\(%rsp\)", leaf), f"{program.name}: the leaf does not use the red zone")
            plain = good([program, CALLS]).stdout
            done = trace("-F", 4999, "-o", into / f"out{compiler}{level}", "--", program, CALLS)
            equal(done.returncode, 0, f"status of {program.name}")
            equal(done.stdout, plain, f"results of {program.name}")
            equal(lost(done.stderr), 0, f"losses of {program.name}")
            counts = Profile(into / f"out{compiler}{level}/{program.name}_rank00000.h5").count()
            equal(counts, {"leaf": CALLS, "floating": CALLS, "vector": CALLS, "flags": CALLS}, f"calls of {program.name}")
            print(f"{program.name}: {plain.strip()}, {recorded(done.stderr)[1]} samples")


def heat(into):
    for name, arguments in (("heat", ["-n", 300, "-s", 400, "-t", 3]), ("heat_fortran", [300, 400])):
        program = BIN / name
        if not program.exists():
            print(f"{name} was not built")
            continue
        plain = good([program, *arguments]).stdout
        check(re.search(r"checksum +[0-9a-fA-F]+", plain), f"{name} prints no checksum: {plain}")
        done = trace("-F", 4999, "-o", into / name, "--", program, *arguments)
        equal(done.returncode, 0, f"status of {name}")
        equal(done.stdout, plain, f"results of {name}")
        counts = Profile(into / name / f"{name}_rank00000.h5").count()
        check(counts.get("stencil", 0) >= 400, f"calls of {name}: {counts}")


main(red_zone, heat)
