#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""builds.py - the same program built in many ways: every call of each is recorded, between its stamps, and
a library's beside the program's."""
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (EMULATED, SOURCE, check, equal, good, have, lost, main, need_root, need_scope_profiler,
                 need_tool, run, scaled, trace)

need_root()
need_scope_profiler()
need_tool("gcc")
from recording import Profile
from stamps import Log, compare_lane

HERE = SOURCE / "tests/e2e/programs"
BUILDS = [
    ["gcc", "-O0"],
    ["gcc", "-O3", "-flto"],
    ["gcc", "-O2", "-static"],
    ["gcc", "-O2", "-static-pie"],
    ["gcc", "-O2", "-no-pie", "-fno-pie"],
    ["gcc", "-O2", "-fcf-protection=full", "-fvisibility=hidden", "-s"],
    ["gcc", "-O2", "-fuse-ld=gold", "-ffunction-sections", "-Wl,--gc-sections"],
    ["gcc", "-O1", "-fsanitize=address,undefined"],
    ["gcc", "-O2", "-Wl,-z,separate-code", "-Wl,-z,now", "-Wl,-z,relro"],
    ["gcc", "-O2", "-Wl,-z,noseparate-code"],
    ["clang", "-O2"],
    ["clang", "-O2", "-fuse-ld=lld"],
    ["clang", "-O2", "-fuse-ld=lld", "-no-pie", "-fno-pie"],
    ["clang", "-O2", "-flto", "-fuse-ld=lld"],
    ["clang", "-O2", "-flto=thin", "-fuse-ld=lld", "-Wl,--icf=all"],
    ["clang", "-O1", "-static", "-fuse-ld=lld"],
]


def can_link(into, build):
    """Whether the machine has what the flags need, tried on a program without regions."""
    if not have(build[0]):
        return False
    (into / "empty.c").write_text("int main(void) { return 0; }\n")
    return run([*build, into / "empty.c", "-o", into / "empty"]).returncode == 0 and run([into / "empty"]).returncode == 0


def builds(into):
    done = 0
    chosen = BUILDS[::4] if EMULATED else BUILDS  # compilers are slow there
    for i, build in enumerate(chosen):
        name = " ".join(build)
        if not can_link(into, build):
            print(f"not here: {name}")
            continue
        program = into / f"calls{i}"
        good([*build, "-g", f"-I{SOURCE}", "-D_GNU_SOURCE", HERE / "calls.c", "-o", program, "-pthread"])
        traced = trace("-F", 99, "-o", into / f"out{i}", "--", program, into / "log", 2, scaled(5000, least=1000), 3)
        if not equal(traced.returncode, 0, f"status of {name}: {traced.stderr}"):
            continue
        equal(lost(traced.stderr), 0, f"losses of {name}")
        h5 = into / f"out{i}/calls{i}_rank00000.h5"
        profile, log = Profile(h5), Log(into / "log")
        check(equal(len(profile.start), log.total(), f"calls of {name}"), name)
        for lane in range(2):
            compare_lane(profile, log, lane)
        done += 1
    check(done >= max(len(chosen) // 3, 1), f"only {done} builds could be made here")


main(builds)
