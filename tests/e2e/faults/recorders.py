#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""recorders.py - two recorders on one program, with different options: both are exact, and the end of one,
in good order or by SIGKILL, leaves the other exact. A recorder that is stopped for a while loses no more
than its rings cannot hold, and says how much."""
import mmap
import os
import signal
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/../lib")
from e2e import (check, contains, equal, everywhere, lost, main, need_root, need_scope_profiler, recorded,
                 semaphores, start_trace, stop_trace, wait_for)

need_root()
need_scope_profiler()
from recording import Profile
from sums import SUMS, check_exact, end_sums, losses, start_sums

FIRST = ["-F", "997"]
SECOND = ["-F", "0", "--breakpoints", "--ring-size", "1M"]
FULL = bool(os.environ.get("SP_TEST_FULL"))
NOT_SEEN = "mapping not seen"  # of any process of the machine
MAPPINGS = 30_000


def raised(target):
    return all(semaphores(target.pid, SUMS).values())


def together(into):
    """From before the first call to after the last."""
    target, ledger = start_sums(into, "run", 4, 5000, 100)
    recorders = [start_trace(*o, "-o", into / f"out{i}", pid=target.pid) for i, o in enumerate((FIRST, SECOND))]
    ledger.go()
    wait_for(ledger.done, "the work")
    for i, recorder in enumerate(recorders):
        check(raised(target), f"recorder {i} is alone, and the semaphores are down")
        equal(lost(stop_trace(recorder)), 0, f"losses of recorder {i}")
        profile = Profile(into / f"out{i}/sums_rank00000.h5")
        check_exact(profile, ledger)
        check((len(profile.sample_time) > 0) == (i == 0), f"{len(profile.sample_time)} samples of recorder {i}")
    end_sums(target, ledger)


def other_ends(into):
    """One begins and ends, in good order or killed, before, while and after the other begins."""
    for round, (options, others, how) in enumerate(((FIRST, SECOND, signal.SIGTERM), (SECOND, FIRST, signal.SIGKILL),
                                                    (FIRST, FIRST, signal.SIGKILL), (SECOND, FIRST, signal.SIGTERM))):
        here = into / str(round)
        here.mkdir()
        target, ledger = start_sums(here, "run", 3, 0, 200)
        early = start_trace(*others, "-o", here / "early", pid=target.pid) if round % 2 else None
        recorder = start_trace(*options, "-o", here / "out", pid=target.pid)
        ledger.go()
        for i in range(1 if early else 2):
            other = early or start_trace(*others, "-o", here / f"other{i}", pid=target.pid)
            time.sleep(0.15)
            if how == signal.SIGTERM:
                stop_trace(other)
            else:
                other.kill()
                other.wait()
            time.sleep(0.3)  # its probes come off
            check(raised(target), "the semaphores fell with the other recorder")
        ledger.stop()
        wait_for(ledger.done, "the work")
        equal(lost(stop_trace(recorder)), 0, "losses")
        check_exact(Profile(here / "out/sums_rank00000.h5"), ledger)
        end_sums(target, ledger)


def stopped(into):
    """SIGSTOP under load. Recorded and lost calls are together those that were made, and programs that the
    recorded ones start do not wait for the recorder."""
    seconds = 10 if FULL else 3
    target, ledger = start_sums(into, "run", 2, 0, 0)
    children, family = start_sums(into, "execs", 200, 5, 10000, name="children")
    recorder = start_trace("-F", 997, "--ring-size", "1M", "-o", into / "out", pid=f"{target.pid},{children.pid}")
    ledger.go()
    family.go()
    time.sleep(0.3)
    recorder.send_signal(signal.SIGSTOP)
    before = len(family.lanes())
    time.sleep(seconds)
    during = len(family.lanes()) - before
    check(during > 5 * seconds, f"{during} programs were started in {seconds} s")
    recorder.send_signal(signal.SIGCONT)
    time.sleep(0.3)
    ledger.stop()
    family.stop()
    wait_for(ledger.done, "the work")
    wait_for(family.done, "the children's work")
    said = stop_trace(recorder)
    contains(said, "LOST")
    profile = Profile(into / "out/sums_rank00000.h5")
    missing = losses(profile)
    print(f"{recorded(said)} recorded of {ledger.left() + family.left()}; {missing}")
    mine = {lane.tid for lane in ledger.lanes()}
    by_target = sum(t in mine for t in profile.tid.tolist())
    ring_full = missing.get("call ring full", 0)
    # The two threads alone, if nobody else fires: the children's first calls may be missed, as documented.
    check(by_target < ledger.left(), "nothing was lost: the rings are too large for this test")
    check(by_target + ring_full >= ledger.left(), f"{by_target} recorded, {ring_full} lost, {ledger.left()} made")
    check(by_target + ring_full <= ledger.left() + family.left(), "more recorded and lost than made")
    end_sums(target, ledger)
    end_sums(children, family)


def end_work(into, ledger, recorder):
    """The profile, and what is missing in it."""
    time.sleep(0.2)
    ledger.stop()
    wait_for(ledger.done, "the work")
    stop_trace(recorder)
    profile = Profile(into / "out/sums_rank00000.h5")
    return profile, losses(profile)


@everywhere
def stopped_alone(into):
    """The same without children: to the call."""
    target, ledger = start_sums(into, "run", 2, 0, 0)
    recorder = start_trace("-F", 0, "--ring-size", "1M", "-o", into / "out", pid=target.pid)
    ledger.go()
    recorder.send_signal(signal.SIGSTOP)
    time.sleep(10 if FULL else 2)
    recorder.send_signal(signal.SIGCONT)
    profile, missing = end_work(into, ledger, recorder)
    missing.pop(NOT_SEEN, None)
    equal(len(profile.start) + sum(missing.values()), ledger.left(), f"recorded and lost calls, {missing}")
    check(sum(missing.values()) > 1000, f"lost only {missing}")
    end_sums(target, ledger)


def map_often(file, times):
    for _ in range(times):
        mmap.mmap(file.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()


def strangers(into):
    """Somebody who is not recorded maps a file more often than can be noted: that is told, as what it is, and
    nothing else is missing."""
    target, ledger = start_sums(into, "run", 2, 0, 1000)
    recorder = start_trace("-F", 0, "-o", into / "out", pid=target.pid)
    ledger.go()
    recorder.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    begin = time.monotonic_ns()
    with open(SUMS, "rb") as file:
        map_often(file, MAPPINGS)
        recorder.send_signal(signal.SIGCONT)
        time.sleep(0.3)
        map_often(file, 100)  # the kernel tells what it left out before the next that it has room for
    profile, missing = end_work(into, ledger, recorder)
    equal(set(missing), {NOT_SEEN}, f"causes of losses: {missing}")
    check(missing.get(NOT_SEEN, 0) > MAPPINGS // 2, f"{MAPPINGS} mappings, and missing are {missing}")
    count, first = max(zip(profile.losses["count"], profile.losses["first_ns"]))
    check(first <= begin, f"{count} are missing only since {(first - begin) / 1e6:.1f} ms after the first could be")
    check_exact(profile, ledger)
    end_sums(target, ledger)


main(together, other_ends, stopped, stopped_alone, strangers)
