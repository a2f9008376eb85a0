# SPDX-License-Identifier: BSD-2-Clause
"""Writes a model's profile in every format without any code of ours: by scope-profiler's writers, by h5py,
by struct. Each function returns the profile that the file holds, which is the given one without what the
format, or scope-profiler's writer, has no place for.
"""
import copy
import gzip
import json
import math
import struct

import numpy as np

import model

TABLES = {
    "threads": ("thread_table", {"ranks": "rank", "index": "index", "ident": "ident", "native_id": "native_id", "daemon": "daemon",
                                 "start_ns": "start_ns", "end_ns": "end_ns", "cpu_ns": "cpu_ns", "name": "name"}),
    "tasks": ("task_table", {"ranks": "rank", "index": "index", "kind": "kind", "name": "name", "coro_name": "coro_name",
                             "thread_index": "thread_index", "created_ns": "created_ns", "done_ns": "done_ns", "steps": "steps",
                             "running_ns": "running_ns", "suspended_ns": "suspended_ns"}),
}
# Tables of /sp_trace: their columns are called as in the model.
UNSIGNED = {"bias", "start", "end", "file_offset", "count", "first_ns", "last_ns", "time_ns", "ip"}
NARROW = {"rank", "process", "region"}
RELATIVE = {"start_ns", "end_ns", "created_ns", "done_ns"}


def without(profile, *parts):
    """A copy in which these parts are empty."""
    out = copy.copy(profile)
    for part in parts:
        setattr(out, part, None if part == "meta" else type(getattr(profile, part))())
    return out


def without_trace(profile):
    out = without(profile, "meta", "sites", "modules", "processes", "losses", "cuts", "clocks", "rank_facts", "samples")
    out.columns = tuple(name for name in profile.columns if name in model.THEIR_COLUMNS)
    return out


def forget_self_times(out, profile):
    """After rows or lanes of @profile were left out: who encloses whom is another question then."""
    if len(out.rows) == len(profile.rows) and not {"thread", "task"} & set(profile.columns):
        return
    out.nested = False
    for row in out.rows:
        row.self_ns = -1


def statistics(row, columns=tuple(model.COLUMNS)):
    """As every format defines them, of a file with these columns; self time as the model has it."""
    n, durations = len(row), row.end - row.start
    if not n:
        return dict.fromkeys(("n", "total", "self", "minimum", "maximum", "first", "last", "start_minimum", "end_maximum", "gpu_calls",
                              "gpu_total"), 0) | {"mean": 0.0, "m2": 0.0}
    gpu = row.columns["gpu_ns"] if "gpu_ns" in row.columns and "gpu_ns" in columns else np.zeros(0, np.int64)
    real = durations.astype(np.float64)
    return {"n": n, "total": int(durations.sum()), "self": row.self_ns, "minimum": int(durations.min()), "maximum": int(durations.max()),
            "first": int(durations[0]), "last": int(durations[-1]), "start_minimum": int(row.start.min()),
            "end_maximum": int(row.end.max()), "gpu_calls": int((gpu >= 0).sum()), "gpu_total": int(gpu[gpu >= 0].sum()),
            "mean": float(real.mean()), "m2": float(((real - real.mean()) ** 2).sum())}


# ---- scope-profiler's own writer ----

def their_names(names):
    """Those that scope-profiler's writer can make groups of."""
    return [name for name in names if name and "/" not in name and name != "."]


def theirs(profile, path, aggregate=False, **options):
    from scope_profiler.h5writer import ProfilingWriter
    from scope_profiler.likwid_data import LikwidRegionResult
    from scope_profiler.perf_events import PerfEventTotals
    from scope_profiler.profile_manager import RankPayload

    out = without_trace(profile)
    out.perf_events = [one for one in profile.perf_events if their_names([one["region"]])]
    out.likwid = [one for one in profile.likwid if one["tag"] not in ("", ".", "a|b")]
    # Neither do they store a function's text that is empty.
    out.line_profiles = [one if one["source"] else one | {"source": None, "source_first_line": 0} for one in profile.line_profiles]
    likwid_ranks = {one["rank"] for one in out.likwid}
    out.likwid_environments = [one for one in profile.likwid_environments if one["rank"] in likwid_ranks]
    row_ranks = set(profile.ranks())
    for table in ("threads", "tasks"):
        setattr(out, table, [one for one in getattr(profile, table) if one["rank"] in row_ranks and not aggregate])
    if not out.rows and aggregate:
        aggregate = False
    if aggregate:
        out.columns = ()
        out.rows = [copy.copy(row) for row in out.rows]
        for row in out.rows:
            row.source_file, row.source_line, row.source_text, row.tags, row.event_metadata = "", -1, "", (), None
    payloads = {}
    for rank in sorted(row_ranks | {one["rank"] for part in (out.perf_events, out.line_profiles, out.likwid) for one in part}):
        rows = [row for row in out.rows if row.rank == rank]
        lanes = {name: {key: [relative(out, key, one[key]) for one in table if one["rank"] == rank] for key in columns.values() if key != "rank"}
                 for name, columns, table in (("threads", TABLES["threads"][1], out.threads), ("tasks", TABLES["tasks"][1], out.tasks))}
        order = ("gpu_ns", "id", "parent", "thread", "task", "await_ns")
        payloads[rank] = RankPayload(
            regions={row.name: (row.start, row.end, *(row.columns.get(name) if name in out.columns else None for name in order))
                     for row in rows} if not aggregate else {},
            likwid={one["tag"]: LikwidRegionResult(
                tag=one["tag"], group_id=one["group_id"], group_name=one["group_name"], cpus=one["cpus"], times=np.array(one["times"], float),
                call_counts=np.array(one["call_counts"], np.int64), event_names=one["event_names"], counter_names=one["counter_names"],
                events=matrix(one, "events"), metric_names=one["metric_names"], metrics=matrix(one, "metrics"), source=one["source"])
                for one in out.likwid if one["rank"] == rank},
            likwid_environment=next((one["facts"] for one in out.likwid_environments if one["rank"] == rank), {}),
            perf_events={one["region"]: PerfEventTotals(one["calls"], dict(zip(one["names"], one["values"])))
                         for one in out.perf_events if one["rank"] == rank},
            sources={row.name: (row.source_file, row.source_line, row.source_text) for row in rows},
            tags={row.name: row.tags for row in rows},
            event_metadata={row.name: row.event_metadata for row in rows if row.event_metadata},
            line_profile=[line_record(one) for one in out.line_profiles if one["rank"] == rank],
            exclusive_totals={row.name: row.self_ns for row in rows} if profile.seed % 2 else None,
            aggregate_stats={row.name: {**their_aggregate(row)} for row in rows} if aggregate and rows else None,
            lanes=lanes)
    with ProfilingWriter(path, out.metadata, **options) as writer:
        for rank, payload in payloads.items():
            writer.write_rank(rank, payload)
    return out


def relative(profile, key, value):
    if key not in RELATIVE or (value == -1 and key in ("end_ns", "done_ns")):
        return value
    return value - (profile.start_time_ns or 0)


def matrix(one, name):
    return np.array(one[name], float).reshape(len(one[name[:-1] + "_names"]), len(one["cpus"]))


def line_record(one):
    record = {"region": one["region"], "filename": one["filename"], "function": one["function"], "first_lineno": one["first_line"],
              "unit": one["unit"], "line_numbers": np.array(one["lines"], np.int64), "hits": np.array(one["hits"], np.int64),
              "times": np.array(one["times"], float)}
    if one["source"] is not None:
        record |= {"source": one["source"], "source_first_lineno": one["source_first_line"]}
    return record


def their_aggregate(row):
    s = statistics(row)
    return {"count": s["n"], "total": s["total"], "minimum": s["minimum"], "maximum": s["maximum"],
            "exclusive": s["self"] if s["self"] >= 0 else s["total"]}


# ---- HDF5 by h5py: every schema and every odd but legal choice ----

SUMMARY = ("total", "minimum", "maximum", "first", "last", "start_minimum", "end_maximum", "gpu_count", "gpu_total", "mean", "m2")


class Raw:
    """One file by h5py, its storage drawn by @r."""

    def __init__(self, profile, file, r):
        self.p, self.f, self.r = profile, file, r
        # Groups of a name with a slash are nested, which their reader does not take.
        self.their_limits = any("/" in one["region"] for one in profile.perf_events)
        self.fixed_strings = r.random() < 0.3
        self.swap = ">" if r.random() < 0.2 else "<"
        self.filters = r.choice([{}, {}, {"chunks": (7,)}, {"chunks": (64,), "compression": "gzip", "shuffle": True},
                                 {"chunks": (1000,), "compression": "gzip", "compression_opts": 9, "fletcher32": True}])

    def strings(self, path, values):
        import h5py
        if self.fixed_strings:
            data = [value.encode() for value in values]
            kind = h5py.string_dtype("utf-8", max([1, *map(len, data)]))
            self.f.create_dataset(path, data=np.array(data, kind), dtype=kind)
        else:
            self.f.create_dataset(path, (len(values),), h5py.string_dtype(), np.array(values, object))

    def numbers(self, path, values, kind):
        kind = np.dtype(kind).newbyteorder(self.swap)
        data = np.array([int(value) for value in values], kind) if not isinstance(values, np.ndarray) else values.astype(kind)
        filters = dict(self.filters) if len(data) else {}
        if filters:
            filters["chunks"] = (min(len(data), filters["chunks"][0]),)
        self.f.create_dataset(path, data=data, **filters)

    def attribute(self, attrs, key, value):
        import h5py
        if isinstance(value, list):
            attrs.create(key, value, dtype=h5py.string_dtype())
        elif isinstance(value, str) and self.fixed_strings and "\0" not in value and value:
            attrs.create(key, value.encode(), dtype=h5py.string_dtype("utf-8", len(value.encode())))
        else:
            attrs[key] = value

    def metadata(self):
        if not self.p.metadata and self.r.random() < 0.5:
            return
        group = self.f.create_group("metadata")
        for key, value in self.p.metadata.items():
            self.attribute(group.attrs, key, value)

    def columnar(self, schema):
        import h5py
        p, r = self.p, self.r
        deltas = schema == 3 if r.random() < 0.8 else r.random() < 0.5  # the presence decides, not the number
        self.f.attrs["scope_profiler_schema"] = r.choice([np.int64, np.int8, np.uint16])(schema)
        if r.random() < 0.7:
            self.attribute(self.f.attrs, "storage_layout", "columnar")
        self.strings("region_table/names", p.regions)
        # Calls stand in another order than rows, with gaps.
        order, gaps = list(range(len(p.rows))), r.random() < 0.4
        if r.random() < 0.4:
            r.shuffle(order)
        offsets, pieces, at = [0] * len(p.rows), [], 0
        for i in order:
            if gaps and r.random() < 0.5:
                pieces.append(None)
                at += 3
            offsets[i] = at
            pieces.append(p.rows[i])
            at += len(p.rows[i])

        # Their check for rows that share calls takes an empty row for one that does, if it begins where an
        # earlier row does.
        begins = {}
        for offset, row in zip(offsets, p.rows):
            self.their_limits |= not len(row) and begins.get(offset, 0) > 0
            begins[offset] = max(begins.get(offset, 0), len(row))

        def joined(values):
            return np.concatenate([np.full(3, 12345, np.int64) if row is None else values(row) for row in pieces] or [np.zeros(0, np.int64)])

        index = "rank_region_index/"
        self.numbers(index + "region_ids", [p.regions.index(row.name) for row in p.rows], r.choice([np.uint32, np.int64]))
        self.numbers(index + "ranks", [row.rank for row in p.rows], r.choice([np.uint32, np.int64]))
        self.numbers(index + "event_offsets", offsets, r.choice([np.uint64, np.int64]))
        self.numbers(index + "event_counts", [len(row) for row in p.rows], r.choice([np.uint64, np.int32]))
        self.numbers(index + "source_lines", [row.source_line for row in p.rows], np.int64)
        self.strings(index + "source_files", [row.source_file for row in p.rows])
        self.strings(index + "source_texts", [row.source_text for row in p.rows])
        self.strings(index + "tags", [model.tags_text(row) if row.tags or r.random() < 0.5 else "" for row in p.rows])
        if r.random() < 0.5:
            self.numbers(index + "exclusive_totals", [row.self_ns for row in p.rows], np.int64)
        if any(row.event_metadata for row in p.rows) or r.random() < 0.3:
            self.strings(index + "event_metadata", [model.metadata_text(row) or r.choice(["", "[]"]) for row in p.rows])
        if r.random() < 0.6:
            self.summary(index + "summary_statistics")
        if deltas:
            self.numbers("events/start_deltas", joined(lambda row: np.diff(row.start, prepend=0)), np.int64)
            self.numbers("events/durations", joined(lambda row: row.end - row.start), np.int64)
        else:
            self.numbers("events/start_times", joined(lambda row: row.start), np.int64)
            self.numbers("events/end_times", joined(lambda row: row.end), np.int64)
        paths = {"id": "call_ids", "parent": "parent_ids", "thread": "thread_ids", "task": "task_ids", "await_ns": "await_ns",
                 "gpu_ns": "gpu_durations"}
        for name in p.columns:
            kind = {"flags": np.uint16, "depth": np.uint16, "skipped": np.uint32, "site": np.uint32}.get(name, np.int64)
            if name == "thread":
                kind = r.choice([np.int32, np.int64])
            self.numbers(f"events/{paths[name]}" if name in paths else f"sp_trace/calls/{name}", joined(lambda row: row.columns[name]), kind)
        self.f.require_group("events")
        for name in ("threads", "tasks"):
            group, columns = TABLES[name]
            self.table(group, columns, getattr(p, name))

    def summary(self, path):
        fields = list(SUMMARY)
        self.r.shuffle(fields)  # goes by name
        kinds = {"gpu_count": "u8", "mean": "f8", "m2": "f8"}
        rows = [statistics(row) for row in self.p.rows]
        data = np.zeros(len(rows), [(name, kinds.get(name, "i8")) for name in fields])
        for name in fields:
            data[name] = [row["gpu_calls" if name == "gpu_count" else name] for row in rows]
        self.f.create_dataset(path, data=data)

    def table(self, group, columns, rows):
        if not rows:
            return
        for name, field in columns.items():
            values = [relative(self.p, field, row[field]) if group in ("thread_table", "task_table") else row[field] for row in rows]
            if isinstance(values[0], str):
                self.strings(f"{group}/{name}", values)
            else:
                kind = np.uint64 if field in UNSIGNED and group.startswith("sp_trace") else np.int64
                self.numbers(f"{group}/{name}", values, kind)

    def trace(self):
        p = self.p
        if p.meta is None:
            return
        self.f.require_group("sp_trace").attrs["version"] = 1
        meta = self.f.create_group("sp_trace/meta")
        for key, value in p.meta.items():
            self.attribute(meta.attrs, key, value)
        for name, group in (("sites", "sites"), ("modules", "modules"), ("processes", "processes"), ("losses", "losses"),
                            ("cuts", "cut_calls"), ("clocks", "clocks"), ("rank_facts", "rank_facts")):
            rows = getattr(p, name)
            self.table(f"sp_trace/{group}", {field: field for field in rows[0]} if rows else {}, rows)
        if p.samples:
            self.table("sp_trace/samples", {field: field for field in p.samples[0] if field != "frames"}, p.samples)
            self.numbers("sp_trace/samples/stack_offsets", np.cumsum([0, *(len(s["frames"]) for s in p.samples)]), np.uint64)
            self.numbers("sp_trace/samples/stack_frames", [frame for s in p.samples for frame in s["frames"]], np.uint64)

    def extras(self):
        import h5py
        p = self.p
        for one in p.perf_events:
            group = self.f.create_group(f"rank{one['rank']}/perf_events/{one['region']}")
            group.attrs["calls"] = one["calls"]
            self.attribute(group.attrs, "event_names", one["names"])
            group["values"] = np.array(one["values"], np.uint64)
        numbers = {}
        for one in p.line_profiles:
            i = numbers[one["rank"]] = numbers.get(one["rank"], -1) + 1
            group = self.f.create_group(f"rank{one['rank']}/line_profile/{i:03}")
            for key, value in line_record(one).items():
                if isinstance(value, np.ndarray):
                    group[key] = value
                else:
                    self.attribute(group.attrs, key, value)
        for one in p.likwid_environments:
            group = self.f.require_group(f"rank{one['rank']}/likwid")
            for key, value in one["facts"].items():
                self.attribute(group.attrs, key, value)
        for one in p.likwid:
            self.f.require_group(f"rank{one['rank']}/likwid").attrs["num_regions"] = 1
            group = self.f.create_group(f"rank{one['rank']}/likwid/regions/{one['tag'].replace('/', '|')}")
            for key in ("tag", "group_id", "group_name", "source"):
                self.attribute(group.attrs, key, one[key])
            for key in ("event_names", "counter_names", "metric_names"):
                group.attrs.create(key, one[key], dtype=h5py.string_dtype())
            for key in ("cpus", "times", "call_counts"):
                group[key] = np.array(one[key], np.float64 if key == "times" else np.int64)
            for key in ("events", "metrics"):
                group[key] = matrix(one, key)

    def schema_1(self):
        p = self.p
        self.their_limits |= any("/" in row.name for row in p.rows)
        for row in p.rows:
            group = self.f.require_group(f"rank{row.rank}/regions/{row.name}")
            group["start_times"], group["end_times"] = row.start, row.end
            for name, path in (("gpu_ns", "gpu_durations"), ("id", "call_ids"), ("parent", "parent_ids")):
                if name in p.columns:
                    group[path] = row.columns[name]
            if row.source_file:
                self.attribute(group.attrs, "source_file", row.source_file)
                group.attrs["source_lineno"] = row.source_line
                self.attribute(group.attrs, "source_text", row.source_text)
            if row.tags:
                self.attribute(group.attrs, "tags", list(row.tags))


def raw(profile, path, r, schema):
    """By h5py. Schema 1 has neither threads nor tasks, and only names that can be paths. Also says whether
    scope-profiler cannot read what is legal in the file."""
    import h5py

    out = copy.copy(profile)
    # Groups of foreign writers are called as their regions: only what a group can be called.
    usable = lambda name: name and all(part not in ("", ".") for part in name.split("/"))
    out.perf_events = [one for one in profile.perf_events if usable(one["region"])]
    out.likwid = [one for one in profile.likwid if one["tag"] not in ("", ".", "a|b")]
    if schema == 1:
        out = without_trace(without(out, "threads", "tasks"))
        out.columns = tuple(name for name in out.columns if name in ("gpu_ns", "id", "parent"))
        out.rows = [copy.copy(row) for row in out.rows if usable(row.name)]
        out.regions = sorted({row.name for row in out.rows})
        for row in out.rows:
            row.event_metadata = None
            if not row.source_file:
                row.source_line, row.source_text = -1, ""
        forget_self_times(out, profile)
    with h5py.File(path, "w", libver=r.choice(["earliest", ("v108", "v110")])) as file:
        writer = Raw(out, file, r)
        writer.metadata()
        if schema == 1:
            file.require_group("metadata")
            writer.schema_1()
        else:
            writer.columnar(schema)
            writer.trace()
        writer.extras()
    return out, writer.their_limits


# ---- native files ----

def text(order, value):
    data = value.encode()
    return struct.pack(order + "i", len(data)) + data


def spt(profile, rank, path, version, order, split=False):
    """One rank. split: records of one name, which a reader pools."""
    out = without_trace(without(profile, "threads", "tasks", "perf_events", "line_profiles", "likwid", "likwid_environments"))
    out.columns, out.metadata, out.start_time_ns, out.file_rank = (), {}, None, rank
    out.rows = [copy.copy(row) for row in profile.rows if row.rank == rank]
    records = []
    for row in out.rows:
        row.source_text, row.tags, row.event_metadata = "", (), None
        if version == 1:
            row.source_file, row.source_line = "", -1
        half = np.arange(len(row)) % 3 == 0
        for part in [half, ~half] if split else [np.ones(len(row), bool)]:
            source = text(order, row.source_file) + struct.pack(order + "i", row.source_line) if version == 2 else b""
            records.append(text(order, row.name) + source + struct.pack(order + "q", int(part.sum())) +
                           row.start[part].astype(order + "i8").tobytes() + row.end[part].astype(order + "i8").tobytes())
    out.regions = [row.name for row in out.rows]
    forget_self_times(out, profile)
    path.write_bytes(b"SCOPEPRF" + struct.pack(order + "iiq", version, rank, len(records)) + b"".join(records))
    return out


def sps(profile, rank, path, order, r):
    """Samples of its own, drawn here: {"regions", "modules", "hz", "ticks", "samples"}."""
    modules = [("/bin/\u00e4", 2**63), ("", 0)][:r.randrange(3)]
    n = r.choice([0, 1, 500]) if profile.regions else 0
    out = {"rank": rank, "hz": 997, "ticks": n + r.randrange(9), "regions": profile.regions, "modules": modules,
           "samples": [(r.randrange(len(profile.regions)), r.randrange(-1, len(modules)), r.randrange(2**64)) for _ in range(n)]}
    data = b"SCOPESMP" + struct.pack(order + "iiiq", 1, rank, out["hz"], out["ticks"])
    data += struct.pack(order + "i", len(profile.regions)) + b"".join(text(order, name) for name in profile.regions)
    data += struct.pack(order + "i", len(modules)) + b"".join(text(order, name) + struct.pack(order + "Q", bias) for name, bias in modules)
    data += struct.pack(order + "q", n) + b"".join(struct.pack(order + "iiQ", *sample) for sample in out["samples"])
    path.write_bytes(data)
    return out


# ---- JSON ----

def finite(values):
    return [None if not math.isfinite(value) else value for value in values]


def document(profile, r):
    """The document that scope-profiler writes, keys in any order."""
    def shuffled(pairs):
        items = list(pairs.items())
        r.shuffle(items)
        return dict(items)

    names = {"id": "call_ids", "parent": "parent_ids", "thread": "thread_ids", "task": "task_ids", "await_ns": "await_ns",
             "gpu_ns": "gpu_durations_ns"}
    rows = []
    for row in profile.rows:
        one = {"name": row.name, "rank": row.rank, "start_times_ns": row.start.tolist(), "end_times_ns": row.end.tolist()}
        one |= {names[name]: row.columns[name].tolist() for name in profile.columns}
        if row.source_file:
            one |= {"source_file": row.source_file, "source_text": row.source_text}
        if row.source_line >= 0:
            one["source_lineno"] = row.source_line
        if row.tags:
            one["tags"] = list(row.tags)
        if row.event_metadata:
            one["event_metadata"] = row.event_metadata
        if row.self_ns >= 0 and r.random() < 0.5:
            one["exclusive_total_ns"] = row.self_ns
        rows.append(shuffled(one))
    by_rank = lambda table, make: {str(rank): [make(one) for one in table if one["rank"] == rank] for rank in sorted({one["rank"] for one in table})}
    lane = lambda one: shuffled({key: bool(value) if key == "daemon" else relative(profile, key, value) for key, value in one.items() if key != "rank"})
    lines = lambda one: shuffled({key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in line_record(one).items()
                                  if not key.startswith("source")})
    likwid = {}
    for one in profile.likwid:
        entry = {key: one[key] for key in one if key not in ("rank", "times", "events", "metrics")}
        entry |= {"times": finite(one["times"]), "events": [finite(row) for row in one["events"]], "metrics": [finite(row) for row in one["metrics"]]}
        likwid.setdefault(str(one["rank"]), {})[one["tag"]] = shuffled(entry)
    whole = {"format": "scope-profiler-profile", "format_version": 1, "exporter": "model", "time_unit": "nanoseconds",
             "num_ranks": len(profile.ranks()), "event_data_available": True, "metadata": {
                 key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in profile.metadata.items()},
             "regions": rows, "threads": by_rank(profile.threads, lane), "tasks": by_rank(profile.tasks, lane), "likwid": likwid,
             "line_profile": by_rank(profile.line_profiles, lines), "something new": {"a": [1, {"b": None}]}}
    return shuffled(whole)


def for_json(profile):
    """What of a profile a JSON document holds."""
    out = without_trace(without(profile, "perf_events", "likwid_environments"))
    out.line_profiles = [one | {"source": None, "source_first_line": 0} for one in profile.line_profiles]
    out.rows = [copy.copy(row) for row in profile.rows]
    for row in out.rows:
        if not row.source_file:
            row.source_text = ""
    return out


def json_file(profile, path, r):
    out = for_json(profile)
    whole = json.dumps(document(out, r), ensure_ascii=r.random() < 0.5, indent=r.choice([None, None, 1]), allow_nan=False).encode()
    path.write_bytes(gzip.compress(whole, mtime=0) if path.name.endswith(".gz") else whole)
    return out
