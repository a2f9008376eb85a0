#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""selftest.py - where probes go on kernels that fare well or badly with a probe on the 5-byte nop: proven,
corrupting, refusing, silent, and one whose programs hang, crash or cannot fork. Only where all is well is
the fast place used; everywhere else the recording is as exact, and the program's results are the same.

A copy of sp-trace takes the helpers that lie beside it: there the self-test's program is another one
(programs/trials.c). What the kernel itself answers is changed between it and sp-trace
(programs/kernel_faults.c)."""
import os
import platform
import shutil
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (BIN, EMULATED, PROGRAMS, SOURCE, check, contains, equal, everywhere, finish, good, lost, main, need_root,
                 need_scope_profiler, run, scaled, skip, start, wait_for, wait_said)

need_root()
need_scope_profiler()
if platform.machine() != "x86_64":
    skip("there is no 5-byte nop on this architecture")
from recording import Profile
from stamps import Log, compare_lane, ready

sys.path.insert(0, str(SOURCE / "tests/usdt"))
import elf

CALLS = scaled(4000, least=1000)  # a thread
FAST, SLOW = "5-byte nop", "1-byte nop"


def installation(into, trial=None):
    """sp-trace and its helpers, the self-test's program replaced."""
    folder = into / "bin"
    folder.mkdir()
    for name in ("sp-trace", "sp-report", "sp-elf", "sp-libs", "sp-unwind", "sp-selftest"):
        shutil.copy(BIN / name, folder)
    if trial:
        shutil.copy(PROGRAMS / f"trial_{trial}", folder / "sp-selftest")
    return folder / "sp-trace"


def fault(into, kind):
    """The environment in which the kernel answers otherwise. The sanitizer wants to be the first library."""
    return {**os.environ, "LD_PRELOAD": str(PROGRAMS / "libkernel_faults.so"), "SP_FAULT": kind,
            "SP_FAULT_LOG": str(into / "faults"), "ASAN_OPTIONS": "verify_asan_link_order=0"}


def stub(pid, program):
    """The first two bytes of the begin stub in a running process: its 1-byte nop and its 5-byte nop."""
    base = min(int(line.split("-")[0], 16) for line in open(f"/proc/{pid}/maps") if line.rstrip().endswith(str(program)))
    file = elf.Elf(str(program))
    location = next(note[2] for note in file.notes() if note[1] == "begin")
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek((base if not file.segments[0][0] else 0) + location)
        return memory.read(2)


def recording(into, sp_trace, env, place, *reason, once=False):
    """Exact, right, by the place that is wanted; and the reason why is told."""
    calls = into / "calls"  # another test's recorder may arm the original
    shutil.copy(PROGRAMS / "calls", calls)
    plain = good([calls, into / "log", 2, CALLS, 3]).stdout
    (into / "log").unlink()
    target = start([calls, into / "log", 2, CALLS, 3, "wait"])
    log = wait_for(lambda: ready(into / "log"), "the program's log")
    recorder = start([sp_trace, "-v", "-F", 0, "-o", into / "out", "-p", target.pid], env=env)
    wait_said(recorder, "recording; Ctrl-C ends it")
    seen = stub(target.pid, calls)
    equal(seen[0] == 0xcc, place == SLOW, f"a breakpoint on the 1-byte nop ({seen.hex()})")
    equal(seen[1] == 0x0f, place == SLOW, f"the 5-byte nop as it was ({seen.hex()})")
    log.go()
    status, out, _ = finish(target)
    equal((status, out), (0, plain), "status and results of the program")
    status, _, said = finish(recorder)
    equal(status, 0, f"status of sp-trace: {said}")
    equal(lost(said), 0, "losses")
    contains(said, *(["on the fast path"] if place == FAST else ["not on the fast path"]), *reason)
    check("error" not in said, f"an error was told: {said}")
    profile = Profile(into / "out/calls_rank00000.h5")
    log = Log(into / "log")
    equal(len(profile.start), log.total(), "calls")
    for lane in range(2):
        compare_lane(profile, log, lane)
    told = good([BIN / "sp-report", "info", into / "out"]).stdout
    contains(told, place, *reason)
    if once:  # the self-test is slow
        return
    if "--check" in run([sp_trace, "--help"]).stdout:
        contains(run([sp_trace, "--check"], env=env).stdout, *reason)
    red = [PROGRAMS / "redzone", 3000]
    done = run([sp_trace, "-F", 0, "-o", into / "red", "--", *red], env=env)
    equal((done.returncode, done.stdout), (0, good(red).stdout), f"status and results of a careful program: {done.stderr}")
    contains(done.stderr, "12,000 calls")


def proven(into):
    """All is well; also where the kernel does not take the fast path, and the trial claims it."""
    recording(into, installation(into, "PROVEN"), None, FAST)


def this_kernel(into):
    """What the real self-test finds here is what is used."""
    sp_trace = installation(into)
    said = run([sp_trace, "-v", "-F", 0, "-o", into / "first", "--", "true"]).stderr
    recording(into, sp_trace, None, SLOW if "not on the fast path" in said else FAST)


def corrupts(into):
    recording(into, installation(into, "CORRUPTS"), None, SLOW, "corrupts the program on this kernel",
              "results were wrong")


@everywhere
def refuses(into):
    recording(into, installation(into), fault(into, "refuse"), SLOW, "refuses a probe on the 5-byte nop",
              "Invalid argument", once=EMULATED == "short")
    contains((into / "faults").read_text(), "refuse")


def silent(into):
    recording(into, installation(into), fault(into, "silent"), SLOW, "takes a probe on the 5-byte nop that never fires")
    contains((into / "faults").read_text(), "silent")


def hangs(into):
    recording(into, installation(into, "HANGS"), None, SLOW, "5-byte nop hangs", once=True)


def hangs_at_exit(into):
    recording(into, installation(into, "HANGS_AT_EXIT"), None, SLOW, "5-byte nop hangs", once=True)


def crashes(into):
    recording(into, installation(into, "CRASHES"), None, SLOW, "5-byte nop fails", "Aborted")


def babbles(into):
    recording(into, installation(into, "BABBLES"), None, SLOW, "5-byte nop fails", "makes sense")


def child(into):
    recording(into, installation(into, "CHILD"), None, SLOW, "forked child", "crashes")


def nothing_works(into):
    """A self-test that fails with probes at any place: nothing is started, and it is said why."""
    for trial, words in (("CRASHES_ALWAYS", "fails: sp-selftest was killed by signal 6"), ("HANGS_ALWAYS", "hangs")):
        (into / trial).mkdir()
        sp_trace = installation(into / trial, trial)
        done = run([sp_trace, "-o", into / "out", "--", "touch", into / "started"])
        equal(done.returncode, 1, f"status of {trial}")
        contains(done.stderr, "the program on which probes are tried", words, "nothing is recorded")
        check(not (into / "started").exists(), "the command was started")
        check(not (into / "out").exists(), "a directory was left behind")


def refused(into, sp_trace, *words, before=()):
    """Nothing is started, and it is said why, and what helps."""
    done = run([*before, sp_trace, "-o", into / "out", "--", "touch", into / "started"])
    equal(done.returncode, 1, f"status: {done.stderr}")
    contains(done.stderr, *words)
    check("on this kernel" not in done.stderr and "corrupts" not in done.stderr, f"the kernel is blamed: {done.stderr}")
    check(not (into / "started").exists(), "the command was started")
    check(not (into / "out").exists(), "a directory was left behind")
    return done.stderr


def no_fork(into):
    """RLIMIT_NPROC, which does not hold for root, but for who the self-test's program becomes, or the reader of ELF
    files, if others run as that user."""
    said = refused(into, installation(into), "a limit of processes is in force", before=["prlimit", "--nproc=1"])
    check(any(f"cannot {what}: Resource temporarily unavailable" in said for what in ("fork", "execute it")), said)


def starved(into):
    """The reader of ELF files gets no time; here it is one that waits for ever."""
    sp_trace = installation(into)
    shutil.copy(PROGRAMS / "waits", into / "bin/sp-elf")
    refused(into, sp_trace, "cannot test the probes: sp-selftest: reading it took too long", "CPUs are taken")


def unread(into):
    sp_trace = installation(into)
    shutil.copy("/bin/true", into / "bin/sp-elf")
    refused(into, sp_trace, "cannot test the probes: sp-selftest: reading it made the helper fail", "install sp-trace again")


tests = [no_fork, starved, unread, proven, this_kernel, corrupts, refuses, silent, hangs, crashes, babbles, child]
if os.environ.get("SP_TEST_FULL"):  # each waits until it is given up
    tests += [hangs_at_exit, nothing_works]
main(*tests)
