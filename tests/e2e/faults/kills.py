#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""kills.py - the recorder is killed at random moments, from its first instant on: what it wrote is
recovered, whole, its own processes are gone, and the program knows nothing of it.

20 times, with SP_TEST_FULL=1 200 times; SP_SEED repeats a run."""
import os
import pathlib
import random
import signal
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/../lib")
from e2e import (EMULATED, SP_REPORT, SP_TRACE, check, contains, equal, files, main, need_root,
                 need_scope_profiler, run, scaled, semaphores, start, start_trace, stop_trace, wait_for)

need_root()
need_scope_profiler()
from journal import Journal
from recording import Profile
from sums import SUMS, ZERO, check_disarmed, check_sums, end_sums, start_sums, wait_ledger

FULL = bool(os.environ.get("SP_TEST_FULL"))
KILLS = scaled(200 if FULL else 20, least=6)
SECONDS = 6.0 if EMULATED else 1.0  # in which one that starts a command is killed
THREADS = 3
OPTIONS = [["-F", "997"], ["-F", "0"], ["--breakpoints"], ["-F", "499", "--stacks", "dwarf,1024"], ["-F", "99", "-k"]]


def children(pid):
    """(pid, name) of each, the dead ones too."""
    found = []
    for line in run(["ps", "-o", "pid=,comm=", "--ppid", pid]).stdout.splitlines():
        child, name = line.split(maxsplit=1)
        found.append((int(child), name))
    return found


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def is_command(pid):
    """Also one that was let go, but not yet run, when the recorder was killed."""
    try:
        return pathlib.Path(f"/proc/{pid}/exe").readlink() == SUMS
    except OSError:
        return False


def kill(recorder):
    """Kills it with nothing between, and waits for what it had started. Gives the pids of its command."""
    recorder.send_signal(signal.SIGSTOP)
    family = children(recorder.pid)
    recorder.kill()
    recorder.wait()
    wait_for(lambda: all(is_command(p) or not alive(p) for p, _ in family), f"the recorder's own processes {family} to end", 30)
    return [pid for pid, _ in family if is_command(pid)]


def check_recovered(into, most):
    """What stands in whole blocks is in the files. Gives the number of calls."""
    path = into / "out/journal.spj"
    if not path.exists() or path.stat().st_size == 0:
        return 0
    journal = Journal(path)
    done = run([SP_REPORT, "recover", "-q", "-o", into / "saved", path])
    if not journal.blocks:
        equal(done.returncode, 1, "status of recover without a whole block")
        contains(done.stderr, "nothing can be recovered")
        return 0
    equal(done.returncode, 0, f"status of recover: {done.stderr}")
    equal(path.exists(), journal.count("end") == 0, "the journal is kept, since its recorder died")
    calls, samples = journal.calls(), journal.count("sample")
    made = [f for f in files(into / "saved") if f.endswith(".h5")] if (into / "saved").exists() else []
    profile = Profile(into / "saved" / made[0]) if made else None
    seen = (len(profile.start), len(profile.sample_time)) if profile else (0, 0)
    equal(seen, (len(calls), samples), "calls and samples recovered, and in whole blocks")
    check(len(calls) <= most, f"{len(calls)} calls, and the program made {most}")
    if calls:
        verified = run([SP_REPORT, "verify", into / "saved" / made[0]])
        check(verified.returncode in (0, 3), f"verify: {verified.stdout}{verified.stderr}")
    return len(calls)


def attached(into):
    """A program that runs through all of them."""
    seed = os.environ.get("SP_SEED") or str(time.time_ns())
    print(f"SP_SEED={seed}")
    chance, total, recorded = random.Random(seed), 0, 0
    target, ledger = start_sums(into, "run", THREADS, 0, 2000)
    ledger.go()
    begin = time.monotonic()
    stop_trace(start_trace("-F", 99, "-o", into / "whole", pid=target.pid))
    most_wait = time.monotonic() - begin  # follows the machine: some get to record, others do not
    for i in range(KILLS):
        before = ledger.left()
        (into / str(i)).mkdir()
        recorder = start([SP_TRACE, *OPTIONS[i % len(OPTIONS)], "-o", into / str(i) / "out", "-p", target.pid])
        time.sleep(chance.uniform(0, most_wait))
        check(recorder.poll() is None, "the recorder ended by itself")
        kill(recorder)
        most = ledger.entered() - before + 4 * THREADS
        check_disarmed(target)
        calls = check_recovered(into / str(i), most)
        total += calls
        recorded += calls > 0
        most_wait *= 0.8 if calls else 1.3
    print(f"{KILLS} kills, of which {recorded} while it recorded; {total} calls recovered")
    check(recorded >= max(1, KILLS // 10), "most recorders were killed before they recorded")
    end_sums(target, ledger)


def launched(into):
    """The command is never run, or runs to its right end."""
    started = 0
    for i in range(max(4, KILLS // 10)):
        (into / str(i)).mkdir()
        path = into / str(i) / "ledger"
        recorder = start([SP_TRACE, "-F", "997", "-o", into / str(i) / "out", "--", SUMS, path, "run", "2", "100", "2000"])
        time.sleep(SECONDS * (1 + i % 10) / 10 if i else 0)
        if i % 2:
            wait_ledger(path).go()
            time.sleep(0.1)
        pids = kill(recorder)
        if not path.exists():
            continue
        started += 1
        ledger = wait_ledger(path)
        ledger.go()
        wait_for(ledger.done, "the command's work")
        for pid in pids:
            wait_for(lambda: semaphores(pid, SUMS) == ZERO, "semaphores back to 0", 60)
        check_sums(ledger)
        equal((ledger.left(), len(ledger.lanes())), (800, 2), "calls and threads of the command")
        check_recovered(into / str(i), 800)
        ledger.leave()
        wait_for(lambda: not any(alive(p) for p in pids), "the command to end")
    check(started >= 2, f"the command ran {started} times")


def at_the_end(into):
    """While it takes its probes off and converts: the journal is whole, with its end, or the files are there.
    keeper.py has more of the probes."""
    target, ledger = start_sums(into, "run", THREADS, 0, 2000)
    ledger.go()
    for i, delay in enumerate((0, 0.003, 0.01, 0.03, 0.1)):
        before = ledger.left()
        recorder = start_trace("-F", 997, "-o", into / str(i) / "out", pid=target.pid)
        time.sleep(0.2)
        recorder.send_signal(signal.SIGTERM)
        time.sleep(delay)
        kill(recorder)
        check_disarmed(target)
        names = files(into / str(i) / "out")
        if "journal.spj" in names:
            check(check_recovered(into / str(i), ledger.entered() - before) > 0, "no calls")
        else:
            equal([n.rpartition(".")[2] for n in names], ["h5", "sps"], "files without a journal")
    end_sums(target, ledger)


main(attached, launched, at_the_end)
