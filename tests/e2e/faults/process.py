#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""process.py - what may happen to a recorded process from outside: SIGKILL, SIGSTOP and SIGCONT, a debugger
that stops, steps and leaves it. Its results are right, and its calls are all there."""
import os
import signal
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/../lib")
from e2e import (PROGRAMS, SP_TRACE, check, equal, everywhere, finish, good, lost, main, need_root,
                 need_scope_profiler, start, start_trace, stop_trace, tracee_pid, wait_for)

need_root()
need_scope_profiler()
from recording import Profile
from sums import SUMS, check_disarmed, check_exact, end_sums, start_sums, wait_ledger

PTRACER = PROGRAMS / "ptracer"
CLOSED_BY_EXIT = 2


def killed(into):
    """One of two programs is killed: its calls until then are there, those it was in are marked, and the
    other's are exact."""
    doomed, short_ledger = start_sums(into, "run", 4, 0, 0, name="doomed")
    target, ledger = start_sums(into, "run", 2, 2000, 100)
    recorder = start_trace("-F", 497, "-o", into / "out", pid=f"{doomed.pid},{target.pid}")
    short_ledger.go()
    ledger.go()
    time.sleep(0.4)
    doomed.kill()
    doomed.wait()
    wait_for(ledger.done, "the work of the other")
    said = stop_trace(recorder)
    equal(lost(said), 0, "losses")
    profile = Profile(into / "out/sums_rank00000.h5")
    for lane in short_ledger.lanes():
        mine = profile.tid == lane.tid
        closed = int((profile.flags[mine] == 0).sum())
        dead = int((profile.flags[mine] & CLOSED_BY_EXIT != 0).sum())
        # Its counts stand before the begin and after the end, so each may lag behind by one at the kill.
        check(lane.left <= closed <= lane.left + 1, f"{closed} calls have ended, and the thread counted {lane.left}")
        check(lane.entered - 1 <= closed + dead <= lane.entered, f"{closed} calls and {dead} cut, of {lane.entered} begun")
        check(dead <= 2, f"{dead} calls open in one thread at its death")
    for lane in ledger.lanes():
        equal(int((profile.tid == lane.tid).sum()), lane.left, "calls of a thread of the other")
    end_sums(target, ledger)


@everywhere
def command_killed(into):
    recorder = start([SP_TRACE, "-o", into / "out", "--", SUMS, into / "ledger", "run", "2", "0", "100"])
    ledger = wait_ledger(into / "ledger")
    ledger.go()
    time.sleep(0.3)
    os.kill(tracee_pid(recorder), signal.SIGKILL)
    status, _, said = finish(recorder)
    equal(status, 128 + signal.SIGKILL, f"status: {said}")
    count = len(Profile(into / "out/sums_rank00000.h5").start)
    check(ledger.left() <= count <= ledger.entered(), f"{count} calls; {ledger.left()} ended, {ledger.entered()} begun")


def stopped(into):
    """SIGSTOP and SIGCONT, ten times: no call is lost or doubled, and one call was as long as each stop."""
    target, ledger = start_sums(into, "run", 4, 0, 0)
    recorder = start_trace("-F", 997, "-o", into / "out", pid=target.pid)
    ledger.go()
    for _ in range(10):
        target.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        target.send_signal(signal.SIGCONT)
        time.sleep(0.02)
    target.send_signal(signal.SIGSTOP)
    said = stop_trace(recorder)  # of a program that stands
    target.send_signal(signal.SIGCONT)
    equal(lost(said), 0, "losses")
    profile = Profile(into / "out/sums_rank00000.h5")
    long = ((profile.end - profile.start > 50_000_000) & (profile.flags == 0)).sum()
    check(long >= 10, f"{long} calls are as long as a stop")
    end_sums(target, ledger)
    target, ledger = start_sums(into, "run", 4, 3000, 20, name="again")
    recorder = start_trace("-F", 997, "-o", into / "again.sp", pid=target.pid)
    ledger.go()
    for _ in range(10):
        target.send_signal(signal.SIGSTOP)
        time.sleep(0.02)
        target.send_signal(signal.SIGCONT)
        time.sleep(0.01)
    wait_for(ledger.done, "the work")
    stop_trace(recorder)
    check_exact(Profile(into / "again.sp/sums_rank00000.h5"), ledger)
    end_sums(target, ledger)


def ptraced(into):
    """A debugger comes, steps through the probes, and goes; the recorder comes and goes meanwhile, too."""
    target, ledger = start_sums(into, "run", 2, 3000, 20)
    recorder = start_trace("-F", 997, "-o", into / "out", pid=target.pid)
    ledger.go()
    steps = 0
    while not ledger.done():
        said = good([PTRACER, target.pid, 3000]).stdout
        steps += int(said.split()[0])
    check(steps > 3000, f"{steps} steps")
    print(f"{steps} steps")
    equal(lost(stop_trace(recorder)), 0, "losses")
    check_exact(Profile(into / "out/sums_rank00000.h5"), ledger)
    end_sums(target, ledger)


def attached_while_ptraced(into):
    """The recorder attaches, records and leaves while a debugger holds and steps the program."""
    target, ledger = start_sums(into, "run", 2, 0, 20)
    ledger.go()
    tracer = start([PTRACER, target.pid, 1 << 30])
    time.sleep(0.1)
    recorder = start_trace("-F", 97, "-o", into / "out", pid=target.pid)
    time.sleep(0.5)
    equal(lost(stop_trace(recorder)), 0, "losses")
    check(len(Profile(into / "out/sums_rank00000.h5").start) > 5, "calls")
    check_disarmed(target)
    check(tracer.poll() is None, "the debugger left")
    tracer.send_signal(signal.SIGTERM)
    equal(finish(tracer)[0], 0, "status of the debugger")
    end_sums(target, ledger)


main(killed, command_killed, stopped, ptraced, attached_while_ptraced)
