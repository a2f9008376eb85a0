# SPDX-License-Identifier: BSD-2-Clause
"""Random profiles: what a file can hold, made from a seed, independent of every reader and writer.

A Profile is the truth that files are compared with. Times are absolute ns, columns are int64 arrays of
NumPy, in order of entry. make(seed) draws every optional part on or off; make(seed, **fixed) fixes some of
the draws (see Choices).
"""
import dataclasses
import json
import random

import numpy as np

# Columns of calls that scope-profiler knows, then ours, with what stands where a row does not have them.
THEIR_COLUMNS = {"id": -1, "parent": -1, "thread": -1, "task": -1, "await_ns": 0, "gpu_ns": -1}
OUR_COLUMNS = {"flags": 0, "depth": 0, "child_ns": -1, "skipped": 0, "site": 2**32 - 1}
COLUMNS = THEIR_COLUMNS | OUR_COLUMNS
NONE = 2**32 - 1
INT64_MAX = 2**63 - 1

NAMES = [
    "solve", "", "a/b/c", "/", "//x/", ".", "..", 'quote"back\\slash', "line\nend", "tab\there",
    "\x01\x1b[31mred\x7f", "gr\u00fcn \u20ac", "\U0001d11e clef", "percent %s %n %", " spaces ", "rank0", "a|b|c",
    "events", "x" * 300, "[1, 2]", "{}", "null", "a/b", "nul\\0", "\u202eright to left", "e\u0301", "\u00e9",
]
TEXTS = ["", "plain", "two\nlines\t", "\u00e4 \U0001f600", 'q"\\', "y" * 2000]


@dataclasses.dataclass
class Row:
    """One region on one rank."""
    name: str
    rank: int
    start: np.ndarray
    end: np.ndarray
    columns: dict = dataclasses.field(default_factory=dict)
    source_file: str = ""
    source_line: int = -1
    source_text: str = ""
    tags: tuple = ()
    event_metadata: list | None = None
    self_ns: int = -1  # what nesting says, -1 where calls overlap

    def __len__(self):
        return len(self.start)


@dataclasses.dataclass
class Profile:
    seed: int
    columns: tuple = ()  # names of the optional columns that calls have
    nested: bool = True  # the calls of every lane nest
    start_time_ns: int | None = None
    file_rank: int | None = None  # of formats that have one rank a file
    rows: list = dataclasses.field(default_factory=list)  # by rank
    regions: list = dataclasses.field(default_factory=list)  # names in order of appearance
    metadata: dict = dataclasses.field(default_factory=dict)
    threads: list = dataclasses.field(default_factory=list)
    tasks: list = dataclasses.field(default_factory=list)
    perf_events: list = dataclasses.field(default_factory=list)
    line_profiles: list = dataclasses.field(default_factory=list)
    likwid: list = dataclasses.field(default_factory=list)
    likwid_environments: list = dataclasses.field(default_factory=list)
    # /sp_trace; None: the group is not there
    meta: dict | None = None
    sites: list = dataclasses.field(default_factory=list)
    modules: list = dataclasses.field(default_factory=list)
    processes: list = dataclasses.field(default_factory=list)
    losses: list = dataclasses.field(default_factory=list)
    cuts: list = dataclasses.field(default_factory=list)
    clocks: list = dataclasses.field(default_factory=list)
    rank_facts: list = dataclasses.field(default_factory=list)
    kernel_symbols: list = dataclasses.field(default_factory=list)
    samples: list = dataclasses.field(default_factory=list)  # dicts with "frames"

    def ranks(self):
        return sorted({row.rank for row in self.rows})

    def known_ranks(self):
        """Without rows, threads and processes tell."""
        if self.file_rank is not None:
            return [self.file_rank]
        return self.ranks() or sorted({one["rank"] for table in (self.threads, self.processes) for one in table})

    def n_calls(self):
        return sum(map(len, self.rows))


@dataclasses.dataclass
class Choices:
    """What make() draws; None: by the seed."""
    ranks: tuple | None = None
    regions: int | None = None
    calls: int | None = None  # of a rank, about
    columns: tuple | None = None
    wild: bool | None = None  # calls that overlap, descend, end before they start, lie at the limits
    sp_trace: bool | None = None  # our group and columns
    extras: bool | None = None
    event_metadata: bool | None = None


class Maker:
    def __init__(self, seed, choices):
        self.r = random.Random(seed)
        self.choices = choices
        self.profile = Profile(seed)

    def maybe(self, fixed, chance=0.5):
        drawn = self.r.random() < chance
        return drawn if fixed is None else fixed

    def text(self):
        return self.r.choice(TEXTS)

    def names(self, n):
        pool = NAMES[:]
        self.r.shuffle(pool)
        return (pool + [f"region {i}" for i in range(max(0, n - len(pool)))])[:n]

    def make_ranks(self):
        if self.choices.ranks is not None:
            return list(self.choices.ranks)
        kind = self.r.randrange(8)
        if kind == 0:
            return []
        if kind < 4:
            return [0]
        if kind < 6:
            return list(range(self.r.randrange(2, 6)))
        return sorted(self.r.sample(range(3000), self.r.randrange(1, 9)))  # with gaps

    def make_columns(self):
        if self.choices.columns is not None:
            return tuple(self.choices.columns)
        names = []
        if self.r.random() < 0.5:
            names += ["id", "parent"]
        names += [name for name in ("thread", "task", "await_ns", "gpu_ns") if self.r.random() < 0.35]
        if self.profile.meta is not None:
            names += [name for name in OUR_COLUMNS if self.r.random() < 0.5]
        return tuple(names)

    # ---- calls ----

    def nested_lane(self, lane, budget, origin, out, next_id):
        """Calls that nest; ends may touch. Appends dicts to @out, in order of entry."""
        clock = origin + self.r.randrange(1000)
        stack = []  # open calls
        unit = self.r.choice([1, 1, 50, 10**6])
        while budget > 0 or stack:
            if budget > 0 and (not stack or (len(stack) < 20 and self.r.random() < 0.5)):
                call = dict(lane, start=clock, id=next_id, depth=len(stack), child_ns=0,
                            parent=stack[-1]["id"] if stack else -1, region=self.region())
                next_id += self.r.choice([1, 1, 1, 5])
                out.append(call)
                stack.append(call)
                budget -= 1
            else:
                call = stack.pop()
                call["end"] = clock
                if stack:
                    stack[-1]["child_ns"] += call["end"] - call["start"]
            # A call that began must take time before the next begins, or who encloses whom is open.
            clock += 1 + self.r.randrange(unit)
        return next_id

    def wild_lane(self, lane, budget, out, next_id):
        top = self.r.choice([1000, 10**15, INT64_MAX - 10])
        for _ in range(budget):
            start = self.r.randrange(top)
            length = self.r.choice([0, 0, 1, self.r.randrange(1000), -self.r.randrange(1000)])
            out.append(dict(lane, start=start, end=max(0, min(start + length, INT64_MAX)), id=next_id, depth=0,
                            child_ns=0, parent=-1, region=self.region()))
            next_id += 1
        return next_id

    def region(self):
        # Few regions take most of the calls.
        return int(self.r.random() ** 2 * len(self.all_names))

    def make_rank_calls(self, rank, budget):
        calls, next_id = [], self.r.choice([0, 1, 10**12])
        threads = [t["index"] for t in self.profile.threads if t["rank"] == rank] or [-1]
        tasks = [t["index"] for t in self.profile.tasks if t["rank"] == rank]
        lanes = [{"thread": thread, "task": -1} for thread in threads]
        if "task" in self.profile.columns:
            lanes += [{"thread": self.r.choice(threads), "task": task} for task in tasks]
        if "thread" not in self.profile.columns and self.profile.nested:
            # Lanes that cannot be told apart must not overlap; scope-profiler tells no tasks apart then.
            lanes = lanes[:1]
        for lane in lanes:
            share = budget // len(lanes)
            if self.profile.nested:
                next_id = self.nested_lane(lane, share, self.origin, calls, next_id)
            else:
                next_id = self.wild_lane(lane, share, calls, next_id)
        return calls

    def make_row(self, rank, region, calls):
        p = self.profile
        row = Row(self.all_names[region], rank, column(calls, "start"), column(calls, "end"))
        n = len(calls)
        for name in p.columns:
            if name in ("id", "parent", "thread", "task", "depth", "child_ns"):
                row.columns[name] = column(calls, name)
            elif name == "flags":
                row.columns[name] = self.numbers(n, 0, 32)
            elif name == "skipped":
                row.columns[name] = self.numbers(n, 0, 2**32)
            elif name == "site":
                row.columns[name] = self.numbers(n, 0, len(p.sites)) if p.sites else np.full(n, NONE, np.int64)
            elif name == "await_ns":
                row.columns[name] = self.numbers(n, 0, 1000)
            elif name == "gpu_ns":
                row.columns[name] = self.numbers(n, -1, 3) if self.r.random() < 0.7 else np.full(n, -1, np.int64)
        if p.nested:
            row.self_ns = sum(call["end"] - call["start"] - call["child_ns"] for call in calls)
        if self.r.random() < 0.5:
            row.source_file = self.r.choice(["a.c", "/src/\u00e4 file.f90", "../x y.py"])
            row.source_line = self.r.choice([-1, 0, 1, 77, 2**31 - 1])
            row.source_text = self.text()
        if self.r.random() < 0.3:
            row.tags = tuple(self.r.sample(["io", "", 'check"point', "\u00e4", "a,b", "[]"], self.r.randrange(1, 4)))
        if self.with_metadata and n and self.r.random() < 0.6:
            row.event_metadata = [self.r.choice(
                [{}, {"i": i, "x": 1.5}, {"s": self.text(), "l": [1, None, {"n": True}]}, {"": "\u20ac"}]) for i in range(n)]
        return row

    def numbers(self, n, low, high):
        return np.array([self.r.randrange(low, high) for _ in range(n)], np.int64)

    # ---- tables ----

    def make_lanes(self, rank):
        p = self.profile
        start = p.start_time_ns or 0
        if "thread" in p.columns and self.r.random() < 0.9:
            for index in range(self.r.randrange(1, 5)):
                p.threads.append({
                    "rank": rank, "index": index, "ident": self.r.choice([0, 1, 2**47]), "native_id": 1000 + index,
                    "daemon": self.r.randrange(2), "start_ns": start + self.r.randrange(10**6),
                    "end_ns": self.r.choice([-1, start + 10**9]), "cpu_ns": self.r.randrange(10**9), "name": self.text()})
        if "task" in p.columns and self.r.random() < 0.9:
            for index in range(self.r.randrange(1, 4)):
                p.tasks.append({
                    "rank": rank, "index": index, "kind": self.r.choice(["asyncio", "greenlet"]), "name": self.text(),
                    "coro_name": self.text(), "thread_index": self.r.randrange(-1, 3), "created_ns": start + self.r.randrange(10**6),
                    "done_ns": self.r.choice([-1, start + 10**8]), "steps": self.r.randrange(100), "running_ns": self.r.randrange(10**9),
                    "suspended_ns": self.r.randrange(10**9)})

    def make_metadata(self, ranks):
        m = {"hostname": "node \u00fc", "label": self.text(), "pi": 3.25, "tiny": 5e-324, "nan": float("nan"),
             "negative": -INT64_MAX - 1, "count": INT64_MAX, "flag": True, "off": False, "modules": ["gcc/12", "", "m\u00e4"],
             "none": [], "one": ["alone"], "long": "z" * 59000, "empty": "", "odd key/\u00e4": "x"}
        keys = [key for key in m if self.r.random() < 0.4]
        metadata = {key: m[key] for key in keys}
        if self.profile.start_time_ns is not None:
            metadata["start_time_ns"] = self.profile.start_time_ns
        if ranks and self.r.random() < 0.5:
            metadata["mpi_size"] = max(ranks) + self.r.randrange(1, 3)
        return metadata

    def make_extras(self, rank):
        p, r = self.profile, self.r
        if r.random() < 0.5:
            for name in r.sample(self.all_names, min(len(self.all_names), r.randrange(1, 4))):
                events = r.sample(["cycles", "instructions", "page-faults", "my own/event", ""], r.randrange(1, 5))
                p.perf_events.append({"rank": rank, "region": name, "calls": r.randrange(1000), "names": events,
                                      "values": [r.choice([0, 7, 2**64 - 1, 2**63]) for _ in events]})
        if r.random() < 0.5:
            for _ in range(r.randrange(1, 4)):
                n = r.choice([0, 1, 30])
                source = r.random() < 0.5
                p.line_profiles.append({
                    "rank": rank, "region": r.choice(self.all_names or [""]), "filename": self.text(), "function": self.text(),
                    "first_line": r.randrange(100), "unit": r.choice([1.0, 1e-9, 1e-7]), "source": self.text() if source else None,
                    "source_first_line": r.randrange(100) if source else 0, "lines": list(range(10, 10 + n)),
                    "hits": [r.randrange(10**6) for _ in range(n)], "times": [r.random() * 1e9 for _ in range(n)]})
        if r.random() < 0.4:
            for tag in r.sample(["solve", "a/b", "a|b", "", "x \u00e4", "."], r.randrange(1, 4)):
                t, e, m = r.randrange(4), r.randrange(4), r.randrange(3)
                odd = [0.0, 1.5, float("nan"), float("inf"), -1e300]
                p.likwid.append({
                    "rank": rank, "tag": tag, "group_id": r.randrange(-1, 3), "group_name": self.text(), "source": "full_api",
                    "cpus": list(range(t)), "times": [r.random() for _ in range(t)], "call_counts": [r.randrange(99) for _ in range(t)],
                    "event_names": [f"EV_{i % 2}" for i in range(e)], "counter_names": [f"PMC{i}" for i in range(e)],
                    "events": [[r.choice(odd) for _ in range(t)] for _ in range(e)], "metric_names": [f"m [{i}]" for i in range(m)],
                    "metrics": [[r.choice(odd) for _ in range(t)] for _ in range(m)]})
            if r.random() < 0.7:
                p.likwid_environments.append({"rank": rank, "facts": {"LIKWID_EVENTS": "CLOCK", "LIKWID_THREADS": "0,1"}})

    def make_trace(self, ranks):
        """What stands in /sp_trace, but for the columns of calls."""
        p, r = self.profile, self.r
        p.meta = {key: value for key, value in {"recording_id": f"recording {p.seed}", "version": 7, "command_line": self.text(), "real": 0.1}.items()
                  if r.random() < 0.7}
        t = 10**9
        for rank in ranks:
            if r.random() < 0.7:
                p.processes.append({"pid": 1000 + rank, "ppid": 1, "rank": rank, "exe": "/bin/\u00e4", "command_line": self.text(),
                                    "first_seen_ns": t, "last_seen_ns": -1})
        for _ in range(r.randrange(4)):
            p.modules.append({"path": self.text(), "build_id": "00ff", "bias": 2**63, "start": 4096, "end": 2**64 - 1, "file_offset": 0,
                              "process": r.randrange(len(p.processes)) if p.processes else NONE, "archived": r.choice(["", "archive/00ff-x"]),
                              "mapped_ns": r.choice([0, t, 2**64 - 1]), "place": r.randrange(3)})
        if self.all_names:
            for _ in range(r.randrange(4)):
                p.sites.append({"region": r.randrange(len(self.all_names)), "line": r.randrange(-1, 99), "file": "a.c", "tags": '["x"]',
                                "function": self.text(), "image": "/bin/x"})
        for _ in range(r.randrange(3)):
            p.losses.append({"cause": "call ring full", "cpu": r.randrange(-1, 4), "thread": -1, "count": 5, "first_ns": t, "last_ns": t + 1,
                             "rank": r.choice(ranks + [NONE]), "region": r.choice(["", self.text()]),
                             "file": r.choice(["", self.text()]), "line": r.randrange(-1, 99)})
        for _ in range(r.randrange(3)):
            p.clocks.append({"monotonic_ns": t, "realtime_ns": 2 * t, "boottime_ns": t + 5, "error_ns": 40, "rank": r.choice(ranks + [NONE])})
        for _ in range(r.randrange(3)):
            p.rank_facts.append({"rank": r.choice(ranks + [0]), "part": r.choice(["metadata", "meta"]), "key": self.text(), "kind": 0,
                                 "text": self.text()})
        for i in range(r.choice([0, 0, 1, 4])):
            address = 2**64 - 2**31 + 4096 * i
            p.kernel_symbols.append({"address": address, "end": r.choice([0, address + 64]), "name": self.text(), "module": r.choice(["", "ext4"]),
                                     "rank": r.choice(ranks + [NONE])})

    def make_cuts(self):
        """The flags of the calls say the same, where they are stored."""
        for row in self.profile.rows:
            lowest = [flags & -flags for flags in row.columns["flags"].tolist() if flags]
            for flag in sorted(set(lowest)):
                here = self.r.randrange(lowest.count(flag))  # the others began somewhere else
                for count, line in ((here, 7), (lowest.count(flag) - here, -1)):
                    if count:
                        self.profile.cuts.append({"region": self.all_names.index(row.name), "rank": row.rank, "flag": flag, "count": count,
                                                  "line": line, "file": self.text()})

    def make_samples(self, ranks):
        p, r = self.profile, self.r
        # A call's id is unique in its rank only.
        ids = {rank: [-1, *(call for row in p.rows if row.rank == rank for call in row.columns["id"].tolist()[:9])] for rank in ranks} \
            if "id" in p.columns else {}
        for _ in range(r.choice([0, 0, 5, 200])):
            rank = r.choice(ranks or [0])
            frames = [r.randrange(2**64) for _ in range(r.choice([0, 1, 3, 100]))]
            p.samples.append({
                "time_ns": r.randrange(10**12), "thread": r.randrange(len(p.threads)) if p.threads and r.random() < 0.8 else -1,
                "region": r.randrange(-1, len(self.all_names)), "call_id": r.choice(ids.get(rank, [-1])), "ip": r.choice([0, 2**64 - 1, 4198400]),
                "module": r.randrange(-1, len(p.modules)), "kernel": r.randrange(2), "rank": rank,
                "kernel_frames": r.choice([0, r.randrange(len(frames) + 1)]), "stack_end": r.randrange(13),
                "signal_frames": r.choice([0, 1, 2**32 - 1]), "frames": frames})

    def make(self):
        c, p, r = self.choices, self.profile, self.r
        ranks = self.make_ranks()
        regions = c.regions if c.regions is not None else r.choice([0, 1, 3, 12, 40])
        self.all_names = self.names(regions) if ranks else []
        p.nested = not self.maybe(c.wild, 0.25)
        p.start_time_ns = r.choice([None, 0, 10**6, 10**15]) if p.nested else None
        self.origin = (p.start_time_ns or 0) + r.choice([0, 10**9])
        self.with_metadata = self.maybe(c.event_metadata, 0.4)
        if self.maybe(c.sp_trace):
            self.make_trace(ranks)
        p.columns = self.make_columns()
        if p.start_time_ns is not None or c.columns is not None:
            for rank in ranks:
                self.make_lanes(rank)
        extras = self.maybe(c.extras)
        budget = c.calls if c.calls is not None else r.choice([0, 10, 200, 200, 1500])
        used = set()
        for rank in ranks:
            by_region = {}
            for call in self.make_rank_calls(rank, budget if self.all_names else 0):
                by_region.setdefault(call["region"], []).append(call)
            for region in range(len(self.all_names)):
                calls = by_region.get(region, [])
                if calls or r.random() < 0.3:  # rows without calls, too
                    if p.nested:
                        calls.sort(key=lambda call: (call["start"], call["id"]))
                    p.rows.append(self.make_row(rank, region, calls))
                    used.add(region)
            if extras:
                self.make_extras(rank)
        # A region without a row is nothing that scope-profiler can read: it gets one.
        for region in range(len(self.all_names)):
            if region not in used and ranks:
                p.rows.append(self.make_row(ranks[-1], region, []))
        p.regions = self.all_names
        p.metadata = self.make_metadata(ranks)
        if p.meta is not None:
            self.make_samples(ranks)
            if "flags" in p.columns and r.random() < 0.6:
                self.make_cuts()
        return p


def column(calls, name):
    return np.array([call[name] for call in calls], np.int64)


def make(seed, **choices):
    return Maker(seed, Choices(**choices)).make()


def tags_text(row):
    return json.dumps(list(row.tags))


def metadata_text(row):
    return json.dumps(row.event_metadata) if row.event_metadata else ""
