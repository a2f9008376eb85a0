#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that scope-profiler itself recorded, with its Python manager and its C library: files that nobody
made up, read by us and by its own readers.

usage: their_programs.py PROFILE_DUMP SP_REPORT WORKDIR

Needs the Python that SP_SCOPE_PROFILER_PYTHON names, a C compiler and HDF5's headers, which building needs, too.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

if os.environ.get("SP_DIFFERENTIAL_INSIDE") == "1":
    import numpy as np

    import model
    import model_read

WORK = """
def work(n):
    with ProfileManager.profile_region("outer/with a slash", tags=["io", "\\u00e4"]):
        for i in range(n):
            with ProfileManager.profile_region("inner"):
                if i % 7 == 0:
                    with ProfileManager.metadata(step=i):
                        with ProfileManager.profile_region("noted"):
                            pass
            if i == 3 and n > 10:
                work(5)
"""
PYTHON = {
    "plain": ({}, "work(3000)"),
    "gzip": ({"hdf5_compression": "gzip"}, "work(3000)"),
    "lzf": ({"hdf5_compression": "lzf"}, "work(3000)"),
    "auto": ({"hdf5_compression": "auto"}, "work(9000)"),
    "aggregate": ({"aggregation_mode": True}, "work(100)"),
    "nothing": ({}, "pass"),
    "threads": ({"track_threads": True}, """
import threading
work(300)
threads = [threading.Thread(target=work, args=(50,), name=f"worker {i}") for i in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
"""),
    "async": ({"track_threads": True, "track_async": True}, """
import asyncio
async def task(i):
    with ProfileManager.profile_region("awaits"):
        await asyncio.sleep(0.001)
        work(3)
        await asyncio.sleep(0.001 * i)
async def main():
    await asyncio.gather(*(task(i) for i in range(5)))
asyncio.run(main())
"""),
    "json": ({"track_threads": True}, "work(200)"),
}

C_PROGRAM = """
#include <stdio.h>
#include "scope_profiler.h"

static volatile double sink;

static void spin(int n)
{
	for (int i = 0; i < n; i++)
		sink += i * 0.5;
}

static void recurse(int region, int depth)
{
	sp_begin(region);
	spin(1000);
	if (depth)
		recurse(region, depth - 1);
	sp_end(region);
}

int main(int argc, char **argv)
{
	int outer, inner, named;

	if (sp_init(argv[1], 7))
		return 1;
	sp_set_output_format(argc > 2 ? SP_OUTPUT_HDF5 : SP_OUTPUT_TRACE);
	sp_start_sampling(997);
	outer = SP_REGION_AT("outer \\303\\244/b");
	inner = sp_region("inner");
	named = sp_region("");
	sp_region("never entered");
	for (int i = 0; i < 100; i++) {
		sp_begin(outer);
		for (int k = 0; k < 20; k++) {
			sp_begin(inner);
			spin(20000);
			sp_end(inner);
		}
		sp_begin(named);
		sp_end(named);
		sp_end(outer);
	}
	recurse(inner, 9);
	return sp_finalize();
}
"""


class Test:
    def __init__(self, dumper, report, work):
        self.dumper, self.report, self.work = dumper, report, work
        self.d = model_read.Differences()

    def dump(self, path):
        done = subprocess.run([self.dumper, path], capture_output=True)
        self.d.same(done.returncode, 0, path.name, done.stderr.decode()[-300:])
        checked = subprocess.run([self.report, "verify", path], capture_output=True)
        self.d.same(checked.returncode, 0, path.name, "verify:", checked.stderr.decode()[-300:])
        return json.loads(done.stdout) if done.returncode == 0 else None

    def profile_of(self, results, aggregate):
        """What their reader found, as a model's profile."""
        profile = model.Profile(0, nested=False)
        profile.start_time_ns = results.metadata.get("start_time_ns")
        profile.metadata = {key: value.item() if isinstance(value, np.generic) else value for key, value in results.metadata.items()}
        columns = {}
        for region in results.get_regions():
            profile.regions.append(region.name)
            for rank, one in region.regions.items():
                row = model.Row(region.name, rank, one.start_times_ns, one.end_times_ns, source_file=one.source_file or "",
                                source_line=-1 if one.source_lineno is None else one.source_lineno, source_text=one.source_text or "",
                                tags=one.tags, event_metadata=list(one.event_metadata) if any(one.event_metadata) else None)
                row.columns = {name: value for name, value in (
                    ("id", one.call_ids), ("parent", one.parent_ids), ("thread", one.thread_ids), ("task", one.task_ids),
                    ("await_ns", one.await_times_ns), ("gpu_ns", one.gpu_durations_ns)) if value is not None}
                columns |= row.columns
                row.summary = one.stored_summary
                profile.rows.append(row)
        profile.columns = tuple(columns)
        return profile

    def compare(self, path):
        import scope_profiler
        results, dump = scope_profiler.load(path), self.dump(path)
        if not dump:
            return
        profile = self.profile_of(results, dump["aggregate"])
        if dump["aggregate"]:
            for row in profile.rows:
                got = next(one for one in dump["rows"] if (one["region"], one["rank"]) == (row.name, row.rank))
                for ours, theirs in (("n", "count"), ("total", "total"), ("minimum", "minimum"), ("maximum", "maximum"), ("self", "exclusive")):
                    self.d.same(got[ours], row.summary[theirs], path.name, row.name, theirs)
            return
        for row in profile.rows:
            self.d.same(len(row.columns), len(profile.columns), path.name, "columns of each row")
        # Threads and tasks are compared by what their reader made of them.
        plain = {**dump, "threads": [], "tasks": []}
        model_read.ours(self.d, profile, plain, path.name, json_file=".json" in path.name)
        profile.threads, profile.tasks = dump["threads"], dump["tasks"]
        model_read.their_tables(self.d, profile, results, path.name)
        for rank in results.threads:
            if {"id", "parent"} <= set(profile.columns):
                model_read.their_nesting(self.d, dump, results, rank, path.name)

    def python(self):
        """Each in a process of its own: their manager is a global."""
        for name, (options, body) in PYTHON.items():
            path = self.work / (f"{name}.json" if name == "json" else f"{name}.h5")
            # Scoped metadata needs calls.
            work = WORK.replace("with ProfileManager.metadata(step=i):", "if True:") if name == "aggregate" else WORK
            code = f"from scope_profiler import ProfileManager\nProfileManager.setup(file_path={str(path)!r}, **{options!r})\n{work}\n{body}\n" \
                   "ProfileManager.finalize()\n"
            program = self.work / f"run_{name}.py"
            program.write_text(code)
            done = subprocess.run([sys.executable, program], capture_output=True, cwd=self.work)
            if done.returncode or (not path.exists() and name != "nothing"):
                self.d.found.append(f"{name} was not recorded: {done.stderr.decode()[-600:]}")
            elif path.exists():
                self.compare(path)

    def c(self):
        from scope_profiler.native_samples import read_samples
        from scope_profiler.native_trace import c_include_dir, c_source_path, load_traces, read_trace
        flags = subprocess.run("pkg-config --cflags --libs hdf5-serial || pkg-config --cflags --libs hdf5", shell=True, capture_output=True,
                               text=True).stdout.split()
        (self.work / "program.c").write_text(C_PROGRAM)
        program = self.work / "program"
        done = subprocess.run(["cc", "-O1", "-g", "-DSP_USE_HDF5", f"-I{c_include_dir()}", self.work / "program.c", c_source_path(), "-o", program,
                               *flags, "-lm"], capture_output=True)
        if done.returncode:
            self.d.found.append(f"their C library was not built: {done.stderr.decode()[-600:]}")
            return
        for name, more in (("trace", []), ("hdf5", ["hdf5"])):
            directory = self.work / name
            directory.mkdir()
            subprocess.run([program, directory / "run", *more], check=True)
        self.compare(self.work / "hdf5" / "run_rank00007.h5")
        trace = self.work / "trace" / "run_rank00007.spt"
        dump, (rank, regions) = self.dump(trace), read_trace(trace)
        if dump:
            self.d.same(dump["ranks"], [rank], trace.name, "rank")
            self.d.same({row["region"]: [call[:2] for call in row["calls"]] for row in dump["rows"]},
                        {name: [list(map(int, pair)) for pair in zip(*one)] for name, one in regions.items()}, trace.name, "calls")
            self.d.same({row["region"]: (row["source_file"], row["source_line"]) for row in dump["rows"]},
                        {name: (one.source_file or "", -1 if one.source_lineno is None else one.source_lineno) for name, one in regions.items()},
                        trace.name, "sources")
        samples = self.work / "trace" / "run_rank00007.sps"
        dump, theirs = self.dump(samples), read_samples(samples)
        if dump:
            self.d.same((dump["hz"], dump["ticks"], dump["regions"]), (theirs.hz, theirs.ticks, theirs.regions), samples.name)
            self.d.same([(one[0]["region"], one[0]["module"], one[0]["ip"]) for one in dump["samples"]],
                        [tuple(map(int, one)) for one in theirs.samples], samples.name, "samples")
            self.d.same(len(dump["samples"]) > 5, True, samples.name, "has samples")
        out = self.work / "imported.h5"
        done = subprocess.run([self.report, "import", "-q", self.work / "trace", "-o", out], capture_output=True)
        self.d.same(done.returncode, 0, "import", done.stderr.decode()[-300:])
        if done.returncode == 0:
            import scope_profiler
            merged, theirs = scope_profiler.read_h5(out), load_traces(self.work / "trace")
            for region in theirs.get_regions():
                self.d.same(merged[region.name].regions[7].start_times_ns.tolist(), region.regions[7].start_times_ns.tolist(), "import", region.name)
            self.d.same(len(self.dump(out)["samples"]), len(dump["samples"]) if dump else 0, "import", "samples")


def main():
    dumper, report, work = sys.argv[1:]
    work = pathlib.Path(work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    test = Test(dumper, report, work)
    test.python()
    test.c()
    print(*test.d.found[:30], f"{test.d.checks} checks, {len(test.d.found)} failed", sep="\n")
    return 1 if test.d.found else 0


if __name__ == "__main__":
    judge = os.environ.get("SP_SCOPE_PROFILER_PYTHON")
    if not judge:
        print("SP_SCOPE_PROFILER_PYTHON does not name a Python with scope-profiler")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    if os.environ.get("SP_DIFFERENTIAL_INSIDE") != "1":
        os.environ["SP_DIFFERENTIAL_INSIDE"] = "1"
        os.execv(judge, [judge, "-B", *sys.argv])
    sys.exit(main())
