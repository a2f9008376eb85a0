#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""keeper.py - the recorder is killed just while its probes are put on or taken off, which the kernel does not
finish for a process that is being killed: so another does it, the keeper. Killed, stopped and told to end, too."""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/../lib")
from e2e import (PROGRAMS, SOURCE, SP_TRACE, check, contains, equal, everywhere, finish, main, need_root,
                 need_scope_profiler, preloaded, real_time, run, scaled, start, start_trace, stop_trace, wait_for)

need_root()
need_scope_profiler()
from recording import Profile
from sums import SUMS, check_disarmed, end_sums, start_sums

sys.path.insert(0, str(SOURCE / "tests/usdt"))
import elf

PROCESSES = 40  # of one file: the more, the longer the kernel is busy with them
KILLS = scaled(int(os.environ.get("SP_TEST_FULL") and 60 or 6))
MANY, ONE_EACH = {}, {"SP_TRACE_WITHOUT": "uprobe_multi"}


class Watched:
    """The semaphores of a process, read within microseconds."""

    def __init__(self, pid):
        notes = elf.Elf(str(SUMS)).notes()
        first = min(semaphore for _, _, _, semaphore, _ in notes)
        with open(f"/proc/{pid}/maps") as maps:
            line = next(l for l in maps if l.rstrip().endswith(str(SUMS)))
        self.at = int(line.split("-")[0], 16) + first
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)

    def value(self):
        return os.pread(self.memory, 4, self.at)

    def close(self):
        os.close(self.memory)


def keeper_of(recorder):
    def find():
        lines = run(["ps", "-o", "pid=,comm=", "--ppid", recorder.pid]).stdout.splitlines()
        return [int(l.split()[0]) for l in lines if l.split()[1] == "sp-keep"]
    return wait_for(find, "the keeper")[0]


def stopped_child_of(recorder):
    for line in run(["ps", "-o", "pid=,stat=", "--ppid", recorder.pid]).stdout.splitlines():
        if line.split()[1].startswith("T"):
            return int(line.split()[0])
    return None


def is_gone(pid):
    try:
        return "\nState:\tZ" in pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def crowd(into):
    """Processes of one file that wait: [(process, ledger)]."""
    return [start_sums(into, "run", 1, 5, 0, name=f"ledger{i}") for i in range(PROCESSES)]


def disperse(targets):
    for _, ledger in targets:
        ledger.go()
    for target, ledger in targets:
        end_sums(target, ledger)


def kill_at_change(recorder, watched, before):
    """Kills it as soon as the first semaphore is no longer what it was."""
    until = time.monotonic() + 120
    while all(w.value() == b for w, b in zip(watched, before)):
        if time.monotonic() > until:
            waits = {pid: pathlib.Path(f"/proc/{pid}/stack").read_text() for pid in (recorder.pid, keeper_of(recorder))}
            raise RuntimeError(f"no semaphore changed, while these wait: {waits}")
    time.sleep(random.uniform(0, 0.0001))
    recorder.kill()
    recorder.wait()


def put_on(into):
    targets = crowd(into)
    watched = [Watched(target.pid) for target, _ in targets[::PROCESSES // 4]]
    for i in range(KILLS):
        recorder = start([SP_TRACE, "-F", "0", "-o", into / f"out{i}", "-p", targets[0][0].pid],
                         env=os.environ | (ONE_EACH if i % 2 else MANY))
        kill_at_change(recorder, watched, [bytes(4)] * len(watched))
        for target, _ in targets:
            check_disarmed(target)
    disperse(targets)


def taken_off(into):
    targets = crowd(into)
    watched = [Watched(target.pid) for target, _ in targets[::PROCESSES // 4]]
    for i in range(KILLS):
        recorder = start_trace("-F", "0", "-o", into / f"out{i}", pid=targets[0][0].pid,
                               env=os.environ | (ONE_EACH if i % 2 else MANY))
        before = [w.value() for w in watched]
        check(all(any(b) for b in before), f"semaphores while it records: {before}")
        recorder.send_signal(signal.SIGTERM)
        kill_at_change(recorder, watched, before)
        for target, _ in targets:
            check_disarmed(target)
    disperse(targets)


@everywhere
def killed(into):
    """Without it nothing is recorded, so the recording ends, with what there is, and says so."""
    target, ledger = start_sums(into, "run", 2, 0, 1000)
    recorder = start_trace("-o", into / "out", pid=target.pid)
    ledger.go()
    time.sleep(0.3)
    os.kill(keeper_of(recorder), signal.SIGKILL)
    status, _, said = finish(recorder)
    equal(status, 1, f"status: {said}")
    contains(said, "keeps the probes, was killed", "(sp-keep was killed)")
    check(len(Profile(into / "out/sums_rank00000.h5").start) > 0, "no calls")
    check_disarmed(target)
    end_sums(target, ledger)


def stopped(into):
    """It is woken when it is needed."""
    target, ledger = start_sums(into, "run", 2, 0, 1000)
    recorder = start_trace("-o", into / "out", pid=target.pid)
    os.kill(keeper_of(recorder), signal.SIGSTOP)
    ledger.go()
    time.sleep(0.2)
    stop_trace(recorder)
    end_sums(target, ledger)


def deaf(into):
    """What else ends processes does nothing to it: signals, and a kill of the recorder's process group."""
    target, ledger = start_sums(into, "run", 2, 0, 1000)
    recorder = start_trace("-o", into / "out", pid=target.pid, start_new_session=True)
    keeper = keeper_of(recorder)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGUSR1):
        os.kill(keeper, number)
    ledger.go()
    time.sleep(0.2)
    check(recorder.poll() is None and not is_gone(keeper), "the recorder or its keeper has ended")
    os.killpg(recorder.pid, signal.SIGKILL)
    recorder.wait()
    check_disarmed(target)
    wait_for(lambda: is_gone(keeper), "the keeper to end")
    end_sums(target, ledger)


def outlived(into):
    """A process that the recorder has forked, and that does not end with it, keeps nothing on: here its command,
    which stops just before it is exec'd."""
    target, ledger = start_sums(into, "run", 1, 5, 0)
    watched = Watched(target.pid)
    recorder = start([SP_TRACE, "-o", into / "out", "--", SUMS, into / "log", "alone", 1, 5, 0],
                     env=preloaded("libinjected.so", INJECT_EXEC_STOPS="1"))
    command = wait_for(lambda: stopped_child_of(recorder), "the command to stop")
    check(any(watched.value()), "no probes were put on")
    # Nor does it hold what helpers of the recorder wait for: these five are its own.
    equal(len(os.listdir(f"/proc/{command}/fd")), 5, "descriptors of the command, not yet exec'd")
    recorder.kill()
    recorder.wait()
    check_disarmed(target)
    equal(pathlib.Path(f"/proc/{command}/comm").read_text(), "sp-trace\n", "the command, not yet exec'd")
    os.kill(command, signal.SIGKILL)
    watched.close()
    ledger.go()
    end_sums(target, ledger)


@real_time
def waited_for(into):
    """While the keeper takes long, here since it stands for a second, what runs is recorded: a ring of 1,600 calls
    would hold less than that. A machine that has no time for the recorder just then gets another try."""
    target, ledger = start_sums(into, "run", 2, 0, 0)
    ledger.go()
    for turn in range(3):
        shutil.copy(PROGRAMS / "family", into / f"late{turn}")
        stranger = start(["sh", "-c", f"read name; exec {into}/$name exit 0"], stdin=subprocess.PIPE)
        recorder = start_trace("-F", 0, "--ring-size", "64K", "-o", into / f"out{turn}", pid=f"{target.pid},{stranger.pid}")
        os.kill(keeper_of(recorder), signal.SIGSTOP)
        begin = time.monotonic_ns()
        stranger.communicate(f"late{turn}\n")
        time.sleep(max(0, 1.2 - (time.monotonic_ns() - begin) / 1e9))
        stop_trace(recorder)
        check_disarmed(target)
        end = Profile(next((into / f"out{turn}").glob("*.h5"))).end
        meanwhile = int(((end > begin + 400_000_000) & (end < begin + 900_000_000)).sum())
        if meanwhile:
            break
    check(meanwhile, "nothing was recorded while the keeper stood")
    end_sums(target, ledger)


main(put_on, taken_off, killed, stopped, deaf, outlived, waited_for)
