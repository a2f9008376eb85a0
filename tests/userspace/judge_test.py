# SPDX-License-Identifier: BSD-2-Clause
"""The real scope-profiler opens what recover wrote, and has the numbers that summary shows.

Both of a directory with two ranks and threads and of one with many calls, from .h5 and from .spt.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

READER = r"""
import json, sys
from scope_profiler.native_trace import load_traces
from scope_profiler.native_samples import read_samples, find_sample_files

results = load_traces(sys.argv[1])
regions = {}
for name in results.region_names:
    region = results[name]
    per_rank = {}
    for rank, data in region.regions.items():
        per_rank[int(rank)] = {
            "calls": int(data.num_calls),
            "starts": [int(x) for x in data.start_times_ns],
            "ends": [int(x) for x in data.end_times_ns],
        }
    from scope_profiler.summary import region_row
    regions[name] = {"row": region_row(region, include_exclusive=sys.argv[2] == "h5"),
                     "ranks": per_rank}
samples = {}
from scope_profiler.h5reader import read_h5
import glob
files = {}
for path in sorted(glob.glob(sys.argv[1] + "/*.h5")) if sys.argv[2] == "h5" else []:
    one = read_h5(path)
    rank = int(path[-8:-3])
    calls = {}
    for name in one.region_names:
        for data in one[name].regions.values():
            calls[name] = [[int(i) for i in getattr(data, column)]
                           for column in ("call_ids", "parent_ids", "thread_ids", "start_times_ns", "end_times_ns")]
    files[rank] = {
        "threads": [[t["name"], t["num_calls"], t["region_time"]] for t in one.thread_summary(rank)],
        "graph": len(one.call_graph(rank)),
        "calls": calls,
        "hostname": str(one.metadata.get("hostname")),
        "mpi_size": int(one.metadata.get("mpi_size")),
        "total_time": one.total_time,
    }
for path in find_sample_files(sys.argv[1]) if sys.argv[2] == "h5" else []:
    file = read_samples(path)
    samples[int(file.rank)] = {"hz": int(file.hz), "ticks": int(file.ticks), "samples": len(file.samples)}
print(json.dumps({"regions": regions, "num_ranks": int(results.num_ranks), "samples": samples, "files": files,
                  "total_time": results.total_time}, default=float))
"""

# A profile of scope-profiler's own.
FOREIGN = r"""
import sys, time
from scope_profiler import ProfileManager

ProfileManager.setup(file_path=sys.argv[1])
for i in range(20):
    with ProfileManager.profile_region("outer"):
        with ProfileManager.profile_region("inner"):
            time.sleep(0.0001 * (i % 3))
ProfileManager.finalize()
"""


def close(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-15


class Judge:
    def __init__(self, options, python):
        self.options = options
        self.python = python
        self.problems = []
        self.checks = 0

    def check(self, condition, what):
        self.checks += 1
        if not condition:
            self.problems.append(what)
            print("FAILED:", what)

    def read(self, directory, kind):
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        r = subprocess.run([self.python, "-c", READER, directory, kind], capture_output=True, text=True,
                           env=env, timeout=300)
        if r.returncode:
            sys.exit(f"scope-profiler cannot read {directory}:\n{r.stderr}")
        return json.loads(r.stdout)

    def summary(self, *args):
        r = subprocess.run([self.options.report, "summary", "--json", *args], capture_output=True, text=True,
                           check=True)
        return json.loads(r.stdout)

    def compare_region(self, name, ours, theirs, kind):
        row = theirs["row"]
        self.check(ours["calls"] == row["calls"], f"{kind} {name}: calls {ours['calls']} {row['calls']}")
        for key, other in (("total_ns", "total"), ("mean_ns", "avg"), ("min_ns", "min"), ("max_ns", "max"),
                           ("first_ns", "first"), ("last_ns", "last"), ("std_ns", "std"),
                           ("self_ns", "exclusive")):
            if row[other] is None or (key == "self_ns" and kind != "h5"):
                continue
            self.check(close(ours[key] / 1e9, row[other]),
                       f"{kind} {name}: {key} is {ours[key]}, {other} is {row[other]}")
        self.check(close(ours["imbalance"] * 100, row["imbalance"]), f"{kind} {name}: imbalance")
        self.check(ours["ranks"] == row["num_ranks"], f"{kind} {name}: ranks")

    def compare_files(self, directory, theirs):
        """Threads, call ids and nesting of each .h5 file by itself."""
        for rank, file in theirs["files"].items():
            info = json.loads(subprocess.run(
                [self.options.report, "info", "--json", os.path.join(directory, f"heat_rank{int(rank):05}.h5")]
                if "demo" in directory else [self.options.report, "info", "--json", directory],
                capture_output=True, text=True, check=True).stdout)["recordings"][0]
            calls = [c for columns in file["calls"].values() for c in zip(*columns)]
            ids = {c[0]: c for c in calls}
            self.check(len(ids) == len(calls), f"rank {rank}: call ids are not unique")
            self.check(file["graph"] == len(calls) == info["calls"], f"rank {rank}: calls of the graph")
            self.check(len(file["threads"]) == info["threads"], f"rank {rank}: threads")
            self.check(sum(t[1] for t in file["threads"]) == len(calls), f"rank {rank}: calls of threads")
            for call in calls:
                parent = ids.get(call[1])
                if call[1] >= 0:
                    self.check(parent and parent[2] == call[2] and parent[3] <= call[3] and call[4] <= parent[4],
                               f"rank {rank}: the parent of {call}")
            # The time in a thread's outermost calls, added up from ours.
            for index, thread in enumerate(file["threads"]):
                roots = sum(c[4] - c[3] for c in calls if c[2] == index and c[1] < 0)
                self.check(close(thread[2], roots / 1e9), f"rank {rank}: region time of thread {index}")
            self.check(file["hostname"] == "node1", f"rank {rank}: hostname")
            self.check(close(file["total_time"], 2.0), f"rank {rank}: length of the run")

    def compare(self, directory, kind):
        theirs = self.read(directory, kind)
        ours = self.summary(directory)
        by_name = {r["name"]: r for r in ours["regions"]}
        self.check(set(by_name) == set(theirs["regions"]), f"{kind}: regions")
        # For scope-profiler a rank without a region, which may have samples, is none.
        self.check(ours["ranks"] == (theirs["num_ranks"] if by_name else 1), f"{kind}: ranks")
        for name in by_name:
            self.compare_region(name, by_name[name], theirs["regions"][name], kind)
        for rank in self.summary("--by-rank", directory)["regions"]:
            other = theirs["regions"][rank["name"]]["ranks"][str(rank["rank"])]
            self.check(rank["calls"] == other["calls"], f"{kind} {rank['name']}: calls of a rank")
            self.check(rank["total_ns"] == sum(other["ends"]) - sum(other["starts"]),
                       f"{kind} {rank['name']}: total of a rank")
            # Rows in order of entry.
            self.check(other["starts"] == sorted(other["starts"]), f"{kind} {rank['name']}: order")
        if kind == "h5":
            self.compare_files(directory, theirs)
            # Several files together begin at their first call for scope-profiler.
            if by_name:
                first = min(r["start_ns"] for r in by_name.values())
                self.check(close(theirs["total_time"], (ours["end_ns"] - first) / 1e9), "length of the run")
            for rank, file in theirs["samples"].items():
                self.check(file["hz"] == 99, "hz")
                self.check(file["ticks"] >= file["samples"], "ticks")
            self.check(sum(f["ticks"] for f in theirs["samples"].values()) == ours["samples"], "samples")
            self.check(sum(f["samples"] for f in theirs["samples"].values()) ==
                       ours["samples"] - ours["samples_outside"], "samples in regions")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", required=True)
    parser.add_argument("--maker", required=True)
    parser.add_argument("--work", required=True)
    options = parser.parse_args()
    python = os.environ.get("SP_SCOPE_PROFILER_PYTHON")
    if not python:
        print("SP_SCOPE_PROFILER_PYTHON is not set: no outside judge")
        return 1 if os.environ.get("CI") == "true" else 77
    judge = Judge(options, python)
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    for name, arguments in (("demo", ["demo"]), ("many", ["big", "100000", "3000"]), ("zip", ["big", "50000", "9"])):
        journal = os.path.join(options.work, name + ".spj")
        out = os.path.join(options.work, name)
        subprocess.run([options.maker, journal, *arguments], check=True)
        subprocess.run([options.report, "recover", "-q", "--formats", "h5,sps,spt", "-o", out, journal,
                        *(["--compress", "4"] if name == "zip" else [])], check=True)
        judge.compare(out, "h5")
        judge.compare(os.path.join(out, "spt"), "spt")
    judge.compare(os.path.join(options.work, "demo", "other"), "h5")
    foreign = os.path.join(options.work, "foreign")
    os.makedirs(foreign)
    subprocess.run([python, "-c", FOREIGN, "foreign_rank00000.h5"], cwd=foreign, check=True,
                   stdout=subprocess.DEVNULL)
    judge.compare(foreign, "foreign")
    print(f"{judge.checks} checks, {len(judge.problems)} failed")
    return 1 if judge.problems or not judge.checks else 0


if __name__ == "__main__":
    sys.exit(main())
