#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A recorder that cannot keep up: rings of one page under a storm of regions, and a kernel without memory. Most is lost, and for
each CPU, thread and region, what is recorded and what the ledger says is, to the call, what the program
counted itself."""
import collections
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
from e2e import (PROGRAMS, SP_REPORT, SP_TRACE, check, contains, equal, everywhere, finish, good, lost, main, need_root,
                 need_scope_profiler, preloaded, recorded, report, run, scaled, start)

need_root()
need_scope_profiler()
from recording import Profile, text  # noqa: E402

DEPTH = 80  # SP_MAX_DEPTH of wire.h
CALLS = {"call ring full", "nested too deeply", "no task storage", "name table full"}


def storm(into, *arguments, options=("-F", 0), **faults):
    """Runs it; gives what sp-trace said, the profile, and what was fired by (thread, CPU, region).
    @faults: of the kernel, as in injected.c."""
    environment = preloaded("libinjected.so", **faults) if faults else None
    recorder = start([SP_TRACE, *options, "--ring-size", "4K", "--keep-journal", "-o", into / "out", "--",
                      PROGRAMS / "storm", *arguments], env=environment)
    status, out, said = finish(recorder)
    equal(status, 0, f"status: {said}")
    fired = {}
    for line in out.splitlines():
        tid, cpu, rest = line.split(" ", 2)
        region, count = rest.rsplit(" ", 1)
        if int(count):
            fired[int(tid), int(cpu), region] = int(count)
    return said, Profile(into / "out/storm_rank00000.h5"), fired


def gaps(profile):
    """(cause, CPU, thread's id, region, count, first, last) of each; thread None: unknown."""
    rows = profile.losses
    if not rows:
        return []
    table = profile.thread_rows
    return [(cause, cpu, table[thread] if thread >= 0 else None, region, count, first, last)
            for cause, cpu, thread, region, count, first, last in
            zip(text(rows["cause"]), rows["cpu"], rows["thread"], text(rows["region"]), rows["count"],
                rows["first_ns"], rows["last_ns"])]


def by_region(profile):
    """Recorded calls by (thread, region)."""
    names = [profile.names[r] for r in profile.region.tolist()]
    return collections.Counter(zip(profile.tid.tolist(), names))


def add_up(profile, causes=CALLS):
    """The same, and what the ledger has: all of it has thread, region and CPU."""
    sums = by_region(profile)
    for cause, cpu, tid, region, count, *_ in gaps(profile):
        if cause in causes:
            check(tid is not None and cpu >= 0, f"a gap without a thread or CPU: {cause} {cpu} {tid} {region}")
            sums[tid, region] += count
    return sums


def streams(into):
    """Calls in the journal by CPU: each is in the stream of the CPU on which it ended."""
    lines = good([SP_REPORT, "dump", "--section", "call", into / "out/journal.spj"]).stdout.splitlines()
    found = collections.Counter()
    for line in lines:
        if line.startswith("call "):
            found[int(line.split("stream=")[1].split()[0])] += 1
    return found


def reports(into, total):
    """Every report says so."""
    done = run([SP_REPORT, "verify", into / "out/storm_rank00000.h5"])
    equal(done.returncode, 3, f"status of verify: {done.stdout}{done.stderr}")
    contains(done.stdout, "incomplete", f"{total:,}")
    done = run([SP_REPORT, "verify", "--json", into / "out/journal.spj"])
    equal((done.returncode, json.loads(done.stdout)["complete"], json.loads(done.stdout)["files"][0]["lost"]),
          (3, False, total), "verify of the journal")
    said = good([SP_REPORT, "info", into / "out"]).stdout
    check(said.startswith("MISSING: "), f"info does not begin with what is missing: {said[:200]}")
    contains(said, "on CPU", "in thread", "in region", "of the run")
    told = report("summary", into / "out")
    equal(sum(r["lost_calls"] for r in told["regions"]), total, "lost calls of the regions in summary")
    equal(sum(g["count"] for g in told["gaps"]), total, "gaps in summary")
    contains(good([SP_REPORT, "summary", into / "out"]).stdout, "missing", f"{told['regions'][0]['lost_calls']:,} calls")


@everywhere
def pinned(into):
    """Threads that stay on their CPUs: exact for each CPU."""
    said, profile, fired = storm(into, 4, scaled(20_000, least=2_000), "pinned")
    total = sum(fired.values())
    print(f"{recorded(said)[0]:,} recorded, {lost(said):,} lost of {total:,}; {len(gaps(profile))} gaps")
    check(lost(said) > total / 2, "most was to be lost")
    equal(recorded(said)[0] + lost(said), total, "recorded and lost")
    equal(dict(add_up(profile)), {(tid, region): n for (tid, _, region), n in fired.items()},
          "by thread and region")
    truth, seen = collections.Counter(), collections.Counter(streams(into))
    for (_, cpu, _), n in fired.items():
        truth[cpu] += n
    for _, cpu, _, _, count, *_ in gaps(profile):
        seen[cpu] += count
    equal(dict(seen), dict(truth), "by CPU")
    begin, end = int(profile.meta["start_ns"]), int(profile.meta["stop_ns"])
    check(all(begin <= first <= last <= end for *_, first, last in gaps(profile)), "spans lie in the recording")
    reports(into, lost(said))


def free(into):
    """Threads that the scheduler moves about."""
    said, profile, fired = storm(into, 8, scaled(8_000, least=1_500), "free")
    check(lost(said) > 0, "nothing was lost")
    equal(recorded(said)[0] + lost(said), sum(fired.values()), "recorded and lost")
    equal(dict(add_up(profile)), {(tid, region): n for (tid, _, region), n in fired.items()},
          "by thread and region")


def deep(into):
    """Calls beyond the depth that is kept are told apart from those that found no room."""
    said, profile, fired = storm(into, 2, scaled(4_000, least=1_000), "pinned", "deep")
    equal(recorded(said)[0] + lost(said), sum(fired.values()), "recorded and lost")
    beyond = sum(g[4] for g in gaps(profile) if g[0] == "nested too deeply")
    equal(beyond, sum(n for (_, _, region), n in fired.items() if region == "deep") * (100 - DEPTH) // 100,
          "nested too deeply")
    for tid, cpu, region in fired:
        if region != "deep":
            equal(add_up(profile)[tid, region], fired[tid, cpu, region], f"{region} in {tid}")


def names(into):
    """More run-time names than the kernel side remembers: the oldest fall out, and nothing is lost by that."""
    count = 70_000
    said, profile, fired = storm(into, 1, 100, "free", count)
    equal(recorded(said)[0] + lost(said), sum(fired.values()) + count, "recorded and lost")
    once = collections.Counter(region for (_, region), n in by_region(profile).items() if region.startswith("name ") for _ in range(n))
    check(once and all(n == 1 for n in once.values()), "a name that was recorded is there once")
    # More places than the ledger keeps apart are one there, and none is lost by that.
    equal(sum(g[4] for g in gaps(profile) if g[0] in CALLS), lost(said), "the ledger")


def storage(into):
    """The kernel has no memory for any thread's open regions: nothing is recorded, and all of it is counted."""
    said, profile, fired = storm(into / "none", 3, scaled(3_000, least=600), "free", INJECT_BPF_OCCUPY="near_stacks",
                                 INJECT_BPF_REFUSE="far_stacks")
    refused = [g for g in gaps(profile) if g[0] == "no task storage"]
    check(refused and all(g[1] >= 0 and g[2] is not None for g in refused), f"gaps: {gaps(profile)[:3]}")
    equal(recorded(said)[0] + lost(said), sum(fired.values()), f"recorded and lost: {said}")
    equal(sum(g[4] for g in refused), lost(said), "the ledger")
    equal(sum(g[4] for g in refused if g[3] == "leaf"), sum(n for (_, _, region), n in fired.items() if region == "leaf"),
          "the ledger by region")
    by_thread = collections.Counter()
    for (tid, _, _), n in fired.items():
        by_thread[tid] += n
    for _, _, tid, _, count, *_ in refused:
        by_thread[tid] -= count
    equal(set(by_thread.values()), {0}, "by thread")
    # With memory, but nowhere else: all of it is there.
    said, profile, fired = storm(into / "far", 3, scaled(3_000, least=600), "free", INJECT_BPF_OCCUPY="near_stacks")
    equal(recorded(said)[0] + lost(said), sum(fired.values()), "recorded and lost")
    check(not any(g[0] == "no task storage" for g in gaps(profile)), "no storage is lacking")


def control(into):
    """A control ring of one page: names and threads cannot be told, and calls are not lost by that."""
    count = 5_000
    said, profile, fired = storm(into, 40, 200, "free", "unattended", count, INJECT_BPF_SHRINK="control_ring:4096")
    full = sum(g[4] for g in gaps(profile) if g[0] == "control ring full")
    print(f"{full} records of control lost")
    check(full > 0, "the control ring was to be full")
    equal(recorded(said)[0] + lost(said), sum(fired.values()) + count, f"recorded and lost: {said}")
    equal(profile.region.size, recorded(said)[0], "all that was recorded is in the file")
    equal(run([SP_REPORT, "verify", into / "out"]).returncode, 3, "status of verify")


def samples(into):
    """A ring of samples of one page: those that did not fit while the recorder was stopped have a
    thread, a region and a CPU."""
    said, profile, _ = storm(into, 2, scaled(120_000, least=30_000), "pinned", "unattended",
                             options=("-F", 4999, "--sample-ring-size", "4K"))
    full = [g for g in gaps(profile) if g[0] == "sample ring full"]
    check(full and all(g[1] >= 0 and g[2] is not None for g in full), f"lost samples: {full[:3]}")
    told = report("summary", into / "out")
    equal(sum(r["lost_samples"] for r in told["regions"]), sum(g[4] for g in full if g[3]), "lost samples of the regions")
    for command in ("lines",), ("tree", "--by-region"):
        contains(good([SP_REPORT, *command, into / "out"]).stdout, "sample ring full", "on CPU", "in thread", "in region",
                 "; missing: ")
    marked = {r["region"]: r["lost_samples"] for r in report("lines", into / "out")["regions"]}
    known = {r["name"]: r["lost_samples"] for r in told["regions"]}
    equal(marked, {name: known.get(name, 0) for name in marked}, "lost samples of the regions in lines")


main(pinned, free, deep, names, storage, control, samples)
