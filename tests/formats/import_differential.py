#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""sp-report import and export of random profiles: nothing is lost, and scope-profiler has the same numbers.

usage: import_differential.py SP_REPORT PROFILE_WRITE PROFILE_DUMP WORKDIR [SEEDS [FIRST]]

Each seed makes one file a rank, each of a format drawn by lot, and imports their directory; what the profile
has of each rank must be what its file had. Then each goes out again in every format. As differential.py, a
failure names the seed, and needs the Python that SP_SCOPE_PROFILER_PYTHON names.
"""
import copy
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

if os.environ.get("SP_DIFFERENTIAL_INSIDE") == "1":
    import model
    import model_h5
    import model_read
    import model_script
    import model_write

# What import adds where no input says it.
ADDED = ("source", "trace_format_version", "label", "start_time_ns", "mpi_size", "written_by")
COMPUTED = ("id", "parent", "depth", "child_ns")
FORMATS = ("spt", "theirs", "raw", "ours", "json")
REFERENCES = ("threads", "modules", "processes", "sites", "kernel_symbols")


class Test:
    def __init__(self, report, writer, dumper, work):
        self.report, self.writer, self.dumper, self.work = report, writer, dumper, work
        self.d = model_read.Differences()
        self.their_limits = False  # an input that is legal, and that they cannot read

    def run_tool(self, *command):
        done = subprocess.run([str(part) for part in command], capture_output=True)
        if done.returncode:
            self.d.found.append(f"{' '.join(map(str, command[1:3]))}: exit {done.returncode}: {done.stderr.decode(errors='replace').strip()[-500:]}")
            return None
        return done.stdout

    def dump(self, path):
        out = self.run_tool(self.dumper, path)
        return json.loads(out) if out else None

    def make_input(self, directory, rank, kind, r):
        """Returns the file, and the profile that it holds."""
        fixed = {"ranks": (rank,), "wild": False}
        if r.random() < 0.5:
            fixed["extras"] = True
        profile = model.make(self.seed * 1000 + rank, **fixed)
        path = directory / f"p_rank{rank:05}.{ {'spt': 'spt', 'json': 'json'}.get(kind, 'h5') }"
        if kind == "spt":
            return path, model_write.spt(profile, rank, path, r.choice([1, 2]), r.choice("<>"))
        if kind == "json":
            return path, model_write.json_file(profile, path, r)
        if kind == "theirs":
            return path, model_write.theirs(profile, path, compression=r.choice([None, "gzip"]), repack=True)
        if kind == "raw":
            held, limits = model_h5.raw(profile, path, r, r.choice([2, 3]))
            self.their_limits |= limits
            return path, held
        held = model_script.script(profile, self.work / "script", r)
        self.run_tool(self.writer, self.work / "script", path)
        return path, held

    # ---- one profile of many files ----

    def part(self, dump, held, before):
        """What a merged profile has of one input, with references counted from that input's own tables."""
        rank = held.the_rank
        own = lambda table: [one for one in dump[table] if one["rank"] == rank]
        names = {name: i for i, name in enumerate(held.regions)}
        local = lambda region: names.get(dump["regions"][region], -2) if region >= 0 else region
        moved = lambda value, table: value - before[table] if value not in (-1, model.NONE) else value
        out = copy.copy(dump)
        out["regions"], out["rows"], out["ranks"] = held.regions, own("rows"), held.known_ranks()
        out["n_calls"] = sum(row["n"] for row in out["rows"])
        for table in ("threads", "tasks", "perf_events", "line_profiles", "likwid", "likwid_environments"):
            out[table] = own(table)
        out["threads"] = [one | {"process": moved(one["process"], "processes")} for one in out["threads"]]
        for table in ("modules", "processes", "sites", "kernel_symbols"):
            out[table] = dump[table][before[table]:before[table] + len(getattr(held, table))]
        out["modules"] = [one | {"process": moved(one["process"], "processes")} for one in out["modules"]]
        out["sites"] = [one | {"region": local(one["region"])} for one in out["sites"]]
        out["cuts"] = [one | {"region": local(one["region"])} for one in own("cuts")]
        out["samples"] = [[one[0] | {"thread": moved(one[0]["thread"], "threads"), "module": moved(one[0]["module"], "modules"),
                                     "region": local(one[0]["region"])}, *one[1:]] for one in dump["samples"] if one[0]["rank"] == rank]
        out["n_samples"] = len(out["samples"])
        if "site" in held.columns:
            at = 2 + list(model.COLUMNS).index("site")
            out["rows"] = [row | {"calls": [call[:at] + [moved(call[at], "sites")] + call[at + 1:] for call in row["calls"]]} for row in out["rows"]]
        # Compared by facts().
        out["metadata"], out["meta"], out["rank_facts"], out["losses"], out["clocks"] = {}, {}, [], [], []
        return out

    def facts(self, dump, held, where):
        """Each fact is the profile's, or stands with the rank that it is of."""
        beside = {(one["rank"], one["part"], one["key"]) for one in dump["rank_facts"]}
        for part, facts in (("metadata", held.metadata), ("meta", held.meta or {})):
            for key, value in facts.items():
                same = model_read.nan_safe(dump[part].get(key)) == model_read.nan_safe(value)
                if key not in ("start_time_ns", "mpi_size"):
                    self.d.same(same or (held.the_rank, part, key) in beside or (not held.rows and (model.NONE, part, key) in beside), True, where, part, key, "is somewhere")
        for table in ("losses", "clocks"):
            for one in getattr(held, table):
                near = [got for got in dump[table] if all(got[key] == value for key, value in one.items() if key != "rank")]
                self.d.same(bool(near), True, where, table, "are there")

    def merge(self, r):
        import scope_profiler
        directory = self.work / "in"
        directory.mkdir()
        ranks = sorted(r.sample(range(40), r.randrange(1, 6)))
        mix = r.choice([FORMATS, ("spt",), ("spt", "theirs"), ("ours", "raw")])
        inputs = []
        for rank in ranks:
            path, held = self.make_input(directory, rank, r.choice(mix), r)
            held.the_rank = rank
            inputs.append((path, held))
        out = self.work / "merged.h5"
        paths = [path for path, _ in inputs] if any(path.suffix == ".json" for path, _ in inputs) else [directory]
        if self.run_tool(self.report, "import", *paths, "-o", out, "-q") is None:
            return
        dump = self.dump(out)
        if not dump:
            return
        results = scope_profiler.read_h5(out)
        columns = [name for i, name in enumerate(model.COLUMNS) if dump["columns"] & 1 << i]
        before = dict.fromkeys(REFERENCES, 0)
        for path, held in inputs:
            where = path.name
            plain = copy.copy(held)
            plain.metadata, plain.meta, plain.rank_facts, plain.losses, plain.clocks = {}, {}, [], [], []
            model_read.ours(self.d, plain, self.part(dump, held, before), where, json_file=path.suffix == ".json", computed=COMPUTED)
            self.facts(dump, held, where)
            for name in REFERENCES:
                before[name] += len(getattr(held, name))
            if {"id", "parent"} <= set(columns) and held.nested:
                model_read.their_nesting(self.d, dump, results, held.the_rank, where)
            for row in held.rows:
                got = results[row.name].regions[row.rank]
                self.d.same((got.start_times_ns.tolist(), got.end_times_ns.tolist()), (row.start.tolist(), row.end.tolist()), where, row.name[:40],
                            "as they read it")
        self.d.same(sorted(row["rank"] for row in dump["rows"]), [row["rank"] for row in dump["rows"]], "rows by rank")
        if not self.their_limits and all(path.suffix != ".json" for path, _ in inputs):
            self.against_load_traces(directory, results)

    def against_load_traces(self, directory, results):
        """Their import of the same files."""
        from scope_profiler.native_trace import load_traces
        try:
            theirs = load_traces(directory)
        except Exception as error:
            self.d.found.append(f"load_traces fails: {error!r}")
            return
        for region in theirs.get_regions():
            for rank, expected in region.regions.items():
                got = results[region.name].regions[rank]
                self.d.same((got.start_times_ns.tolist(), got.end_times_ns.tolist(), got.source_file, got.source_lineno),
                            (expected.start_times_ns.tolist(), expected.end_times_ns.tolist(), expected.source_file, expected.source_lineno),
                            "load_traces", region.name[:40], rank)

    # ---- one file, in and out ----

    def through(self, r):
        """Import of a single file of many ranks, and export of it to every format."""
        profile = model.make(self.seed)
        source = self.work / "source.h5"
        held = model_script.script(profile, self.work / "script", r)
        if self.run_tool(self.writer, self.work / "script", source) is None:
            return
        self.convert(held, "imported.h5", ("import", source, "--compress", r.choice(["none", "auto", "1", "9"])))
        self.convert(held, "schema-2.h5", ("export", "h5", source, "--schema", "2"))
        # What JSON has no place for, ours has under a key that scope-profiler passes over; but for tables and samples.
        as_json = model_write.for_json(held)
        for part in ("perf_events", "likwid_environments", "line_profiles", "meta", "rank_facts"):
            setattr(as_json, part, getattr(held, part))
        self.convert(as_json, "out.json.gz", ("export", "json", source), json_file=True)
        self.native(held, source, r)

    def convert(self, held, name, command, **options):
        path = self.work / name
        if self.run_tool(self.report, *command, "-o", path, "-q") is None:
            return
        dump = self.dump(path)
        if dump:
            model_read.ours(self.d, held, dump, name, more_facts=ADDED, **options)

    def native(self, held, source, r):
        from scope_profiler.native_trace import read_trace
        if not held.ranks():
            return
        version = r.choice([1, 2])
        out = self.work / ("native" if len(held.ranks()) > 1 else "native.spt")
        if self.run_tool(self.report, "export", "spt", source, "-o", out, "--trace-version", version, "-q") is None:
            return
        files = sorted(out.glob("*.spt")) if out.is_dir() else [out]
        self.d.same(len(files), len(held.ranks()), "files of export spt")
        for path in files:
            rank, regions = read_trace(path)
            rows = {row.name: row for row in held.rows if row.rank == rank}
            self.d.same({name: (one.start_times.tolist(), one.end_times.tolist()) for name, one in regions.items() if len(one.start_times)},
                        {name: (row.start.tolist(), row.end.tolist()) for name, row in rows.items() if len(row)}, path.name, "calls")
            for name, one in regions.items() if version == 2 else ():
                self.d.same((one.source_file or "", -1 if one.source_lineno is None else one.source_lineno),
                            (rows[name].source_file, rows[name].source_line), path.name, name[:40], "source")

    def run(self, seed):
        self.seed = seed
        r = random.Random(seed)
        self.merge(r)
        self.through(r)


def main():
    report, writer, dumper, work, *rest = sys.argv[1:]
    full = os.environ.get("SP_TEST_FULL") == "1"
    count = int(rest[0]) if rest else 300 if full else 12
    first = int(rest[1]) if len(rest) > 1 else 0
    checks = failed = 0
    work = pathlib.Path(work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    for seed in range(first, first + count):
        directory = work / str(seed)
        directory.mkdir(parents=True)
        test = Test(report, writer, dumper, directory)
        test.run(seed)
        checks += test.d.checks
        if test.d.found:
            failed += 1
            print(f"seed {seed}: {len(test.d.found)} differences:", *test.d.found[:8], sep="\n  ", file=sys.stderr)
        elif count > 1:
            shutil.rmtree(directory)
    print(f"{count} seeds, {checks} checks; {failed} seeds with differences")
    return 1 if failed or not checks else 0


if __name__ == "__main__":
    judge = os.environ.get("SP_SCOPE_PROFILER_PYTHON")
    if not judge:
        print("SP_SCOPE_PROFILER_PYTHON does not name a Python with scope-profiler")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    if os.environ.get("SP_DIFFERENTIAL_INSIDE") != "1":
        os.environ["SP_DIFFERENTIAL_INSIDE"] = "1"
        os.execv(judge, [judge, "-B", *sys.argv])
    sys.exit(main())
