#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""HDF5 profiles whose storage is special, and those that have to be refused, each with its code and words.

usage: h5_refuse.py PROFILE_DUMP DIRECTORY_OF_H5_PLUGIN WORKDIR
"""
import zlib

import h5_lib
from h5_lib import CALLS, calls, columnar, replace

if h5_lib.INSIDE:
    import h5py
    import numpy as np

ZSTD = 32015


# ---- storage ----

def missing_filter(file, name, values, used):
    """A chunked data set with a filter that h5py does not have, which its chunk went through or around."""
    del file[name]
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((len(values),))
    properties.set_filter(ZSTD, h5py.h5z.FLAG_OPTIONAL, (3,))
    group, link = name.rsplit("/", 1)
    made = h5py.h5d.create(file[group].id, link.encode(), h5py.h5t.STD_I64LE, h5py.h5s.create_simple((len(values),)),
                           properties)
    data = np.array(values, dtype="<i8").tobytes()
    made.write_direct_chunk((0,), bytes(255 - byte for byte in data) if used else data, filter_mask=0 if used else 1)


def filters(test):
    path = test.path("filters")
    many = 30000
    rng = np.random.default_rng(1)
    starts, durations = rng.integers(1, 99, many), rng.integers(0, 9, many)
    expected = list(zip(np.cumsum(starts).tolist(), (np.cumsum(starts) + durations).tolist()))
    for name, options in {
        "gzip": {"compression": "gzip", "chunks": (4096,)}, "shuffle": {"compression": "gzip", "shuffle": True},
        "fletcher32": {"fletcher32": True}, "scaleoffset": {"scaleoffset": 0}, "large_chunk": {"chunks": (29000,)},
        "large_gzip": {"chunks": (1 << 21,), "compression": "gzip", "maxshape": (None,)},
        "tiny_chunks": {"chunks": (512,)}, "lzf": {"compression": "lzf"},
        "lzf_shuffle": {"compression": "lzf", "shuffle": True},
        "lzf_large": {"compression": "lzf", "shuffle": True, "chunks": (1 << 18,), "maxshape": (None,)},
    }.items():
        columnar(path, names=("a",), ids=(0,), ranks=(0,), offsets=(0,), counts=(many,), starts=starts,
                 second=durations, storage=options).close()
        dump = test.read(path)
        test.equal(calls(dump)["a"] if dump else None, expected, f"calls with {name}")
    # lzf of all kinds of data: random, runs, periods longer than a byte.
    for data in (rng.integers(-2**62, 2**62, 4000), np.zeros(4000, dtype="i8"), np.arange(4000) % 1000,
                 np.repeat(rng.integers(0, 99, 40), 100), np.arange(1)):
        columnar(path, names=("a",), ids=(0,), ranks=(0,), offsets=(0,), counts=(len(data),), starts=data,
                 second=data, schema=2, storage={"compression": "lzf"}).close()
        test.equal(calls(test.read(path))["a"], [(one, one) for one in data.tolist()], "data through lzf")
    # Damaged lzf: each byte of the chunk in turn.
    columnar(path, names=("a",), ids=(0,), ranks=(0,), offsets=(0,), counts=(300,), starts=np.arange(300) % 50,
             second=np.arange(300), schema=2, storage={"compression": "lzf"}).close()
    with h5py.File(path) as file:
        place, size = (lambda info: (info.byte_offset, info.size))(file["events/start_times"].id.get_chunk_info(0))
    whole = path.read_bytes()
    for at in range(place, place + size, 17):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xe5]) + whole[at + 1:])
        done = test.run(path)
        test.check(done.returncode == 0 or "Sanitizer" not in done.stderr, f"lzf damaged at {at}: {done.stderr[:2000]}")
    # A filter that is missing, but all data went around it; and one that is needed, and where to find it.
    with columnar(path) as file:
        missing_filter(file, "events/durations", [10, 20, 30], used=False)
    test.equal(calls(test.read(path, HDF5_PLUGIN_PATH="/nonexistent")), CALLS, "an optional filter that was not used")
    with columnar(path) as file:
        missing_filter(file, "events/durations", [10, 20, 30], used=True)
    words = "/events/durations is compressed with zstd (filter 32015), which the HDF5 library here does not have; let " \
        "HDF5_PLUGIN_PATH name"
    test.refuse(path, "EOPNOTSUPP", words, HDF5_PLUGIN_PATH="/nonexistent")
    test.equal(calls(test.read(path, HDF5_PLUGIN_PATH=test.plugins)), CALLS, "a filter from a plugin")
    raw = bytearray(path.read_bytes())  # the same filter, not optional: it is missed when the file is opened
    at = raw.find(ZSTD.to_bytes(2, "little") + b"\0\0\1\0\1\0")
    test.check(at > 0, "the filter is found in the file")
    raw[at + 4] = 0
    path.write_bytes(raw)
    test.refuse(path, "EOPNOTSUPP", words, HDF5_PLUGIN_PATH="/nonexistent")
    test.equal(calls(test.read(path, HDF5_PLUGIN_PATH=test.plugins)), CALLS, "a filter that is needed, from a plugin")
    try:
        import hdf5plugin
    except ImportError:
        return
    columnar(path, names=("a",), ids=(0,), ranks=(0,), offsets=(0,), counts=(many,), starts=starts, second=durations,
             storage=dict(hdf5plugin.Zstd(), shuffle=True)).close()
    test.equal(calls(test.read(path, HDF5_PLUGIN_PATH=hdf5plugin.PLUGIN_PATH))["a"], expected, "calls with zstd")


def sizes(test):
    path = test.path("sizes")
    # Sizes beyond belief.
    def hidden(length, **options):
        file = columnar(path)
        del file["events/start_deltas"], file["events/durations"]
        for name in ("start_deltas", "durations"):
            file.create_dataset(f"events/{name}", shape=(length,), dtype="i8", **options)
        replace(file, "rank_region_index/event_counts", np.array([2, length - 2], dtype="u8"))
        file.close()
    for length, options in ((2**60 // 8, {}), (2**40, {"chunks": (1 << 16,), "fillvalue": 7}),
                            (2**40, {"chunks": (1 << 16,), "compression": "gzip"})):
        hidden(length, **options)
        test.refuse(path, "EOVERFLOW", f"claims {length} elements of 8 bytes, for which the file stores 0 bytes")
    file = columnar(path)
    del file["events/durations"]
    made = file.create_dataset("events/durations", shape=(3,), dtype="i8", chunks=(1 << 28,), maxshape=(None,),
                               compression="gzip")
    made.id.write_direct_chunk((0,), zlib.compress(bytes(24)))
    file.close()
    test.refuse(path, "EOVERFLOW", "claims chunks of 2147483648 bytes, and the file stores")
    columnar(path, names=("a" * 2000000, "b")).close()
    test.equal(len(test.read(path)["regions"][0]), 2000000, "a long name")
    # One long text that many rows share costs its bytes once.
    file = columnar(path, ids=range(40), names=[str(i) for i in range(40)], ranks=[0] * 40, offsets=[0] * 40,
                    counts=[0] * 40)
    replace(file, "rank_region_index/source_texts", np.array(["x" * 1000000] * 40, dtype="S1000000"),
            chunks=(16,), compression="gzip")
    file.close()
    test.equal(len(test.read(path)["rows"]), 40, "a long text of many rows")


# ---- refusals ----

def refusals(test):
    path = test.path("bad")

    def bad(change, code, words, **options):
        file = columnar(path, **options)
        change(file)
        file.close()
        test.refuse(path, code, words)

    def schema(value):
        def set_it(file):
            file.attrs["scope_profiler_schema"] = value
        return set_it

    for value in (3.0, "3", True, [3]):
        bad(schema(value), "EBADMSG", "scope_profiler_schema is not an integer")
    for value in (0, -1, 4, 2**40, np.uint64(2**64 - 1)):
        bad(schema(value), "EPROTONOSUPPORT", "schemas 1 to 3 are known")
    bad(lambda file: file.attrs.pop("scope_profiler_schema"), "ENOMSG", "has no attribute scope_profiler_schema")
    bad(lambda file: file.attrs.__setitem__("storage_layout", "rows"), "EPROTONOSUPPORT", 'unknown layout "rows"')
    bad(lambda file: file.attrs.__setitem__("storage_layout", 3), "EBADMSG", "storage_layout is not a text")
    required = ["region_table/names", "events/start_deltas", "events/durations"] + \
        ["rank_region_index/" + name for name in ("region_ids", "ranks", "event_offsets", "event_counts", "source_lines",
                                                  "source_files", "source_texts", "tags")]
    for name in required:
        missing = "start_times" if name == "events/start_deltas" else name
        bad(lambda file: file.__delitem__(name), "ENOMSG", f"has no data set /{missing}" if missing == name else missing)
        bad(lambda file: replace(file, name, 5 if "names" not in name else "x"), "EBADMSG", "is not one-dimensional")
        bad(lambda file: replace(file, name, [[1, 2]]), "EBADMSG", "is not one-dimensional")
        bad(lambda file: replace(file, name, [1.5, 2.5]), "EBADMSG", "does not hold")
        bad(lambda file: (file.__delitem__(name), file.create_group(name)), "EBADMSG", "is not a data set")
        if name.startswith("rank_region_index") and "region_ids" not in name:
            texts = name.split("/")[1] in ("source_files", "source_texts", "tags")
            bad(lambda file: replace(file, name, ["[]"] if texts else [1]), "EBADMSG", "has 1 elements instead of 2")
    bad(lambda file: replace(file, "events/durations", [1, 2]), "EBADMSG", "durations has 2 elements instead of 3")
    for name in ("gpu_durations", "call_ids", "parent_ids", "thread_ids", "task_ids", "await_ns"):
        bad(lambda file: file["events"].create_dataset(name, data=[1, 2]), "EBADMSG", f"{name} has 2 elements instead of 3")
    bad(lambda file: file.create_dataset("rank_region_index/exclusive_totals", data=[1]), "EBADMSG", "has 1 elements instead of 2")
    bad(lambda file: None, "EBADMSG", "names region 2, and there are 2", ids=(0, 2))
    bad(lambda file: None, "EOVERFLOW", "negative or too large", ids=(0, -1), index_type="i8")
    bad(lambda file: None, "EOVERFLOW", "negative or too large", ranks=(0, 2**32), index_type="i8")
    bad(lambda file: None, "EOVERFLOW", "rank 4294967295, which none can have", ranks=(0, 2**32 - 1), index_type="i8")
    bad(lambda file: None, "EOVERFLOW", "negative or too large", counts=(2, -1), index_type="i8")
    bad(lambda file: None, "ENODATA", "truncated or damaged", counts=(2, 2))
    bad(lambda file: None, "ENODATA", "truncated or damaged", offsets=(0, 2**64 - 1))
    bad(lambda file: None, "ENODATA", "truncated or damaged", counts=(2, 2**64 - 1))
    bad(lambda file: None, "EBADMSG", "share call 1", offsets=(0, 1))
    bad(lambda file: None, "EBADMSG", 'two rows for region "a" on rank 0', ids=(0, 0))
    bad(lambda file: replace(file, "events/durations", np.array([1, 2, 2**64 - 1], dtype="u8")), "EOVERFLOW",
        "/events/durations has a number that is negative or too large")
    for tags in ("{}", "[1]", '["a", 1]', "[", '["a"]]', "x", '"x"', "null"):
        bad(lambda file: replace(file, "rank_region_index/tags", ["[]", tags], dtype=h5py.string_dtype()), "EBADMSG",
            'region "b" on rank 0 has tags that are no JSON list of strings')
    stats = "rank_region_index/summary_statistics"
    bad(lambda file: file.create_dataset(stats, data=[1, 2]), "EBADMSG", "does not hold records")
    bad(lambda file: file.create_dataset(stats, data=np.zeros(2, dtype=[("total", "i8")])), "EBADMSG",
        'has no usable field "minimum"')
    for name, link in (("soft", lambda: h5py.SoftLink("/events/durations2")),
                       ("external", lambda: h5py.ExternalLink("other.h5", "/x"))):
        def relink(file):
            file.move("events/durations", "events/durations2")
            file["events/durations"] = link()
        bad(relink, "EBADMSG", "soft or external link, which is not followed")

    def virtual(file):
        layout = h5py.VirtualLayout(shape=(3,), dtype="i8")
        layout[:] = h5py.VirtualSource("other.h5", "x", shape=(3,))
        del file["events/durations"]
        file.create_virtual_dataset("events/durations", layout)
    bad(virtual, "EBADMSG", "has its data in another file")

    def outside(file):
        del file["events/durations"]
        file.create_dataset("events/durations", shape=(3,), dtype="i8", external=[("raw.bin", 0, 24)])
    bad(outside, "EBADMSG", "has its data in another file")

    def thread_table(**columns):
        def make(file):
            for name in ("ranks", "index", "ident", "native_id", "daemon", "start_ns", "end_ns", "cpu_ns"):
                file.create_dataset(f"thread_table/{name}", data=columns.get(name, [0]))
            file.create_dataset("thread_table/name", data=["x"], dtype=h5py.string_dtype())
            if "without" in columns:
                del file[f"thread_table/{columns['without']}"]
        return make
    bad(thread_table(without="cpu_ns"), "ENOMSG", "has no data set /thread_table/cpu_ns")
    bad(thread_table(cpu_ns=[1, 2]), "EBADMSG", "cpu_ns has 2 elements instead of 1")
    bad(thread_table(ranks=[-1]), "EOVERFLOW", "/thread_table/ranks has a number that is negative or too large")


h5_lib.run(filters, sizes, refusals)
