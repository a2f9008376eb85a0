#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""clocks.py - the wall clock jumps, programs and the recorder live in time namespaces of their own, a CPU goes
and comes back: times are those of the machine's CLOCK_MONOTONIC, in order, and no call is missing.

The machine's own wall clock jumps for a few milliseconds. A CPU is taken off with SP_TEST_FULL=1 only, for a
fraction of a second, where the kernel allows it."""
import contextlib
import os
import pathlib
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/../lib")
from e2e import (SP_TRACE, check, contains, equal, everywhere, lost, main, need_root, need_scope_profiler,
                 preloaded, run, start, start_trace, stop_trace, wait_for)

need_root()
need_scope_profiler()
from journal import Journal
from recording import Profile
from sums import SUMS, Ledger, check_exact, check_sums, end_sums, start_sums

HOUR = 3600


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def check_times(profile, begin, end):
    """All within the recording, by the machine's monotonic clock."""
    check(len(profile.start) > 0, "no calls")
    check(begin < profile.start.min() and profile.end.max() < end,
          f"calls from {profile.start.min()} to {profile.end.max()}, recorded between {begin} and {end}")
    check((profile.end >= profile.start).all(), "calls end before they begin")
    start_ns, stop_ns = int(profile.meta["start_ns"]), int(profile.meta["stop_ns"])
    check(begin < start_ns < stop_ns < end, f"recorded from {start_ns} to {stop_ns}, between {begin} and {end}")


@everywhere
def wall_clock(into):
    """An hour forward and back at once, for all; and an hour forward to stay, for the recorder."""
    hour = into / "hour"
    environment = preloaded("libinjected.so", INJECT_HOUR=str(hour))
    target, ledger = start_sums(into, "run", 2, 2000, 100)
    begin = now()
    recorder = start_trace("-F", 997, "-o", into / "out", pid=target.pid, env=environment)
    ledger.go()
    time.sleep(0.1)
    wall, mono = time.clock_gettime_ns(time.CLOCK_REALTIME), now()
    try:
        time.clock_settime_ns(time.CLOCK_REALTIME, wall + HOUR * 10**9)
        time.sleep(0.005)
    except OSError as e:
        print(f"not available: setting the clock: {e}")
    finally:
        with contextlib.suppress(OSError):
            time.clock_settime_ns(time.CLOCK_REALTIME, wall + now() - mono)
    hour.touch()
    wait_for(ledger.done, "the work")
    equal(lost(stop_trace(recorder)), 0, "losses")
    profile = Profile(into / "out/sums_rank00000.h5")
    check_exact(profile, ledger)
    check_times(profile, begin, now())
    end_sums(target, ledger)


def namespaces(into):
    """The command, and the recorder with it, in a time namespace whose clocks are far ahead."""
    unshare = ["unshare", "-T", "--fork", "--monotonic", 100000, "--boottime", 100000]
    if run([*unshare, "true"]).returncode:
        print("not available: time namespaces")
        return
    for name, command in (("command", [SP_TRACE, "-F", 997, "-o", into / "command", "--", *unshare]),
                          ("recorder", [*unshare, SP_TRACE, "-F", 997, "-o", into / "recorder", "--"])):
        begin = now()
        done = run([*command, SUMS, into / f"{name}.ledger", "alone", 2, 500, 100])
        equal((done.returncode, lost(done.stderr)), (0, 0), f"status and losses: {done.stderr}")
        ledger = Ledger(into / f"{name}.ledger")
        check_sums(ledger)
        [file] = (into / name).glob("*_rank00000.h5")
        profile = Profile(file)
        check_exact(profile, ledger)
        check_times(profile, begin, now())
        check(len(profile.sample_time) > 0, "no samples")
        # What was still open at the end of a recording gets its end from the recorder's clock.
    target, ledger = start_sums(into, "run", 2, 0, 100)
    ledger.go()
    begin = now()
    done = run([*unshare, SP_TRACE, "-F", 97, "--duration", "300ms", "-o", into / "open", "-p", target.pid])
    equal(done.returncode, 0, f"status: {done.stderr}")
    profile = Profile(into / "open/sums_rank00000.h5")
    check_times(profile, begin, now())
    check((profile.end - profile.start).max() < 10**9, "a call of a second in 0.3 s")
    end_sums(target, ledger)


def cpu_unplugged(into):
    """A CPU goes and comes back while threads run on it: their calls, and the samples after it, are there."""
    switch = pathlib.Path("/sys/devices/system/cpu/cpu1/online")
    if not os.environ.get("SP_TEST_FULL"):
        print("not tried: only with SP_TEST_FULL=1")
        return
    if not os.access(switch, os.W_OK) or switch.read_text().strip() != "1":
        print("not available: this machine's CPU 1 cannot be taken off")
        return
    target, ledger = start_sums(into, "run", 4, 0, 2000)
    busy = [start(["sh", "-c", "while :; do :; done"]) for _ in range(4)]
    pids = ",".join(str(p.pid) for p in (target, *busy))
    recorder = start_trace("-F", 497, "--keep-journal", "-o", into / "out", pid=pids)
    ledger.go()
    time.sleep(0.3)
    try:
        switch.write_text("0")
        time.sleep(0.3)
    except OSError as e:
        print(f"not available: taking CPU 1 off: {e}")
    finally:
        with contextlib.suppress(OSError):
            switch.write_text("1")
    equal(switch.read_text().strip(), "1", "CPU 1")
    back = now()
    time.sleep(2.2)  # it is looked for once a second
    ledger.stop()
    wait_for(ledger.done, "the work")
    said = stop_trace(recorder)
    equal(lost(said), 1, "losses: samples, nobody knows how many")
    contains(said, "CPU 1 was off and is back", "1 × mapping not seen")
    [file] = (into / "out").glob("*_rank00000.h5")
    check_exact(Profile(file), ledger)
    late = [e["cpu"] for e in Journal(into / "out/journal.spj").events()
            if e["event"] == "sample" and e["time"] > back + 1.1 * 10**9]
    check(late.count(1) > 50, f"{late.count(1)} of {len(late)} samples are of the CPU that came back")
    for process in busy:
        process.kill()
    end_sums(target, ledger)


main(wall_clock, namespaces, cpu_unplugged)
