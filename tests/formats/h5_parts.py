#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""HDF5 profiles in every shape that h5py and scope-profiler can give them: attributes of all kinds, widths, strings,
old schemas, what a rank has besides; and damage to the latter.

usage: h5_parts.py PROFILE_DUMP DIRECTORY_OF_H5_PLUGIN WORKDIR

What is read is compared with scope-profiler's reader where that reads it, else with what was written.
"""
import json
import math
import shutil

import h5_lib
from h5_lib import CALLS, calls, columnar, replace

if h5_lib.INSIDE:
    import h5py
    import numpy as np
    import scope_profiler
    from scope_profiler.h5writer import ProfilingWriter
    from scope_profiler.likwid_data import LikwidRegionResult
    from scope_profiler.perf_events import PerfEventTotals


# ---- attributes ----

def shown(value):
    """What our dump prints for what scope-profiler's reader made of an attribute."""
    if isinstance(value, list):
        return [one if isinstance(one, str) else "nan" if isinstance(one, float) and math.isnan(one)
                else f"{one:.17g}" if isinstance(one, float) else str(int(one)) for one in value]
    if isinstance(value, (np.bool_, bool)):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value) if -2**63 <= int(value) < 2**63 else str(value)
    if isinstance(value, np.floating):
        return float(value)
    return value


def attributes(test):
    path = test.path("attributes")
    file = columnar(path)
    meta = file.create_group("metadata").attrs
    for width in (8, 16, 32, 64):
        meta[f"i{width}"] = np.array(-2**(width - 1), dtype=f"i{width // 8}")[()]
        meta[f"u{width}"] = np.array(2**width - 1, dtype=f"u{width // 8}")[()]
    meta.create("big_endian", 77, dtype=">i4")
    meta["bool"], meta["not"] = True, False
    meta["real"], meta["half"], meta["single"] = 0.1, np.float16(1.5), np.float32(0.1)
    meta["text"], meta["empty"], meta["umlaut"] = "some, text", "", "ü\n\"\\"
    meta["bytes"] = np.bytes_(b"fixed")
    meta.create("fixed_utf8", "ß".encode(), dtype=h5py.string_dtype(length=8))
    meta["bad_utf8"] = np.bytes_(b"a\xff")
    meta["texts"] = ["one", "two, three", ""]
    meta["fixed_texts"] = np.array([b"x", b"yz"])
    meta["numbers"], meta["one_number"] = [1, 2, -3], [5]
    meta["large_numbers"] = np.array([1, 2**64 - 1], dtype="u8")
    meta["reals"] = [1.5, 1e300, -0.25, float("nan")]
    meta["truths"] = [True, False]
    meta.create("no_texts", [], dtype=h5py.string_dtype())
    meta["no_reals"] = []
    meta["matrix"] = [[1, 2], [3, 4]]
    meta.create("enum", 1, dtype=h5py.enum_dtype({"RED": 0, "GREEN": 1}, basetype="i2"))
    meta["nothing"] = h5py.Empty("f4")
    meta["compound"] = np.array((1, 2.0), dtype=[("a", "i4"), ("b", "f8")])
    meta["infinite"] = float("-inf")
    file.close()
    dump = test.read(path)
    theirs = scope_profiler.read_h5(path).metadata
    got = dump["metadata"]
    special = {"matrix": ["1", "2", "3", "4"], "nothing": "", "compound": "(of a kind that is not shown)",
               "enum": 1, "infinite": got["infinite"]}
    test.equal(sorted(got), sorted(theirs), "keys of the metadata")
    for key, value in theirs.items():
        test.equal(got[key], special[key] if key in special else shown(value), f"metadata {key}")
    with h5py.File(path, "r+") as file:
        file["metadata"].attrs.create("long", "x" * 60000)
    test.equal(len(test.read(path)["metadata"]["long"]), 60000, "a long text")


# ---- columns ----

def columns(test):
    path = test.path("columns")
    for name, options in {
        "variable": {}, "fixed": {"string": h5py.string_dtype(length=9)}, "ascii": {"string": np.dtype("S9")},
        "i8": {"index_type": "i8"}, "i4": {"index_type": "i4"}, "u2": {"index_type": "u2"},
        "big_endian": {"index_type": ">u8", "event_type": ">i8"}, "events_i4": {"event_type": "i4"},
        "events_u2": {"event_type": "u2"},
        "schema_2": {"schema": 2, "starts": (100, 150, 400), "second": (110, 170, 430)},
        "gaps": {"starts": (9, 100, 50, 9, 9, 400, 9), "second": (8, 10, 20, 8, 8, 30, 8), "offsets": (1, 5)},
        "rows_backwards": {"starts": (400, 100, 50), "second": (30, 10, 20), "offsets": (1, 0)},
    }.items():
        columnar(path, **options).close()
        test.equal(calls(test.read(path)), CALLS, name)
        results = scope_profiler.read_h5(path)
        theirs = {region: list(zip((results[region][0].start_times).tolist(), results[region][0].end_times.tolist()))
                  for region in CALLS}
        test.equal(len(theirs["a"]), 2, f"{name}: scope-profiler reads it")
    for schema in (2, 3):  # what the times are follows from the names of their columns
        columnar(path, schema=3).close()
        with h5py.File(path, "r+") as file:
            file.attrs["scope_profiler_schema"] = np.uint8(schema)
        test.equal(calls(test.read(path)), CALLS, f"deltas in schema {schema}")
    file = columnar(path)
    file.attrs.create("storage_layout", "columnar", dtype=h5py.string_dtype(length=8))
    file["events"].create_dataset("thread_ids", data=np.array([3, -1, 2], dtype="i4"))
    file["events"].create_dataset("gpu_durations", data=np.array([-1, 5, -1], dtype="i8"))
    for name, kind, value in (("ranks", "u4", 0), ("index", "i4", 3), ("ident", "u8", 5), ("native_id", "i4", 6),
                              ("start_ns", "i8", 1), ("end_ns", "i8", -1), ("cpu_ns", "u4", 2)):
        file.create_dataset(f"thread_table/{name}", data=np.array([value], dtype=kind))
    file.create_dataset("thread_table/daemon", data=np.array([True]))
    file.create_dataset("thread_table/name", data=["main"], dtype=h5py.string_dtype(length=10))
    file.create_group("metadata").attrs["start_time_ns"] = np.int32(90)
    file.close()
    dump = test.read(path)
    test.equal([call[4] for row in dump["rows"] for call in row["calls"]], [3, -1, 2], "int32 thread ids")
    thread = dump["threads"][0]
    test.equal((thread["start_ns"], thread["end_ns"], thread["daemon"], thread["name"]), (91, -1, 1, "main"),
               "a thread")
    # Nothing at all, as empty data sets and as none.
    columnar(path, names=(), ids=(), ranks=(), offsets=(), counts=(), starts=(), second=()).close()
    test.equal(test.read(path)["rows"], [], "no rows")
    with h5py.File(path, "r+") as file:
        for name in list(file["rank_region_index"]):
            text = name in ("tags", "source_files", "source_texts")
            replace(file, f"rank_region_index/{name}", h5py.Empty(h5py.string_dtype() if text else "i8"))
        for name in ("region_table/names", "events/start_deltas", "events/durations"):
            replace(file, name, h5py.Empty(h5py.string_dtype() if name[0] == "r" else "i8"))
    test.equal(test.read(path)["rows"], [], "null data spaces")
    # Regions without rows, rows without calls, the lowest and highest numbers.
    columnar(path, names=("a", "", "u/v", "x"), ids=(0, 1, 2), ranks=(0, 5, 4294967294), offsets=(0, 1, 1),
             counts=(1, 0, 2), starts=(-2**63, 2**63 - 1, -1), second=(5, 0, -7)).close()
    rows = test.read(path)["rows"]
    test.equal([(row["region"], row["rank"], row["n"]) for row in rows],
               [("a", 0, 1), ("", 5, 0), ("u/v", 4294967294, 2)], "rows of all kinds")
    test.equal(rows[2]["calls"][1][:2], [2**63 - 2, 2**63 - 9], "an end before its start")
    # One name twice: one region, on ranks of their own.
    columnar(path, names=("a", "b", "a"), ids=(0, 1, 2), ranks=(0, 0, 1), offsets=(0, 1, 2), counts=(1, 1, 1)).close()
    dump = test.read(path)
    test.equal(dump["regions"], ["a", "b"], "pooled names")
    test.equal([(row["region"], row["rank"]) for row in dump["rows"]], [("a", 0), ("b", 0), ("a", 1)], "pooled rows")
    columnar(path, names=("a", "b", "a"), ids=(0, 1, 2), ranks=(0, 0, 0), offsets=(0, 1, 2), counts=(1, 1, 1)).close()
    test.refuse(path, "EBADMSG", 'two rows for region "a" on rank 0')
    # Statistics in any order and width.
    columnar(path).close()
    fields = [("m2", "f4"), ("mean", "f8"), ("gpu_total", "i4"), ("gpu_count", "u2"), ("total", "i4"), ("extra", "i8"),
              ("minimum", "i2"), ("maximum", "i8"), ("first", "u1"), ("last", "i8"), ("start_minimum", "i8"),
              ("end_maximum", ">i8")]
    values = np.zeros(2, dtype=fields)
    values["total"], values["first"], values["end_maximum"], values["m2"] = (30, 30), (10, 30), (170, 430), (50, 0)
    with h5py.File(path, "r+") as file:
        file.create_dataset("rank_region_index/summary_statistics", data=values)
        file.create_dataset("rank_region_index/exclusive_totals", data=np.array([11, 12], dtype="i4"))
    rows = test.read(path)["rows"]
    test.equal([(row["total"], row["first"], row["end_maximum"], row["m2"]) for row in rows],
               [(30, 10, 170, 50), (30, 30, 430, 0)], "statistics")
    test.equal([row["self"] for row in rows], [11, 12], "self times of 32 bits")


def aggregates(test):
    path = test.path("aggregate")
    for kind in (None, "fixed"):
        with h5py.File(path, "w") as file:
            file.attrs["scope_profiler_schema"] = 3
            file.attrs.create("storage_layout", "aggregate", dtype=h5py.string_dtype(length=9) if kind else None)
            file.create_dataset("region_table/names", data=["a", "b"], dtype=h5py.string_dtype())
            for name, values in (("region_ids", (1, 0)), ("ranks", (3, 4)), ("aggregate_counts", (5, 0)),
                                 ("aggregate_totals", (50, 0)), ("aggregate_minimums", (1, 0)),
                                 ("aggregate_maximums", (30, 0)), ("aggregate_exclusives", (40, 0))):
                file.create_dataset(f"rank_region_index/{name}", data=np.array(values, dtype="i8"))
        rows = test.read(path)["rows"]
        test.equal([(row["region"], row["rank"], row["n"], row["total"], row["self"], row["maximum"], row["mean"])
                    for row in rows], [("b", 3, 5, 50, 40, 30, 10.0), ("a", 4, 0, 0, 0, 0, 0.0)], "an aggregate profile")
    with h5py.File(path, "r+") as file:
        del file["rank_region_index/aggregate_maximums"]
    test.refuse(path, "ENOMSG", "has no data set /rank_region_index/aggregate_maximums")


# ---- event metadata ----

def event_metadata(test):
    path = test.path("event_metadata")
    for texts, good in ((('[{"n": 1}, {}]', "[]"), True), (("", ""), True), (("[]", '[{"x": [null, "]"]}]'), True),
                        (('[{"n": 1}]', ""), False), (("{}", ""), False), (("[1, 2]", ""), False),
                        (("[{}, {}", ""), False), (("[{}, {}] x", ""), False)):
        for kind in (h5py.string_dtype(), h5py.string_dtype(length=30)):
            file = columnar(path)
            file.create_dataset("rank_region_index/event_metadata", data=list(texts), dtype=kind)
            file.close()
            if not good:
                test.refuse(path, "EBADMSG", 'the event metadata of region "a" on rank 0 is no JSON list')
                continue
            expected = [json.loads(text or "[]") or None for text in texts]
            test.equal([row["event_metadata"] for row in test.read(path)["rows"]], expected, "event metadata")
            for region, value in zip("ab", expected):
                theirs = scope_profiler.read_h5(path)[region][0].event_metadata
                test.check(not value or list(theirs) == value, "scope-profiler's event metadata")
    columnar(path).create_dataset("rank_region_index/event_metadata", data=["[]"], dtype=h5py.string_dtype()).file.close()
    test.refuse(path, "EBADMSG", "event_metadata has 1 elements instead of 2")


# ---- what a rank has besides ----

class Payload:
    """What scope-profiler's writer asks for."""
    aggregate_stats = sources = tags = event_metadata = exclusive_totals = lanes = None
    likwid_environment = perf_events = line_profile = None

    def __init__(self, regions=None, likwid=None, **more):
        self.regions, self.likwid = regions or {}, likwid or {}
        self.__dict__.update(more)


def likwid_results():
    full = LikwidRegionResult(
        tag="a/b", group_id=1, group_name="MEM_DP", cpus=[0, 4], times=np.array([1.5, 2.5]),
        call_counts=np.array([3, 4]), event_names=["E", "E", "F"], counter_names=["C0", "C1", "C2"],
        events=np.arange(6.0).reshape(3, 2), metric_names=["M"], metrics=np.array([[0.5, math.inf]]))
    marker = LikwidRegionResult(tag="marker", times=np.array([1.0]), call_counts=np.array([1]), event_names=["event_0"],
                                events=np.array([[7.0]]), source="marker_api")
    return {"a/b": full, "marker": marker}


def extras(test):
    path = test.path("extras")
    times = np.array([1, 2, 3], dtype="i8")
    lines = [{"region": "a", "filename": f"f{i}.py", "function": "g", "first_lineno": i, "unit": 1e-9,
              "line_numbers": np.arange(i), "hits": np.arange(i) * 2, "times": np.arange(i) * 0.5,
              **({"source": "def g():\n", "source_first_lineno": i} if i % 2 else {})} for i in range(12)]
    perf = {"a": PerfEventTotals(3, {"cycles": 2**64 - 1, "instructions": 5}), "a/b": PerfEventTotals(1, {"cycles": 1}),
            "a/b/c": PerfEventTotals(2, {"cycles": 2}), "none": PerfEventTotals(9, {})}
    with ProfilingWriter(path, {"mpi_size": 12}) as writer:
        writer.write_rank(0, Payload({"a": (times, times + 1)}, likwid_results(), perf_events=perf, line_profile=lines,
                                     likwid_environment={"LIKWID_EVENTS": "MEM_DP", "LIKWID_THREADS": "0,4"}))
        writer.write_rank(2, Payload(perf_events={"x": PerfEventTotals(0, {"cycles": 1})}))
        writer.write_rank(10, Payload({"a": (times, times)}, line_profile=lines[:1]))
    dump = test.read(path)
    test.equal([(one["rank"], one["region"], one["calls"], dict(zip(one["names"], one["values"])))
                for one in dump["perf_events"]],
               [(0, "a/b/c", 2, {"cycles": 2}), (0, "a/b", 1, {"cycles": 1}),
                (0, "a", 3, {"cycles": 2**64 - 1, "instructions": 5}), (0, "none", 9, {}), (2, "x", 0, {"cycles": 1})],
               "perf events")
    test.equal([one["rank"] for one in dump["line_profiles"]], [0] * 12 + [10], "ranks of line profiles")
    for one, line in zip(dump["line_profiles"], lines + lines[:1]):
        test.equal((one["region"], one["filename"], one["function"], one["first_line"], one["unit"], one["source"],
                    one["source_first_line"], one["lines"], one["hits"], one["times"]),
                   (line["region"], line["filename"], line["function"], line["first_lineno"], line["unit"],
                    line.get("source"), line.get("source_first_lineno", 0), line["line_numbers"].tolist(),
                    line["hits"].tolist(), line["times"].tolist()), "a line profile")
    theirs = scope_profiler.read_h5(path).likwid_regions(0) if hasattr(scope_profiler.ProfilingResults, "likwid_regions") \
        else likwid_results()
    for one in dump["likwid"]:
        their = theirs[one["tag"]]
        infinite = one["metrics"]
        test.equal((one["rank"], one["group_id"], one["group_name"], one["source"], one["cpus"], one["times"],
                    one["call_counts"], one["event_names"], one["counter_names"], one["events"], one["metric_names"]),
                   (0, their.group_id, their.group_name, their.source, their.cpus, their.times.tolist(),
                    their.call_counts.tolist(), their.event_names, their.counter_names, their.events.tolist(),
                    their.metric_names), f"LIKWID {one['tag']}")
        test.equal(len(infinite), len(their.metrics), "metrics")
    test.equal(sorted(one["tag"] for one in dump["likwid"]), ["a/b", "marker"], "LIKWID tags")
    test.equal(dump["likwid_environments"], [{"rank": 0, "facts": {"LIKWID_EVENTS": "MEM_DP", "LIKWID_THREADS": "0,4"}}],
               "LIKWID's environment")

    def change(what, code, words):
        shutil.copy(path, test.path("changed"))
        with h5py.File(test.path("changed"), "r+") as file:
            what(file)
        if code:
            test.refuse(test.path("changed"), code, words)
        return None if code else test.read(test.path("changed"))

    def attribute(group, key, value):
        def set_it(file):
            file[group].attrs[key] = value
        return set_it

    def data(name, value):
        return lambda file: replace(file, name, value)

    def without(name):
        def remove(file):
            del file[name]
        return remove

    region, line, tag = "rank0/perf_events/a", "rank0/line_profile/3", "rank0/likwid/regions/a|b"
    change(attribute(region, "event_names", "cycles"), "EBADMSG", "event_names is not a list of texts")
    change(attribute(region, "event_names", [1, 2]), "EBADMSG", "event_names is not a list of texts")
    change(attribute(region, "calls", "x"), "EBADMSG", "calls is not an integer")
    change(attribute(region, "calls", np.uint64(2**64 - 1)), "EOVERFLOW", "calls is too large")
    change(attribute(region, "region", "none"), "EBADMSG", 'is the second for "none"')
    dump = change(attribute(region, "region", "real/name"), None, None)
    test.check("real/name" in [one["region"] for one in dump["perf_events"]], "a region's own name")
    change(without(f"{region}/values"), "ENOMSG", f"has no data set /{region}/values")
    change(data(f"{region}/values", [1]), "EBADMSG", "values has 1 elements instead of 2")
    change(data(f"{region}/values", [1, 2, 3]), "EBADMSG", "values has 3 elements instead of 2")
    change(data(f"{region}/values", [1, -2]), "EOVERFLOW", "negative or too large")
    change(data(f"{region}/values", [1.0, 2.0]), "EBADMSG", "values does not hold integers")
    change(lambda file: file["rank0/perf_events"].create_dataset("d", data=1), "EBADMSG", "perf_events/d is not a group")
    change(lambda file: replace(file, "rank0/perf_events", 1), "EBADMSG", "/rank0/perf_events is not a group")
    for name in ("line_numbers", "hits", "times"):
        change(without(f"{line}/{name}"), "ENOMSG", f"has no data set /{line}/{name}")
        if name != "line_numbers":
            change(data(f"{line}/{name}", [1, 2]), "EBADMSG", f"{name} has 2 elements instead of 3")
    change(attribute(line, "unit", "fast"), "EBADMSG", "unit is not a number")
    change(attribute(line, "filename", 3), "EBADMSG", "filename is not a text")
    def without_defaults(file):
        for key in ("region", "filename", "function", "first_lineno", "unit", "source_first_lineno"):
            del file[line].attrs[key]
    one = change(without_defaults, None, None)["line_profiles"][3]
    test.equal((one["region"], one["filename"], one["function"], one["first_line"], one["unit"], one["source"]),
               ("", "", "", 0, 1.0, None), "defaults of a line profile")
    for name in ("cpus", "times", "call_counts", "events", "metrics"):
        change(without(f"{tag}/{name}"), "ENOMSG", f"has no data set /{tag}/{name}")
    change(data(f"{tag}/cpus", [1, 2, 3]), "EBADMSG", "cpus has 3 elements instead of 2")
    change(data(f"{tag}/events", np.zeros((2, 2))), "EBADMSG", "has 2 × 2 elements instead of 3 × 2")
    change(data(f"{tag}/events", np.zeros((3, 3))), "EBADMSG", "has 3 × 3 elements instead of 3 × 2")
    change(data(f"{tag}/events", np.zeros(6)), "EBADMSG", "events is not two-dimensional")
    change(attribute(tag, "counter_names", ["C"]), "EBADMSG", "counter_names has 1 names, and there are 3 events")
    change(attribute("rank0/likwid/regions/marker", "tag", "a/b"), "EBADMSG", 'is the second for "a/b"')
    def old_likwid(file):
        del file[tag].attrs["counter_names"], file[tag].attrs["group_id"]
        replace(file, f"{tag}/events", np.arange(6, dtype="i4").reshape(3, 2))
    one = next(one for one in change(old_likwid, None, None)["likwid"] if one["tag"] == "a/b")
    test.equal((one["counter_names"], one["group_id"], one["events"]), ([], -1, [[0, 1], [2, 3], [4, 5]]), "old LIKWID")
    change(lambda file: file.create_group("rank00"), "EBADMSG", "are one rank")
    change(lambda file: file.create_group("rank99999999999999999999"), "EOVERFLOW", "is a rank beyond")
    change(lambda file: file.create_group("rankle"), None, None)

    def loop(file):
        file[f"{region}/again"] = file[region]
    change(loop, "EOVERFLOW", "nested too deeply")

    def soft(file):
        del file["rank0/perf_events"]
        file["rank0/perf_events"] = h5py.SoftLink("/rank2/perf_events")
    change(soft, "EBADMSG", "soft or external link")


# ---- schema 1 ----

def schema_1(test):
    path = test.path("schema_1")
    with h5py.File(path, "w") as file:
        file.create_group("metadata").attrs["mpi_size"] = 11
        for rank in (0, 2, 10):
            for i, name in enumerate(("solve", "io", "a/b", "a")):
                group = file.create_group(f"rank{rank}/regions/{name}") if f"rank{rank}/regions/{name}" not in file \
                    else file[f"rank{rank}/regions/{name}"]
                group["start_times"] = np.array([10, 20, 40], dtype="i8")[:i] + rank
                group["end_times"] = np.array([15, 33, 55], dtype="i4")[:i] + rank
                if name == "a/b":
                    group["gpu_durations"] = np.array([-1, 4], dtype="i8")
                    group["call_ids"], group["parent_ids"] = np.array([1, 2]), np.array([-1, 1])
                    group.attrs["source_file"], group.attrs["source_lineno"] = "f.py", 12
                    group.attrs["source_text"] = "with x:\n"
                    group.attrs.create("tags", ["one, two", 'q"\\'], dtype=h5py.string_dtype())
    dump = test.read(path)
    test.equal([row["rank"] for row in dump["rows"]], [0] * 4 + [2] * 4 + [10] * 4, "ranks by number")
    test.equal(sorted(dump["regions"]), ["a", "a/b", "io", "solve"], "names with slashes")
    row = next(row for row in dump["rows"] if row["region"] == "a/b" and row["rank"] == 2)
    test.equal([call[:4] + call[7:8] for call in row["calls"]], [[12, 17, 1, -1, -1], [22, 35, 2, 1, 4]], "calls")
    test.equal((row["source_file"], row["source_line"], row["source_text"], json.loads(row["tags"])),
               ("f.py", 12, "with x:\n", ["one, two", 'q"\\']), "attributes of a region")
    test.equal([row["n"] for row in dump["rows"] if row["rank"] == 0 and row["region"] in ("a", "solve")],
               [3, 0], "numbers of calls")
    with h5py.File(path, "r+") as file:
        for rank in (0, 2, 10):
            for name in list(file[f"rank{rank}/regions/a"]):
                if name == "b":
                    del file[f"rank{rank}/regions/a/b"]
    results = scope_profiler.read_h5(path)
    test.equal(sorted(results.region_names if hasattr(results, "region_names") else ["a", "io", "solve"]),
               ["a", "io", "solve"], "scope-profiler's regions")
    with h5py.File(path, "r+") as file:
        del file["rank2/regions/io/end_times"]
    test.refuse(path, "ENOMSG", "has no data set /rank2/regions/io/end_times")
    with h5py.File(path, "r+") as file:
        file["rank2/regions/io/end_times"] = [1, 2, 3]
    test.refuse(path, "EBADMSG", "end_times has 3 elements instead of 1")
    with h5py.File(path, "r+") as file:
        del file["rank2/regions/io"]
        file.create_group("rank2/regions/io")
    test.refuse(path, "ENOMSG", "has no data set /rank2/regions/io/start_times")
    with h5py.File(path, "w") as file:
        file.create_group("something")
    test.refuse(path, "EMEDIUMTYPE", "is an HDF5 file, but not a profile")


h5_lib.run(attributes, columns, aggregates, event_metadata, extras, schema_1)
