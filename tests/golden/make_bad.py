#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes bad/: one small file for each thing that a reader refuses (formats/FORMAT.md).

usage: make_bad.py [NAME-PART]   (with numpy and h5py: the Python of .venv/)

The files are checked in; this is kept so that one can see what is wrong with each, and add more. What the
commands say of a file stands beside it, in NAME.expected: tests/golden/golden_test.py --update writes it.
Damage that a fuzzer found, or a program of somebody else made, has no recipe here, and stays.
"""
import gzip
import json
import pathlib
import struct
import sys

import h5py
import numpy as np

BAD = pathlib.Path(__file__).parent / "bad"
MAKE = sys.argv[1] if len(sys.argv) > 1 else ""


def put(name, data):
    if MAKE in name:
        (BAD / name).write_bytes(data)


# ---- .spt ----

def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<i", len(data)) + data


def spt(version=2, rank=0, regions=1, name=text("solve"), source=text("solver.c"), line=7, calls=3, starts=(10, 20, 40), ends=(15, 33, 55),
        tail=b""):
    data = b"SCOPEPRF" + struct.pack("<iiq", version, rank, regions) + name
    if version != 1:
        data += source + struct.pack("<i", line)
    return data + struct.pack(f"<q{len(starts)}q{len(ends)}q", calls, *starts, *ends) + tail


def bad_spt():
    good = spt()
    put("spt-empty.spt", b"")
    put("spt-7-bytes.spt", good[:7])
    put("spt-magic.spt", b"SCOPEPRG" + good[8:])
    put("spt-version-0.spt", spt(version=0))
    put("spt-version-3.spt", spt(version=3))
    put("spt-version-negative.spt", spt(version=-1))
    for name, at in (("version", 10), ("rank", 14), ("header", 20), ("no-region", 24), ("name-length", 26), ("name", 30), ("source-length", 35),
                     ("source", 40), ("line", 47), ("calls", 50), ("starts", 70), ("no-ends", 81), ("ends", len(good) - 1)):
        put(f"spt-cut-{name}.spt", good[:at])
    put("spt-second-region-missing.spt", spt(regions=2))
    put("spt-calls-too-many.spt", spt(calls=4))
    put("spt-calls-huge.spt", spt(calls=2**60))
    put("spt-calls-overflow.spt", spt(calls=2**63 - 1))
    put("spt-calls-negative.spt", spt(calls=-1))
    put("spt-regions-negative.spt", spt(regions=-1))
    put("spt-regions-huge.spt", spt(regions=2**20 + 1))
    put("spt-name-negative.spt", spt(name=struct.pack("<i", -1)))
    put("spt-name-huge.spt", spt(name=struct.pack("<i", 2**20 + 1)))
    put("spt-name-beyond-end.spt", spt(name=struct.pack("<i", 1000)))
    put("spt-source-negative.spt", spt(source=struct.pack("<i", -5)))
    put("spt-name-utf8.spt", spt(name=text(b"so\xfflve")))
    put("spt-name-utf8-cut.spt", spt(name=text("gr\u00fc".encode()[:-1])))
    put("spt-name-surrogate.spt", spt(name=text(b"\xed\xa0\x80")))
    put("spt-name-nul.spt", spt(name=text(b"so\0lve")))
    put("spt-source-utf8.spt", spt(source=text(b"\x80")))
    put("spt-rank-negative.spt", spt(rank=-1))
    put("spt-trailing.spt", spt(tail=b"\0"))
    put("spt-name-escape.spt", spt(name=text(b"\x1b[2J\xff")))


# ---- .sps ----

def sps(magic=b"SCOPESMP", version=1, rank=0, hz=997, ticks=9, regions=1, names=(text("solve"),), modules=1, paths=(text("/bin/x"),), samples=None,
        rows=((0, 0, 4198400), (0, -1, 1)), tail=b""):
    data = magic + struct.pack("<iiiqi", version, rank, hz, ticks, regions) + b"".join(names) + struct.pack("<i", modules)
    data += b"".join(path + struct.pack("<Q", 4096) for path in paths)
    data += struct.pack("<q", len(rows) if samples is None else samples)
    return data + b"".join(struct.pack("<iiQ", *row) for row in rows) + tail


def bad_sps():
    good = sps()
    put("sps-magic.sps", b"SCOPESAM" + good[8:])
    put("sps-version-2.sps", sps(version=2))
    for name, at in (("header", 22), ("regions", 30), ("name", 38), ("modules", 42), ("path", 50), ("bias", 58), ("count", 66),
                     ("samples", len(good) - 1)):
        put(f"sps-cut-{name}.sps", good[:at])
    put("sps-rank-negative.sps", sps(rank=-3))
    put("sps-hz-negative.sps", sps(hz=-1))
    put("sps-ticks-negative.sps", sps(ticks=-1))
    put("sps-regions-negative.sps", sps(regions=-1))
    put("sps-regions-huge.sps", sps(regions=2**20 + 1))
    put("sps-modules-negative.sps", sps(modules=-1))
    put("sps-samples-negative.sps", sps(samples=-1))
    put("sps-samples-huge.sps", sps(samples=2**60))
    put("sps-name-utf8.sps", sps(names=(text(b"\xff"),)))
    put("sps-path-nul.sps", sps(paths=(text(b"/b\0n"),)))
    put("sps-region-beyond.sps", sps(rows=((1, 0, 1),)))
    put("sps-region-negative.sps", sps(rows=((0, 0, 1), (-2, 0, 1))))
    put("sps-module-beyond.sps", sps(rows=((0, 1, 1),)))
    put("sps-module-negative.sps", sps(rows=((0, -2, 1),)))
    put("sps-trailing.sps", sps(tail=b"x"))


# ---- HDF5 ----

STRING = h5py.string_dtype()  # of fixed length in the files, which keeps them small


def profile(file, schema=3):
    """A good profile of two regions on one rank, with one of everything."""
    file.attrs["scope_profiler_schema"] = schema
    file.attrs["storage_layout"] = np.bytes_("columnar")
    file.create_group("metadata").attrs["start_time_ns"] = 5
    for path, values, kind in (
            ("region_table/names", ["solve", "io"], STRING), ("rank_region_index/region_ids", [0, 1], "u4"), ("rank_region_index/ranks", [0, 0], "u4"),
            ("rank_region_index/event_offsets", [0, 3], "u8"), ("rank_region_index/event_counts", [3, 1], "u8"),
            ("rank_region_index/source_lines", [7, -1], "i8"), ("rank_region_index/source_files", ["a.c", ""], STRING),
            ("rank_region_index/source_texts", ["", ""], STRING), ("rank_region_index/tags", ['["x"]', ""], STRING),
            ("rank_region_index/event_metadata", ["[{}, {}, {}]", ""], STRING), ("rank_region_index/exclusive_totals", [28, 1], "i8")):
        put_data(file, path, values, kind)
    times = ("start_deltas", [10, 10, 20, 100], "durations", [5, 13, 15, 1]) if schema == 3 else \
        ("start_times", [10, 20, 40, 100], "end_times", [15, 33, 55, 101])
    for path, values in (times[:2], times[2:], ("call_ids", [0, 1, 2, 3]), ("parent_ids", [-1, -1, -1, -1]), ("thread_ids", [0, 0, 0, 0])):
        put_data(file, f"events/{path}", values, "i8")
    for name, value in (("ranks", 0), ("index", 0), ("ident", 1), ("native_id", 2), ("daemon", 0), ("start_ns", 0), ("end_ns", -1), ("cpu_ns", 9)):
        put_data(file, f"thread_table/{name}", [value], "i8")
    put_data(file, "thread_table/name", ["main"], STRING)


def trace(file):
    file.require_group("sp_trace").attrs["version"] = 1
    for name, value, kind in (("time_ns", [50, 60], "u8"), ("thread", [0, -1], "i8"), ("region", [0, -1], "i8"), ("call_id", [0, -1], "i8"),
                              ("ip", [16, 0], "u8"), ("module", [-1, -1], "i8"), ("kernel", [0, 1], "u1"), ("rank", [0, 0], "u4"),
                              ("stack_offsets", [0, 2, 3], "u8"), ("stack_frames", [1, 2, 3], "u8")):
        put_data(file, f"sp_trace/samples/{name}", value, kind)


def put_data(file, path, values, kind, **options):
    if path in file:
        del file[path]
    if kind == STRING:
        values = [value.encode() for value in values]
        kind = h5py.string_dtype("utf-8", max([1, *map(len, values)]))
    file.create_dataset(path, data=np.array(values, kind), dtype=kind, **options)


def h5(name, change, schema=3, base=profile):
    name = f"h5-{name}.h5"
    if MAKE not in name:
        return
    path = BAD / name
    with h5py.File(path, "w", libver=("v108", "v110")) as file:
        if base:
            base(file, schema)
        change(file)


def replaced(path, values, kind, **options):
    return lambda file: put_data(file, path, values, kind, **options)


def without(path):
    def change(file):
        del file[path]
    return change


def with_trace(change=lambda file: None):
    def both(file):
        trace(file)
        change(file)
    return both


def kernel_symbol(file):
    """That ends before it begins."""
    for name, value, kind in (("address", 4096, "u8"), ("end", 4095, "u8"), ("name", "f", STRING), ("module", "", STRING)):
        put_data(file, "sp_trace/kernel_symbols/" + name, [value], kind)


def loss(cause="call ring full", count=1, first=5, last=9):
    def change(file):
        trace(file)
        for name, value, kind in (("cause", cause, STRING), ("cpu", 0, "i8"), ("thread", 0, "i8"), ("count", count, "u8"),
                                  ("first_ns", first, "u8"), ("last_ns", last, "u8")):
            put_data(file, "sp_trace/losses/" + name, [value], kind)
    return change


def attribute(name, value, **options):
    def change(file):
        file.attrs.pop(name, None)
        file.attrs.create(name, value, **options)
    return change


def old(file, _):
    """Schema 1."""
    file.create_group("metadata")
    file["rank0/regions/solve/start_times"] = np.array([10, 20], "i8")
    file["rank0/regions/solve/end_times"] = np.array([15, 25], "i8")


def aggregate(file, _):
    file.attrs["scope_profiler_schema"] = 3
    file.attrs["storage_layout"] = "aggregate"
    put_data(file, "region_table/names", ["solve"], STRING)
    for name, value in (("region_ids", 0), ("ranks", 0), ("aggregate_counts", 3), ("aggregate_totals", 33), ("aggregate_minimums", 5),
                        ("aggregate_maximums", 15), ("aggregate_exclusives", 33)):
        put_data(file, f"rank_region_index/{name}", [value], "i8")


def many_calls(file):
    """On two ranks more calls than there can be."""
    del file["rank_region_index"]
    for name, values in (("region_ids", (0, 0)), ("ranks", (0, 1)), ("aggregate_counts", (2**63 - 1,) * 2), ("aggregate_totals", (33, 33)),
                         ("aggregate_minimums", (5, 5)), ("aggregate_maximums", (15, 15)), ("aggregate_exclusives", (33, 33))):
        put_data(file, f"rank_region_index/{name}", values, "i8")


def filtered(number):
    """A column whose chunk claims a filter that need not be there."""
    def change(file):
        del file["events/durations"]
        space = h5py.h5s.create_simple((4,))
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        made.set_chunk((4,))
        made.set_filter(number, h5py.h5z.FLAG_OPTIONAL)
        data = h5py.h5d.create(file.id, b"events/durations", h5py.h5t.STD_I64LE, space, made)
        data.write_direct_chunk((0,), np.array([5, 13, 15, 1], "<i8").tobytes(), 0)
    return change


def perf(file, values=True, names=("cycles", "instructions"), scalar=False):
    group = file.create_group("rank0/perf_events/solve")
    group.attrs["calls"] = 3
    if scalar:
        group.attrs["event_names"] = "cycles"
    else:
        group.attrs.create("event_names", list(names), dtype=STRING)
    if values:
        group["values"] = np.array([1, 2], "u8")


def lines(file, left_out=None, short=None):
    group = file.create_group("rank0/line_profile/0")
    group.attrs["region"] = "solve"
    for name, kind in (("line_numbers", "i8"), ("hits", "i8"), ("times", "f8")):
        if name != left_out:
            group[name] = np.arange(1 if name == short else 3).astype(kind)


def likwid(file, shape=(2, 1)):
    group = file.create_group("rank0/likwid/regions/solve")
    group.attrs["tag"] = "solve"
    group.attrs.create("event_names", ["A", "B"], dtype=STRING)
    group.attrs.create("metric_names", [], dtype=STRING)
    group["cpus"], group["times"], group["call_counts"] = np.zeros(1, "i8"), np.zeros(1), np.ones(1, "i8")
    group["events"], group["metrics"] = np.zeros(shape), np.zeros((0, 1))


def bad_h5():
    events, index = "events/", "rank_region_index/"
    put("h5-text.h5", b"\x89HDF\r\n\x1a\nThis is no HDF5 file, though it begins like one.\n")
    # One bit, on which libhdf5 1.10.8 crashes.
    crash = bytearray((BAD.parent / "hdf5-schema-3.h5").read_bytes())
    crash[7791 // 8] ^= 1 << 7791 % 8
    put("h5-crashes-libhdf5.h5", bytes(crash))
    h5("nothing", lambda file: None, base=None)
    h5("foreign", lambda file: file.create_dataset("data", data=np.zeros(3)), base=None)
    for schema in (0, 4, -1, 2**40):
        h5(f"schema-{schema}", attribute("scope_profiler_schema", schema))
    h5("schema-real", attribute("scope_profiler_schema", 3.0))
    h5("schema-text", attribute("scope_profiler_schema", "3"))
    h5("schema-list", attribute("scope_profiler_schema", [3]))
    h5("schema-bool", attribute("scope_profiler_schema", True))
    h5("schema-missing", lambda file: file.attrs.pop("scope_profiler_schema"))
    h5("layout-unknown", attribute("storage_layout", "rows"))
    h5("layout-number", attribute("storage_layout", 7))
    h5("trace-version-2", with_trace(lambda file: file["sp_trace"].attrs.modify("version", 2)))
    for name in ("region_ids", "ranks", "event_offsets", "event_counts", "source_lines", "source_files", "source_texts", "tags"):
        h5(f"missing-{name}", without(index + name))
    h5("missing-names", without("region_table/names"))
    h5("missing-durations", without(events + "durations"))
    h5("missing-times", without(events + "start_deltas"))
    h5("missing-end-times", without(events + "end_times"), schema=2)
    h5("missing-thread-index", without("thread_table/native_id"))
    h5("missing-aggregate", without(index + "aggregate_totals"), base=aggregate)
    h5("missing-old-ends", without("rank0/regions/solve/end_times"), base=old)
    h5("missing-sample-ip", with_trace(without("sp_trace/samples/ip")))
    h5("row-beyond-calls", replaced(index + "event_counts", [3, 2], "u8"))
    h5("row-offset-huge", replaced(index + "event_offsets", [0, 2**64 - 1], "u8"))
    h5("rows-share-calls", replaced(index + "event_offsets", [0, 2], "u8"))
    h5("row-count-negative", replaced(index + "event_counts", [3, -1], "i8"))
    h5("row-twice", replaced(index + "region_ids", [0, 0], "u4"))
    h5("region-beyond", replaced(index + "region_ids", [0, 2], "u4"))
    h5("region-negative", replaced(index + "region_ids", [0, -1], "i8"))
    h5("rank-negative", replaced(index + "ranks", [0, -1], "i8"))
    h5("rank-huge", replaced(index + "ranks", [0, 2**33], "i8"))
    h5("line-huge", replaced(index + "source_lines", [7, 2**63], "u8"))
    h5("index-short", replaced(index + "ranks", [0], "u4"))
    h5("index-2d", replaced(index + "ranks", [[0, 0]], "u4"))
    h5("index-scalar", replaced(index + "ranks", 0, "u4"))
    h5("index-real", replaced(index + "ranks", [0, 0], "f8"))
    h5("index-text", replaced(index + "ranks", ["0", "0"], STRING))
    h5("names-numbers", replaced("region_table/names", [1, 2], "i8"))
    h5("names-twice", lambda file: (put_data(file, "region_table/names", ["solve", "solve"], STRING)))
    h5("calls-short", replaced(events + "durations", [5, 13, 15], "i8"))
    h5("calls-real", replaced(events + "durations", [5, 13, 15, 1], "f8"))
    h5("calls-huge-number", replaced(events + "durations", [5, 13, 2**63 + 9, 1], "u8"))
    h5("column-short", replaced(events + "thread_ids", [0, 0, 0], "i8"))
    h5("column-group", lambda file: (without(events + "call_ids")(file), file.create_group(events + "call_ids")))
    h5("tags-no-json", replaced(index + "tags", ["x", ""], STRING))
    h5("tags-no-list", replaced(index + "tags", ['{"x": 1}', ""], STRING))
    h5("tags-numbers", replaced(index + "tags", ["[1]", ""], STRING))
    h5("metadata-short", replaced(index + "event_metadata", ["[{}, {}]", ""], STRING))
    h5("metadata-no-json", replaced(index + "event_metadata", ["[{}, {}, ", ""], STRING))
    h5("metadata-numbers", replaced(index + "event_metadata", ["[1, 2, 3]", ""], STRING))
    h5("stack-descends", with_trace(replaced("sp_trace/samples/stack_offsets", [0, 3, 2], "u8")))
    h5("stack-beyond-frames", with_trace(replaced("sp_trace/samples/stack_offsets", [0, 2, 4], "u8")))
    h5("stack-offsets-short", with_trace(replaced("sp_trace/samples/stack_offsets", [0, 3], "u8")))
    h5("kernel-frames", with_trace(replaced("sp_trace/samples/kernel_frames", [0, 9], "u4")))
    h5("kernel-symbol-end", with_trace(kernel_symbol))
    h5("kernel-symbol-short", with_trace(lambda file: (kernel_symbol(file), replaced("sp_trace/kernel_symbols/end", [5, 6], "u8")(file))))
    h5("loss-reversed", loss(first=10))
    h5("loss-of-nothing", loss(count=0))
    h5("loss-without-cause", loss(cause=""))
    h5("sample-column-short", with_trace(replaced("sp_trace/samples/ip", [1], "u8")))
    h5("link-external", lambda file: (without(events + "durations")(file), file.__setitem__(events + "durations", h5py.ExternalLink("/etc/passwd", "/x"))))
    h5("storage-external", storage_external)
    h5("storage-virtual", storage_virtual)
    h5("elements-huge", lambda file: huge(file, events + "durations", (2**40,), (2**20,)))
    h5("elements-overflow", lambda file: huge(file, events + "durations", (2**62,), (2**20,)))
    h5("names-huge", lambda file: huge(file, "region_table/names", (2**30,), (2**16,), STRING))
    h5("filter-zstd", filtered(32015))
    h5("filter-unknown", filtered(40000))
    h5("perf-no-values", lambda file: perf(file, values=False))
    h5("perf-scalar-names", lambda file: perf(file, scalar=True))
    h5("perf-fewer-names", lambda file: perf(file, names=("cycles",)))
    h5("lines-no-hits", lambda file: lines(file, left_out="hits"))
    h5("lines-short", lambda file: lines(file, short="times"))
    h5("likwid-shape", lambda file: likwid(file, (3, 1)))
    h5("likwid-flat", lambda file: likwid(file, (2,)))
    h5("aggregate-calls", many_calls, base=aggregate)
    h5("aggregate-short", replaced(index + "aggregate_totals", [], "i8"), base=aggregate)
    h5("old-lengths", replaced("rank0/regions/solve/end_times", [1], "i8"), base=old)
    bad_h5_bytes()


def storage_external(file):
    del file["events/durations"]
    file.create_dataset("events/durations", (4,), "i8", external=[("/etc/passwd", 0, 32)])


def storage_virtual(file):
    del file["events/durations"]
    layout = h5py.VirtualLayout((4,), "i8")
    layout[:] = h5py.VirtualSource("/tmp/no-such-file.h5", "x", (4,), "i8")
    file.create_virtual_dataset("events/durations", layout)


def huge(file, path, shape, chunks, kind="i8"):
    if path in file:
        del file[path]
    file.create_dataset(path, shape, kind, chunks=chunks, maxshape=(None,), fillvalue=None if kind == STRING else 1)


def bad_h5_bytes():
    """What no library writes."""
    path = BAD / "good.tmp"
    with h5py.File(path, "w", libver=("v108", "v110")) as file:
        profile(file)
    good = path.read_bytes()
    path.unlink()
    for part in (0, 1, 2):
        put(f"h5-cut-{part}.h5", good[:[40, len(good) // 2, len(good) - 1][part]])
    put("h5-superblock-version.h5", good[:8] + b"\x09" + good[9:])
    put("h5-superblock-checksum.h5", good[:20] + bytes([good[20] ^ 1]) + good[21:])
    put("h5-trailing-cut.h5", good[:-100])


# ---- JSON ----

def document(row=(), **change):
    region = {"name": "solve", "rank": 0, "start_times_ns": [10, 20, 40], "end_times_ns": [15, 33, 55], "source_lineno": 7, **dict(row)}
    return {"format": "scope-profiler-profile", "format_version": 1, "num_ranks": 1, "metadata": {}, "regions": [region], **change}


def bad_json():
    good = json.dumps(document()).encode()

    def put_json(name, value):
        put(f"json-{name}.json", value if isinstance(value, bytes) else json.dumps(value).encode())

    put_json("brace", b"{")
    put_json("no-json", b"{name: solve}")
    put_json("no-profile", {"a": 1})
    put_json("list", b" {} []")
    put_json("other-format", document(format="speedscope"))
    put_json("version-2", document(format_version=2))
    put_json("version-text", document(format_version="1"))
    put_json("regions-object", document(regions={}))
    put_json("region-number", document(regions=[1]))
    for name in ("name", "rank"):
        row = document()
        del row["regions"][0][name]
        put_json(f"no-{name}", row)
    put_json("ends-short", document({"end_times_ns": [15, 33]}))
    put_json("ends-missing", document({"end_times_ns": None}))
    put_json("column-long", document({"thread_ids": [0, 0, 0, 0]}))
    put_json("column-real", document({"thread_ids": [0, 0.5, 0]}))
    put_json("column-text", document({"start_times_ns": [10, "20", 40]}))
    put_json("column-huge", document({"start_times_ns": [10, 2**63, 40]}))
    put_json("rank-negative", document({"rank": -1}))
    put_json("rank-huge", document({"rank": 2**32}))
    put_json("rank-text", document({"rank": "0"}))
    put_json("name-number", document({"name": 1}))
    put_json("name-nul", document({"name": "a\0b"}))
    put_json("row-twice", document(regions=document()["regions"] * 2))
    put_json("tags-numbers", document({"tags": [1]}))
    put_json("metadata-short", document({"event_metadata": [{}]}))
    put_json("metadata-numbers", document({"event_metadata": [1, 2, 3]}))
    put_json("aggregate-and-calls", document(regions=[*document()["regions"], {"name": "io", "rank": 0, "aggregate": {
        "count": 1, "total": 1, "minimum": 1, "maximum": 1, "exclusive": 1}}]))
    put_json("cut", good[:-1])
    put_json("cut-half", good[:len(good) // 2])
    put_json("trailing", good + b"x")
    put_json("trailing-value", good + b"{}")
    put_json("utf8", good.replace(b"solve", b"s\xfflve"))
    put_json("escape", good.replace(b"solve", b"s\\xlve"))
    put_json("control", good.replace(b"solve", b"s\nlve"))
    put_json("number", good.replace(b"15", b"015"))
    put_json("minus", good.replace(b"15", b"-"))
    put_json("comma", good.replace(b"15,", b"15,,"))
    put_json("deep", good.replace(b'"metadata": {}', b'"metadata": ' + b'{"a":' * 100 + b"1" + b"}" * 100))
    packed = gzip.compress(good, mtime=0)
    put("gzip-cut.json.gz", packed[:-9])
    put("gzip-no-end.json.gz", packed[:-1])
    put("gzip-crc.json.gz", packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:])
    put("gzip-flipped.json.gz", packed[:30] + bytes([packed[30] ^ 0x55]) + packed[31:])
    put("gzip-trailing.json.gz", packed + b"garbage")
    put("gzip-header.json.gz", packed[:2])
    put("gzip-other.json.gz", gzip.compress(b"hello", mtime=0))


# ---- journals ----

def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def block(payload, kind=2, sequence=1, events=0, magic=0x4b4c4253, length=None, reserved=0):
    header = struct.pack("<IIHHIQI", magic, len(payload) if length is None else length, kind, 0xffff, events, sequence, reserved)
    return header + struct.pack("<I", crc32c(header + bytes(4) + payload)) + payload


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def spj_loss(first=5, last=9, count=1, cause=1):
    """A journal with one loss and its end."""
    schema = b"event 23 loss none\n" + b"".join(b"field u64 %s\n" % name for name in (b"first", b"last", b"count")) + b"field u32 cause\n" + \
        b"event 24 end text\nfield u64 time\n"
    loss = b"".join(varint(value) for value in (23, 0, 0, first * 2, last * 2, count * 2, cause * 2))
    end = b"".join(varint(value) for value in (24, 0, 0, 20, 0))
    return b"SPTRJNL1" + block(schema, kind=1, sequence=0) + block(loss + end, events=2)


def bad_spj():
    put("spj-loss-reversed.spj", spj_loss(first=10))
    put("spj-loss-of-nothing.spj", spj_loss(count=0))
    put("spj-loss-without-cause.spj", spj_loss(cause=0))
    demo = (BAD.parent / "demo.spj").read_bytes()
    first = 8 + 32 + struct.unpack_from("<I", demo, 12)[0]  # where the block after the schema begins
    start, schema, rest = demo[:8], demo[8:first], demo[first:]
    second = struct.unpack_from("<I", rest, 4)[0] + 32
    put("spj-magic.spj", b"SPTRJNXX" + demo[8:])
    put("spj-newer.spj", b"SPTRJNL2" + demo[8:])
    put("spj-cut-magic.spj", demo[:5])
    put("spj-magic-only.spj", start)
    put("spj-cut-schema-header.spj", demo[:30])
    put("spj-cut-schema.spj", demo[:first - 1])
    put("spj-schema-flipped.spj", demo[:100] + bytes([demo[100] ^ 1]) + demo[101:])
    put("spj-schema-missing.spj", start + rest)
    put("spj-schema-only.spj", start + schema)
    for name, text in (("empty", b""), ("no-text", b"\xff\xfe"), ("word", b"evnt 1 call none\n"), ("id-0", b"event 0 call none\n"),
                       ("id-64", b"event 64 call none\n"), ("tail", b"event 1 call long\n"), ("type", b"event 1 call none\nfield f64 start\n"),
                       ("field-first", b"field u64 start\n"), ("id-twice", b"event 1 call none\nevent 1 sample addrs\n"),
                       ("fields", b"event 1 call none\n" + b"".join(b"field u64 x%d\n" % i for i in range(17))), ("no-end", b"event 1 call none")):
        put(f"spj-schema-{name}.spj", start + block(text, kind=1, sequence=0))
    put("spj-cut-header.spj", demo[:first + 20])
    put("spj-cut-block.spj", demo[:first + second - 1])
    put("spj-block-magic.spj", start + schema + b"X" + rest[1:])
    put("spj-block-crc.spj", demo[:-1] + bytes([demo[-1] ^ 0x80]))
    put("spj-block-number.spj", start + schema + block(b"", sequence=2))
    put("spj-block-huge.spj", start + schema + block(b"", length=2**24 + 1))
    put("spj-block-length.spj", start + schema + block(b"", length=2**31))
    put("spj-events-missing.spj", start + schema + block(b"", events=3))
    put("spj-events-damaged.spj", start + schema + block(b"\xff" * 40, events=1))
    put("spj-events-left.spj", start + schema + block(b"\0" * 40, events=0))
    put("spj-no-end.spj", start + schema + rest[:second])
    put("spj-trailing.spj", demo + b"\0" * 16)


def main():
    BAD.mkdir(exist_ok=True)
    for make in (bad_spt, bad_sps, bad_h5, bad_json, bad_spj):
        make()


main()
