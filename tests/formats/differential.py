#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Two readers, one truth: files that we write, read by scope-profiler and by us, number by number; and
files that scope-profiler writes, the same.

usage: differential.py PROFILE_MAKE PROFILE_DUMP WORKDIR SEEDS

Runs itself under the Python that SP_SCOPE_PROFILER_PYTHON names, which has scope-profiler. Without it
the test is skipped (77), under CI it fails.
"""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys

COLUMNS = ["id", "parent", "thread", "task", "await_ns", "gpu_ns", "flags", "depth", "child_ns", "skipped",
           "site"]
failures = 0
checks = 0


def check(condition, *what):
    global failures, checks
    checks += 1
    if not condition:
        failures += 1
        if failures < 20:
            print("differs:", *what, file=sys.stderr)


def same(ours, theirs, *what):
    check(ours == theirs, *what, "ours", repr(ours)[:200], "theirs", repr(theirs)[:200])


def close(ours, theirs, *what):
    check(math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-6), *what, ours, theirs)


def dump(tool, path):
    done = subprocess.run([tool, str(path)], capture_output=True)
    if done.returncode:
        raise SystemExit(f"{tool} {path}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def column(row, name):
    return [call[2 + COLUMNS.index(name)] for call in row["calls"]]


def compare_statistics(row, region, what, self_time=True):
    """The region is scope-profiler's, with or without its calls."""
    same(row["n"], region.num_calls, what, "calls")
    if not row["n"]:
        return
    close(row["total"] / 1e9, region.total_duration, what, "total")
    close(row["minimum"] / 1e9, region.min_duration, what, "minimum")
    close(row["maximum"] / 1e9, region.max_duration, what, "maximum")
    close(row["mean"] / 1e9, region.average_duration, what, "mean")
    if row["m2"] >= 0:  # the aggregate layout has neither
        close(row["first"] / 1e9, region.first_duration, what, "first")
        close(row["last"] / 1e9, region.last_duration, what, "last")
        close(math.sqrt(row["m2"] / row["n"]) / 1e9, region.std_duration, what, "deviation")
    if row["self"] >= 0 and self_time:
        close(row["self"] / 1e9, region.exclusive_duration, what, "self")


def compare_h5(tool, path):
    import scope_profiler

    ours = dump(tool, path)
    full = scope_profiler.read_h5(path)
    regions = full.get_regions()
    same(sorted(set(row["region"] for row in ours["rows"])), sorted(region.name for region in regions),
         path, "names")
    rows = {(row["region"], row["rank"]): row for row in ours["rows"]}
    same(len(rows), len(ours["rows"]), path, "rows are unique")
    same(sorted(rows), sorted((region.name, rank) for region in regions for rank in region.regions), path,
         "rows")
    for region in regions:
        for rank, theirs in region.regions.items():
            row, what = rows[region.name, rank], f"{path} {region.name!r} rank {rank}"
            same(row["source_file"], theirs.source_file or "", what, "file")
            same(row["source_line"], -1 if theirs.source_lineno is None else theirs.source_lineno, what, "line")
            same(row["source_text"], theirs.source_text or "", what, "text")
            same(json.loads(row["tags"]), list(theirs.tags), what, "tags")
            compare_statistics(row, theirs, what)
            if ours["aggregate"]:
                continue
            same([call[0] for call in row["calls"]], theirs.start_times_ns.tolist(), what, "starts")
            same([call[1] for call in row["calls"]], theirs.end_times_ns.tolist(), what, "ends")
            for name, values in (("id", theirs.call_ids), ("parent", theirs.parent_ids),
                                 ("thread", theirs.thread_ids), ("task", theirs.task_ids),
                                 ("await_ns", theirs.await_times_ns)):
                if values is not None:
                    same(column(row, name), values.tolist(), what, name)
                else:
                    check(not ours["columns"] & 1 << COLUMNS.index(name), what, name, "is not theirs")
    check(full.metadata.get("hostname") == ours["metadata"].get("hostname"), path, "hostname")
    for rank, threads in full.threads.items():
        mine = [thread for thread in ours["threads"] if thread["rank"] == rank]
        same([(t["index"], t["native_id"], t["name"]) for t in mine],
             [(t.index, t.native_id, t.name) for t in threads], path, "threads")
        for a, b in zip(mine, threads):
            close((a["start_ns"] - ours["start_time_ns"]) / 1e9, b.start_time, path, "thread's start")
    if ours["version"] >= 2:
        for region in scope_profiler.read_h5_summary(path, fallback=False).get_regions():
            for rank, theirs in region.regions.items():
                if theirs.num_calls and not ours["aggregate"]:
                    # Their summary takes the total for a self time that is not stored; we compute it.
                    compare_statistics(rows[region.name, rank], theirs, f"{path} summary {region.name!r}",
                                       bool(ours["columns"] & 1 << COLUMNS.index("child_ns")))
    return ours, full


def compare_graph(ours, full, path):
    """Their nesting, made from the times alone, against our parents, depths and self times."""
    for rank in ours["ranks"]:
        position, span, times = {}, {}, {}
        for row in ours["rows"]:
            if row["rank"] == rank:
                for index, call in enumerate(row["calls"]):
                    mine = position[row["region"], index] = dict(zip(COLUMNS, call[2:]))
                    span[mine["id"]] = mine["thread"], call[0], call[1]
                    times[span[mine["id"]]] = times.get(span[mine["id"]], 0) + 1
        stack = full.call_stack(rank=rank)
        same(len(stack), len(position), path, "calls in the stack")
        for call in stack:
            mine = position[call["name"], call["call_index"]]
            parent = call["parent"]
            theirs = -1 if parent is None else position[stack[parent]["name"], stack[parent]["call_index"]]["id"]
            # Calls that begin and end together could enclose each other either way.
            involved = {mine["id"], mine["parent"], theirs} - {-1}
            if mine["parent"] != theirs and call["duration"] > 0:
                check(any(times[span[one]] > 1 for one in involved), path, rank, "parent", call, mine)
        graph = full.call_graph(rank=rank)
        same(len(graph), len(position), path, "calls in the graph")
        depth = {values["id"]: values["depth"] for values in position.values()}
        same([depth[node["call_id"]] for node in graph], [node["depth"] for node in graph], path, "depths")


def compare_spt(tool, path):
    from scope_profiler.native_trace import read_trace

    ours = dump(tool, path)
    rank, regions = read_trace(path)
    same(ours["ranks"], [rank] if regions else [], path, "rank")
    same([row["region"] for row in ours["rows"]], list(regions), path, "names")
    for row in ours["rows"]:
        theirs = regions[row["region"]]
        same([call[0] for call in row["calls"]], theirs.start_times.tolist(), path, row["region"], "starts")
        same([call[1] for call in row["calls"]], theirs.end_times.tolist(), path, row["region"], "ends")
        same(row["source_file"], theirs.source_file or "", path, "file")
        same(row["source_line"], -1 if theirs.source_lineno is None else theirs.source_lineno, path, "line")


def compare_sps(tool, path):
    from scope_profiler.native_samples import read_samples

    ours = dump(tool, path)
    theirs = read_samples(path)
    same((ours["ranks"], ours["hz"], ours["ticks"]), ([theirs.rank], theirs.hz, theirs.ticks), path, "header")
    same(ours["regions"], theirs.regions, path, "regions")
    same([(module["path"], module["bias"]) for module in ours["modules"]], theirs.modules, path, "modules")
    same([[sample[0]["region"], sample[0]["module"], sample[0]["ip"]] for sample in ours["samples"]],
         [list(map(int, sample)) for sample in theirs.samples], path, "samples")


def ours_read_by_both(make, tool, work, seed):
    directory = work / f"seed{seed}"
    subprocess.run([make, str(seed), str(directory)], check=True)
    path = directory / "profile.h5"
    ours, full = compare_h5(tool, path)
    trace = {"id", "parent", "thread", "depth"}
    if all(ours["columns"] & 1 << COLUMNS.index(name) for name in trace) and ours["n_calls"] < 60000:
        compare_graph(ours, full, path)
    for path in sorted((directory / "spt").iterdir()):
        compare_spt(tool, path)
    for path in sorted((directory / "sps").iterdir()):
        compare_sps(tool, path)
    if ours["n_calls"] and len(ours["ranks"]) > 1:
        from scope_profiler.native_trace import load_traces

        merged = load_traces(directory / "spt")
        same(merged.num_ranks, len(list((directory / "spt").iterdir())), directory, "merged ranks")
    shutil.rmtree(directory)


WRITERS = {
    "plain": {},
    "gzip": {"hdf5_compression": "gzip"},
    "lzf": {"hdf5_compression": "lzf"},
    "threads": {"track_threads": True},
    "aggregate": {"aggregate": True},
}


def theirs_read_by_both(tool, work):
    """Each in a process of its own: their manager is a global."""
    made = 0
    for name, options in WRITERS.items():
        path = work / f"theirs-{name}.h5"
        path.unlink(missing_ok=True)
        code = f"""
import threading
from scope_profiler import ProfileManager
options = {options!r}
if options.pop("aggregate", False):
    options["aggregation_mode"] = True
ProfileManager.setup(file_path={str(path)!r}, **options)
def work(n):
    with ProfileManager.profile_region("outer"):
        for i in range(n):
            with ProfileManager.profile_region("inner"):
                pass
work(3000)
if options.get("track_threads"):
    threads = [threading.Thread(target=work, args=(50,)) for _ in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
ProfileManager.finalize()
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=work)
        if done.returncode or not path.exists():
            check(False, name, "was not written:", done.stderr.decode()[-600:])
            continue
        made += 1
        if name == "lzf":
            refused = subprocess.run([tool, str(path)], capture_output=True)
            if refused.returncode:  # libhdf5 has no such filter unless a plugin is installed
                check(b"filter 32000 (lzf)" in refused.stderr, "lzf is refused by name", refused.stderr)
                continue
        ours, _ = compare_h5(tool, path)
        check(ours["n_calls"] >= 3000, name, "has its calls")
    check(made == len(WRITERS), "files of theirs", made)


def main():
    make, tool, work, seeds = sys.argv[1:5]
    work = pathlib.Path(work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for seed in range(int(seeds)):
        ours_read_by_both(make, tool, work, seed)
    theirs_read_by_both(tool, work)
    print(f"{checks} checks, {failures} failed")
    return 1 if failures or not checks else 0


if __name__ == "__main__":
    judge = os.environ.get("SP_SCOPE_PROFILER_PYTHON")
    if not judge:
        print("SP_SCOPE_PROFILER_PYTHON does not name a Python with scope-profiler")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    if os.environ.get("SP_DIFFERENTIAL_INSIDE") != "1":
        os.environ["SP_DIFFERENTIAL_INSIDE"] = "1"
        os.execv(judge, [judge, *sys.argv])
    sys.exit(main())
