# SPDX-License-Identifier: BSD-2-Clause
"""Compares a model's profile with what our library reads from a file (profile_dump's JSON), and with what
scope-profiler reads. Each difference is one line in differences.
"""
import json
import math

import numpy as np

import model
from model_parts import statistics


class Differences:
    def __init__(self):
        self.checks, self.found = 0, []

    def same(self, got, expected, *what):
        self.checks += 1
        if got != expected and not (isinstance(got, float) and isinstance(expected, float) and math.isnan(got) and math.isnan(expected)):
            self.found.append(f"{' '.join(map(str, what))}: is {short(got)}, not {short(expected)}")

    def close(self, got, expected, *what, scale=0.0):
        self.checks += 1
        if not math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-6 + scale):
            self.found.append(f"{' '.join(map(str, what))}: is {got!r}, not {expected!r}")


def short(value):
    text = repr(value)
    return text if len(text) < 300 else f"{text[:140]} … {text[-140:]}"


def nan_safe(value):
    """Equal if it looks equal, NaN included."""
    return json.loads(json.dumps(value), parse_constant=lambda word: word)


def floats(rows):
    return [[float(value) for value in row] for row in rows]


def compare_statistics(d, got, row, columns, where, with_moments=True):
    expected = statistics(row, columns)
    if got["total"] == -1 and len(row):
        return  # not stored, and not computed
    for key in ("n", "total", "minimum", "maximum"):
        d.same(got[key], expected[key], where, key)
    d.close(got["mean"], expected["mean"], where, "mean")
    if with_moments:
        for key in ("first", "last", "start_minimum", "end_maximum", "gpu_calls", "gpu_total"):
            d.same(got[key], expected[key], where, key)
        # Rounding of NumPy's own sum, too.
        d.close(got["m2"], expected["m2"], where, "m2", scale=1e-9 * expected["n"] * max(1.0, abs(expected["mean"])) ** 2)


def ours(d, profile, dump, where, aggregate=False, json_file=False, computed=(), more_facts=(), as_stored=False):
    """All that our reader found against all that the model has. computed: columns that the profile does not
    have, and that need not be their defaults; more_facts: facts that may be there besides; as_stored: self
    times that the file does not have are unknown."""
    rows = {(row["region"], row["rank"]): row for row in dump["rows"]}
    d.same(len(rows), len(dump["rows"]), where, "rows of one region and rank")
    d.same(sorted(rows), sorted((row.name, row.rank) for row in profile.rows), where, "rows")
    d.same(sorted(dump["regions"]), sorted(profile.regions), where, "regions")
    d.same(dump["ranks"], profile.known_ranks(), where, "ranks")
    d.same(bool(dump["aggregate"]), aggregate and bool(profile.rows), where, "aggregate")
    if not aggregate:
        d.same(dump["n_calls"], profile.n_calls(), where, "calls")
    for row in profile.rows:
        got = rows.get((row.name, row.rank))
        if not got:
            continue
        at = f"{where} {row.name[:40]!r} rank {row.rank}"
        for key, value in (("source_file", row.source_file), ("source_line", row.source_line), ("source_text", row.source_text)):
            d.same(got[key], value, at, key)
        d.same(json.loads(got["tags"]), list(row.tags), at, "tags")
        compare_statistics(d, got, row, profile.columns, at, not aggregate)
        if row.self_ns >= 0 and (got["self"] != -1 or not as_stored):
            d.same(got["self"], row.self_ns, at, "self time")
        if aggregate:
            continue
        d.same(got["event_metadata"] or None, row.event_metadata if row.event_metadata and len(row) else None, at, "event metadata")
        columns = list(zip(*got["calls"])) or [()] * (2 + len(model.COLUMNS))
        d.same(list(columns[0]), row.start.tolist(), at, "starts")
        d.same(list(columns[1]), row.end.tolist(), at, "ends")
        for column, name in zip(columns[2:], model.COLUMNS):
            if name in computed and name not in profile.columns:
                continue
            expected = row.columns[name].tolist() if name in profile.columns else [model.COLUMNS[name]] * len(row)
            d.same(list(column), expected, at, name)
    compare_tables(d, profile, dump, where)
    compare_extras(d, profile, dump, where, json_file)
    compare_facts(d, profile, dump, where, json_file, more_facts)


def compare_tables(d, profile, dump, where):
    for name in ("threads", "tasks", "sites", "modules", "processes", "losses", "cuts", "clocks", "rank_facts", "kernel_symbols"):
        expected, got = getattr(profile, name), dump[name]
        d.same(len(got), len(expected), where, name)
        # Region ids go by the file's own table.
        for a, b in zip(got, expected):
            for key, value in b.items():
                if key == "region" and name != "losses":  # a name there
                    d.same(dump["regions"][a[key]], profile.regions[value], where, name, key)
                else:
                    d.same(a[key], value, where, name, key)
    d.same(dump["n_samples"], len(profile.samples), where, "samples")
    for got, expected in zip(dump["samples"], profile.samples):
        d.same(got[1:], expected["frames"], where, "a stack")
        for key, value in expected.items():
            if key == "region" and value >= 0:
                d.same(dump["regions"][got[0][key]], profile.regions[value], where, "a sample's region")
            elif key != "frames":
                d.same(got[0][key], value, where, "a sample's", key)


def compare_extras(d, profile, dump, where, json_file):
    key = lambda one: (one["rank"], one["region"])
    d.same(sorted(dump["perf_events"], key=key), sorted(profile.perf_events, key=key), where, "perf events")
    d.same(dump["line_profiles"], sorted(profile.line_profiles, key=lambda one: one["rank"]), where, "line profiles")
    key = lambda one: (one["rank"], one["tag"])
    expected = sorted(profile.likwid, key=key)
    nulls = lambda rows: [["NaN" if math.isnan(value) or (json_file and math.isinf(value)) else value for value in row] for row in rows]
    normal = lambda one: one | {"events": nulls(floats(one["events"])), "metrics": nulls(floats(one["metrics"]))}
    for got, one in zip(sorted(dump["likwid"], key=key), expected):
        d.same(nan_safe(normal(got)), nan_safe(normal(one)), where, "likwid")
    d.same(len(dump["likwid"]), len(expected), where, "likwid groups")
    d.same([one for one in dump["likwid_environments"] if one["facts"]], profile.likwid_environments, where, "likwid's environment")


def compare_facts(d, profile, dump, where, json_file, more_facts):
    expected = dict(profile.metadata)
    if json_file:
        expected = {key: value for key, value in expected.items() if not (isinstance(value, float) and not math.isfinite(value))}
        got = {key: value for key, value in dump["metadata"].items() if key in expected}
    else:
        got = dump["metadata"]
    got = {key: value for key, value in got.items() if key in expected or key not in more_facts}
    meta = {key: value for key, value in dump["meta"].items() if key in (profile.meta or {}) or key not in more_facts}
    for name, has, should in (("metadata", got, expected), ("meta", meta, profile.meta or {})):
        d.same(sorted(has), sorted(should), where, name, "keys")
        for key in set(has) & set(should):
            d.same(nan_safe(has[key]), nan_safe(should[key]), where, name, key)


# enum sp_stack_end of wire.h, by the names of formats/stack_end.c
STACK_ENDS = ("unknown", "complete", "leaf", "truncated", "no mapping", "pending", "no table", "no rule", "unsupported", "unreadable",
              "no progress", "busy", "frame pointers")


def from_report(document):
    """What sp-report dump --json printed, in the shape that profile_dump prints."""
    file, get = document["file"][0], lambda name: document.get(name, [])
    names = [one["name"] for one in document["regions"]]
    out = {"regions": names, "ranks": file["ranks"], "aggregate": file["aggregate"], "n_calls": file["calls"], "n_samples": file["samples"],
           "cuts": get("cut_calls"), "metadata": facts(get("metadata")), "meta": facts(get("meta"))}
    for name in ("sites", "losses", "clocks", "rank_facts"):
        out[name] = get(name)
    for name in ("threads", "tasks", "modules", "processes", "losses", "clocks", "kernel_symbols"):
        out[name] = [{key: model.NONE if value is None and key in ("process", "rank") else value for key, value in one.items()} for one in get(name)]
    calls = {}
    for one in get("calls"):
        calls.setdefault(one["row"], []).append([one["start_ns"], one["end_ns"], *(none(one.get(name), name) for name in model.COLUMNS)])
    metadata = {}
    for one in get("event_metadata"):
        metadata.setdefault(one["row"], []).append(one["metadata"])
    out["rows"] = [{**row, "n": row["calls"], "source_file": row["file"], "source_line": row["line"], "source_text": row["source"],
                    "tags": json.dumps(row["tags"]), "calls": calls.get(i, []), "event_metadata": metadata.get(i)}
                   for i, row in enumerate(document["rows"])]
    number = {name: i for i, name in enumerate(names)}
    out["samples"] = [[{**one, "region": -1 if one["region"] is None else number[one["region"]], "stack_end": STACK_ENDS.index(one["stack_end"])},
                       *one["stack"]] for one in get("samples")]
    out["perf_events"] = get("perf_events")
    groups = lambda name, key, i: [one for one in get(name) if one[key] == i]
    out["line_profiles"] = []
    for i, one in enumerate(get("line_profiles")):
        lines = groups("lines", "line_profile", i)
        out["line_profiles"].append({
            **{key: one[key] for key in ("rank", "region", "filename", "function", "first_line", "unit", "source")},
            "source_first_line": one["source_first_line"] if one["source"] is not None else 0,
            "lines": [line["line"] for line in lines], "hits": [line["hits"] for line in lines], "times": [line["time"] for line in lines]})
    out["likwid"] = []
    for i, one in enumerate(get("likwid")):
        events, metrics = groups("likwid_events", "likwid", i), groups("likwid_metrics", "likwid", i)
        values = lambda rows: [[math.nan if value is None else value for value in row["values"]] for row in rows]
        out["likwid"].append({
            **{key: one[key] for key in ("rank", "tag", "group_id", "group_name", "source", "cpus", "times", "call_counts")},
            "event_names": [event["name"] for event in events], "counter_names": [event["counter"] for event in events],
            "metric_names": [metric["name"] for metric in metrics], "events": values(events), "metrics": values(metrics)})
    environments = {}
    for one in get("likwid_environment"):
        environments.setdefault(one["rank"], {})[one["key"]] = one["value"]
    out["likwid_environments"] = [{"rank": rank, "facts": pairs} for rank, pairs in environments.items()]
    return out


def facts(rows):
    return {one["key"]: one["value"] for one in rows}


def none(value, name):
    return model.COLUMNS[name] if value is None else value


# ---- scope-profiler's readers ----

def seconds(d, got, ns, *what):
    d.close(got, ns / 1e9, *what, scale=1e-9 * abs(got))


def theirs(d, profile, results, where, aggregate=False, json_file=False, trust_names=True):
    """What scope-profiler read. trust_names: groups of extras are called as their regions."""
    regions = {region.name: region for region in results.get_regions()}
    d.same(sorted(regions), sorted({row.name for row in profile.rows}), where, "their regions")
    d.same(sorted((name, rank) for name, region in regions.items() for rank in region.regions),
           sorted((row.name, row.rank) for row in profile.rows), where, "their rows")
    for row in profile.rows:
        got = regions[row.name].regions[row.rank] if row.name in regions and row.rank in regions[row.name].regions else None
        if got is None:
            continue
        at = f"{where} their {row.name[:40]!r} rank {row.rank}"
        if not aggregate:
            their_row(d, profile, row, got, at)
        d.same(got.num_calls, len(row), at, "calls")
        if len(row):
            s = statistics(row)
            for mine, his in (("total", "total_duration"), ("minimum", "min_duration"), ("maximum", "max_duration")):
                seconds(d, getattr(got, his), s[mine], at, mine)
            if row.self_ns >= 0:
                seconds(d, got.exclusive_duration, row.self_ns, at, "self time")
    their_tables(d, profile, results, where)
    their_extras(d, profile, results, where, json_file, trust_names)
    expected = {key: value for key, value in profile.metadata.items()
                if not (json_file and isinstance(value, float) and not math.isfinite(value))}
    got = {key: value.item() if isinstance(value, np.generic) else value for key, value in results.metadata.items() if key in expected}
    d.same(nan_safe(got), nan_safe(expected), where, "their metadata")


def their_row(d, profile, row, got, at):
    d.same(got.start_times_ns.tolist(), row.start.tolist(), at, "starts")
    d.same(got.end_times_ns.tolist(), row.end.tolist(), at, "ends")
    for name, attribute in (("id", "call_ids"), ("parent", "parent_ids"), ("thread", "thread_ids"), ("task", "task_ids"),
                            ("await_ns", "await_times_ns"), ("gpu_ns", "gpu_durations_ns")):
        value = getattr(got, attribute)
        if name not in profile.columns or (name == "gpu_ns" and not (row.columns[name] >= 0).any()):
            d.same(value is None or not (np.asarray(value) >= 0).any() or not len(value), True, at, name, "is not there")
        else:
            d.same(value.tolist() if value is not None else None, row.columns[name].tolist(), at, name)
    d.same((got.source_file or "", -1 if got.source_lineno is None else got.source_lineno, got.source_text or ""),
           (row.source_file, row.source_line, row.source_text), at, "source")
    d.same(tuple(got.tags), row.tags, at, "tags")
    if row.event_metadata:
        d.same(list(got.event_metadata), row.event_metadata, at, "event metadata")
    else:
        d.same(any(got.event_metadata), False, at, "has event metadata")


def their_tables(d, profile, results, where):
    origin = profile.start_time_ns or 0
    for name, table in (("threads", results.threads), ("tasks", results.tasks)):
        expected = getattr(profile, name)
        got = [one for rank in sorted(table) for one in table[rank]]
        d.same(len(got), len(expected), where, "their", name)
        for a, b in zip(got, sorted(expected, key=lambda one: one["rank"])):
            d.same((a.index, a.name), (b["index"], b["name"]), where, "their", name)
            if name == "threads":
                d.same((a.ident, a.native_id, a.daemon), (b["ident"], b["native_id"], bool(b["daemon"])), where, "their thread")
                seconds(d, a.start_time, b["start_ns"] - origin, where, "their thread's start")
            else:
                d.same((a.kind, a.coro_name, a.steps, a.thread_index), (b["kind"], b["coro_name"], b["steps"], b["thread_index"]), where, "their task")
                seconds(d, a.created_time, b["created_ns"] - origin, where, "their task's creation")


def their_extras(d, profile, results, where, json_file, trust_names):
    if not json_file:
        got = {(rank, name): (totals.calls, totals.values) for rank, table in results._perf_events.items() for name, totals in table.items()}
        expected = {(one["rank"], one["region"]): (one["calls"], dict(zip(one["names"], one["values"]))) for one in profile.perf_events}
        if trust_names:
            d.same(got, expected, where, "their perf events")
        else:
            flat = lambda table: sorted((rank, repr(value)) for (rank, _), value in table.items())
            d.same(flat(got), flat(expected), where, "their perf events")
    lines = [(rank, one) for rank in sorted(results.line_profile) for one in results.line_profile[rank]]
    d.same(len(lines), len(profile.line_profiles), where, "their line profiles")
    for (rank, got), one in zip(lines, sorted(profile.line_profiles, key=lambda one: one["rank"])):
        d.same((rank, got["region"], got["filename"], got["function"], got["first_lineno"], got["unit"], got.get("source"),
                list(got["line_numbers"]), list(got["hits"]), list(got["times"])),
               (one["rank"], one["region"], one["filename"], one["function"], one["first_line"], one["unit"], one["source"],
                one["lines"], one["hits"], one["times"]), where, "their line profile")
    likwid = {(rank, tag): one for rank, tags in results.get_likwid_regions().items() for tag, one in tags.items()}
    d.same(sorted(likwid), sorted((one["rank"], one["tag"]) for one in profile.likwid), where, "their likwid")
    for one in profile.likwid:
        got = likwid.get((one["rank"], one["tag"]))
        if got is None:
            continue
        d.same((got.group_id, got.group_name, list(got.cpus), list(got.times), list(got.call_counts), list(got.event_names),
                list(got.counter_names), list(got.metric_names), got.source),
               (one["group_id"], one["group_name"], one["cpus"], one["times"], one["call_counts"], one["event_names"], one["counter_names"],
                one["metric_names"], one["source"]), where, "their likwid", one["tag"])
        if not json_file:
            d.same(nan_safe(got.events.tolist()), nan_safe(floats(one["events"])), where, "their likwid events")
            d.same(nan_safe(got.metrics.tolist()), nan_safe(floats(one["metrics"])), where, "their likwid metrics")


def their_nesting(d, dump, results, rank, where):
    """Parents and depths, as scope-profiler makes them from the times alone, against ours."""
    by_call, by_id = {}, {}
    for row in dump["rows"]:
        for index, call in enumerate(row["calls"] if row["rank"] == rank else ()):
            mine = by_call[row["region"], index] = dict(zip(("start", "end", *model.COLUMNS), call))
            by_id[mine["id"]] = mine
    stack = results.call_stack(rank=rank)
    d.same(len(stack), len(by_call), where, "calls in their stack")
    d.same(len(by_id), len(by_call), where, "call ids")
    for call in stack:
        mine = by_call[call["name"], call["call_index"]]
        theirs = None if call["parent"] is None else stack[call["parent"]]
        theirs = -1 if theirs is None else by_call[theirs["name"], theirs["call_index"]]["id"]
        d.same(mine["parent"], theirs, where, "parent of", call["name"][:40], call["call_index"])


def their_summary(d, profile, results, where, self_stored):
    """read_h5_summary: the statistics that the file has."""
    for row in profile.rows:
        if not len(row):
            continue
        got = results[row.name].regions[row.rank]
        at, s = f"{where} their summary of {row.name[:40]!r} rank {row.rank}", statistics(row)
        d.same(got.num_calls, s["n"], at, "calls")
        for mine, his in (("total", "total_duration"), ("minimum", "min_duration"), ("maximum", "max_duration"), ("first", "first_duration"),
                          ("last", "last_duration"), ("mean", "average_duration")):
            seconds(d, getattr(got, his), s[mine], at, mine)
        d.close(got.std_duration, math.sqrt(s["m2"] / s["n"]) / 1e9, at, "deviation", scale=1e-9 * abs(s["mean"]) / 1e9 + 1e-12)
        if self_stored and row.self_ns >= 0:
            seconds(d, got.exclusive_duration, row.self_ns, at, "self time")
