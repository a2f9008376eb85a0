#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""hanging.py - traced programs on a file system that stops answering: the recorder goes on, says so and counts it,
records everything else, and ends when it is told to."""
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (LONG, PROGRAMS, SP_REPORT, SP_TRACE, check, contains, equal, finish, good, main, need_root, need_scope_profiler, run, skip,
                 start, wait_for, wait_said)

need_root()
need_scope_profiler()
from recording import Profile, text
from stamps import compare_lane, ready

CALLS = PROGRAMS / "calls"


class Hanging:
    """The file system of programs/hangs.c, mounted on a directory; "app" there is the program."""
    def __init__(self, directory, program):
        self.directory = directory
        directory.mkdir()
        self.server = start([PROGRAMS / "hangs", directory, program])
        if self.server.stdout.readline() != "mounted\n":
            skip("no FUSE here")

    def __enter__(self):
        return self.directory / "app"

    def __exit__(self, *_):
        self.server.kill()  # whoever waits is told that the connection is gone
        self.server.wait()
        run(["umount", "-l", self.directory])

    def stop_answering(self, number=signal.SIGUSR1):
        self.server.send_signal(number)
        time.sleep(0.1)


def calls(program, log):
    return start([program, log, 1, 0, 20_000], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def began(log):
    log = wait_for(lambda: ready(log), "the program's log")
    wait_for(lambda: log.total() > 100, "the program's first calls")
    return log


def losses(profile):
    found = {}
    for cause, count in zip(text(profile.losses.get("cause", [])), profile.losses.get("count", [])):
        found[cause] = found.get(cause, 0) + count
    return found


def attached(into, number=signal.SIGUSR1, says="its file system does not answer", lost="armed late"):
    """Two programs run, and the file system of one does not answer any more. Meanwhile others are started all the
    time; what these map is not lost."""
    mounted = Hanging(into / "mounted", CALLS)
    with mounted as app:
        there, here = calls(app, into / "there"), calls(CALLS, into / "here")
        began(into / "there")
        log = began(into / "here")
        mounted.stop_answering(number)
        others = start(["sh", "-c", "while :; do /bin/true; done"])
        recorder = start([SP_TRACE, "--ring-size", "256K", "-o", into / "out", "-p", f"{there.pid},{here.pid}"])
        wait_said(recorder, "recording; Ctrl-C ends it")
        others.kill()
        first = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        time.sleep(1)
        last = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        recorder.send_signal(signal.SIGTERM)
        recorder.wait(LONG)
        check(there.poll() is None and here.poll() is None, "a program has ended")
    status, _, said = finish(recorder)  # a conversion that hung has its output open until now
    contains(said, f"{app}: {says}", "recording ended")
    equal(status, 0, f"status: {said}")
    if number == signal.SIGUSR2:
        contains(said, "files that were sampled do not answer: the line profile lacks their lines")
    profile = Profile(into / "out/app_rank00000.h5")
    begin, end = compare_lane(profile, log, 0, whole=False)
    stamps = log.stamps(0)
    inside = ((stamps["before_begin"] > first) & (stamps["after_end"] < last) & (stamps["after_end"] > 0)).nonzero()[0]
    check(len(inside) > 100 and begin <= inside[0] and inside[-1] < end, "calls of the other program are missing")
    found = losses(profile)
    equal([found.get(cause, 0) for cause in ("call ring full", "mapping not seen", "armed late")],
          [0, 0, int(lost == "armed late")], f"losses: {found}")


def unreadable(into):
    """It says what the file is, but nobody can read what he has not read before. Calls do not wait meanwhile."""
    attached(into, signal.SIGUSR2, "reading it took too long and was given up", "")


def reported(into):
    """Reports on what runs there say so and show the rest; they neither wait for it nor leave anybody who does."""
    for number, says, commands in (
            (signal.SIGUSR1, "its file system does not answer", ("lines", "tree")),
            (signal.SIGUSR2, "waiting for its debug information took too long", ("lines",))):
        out = into / f"out{int(number)}"
        mounted = Hanging(into / f"mounted{int(number)}", CALLS)
        with mounted as app:
            program = calls(app, into / f"log{int(number)}")
            began(into / f"log{int(number)}")
            recorder = start([SP_TRACE, "-F", "997", "-o", out, "-p", program.pid])
            wait_said(recorder, "recording; Ctrl-C ends it")
            time.sleep(1)
            recorder.send_signal(signal.SIGTERM)
            equal(finish(recorder)[0], 0, "status of the recorder")
            mounted.stop_answering(number)
            good(["sh", "-c", "echo 3 > /proc/sys/vm/drop_caches"])
            for command in commands:
                done = run([SP_REPORT, command, out], timeout=100)
                equal(done.returncode, 0, f"status of {command}: {done.stdout}{done.stderr}")
                contains(done.stdout + done.stderr, says)
            check(program.poll() is None, "the program has ended")


def unwound(into):
    """The conversion unwinds copies of stacks through a file that does not answer: it ends all the same."""
    mounted = Hanging(into / "mounted", CALLS)
    with mounted as app:
        program = calls(app, into / "log")
        began(into / "log")
        recorder = start([SP_TRACE, "--stacks", "dwarf", "-F", "97", "-o", into / "out", "-p", program.pid])
        wait_said(recorder, "recording; Ctrl-C ends it")
        time.sleep(2)
        mounted.stop_answering()
        recorder.send_signal(signal.SIGTERM)
        status, _, said = finish(recorder)
        equal(status, 0, f"status: {said}")
        contains(said, "samples", "app_rank00000.h5")
        check(program.poll() is None, "the program has ended")


def executed(into):
    """A program is started there: its exec waits, but neither those of others do, nor the recorder."""
    mounted = Hanging(into / "mounted", CALLS)
    with mounted as app:
        shell = f"{CALLS} {into}/here 1 0 20000 & while ! [ -e {into}/go ]; do sleep 0.05; done; {app} {into}/there 1 100 10; wait"
        recorder = start([SP_TRACE, "-o", into / "out", "--", "sh", "-c", shell])
        log = began(into / "here")
        mounted.stop_answering()
        (into / "go").touch()
        time.sleep(0.5)
        begin = time.monotonic()
        equal(run(["true"], timeout=20).returncode, 0, "status of true")
        copy = into / "copy"
        shutil.copy(PROGRAMS / "family", copy)
        equal(run([copy, "exit", 0], timeout=20).returncode, 0, "status of another program")
        check(time.monotonic() - begin < 10, "other programs wait, too")
        total = log.total()
        wait_for(lambda: log.total() > total + 1000, "the program going on")
        last = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        log.stop()
        recorder.send_signal(signal.SIGTERM)
        wait_said(recorder, "recording ended", 30)
    finish(recorder)
    profile = Profile(into / "out/sh_rank00000.h5")
    begin, end = compare_lane(profile, log, 0, whole=False)
    stamps = log.stamps(0)
    wanted = ((stamps["after_end"] < last) & (stamps["after_end"] > 0)).nonzero()[0]
    check(begin == 0 and wanted[-1] < end, f"calls {begin} to {end} of {len(stamps)} are there")


main(attached, unreadable, reported, unwound, executed)
