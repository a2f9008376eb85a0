# SPDX-License-Identifier: BSD-2-Clause
"""unwinding.py - the stacks in a kept journal, with names from nm: none of our own symbol code."""
import bisect
import json
import pathlib
import subprocess

from e2e import SP_REPORT, good

COMPLETE, PENDING, BUSY = 1, 5, 11  # enum sp_stack_end of formats/wire.h


class Symbols:
    """Functions of a file, by link-time address."""

    def __init__(self, path):
        found = []
        for dynamic in ((), ("-D",)):
            said = subprocess.run(["nm", "-n", "--defined-only", *dynamic, path], capture_output=True, text=True).stdout
            found += [(int(f[0], 16), f[2].split("@")[0]) for f in map(str.split, said.splitlines())
                      if len(f) == 3 and f[1] in "tTwWiu"]
        self.all = sorted(found)
        self.starts = [a for a, _ in self.all]

    def name(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        return self.all[i][1] if i >= 0 else "?"


class Stacks:
    """Samples of a recording: `samples` are dicts of the journal, with their time since the image began.
    `files` says where a path's symbols are, if not there."""

    def __init__(self, directory, files={}):
        journal = next(pathlib.Path(directory).glob("*.spj"))
        self.events = json.loads(good([SP_REPORT, "dump", "--json", journal]).stdout)["events"]
        self.meta = {e["text"][0]: e["text"][1] for e in self.of("meta") if len(e["text"]) > 1}
        self.files, self.cache = files, {}
        self.maps, self.segments, self.parent, self.born = {}, {}, {}, {}
        self.images = {(e["device"], e["inode"]): e for e in self.of("image")}
        for e in self.of("segment"):
            self.segments.setdefault(e["image"], []).append(e)
        for e in self.of("map"):
            self.maps.setdefault(e["process"], []).append(e)
        for e in self.of("task"):
            if e["process"] not in self.born:
                self.born[e["process"]] = e["time"]
                self.parent[e["process"]] = e["parent_process"] if e["cause"] == 2 else 0
        self.samples = list(self.of("sample"))
        copies = {(e["lane"], e["time"]) for e in self.of("stack_copy")}
        for s in self.samples:
            s["copied"] = (s["lane"], s["time"]) in copies  # too early for tables: libdw's, in the files
            s["since"] = s["time"] - self.born.get(s["process"], s["time"])

    def of(self, kind):
        return (e for e in self.events if e["event"] == kind)

    def find_map(self, process, address, time):
        """The last mapping that covers the address, of the process or of those that it was forked from."""
        while process:
            found = [m for m in self.maps.get(process, ()) if m["start"] <= address < m["end"] and m["time"] <= time]
            if found:
                return max(found, key=lambda m: m["time"])
            time, process = self.born.get(process, time), self.parent.get(process, 0)
        return None

    def name(self, process, address, time):
        key = (process, address, time if process in self.reloading else 0)
        if key not in self.cache:
            self.cache[key] = self.look_up(process, address, time)
        return self.cache[key]

    reloading = ()  # processes in which an address is not the same thing at all times

    def look_up(self, process, address, time):
        m = self.find_map(process, address, time)
        if not m:
            return "?"
        path = m["text"][0]
        image = self.images.get((m["device"], m["inode"]))
        if not image:
            return path.rpartition("/")[2]
        offset = address - m["start"] + m["file_offset"]
        for s in self.segments.get(image["image"], ()):
            if s["file_offset"] <= offset < s["file_offset"] + s["file_size"]:
                return self.symbols(path).name(offset - s["file_offset"] + s["address"])
        return path.rpartition("/")[2]

    def symbols(self, path):
        path = str(self.files.get(path, path))
        if path not in self.cache:
            self.cache[path] = Symbols(path)
        return self.cache[path]

    def names(self, sample):
        """Functions of a sample's user stack, innermost first. Callers are looked up before the return."""
        stack = sample["stack"][sample["kernel_frames"]:]
        exact = sample["signal_frames"] | 1
        return [self.name(sample["process"], a - (0 if i < 32 and exact >> i & 1 else 1), sample["time"])
                for i, a in enumerate(stack)]

    def user(self):
        """Samples that have a user stack at all."""
        return [s for s in self.samples if s["stack_end"] != BUSY]

    def complete(self, samples=None):
        """Share of stacks that say they are whole."""
        user = self.user() if samples is None else samples
        return sum(s["stack_end"] == COMPLETE for s in user) / len(user) if user else 0

    def settled(self, seconds):
        """Samples of images that are so old, and mapped nothing for so long."""
        times = {p: sorted([self.born.get(p, 0)] + [m["time"] for m in maps]) for p, maps in self.maps.items()}

        def is_settled(s):
            before = times.get(s["process"], [self.born.get(s["process"], 0)])
            i = bisect.bisect_right(before, s["time"])
            return i == 0 or s["time"] - before[i - 1] > seconds * 1e9
        return [s for s in self.user() if is_settled(s)]

    def ends(self):
        found = {}
        for s in self.samples:
            found[s["stack_end"]] = found.get(s["stack_end"], 0) + 1
        return found
