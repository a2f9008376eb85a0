# SPDX-License-Identifier: BSD-2-Clause
"""Writes a model's profile as HDF5 with h5py: every schema and every odd but legal choice."""
import copy

import numpy as np

import model
from model_parts import (TABLES, UNSIGNED, forget_self_times, line_record, matrix, relative, statistics, without,
                         without_trace)

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
                            ("cuts", "cut_calls"), ("clocks", "clocks"), ("rank_facts", "rank_facts"),
                            ("kernel_symbols", "kernel_symbols")):
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
            group = self.f.require_group(f"rank{one['rank']}/perf_events/{one['region']}")
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
