#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""odd.py - regions used wrongly, deeply, strangely named: nothing is invented, what is lost is counted,
what comes after is right."""
import os
import re
import shutil
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (PROGRAMS, SP_REPORT, check, contains, equal, everywhere, files, good, have, lost, main,
                 need_root, need_scope_profiler, report, run, start, start_trace, stop_trace, trace, wait_for)

need_root()
need_scope_profiler()
from recording import Profile

ODD = PROGRAMS / "odd"
BY_OUTER, BY_UNWINDING = 1, 16
DEPTH = 80


def play(into, name, status=0):
    done = trace("-F", 0, "-o", into / "out", "--", ODD, name)
    equal(done.returncode, status, f"status: {done.stderr}")
    return Profile(into / "out/odd_rank00000.h5"), done


def flags(profile, name):
    """{flags: calls} of a region."""
    mine = profile.flags[[profile.names[r] == name for r in profile.region]].tolist()
    return {f: mine.count(f) for f in set(mine)}


def losses(profile):
    found = {}
    for cause, count in zip(profile.losses.get("cause", []), profile.losses.get("count", [])):
        cause = cause.decode() if isinstance(cause, bytes) else cause
        found[cause] = found.get(cause, 0) + count
    return found


def check_after(profile, count):
    """What came after is as it should be, down to its nesting."""
    equal((flags(profile, "after"), flags(profile, "inside after")), ({0: count}, {0: count}), "calls that came after")
    name_of = {int(i): profile.names[r] for i, r in zip(profile.id, profile.region)}
    parents = {name_of.get(int(p)) for p, r in zip(profile.parent, profile.region) if profile.names[r] == "inside after"}
    equal(parents, {"after"}, "parents of what came after")


@everywhere
def mismatched(into):
    profile, _ = play(into, "mismatched")
    equal(profile.count(), {"outer": 10, "crossed": 10, "after": 10, "inside after": 10}, "calls")
    equal((flags(profile, "outer"), flags(profile, "crossed")), ({0: 10}, {BY_OUTER: 10}), "flags")
    equal(losses(profile), {"end without a begin": 10, "end that came too late": 10}, "losses")
    check_after(profile, 10)


def longjmp(into):
    profile, _ = play(into, "longjmp")
    equal((flags(profile, "around"), flags(profile, "jumped")), ({0: 500}, {BY_OUTER: 1500}), "flags")
    equal(losses(profile), {}, "losses")
    check_after(profile, 10)


def abandoned(into):
    """Begins whose ends never come, and no outer end to prove it: the stack must not stay full."""
    profile, done = play(into, "abandoned")
    equal(profile.count(), {"jumped": 500, "after": 100, "inside after": 100}, "calls")
    equal(lost(done.stderr), 0, "losses")
    equal((flags(profile, "after"), flags(profile, "inside after")), ({0: 100}, {0: 100}), "calls that came after")
    check(0 not in flags(profile, "jumped"), f"calls that have no end pass for whole: {flags(profile, 'jumped')}")


def deep(into):
    profile, done = play(into, "deep")
    equal(profile.count(), {"deep": 10 * DEPTH, "after": 10, "inside after": 10}, "calls")
    equal(int(profile.depth.max()), DEPTH - 1, "depth")
    equal(losses(profile), {"nested too deeply": 10 * (200 - DEPTH)}, "losses")
    equal(lost(done.stderr), 10 * (200 - DEPTH), "losses that sp-trace tells")
    contains(done.stderr, "nested too deeply")
    check_after(profile, 10)


def names(into):
    profile, done = play(into, "names")
    counts = profile.count()
    equal(sum(counts.values()), sum(range(1, 11)) + 20 + 30 + 1 + 3, "calls")
    for name, count in (("a/b/c", 3), ("quotes \" ' \\ %s %n {} <b>&", 6), ("€ 🔥", 8), ("../../etc/passwd", 9),
                        ("same", 3), ("n" * 1000, 30)):
        equal(counts.get(name), count, f"calls of {name[:40]}")
    literal = [n for n in counts if n.startswith("literal")]
    equal(len(literal), 1, f"names like the literal: {literal}")
    long = [n for n in counts if n.startswith("n" * 1001)]
    equal([counts[n] for n in long], [20], "calls of the name that is longer than a record")
    # What a terminal would obey is not sent to one.
    text = good([SP_REPORT, "summary", into / "out"]).stdout
    check("\033" not in text, "sp-report writes a name's escape sequence to the terminal")
    listed = {r["name"]: r["calls"] for r in report("summary", into / "out")["regions"]}
    equal(sorted(listed.values()), sorted(counts.values()), "calls in sp-report summary")


def paged(into):
    """The recorder reads for itself what the probe could not; an empty name is one, too."""
    profile, done = play(into, "paged")
    equal(profile.count(), {"": 10, "paged out": 10}, "calls")
    equal((losses(profile), lost(done.stderr)), ({}, 0), f"losses: {done.stderr}")


def many_names(into):
    profile, done = play(into, "many-names")
    seen = {n: c for n, c in profile.count().items() if n.startswith("name ")}
    missing = 70000 - len(seen)
    print(f"{missing} names of 70000 missing; {losses(profile)}")
    check(set(seen.values()) == {1}, "a name that was called once has more calls")
    check(missing == 0 or sum(losses(profile).values()) + int(profile.meta.get("unknown_site_calls", 0)) >= missing,
          f"{missing} names are missing, and no loss says so: {losses(profile)}")
    check_after(profile, 10)


def generations(into):
    profile, done = play(into, "generations")
    equal(lost(done.stderr), 0, "losses")
    check_after(profile, 1 + 3 * (100 + 1000 + 100 + 1))
    by_thread = sorted(int((profile.tid == t).sum()) for t in set(profile.tid.tolist()))
    equal(by_thread, [8] + [400] * 3 + [2000] * 3, "calls of each process")


def signal_handlers(into):
    profile, done = play(into, "signals")
    count, signals = map(int, done.stdout.split())
    equal(profile.count(), {"after": count, "inside after": count, "in handler": signals}, "calls")
    equal(set(profile.flags.tolist()), {0}, "flags")
    equal(losses(profile), {}, "losses")
    outer = {i: (s, e) for i, s, e in zip(profile.id.tolist(), profile.start.tolist(), profile.end.tolist())}
    wrong = sum(not (outer[p][0] <= s and e <= outer[p][1]) for p, s, e in
                zip(profile.parent.tolist(), profile.start.tolist(), profile.end.tolist()) if p >= 0)
    equal(wrong, 0, "calls outside the call that they are said to be in")


def many_programs(into):
    """Two hundred short programs one after the other, each a new process image."""
    done = trace("-o", into / "out", "--", "sh", "-c",
                 f"i=0; while [ $i -lt 200 ]; do {PROGRAMS}/family exit 0 || exit 9; i=$((i+1)); done")
    equal(done.returncode, 0, "status")
    profile = Profile(into / "out/sh_rank00000.h5")
    equal(profile.count(), {"exit": 200}, "calls")
    equal(len(set(profile.tid.tolist())), 200, "processes")


def sandboxed(into):
    """A program whose seccomp filter lets it do next to nothing: a trap is no system call of its own."""
    done = trace("-o", into / "out", "--", PROGRAMS / "sandboxed", "refuse")
    equal((done.returncode, done.stdout), (0, "done\n"), f"status and output: {done.stderr}")
    equal(Profile(into / "out/sandboxed_rank00000.h5").count(), {"sandboxed": 1000}, "calls")


def in_valgrind(into):
    """It cannot run what the kernel writes into a program's code, so nothing is called there: a program of which
    another process is recorded, and its forked children, come to no harm."""
    if not have("valgrind"):
        return
    target = start([ODD, "run"])
    recorder = start_trace("-o", into / "out", pid=target.pid)
    for program, name in (ODD, "mismatched"), (PROGRAMS / "family", "fork"):
        done = run(["valgrind", "-q", "--trace-children=yes", program, name])
        equal(done.returncode, 0, f"{name}: {done.stdout} {done.stderr}")
    stop_trace(recorder)
    counts = Profile(into / "out/odd_rank00000.h5").count()
    equal(set(counts), {"run"}, "regions of the one that is recorded")


def reloaded(into):
    """Libraries that come and go, at other addresses and one in the other's place, where other regions have
    the same descriptors; they are armed before they are first loaded, since the command line names them."""
    library = PROGRAMS / "libfirstlib.so"
    other = into / "libother.so"
    other.write_bytes(library.read_bytes().replace(b"library c", b"another c"))
    done = trace("-F", 0, "-o", into / "out", "--", PROGRAMS / "reload", 50, library, other)
    equal(done.returncode, 0, f"status: {done.stderr}")
    equal(Profile(into / "out/reload_rank00000.h5").count(), {"library constructor": 50, "library call": 50,
          "another constructor": 50, "another call": 50, "begin": 100, "library destructor": 100}, "calls")


def opened_late(into):
    """A library that nothing named before the program opens it: its first calls are missing, and that is
    said."""
    copy, driver = into / "libunseen.so", into / "driver.py"
    shutil.copy(PROGRAMS / "libfirstlib.so", copy)
    driver.write_text(f"import ctypes, time\nlibrary = ctypes.CDLL({str(copy)!r})\n"
                      "for i in range(1000):\n    library.firstlib_call()\n    time.sleep(0.0005)\n")
    done = trace("-F", 0, "-o", into / "out", "--", sys.executable, driver)
    equal(done.returncode, 0, f"status: {done.stderr}")
    contains(done.stderr, "libunseen.so", "before its probes were armed")
    profile = Profile(next((into / "out").glob("*.h5")))
    equal(losses(profile).get("armed late"), 1, "losses")
    calls = profile.count().get("library call", 0)
    check(100 <= calls <= 1000, f"{calls} of 1000 calls")
    equal(profile.count().get("library destructor"), 1, "what came last")


def hostile(into):
    """A program that feeds the probes garbage, beside one that does not: the recorder lives, converts,
    and of the good one nothing is lost."""
    done = trace("-F", 199, "-o", into / "out", "--", "sh", "-c", f"{ODD} hostile & {PROGRAMS}/family threads; wait")
    equal(done.returncode, 0, f"status: {done.stderr[-2000:]}")
    profile = Profile(into / "out/sh_rank00000.h5")
    counts = profile.count()
    equal((counts.get("thread call"), counts.get("thread ends inside")), (2000, 1), "calls of the good program")
    print(f"{len(profile.names)} regions, {len(profile.start)} calls, {losses(profile)}")
    check("control ring full" not in losses(profile), "garbage costs the control ring more than it has")
    check((profile.end >= profile.start).all(), "calls that end before they begin")
    for command in (["summary"], ["info"], ["lines"], ["summary", "--json"]):
        equal(run([SP_REPORT, *command, into / "out"]).returncode, 0, f"status of sp-report {command}")


def strange_path(into):
    folder = into / 'strange "path" %s\nä'
    folder.mkdir()
    program = folder / "-program with spaces"
    shutil.copy(ODD, program)
    done = trace("-o", folder / "out put", "--", program, "mismatched")
    equal(done.returncode, 0, f"status: {done.stderr}")
    (h5,) = [f for f in files(folder / "out put") if f.endswith(".h5")]
    equal(Profile(folder / "out put" / h5).count()["outer"], 10, "calls")
    equal(good([SP_REPORT, "info", folder / "out put"]).returncode, 0, "status of sp-report info")


def attach_to(into, target, pid, wanted_exe):
    """Records half a second of play `run` of a process."""
    recorder = start_trace("-o", into, pid=pid)
    wait = run(["sleep", "0.5"])
    said = stop_trace(recorder)
    (h5,) = [f for f in files(into) if f.endswith(".h5")]
    profile = Profile(into / h5)
    number, unit = re.search(r"ended after ([\d.]+) (ms|s)", said).groups()
    most = float(number) * (1 if unit == "ms" else 1000)  # a call takes a millisecond, at least
    check(100 < profile.count().get("run", 0) < most, f"calls in {most} ms: {profile.count()}; {said}")
    check(any(wanted_exe in exe for _, exe in profile.processes), f"programs: {profile.processes}")
    return wait


def deleted(into):
    """The program's file was removed, and replaced by another, while it runs."""
    program = into / "program"
    shutil.copy(ODD, program)
    target = start([program, "run"])
    wait_for(lambda: open(f"/proc/{target.pid}/comm").read().strip() == "program", "the start of the program")
    program.unlink()
    shutil.copy(PROGRAMS / "family", program)
    attach_to(into / "out", target, target.pid, "program")


def namespaces(into):
    """A program whose path means nothing outside of its mount namespace, and whose pid is another."""
    hidden = into / "hidden"
    hidden.mkdir()
    script = f"mount -t tmpfs tmpfs {hidden} && cp {ODD} {hidden}/app && exec {hidden}/app run"
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if run([*unshare, "true"]).returncode:
        print("no namespaces here: not tested")
        return
    outer = start([*unshare, "sh", "-c", script])

    def inner():
        out = run(["pgrep", "-P", str(outer.pid)]).stdout.split()
        return out and open(f"/proc/{out[0]}/comm").read().strip() == "app" and int(out[0])

    pid = wait_for(inner, "the program in its namespaces")
    check(not os.path.exists(hidden / "app"), "the program can be seen from outside")
    attach_to(into / "out", outer, pid, "app")
    outer.kill()
    # A file system that is mounted later, where nobody sees it: its programs are armed once they run.
    script = f"mount -t tmpfs tmpfs {hidden} && cp {PROGRAMS}/family {hidden}/app && {hidden}/app sleep 50"
    done = trace("-o", into / "launched", "--", *unshare, "sh", "-c", script)
    equal(done.returncode, 6, f"status: {done.stderr}")
    (h5,) = [f for f in files(into / "launched") if f.endswith(".h5")]
    calls = Profile(into / "launched" / h5).count().get("sleep", 0)
    check(40 <= calls <= 50, f"{calls} of 50 calls of a program started in a namespace")


@everywhere
def overlay(into):
    """On overlayfs, a mapping's device and inode are not those of the file's stat."""
    for name in ("lower", "upper", "work", "merged", "base"):
        (into / name).mkdir()
    if run(["mount", "-t", "tmpfs", "tmpfs", into / "base"]).returncode:
        print("cannot mount here: not tested")
        return
    try:
        for name in ("lower", "upper", "work"):
            (into / "base" / name).mkdir()
        shutil.copy(ODD, into / "base/lower/app")
        options = ",".join(f"{n}dir={into}/base/{n}" for n in ("lower", "upper", "work"))
        if run(["mount", "-t", "overlay", "overlay", "-o", options, into / "merged"]).returncode:
            print("no overlayfs here: not tested")
            return
        try:
            done = trace("-o", into / "out", "--", into / "merged/app", "mismatched")
            equal(done.returncode, 0, f"status: {done.stderr}")
            equal(Profile(into / "out/app_rank00000.h5").count().get("outer"), 10, "calls of a program on overlayfs")
            target = start([into / "merged/app", "run"])
            wait_for(lambda: open(f"/proc/{target.pid}/comm").read().strip() == "app", "the start of the program")
            attach_to(into / "attached", target, target.pid, "app")
            target.kill()
            target.wait()
        finally:
            good(["umount", "-l", into / "merged"])
    finally:
        good(["umount", "-l", into / "base"])


main(mismatched, longjmp, abandoned, deep, names, paged, many_names, generations, signal_handlers, many_programs,
     sandboxed, in_valgrind, reloaded, opened_late, hostile, strange_path, deleted, namespaces, overlay)
