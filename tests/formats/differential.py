#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Random profiles (model.py) written by us, by scope-profiler and by h5py, read by us and by scope-profiler:
every number that comes back is the model's.

usage: differential.py PROFILE_WRITE PROFILE_DUMP SP_REPORT WORKDIR [SEEDS [FIRST]]

A failure names the seed; "differential.py … 1 SEED" runs that one alone and keeps its files. SP_TEST_FULL=1
takes many seeds. Runs itself under the Python that SP_SCOPE_PROFILER_PYTHON names, which has scope-profiler.
Without it the test is skipped (77), under CI it fails.
"""
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


class Test:
    def __init__(self, writer, dumper, report, work):
        self.writer, self.dumper, self.report, self.work = writer, dumper, report, work
        self.files = 0
        self.d = model_read.Differences()

    def dump(self, path):
        done = subprocess.run([self.dumper, path], capture_output=True)
        if done.returncode:
            self.d.found.append(f"{path.name}: refused: {done.stderr.decode(errors='replace').strip()[-600:]}")
            return None
        return json.loads(done.stdout)

    def ours(self, profile, path, **options):
        dump = self.dump(path)
        if dump:
            model_read.ours(self.d, profile, dump, path.name, **options)
        # The command that people use, for some of the files.
        self.files += 1
        if self.files % 4 == 0 and dump:
            done = subprocess.run([self.report, "dump", "--json", path], capture_output=True)
            try:
                dump = model_read.from_report(json.loads(done.stdout))
            except (ValueError, KeyError) as error:
                self.d.found.append(f"{path.name}: sp-report dump --json: {error!r} {done.stderr.decode()[-300:]}")
            else:
                model_read.ours(self.d, profile, dump, f"{path.name} of sp-report", as_stored=True, **{**options, "json_file": True})

    def theirs(self, profile, path, **options):
        import scope_profiler
        try:
            results = scope_profiler.load(path)
            model_read.theirs(self.d, profile, results, path.name, **options)
        except Exception as error:
            self.d.found.append(f"{path.name}: scope-profiler fails: {error!r}")

    def summary(self, profile, path, self_stored):
        import scope_profiler
        try:
            results = scope_profiler.read_h5_summary(path, fallback=False)
        except Exception as error:
            self.d.found.append(f"{path.name}: scope-profiler's summary fails: {error!r}")
        else:
            model_read.their_summary(self.d, profile, results, path.name, self_stored)

    # ---- we write ----

    def we_write(self, profile, name, r, **options):
        """Through our writer's API."""
        script, path = self.work / "script", self.work / name
        held = model_script.script(profile, script, r, **options)
        done = subprocess.run([self.writer, script, path], capture_output=True)
        if done.returncode:
            self.d.found.append(f"{name}: not written: {done.stderr.decode(errors='replace')[-600:]}")
            return
        aggregate = options.get("aggregate", False)
        self.ours(held, path, aggregate=aggregate)
        self.theirs(held, path, aggregate=aggregate, trust_names=False)
        if not aggregate:
            self.summary(held, path, True)

    # ---- they write ----

    def they_write(self, profile, name, **options):
        path = self.work / name
        held = model_write.theirs(profile, path, **options)
        aggregate = options.get("aggregate", False) and bool(profile.rows)
        self.ours(held, path, aggregate=aggregate)
        self.theirs(held, path, aggregate=aggregate)
        return held, path

    def they_write_json(self, held, source, name):
        """Their reader, then their JSON writer."""
        import scope_profiler
        from scope_profiler.json_export import write_json
        path = self.work / name
        write_json(scope_profiler.read_h5(source), path)
        held = model_write.for_json(held)
        for row in held.rows:  # their writer leaves out what says nothing
            row.event_metadata = row.event_metadata if any(row.event_metadata or ()) else None
        self.ours(held, path, json_file=True)
        self.theirs(held, path, json_file=True)

    # ---- h5py and the like write ----

    def raw(self, profile, name, r, schema):
        path = self.work / name
        held, their_limits = model_h5.raw(profile, path, r, schema)
        self.ours(held, path)
        if not their_limits:
            self.theirs(held, path)

    def native(self, profile, r):
        from scope_profiler.native_samples import read_samples
        from scope_profiler.native_trace import read_trace
        for rank in profile.ranks()[:3]:
            version, order, split = r.choice([1, 2]), r.choice("<>"), profile.nested and len(profile.columns) == 0 and r.random() < 0.5
            path = self.work / f"p_rank{rank:05}.spt"
            held = model_write.spt(profile, rank, path, version, order, split)
            self.ours(held, path)
            if not split:  # of records of one name they keep the last
                their_rank, regions = read_trace(path)
                self.d.same(their_rank, rank, path.name, "their rank")
                self.d.same({name: (region.start_times.tolist(), region.end_times.tolist()) for name, region in regions.items()},
                            {row.name: (row.start.tolist(), row.end.tolist()) for row in held.rows}, path.name, "their calls")
            path = self.work / f"p_rank{rank:05}.sps"
            order = r.choice("<>")
            samples = model_write.sps(profile, rank, path, order, r)
            self.samples(samples, self.dump(path), path.name)
            if order == "<":  # they know no other
                got = read_samples(path)
                self.d.same((got.rank, got.hz, got.ticks, got.regions, got.modules, [tuple(map(int, one)) for one in got.samples]),
                            (rank, samples["hz"], samples["ticks"], samples["regions"], samples["modules"], samples["samples"]), path.name)

    def samples(self, samples, dump, where):
        if not dump:
            return
        self.d.same((dump["ranks"], dump["hz"], dump["ticks"], dump["regions"]),
                    ([samples["rank"]], samples["hz"], samples["ticks"], list(dict.fromkeys(samples["regions"]))), where, "header")
        self.d.same([(one["path"], one["bias"]) for one in dump["modules"]], samples["modules"], where, "modules")
        self.d.same([(one[0]["region"], one[0]["module"], one[0]["ip"]) for one in dump["samples"]], samples["samples"], where, "samples")

    def json(self, profile, name, r):
        path = self.work / name
        held = model_write.json_file(profile, path, r)
        self.ours(held, path, json_file=True)
        self.theirs(held, path, json_file=True)

    # ---- all of it ----

    def run(self, seed):
        profile = model.make(seed)
        r = random.Random(seed)
        self.we_write(profile, "ours.h5", r, gzip=r.choice([0, 0, 1, 9, model_script.AUTO]))
        self.we_write(profile, "ours-2.h5", r, schema=2)
        if profile.rows and profile.nested:
            self.we_write(profile, "ours-aggregate.h5", r, aggregate=True)
        # Their writer cannot make chunks of a line profile without lines.
        chunk = None if any(not one["lines"] for one in profile.line_profiles) else r.choice([None, 50])
        held, path = self.they_write(profile, "theirs.h5", compression=r.choice([None, "gzip", "auto"]), repack=r.random() < 0.5,
                                     chunk_size=chunk)
        self.they_write_json(held, path, r.choice(["theirs.json", "theirs.json.gz"]))
        self.they_write(profile, "theirs-aggregate.h5", aggregate=True)
        for schema in (1, 2, 3):
            self.raw(profile, f"raw-{schema}.h5", r, schema)
        self.native(profile, r)
        self.json(profile, r.choice(["raw.json", "raw.json.gz"]), r)

    def scale(self, seed):
        """The limits of what must work: 1,000 ranks; 10,000 regions; a row of several chunks."""
        r = random.Random(seed)
        full = os.environ.get("SP_TEST_FULL") == "1"
        for name, choices in {
                "ranks": {"ranks": range(1000), "regions": 12, "calls": 8, "wild": False, "extras": full, "sp_trace": full},
                "regions": {"ranks": (0, 1) if full else (0,), "regions": 10000, "calls": 3000, "wild": False, "sp_trace": full},
                "calls": {"ranks": (0,), "regions": 2, "calls": 100000 if full else 40000, "wild": False, "columns": ("id", "parent", "depth")}}.items():
            profile = model.make(seed, **choices)
            self.we_write(profile, f"{name}.h5", r, gzip=model_script.AUTO)
            self.they_write(profile, f"{name}-theirs.h5", compression="auto", repack=True)
            self.json(profile, f"{name}.json", r)


def some_of_each_file(found):
    shown = {}
    for line in found:
        shown.setdefault(line.split()[0], []).append(line)
    return [line for lines in shown.values() for line in lines[:3]]


def main():
    writer, dumper, report, work, *rest = sys.argv[1:]
    full = os.environ.get("SP_TEST_FULL") == "1"
    count = int(rest[0]) if rest else 400 if full else 16
    first = int(rest[1]) if len(rest) > 1 else 0
    checks = failed = 0
    work = pathlib.Path(work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    for seed in [*range(first, first + count), *(["scale"] if len(rest) < 2 else [])]:
        directory = work / str(seed)
        directory.mkdir(parents=True)
        test = Test(writer, dumper, report, directory)
        if seed == "scale":
            test.scale(7)
        else:
            test.run(seed)
        checks += test.d.checks
        if test.d.found:
            failed += 1
            print(f"seed {seed}: {len(test.d.found)} differences:", *some_of_each_file(test.d.found), sep="\n  ", file=sys.stderr)
        elif count > 1 or seed == "scale":
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
