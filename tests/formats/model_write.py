# SPDX-License-Identifier: BSD-2-Clause
"""Writes a model's profile in every format without any code of ours: by scope-profiler's writers, by struct and
json (model_h5.py: by h5py). Each function returns the profile that the file holds, which is the given one
without what the format, or scope-profiler's writer, has no place for.
"""
import copy
import gzip
import json
import math
import struct

import numpy as np

from model_parts import TABLES, forget_self_times, line_record, matrix, relative, statistics, without, without_trace

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


def their_aggregate(row):
    s = statistics(row)
    return {"count": s["n"], "total": s["total"], "minimum": s["minimum"], "maximum": s["maximum"],
            "exclusive": s["self"] if s["self"] >= 0 else s["total"]}


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
