#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ending.py - whatever ends a recording: time, size, disk, Ctrl-C, SIGTERM, at rest and under load. It
stops at once, says why, writes its files, and the command lives or dies as if untraced."""
import contextlib
import os
import pty
import re
import select
import signal
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (PROGRAMS, SLOWER, SP_REPORT, SP_TRACE, check, contains, equal, everywhere, files, finish, good, lost,
                 main, need_root, need_scope_profiler, recorded, scaled, start, start_trace, stop_trace, trace,
                 tracee_pid, wait_for)

need_root()
need_scope_profiler()
import numpy as np
from recording import Profile
from stamps import Log, ready

FAMILY = str(PROGRAMS / "family")
CALLS = str(PROGRAMS / "calls")
MANY = scaled(400_000, least=60_000)  # calls of a thread, for megabytes of journal
FILLING = scaled(400_000, least=250_000)  # of each of two, which the disks here have no room for


@everywhere
def duration(into):
    """The recording ends, its files are complete, the command goes on to its own end."""
    recorder = start([SP_TRACE, "--duration", "500ms", "-o", into / "out", "--", "sh", "-c",
                      f"{FAMILY} sleep 200; while ! [ -e {into}/go ]; do sleep 0.05; done; exit 6"])
    wait_for(lambda: (into / "out").exists() and files(into / "out") == ["sh_rank00000.h5", "sh_rank00000.sps"],
             "the files")
    check(recorder.poll() is None, "sp-trace ended before its command")
    (into / "go").touch()
    status, _, said = finish(recorder)
    equal(status, 6, "status, the command's")
    contains(said, "--duration is over")
    profile = Profile(into / "out/sh_rank00000.h5")
    length = int(profile.meta["stop_ns"]) - int(profile.start.min())
    check(100e6 < length < 500e6 + 1e9 * SLOWER, f"the recording went on for {length / 1e6:.0f} ms instead of 500")
    check(5 < len(profile.start) < 150, f"{len(profile.start)} calls of 10 ms")


def in_terminal(into, action):
    """Runs the looping program under sp-trace in a terminal of its own; gives status and all text."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(SP_TRACE, [SP_TRACE, "-o", str(into / "out"), "--", FAMILY, "loop"])
    text, until, acted = b"", time.monotonic() + 30 * SLOWER, False
    while time.monotonic() < until:
        ready_now, _, _ = select.select([terminal], [], [], 0.1)
        if ready_now:
            try:
                text += os.read(terminal, 65536)
            except OSError:  # the terminal is closed when all have ended
                break
        if b"looping" in text and b"events/s" in text and not acted:
            acted = True
            action(terminal, pid)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), text.decode(errors="replace")


def control_c(into):
    """The command gets the one SIGINT of the terminal, and ends in its own way."""
    status, text = in_terminal(into, lambda terminal, pid: os.write(terminal, b"\x03"))
    equal(status, 5, "status, the command's")
    contains(text, "SIGINT 1 SIGTERM 0", "events/s", "calls", "lost", "(interrupted)")
    check(Profile(into / "out/family_rank00000.h5").count().get("child", 0) > 0, "no calls")


def terminated(into):
    """SIGTERM to sp-trace alone is passed on to the command."""
    recorder = start([SP_TRACE, "-o", into / "out", "--", FAMILY, "loop"])
    tracee_pid(recorder)
    time.sleep(0.5)
    recorder.send_signal(signal.SIGTERM)
    status, out, said = finish(recorder)
    equal(status, 5, "status, the command's")
    contains(out, "SIGINT 0 SIGTERM 1")
    contains(said, "(terminated)")
    check(Profile(into / "out/family_rank00000.h5").count().get("child", 0) > 0, "no calls")
    second = start([SP_TRACE, "-o", into / "two", "--", "sleep", "60"])
    tracee_pid(second)
    second.send_signal(signal.SIGTERM)
    status, _, said = finish(second)
    equal(status, 128 + signal.SIGTERM, "status of a command that SIGTERM killed")


def in_group(into):
    """What is sent to the whole process group (timeout, kill -TERM -PGID) reaches the command once."""
    command = [SP_TRACE, "-F", "0", "-o", into / "out", "--", FAMILY, "loop"]
    for how, words in (("kill", command), ("timeout", ["timeout", "3600", *command]),
                       ("to sp-trace alone", ["timeout", "--foreground", "3600", *command])):
        recorder = start(words, start_new_session=True)
        equal(recorder.stdout.readline(), "looping\n", "the command")
        if how == "kill":
            os.killpg(recorder.pid, signal.SIGTERM)
        else:
            recorder.send_signal(signal.SIGTERM)  # which timeout sends on, as when the time is over
        status, out, said = finish(recorder)
        equal(status, 5, f"{how}: status, the command's")
        contains(out, "SIGINT 0 SIGTERM 1")
        contains(said, "(terminated)")
        good(["rm", "-r", into / "out"])


def all_at_once(into):
    """Ctrl-C ends the threads while it ends the recording: the calls that they are in are there all the same."""
    for i in range(3):
        recorder = start([SP_TRACE, "-F", "0", "-o", into / f"out{i}", "--", PROGRAMS / "held", 400],
                         start_new_session=True)
        equal(recorder.stdout.readline(), "held\n", "the command")
        os.killpg(recorder.pid, signal.SIGINT)
        status, _, said = finish(recorder)
        equal(status, 128 + signal.SIGINT, "status, the command's")
        equal(recorded(said), (400, 0), "calls and samples")
        profile = Profile(into / f"out{i}/held_rank00000.h5")
        equal((len(set(profile.id.tolist())), len(set(profile.tid.tolist()))), (400, 400), "calls, and their threads")


def early(into):
    """Before anything was recorded: nothing is started, nothing left behind, and that is all there is to say."""
    for i in range(8):
        number = (signal.SIGINT, signal.SIGTERM)[i % 2]
        recorder = start([SP_TRACE, "-o", into / "out", "--", "touch", into / "started"], start_new_session=True)
        wait_for(lambda: int(open(f"/proc/{recorder.pid}/status").read().split("SigBlk:")[1].split()[0], 16) >> 14 & 1,
                 "a recorder that listens")
        time.sleep(0.05 * i)
        os.killpg(recorder.pid, number)
        status, _, said = finish(recorder)
        if "recording ended" in said:  # so late
            break
        equal(status, 128 + number, "status")
        equal(said, f"sp-trace: {('interrupted', 'terminated')[i % 2]} before the recording began: nothing was started\n",
              "what is said")
        check(not (into / "started").exists(), "the command was started")
        check(not (into / "out").exists(), "a directory was left behind")
    check(i > 0, "no signal came before the recording began")


def stubborn(into):
    """A command that ignores the signal: the recording ends and is converted; sp-trace waits for the
    command, until a second signal."""
    recorder = start([SP_TRACE, "-o", into / "out", "--", "sh", "-c",
                      f"trap '' INT TERM; {FAMILY} sleep 1; echo up; exec sleep {5 * SLOWER}"])
    wait_for(lambda: recorder.stdout.readline() == "up\n", "the command")
    recorder.send_signal(signal.SIGTERM)
    wait_for(lambda: files(into / "out") == ["sh_rank00000.h5", "sh_rank00000.sps"], "the files", 4)
    check(recorder.poll() is None, "sp-trace did not wait for its command")
    recorder.send_signal(signal.SIGTERM)
    equal(recorder.wait(3 * SLOWER), 128 + signal.SIGTERM, "status after a second signal")


def hung_up(into):
    """The terminal goes away: as SIGTERM."""
    recorder = start([SP_TRACE, "-o", into / "out", "--", FAMILY, "sleep", "500"])
    tracee_pid(recorder)
    time.sleep(0.3)
    recorder.send_signal(signal.SIGHUP)
    equal(finish(recorder)[0], 128 + signal.SIGHUP, "status of a command that SIGHUP killed")
    check(Profile(into / "out/family_rank00000.h5").count().get("sleep", 0) > 5, "calls")


def late_signal(into):
    """The first signal after the end of the recording goes to the command, too."""
    recorder = start([SP_TRACE, "--duration", "100ms", "-o", into / "out", "--", FAMILY, "loop"])
    wait_for(lambda: (into / "out/family_rank00000.h5").exists(), "the files")
    recorder.send_signal(signal.SIGTERM)
    status, out, _ = finish(recorder)
    equal(status, 5, "status, the command's")
    contains(out, "SIGINT 0 SIGTERM 1")


def ignored(into):
    """What was ignored when it started (nohup, an & in a script) ends neither recording nor command; SIGTERM does."""
    numbers = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)

    def ignore():
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)

    recorder = start([SP_TRACE, "-o", into / "out", "--", FAMILY, "sleep", "3000"], preexec_fn=ignore)
    pid = tracee_pid(recorder)
    for number in numbers:
        recorder.send_signal(number)
        os.kill(pid, number)
    asked = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    time.sleep(0.5 * SLOWER)
    recorder.send_signal(signal.SIGTERM)
    status, _, said = finish(recorder)
    equal(status, 128 + signal.SIGTERM, "status of a command that SIGTERM killed")
    contains(said, "(terminated)")
    later = int(Profile(into / "out/family_rank00000.h5").end.max()) - asked
    check(later > 200e6, f"the last call ended {later / 1e6:.0f} ms after what was to be ignored")


def closed_terminal(into):
    """sp-trace leads the session of a terminal that is closed (ssh -t): the kernel tells it alone, and it tells all
    in the command's group."""
    for name, command in (("family", [FAMILY, "sleep", "1500"]),
                          ("sh", ["sh", "-c", f"trap : HUP; {FAMILY} sleep 1500; exit $?"])):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(SP_TRACE, [SP_TRACE, "-o", str(into / name), "--", *command])
        text = ""
        while not re.search(r"\d\d calls", text):  # the line of progress
            text += os.read(terminal, 65536).decode(errors="replace")
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
        equal(os.waitstatus_to_exitcode(status), 128 + signal.SIGHUP, f"status of a command that SIGHUP killed ({name})")
        check(Profile(into / f"{name}/{name}_rank00000.h5").count().get("sleep", 0) > 5, "calls")


def under_load(into):
    """Four threads at full speed: recording stops within a second of the signal, with nothing lost."""
    target = start([CALLS, into / "log", 4, 0, 0, "wait"])
    log = wait_for(lambda: ready(into / "log"), "the program's log")
    recorder = start_trace("-F", 997, "-o", into / "out", pid=target.pid)
    log.go()
    time.sleep(1.5)
    asked = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    said = stop_trace(recorder)
    profile = Profile(into / "out/calls_rank00000.h5")
    late = int(profile.meta["stop_ns"]) - asked
    check(0 < late < 1e9 * SLOWER, f"recording stopped {late / 1e6:.0f} ms after SIGTERM")
    check(int(profile.end.max()) <= int(profile.meta["stop_ns"]), "calls end after the end of the recording")
    check(len(profile.start) > scaled(100_000), f"only {len(profile.start)} calls")
    equal(lost(said), 0, "losses")
    open_then = profile.flags == 8
    check(1 <= open_then.sum() <= 4 * 16, f"{open_then.sum()} calls were open")
    equal(set(profile.end[open_then].tolist()), {int(profile.meta["stop_ns"])}, "ends of calls that were open")
    log.stop()
    equal(finish(target)[0], 0, "status of the program")
    stop = int(profile.meta["stop_ns"])
    for lane in range(4):
        stamps = log.stamps(lane)
        rows = np.flatnonzero(open_then & (profile.tid == log.lanes["tid"][lane]))
        ends = stamps["after_end"][np.searchsorted(stamps["before_begin"], profile.start[rows], side="right") - 1]
        check(((ends == 0) | (ends > stop)).all(), f"calls of thread {lane} had ended when the recording did: {stop - ends} ns before")


def no_samples(into):
    done = trace("-F", 0, "-o", into / "out", "--", FAMILY, "exit", 0)
    equal(done.returncode, 0, "status")
    equal(recorded(done.stderr), (1, 0), "calls and samples")
    profile = Profile(into / "out/family_rank00000.h5")
    equal((len(profile.start), len(profile.sample_time)), (1, 0), "calls and samples")


def size(into):
    """--max-size: the journal does not grow far beyond; the command goes on."""
    done = trace("-F", 0, "--max-size", "1M", "--keep-journal", "-o", into / "out", "--", CALLS, into / "log", 2, MANY, 0)
    equal(done.returncode, 0, "status")
    contains(done.stderr, "the journal reached --max-size")
    length = (into / "out/journal.spj").stat().st_size
    check(1e6 < length < 24e6, f"the journal has {length} bytes")  # looked at four times a second
    profile, log = Profile(into / "out/calls_rank00000.h5"), Log(into / "log")
    check(1000 < len(profile.start) < log.total(), f"{len(profile.start)} calls of {log.total()}")


def with_disk(into, megabytes, test):
    disk = into / "disk"
    disk.mkdir()
    good(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", disk])
    try:
        test(disk)
    finally:
        good(["umount", "-l", disk])


def disk_use(into):
    """Recording ends when the disk is as full as was allowed, and does not begin if it is."""
    def test(disk):
        (disk / "ballast").write_bytes(bytes(40 << 20))
        done = trace("-F", 0, "--max-disk-use", 21, "-o", disk / "out", "--", CALLS, into / "log", 2, FILLING, 0)
        equal(done.returncode, 0, "status")
        contains(done.stderr, "the disk is 2", "% full")
        check(1000 < len(Profile(disk / "out/calls_rank00000.h5").start) < Log(into / "log").total(), "calls")
        done = trace("--max-disk-use", 15, "-o", disk / "no", "--", "touch", into / "started")
        equal(done.returncode, 1, "status where it is too full already")
        contains(done.stderr, "already", "-o DIR", "--max-disk-use 100")
        check(not (into / "started").exists(), "the command was started")
        check(not (disk / "no").exists(), "a directory was left behind")

    with_disk(into, 200, test)


def disk_full(into):
    """A write fails: the program runs on, the status says it, what was written is kept."""
    def test(disk):
        done = trace("-F", 0, "--max-disk-use", 100, "-o", disk / "out", "--", CALLS, into / "log", 2, FILLING, 0)
        equal(done.returncode, 1, "status")
        contains(done.stderr, f"cannot write to {disk}/out: No space left on device", "what was written so far")
        equal(files(disk / "out"), ["journal.spj"], "what is left")
        lines = done.stdout.splitlines()
        equal(len(lines), 2, "lines of the program")
        again = good([SP_REPORT, "recover", "-o", into / "saved", disk / "out/journal.spj"])
        print(again.stderr, end="")
        profile, log = Profile(into / "saved/calls_rank00000.h5"), Log(into / "log")
        check(scaled(10_000) < len(profile.start) < log.total(), f"{len(profile.start)} calls of {log.total()}")

    with_disk(into, 3, test)


def comm(pid):
    with contextlib.suppress(OSError):
        return open(f"/proc/{pid}/comm").read()


def conversion_killed(into):
    """The journal is kept, whatever happens to its conversion, and the way to the files is told."""
    recorder = start([SP_TRACE, "-F", "0", "-o", into / "out", "--", CALLS, into / "log", "2", str(MANY), "0"])

    def converter():
        """It may live for some 20 ms: looked for without starting a process."""
        children = open(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read().split()
        return next((int(c) for c in children if comm(c) == "sp-report\n"), None)

    os.kill(wait_for(converter, "the conversion"), signal.SIGKILL)
    status, _, said = finish(recorder)
    equal(status, 1, "status")
    contains(said, "conversion of the journal", "nothing is lost: sp-report recover", f"{into}/out/journal.spj")
    check("journal.spj" in files(into / "out"), f"files: {files(into / 'out')}")
    good([SP_REPORT, "recover", "-q", into / "out/journal.spj"])
    equal(files(into / "out"), ["calls_rank00000.h5", "calls_rank00000.sps"], "files after recover")
    profile = Profile(into / "out/calls_rank00000.h5")
    equal(len(profile.start) + sum(profile.losses.get("count", [])), Log(into / "log").total(), "calls, and losses")


def impossible(into):
    """A command that cannot be run: as a shell's statuses, and nothing is left behind."""
    (into / "text").write_text("no program\n")
    for command, status, words in (("no-such-program-here", 127, ["no such program", "no-such-program-here"]),
                                   (into / "text", 126, ["cannot run", "Permission denied"]),
                                   (into, 126, ["cannot run", "Permission denied"]),
                                   (into / "none/x", 127, ["no such program"])):
        done = trace("-o", into / "out", "--", command)
        equal(done.returncode, status, f"status of {command}")
        contains(done.stderr, *words)
        check(not (into / "out").exists(), "a directory was left behind")


main(duration, control_c, terminated, in_group, all_at_once, early, stubborn, hung_up, late_signal, ignored, closed_terminal, under_load, no_samples, size, disk_use, disk_full, conversion_killed, impossible)
