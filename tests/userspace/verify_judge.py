#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""verify_judge.py REPORT MAKER - HDF5 files that contradict themselves, made by h5py from a good one.

Each change of one value must be found by sp-report verify, with its place; what is odd and allowed must be
warned of. Bits flipped anywhere must never be more than a sentence. Runs itself under the Python that
SP_SCOPE_PROFILER_PYTHON names, which has h5py; without it the test is skipped (77), under CI it fails.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from checks import check, end


def relaunch():
    python = os.environ.get("SP_SCOPE_PROFILER_PYTHON")
    if not python:
        print("SP_SCOPE_PROFILER_PYTHON names no Python with h5py")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    os.execv(python, [python, "-B", os.path.abspath(__file__), "--here", *sys.argv[1:]])


def put(path, index, value):
    def change(file):
        column = file[path][:]
        column[index] = value
        file[path][...] = column
    return change


def field(index, name, value):
    def change(file):
        rows = file["rank_region_index/summary_statistics"][:]
        rows[name][index] = value
        file["rank_region_index/summary_statistics"][...] = rows
    return change


def both(*changes):
    def change(file):
        for one in changes:
            one(file)
    return change


def extend(path, values):
    """Another element at the end of a column."""
    def change(file):
        column = list(file[path][:]) + values
        kind = file[path].dtype
        del file[path]
        file.create_dataset(path, data=column, dtype=kind)
    return change


def unknown_part(file):
    """A part that nobody knows is read, too: a chunk of it is spoiled afterwards."""
    import numpy
    file.create_dataset("unknown/thing", data=numpy.arange(100000), chunks=(1000,), compression="gzip",
                        fletcher32=True)


def without_statistics(file):
    del file[ROWS + "summary_statistics"]
    del file[ROWS + "exclusive_totals"]


def dangling(file):
    """The parents of the second thread's calls were never recorded."""
    parents, ids = file["events/parent_ids"][:], file["events/call_ids"][:]
    parents[(parents >= 0) & (ids > 1 << 40)] = 500
    file["events/parent_ids"][...] = parents


ROWS = "rank_region_index/"
BAD = {
    "total": (field(0, "total", 5), 'row 0 ("step" on rank 0) claims total 5, but its calls make 31645'),
    "minimum": (field(1, "minimum", 1), "claims minimum 1, but"),
    "maximum": (field(1, "maximum", 1000), "claims maximum 1000, but"),
    "first": (field(1, "first", 51), "claims first 51, but"),
    "last": (field(0, "last", 0), "claims last 0, but"),
    "start": (field(0, "start_minimum", 7), "claims start_minimum 7, but"),
    "end": (field(0, "end_maximum", 7), "claims end_maximum 7, but"),
    "mean": (field(0, "mean", 453), "claims mean 453, but"),
    "m2": (field(0, "m2", 72900), "claims m2 72900, but"),
    "self": (put(ROWS + "exclusive_totals", 0, 17499), "claims a self time of 17499, but its calls make 17500"),
    "duration": (put("events/durations", 3, 12345), "claims total 31645, but"),
    "start of a call": (put("events/start_deltas", 0, 1000000001001), "claims start_minimum"),
    "id twice": (put("events/call_ids", 5, 1), "has the id 1 of another call of rank 0"),
    "id unknown": (put("events/call_ids", 5, -1), "call 5 of row 0 has the id -1; where ids are unknown"),
    "site": (put("sp_trace/calls/site", 7, 3), "call 7 of row 0 names site 3, but the table has 3"),
    "child": (put("sp_trace/calls/child_ns", 2, 0), "claims a self time of"),
    "site's region": (put("sp_trace/sites/region", 1, 2), "row 1 of the sites names region 2 of 2"),
    "thread's process": (put("sp_trace/threads/process", 1, 9), "row 1 of the threads names process 9"),
    "module's process": (put("sp_trace/modules/process", 0, 1), "row 0 of the modules names process 1"),
    "loss's thread": (put("sp_trace/losses/thread", 0, 2), "row 0 of the losses names thread 2"),
    "loss reversed": (put("sp_trace/losses/first_ns", 0, 2**63), "losses row 0 ends at"),
    "loss of nothing": (put("sp_trace/losses/count", 0, 0), "losses row 0 counts no event"),
    "loss without a cause": (put("sp_trace/losses/cause", 0, ""), "losses row 0 has no cause"),
    "sample's thread": (put("sp_trace/samples/thread", 4, 2), "row 4 of the samples names thread 2"),
    "sample's region": (put("sp_trace/samples/region", 4, -2), "sample 4 names region -2 of 2"),
    "sample's module": (put("sp_trace/samples/module", 19, 1), "row 19 of the samples names module 1"),
    "no row": (extend("region_table/names", [b"alone"]), 'region 2 ("alone") has no row'),
}
ODD = {
    "reversed": (both(put("events/durations", 279, -1), without_statistics),
                 'a call ends before it starts: call 209 of row 1 ("kernel" on rank 0)'),
    "thread": (put("events/thread_ids", 3, 7), "a call names a thread that the table does not have: call 3 of row 0"),
    "thread twice": (put("thread_table/index", 1, 0), "two threads of a rank have one index: 0 of rank 0"),
    "parent": (put("events/parent_ids", 0, 1 << 50), "a call's parent has an id that is not smaller"),
    "flags": (put("sp_trace/calls/flags", 0, 64), "a call has flags of a meaning that is not known: call 0 of row 0"),
    "thread ends": (put("thread_table/end_ns", 1, 5), "ends before it starts: row 1 of the threads"),
    "sample's rank": (put("sp_trace/samples/rank", 3, 8), "a sample is of a rank that the profile does not have"),
    "loss's cause": (put("sp_trace/losses/cause", 0, "sun spots"),
                     'events were lost for a cause that this version does not know: row 0 of the losses, "sun spots"'),
    "finalize": (lambda file: file["metadata"].attrs.__setitem__("finalize_time_ns", 5), "ended before it started"),
    "crossing": (both(put("events/durations", 70, 500), without_statistics), "a call crosses another one of its lane"),
}
FINE = {
    "dangling": dangling,
    "unknown part": unknown_part,
    "no cut calls": lambda file: None,
}


class Judge:
    def __init__(self, report, good, work):
        self.report, self.good, self.work = report, good, work

    def verify(self, name, change=None, spoil=None):
        import h5py
        path = os.path.join(self.work, "changed.h5")
        shutil.copy(self.good, path)
        if change:
            with h5py.File(path, "r+") as file:
                change(file)
        if spoil:
            spoil(path)
        done = subprocess.run([self.report, "verify", path], capture_output=True, text=True, timeout=120)
        check(done.returncode in (0, 1, 3), f"{name}: {done.returncode} {done.stderr}")
        return done

    def changes(self):
        for name, (change, wanted) in BAD.items():
            done = self.verify(name, change)
            check(done.returncode == 1 and wanted in done.stderr, f"{name}: not {wanted!r}: {done.stderr}{done.stdout}")
        for name, (change, wanted) in ODD.items():
            done = self.verify(name, change)
            check(done.returncode in (0, 3) and wanted in done.stderr and ": ok, with " in done.stdout,
                  f"{name}: not {wanted!r}: {done.stderr}{done.stdout}")
        for name, change in FINE.items():
            done = self.verify(name, change)
            check(done.returncode in (0, 3) and not done.stderr, f"{name}: {done.stderr}{done.stdout}")

    def spoiled(self):
        """Damage that only reading finds: a chunk of a part that no reader uses, and the file's end."""
        def chunk(path):
            import h5py
            with h5py.File(path) as file:
                at = file["unknown/thing"].id.get_chunk_info(50).byte_offset
            with open(path, "r+b") as f:
                f.seek(at + 20)
                byte = f.read(1)[0]
                f.seek(at + 20)
                f.write(bytes([byte ^ 1]))

        def longer(path):
            with open(path, "ab") as f:
                f.write(b"more")

        done = self.verify("a spoiled chunk", unknown_part, chunk)
        check(done.returncode == 1 and "/unknown/thing: " in done.stderr, f"a spoiled chunk: {done.stderr}")
        done = self.verify("longer", None, longer)
        check(done.returncode == 1 and "has 4 bytes behind the end" in done.stderr, f"longer: {done.stderr}")

    def metadata(self):
        """What calls were annotated with: a record for each call. Python's NaN is no JSON, so a text in it."""
        import h5py

        def annotate(file):
            texts = ["[" + ", ".join(['{"x": NaN, "y": "],}"}'] * 70) + "]",
                     "[" + ",".join(['{"a": [1, {"b": "\\\\\\"]"}], "i": 9007199254740993}'] * 210) + "]"]
            file.create_dataset(ROWS + "event_metadata", data=texts, dtype=h5py.string_dtype())

        done = self.verify("event metadata", annotate)
        check(done.returncode in (0, 3), f"event metadata: {done.stderr}")
        dump = subprocess.run([self.report, "dump", "--json", "--section", "event_metadata",
                               os.path.join(self.work, "changed.h5")], capture_output=True, text=True)
        records = json.loads(dump.stdout)["event_metadata"]
        check([(r["row"], r["index"]) for r in records] ==
              [(0, i) for i in range(70)] + [(1, i) for i in range(210)], "a record for each call")
        check(all(r["metadata"] == '{"x": NaN, "y": "],}"}' for r in records[:70]), f"NaN: {records[0]}")
        check(all(r["metadata"] == {"a": [1, {"b": '\\"]'}], "i": 9007199254740993} for r in records[70:]),
              f"JSON: {records[70]}")

    def flips(self, n):
        size = os.path.getsize(self.good)
        seed = random.randrange(1 << 32)
        print("seed", seed)
        rng = random.Random(seed)

        def flip(path):
            with open(path, "r+b") as f:
                f.seek(rng.randrange(size))
                byte = f.read(1)[0]
                f.seek(-1, 1)
                f.write(bytes([byte ^ 1 << rng.randrange(8)]))

        found = 0
        for i in range(n):
            done = self.verify(f"flip {i}", None, flip)
            found += done.returncode == 1
            check(done.returncode in (0, 3) or done.stderr.count("\n") == 1 + done.stderr.count("warning: "),
                  f"flip {i}: not one line: {done.stderr}")
        print(f"{found} of {n} flipped bits were found")
        check(found > n // 4, f"only {found} of {n} flipped bits were found")


def main():
    if sys.argv[1] != "--here":
        relaunch()
    report, maker = sys.argv[2:]
    with tempfile.TemporaryDirectory() as work:
        made = os.path.join(work, "made.spj")
        subprocess.run([maker, made, "demo"], check=True)
        subprocess.run([report, "recover", "-q", "--no-sync", made, "-o", work], check=True, capture_output=True)
        judge = Judge(report, os.path.join(work, "heat_rank00000.h5"), work)
        judge.changes()
        judge.spoiled()
        judge.metadata()
        judge.flips(2000 if os.environ.get("SP_TEST_FULL") == "1" else 150)
    return end()


if __name__ == "__main__":
    sys.exit(main())
