#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bracketing.py - a million calls on four threads, nested, recursive, of literal and run-time names:
every start and end lies between the program's own stamps around it, every call is there, none is
invented, parents and self times are right, nothing is lost."""
import signal
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (PROGRAMS, check, equal, everywhere, finish, good, lost, main, need_root, need_scope_profiler,
                 recorded, scaled, start, start_trace, trace, wait_for)

need_root()
need_scope_profiler()
import numpy as np
from recording import Profile, text
from stamps import Log, compare_exclusive, compare_lane, ready

CALLS = scaled(250_000)  # a thread


@everywhere
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
    # A sample may find a thread before it has a stack, or after; nothing else.
    causes = set(text(profile.losses.get("cause", [])))
    check(causes <= {"stack unreadable"}, f"losses: {profile.losses}")


def same_results(into):
    """The results of a short run are those of an untraced one."""
    plain = good([PROGRAMS / "calls", into / "log", 3, scaled(20_000), 7]).stdout
    done = trace("-F", "997", "-o", into / "out", "--", PROGRAMS / "calls", into / "log", 3, scaled(20_000), 7)
    equal(done.stdout, plain, "output")
    profile, log = Profile(into / "out/calls_rank00000.h5"), Log(into / "log")
    for lane in range(3):
        compare_lane(profile, log, lane)


def losses(into):
    """The recorder stands still while the program runs on: what is lost is counted, to the call, with the
    time of the gap, and what is left is right, also where children or parents are among the lost."""
    target = start([PROGRAMS / "calls", into / "log", 2, scaled(150_000), 0, "wait"])
    log = wait_for(lambda: ready(into / "log"), "the program's log")
    recorder = start_trace("-F", 0, "--ring-size", "64K", "-o", into / "out", pid=target.pid)
    recorder.send_signal(signal.SIGSTOP)
    log.go()
    equal(finish(target)[0], 0, "status of the program")
    recorder.send_signal(signal.SIGCONT)
    status, _, said = finish(recorder)
    equal(status, 0, "status")
    profile = Profile(into / "out/calls_rank00000.h5")
    print(f"{len(profile.start)} recorded, {lost(said)} lost of {log.total()}")
    check(len(profile.start) > 100 and lost(said) > 1000, "the test did not lose as it should")
    equal(len(profile.start) + lost(said), log.total(), "recorded and lost calls")
    told = dict(zip(text(profile.losses["cause"]), profile.losses["count"]))
    equal(set(told), {"call ring full"}, "causes")
    equal(sum(profile.losses["count"]), lost(said), "losses in the file")
    begin = min(log.stamps(lane)["before_begin"][0] for lane in range(2))
    end = max(log.stamps(lane)["after_end"].max() for lane in range(2))
    check(all(begin < f <= l < end + 10**9 for f, l in zip(profile.losses["first_ns"], profile.losses["last_ns"])),
          f"times of the gap: {profile.losses}, the program ran from {begin} to {end}")
    for lane in range(2):
        compare_with_gaps(profile, log, lane)


def compare_with_gaps(profile, log, lane):
    stamps = log.stamps(lane)
    rows = np.flatnonzero(profile.tid == int(log.lanes[lane]["tid"]))
    slots = np.searchsorted(stamps["before_begin"], profile.start[rows], side="right") - 1
    mine = stamps[slots]
    equal(len(set(slots.tolist())), len(rows), f"distinct calls of lane {lane}")
    good = ((profile.start[rows] >= mine["before_begin"]) & (profile.start[rows] <= mine["after_begin"]) &
            (profile.end[rows] >= mine["before_end"]) & (profile.end[rows] <= mine["after_end"]))
    check(good.all(), f"{(~good).sum()} calls of lane {lane} are not between their stamps")
    # Children's time: between the least and the most that the stamps of all children allow.
    parent = stamps["parent"].astype(np.int64) - 1
    least, most = np.zeros(len(stamps), np.int64), np.zeros(len(stamps), np.int64)
    has = parent >= 0
    np.add.at(least, parent[has], (stamps["before_end"] - stamps["after_begin"])[has])
    np.add.at(most, parent[has], (stamps["after_end"] - stamps["before_begin"])[has])
    child = profile.child[rows]
    wrong = (child < least[slots]) | (child > most[slots])
    check(not wrong.any(), f"{wrong.sum()} calls of lane {lane} have a child time that lost children changed")
    # Ids count up within a thread, so that the id of a parent that was lost is known, too.
    first = profile.id[rows] - slots
    check(len(set(first.tolist())) <= 1, f"ids of lane {lane} do not count its calls: {np.unique(first, return_counts=True)}")
    wrong = profile.parent[rows] != np.where(has[slots], first + parent[slots], -1)
    check(not wrong.any(), f"{wrong.sum()} calls of lane {lane} have another parent")



main(bracketing, same_results, losses)
