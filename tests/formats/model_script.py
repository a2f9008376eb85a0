# SPDX-License-Identifier: BSD-2-Clause
"""A model's profile as a script for profile_write, which writes it with our own writer."""
import copy

import model

AUTO = 255  # SP_H5_GZIP_AUTO
TABLES = {
    "threads": ("thread", "rank index ident native_id daemon start_ns end_ns cpu_ns name process calls samples"),
    "tasks": ("task", "rank index kind name coro_name thread_index created_ns done_ns steps running_ns suspended_ns"),
    "sites": ("site", "region line file tags function image"),
    "modules": ("module", "path build_id bias start end file_offset process archived mapped_ns place"),
    "processes": ("process", "pid ppid rank exe command_line first_seen_ns last_seen_ns"),
    "losses": ("loss", "cause cpu thread count first_ns last_ns rank region line file"),
    "cuts": ("cut", "region rank flag count line file"),
    "clocks": ("clock", "monotonic_ns realtime_ns boottime_ns error_ns rank"),
    "rank_facts": ("rank_fact", "rank part key kind text"),
    "kernel_symbols": ("kernel_symbol", "address end name module rank"),
}
DEFAULTS = {"process": model.NONE, "calls": 0, "samples": 0, "stack": 0}


def word(value):
    if value is None:
        return "~"
    if isinstance(value, str):
        return "=" + "".join(chr(b) if chr(b).isalnum() and b < 128 else f"%{b:02x}" for b in value.encode())
    if isinstance(value, float):
        return value.hex()
    return str(int(value))


def fact(key, value):
    """Kinds of enum sp_fact_kind."""
    if isinstance(value, bool):
        return [key, 3, value]
    if isinstance(value, list):
        return [key, 4, len(value), *value]
    return [key, {str: 0, int: 1, float: 2}[type(value)], value]


def script(profile, path, r, schema=3, gzip=0, aggregate=False):
    """Writes the script; returns what the file will hold."""
    out, lines = copy.copy(profile), []
    if aggregate:
        out.columns = ()
        out.rows = [copy.copy(row) for row in out.rows]
        for row in out.rows:
            row.event_metadata = None
            row.source_file, row.source_line, row.source_text, row.tags = "", -1, "", ()
    put = lambda *words: lines.append(" ".join(map(word, words)))
    columns = [name for name in model.COLUMNS if name in out.columns]
    mask = sum(1 << list(model.COLUMNS).index(name) for name in columns)
    with_metadata = any(row.event_metadata for row in out.rows)
    lines.append(" ".join(map(word, [mask, gzip, r.choice([0, 1, 3]), schema, aggregate, with_metadata, out.start_time_ns or 0])))
    # The writer always stores the origin.
    out.start_time_ns = out.start_time_ns or 0
    out.metadata = {**out.metadata, "start_time_ns": out.start_time_ns}
    regions = list(enumerate(out.regions))
    for _, name in regions:
        put("region", name)
    for row in out.rows:
        lines.append("row " + " ".join(map(word, [
            out.regions.index(row.name), row.rank, row.source_file or r.choice(["", None]), row.source_line, row.source_text,
            model.tags_text(row) if row.tags else r.choice(["", None, "[]"]), row.self_ns, model.metadata_text(row) or r.choice(["", None]),
            len(row), r.choice([1, 7, 1000, 10**5])])))
        if aggregate:
            import model_parts
            s = model_parts.statistics(row)
            put(*(s[key] for key in ("total", "self", "minimum", "maximum")))
            continue
        arrays = [row.start, row.end, *(row.columns[name] for name in columns)]
        lines += [" ".join(map(str, numbers)) for numbers in zip(*(array.tolist() for array in arrays))]
    for name, (command, fields) in TABLES.items():
        for one in getattr(out, name):
            put_table = [one.get(field, DEFAULTS.get(field)) for field in fields.split()]
            lines.append(command + " " + " ".join(map(word, put_table)))
    for one in out.samples:
        fields = "time_ns thread region call_id ip module kernel rank".split()
        ends = "kernel_frames stack_end signal_frames".split()
        lines.append("sample " + " ".join(map(word, [*(one[field] for field in fields), 0, *(one[field] for field in ends), len(one["frames"]),
                                                     *one["frames"]])))
    extras(out, lines)
    for key, value in out.metadata.items():
        if key != "start_time_ns":
            lines.append("metadata " + " ".join(map(word, fact(key, value))))
    for key, value in (out.meta or {}).items():
        lines.append("meta " + " ".join(map(word, fact(key, value))))
    # The first word of a command is no text.
    path.write_text("\n".join(line[1:] if line.startswith("=") else line for line in lines) + "\n")
    return out


def extras(out, lines):
    def put(command, *words):
        lines.append(command + " " + " ".join(map(word, words)))

    flat = lambda rows: [float(value) for row in rows for value in row]
    for one in out.perf_events:
        put("perf_events", one["rank"], one["region"], one["calls"], len(one["names"]), *one["names"], *one["values"])
    for one in out.line_profiles:
        put("line_profile", one["rank"], one["region"], one["filename"], one["function"], one["first_line"], one["unit"], one["source"],
            one["source_first_line"], len(one["lines"]), *one["lines"], *one["hits"], *map(float, one["times"]))
    for one in out.likwid:
        put("likwid", one["rank"], one["tag"], one["group_id"], one["group_name"], one["source"], len(one["cpus"]), len(one["event_names"]),
            len(one["counter_names"]), len(one["metric_names"]), *one["cpus"], *map(float, one["times"]), *one["call_counts"],
            *one["event_names"], *one["counter_names"], *flat(one["events"]), *one["metric_names"], *flat(one["metrics"]))
    for one in out.likwid_environments:
        put("likwid_environment", one["rank"], len(one["facts"]), *(part for pair in one["facts"].items() for part in fact(*pair)))
