#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""launch.py - sp-trace -- COMMAND: nothing of it is missed, from its constructors to its orphans; it
runs as if untraced; what it says and how it ends goes through."""
import os
import signal
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (EMULATED, PROGRAMS, SP_TRACE, check, contains, equal, everywhere, files, lost, main, need_root,
                 need_scope_profiler, run, trace)

need_root()
need_scope_profiler()
from recording import Profile, text

BEGAN_BEFORE = 1 << 5

FAMILY = str(PROGRAMS / "family")
CLOSED_BY_EXIT, CLOSED_BY_EXEC = 2, 4


def play(into, *arguments, status=0, name="family", before=(), **options):
    """Runs a play; its profile, and what sp-trace said."""
    done = trace("-F", 99, "-o", into / "out", "--", *before, FAMILY, *arguments, **options)
    equal(done.returncode, status, "status")
    equal(lost(done.stderr), 0, "losses")
    return Profile(into / f"out/{name}_rank00000.h5"), done


@everywhere
def first(into):
    """Regions in constructors, as first and last statement, at exit, in a library."""
    wanted = {n: 1 for n in ("program constructor", "first statement", "last statement", "at exit",
                             "library constructor", "library destructor", "library call", "begin")}
    done = trace("-o", into / "out", "--", PROGRAMS / "first")
    equal(done.returncode, 0, "status")
    profile = Profile(into / "out/first_rank00000.h5")
    equal(profile.count(), wanted, "calls")
    equal(set(profile.flags.tolist()), {0}, "flags")


def loaded_late(into):
    """A copy of the library, which the recorder has not seen before, loaded while running: it is armed
    within milliseconds, so its first calls may be missed, but never those of the program."""
    copy = into / "libcopy.so"
    copy.write_bytes((PROGRAMS / "libfirstlib.so").read_bytes())
    copy.chmod(0o755)
    done = trace("-o", into / "out", "--", PROGRAMS / "first", copy)
    equal(done.returncode, 0, "status")
    counts = Profile(into / "out/first_rank00000.h5").count()
    for name in ("program constructor", "first statement", "last statement", "at exit"):
        equal(counts.get(name), 1, f"calls of {name}")
    check(1 <= counts.get("library call", 0) <= 2, f"calls of the two copies: {counts}")
    # Named on the command line, it was armed before the start.
    equal(counts.get("library constructor"), 2, "constructors of the library and of its copy")


def status_and_streams(into):
    for code in (0, 3, 77, 255):
        done = trace("-q", "-o", into / f"exit{code}", "--", FAMILY, "exit", code)
        equal((done.returncode, done.stdout, done.stderr), (code, "", ""), f"status, stdout, stderr of -q, {code}")
    for number in (9, 15, 6, 11):
        done = trace("-q", "-o", into / f"signal{number}", "--", FAMILY, "signal", number)
        equal(done.returncode, 128 + number, f"status of a program killed by signal {number}")
        profile = Profile(into / f"signal{number}/family_rank00000.h5")
        equal((profile.count(), profile.flags.tolist()), ({"killed inside": 1}, [CLOSED_BY_EXIT]),
              "the region that it was killed inside")
    data = "".join(f"line {i} of some text\n" for i in range(200_000))
    done = trace("-o", into / "cat", "--", FAMILY, "cat", input=data)
    equal(done.returncode, 0, "status of cat")
    check(done.stdout == data, "stdin and stdout do not go through, or sp-trace writes to stdout")
    contains(done.stderr, "recording ended after")


def shells_and_words(into):
    """What is not a plain program name: a shell's words, a script, env, a program from PATH."""
    script = into / "script"
    script.write_text(f"#!/bin/sh\n{FAMILY} exit 0\n{FAMILY} exit 0\nexit 5\n")
    script.chmod(0o755)
    os.symlink(FAMILY, into / "family-link")
    for name, command, wanted, status in (
            ("shell", ["sh", "-c", f"cd / && {FAMILY} exit 3"], 1, 3),
            ("background", ["sh", "-c", f"{FAMILY} exit 0 & {FAMILY} exit 0; wait"], 2, 0),
            ("script-file", [script], 2, 5),
            ("env", ["env", "X=1", FAMILY, "exit", "0"], 1, 0),
            ("link", [into / "family-link", "exit", "0"], 1, 0),
            ("path", ["family", "exit", "0"], 1, 0)):
        path = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
        done = trace("-o", into / name, "--", *command, env=path)
        equal(done.returncode, status, f"status of {name}")
        (h5,) = [f for f in files(into / name) if f.endswith(".h5")]
        profile = Profile(into / name / h5)
        equal(profile.count(), {"exit": wanted}, f"calls of {name}")


def fork(into):
    profile, _ = play(into, "fork")
    counts = profile.count()
    # The child was born inside of its parent's call, and ended it for itself.
    equal(counts, {"child": 1001, "around fork": 2}, "calls")
    pids = {int(t): int((profile.tid == t).sum()) for t in profile.threads if (profile.tid == t).any()}
    equal(sorted(pids.values()), [2, 1001], "calls of parent and child")
    equal(sorted(profile.flags.tolist())[-2:], [0, BEGAN_BEFORE], "flags")
    equal(len(profile.processes), 2, "processes")


@everywhere
def execute(into):
    """fork and exec of a program that is instrumented, too."""
    profile, _ = play(into, "exec", PROGRAMS / "first")
    counts = profile.count()
    wanted = {"around exec": 1, "child": 1, "program constructor": 1, "first statement": 1, "last statement": 1,
              "at exit": 1, "library constructor": 1, "library destructor": 1, "library call": 1, "begin": 1}
    equal(counts, wanted, "calls")
    # A program that nothing on the command line names. Its exec is held for 0.2 s at most, which a machine with
    # much else to do, or an emulated one, can fail to make use of: then that is said.
    for turn in range(3):
        copy = into / f"copy{turn}"
        copy.write_bytes((PROGRAMS / "family").read_bytes())
        copy.chmod(0o755)
        (into / "script").write_text(f"#!/bin/sh\nexec {copy} exit 0\n")
        done = trace("-o", into / f"unknown{turn}", "--", "sh", "-c", f". {into}/script")
        equal(done.returncode, 0, "status")
        (h5,) = [f for f in files(into / f"unknown{turn}") if f.endswith(".h5")]
        unknown = Profile(into / f"unknown{turn}" / h5)
        if unknown.count() == {"exit": 1}:
            return
        contains(done.stderr, f"{copy} was mapped", "before its probes were armed")
        check("armed late" in text(unknown.losses.get("cause", [])), f"calls are missing, and nothing says so: {done.stderr}")
    check(EMULATED, f"calls of a program that was not seen before: {unknown.count()}")


def execute_inside(into):
    """A region is open at exec: it ends there, marked, and the next image starts with none."""
    profile, _ = play(into, "exec-inside", FAMILY, "exit", 4, status=4)
    equal(profile.count(), {"lost by exec": 1, "exit": 1}, "calls")
    flags = {profile.names[r]: int(f) for r, f in zip(profile.region, profile.flags)}
    equal(flags, {"lost by exec": CLOSED_BY_EXEC, "exit": 0}, "flags")
    equal(profile.parent.tolist(), [-1, -1], "parents")


def threads(into):
    """200 short threads; one ends inside a region."""
    profile, _ = play(into, "threads")
    equal(profile.count(), {"thread call": 2000, "thread ends inside": 1}, "calls")
    by_thread = [int((profile.thread == t).sum()) for t in set(profile.thread.tolist())]
    equal(sorted(by_thread), [10] * 199 + [11], "calls of each thread")
    inside = profile.flags[[profile.names[r] == "thread ends inside" for r in profile.region]]
    equal(inside.tolist(), [CLOSED_BY_EXIT], "flags of the call that its thread left open")


def orphan(into):
    """The program ends before its child, whose calls are all there, and its status is kept."""
    profile, done = play(into, "orphan", into / "ended", status=4)
    equal(profile.count(), {"child": 100}, "calls")
    check((into / "ended").exists(), "sp-trace did not wait for the child")
    contains(done.stderr, "the program ended")


def daemon(into):
    profile, _ = play(into, "daemon", "ended")
    equal(profile.count(), {"child": 100}, "calls")
    pid = int((into / "ended").read_text())
    equal(set(profile.tid.tolist()), {pid}, "thread")


def surroundings(into):
    """A traced program cannot tell by what it was given: priority, signals, descriptors, limits …"""
    def odd():
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})

    for name, given in (("plain", None), ("odd", odd)):
        plain = run([FAMILY, "surroundings"], preexec_fn=given).stdout
        done = trace("-q", "-o", into / name, "--", FAMILY, "surroundings", preexec_fn=given)
        equal(done.returncode, 0, "status")
        a, b = plain.splitlines(), done.stdout.splitlines()
        equal([x for x in b if x not in a], [x for x in a if x not in b], "lines that differ (traced, untraced)")


@everywhere
def nested(into):
    """A recorder that is recorded: the regions of its self-test are taken for that, and count once."""
    done = trace("-F", 0, "-o", into / "outer", "--", SP_TRACE, "-q", "-F", 0, "-o", into / "inner", "--", FAMILY, "exit", 0)
    equal((done.returncode, lost(done.stderr)), (0, 0), "status and losses")
    equal(Profile(into / "inner/family_rank00000.h5").count(), {"exit": 1}, "calls of the inner recording")
    profile = Profile(into / "outer/sp-trace_rank00000.h5")
    equal(set(profile.count()), {"selftest", "exit"}, "regions of the outer recording")
    equal(profile.count().get("exit"), 1, "calls of the program")
    if "armed late" not in text(profile.losses.get("cause", [])):
        equal((text(profile.losses.get("cause", [])), set(profile.flags.tolist())), ([], {0}), "losses and flags")


def few_files(into):
    """Where few open files are allowed, the recorder takes more, and the command does not see it."""
    done = run(["sh", "-c", 'ulimit -Sn 24; exec "$0" "$@"', SP_TRACE, "-q", "-o", into / "out", "--", "sh", "-c",
                f"ulimit -Sn; {FAMILY} exit 0"])
    equal((done.returncode, done.stdout), (0, "24\n"), f"status and limit of the command: {done.stderr}")
    equal(Profile(into / "out/sh_rank00000.h5").count(), {"exit": 1}, "calls")


def names(into):
    """Where the recording goes by default; an earlier one is left alone."""
    for wanted in ("family.sp", "family-2.sp", "family-3.sp"):
        equal(trace("-q", "--", FAMILY, "exit", 0).returncode, 0, "status")
        equal(files(into / wanted), ["family_rank00000.h5", "family_rank00000.sps"], f"files of {wanted}")
    equal(trace("-q", "-F", 0, "--formats", "spt", "--keep-journal", "-o", into / "a/b", "--", FAMILY, "exit", 0)
          .returncode, 0, "status")
    equal(files(into / "a/b"), ["journal.spj", "spt"], "files with --formats spt --keep-journal")
    equal(files(into / "a/b/spt"), ["family_rank00000.spt"], "files of spt/")


def refusals(into):
    """Nothing is started, and nothing that was there is touched, where the output cannot be made."""
    equal(trace("-q", "-o", into / "out", "--", FAMILY, "exit", 0).returncode, 0, "status")
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in (into / "out").iterdir()}
    (into / "file").write_text("x")
    witness = into / "started"
    for where, reason in ((into / "out", "is not empty"), (into / "file", "Not a directory"),
                          (into / "file/x", "Not a directory"), ("/proc/sp", "No such file or directory")):
        done = trace("-o", where, "--", "touch", witness)
        equal(done.returncode, 1, f"status of -o {where}")
        contains(done.stderr, str(where), reason, "-o DIR")
        check(not witness.exists(), f"the command was started although -o {where} was refused")
    equal({p: (p.stat().st_mtime_ns, p.read_bytes()) for p in (into / "out").iterdir()}, before, "files")
    os.symlink(into / "target", into / "dangling")
    equal(trace("-q", "-o", into / "dangling", "--", FAMILY, "exit", 0).returncode, 1, "status of a dangling link")
    check(not (into / "target").exists(), "the target of a dangling link was made")


main(first, loaded_late, status_and_streams, shells_and_words, fork, execute, execute_inside, threads, orphan,
     daemon, surroundings, nested, few_files, names, refusals)
