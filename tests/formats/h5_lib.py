# SPDX-License-Identifier: BSD-2-Clause
"""What h5_parts.py and h5_refuse.py share: files that h5py makes, our reader's words on them, and how to run."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

INSIDE = os.environ.get("SP_H5_INSIDE") == "1"
if INSIDE:
    import h5py
    import numpy as np


class Test:
    def __init__(self, dumper, plugins, work):
        self.dumper, self.plugins, self.work = dumper, plugins, pathlib.Path(work)
        self.checks = self.failed = 0

    def check(self, good, what):
        self.checks += 1
        if not good:
            self.failed += 1
            print(f"wrong: {what}", file=sys.stderr)

    def equal(self, a, b, what):
        self.check(a == b, f"{what}: {a!r} instead of {b!r}")

    def run(self, path, **environment):
        return subprocess.run([self.dumper, path], capture_output=True, text=True, errors="replace", timeout=60,
                              env=os.environ | environment)

    def read(self, path, **environment):
        done = self.run(path, **environment)
        self.check(done.returncode == 0, f"{path.name}: refused: {done.stderr}")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def refuse(self, path, code, words, **environment):
        done = self.run(path, **environment)
        self.check(done.returncode == 1, f"{path.name}: status {done.returncode}: {done.stderr[:2000]}")
        self.check(f"({code})" in done.stderr and words in done.stderr,
                   f"{path.name}: {done.stderr.strip()!r} is not {code} with {words!r}")

    def path(self, name):
        return self.work / f"{name}.h5"


def columnar(path, *, names=("a", "b"), ids=(0, 1), ranks=(0, 0), offsets=(0, 2), counts=(2, 1), schema=3,
             starts=(100, 50, 400), second=(10, 20, 30), string=None, index_type=None, event_type="i8", **more):
    """The smallest columnar file, with whatever is to be different."""
    string = string or h5py.string_dtype()
    file = h5py.File(path, "w")
    file.attrs["scope_profiler_schema"] = schema
    p = len(ids)
    file.create_dataset("region_table/names", data=np.array(list(names), dtype=object) if string.kind == "O"
                        else np.array(names, dtype=string), dtype=string)
    index = file.create_group("rank_region_index")
    for name, values, kind in (("region_ids", ids, "u4"), ("ranks", ranks, "u4"), ("event_offsets", offsets, "u8"),
                               ("event_counts", counts, "u8"), ("source_lines", [7] * p, "i8")):
        index.create_dataset(name, data=np.array(values, dtype=index_type or kind))
    for name, value in (("source_files", "f.c"), ("source_texts", "text"), ("tags", '["x"]')):
        values = np.array([value] * p, dtype=object if string.kind == "O" else string)
        index.create_dataset(name, data=values, dtype=string)
    one, two = ("start_deltas", "durations") if schema == 3 else ("start_times", "end_times")
    storage = more.get("storage", {})
    file.create_dataset(f"events/{one}", data=np.array(starts, dtype=event_type), **storage)
    file.create_dataset(f"events/{two}", data=np.array(second, dtype=event_type), **storage)
    return file


def replace(file, path, data, **options):
    del file[path]
    file.create_dataset(path, data=data, **options)


CALLS = {"a": [(100, 110), (150, 170)], "b": [(400, 430)]}


def calls(dump):
    return {row["region"]: [tuple(call[:2]) for call in row["calls"]] for row in dump["rows"]}


def run(*parts):
    """Runs the parts of a test under the Python that has scope-profiler; skipped (77) without, but not under CI."""
    if not INSIDE:
        python = os.environ.get("SP_SCOPE_PROFILER_PYTHON")
        if not python:
            print("SP_SCOPE_PROFILER_PYTHON names no Python with scope-profiler")
            sys.exit(1 if os.environ.get("CI") == "true" else 77)
        os.environ["SP_H5_INSIDE"] = "1"
        os.execv(python, [python, *sys.argv])
    dumper, plugins, work = sys.argv[1:]
    shutil.rmtree(work, ignore_errors=True)
    pathlib.Path(work).mkdir(parents=True)
    test = Test(dumper, plugins, work)
    for part in parts:
        part(test)
    print(f"{test.checks} checks, {test.failed} failed")
    if not test.failed:
        shutil.rmtree(work)
    sys.exit(1 if test.failed else 0)
