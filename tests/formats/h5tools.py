#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""HDF5's own tools as judges: what h5ls and h5dump say of a file of ours, against what our reader says.

usage: h5tools.py PROFILE_MAKE PROFILE_DUMP WORKDIR
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys


def numbers(path, dataset):
    """All numbers of a data set, as h5dump prints them."""
    text = subprocess.run(["h5dump", "-y", "-w", "0", "-d", dataset, path], capture_output=True, text=True,
                          check=True).stdout
    data = text[text.index("DATA {"):]
    return [int(value) for value in re.findall(r"-?\d+", data)]


def main():
    make, dump, work = sys.argv[1:4]
    if not shutil.which("h5dump") or not shutil.which("h5ls"):
        print("h5dump and h5ls are not installed (package hdf5-tools)")
        return 77
    shutil.rmtree(work, ignore_errors=True)
    pathlib.Path(work).mkdir(parents=True)
    failed = 0
    for seed in (1, 2, 3, 10):
        directory = f"{work}/{seed}"
        subprocess.run([make, str(seed), directory], check=True)
        path = f"{directory}/profile.h5"
        ours = json.loads(subprocess.run([dump, path], capture_output=True, check=True).stdout)
        listing = subprocess.run(["h5ls", "-r", path], capture_output=True, text=True, check=True).stdout
        sizes = {line.split()[0]: line for line in listing.splitlines()}
        counts = numbers(path, "/rank_region_index/event_counts")
        deltas = numbers(path, "/events/start_deltas") if ours["n_calls"] else []
        durations = numbers(path, "/events/durations") if ours["n_calls"] else []
        starts, ends, at = [], [], 0
        for count in counts:
            start = 0
            for i in range(at, at + count):
                start += deltas[i]
                starts.append(start)
                ends.append(start + durations[i])
            at += count
        calls = [call for row in ours["rows"] for call in row["calls"]]
        checks = {
            "counts": counts == [row["n"] for row in ours["rows"]],
            "starts": starts == [call[0] for call in calls],
            "ends": ends == [call[1] for call in calls],
            "listing": f"{{{ours['n_calls']}" in sizes["/events/durations"],
        }
        if ours["n_samples"]:
            offsets = numbers(path, "/sp_trace/samples/stack_offsets")
            checks["offsets"] = offsets[:-1] == [sample[0]["stack"] for sample in ours["samples"]]
            checks["frames"] = offsets[-1] == sum(len(sample) - 1 for sample in ours["samples"])
            checks["times"] = numbers(path, "/sp_trace/samples/time_ns") == \
                [sample[0]["time_ns"] for sample in ours["samples"]]
        for name, good in checks.items():
            if not good:
                failed += 1
                print(f"seed {seed}: {name} differ", file=sys.stderr)
    return 1 if failed else 0


sys.exit(main())
