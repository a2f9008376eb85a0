#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bracketing.py - a million calls on four threads, nested, recursive, of literal and run-time names:
every start and end lies between the program's own stamps around it, every call is there, none is
invented, parents and self times are right, nothing is lost."""
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import PROGRAMS, check, equal, good, lost, main, need_root, need_scope_profiler, recorded, trace

need_root()
need_scope_profiler()
from recording import Profile
from stamps import Log, compare_exclusive, compare_lane

CALLS = 250_000  # a thread


def bracketing(into, threads=4, calls=CALLS, work=0):
    done = trace("-F", "99", "-o", into / "out", "--", PROGRAMS / "calls", into / "log", threads, calls, work)
    print(done.stderr, end="")
    equal(done.returncode, 0, "status")
    log = Log(into / "log")
    equal(lost(done.stderr), 0, "losses")
    equal(recorded(done.stderr)[0], log.total(), "calls that sp-trace counts")
    check(log.total() >= threads * calls, f"the program made {log.total()} calls")
    profile = Profile(into / "out/calls_rank00000.h5")
    equal(len(profile.start), log.total(), "calls in the file")
    equal(sorted(profile.threads), sorted(log.lanes["tid"][:threads].tolist()), "threads")
    for lane in range(threads):
        compare_lane(profile, log, lane)
    compare_exclusive(profile)
    equal(int(profile.flags.max()), 0, "flags of calls that all end by themselves")
    equal(int(profile.skipped.max()), 0, "skipped calls")
    equal(profile.tags["leaf"], '["a", "b"]', "tags of leaf")
    check(profile.source_files["outer"].endswith("calls.c"), profile.source_files["outer"])
    check(not profile.losses or not any(profile.losses.get("count", [])), f"losses: {profile.losses}")


def same_results(into):
    """The results of a short run are those of an untraced one."""
    plain = good([PROGRAMS / "calls", into / "log", 3, 20_000, 7]).stdout
    done = trace("-F", "997", "-o", into / "out", "--", PROGRAMS / "calls", into / "log", 3, 20_000, 7)
    equal(done.stdout, plain, "output")
    profile, log = Profile(into / "out/calls_rank00000.h5"), Log(into / "log")
    for lane in range(3):
        compare_lane(profile, log, lane)


main(bracketing, same_results)
