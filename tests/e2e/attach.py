#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""attach.py - attaching to a running program and leaving it: twice in a row, two recorders at once,
the target killed inside a region, the recorder killed. What is recorded of each thread is a gapless
part of the calls that the program stamped, and the semaphores are 0 afterwards."""
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (LONG, PROGRAMS, SP_REPORT, SP_TRACE, all_zero, check, contains, equal, everywhere, files, finish, good, lost,
                 main, need_root, need_scope_profiler, run, semaphores, start, start_trace, stop_trace, trace,
                 wait_for)

need_root()
need_scope_profiler()
from recording import Profile, text
from stamps import compare_lane, ready

CALLS = PROGRAMS / "calls"
THREADS = 2
BEGAN_BEFORE = 1 << 5  # of calls that were open when the recording began
WORK = 20_000  # rounds in a call, some 20 µs: the log must not be full before the test is over


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def start_target(into):
    target = start([CALLS, into / "log", THREADS, 0, WORK])
    log = wait_for(lambda: ready(into / "log"), "the program's log")
    wait_for(lambda: log.total() > 1000, "the program's first calls")
    equal(semaphores(target.pid, CALLS), {"begin": 0, "end": 0}, "semaphores before")
    return target, log


def end_target(target, log):
    log.stop()
    status, out, _ = finish(target)
    equal(status, 0, "status of the program")
    return out


def armed(pid):
    return all(semaphores(pid, CALLS).values())


def compare(log, path, begin, end, until=None):
    """All threads' calls between two times are there, at least, and each once. `until`: as in stamps."""
    profile = Profile(path)
    for lane in range(THREADS):
        first, last = compare_lane(profile, log, lane, whole=False, until=until)
        stamps = log.stamps(lane)
        inside = (stamps["before_begin"] > begin) & (stamps["after_end"] < end) & (stamps["after_end"] > 0)
        wanted = inside.nonzero()[0]
        check(len(wanted) > 100, f"only {len(wanted)} calls of lane {lane} in the time of the recording")
        check(len(wanted) and first <= wanted[0] and wanted[-1] < last,
              f"lane {lane}: slots {wanted[0]} to {wanted[-1]} must be there; {first} to {last} are")
    return profile


def twice(into):
    target, log = start_target(into)
    for name in ("one", "two"):
        recorder = start_trace("-o", into / name, pid=target.pid)
        begin = now()
        check(armed(target.pid), "semaphores are not raised while recording")
        listed = good([SP_TRACE, "--list", "-p", target.pid]).stdout
        contains(listed, "4 regions, armed: a recorder is attached", "middle: 100 %, {a|b}", "calls.c:", "a,b")
        time.sleep(1)
        end = now()
        said = stop_trace(recorder)
        equal(lost(said), 0, f"losses of recording {name}")
        wait_for(lambda: all_zero(target.pid, CALLS), f"semaphores back to 0 after recording {name}", 10)
        compare(log, into / name / "calls_rank00000.h5", begin, end)
        equal(files(into / name), ["calls_rank00000.h5", "calls_rank00000.sps"], "files")
    contains(good([SP_TRACE, "--list", "-p", target.pid]).stdout, "4 regions, not armed")
    end_target(target, log)


def two_at_once(into):
    """Different options; the end of the first leaves the second alone."""
    target, log = start_target(into)
    first = start_trace("-F", 0, "--formats", "h5,spt", "-o", into / "one", pid=target.pid)
    begin_first = now()
    second = start_trace("-F", 499, "-o", into / "two", pid=target.pid)
    begin_second = now()
    time.sleep(1)
    end_first = now()
    equal(lost(stop_trace(first)), 0, "losses of the first")
    check(armed(target.pid), "the end of the first recorder has disarmed the second")
    time.sleep(1)
    end_second = now()
    equal(lost(stop_trace(second)), 0, "losses of the second")
    wait_for(lambda: all_zero(target.pid, CALLS), "semaphores back to 0", 10)
    one = compare(log, into / "one/calls_rank00000.h5", begin_first, end_first)
    two = compare(log, into / "two/calls_rank00000.h5", begin_second, end_second)
    equal(len(one.sample_time), 0, "samples at -F 0")
    check(len(two.sample_time) > 100, f"{len(two.sample_time)} samples at 499 Hz")
    equal(files(into / "one"), ["calls_rank00000.h5", "spt"], "files of the first")
    end_target(target, log)


def several_pids(into):
    """-p with two programs, one of which ends earlier."""
    (into / "a").mkdir()
    (into / "b").mkdir()
    a, log_a = start_target(into / "a")
    b, log_b = start_target(into / "b")
    recorder = start_trace("-o", into / "out", pid=f"{a.pid},{b.pid}")
    begin = now()
    time.sleep(0.5)
    end = now()
    end_target(a, log_a)
    time.sleep(0.3)
    end_target(b, log_b)
    status, _, said = finish(recorder)
    equal(status, 0, "status when the targets ended")
    equal(lost(said), 0, "losses")
    contains(said, "the program ended")
    for log in (log_a, log_b):
        compare(log, into / "out/calls_rank00000.h5", begin, end)


def with_children(into):
    """-p of a shell records what it started before, grandchildren too, and starts later."""
    script = (f"{CALLS} {into}/log1 {THREADS} 0 {WORK} & (sh -c '{CALLS} {into}/log2 {THREADS} 0 {WORK} & wait' & wait) & "
              f"while ! [ -e {into}/more ]; do sleep 0.05; done; {CALLS} {into}/log3 1 3000 100; wait")
    shell = start(["sh", "-c", script])
    logs = [wait_for(lambda i=i: ready(into / f"log{i}"), f"log {i}") for i in (1, 2)]
    wait_for(lambda: all(log.total() > 1000 for log in logs), "the first calls")
    recorder = start_trace("-o", into / "out", pid=shell.pid)
    begin = now()
    (into / "more").touch()
    third = wait_for(lambda: ready(into / "log3"), "the third program's log")
    wait_for(lambda: third.total() >= 3000, "the third program's calls")
    time.sleep(0.5)
    end = now()
    said = stop_trace(recorder)
    equal(lost(said), 0, "losses")
    (h5,) = [f for f in files(into / "out") if f.endswith(".h5")]
    for log in logs:
        compare(log, into / "out" / h5, begin, end)
        log.stop()
    profile = Profile(into / "out" / h5)
    compare_lane(profile, third, 0)  # all of it, since its file was armed before
    equal(finish(shell)[0], 0, "status of the shell")


def launcher_killed(into):
    """sp-trace is killed while its command runs: the command does not notice, the journal is good."""
    recorder = start([SP_TRACE, "-o", into / "out", "--", CALLS, into / "log", THREADS, 0, WORK])
    log = wait_for(lambda: ready(into / "log"), "the program's log")
    time.sleep(1)
    end = now()
    recorder.kill()
    total = log.total()
    pid = int(log.lanes[0]["pid"])
    wait_for(lambda: log.total() > total + 100, "the program going on")
    wait_for(lambda: all_zero(pid, CALLS), "semaphores back to 0", 60)
    log.stop()
    wait_for(lambda: not os.path.exists(f"/proc/{pid}") or open(f"/proc/{pid}/stat").read().split()[2] == "Z", "its end")
    good([SP_REPORT, "recover", "-q", into / "out/journal.spj"])
    profile = Profile(into / "out/calls_rank00000.h5")
    for lane in range(THREADS):
        first, last = compare_lane(profile, log, lane, whole=False, until=end - 300_000_000)
        equal(first, 0, f"first call of lane {lane}")
        check(last > 1000, f"{last} calls of lane {lane}")


@everywhere
def target_killed(into):
    """Calls that were open when the program died end with it, and are marked."""
    target, log = start_target(into)
    recorder = start_trace("-o", into / "out", pid=target.pid)
    begin = now()
    time.sleep(0.5)
    end = now()
    target.kill()
    status, _, said = finish(recorder)
    equal(status, 0, "status")
    equal(lost(said), 0, "losses")
    contains(said, "the program ended")
    profile = compare(log, into / "out/calls_rank00000.h5", begin, end)
    dead = 1 << 1
    for lane in range(THREADS):
        stamps = log.stamps(lane)
        mine = profile.tid == int(log.lanes[lane]["tid"])
        open_then = int((stamps["after_end"] == 0).sum())  # at most one of them between stamp and probe
        marked = int((profile.flags[mine] == dead).sum())
        check(open_then - 1 <= marked <= open_then, f"{marked} calls are marked, {open_then} were open")
        check(set(profile.flags[mine].tolist()) <= {0, dead, BEGAN_BEFORE}, "other flags")


def recorder_killed(into):
    """The program goes on, its semaphores fall, and the journal holds all up to the last drain."""
    target, log = start_target(into)
    recorder = start_trace("-o", into / "out", pid=target.pid)
    begin = now()
    time.sleep(1)
    end = now()
    recorder.kill()
    recorder.wait()
    equal(files(into / "out"), ["journal.spj"], "what a killed recorder leaves")
    wait_for(lambda: all_zero(target.pid, CALLS), "semaphores back to 0 after the recorder was killed", 60)
    done = good([SP_REPORT, "recover", into / "out/journal.spj"])
    print(done.stderr, end="")
    equal(files(into / "out"), ["calls_rank00000.h5", "calls_rank00000.sps", "journal.spj"],
          "files, and the journal, which is kept since it has no end")
    # The recorder drains every 2 to 20 ms when it gets a processor; a thread's last calls may lie in
    # the rings of two processors, of which one was drained.
    last_drain = end - 300_000_000
    profile = compare(log, into / "out/calls_rank00000.h5", begin, last_drain - 200_000_000, last_drain)
    equal(int(profile.meta["recorder_died"]), 1, "recorder_died in the file")
    total = log.total()
    wait_for(lambda: log.total() > total + 100, "the program going on")
    log.stop()
    status, _, _ = finish(target)
    equal(status, 0, "status of the program")
    again = start([CALLS, into / "log2", THREADS, 0, WORK])  # nothing is left armed
    log = wait_for(lambda: ready(into / "log2"), "the program's log")
    check(all_zero(again.pid, CALLS), "a program started later is still traced")
    end_target(again, log)


@everywhere
def since(into):
    """Calls from before begin when the probes of all that ran were on, in a forked child with the fork; those of a
    library that is armed later begin at a time that nobody knows: none is made up, and none around them is cut."""
    libraries = [shutil.copy(PROGRAMS / "libsincelib.so", into / name) for name in ("lib.so", "late.so", "later.so")]
    target = start([PROGRAMS / "since", *libraries], stdin=subprocess.PIPE)
    equal(target.stdout.readline(), "ready\n", "what the program says")
    recorder = start_trace("-F", 0, "-o", into / "out", pid=target.pid)
    out, _ = target.communicate("\n", timeout=LONG)
    off, before_fork, in_child = map(int, out.split())
    equal(finish(recorder)[0], 0, "status")
    p = Profile(into / "out/since_rank00000.h5")
    rows = {(p.names[p.region[i]], int(p.tid[i]) == target.pid): i for i in range(len(p.start))}
    equal((sorted(rows), len(p.start)), ([("around", True), ("library", True), ("program", False), ("program", True)], 4),
          "calls, and whether the program itself made them")
    library, program, child = rows["library", True], rows["program", True], rows["program", False]
    equal((p.flags[[library, program, child]].tolist(), int(p.flags[rows["around", True]])), ([BEGAN_BEFORE] * 3, 0), "flags")
    late = [off - int(p.start[i]) for i in (library, program)]
    check(max(late) <= 0, f"calls from before begin {[n / 1e6 for n in late]} ms before their probes were on")
    check(before_fork <= p.start[child] <= in_child, f"the child's call begins {p.start[child] - before_fork} ns after the fork")
    equal(int(p.child[program]), int(p.end[library] - p.start[library]), "child time of the outer call")
    losses = list(zip(text(p.losses["cause"]), p.losses["count"]))
    equal(sum(n for cause, n in losses if cause == "end without a begin"), 2, f"ends of the late libraries, in {losses}")


def no_process(into):
    """A process that is gone; one that is ours to see, but a kernel thread."""
    child = start(["true"])
    child.wait()
    done = trace("-o", into / "out", "-p", child.pid)
    equal(done.returncode, 1, "status")
    contains(done.stderr, f"no process {child.pid}", "pgrep")
    check(not os.path.exists(into / "out"), "a directory was left behind")
    both = trace("-o", into / "out", "-p", f"{os.getpid()},{child.pid}", "--duration", "1s")
    equal(both.returncode, 1, "status with one of two gone")


def without_regions(into):
    """A program without probes is sampled, and its user is told how to add regions."""
    target = start(["sh", "-c", "while :; do :; done"])
    done = trace("-F", 499, "--duration", "1s", "-o", into / "out", "-p", target.pid)
    equal(done.returncode, 0, "status")
    contains(done.stderr, "has no regions; only samples are taken", "SP_REGION_BEGIN")
    found = [f for f in files(into / "out") if f.endswith(".h5")]
    equal(len(found), 1, "HDF5 files")
    profile = Profile(into / "out" / found[0])
    equal(len(profile.start), 0, "calls")
    check(len(profile.sample_time) > 20, f"{len(profile.sample_time)} samples of a busy loop")
    check(run(["kill", "-0", target.pid]).returncode == 0, "the program is gone")
    target.send_signal(signal.SIGKILL)


main(twice, two_at_once, several_pids, with_children, launcher_killed, target_killed, recorder_killed, since, no_process,
     without_regions)
