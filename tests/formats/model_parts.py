# SPDX-License-Identifier: BSD-2-Clause
"""What the writers of models share: what a file leaves out of a profile, and parts as they are stored."""
import copy

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
UNSIGNED = {"bias", "start", "end", "file_offset", "count", "first_ns", "last_ns", "time_ns", "ip", "mapped_ns", "address"}
RELATIVE = {"start_ns", "end_ns", "created_ns", "done_ns"}


def without(profile, *parts):
    """A copy in which these parts are empty."""
    out = copy.copy(profile)
    for part in parts:
        setattr(out, part, None if part == "meta" else type(getattr(profile, part))())
    return out


def without_trace(profile):
    out = without(profile, "meta", "sites", "modules", "processes", "losses", "cuts", "clocks", "rank_facts", "kernel_symbols",
                  "samples")
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
