# SPDX-License-Identifier: BSD-2-Clause
"""recording.py - a recording's HDF5 file, read with h5py and numpy, without any code of ours.

Calls are rows in the order of the file: name, start, end, id, parent, thread, native thread id, child
time, flags.
"""
import h5py
import numpy as np


def text(values):
    return [v.decode() if isinstance(v, bytes) else v for v in values]


class Profile:
    def __init__(self, path):
        with h5py.File(path) as file:
            self._read(file)

    def _read(self, file):
        index = file["rank_region_index"]
        self.names = text(file["region_table/names"][:])
        counts, offsets = index["event_counts"][:].astype(int), index["event_offsets"][:].astype(int)
        ids = index["region_ids"][:].astype(int)
        total = int(counts.sum())
        self.start = np.zeros(total, np.int64)
        self.region = np.zeros(total, np.int64)
        deltas = file["events/start_deltas"][:]
        for region, offset, count in zip(ids, offsets, counts):
            self.start[offset:offset + count] = np.cumsum(deltas[offset:offset + count])
            self.region[offset:offset + count] = region
        self.end = self.start + file["events/durations"][:]
        self.id = file["events/call_ids"][:]
        self.parent = file["events/parent_ids"][:]
        self.thread = file["events/thread_ids"][:]
        extra = file["sp_trace/calls"]
        self.child = extra["child_ns"][:]
        self.flags = extra["flags"][:]
        self.skipped = extra["skipped"][:]
        self.depth = extra["depth"][:]
        table = file.get("thread_table")  # none: neither calls nor samples
        by_index = dict(zip(table["index"][:].tolist(), table["native_id"][:].tolist())) if table else {}
        self.threads = sorted(by_index.values())
        self.thread_rows = table["native_id"][:].tolist() if table else []
        self.tid = np.array([by_index[t] for t in self.thread.tolist()], np.int64)
        self.exclusive = dict(zip(text([self.names[i] for i in ids]), index["exclusive_totals"][:].tolist()))
        self.statistics = dict(zip([self.names[i] for i in ids], index["summary_statistics"][:]))
        self.tags = dict(zip([self.names[i] for i in ids], text(index["tags"][:])))
        self.lines = dict(zip([self.names[i] for i in ids], index["source_lines"][:].tolist()))
        self.source_files = dict(zip([self.names[i] for i in ids], text(index["source_files"][:])))
        samples = file.get("sp_trace/samples")
        self.sample_region = samples["region"][:] if samples else np.zeros(0, np.int64)
        self.sample_call = samples["call_id"][:] if samples else np.zeros(0, np.int64)
        self.sample_time = samples["time_ns"][:] if samples else np.zeros(0, np.int64)
        self.meta = dict(file["sp_trace/meta"].attrs)
        self.metadata = dict(file["metadata"].attrs)
        table = file.get("sp_trace/processes")  # none: the recorder died before it wrote of any
        self.processes = [(int(pid), exe) for pid, exe in
                          zip(table["pid"][:], text(table["exe"][:]))] if table else []
        losses = file.get("sp_trace/losses")
        self.losses = {k: losses[k][:].tolist() for k in losses} if losses else {}

    def count(self):
        """Calls by name."""
        return {name: int((self.region == i).sum()) for i, name in enumerate(self.names)}

    def samples(self):
        """Samples by region name; None: outside."""
        found = {name: int((self.sample_region == i).sum()) for i, name in enumerate(self.names)}
        found = {name: n for name, n in found.items() if n}
        outside = int((self.sample_region < 0).sum())
        return {**found, None: outside} if outside else found
