# SPDX-License-Identifier: BSD-2-Clause
"""stamps.py - reads the log of programs/stamps.h, and holds a recording against it."""
import numpy as np

from e2e import check, equal, short

HEADER = np.dtype([("magic", "<u8"), ("stop", "<u4"), ("go", "<u4"), ("capacity", "<u8"), ("count", "<u8")])
LANE = np.dtype([("pid", "<u4"), ("tid", "<u4"), ("used", "<u8"), ("checksum", "<u8")])
STAMP = np.dtype([("before_begin", "<i8"), ("after_begin", "<i8"), ("before_end", "<i8"),
                  ("after_end", "<i8"), ("region", "<u4"), ("parent", "<u4")])
LANES = 64
MAGIC = 0x31504D4154535053
LITERALS = ["outer", "middle: 100 %, {a|b}", "leaf", "recurse"]
FIRST_NAME = 8
NAMES = {i: n for i, n in enumerate(LITERALS)} | {FIRST_NAME + i: f'name "{i}" ä' for i in range(16)}


class Log:
    """A live view of the log."""

    def __init__(self, path):
        self.map = np.memmap(path, np.uint8, "r+")
        self.header = self.map[:HEADER.itemsize].view(HEADER)[0]
        at = HEADER.itemsize
        self.lanes = self.map[at:at + LANES * LANE.itemsize].view(LANE)
        self.at = at + LANES * LANE.itemsize

    def stamps(self, lane):
        """A copy of the slots that are in use."""
        size = int(self.header["capacity"]) * STAMP.itemsize
        at = self.at + lane * size
        used = int(self.lanes[lane]["used"])
        return np.array(self.map[at:at + used * STAMP.itemsize].view(STAMP))

    def count(self):
        return int(self.header["count"])

    def total(self):
        return int(self.lanes["used"].sum())

    def stop(self):
        self.map[8:12].view("<u4")[0] = 1

    def go(self):
        self.map[12:16].view("<u4")[0] = 1


def ready(path):
    """The log, once the program has made it; else None."""
    try:
        log = Log(path)
        return log if log.header["magic"] == MAGIC and log.lanes["tid"][:log.count()].all() else None
    except (OSError, ValueError, IndexError):
        return None


def after_begin(stamps):
    """The stamp behind each begin. The last call of a thread that was killed may lack it: it died between
    the probe and the stamp, so any time after the stamp before it will do."""
    after = stamps["after_begin"].copy()
    missing = np.flatnonzero(after == 0)
    check(set(missing.tolist()) <= {len(stamps) - 1}, f"stamps that are missing before the last: {missing[:3]}")
    after[missing] = np.iinfo(after.dtype).max
    return after


def split_tail(profile, stamps, rows, until, tid):
    """Rows of the outermost calls that ended before a time, and of what is inside them. The others, of
    which some may be missing, must still be calls that the program made."""
    late = stamps[(stamps["parent"] == 0) & ((stamps["after_end"] > until) | (stamps["after_end"] == 0))]
    if not len(late):
        return rows
    is_late = profile.start[rows] >= late["before_begin"][0]
    start = profile.start[rows[is_late]]
    at = np.searchsorted(stamps["before_begin"], start, side="right") - 1
    slots = stamps[at]
    invented = (start < slots["before_begin"]) | (start > after_begin(stamps)[at])
    check(not invented.any(), f"{invented.sum()} of the last {len(start)} calls of thread {tid} are invented")
    equal(len(set(slots["before_begin"].tolist())), len(start), f"distinct last calls of thread {tid}")
    return rows[~is_late]


def split_before(profile, stamps, rows, tid):
    """Rows without the calls that began before the recording, and {slot: row} of those: they must be calls
    that were open then, and end where their stamps say. Begins are seen from the first recorded one on."""
    is_before = profile.flags[rows] & 32 != 0
    seen = profile.start[rows[~is_before]].min(initial=np.iinfo(np.int64).max)
    found = {}
    for row in rows[is_before]:
        end = int(profile.end[row])
        slots = np.flatnonzero((stamps["before_end"] <= end) & (end <= stamps["after_end"]))
        name = profile.names[profile.region[row]]
        if check(len(slots) == 1 and NAMES[int(stamps["region"][slots[0]])] == name and
                 stamps["before_begin"][slots[0]] < seen,
                 f"thread {tid}: {name}, begun before the recording, ends at {end}, as no call of the program does"):
            found[int(slots[0])] = row
    return rows[~is_before], found


def compare_lane(profile, log, lane, whole=True, until=None):
    """Holds one thread's recorded calls against its stamps. `whole`: every call of the program must be
    there; else a contiguous part of them, of which the range of slots is returned. `until`: a time after
    which some may be missing."""
    tid = int(log.lanes[lane]["tid"])
    stamps = log.stamps(lane)
    rows = np.flatnonzero(profile.tid == tid)
    rows = rows[np.argsort(profile.start[rows], kind="stable")]
    befores = {}
    if not whole:
        rows, befores = split_before(profile, stamps, rows, tid)
    if until:
        rows = split_tail(profile, stamps, rows, until, tid)
    if not check(len(rows), f"thread {tid} has no calls"):
        return 0, 0
    start, end = profile.start[rows], profile.end[rows]
    first = int(np.searchsorted(stamps["before_begin"], start[0], side="right")) - 1
    if whole:
        equal(len(rows), len(stamps), f"calls of thread {tid}")
        equal(first, 0, f"first call of thread {tid}")
    if first < 0 or first + len(rows) > len(stamps):
        check(False, f"thread {tid}: {len(rows)} calls from slot {first} of {len(stamps)}: some are invented")
        return 0, 0
    part = stamps[first:first + len(rows)]
    outside = (start < part["before_begin"]) | (start > after_begin(stamps)[first:first + len(rows)])
    check(not outside.any(), f"{outside.sum()} of {len(rows)} starts of thread {tid} are not between their "
          f"stamps, first at {first + int(np.argmax(outside))}")
    closed = part["after_end"] > 0
    normal = closed & (profile.flags[rows] & 15 == 0)
    outside = normal & ((end < part["before_end"]) | (end > part["after_end"]))
    check(not outside.any(), f"{outside.sum()} ends of thread {tid} are not between their stamps")
    names = np.array([NAMES[r] for r in part["region"]], object)
    wrong = names != np.array(profile.names, object)[profile.region[rows]]
    check(not wrong.any(), f"{wrong.sum()} calls of thread {tid} bear another name")
    compare_tree(profile, rows, part, first, tid, {slot: profile.id[row] for slot, row in befores.items()}, stamps)
    return first, first + len(rows)


def around_from_before(stamps, slot, befores):
    """Id of the innermost call around a slot that began before the recording and is in it, -1 none."""
    while slot >= 0:
        if slot in befores:
            return befores[slot]
        slot = int(stamps["parent"][slot]) - 1
    return -1


def compare_tree(profile, rows, part, first, tid, befores, stamps):
    """Parents as the program nested them; child time the exact sum of direct children."""
    ids = profile.id[rows]
    equal(len(set(ids.tolist())), len(ids), f"distinct call ids of thread {tid}")
    parent = part["parent"].astype(np.int64) - 1 - first  # row, negative: none, or before the recording
    wanted = np.where(parent >= 0, ids[np.maximum(parent, 0)], -1)
    for i in np.flatnonzero(parent < 0) if befores else ():
        wanted[i] = around_from_before(stamps, int(parent[i]) + first, befores)
    wrong = profile.parent[rows] != wanted
    check(not wrong.any(), f"{wrong.sum()} calls of thread {tid} have another parent, first "
          f"{short(list(zip(profile.parent[rows][wrong][:3], wanted[wrong][:3])))}")
    duration = profile.end[rows] - profile.start[rows]
    sums = np.zeros(len(rows), np.int64)
    inside = parent >= 0
    np.add.at(sums, parent[inside], duration[inside])
    wrong = profile.child[rows] != sums
    check(not wrong.any(), f"{wrong.sum()} calls of thread {tid} have another child time than the sum of "
          f"their children, first {short(list(zip(profile.child[rows][wrong][:3], sums[wrong][:3])))}")


def compare_exclusive(profile):
    """The stored self time and statistics of each region are those of its calls."""
    own = profile.end - profile.start - profile.child
    for i, name in enumerate(profile.names):
        mine = profile.region == i
        durations = (profile.end - profile.start)[mine]
        equal(profile.exclusive[name], int(own[mine].sum()), f"self time of {name}")
        row = profile.statistics[name]
        equal((int(row["total"]), int(row["minimum"]), int(row["maximum"])),
              (int(durations.sum()), int(durations.min()), int(durations.max())), f"statistics of {name}")
