#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What we write as JSON, judged by scope-profiler: its read_json finds every number in our document that its
read_h5 finds in the file that the document was made from; and so do we, reading both.

usage: json_judge.py PROFILE_WRITE PROFILE_DUMP JSON_CONVERT WORKDIR [SEEDS [FIRST]]

The profiles are those of model.py, in files written by us and by scope-profiler. Runs itself under the Python
that SP_SCOPE_PROFILER_PYTHON names. Without it the test is skipped (77), under CI it fails.
"""
import gzip
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys

COLUMNS = ("start_times_ns", "end_times_ns", "_gpu_durations", "call_ids", "parent_ids", "thread_ids", "task_ids",
           "await_times_ns")
# What a document has no place for, or says of itself.
OURS_ALONE = {"format", "version", "trace_version", "compressed", "columns", "n_samples", "samples", "ticks", "hz",
              "rows", "threads", "sites", "modules", "processes", "losses", "cuts", "clocks", "kernel_symbols", "frames"}


class Judge:
    def __init__(self, writer, dumper, converter, work):
        self.writer, self.dumper, self.converter, self.work = writer, dumper, converter, work
        self.checks, self.found = 0, []

    def same(self, got, expected, *what):
        self.checks += 1
        got, expected = plain(got), plain(expected)
        if got != expected:
            self.found.append(f"{' '.join(map(str, what))}: {str(got)[:300]} instead of {str(expected)[:300]}")

    def run(self, *command):
        done = subprocess.run([str(one) for one in command], capture_output=True)
        if done.returncode:
            self.found.append(f"{command[0]}: {done.stderr.decode(errors='replace').strip()[-600:]}")
        return done.stdout if done.returncode == 0 else None

    # ---- scope-profiler reads ----

    def results(self, ours, source, where):
        import scope_profiler
        from scope_profiler.json_export import read_json
        got, expected = read_json(ours), scope_profiler.read_h5(source)
        used = [region.name for region in expected.get_regions()]
        self.same(got.region_names, [name for name in expected.region_names if name in used], where, "names")
        self.same(got.num_ranks, expected.num_ranks, where, "num_ranks")
        metadata = dict(got.metadata)
        if "start_time_ns" not in expected.metadata:
            metadata.pop("start_time_ns", None)  # we say what tables count from
        self.same(metadata, texts(expected.metadata), where, "metadata")
        for name in used:
            self.same(sorted(got[name].regions), sorted(expected[name].regions), where, name, "ranks")
            for rank, region in got[name].regions.items():
                self.region(region, expected[name].regions[rank], f"{where} {name!r} rank {rank}")
        for kind in ("threads", "tasks"):
            self.same(lanes(getattr(got, kind)), lanes(getattr(expected, kind)), where, kind)
        self.same(likwid(got), likwid(expected), where, "likwid")
        self.same(got.line_profile, {rank: [without_source(one) for one in records] for rank, records in
                                     expected.line_profile.items() if records}, where, "line profiles")

    def region(self, got, expected, where):
        for name in ("source_file", "source_lineno", "source_text", "tags", "num_calls", "event_metadata"):
            self.same(getattr(got, name), getattr(expected, name), where, name)
        for name in COLUMNS:
            self.same(getattr(got, name), getattr(expected, name), where, name)
        self.same(got.stored_summary, expected.stored_summary, where, "summary")
        if got.num_calls:
            self.same(got._exclusive_total_ns, expected._exclusive_total_ns, where, "self time")

    # ---- we read ----

    def dumps(self, ours, source, where):
        got, expected = self.run(self.dumper, ours), self.run(self.dumper, source)
        if got is None or expected is None:
            return
        got, expected = json.loads(got), json.loads(expected)
        self.same(got["format"], "json", where, "format")
        for key in expected:
            # Without rows, ranks are those of the threads and processes, and processes are ours alone.
            if key not in OURS_ALONE and key in got and (key != "ranks" or expected["rows"]):
                self.same(got[key], expected[key], where, "our", key)
        rows = {(row["region"], row["rank"]): row for row in got["rows"]}
        self.same(len(rows), len(expected["rows"]), where, "our rows")
        for row in expected["rows"]:
            mine = rows.get((row["region"], row["rank"]))
            if not mine:
                self.found.append(f"{where}: our row {row['region']!r} on {row['rank']} is missing")
                continue
            for key, value in row.items():
                if key == "calls":
                    # scope-profiler's columns; of GPU times, none is the same as only unknown ones.
                    self.same([call[:8] for call in mine[key] or ()], [call[:8] for call in value or ()], where, "our calls")
                elif key == "self":
                    self.checks += 1
                    if expected["columns"] >> 8 & 1:
                        continue  # computed from child_ns, which JSON does not have
                    self.same(mine[key], value, where, "our self time", row["region"], row["rank"])
                elif key in ("mean", "m2") and not expected["aggregate"]:
                    self.checks += 1  # computed from the calls, or by who wrote the file
                    if not math.isclose(mine[key], value, rel_tol=1e-9, abs_tol=1e-6):
                        self.found.append(f"{where}: our {key}: {mine[key]} instead of {value}")
                elif key == "tags":
                    self.same(json.loads(mine[key]), json.loads(value), where, "our tags")
                elif key == "event_metadata":
                    self.same(finite(mine[key]), finite(value), where, "our event metadata")
                else:
                    self.same(mine[key], value, where, "our", key)

    # ---- one file ----

    def judge(self, source, name):
        ours = self.work / name
        if self.run(self.converter, source, ours) is None:
            return
        where = f"{source.name} as {name}"
        try:
            self.results(ours, source, where)
        except Exception as error:
            self.found.append(f"{where}: scope-profiler fails: {error!r}")
        self.dumps(ours, source, where)
        # Read and written again, it is the same to the byte; so is what was packed.
        again = self.work / ("again-" + name)
        self.run(self.converter, ours, again)
        self.same(again.read_bytes(), ours.read_bytes(), where, "written again")
        if name.endswith(".gz"):
            bare = self.work / name[:-3]
            self.run(self.converter, source, bare)
            self.same(gzip.decompress(ours.read_bytes()), bare.read_bytes(), where, "unpacked")


def plain(value):
    """Without NumPy's types, and with a NaN that equals itself."""
    import numpy
    if isinstance(value, numpy.ndarray):
        value = value.tolist()
    if isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def texts(metadata):
    return {key: value.decode(errors="replace") if isinstance(value, bytes) else value for key, value in metadata.items()}


def finite(value):
    value = json.loads(value) if isinstance(value, str) else value
    return plain(value) or None


def lanes(table):
    return {rank: [[getattr(row, slot) for slot in row.__slots__] for row in rows] for rank, rows in table.items() if rows}


def likwid(results):
    """CPUs that are not known are [], or (where their reader needs the number of them) -1 each."""
    return {rank: {tag: vars(one) | {"cpus": [cpu for cpu in one.cpus if cpu != -1]} for tag, one in tags.items()}
            for rank, tags in results.get_likwid_regions().items() if tags}


def without_source(record):
    return {key: value for key, value in record.items() if key not in ("source", "source_first_lineno")}


def main():
    import model
    import model_script
    import model_write
    writer, dumper, converter, work, *rest = sys.argv[1:]
    count, first = int(rest[0]) if rest else 12, int(rest[1]) if len(rest) > 1 else 0
    work = pathlib.Path(work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    checks = failed = 0
    for seed in range(first, first + count):
        directory = work / str(seed)
        directory.mkdir(parents=True)
        judge, r, profile = Judge(writer, dumper, converter, directory), random.Random(seed), model.make(seed)
        model_script.script(profile, directory / "script", r)
        judge.run(writer, directory / "script", directory / "ours.h5")
        judge.judge(directory / "ours.h5", r.choice(["a.json", "a.json.gz"]))
        model_write.theirs(profile, directory / "theirs.h5")
        judge.judge(directory / "theirs.h5", r.choice(["b.json", "b.json.gz"]))
        if profile.rows:
            model_write.theirs(profile, directory / "aggregate.h5", aggregate=True)
            judge.judge(directory / "aggregate.h5", r.choice(["c.json", "c.json.gz"]))
        checks += judge.checks
        if judge.found:
            failed += 1
            print(f"seed {seed}: {len(judge.found)} differences:", *judge.found[:12], sep="\n  ", file=sys.stderr)
        elif count > 1:
            shutil.rmtree(directory)
    print(f"{count} seeds, {checks} checks; {failed} seeds with differences")
    return 1 if failed or not checks else 0


if __name__ == "__main__":
    python = os.environ.get("SP_SCOPE_PROFILER_PYTHON")
    if not python:
        print("SP_SCOPE_PROFILER_PYTHON does not name a Python with scope-profiler")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    if os.environ.get("SP_JUDGE_INSIDE") != "1":
        os.environ["SP_JUDGE_INSIDE"] = "1"
        os.execv(python, [python, "-B", *sys.argv])
    sys.exit(main())
