#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mistakes.py - programs that use regions wrongly: early returns, longjmp, exceptions, threads and processes
that end or exec inside, ends that are missing, doubled, of another region or late, pairs over functions,
signal stacks and fibers, more depth than there is room for. Random ones, whose every call, parent, flag,
time and count is known from their logs (a few seeds; hundreds with SP_TEST_FULL=1), and each mistake by itself."""
import os
import struct
import subprocess
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
import e2e
from e2e import (PROGRAMS, SOURCE, SP_REPORT, check, contains, equal, everywhere, finish, good, main, need_root,
                 need_scope_profiler, need_tool, run, start, start_trace, trace, wait_said)

need_root()
need_tool("gcc", "g++")
need_scope_profiler()
import mistakes_truth as truth
from mistakes_program import NAMES, Program
from recording import Profile, text

SEEDS = range(1, 301 if os.environ.get("SP_TEST_FULL") == "1" else 5)
FIRST = int(os.environ.get("SP_MISTAKES_SEED", "0"))


def build(into, source, name, cxx, *options):
    path = into / f"{name}.{'cpp' if cxx else 'c'}"
    path.write_text(source)
    good(["g++" if cxx else "gcc", "-D_GNU_SOURCE", "-g", "-Wall", "-Wno-unused-function", *options, f"-I{SOURCE}", path,
          "-o", into / name, "-pthread"])
    return into / name


def sums(profile):
    found = {}
    for cause, count in zip(text(profile.losses.get("cause", [])), profile.losses.get("count", [])):
        found[cause] = found.get(cause, 0) + int(count)
    return found


def compare_lane(what, profile, rows, lane):
    """Each call of a thread, in order of entry."""
    rows = sorted(rows, key=lambda row: int(profile.id[row]))
    number = [int(profile.id[row]) & (1 << 40) - 1 for row in rows]
    wanted = sorted(lane.done, key=lambda call: call.number)
    seen = [(n, profile.names[profile.region[row]], int(profile.flags[row]), int(profile.parent[row]) & (1 << 40) - 1
             if profile.parent[row] >= 0 else 0, int(profile.depth[row])) for n, row in zip(number, rows)]
    right = [(c.number, NAMES[c.name], c.flags, c.parent, c.depth) for c in wanted]
    if not check(len(seen) == len(right), f"{what}: {len(seen)} calls, not {len(right)}"):
        print("first difference:", next(((a, b) for a, b in zip(seen, right) if a != b), None))
        return
    for one, other, call, row in zip(seen, right, wanted, rows):
        if not check(one == other, f"{what}: call (number, region, flags, parent, depth) is {one}, not {other}, begun at line "
                     f"{call.entry.line}"):
            return
        start, end = int(profile.start[row]), int(profile.end[row])
        first = call.entry.before if not call.flags & truth.BEFORE else 0
        check(first <= start <= call.entry.after, f"{what}: {one} starts at {start}, not in {first}..{call.entry.after}")
        check(call.end_first <= end <= call.end_last, f"{what}: {one} ends at {end}, not in {call.end_first}..{call.end_last}")
    children = {}
    for row in rows:
        parent = int(profile.parent[row])
        children[parent] = children.get(parent, 0) + int(profile.end[row] - profile.start[row])
    for row in rows:
        equal(int(profile.child[row]), children.get(int(profile.id[row]), 0), f"{what}: time of the children of {row}")


def one_seed(into, seed, totals):
    cxx = seed % 3 == 0
    what = f"seed {seed}"
    program = build(into, Program(seed, cxx).text(), f"p{seed}", cxx, ["-O2", "-O1", "-O3", "-O0"][seed % 4])
    done = trace("-F", "0", "-o", into / "out", "--", program, into / "log")
    if not equal(done.returncode, 0, f"{what}: status"):
        print(done.stderr)
        return
    lanes = [lane for lane in truth.read(into / "log", NAMES)]
    profile = Profile(into / f"out/p{seed}_rank00000.h5")
    by_thread = {}
    for row, thread in enumerate(profile.thread.tolist()):
        by_thread.setdefault(thread, []).append(row)
    wanted = [lane for lane in lanes if lane.done]
    by_tid = {}
    for thread in sorted(by_thread, key=lambda t: min(profile.end[r] for r in by_thread[t])):
        by_tid.setdefault(int(profile.tid[by_thread[thread][0]]), []).append(by_thread[thread])
    equal(len(by_thread), len(wanted), f"{what}: threads with calls")
    for lane in wanted:
        left = by_tid.get(lane.tid, [])
        if check(left, f"{what}: thread {lane.tid} has no calls"):
            compare_lane(f"{what}, lane {lanes.index(lane)}", profile, left.pop(0), lane)
    told = sums(profile)
    for cause, attribute in (("end without a begin", "unmatched"), ("end that came too late", "late_ends"),
                             ("nested too deeply", "too_deep")):
        count = sum(getattr(lane, attribute) for lane in lanes)
        equal(told.pop(cause, 0), count, f"{what}: {cause}")
        totals[cause] = totals.get(cause, 0) + count
    equal(told, {}, f"{what}: other losses")
    for lane in lanes:
        for call in lane.done:
            totals[call.flags] = totals.get(call.flags, 0) + 1
    verdict = run([*map(str, [os.environ["SP_BIN"] + "/sp-report", "verify", into / "out"])])
    check("crosses" not in verdict.stdout + verdict.stderr and "BAD" not in verdict.stdout, f"{what}: {verdict.stdout}{verdict.stderr}")
    for name in ("log", f"p{seed}", f"p{seed}.c", f"p{seed}.cpp"):
        (into / name).unlink(missing_ok=True)
    good(["rm", "-rf", into / "out"])


def random_programs(into):
    totals = {}
    for seed in [FIRST] if FIRST else SEEDS:
        one_seed(into, seed, totals)
    print({str(k): v for k, v in totals.items()})
    if not FIRST:
        for kind in (0, 1, 2, 16, 32, "end without a begin", "end that came too late", "nested too deeply"):
            check(totals.get(kind, 0) > 0, f"no seed had {kind}: the programs do not make every mistake")


def compare_regions(what, profile, wanted, lost):
    """@wanted: of each region its calls' parents, and {flags: calls}."""
    name_of = {int(i): profile.names[r] for i, r in zip(profile.id, profile.region)}
    seen = {}
    for row in range(len(profile.start)):
        parents, flags = seen.setdefault(profile.names[profile.region[row]], (set(), {}))
        parents.add(name_of.get(int(profile.parent[row])))
        flags[int(profile.flags[row])] = flags.get(int(profile.flags[row]), 0) + 1
    equal(seen, {name: ({p} if p is None or isinstance(p, str) else set(p), flags) for name, (p, flags) in wanted.items()},
          f"{what}: calls")
    equal(sums(profile), lost, f"{what}: losses")


def one_case(into, case, wanted, lost):
    done = trace("-F", "0", "-o", into / case, "--", PROGRAMS / "mistaken", case)
    equal(done.returncode, 0, f"{case}: status")
    compare_regions(case, Profile(into / case / "mistaken_rank00000.h5"), wanted, lost)


@everywhere
def in_threads(into):
    """Where a thread's stack is, is known from its start: also where the C library uses clone(), in processes
    that threads fork, and of threads that were there before; while another thread changes the mappings."""
    unwound, around = truth.UNWINDING, {"around": (None, {0: 1})}
    for case, times in (("threads", 50), ("clone", 1)):
        one_case(into, case, {**around, "thread": (None, {0: times}), "after": ("thread", {0: times}),
                              "left": (("thread", "left"), {unwound: 6 * times})}, {})
        if e2e.EMULATED == "short":
            return
    one_case(into, "forks", {**around, "thread": (None, {0: 50}), "after": (None, {0: 50}),
                             "left": ((None, "left"), {unwound: 300})}, {})
    program = start([PROGRAMS / "mistaken", "before"], stdin=subprocess.PIPE)
    wait_said(program, "ready")
    recorder = start_trace("-F", "0", "-o", into / "before", pid=program.pid)
    program.communicate("\n")
    equal(finish(recorder)[0], 0, "before: status")
    compare_regions("before", Profile(into / "before/mistaken_rank00000.h5"), {
        "around": (None, {truth.BEFORE: 1}), "thread": (None, {0: 50}), "after": ("thread", {0: 50}),
        "left": (("thread", "left"), {unwound: 300})}, {})


@everywhere
def one_by_one(into):
    """{region: (parent, {flags: calls})} of each mistake by itself, and what else is counted."""
    outer, by_exit, unwound = truth.OUTER, truth.EXIT, truth.UNWINDING
    after = {"after": ("around", {0: 1}), "around": (None, {0: 1})}
    cases = {
        "longjmp": ({**after, "left": (("around", "left"), {unwound: 6})}, {}),
        "early": ({"after": ("early", {0: 1}), "around": (None, {0: 1}),
                   "early": (("around", "early"), {outer: 44, unwound: 156})}, {}),
        "loop": ({**after, "phase": ("around", {0: 1}), "step": (("phase", "step", "left"), {outer: 48, unwound: 152}),
                  "left": (("phase", "step"), {0: 100, outer: 24, unwound: 76})}, {}),
        "recursion": ({**after, "level": (("around", "level"), {0: 10, outer: 10})}, {}),
        "helpers": ({**after, "helped": (("around", "helped"), {0: 68})}, {}),
        "names": ({**after, "name": (("around", "name"), {0: 60, outer: 9})}, {}),
        "deep": ({**after, "deep": (("around", "deep"), {0: 39, outer: 40})}, {"nested too deeply": 40}),
        "halves": ({"halves": ("around", {0: 1}), "after": ("halves", {0: 3}), "around": (None, {0: 1})}, {}),
        "twice": ({**after, "once": ("around", {0: 1})}, {"end without a begin": 1}),
        "signal": ({"after": ("handler", {0: 1}), "handler": ("interrupted", {0: 1}), "interrupted": ("around", {0: 1}),
                    "around": (None, {0: 1})}, {}),
        "cancel": ({**after, "cancelled": (None, {by_exit: 1})}, {}),
    }
    if e2e.EMULATED == "short":
        cases = {"longjmp": cases["longjmp"]}
    for case, (wanted, lost) in cases.items():
        one_case(into, case, wanted, lost)
    said = good([SP_REPORT, "info", into / "longjmp"]).stdout
    source = (SOURCE / "tests/e2e/programs/mistaken.c").read_text().splitlines()
    line = next(n for n, text in enumerate(source, 1) if 'SP_REGION_SCOPE("left")' in text)
    contains(said, "6 calls had no end of their own and ended when their function was seen to have returned",
             f"6 × left at mistaken.c:{line}")


def other_stacks(into):
    """Fibers and handlers leave the calls of other stacks alone, also where there is no room for more."""
    for case, calls, too_deep in ((["pair"], {"around": 1, "first": 1, "second": 1, "plain": 3}, 0),
                                  (["arena"], {"around": 1, "first": 1, "plain": 3}, 0),
                                  (["fiber", "80"], {"deep": 80, "plain": 1}, 4), (["fiber", "90"], {"deep": 80, "plain": 1}, 14),
                                  (["signal", "80"], {"deep": 80, "plain": 1}, 2), (["signal", "90"], {"deep": 80, "plain": 1}, 12)):
        done = trace("-F", "0", "-o", into / "".join(case), "--", PROGRAMS / "fibers", *case)
        equal(done.returncode, 0, f"{case}: status")
        profile = Profile(into / "".join(case) / "fibers_rank00000.h5")
        equal({name: n for name, n in profile.count().items() if n}, calls, f"{case}: calls")
        equal(set(profile.flags.tolist()), {0}, f"{case}: flags")
        equal(sums(profile), {"nested too deeply": too_deep} if too_deep else {}, f"{case}: losses")


INTENT_CALL, INTENT_CALLS, INTENT_LANE = struct.Struct("<4I4Q"), 8000, struct.Struct("<4I")
MEANT, LEFT = 1, 2


def as_meant(into):
    """Whatever else a program does wrong, each pair that was meant is recorded as if all were right, each call that
    was left is marked, and each end of nothing counted. Seeds as in random_programs()."""
    flags = {}
    for seed in [FIRST] if FIRST else SEEDS:
        done = trace("-F", "0", "-o", into / f"{seed}", "--", PROGRAMS / "intent", into / f"log{seed}", seed)
        equal(done.returncode, 0, f"seed {seed}: status")
        profile, rows, nothing = Profile(into / f"{seed}/intent_rank00000.h5"), {}, 0
        for row in sorted(range(len(profile.id)), key=lambda row: int(profile.id[row])):
            rows.setdefault(int(profile.tid[row]), []).append(row)
        data = (into / f"log{seed}").read_bytes()
        for k in range(struct.unpack_from("<I", data)[0]):
            at = 8 + k * (INTENT_LANE.size + INTENT_CALLS * INTENT_CALL.size)
            tid, calls, ends, _ = INTENT_LANE.unpack_from(data, at)
            nothing += ends
            if not equal(len(rows[tid]), calls, f"seed {seed}, lane {k}: calls"):
                continue
            for i, row in enumerate(rows[tid]):
                name, line, fate, _, *begin_end = INTENT_CALL.unpack_from(data, at + INTENT_LANE.size + i * INTENT_CALL.size)
                what = f"seed {seed}, lane {k}: call {i}, of n{name} at line {line},"
                flag, start, end = int(profile.flags[row]), int(profile.start[row]), int(profile.end[row])
                flags[flag] = flags.get(flag, 0) + 1
                right = profile.names[profile.region[row]] == f"n{name}" and begin_end[0] <= start <= begin_end[1]
                if fate == MEANT:
                    right = right and flag == 0 and begin_end[2] <= end <= begin_end[3]
                else:
                    right = right and fate == LEFT and flag in (truth.OUTER, truth.UNWINDING)
                check(right, f"{what} with fate {fate} and times {begin_end} is {profile.names[profile.region[row]]}, flags {flag}, "
                      f"{start} to {end}")
        told = sums(profile)
        equal(told.pop("end without a begin", 0) + told.pop("end that came too late", 0), nothing, f"seed {seed}: ends of nothing")
        equal(told, {}, f"seed {seed}: other losses")
    print(flags)


main(one_by_one, in_threads, other_stacks, random_programs, as_meant)
