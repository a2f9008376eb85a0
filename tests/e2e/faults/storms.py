#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""storms.py - threads by the thousand, and processes that fork until a control group's limit stops them, with
the recorder outside of the group and inside of it: every call of every one is there.

1,500 threads, with SP_TEST_FULL=1 10,000."""
import os
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/../lib")
import cgroup
from e2e import (SP_TRACE, check, contains, equal, finish, lost, main, need_root, need_scope_profiler, run,
                 scaled, start, start_trace, stop_trace, wait_for)

need_root()
need_scope_profiler()
from recording import Profile
from sums import SUMS, Ledger, check_exact, check_sums, end_sums, start_sums

FULL = bool(os.environ.get("SP_TEST_FULL"))
THREADS = scaled(10_000 if FULL else 1_500, least=300)
PROCESSES = scaled(1_000 if FULL else 150, least=50)


def threads(into):
    """All alive at once, each with calls."""
    target, ledger = start_sums(into, "storm", THREADS, 3)
    recorder = start_trace("-F", 99, "-o", into / "out", pid=target.pid)
    ledger.go()
    wait_for(ledger.done, "the threads", 120)
    said = stop_trace(recorder)
    equal(lost(said), 0, f"losses: {said}")
    profile = Profile(into / "out/sums_rank00000.h5")
    equal(len(ledger.lanes()), THREADS, "threads")
    check_exact(profile, ledger)
    end_sums(target, ledger)


def fork_bomb(into):
    """In a group that allows so many processes, under a recorder outside of it."""
    with cgroup.group("pids", "bomb") as group:
        if not group:
            return
        group.set("pids.max", PROCESSES)
        recorder = start([SP_TRACE, "-F", 99, "-o", into / "out", "--", *group.inside(SUMS, into / "ledger", "bomb", 2 * PROCESSES, 3)])
        ledger = wait_for(lambda: (into / "ledger").exists() and Ledger(into / "ledger"), "the ledger")
        ledger.go()
        wait_for(ledger.done, "the bomb", 120)
        check(ledger.refused() > 0, "the limit was not reached")
        ledger.leave()
        status, _, said = finish(recorder)
        equal((status, lost(said)), (0, 0), f"status and losses: {said}")
        check(len(ledger.lanes()) > PROCESSES // 2, f"{len(ledger.lanes())} processes")
        check_sums(ledger)
        check_exact(Profile(into / "out/sh_rank00000.h5"), ledger)
        print(f"{len(ledger.lanes())} processes, {ledger.refused()} forks refused")


def inside(into):
    """The recorder is in the group, too: when the bomb has gone off, its own helpers cannot be forked either."""
    with cgroup.group("pids", "inside") as group:
        if not group:
            return
        group.set("pids.max", PROCESSES)
        recorder = start(group.inside(SP_TRACE, "-F", 99, "-o", into / "out", "--", SUMS, into / "ledger", "bomb", 2 * PROCESSES, 3))
        ledger = wait_for(lambda: (into / "ledger").exists() and Ledger(into / "ledger"), "the ledger")
        ledger.go()
        wait_for(ledger.done, "the bomb", 120)
        ledger.leave()
        status, _, said = finish(recorder)
        equal((status, lost(said)), (0, 0), f"status and losses: {said}")
        check(ledger.refused() > 0, "the limit was not reached")
        check_sums(ledger)
        check_exact(Profile(into / "out/sums_rank00000.h5"), ledger)


def no_process(into):
    """Limits so tight that the recorder cannot start what it needs: it says so, and the command is not run, or
    is right."""
    with cgroup.group("pids", "tight") as group:
        if not group:
            return
        outcomes = []
        for most in range(1, 13, 1 if FULL else 2):
            here = into / str(most)
            here.mkdir()
            group.set("pids.max", most)
            done = run([*group.inside(SP_TRACE, "-F", 99, "-o", here / "out", "--", SUMS, here / "ledger", "alone", 1, 20, 0)])
            outcomes.append(done.returncode)
            if done.returncode == 0:
                check_exact(Profile(here / "out/sums_rank00000.h5"), Ledger(here / "ledger"))
            else:
                check(done.returncode in (1, 9), f"status with {most} processes: {done.returncode}: {done.stderr}")
                contains(done.stderr, *(["sp-trace: ", "\n  "] if done.returncode == 1 else ["Resource temporarily"]))
            if (here / "ledger").exists() and Ledger(here / "ledger").done():
                check_sums(Ledger(here / "ledger"))
        print(f"statuses: {outcomes}")
        check(1 in outcomes and 0 in outcomes, f"statuses: {outcomes}")


main(threads, fork_bomb, inside, no_process)
