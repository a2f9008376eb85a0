#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""unwind.py - stacks of programs without frame pointers reach main, whatever the program does with its
address space: libraries that come and go, forks, execs, threads, code made at run time, a file that is
gone, another mount namespace; started by sp-trace, or attached to. Names are those of nm."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (BIN, EMULATED, PROGRAMS, SLOWER, SP_REPORT, SP_TRACE, check, contains, equal, everywhere, finish, have,
                 main, need_root, need_tool, real_time, run, scaled, start, start_trace, trace)
from unwinding import COMPLETE, Stacks

need_root()
need_tool("nm")

UNWOUND = PROGRAMS / "unwound"
LIBRARIES = [PROGRAMS / "libunwound24.so", PROGRAMS / "libunwound400.so"]
LATE = {4, 5, 8, 12}  # no mapping, pending, unsupported, frame pointers: enum sp_stack_end
BEFORE_TABLES = "no mapping", "pending", "frame pointers"  # of the process, of the file
CHAIN = ["inner", "middle", "outer", "run"]
OPTIONS = ["-F", "997", "--keep-journal"]


def record(into, *command, options=(), **more):
    done = trace(*OPTIONS, *options, "-o", into / "out", "--", *command, **more)
    check(done.returncode == 0, f"sp-trace ended with {done.returncode}: {done.stderr}")
    return done.stderr


def has_chain(names, chain):
    """The functions of the chain call each other without a gap."""
    return any(names[i:i + len(chain)] == chain for i in range(len(names)))


def ends_well(names, last):
    return names[-1] == "_start" if last == "main" else names[-3] == last


def mostly(share):
    """Of the stacks. Tables come late on an emulated machine, where they take a second instead of a millisecond."""
    return share / 2 if EMULATED else share


def judge(stacks, said, chain, least=100, share=0.9, working=0.85, wrong_share=0.001,
          settled=True):
    """Stacks are whole as they say, as sp-trace says, and by their names: they end with the chain, then
    `_start` below main, or two functions of libc below the start of a thread. What is in memory for a moment
    before its table is there costs a sample or two, more where the machine has more to do than it can, so of all
    stacks a smaller `share` may be whole than of those after a while without news.
    `wrong_share`: of stacks that say that they are whole and are not."""
    user = stacks.user()
    check(len(user) >= least, f"only {len(user)} samples")
    check(stacks.complete() >= mostly(share), f"only {stacks.complete():.2%} are complete: {stacks.ends()}")
    late = stacks.settled(0.1 * SLOWER)
    if settled and (late or not EMULATED):
        check(late and stacks.complete(late) >= 0.995, f"of {len(late)} settled ones only {stacks.complete(late):.2%} "
              f"are complete: {[s for s in late if s['stack_end'] != COMPLETE][:3]}")
    inside = [(s, stacks.names(s)) for s in user if s["stack_end"] == COMPLETE]
    names = [n for _, n in inside if "work" in n or "compare" in n]
    check(len(names) >= mostly(working) * len(user), f"{len(names)} of {len(user)} samples are in work")
    wrong = [n for n in names if not has_chain(n, chain) or not ends_well(n, chain[-1])]
    check(len(wrong) <= wrong_share * len(names), f"{len(wrong)} of {len(names)} lack callers, such as {wrong[:3]}")
    shown = re.search(r"stacks: ([\d.]+) % complete", said)
    if check(shown, f"sp-trace does not say how complete stacks are: {said}"):
        seen = stacks.complete([s for s in user if not s["copied"]])
        check(abs(float(shown[1]) / 100 - seen) < 0.002, f"{shown[0]}, but it is {seen}")
    copied = sum(s["copied"] for s in user)
    told = re.search(r"; ([\d,]+) more, earlier than their tables", said)
    equal(int(told[1].replace(",", "")) if told else 0, copied, "copies that sp-trace tells of")
    check(all(s["stack_end"] in LATE for s in user if s["copied"]), "a stack that is whole was copied")


@everywhere
def plain(into):
    said = record(into, UNWOUND, "work", 2 if EMULATED else 4, options=["-v"])
    stacks = Stacks(into / "out")
    judge(stacks, said, [*CHAIN, "main"])
    contains(said, "unwind table of [vdso]", f"unwind table of {UNWOUND}", "unwind tables: ")
    equal(stacks.meta.get("stacks"), "eh", "the mode in the journal")
    equal(stacks.meta.get("kernel_stacks"), "0", "and of the kernel's")
    names = {n for s in stacks.user() for n in stacks.names(s)}
    check("compare" in names and any("qsort" in n or "msort" in n for n in names), f"no callbacks: {names}")
    tables = {e["image"]: e for e in stacks.of("unwind_table")}
    images = {e["text"][0].rpartition("/")[2]: e["image"] for e in stacks.of("image")}
    for name in ("unwound", "libc.so.6"):
        t = tables.get(images.get(name))
        check(t and t["rows"] > 30 and t["error"] == 0, f"table of {name}: {t}")
    equal(len(tables), len(list(stacks.of("unwind_table"))), "each image has one table")


@real_time
def short(into):
    """What a program of half a second loses while it is new."""
    shares = []
    for i in range(5):
        done = trace(*OPTIONS, "-o", into / f"out{i}", "--", UNWOUND, "work", 0.5)
        check(done.returncode == 0, f"sp-trace ended with {done.returncode}: {done.stderr}")
        shares.append(Stacks(into / f"out{i}").complete())
    print("complete stacks of half a second:", " ".join(f"{s:.2%}" for s in shares))
    check(sorted(shares)[2] >= 0.95, f"shares {shares}")


def threads(into):
    said = record(into, UNWOUND, "threads", 2)
    judge(Stacks(into / "out"), said, [*CHAIN, "run_thread"])


def creates(into):
    """glibc does not describe the code in which clone() returns twice, where such a program spends half of its time."""
    said = record(into, UNWOUND, "create", 2)
    stacks = Stacks(into / "out")
    user = stacks.user()
    check(len(user) >= 100, f"only {len(user)} samples")
    check(stacks.complete() >= mostly(0.97), f"only {stacks.complete():.2%} are complete: {stacks.ends()}; {said}")
    # Of the second function, where both are stripped: in the kernel's part of clone().
    creating = [n for n in map(stacks.names, user) if has_chain(n, ["make_threads", *CHAIN[:1]]) and "main" in n]
    check(len(creating) >= mostly(0.3) * len(user), f"{len(creating)} of {len(user)} are whole, and make threads")
    # By copies: threads that are ending, whose stacks are gone, are not stacks that lack callers.
    done = trace("-F", "997", "--stacks", "dwarf", "-o", into / "dwarf", "--", UNWOUND, "create", 2)
    shown = re.search(r"sp-report: .* samples.*; stacks ([\d.]+) % complete", done.stderr)
    check(shown and float(shown[1]) >= 97, f"by copies: {done.stderr}")


@real_time
def probes(into):
    """A program that does little but cross probes: libdw, too, finds the way from the kernel's trampoline to the probe,
    and from the probe to the program. A copy of it, which no other test's recorder arms meanwhile; without the
    dynamic linker's lookups, through which libdw does not always find the way."""
    calls = into / "calls"
    shutil.copy(PROGRAMS / "calls", calls)
    for way, options in ("fast", []), ("slow", ["--breakpoints"]):
        done = trace("-F", "997", "--stacks", "dwarf,65536", *options, "--keep-journal", "-o", into / way, "--",
                     calls, into / f"{way}.log", 1, scaled(200000), 1, env={**os.environ, "LD_BIND_NOW": "1"})
        equal(done.returncode, 0, done.stderr)
        seen = json.loads(run([SP_REPORT, "verify", "--stacks", "--json", into / way / "journal.spj"]).stdout)["files"][0]["stacks"]
        print(f"{way}: {seen['samples']} samples, {seen['identical']} identical, {seen['reference_ended']} end early")
        check(seen["samples"] >= 100, f"only {seen['samples']} samples")
        others = [d for d in seen["differences"] if d["end"] not in BEFORE_TABLES or d["kind"] != "shorter"]
        equal(others, [], "differences")
        check(seen["identical"] >= 0.97 * seen["samples"], f"{way}: the reference ends early: {seen}")


def forks(into):
    said = record(into, UNWOUND, "fork", 2, LIBRARIES[0])
    stacks = Stacks(into / "out")
    judge(stacks, said, ["library_inner", "library_outer", "use_library", *CHAIN, "run_children", "main"])
    equal(len({s["pid"] for s in stacks.samples if "work" in stacks.names(s)}), 3, "children that work")


def execs(into):
    said = record(into, UNWOUND, "exec", 0.7, 4)
    stacks = Stacks(into / "out")
    judge(stacks, said, [*CHAIN, "run_and_exec", "main"])
    equal(len({s["process"] for s in stacks.samples if "work" in stacks.names(s)}), 4, "images that work")


def shell(into):
    """Programs that a script starts, one after the other, each new to the recorder or not."""
    other = into / "other"
    shutil.copy(UNWOUND, other)
    said = record(into, "sh", "-c", f"{UNWOUND} work 1; {other} work 1; {other} work 1; true")
    stacks = Stacks(into / "out")
    judge(stacks, said, [*CHAIN, "main"])


def brief(into):
    """Programs that have ended before the recorder comes to hear of them: what they had mapped is known all the same."""
    record(into, "sh", "-c", f"for i in $(seq {scaled(100)}); do {UNWOUND} work 0.02; done")
    stacks = Stacks(into / "out")
    user = [s for s in stacks.user() if s["stack_end"] == COMPLETE]
    check(len(user) >= 20, f"only {len(user)} samples")
    lost = [s for s in user if not stacks.find_map(s["process"], s["ip"], s["time"])]
    equal(len(lost), 0, f"samples in what nobody has mapped, of {len({s['process'] for s in lost})} processes")


@real_time
def unheard(into):
    """A program that starts while the recorder does not run at all: where its tables are ready, its stacks are
    whole from the first one on."""
    recorder = start([SP_TRACE, *OPTIONS, "-o", into / "out", "--", "sh", "-c",
                      f"echo ready; read go; exec {UNWOUND} work 1"], stdin=subprocess.PIPE)
    equal(recorder.stdout.readline(), "ready\n", "what the shell says")
    time.sleep(0.2)
    recorder.send_signal(signal.SIGSTOP)
    recorder.stdin.write("go\n")
    recorder.stdin.flush()
    time.sleep(2)
    recorder.send_signal(signal.SIGCONT)
    status, _, said = finish(recorder)
    equal(status, 0, f"status of sp-trace: {said}")
    stacks = Stacks(into / "out")
    user = [s for s in stacks.user() if "work" in stacks.names(s)]
    check(len(user) >= 20, f"only {len(user)} samples")
    check(stacks.complete(user) >= 0.99, f"only {stacks.complete(user):.2%} are complete: {said}")


@real_time
def reloads(into):
    """Two libraries at one place in turn, twenty times a second. The kernel does not tell of unmapping, so
    until the recorder has heard of the new one, which takes 0.1 ms where it gets a CPU at once, the table of
    the old one is used."""
    said = record(into, UNWOUND, "load", 4, *LIBRARIES)
    stacks = Stacks(into / "out")
    stacks.reloading = {s["process"] for s in stacks.samples}
    judge(stacks, said, ["library_inner", "library_outer", "use_and_unload", "load_in_turn", *CHAIN, "main"], share=0.75,
          wrong_share=0.1, settled=False)
    places = {m["start"] for p in stacks.maps.values() for m in p if "libunwound" in m["text"][0]}
    check(len(places) < 10, f"the libraries are not loaded at one place: {len(places)}")


def made_code(into):
    """Frame pointers lead through code that no file has."""
    if os.uname().machine != "x86_64":
        return
    said = record(into, UNWOUND, "jit", 2)
    stacks = Stacks(into / "out")
    user = stacks.user()
    names = [stacks.names(s) for s in user if s["stack_end"] == COMPLETE]
    check(stacks.complete() >= mostly(0.98), f"{stacks.complete():.2%} complete: {stacks.ends()}, {said}")
    whole = [n for n in names if "work" in n and has_chain(n, ["use_made", *CHAIN, "run_made", "main"])]
    check(len(whole) >= mostly(0.9) * len(user), f"{len(whole)} of {len(user)} go through the made code: {names[:2]}")


def attach(into):
    """The tables are there before the first sample."""
    target = start([UNWOUND, "wait", 3, LIBRARIES[1]], stdin=subprocess.PIPE)
    equal(target.stdout.readline(), "ready\n", "what the program says")
    recorder = start_trace(*OPTIONS, "-o", into / "out", pid=target.pid)
    target.stdin.write("go\n")
    target.stdin.flush()
    status, _, said = finish(recorder)
    equal(status, 0, f"status of sp-trace: {said}")
    judge(Stacks(into / "out"), said, ["library_inner", "library_outer", "use_library", *CHAIN, "main"])


def attach_working(into):
    target = start([UNWOUND, "threads", 60])
    recorder = start_trace(*OPTIONS, "-o", into / "out", "--duration", "2", pid=target.pid)
    status, _, said = finish(recorder)
    equal(status, 0, f"status of sp-trace: {said}")
    stacks = Stacks(into / "out")
    judge(stacks, said, [*CHAIN, "run_thread"])
    first = min(stacks.user(), key=lambda s: s["time"])
    equal(first["stack_end"], COMPLETE, "end of the first stack")
    target.kill()


def deleted(into):
    """The program's file, and a library's, are gone while it runs."""
    program, library = into / "program", into / "library.so"
    shutil.copy(UNWOUND, program)
    shutil.copy(LIBRARIES[0], library)
    target = start([program, "wait", 2, library], stdin=subprocess.PIPE)
    equal(target.stdout.readline(), "ready\n", "what the program says")
    program.unlink()
    recorder = start_trace(*OPTIONS, "-o", into / "out", pid=target.pid)
    target.stdin.write("go\n")
    target.stdin.flush()
    status, _, said = finish(recorder)
    equal(status, 0, f"status of sp-trace: {said}")
    files = {str(program): UNWOUND, f"{program} (deleted)": UNWOUND}
    judge(Stacks(into / "out", files), said, ["library_inner", "library_outer", "use_library", *CHAIN, "main"])


def container(into):
    """In a mount namespace where the program has a path that it has nowhere else."""
    if not have("unshare"):
        return
    inside = into / "inside"
    inside.mkdir()
    script = (f"mount -t tmpfs none {inside} && cp {UNWOUND} {inside}/program && cp {LIBRARIES[0]} {inside}/lib.so && "
              f"exec {inside}/program wait 2 {inside}/lib.so")
    target = start(["unshare", "-m", "sh", "-c", script], stdin=subprocess.PIPE)
    if target.stdout.readline() != "ready\n":
        print("no mount namespaces here")
        return
    check(not list(inside.iterdir()), "the file system is seen from outside, too")
    recorder = start_trace(*OPTIONS, "-o", into / "out", pid=target.pid)
    target.stdin.write("go\n")
    target.stdin.flush()
    status, _, said = finish(recorder)
    equal(status, 0, f"status of sp-trace: {said}")
    files = {f"{inside}/program": UNWOUND, f"{inside}/lib.so": LIBRARIES[0]}
    judge(Stacks(into / "out", files), said, ["library_inner", "library_outer", "use_library", *CHAIN, "main"])


def static(into):
    program = PROGRAMS / "unwound_static"
    if not program.exists():
        print("no static program was built")
        return
    said = record(into, program, "work", 2)
    judge(Stacks(into / "out"), said, [*CHAIN, "main"])


def cxx(into):
    """Exceptions that pass through frames, in which the unwinder of the language is at work itself."""
    program = PROGRAMS / "unwound_cxx"
    if not program.exists():
        print("no C++ compiler")
        return
    said = record(into, program, 3)
    stacks = Stacks(into / "out")
    check(stacks.complete() >= mostly(0.99), f"only {stacks.complete():.2%} are complete: {stacks.ends()}; {said}")
    names = [stacks.names(s) for s in stacks.user() if s["stack_end"] == COMPLETE]
    whole = [n for n in names if has_chain(n, ["_ZN7Thrower6methodEd", "_Z3runR4Based", "main"])]
    check(len(whole) >= 0.97 * len(names), f"{len(whole)} of {len(names)} reach main: "
          f"{[n for n in names if 'main' not in n][:3]}")
    check(any("_Unwind" in f for n in whole for f in n), "nothing was thrown")


def modes(into):
    """Nothing of tables without need; what is recorded says how it was."""
    for mode, end in (("leaf", 2), ("fp", 12), ("none", None)):
        done = trace(*OPTIONS, "--stacks", mode, "-v", "-o", into / mode, "--", UNWOUND, "work", 1.5)
        check(done.returncode == 0, f"--stacks {mode} ended with {done.returncode}: {done.stderr}")
        check("unwind table" not in done.stderr, f"tables are made with --stacks {mode}: {done.stderr}")
        check("% complete" not in done.stderr, f"--stacks {mode} speaks of complete stacks: {done.stderr}")
        stacks = Stacks(into / mode)
        equal(stacks.meta.get("stacks"), mode, "the mode in the journal")
        check(len(stacks.samples) > 50, f"{len(stacks.samples)} samples")
        if end is not None:
            share = stacks.ends().get(end, 0) / max(1, len(stacks.samples))
            check(share > 0.95, f"--stacks {mode}: {stacks.ends()}")
        if mode == "none":
            check(not any(s["stack"] for s in stacks.samples), "there are stacks with --stacks none")


def without_helper(into):
    """An installation that lacks the helper says so once, and records by frame pointers."""
    bin = into / "bin"
    bin.mkdir()
    for name in ("sp-trace", "sp-report", "sp-elf", "sp-libs", "sp-selftest"):
        shutil.copy2(BIN / name, bin / name)
    done = run([bin / "sp-trace", *OPTIONS, "-o", into / "out", "--", UNWOUND, "work", 1])
    equal(done.returncode, 0, f"status: {done.stderr}")
    contains(done.stderr, "cannot make unwind tables", "sp-unwind", "frame pointers")
    equal(done.stderr.count("unwind table"), 1, f"warnings in: {done.stderr}")
    stacks = Stacks(into / "out")
    check(stacks.ends().get(12, 0) > 0.9 * len(stacks.samples), f"{stacks.ends()}")


main(plain, short, threads, creates, probes, forks, execs, shell, brief, unheard, reloads, made_code, attach,
     attach_working, deleted, container, static, cxx, modes, without_helper)
