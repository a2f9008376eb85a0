#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""limits.py - the recorder gets too little: descriptors, address space, file size, memory of the kernel, BPF
maps, programs and links. It works all the same, or says in a sentence what is missing, with status 1 and
before the command has begun; one that is killed for want of memory leaves the program as it was."""
import errno
import os
import random
import signal
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/../lib")
import cgroup
from e2e import (SP_REPORT, SP_TRACE, check, contains, equal, everywhere, finish, good, main, need_root,
                 need_scope_profiler, not_sanitized, preloaded, run, start, wait_for, wait_said)

need_root()
need_scope_profiler()
from journal import Journal
from recording import Profile
from sums import SUMS, Ledger, check_disarmed, check_exact, check_sums, end_sums, losses, start_sums

FULL = bool(os.environ.get("SP_TEST_FULL"))
ROUNDS = 20
# enum bpf_cmd. Look-ups and questions are left out of the failures.
MAP_CREATE, LOOKUP, INFO, LINK_CREATE = 0, 1, 15, 28


def record_under(into, number, before, environment=None, options=()):
    """Records a program from behind a wrapper. Gives what came of it: "exact", "lossy" or "refused"."""
    here = into / str(number)
    here.mkdir()
    command = [SUMS, here / "ledger", "alone", 2, ROUNDS, 0]
    done = run([*before, SP_TRACE, "-F", 497, *options, "-o", here / "out", "--", *command], env=environment)
    what = f"{number}: {done.stderr}"
    if not check(done.returncode in (0, 1), f"status {done.returncode} of {what}"):
        return "broken"
    if not (here / "ledger").exists():
        equal(done.returncode, 1, f"status of {what}")
        lines = done.stderr.splitlines()
        check(lines and lines[-1].startswith("  ") or len(lines) == 1 and " " in lines[0],
              f"no sentence with a remedy: {what}")
        check(all(l.startswith(("sp-trace: ", "  ")) for l in lines), f"not its own words: {what}")
        check("install sp-trace again" not in done.stderr and "No such process" not in done.stderr, f"not what is missing: {what}")
        check(not (here / "out").exists(), f"a directory was left behind by {what}")
        return "refused"
    ledger = Ledger(here / "ledger")
    check_sums(ledger)
    equal((ledger.left(), len(ledger.lanes())), (2 * 4 * ROUNDS, 2), f"calls and threads of the program under {what}")
    if done.returncode:
        contains(done.stderr, "sp-trace: ")
        return "failed"
    profile = Profile(here / "out/sums_rank00000.h5")
    if len(profile.start) != ledger.left():
        print(f"{len(profile.start)} of {ledger.left()} calls, {losses(profile)} under {what}")
        check("warning" in done.stderr or "LOST" in done.stderr, f"calls are missing, and nothing says so: {what}")
        return "lossy"
    return "exact"


def tell(outcomes):
    print({o: outcomes.count(o) for o in set(outcomes)})
    return outcomes


def bpf_fails(into):
    """Each call of bpf(2) that makes or changes something fails once."""
    log = into / "log"
    environment = preloaded("libinjected.so", INJECT_BPF_LOG=str(log))
    equal(record_under(into, "all", [], environment), "exact", "without a failure")
    calls = [int(c) for c in log.read_text().split()]
    del environment["INJECT_BPF_LOG"]
    cases, seen = [], {}
    for command in calls:
        seen[command] = seen.get(command, 0) + 1
        if command not in (LOOKUP, INFO):
            cases.append((command, seen[command]))
    check(len(cases) > 40 and seen.get(MAP_CREATE, 0) > 10, f"calls of bpf(2): {seen}")
    if not FULL:
        always = [(MAP_CREATE, 1), (MAP_CREATE, 2), (LINK_CREATE, seen[LINK_CREATE])]
        others = [case for case in cases if case not in always]
        cases = always + random.Random(os.environ.get("SP_SEED", time.time_ns())).sample(others, 6)
    outcomes = []
    for command, n in cases:
        environment["INJECT_BPF"] = f"{command}:{n}:{errno.ENOMEM}"
        outcomes.append(record_under(into, f"{command}:{n}", [], environment))
        print(f"{command}:{n} {outcomes[-1]}")
    tell(outcomes)
    check("refused" in outcomes, f"outcomes: {outcomes}")


def setpriv_limited(limit):
    """A wrapper that sets a limit which the recorder cannot raise, though it is root."""
    return ["setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource", "prlimit", limit]


def descriptors(into):
    outcomes = []
    for n in range(4, 200, 5 if FULL else 39):
        outcomes.append(record_under(into, n, setpriv_limited(f"--nofile={n}:{n}")))
    tell(outcomes)
    check({"refused", "exact"} <= set(outcomes), f"outcomes of limits of descriptors: {outcomes}")


@not_sanitized("the address sanitizer reserves terabytes of address space")
def address_space(into):
    outcomes = []
    for megabytes in (range(8, 400, 24) if FULL else (8, 56, 96, 400)):
        outcomes.append(record_under(into, megabytes, ["prlimit", f"--as={megabytes << 20}"]))
    tell(outcomes)
    check({"refused"} <= set(outcomes), f"outcomes of limits of address space: {outcomes}")


@not_sanitized("the address sanitizer needs more stack to start")
def stack(into):
    """What may be raised is raised, and the command finds it as it was; else it is said."""
    small, enough = 64 << 10, 1 << 20
    equal(record_under(into, "soft", ["prlimit", f"--stack={small}:{enough}"]), "exact", "a stack that may be larger")
    done = run(["prlimit", f"--stack={small}:{enough}", SP_TRACE, "-q", "-F", 0, "-o", into / "shown", "--", "sh", "-c",
                "ulimit -s; ulimit -Hs"])
    equal(done.stdout.split(), ["64", "1024"], "the command's limits")
    equal(record_under(into, "hard", setpriv_limited(f"--stack={small}:{small}")), "refused", "a stack that is too small")


@everywhere
def file_size(into):
    """RLIMIT_FSIZE: as a full disk, and no SIGXFSZ."""
    done = run(["prlimit", "--fsize=300000", SP_TRACE, "-F", 0, "--keep-journal", "-o", into / "out", "--", SUMS,
                into / "ledger", "alone", 2, 4000, 0])
    equal(done.returncode, 1, f"status: {done.stderr}")
    contains(done.stderr, "File too large", "what was written so far is kept")
    ledger = Ledger(into / "ledger")
    check_sums(ledger)
    good([SP_REPORT, "recover", "--force", "--keep-journal", into / "out"])
    count = len(Profile(into / "out/sums_rank00000.h5").start)
    equal(count, len(Journal(into / "out/journal.spj").calls()), "calls recovered")
    check(1000 < count <= ledger.left(), f"{count} calls")


def kernel_memory(into):
    """A control group's memory is too small for the maps: the recorder says so, or is killed, before the
    command has begun; or all is well."""
    with cgroup.group("memory", "maps") as group:
        if not group:
            return
        outcomes = []
        for megabytes in (range(4, 128, 4) if FULL else (4, 24, 60, 128)):
            group.set("memory.max", megabytes << 20)
            here = into / str(megabytes)
            here.mkdir()
            done = run([*group.inside(), SP_TRACE, "-F", 497, "-o", here / "out", "--", SUMS, here / "ledger", "alone", 2,
                        ROUNDS, 0])
            outcomes.append(done.returncode)
            if done.returncode == 0:
                check_exact(Profile(here / "out/sums_rank00000.h5"), Ledger(here / "ledger"))
            elif done.returncode == 1 and not (here / "ledger").exists():
                contains(done.stderr, "sp-trace: ", "\n  ")
            else:
                check(done.returncode in (1, -signal.SIGKILL), f"status {done.returncode}: {done.stderr}")
            if (here / "ledger").exists() and Ledger(here / "ledger").done():
                check_sums(Ledger(here / "ledger"))
        tell(outcomes)
        check(0 in outcomes and set(outcomes) != {0}, f"statuses: {outcomes}")


def killed_for_memory(into):
    """Its journal is in memory, and counts for it: the kernel's own kill, at a moment that nobody chose."""
    with cgroup.group("memory", "oom") as group:
        if not group:
            return
        disk = into / "disk"
        disk.mkdir()
        good(["mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", disk])
        try:
            target, ledger = start_sums(into, "run", 2, 0, 20)
            recorder = start([*group.inside(), SP_TRACE, "-F", 97, "--ring-size", "256K", "--max-disk-use", 100, "-o",
                              disk / "out", "-p", target.pid])
            wait_said(recorder, "recording; Ctrl-C ends it")
            group.set("memory.max", int(group.get("memory.current")) + (1 << 20))
            ledger.go()
            status, _, said = finish(recorder)
            equal(status, -signal.SIGKILL, f"status: {said}")
            check_disarmed(target)
            wait_for(lambda: not open(group.procs()).read(), "the recorder's own processes to end")
            good([SP_REPORT, "recover", "-o", into / "saved", disk / "out"])
            count = len(Profile(into / "saved/sums_rank00000.h5").start)
            equal(count, len(Journal(disk / "out/journal.spj").calls()), "calls recovered")
            check(1000 < count <= ledger.entered(), f"{count} calls")
            end_sums(target, ledger)
        finally:
            good(["umount", "-l", disk])


main(bpf_fails, descriptors, address_space, stack, file_size, kernel_memory, killed_for_memory)
