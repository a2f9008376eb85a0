#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the good files of this directory: one of each format, version, schema, layout and byte order.

usage: make_good.py PROFILE_WRITE MAKE_JOURNAL   (with scope-profiler: the Python of .venv/)

The files are checked in, and stay as they are: what reads them today must read them in ten years. This is
kept so that one can see what they are; a new file is made by a new line. hdf5-schema-*.h5, native-*.spt and
json-v1.json are scope-profiler's own compatibility set (calls 10-15, 20-33, 40-55 of "solve"). Beside each
file stands what sp-report dump says of it (golden_test.py --update).
"""
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "formats"))
sys.dont_write_bytecode = True

import h5py  # noqa: E402
import numpy as np  # noqa: E402
import model  # noqa: E402
import model_h5  # noqa: E402
import model_script  # noqa: E402
import model_write  # noqa: E402


def choose(**wanted):
    """The first seed whose profile is small and has all that is wanted."""
    with_stacks = wanted.pop("stacks", False)
    for seed in range(100000):
        profile = model.make(seed, regions=3, calls=8, wild=False, **wanted)
        parts = [all(one["lines"] for one in profile.line_profiles), profile.likwid, profile.perf_events, profile.line_profiles, profile.threads, profile.metadata,
                 any(row.event_metadata for row in profile.rows), any(row.tags for row in profile.rows)]
        if wanted.get("sp_trace"):
            parts += [profile.samples, profile.sites, profile.cuts, profile.modules, profile.losses, profile.clocks, profile.processes, profile.rank_facts]
        if with_stacks:
            parts += [profile.kernel_symbols, any(one["archived"] for one in profile.modules), any(one["kernel_frames"] for one in profile.samples)]
        if all(parts) and "long" not in profile.metadata and len(profile.samples) < 20:
            return profile
    raise SystemExit("no such seed")


def ours(profile, name, profile_write, **options):
    with tempfile.TemporaryDirectory() as work:
        script = pathlib.Path(work) / "script"
        model_script.script(profile, script, random.Random(1), **options)
        subprocess.run([profile_write, script, HERE / name], check=True)


def regular(n):
    """Many calls that pack well."""
    start = np.arange(n, dtype=np.int64) * 10
    row = model.Row("solve", 0, start, start + 5, {"id": np.arange(n), "parent": np.full(n, -1)}, self_ns=5 * n)
    return model.Profile(0, ("id", "parent"), regions=["solve"], rows=[row])


def small():
    """As small as profiles get, for the test that flips each bit: fixed strings, new file format."""
    def open_file(name):
        return h5py.File(HERE / name, "w", libver=("v108", "v110"))

    with open_file("small-schema-1.h5") as file:
        file.create_group("metadata").attrs["start_time_ns"] = 5
        group = file.create_group("rank0/regions/solve")
        group["start_times"], group["end_times"] = np.array([10, 20, 40]), np.array([15, 33, 55])
        group.attrs["source_lineno"] = 7
    for layout, name in (("columnar", "small-schema-3.h5"), ("columnar", "small-gzip.h5"), ("aggregate", "small-aggregate.h5")):
        with open_file(name) as file:
            file.attrs["scope_profiler_schema"] = 3
            columns = {"region_table/names": np.bytes_(["solve"]), "rank_region_index/region_ids": [0], "rank_region_index/ranks": [0]}
            if layout == "columnar":
                columns |= {"rank_region_index/event_offsets": [0], "rank_region_index/event_counts": [3], "rank_region_index/source_lines": [7],
                            "rank_region_index/source_files": np.bytes_(["a.c"]), "rank_region_index/source_texts": np.bytes_([" "]),
                            "rank_region_index/tags": np.bytes_(["[]"]), "events/start_deltas": [10, 10, 20], "events/durations": [5, 13, 15]}
            else:
                file.attrs["storage_layout"] = "aggregate"
                columns |= {f"rank_region_index/aggregate_{key}": [value] for key, value in (
                    ("counts", 3), ("totals", 33), ("minimums", 5), ("maximums", 15), ("exclusives", 33))}
            for path, values in columns.items():
                packed = {"chunks": (2,), "compression": "gzip", "shuffle": True, "maxshape": (None,)} \
                    if name == "small-gzip.h5" and path.startswith("events/") else {}
                file.create_dataset(path, data=np.array(values), **packed)


def main():
    profile_write, make_journal = sys.argv[1:]
    theirs = ("id", "parent", "thread", "task", "await_ns", "gpu_ns")
    full = choose(ranks=(0, 3), extras=True, event_metadata=True, sp_trace=True, columns=tuple(model.COLUMNS))
    their = choose(ranks=(0, 3), extras=True, event_metadata=True, sp_trace=False, columns=theirs)
    plain = model.make(5, ranks=(2,), regions=4, calls=10, wild=False, extras=False, sp_trace=False, columns=())
    empty = model.make(1, ranks=(), sp_trace=False)
    r = random.Random(3)
    small()
    # The columns of stacks that came later: those above have them not.
    stacks = choose(ranks=(0, 3), extras=True, event_metadata=True, sp_trace=True, stacks=True, columns=tuple(model.COLUMNS))
    ours(stacks, "ours-stacks.h5", profile_write)
    # We wrote these.
    ours(full, "ours-full.h5", profile_write)
    ours(regular(40000), "ours-gzip.h5", profile_write, gzip=9)  # chunks
    ours(full, "ours-schema-2.h5", profile_write, schema=2)
    ours(their, "ours-aggregate.h5", profile_write, aggregate=True)
    ours(empty, "ours-empty.h5", profile_write)
    # scope-profiler's writer did.
    model_write.theirs(their, HERE / "theirs-full.h5", repack=True)
    model_write.theirs(their, HERE / "theirs-gzip.h5", compression="gzip", repack=True)
    model_write.theirs(their, HERE / "theirs-lzf.h5", compression="lzf", repack=True)
    model_write.theirs(their, HERE / "theirs-aggregate.h5", aggregate=True, repack=True)
    model_write.json_file(their, HERE / "profile.json", r)
    model_write.json_file(their, HERE / "profile.json.gz", r)
    # h5py did: fixed-length strings, big-endian numbers, rows out of order, whatever the seed says.
    for schema in (1, 2, 3):
        path, sizes = HERE / f"h5py-schema-{schema}.h5", {}
        make = lambda seed: model_h5.raw(full if schema > 1 else their, path, random.Random(seed), schema)
        for seed in range(20):
            make(seed)
            sizes[seed] = path.stat().st_size
        make(min(sizes, key=sizes.get))
    for order, word in (("<", "little"), (">", "big")):
        for version in (1, 2):
            model_write.spt(plain, 2, HERE / f"{word}-v{version}.spt", version, order)
        model_write.sps(plain, 2, HERE / f"{word}.sps", order, random.Random(8))
    model_write.spt(plain, 2, HERE / "pooled.spt", 2, "<", split=True)
    for kind in ("demo", "died", "cuts", "hostile", "empty", "stacks"):
        subprocess.run([make_journal, HERE / f"{kind}.spj", kind], check=True)
    for path in HERE.iterdir():
        if path.is_file():
            path.chmod(0o755 if path.suffix == ".py" else 0o644)


main()
