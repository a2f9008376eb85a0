#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""languages.py - C++ and Fortran: every call is there, under its name, nested as the language has it."""
import collections
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import PROGRAMS, check, equal, everywhere, good, lost, main, need_root, need_scope_profiler, trace

need_root()
need_scope_profiler()
from recording import Profile


def record(into, name):
    plain = good([PROGRAMS / name]).stdout
    done = trace("-F", 997, "-o", into / "out", "--", PROGRAMS / name)
    equal(done.returncode, 0, f"status: {done.stderr}")
    equal(done.stdout, plain, "results")
    equal(lost(done.stderr), 0, "losses")
    profile = Profile(into / f"out/{name}_rank00000.h5")
    equal(set(profile.flags.tolist()), {0}, "flags of calls that all end by themselves")
    return profile


def inside(profile, name):
    """In which regions the region's calls are: {name or None: count}."""
    name_of = {int(i): profile.names[r] for i, r in zip(profile.id, profile.region)}
    return dict(collections.Counter(name_of.get(int(p)) for p, r in zip(profile.parent, profile.region)
                                    if profile.names[r] == name))


@everywhere
def cxx(into):
    profile = record(into, "cxx")
    wanted = {"static initialisation": 1, "static destruction": 1, "square": 1, "area": 100, "template": 201,
              "recursive template": 10, "left by exception": 25 * (1 + 2 + 3 + 4), "try": 100, "catch": 100,
              "lambda": 100, "in thread": 8, "thread_local destruction": 8, "early return": 60, "inner": 10}
    equal(profile.count(), wanted, "calls")
    equal(inside(profile, "catch"), {"try": 100}, "where exceptions are caught")
    equal(inside(profile, "left by exception"), {"try": 100, "left by exception": 150}, "where exceptions are thrown")
    equal(inside(profile, "recursive template"), {None: 1, "recursive template": 9}, "templates in templates")
    equal(inside(profile, "inner"), {"early return": 10}, "where inner is")
    equal(inside(profile, "thread_local destruction"), {None: 8}, "where thread_local objects end")
    equal(profile.tags["left by exception"], '["error", "unwinding"]', "tags")
    check(all(f.endswith("cxx.cpp") for f in profile.source_files.values()), f"files: {profile.source_files}")
    check(all(n > 0 for n in profile.lines.values()), f"lines: {profile.lines}")


def fortran(into):
    if not (PROGRAMS / "module").exists():
        print("no Fortran compiler here")
        return
    profile = record(into, "module")

    def calls(n):
        return 1 if n < 2 else 1 + calls(n - 1) + calls(n - 2)

    equal(profile.count(), {"loop": 250, "fibonacci": calls(12), "by name ä": 40, "last": 1}, "calls")
    equal(inside(profile, "fibonacci"), {None: 1, "fibonacci": calls(12) - 1}, "recursion")
    equal(int(profile.depth.max()), 11, "depth")
    check(profile.source_files["fibonacci"].endswith("module.F90"), f"file: {profile.source_files}")
    check(profile.lines["fibonacci"] > 0, f"line: {profile.lines}")


main(cxx, fortran)
