# SPDX-License-Identifier: BSD-2-Clause
"""sp-report import has in its file what scope-profiler's own import of the same files sees, and what that loses.

Random runs: native traces of both versions and byte orders, and HDF5 files that scope-profiler wrote, mixed.
Also which directories and conflicts both refuse. Runs under the Python that SP_SCOPE_PROFILER_PYTHON names;
without it the test is skipped (77), under CI it fails.
"""
import argparse
import os
import random
import shutil
import struct
import subprocess
import sys

NAMES = ["solve", "a/b", "", "ä ö", "x" * 300, ".", "solve ", "🙂", "mpi:send kind=blocking bytes=8"]


def spt(rank, regions, version, order):
    out = b"SCOPEPRF" + struct.pack(order + "iiq", version, rank, len(regions))
    for name, (file, line, starts, ends) in regions.items():
        raw = name.encode()
        out += struct.pack(order + "i", len(raw)) + raw
        if version == 2:
            raw = file.encode()
            out += struct.pack(order + "i", len(raw)) + raw + struct.pack(order + "i", line)
        out += struct.pack(order + "q", len(starts))
        out += struct.pack(order + "%dq" % len(starts), *starts) + struct.pack(order + "%dq" % len(ends), *ends)
    return out


def random_calls(rng):
    starts, ends, now = [], [], rng.randrange(1, 1 << 40)
    for _ in range(rng.choice([0, 1, 1, 3, 40, 2000])):
        now += rng.randrange(0, 1000)
        starts.append(now)
        ends.append(now + rng.randrange(0, 500))
    return starts, ends


def random_run(rng, folder):
    """Files of distinct ranks. At least one call takes time, since scope-profiler divides by it."""
    from scope_profiler.h5writer import ProfilingWriter
    from scope_profiler.profile_manager import RankPayload
    os.makedirs(folder)
    ranks = rng.sample(range(0, 40), rng.randrange(1, 7))
    for number, rank in enumerate(ranks):
        regions = {}
        for name in rng.sample(NAMES, rng.randrange(0, len(NAMES))):
            starts, ends = random_calls(rng)
            regions[name] = (rng.choice(["", "src/a.c"]), rng.choice([-1, 0, 77]), starts, ends)
        if number == 0:
            regions["whole"] = ("main.c", 1, [5], [1 << 41])
        path = os.path.join(folder, "run_rank%05d" % rank)
        if rng.random() < 0.7:
            data = spt(rank, regions, rng.choice([1, 2]), rng.choice("<>"))
            with open(path + ".spt", "wb") as f:
                f.write(data)
        elif regions:
            metadata = {"start_time_ns": 3, "hostname": "node%d" % rank, "label": "run"}
            with ProfilingWriter(path + ".h5", metadata) as writer:
                writer.write_rank(rank, RankPayload(
                    regions={n: (to_array(r[2]), to_array(r[3])) for n, r in regions.items()}, likwid={},
                    likwid_environment={}, sources={n: (r[0], r[1], "text") for n, r in regions.items() if r[0]}))


def to_array(values):
    import numpy
    return numpy.array(values, dtype=numpy.int64)


def flat(results):
    """{(region, rank): what both must agree on}; regions without any call do not count."""
    found = {}
    for name in results.region_names:
        for rank, data in results[name].regions.items():
            found[name, int(rank)] = (list(map(int, data.start_times_ns)), list(map(int, data.end_times_ns)),
                                      data.source_file or None, data.source_lineno if data.source_file else None,
                                      data.source_text or None)
    return found


def differ(a, b):
    out = []
    for key in sorted(set(a) | set(b), key=str):
        if a.get(key) != b.get(key):
            out.append(f"{key}: {str(a.get(key))[:200]} is {str(b.get(key))[:200]}")
    return out


class Judge:
    def __init__(self, report, work):
        self.report, self.work, self.failures, self.checks = report, work, [], 0

    def check(self, good, what):
        self.checks += 1
        if not good:
            self.failures.append(what)
            print("FAILED:", what)

    def ours(self, *inputs, out="out.h5"):
        path = os.path.join(self.work, out)
        done = subprocess.run([self.report, "import", "--force", "-o", path, *inputs], capture_output=True, text=True,
                              timeout=120)
        return path, done

    def same_run(self, seed):
        from scope_profiler.h5reader import read_h5
        from scope_profiler.native_trace import load_traces
        folder = os.path.join(self.work, "run%d" % seed)
        random_run(random.Random(seed), folder)
        theirs = load_traces(folder)
        path, done = self.ours(folder)
        self.check(done.returncode == 0, f"seed {seed}: {done.stderr}")
        if done.returncode:
            return
        ours = read_h5(path)
        wrong = differ(flat(theirs), flat(ours))
        self.check(not wrong, f"seed {seed}: " + "; ".join(wrong[:3]))
        for key in ("source", "trace_format_version", "hostname"):
            mine, other = ours.metadata.get(key), theirs.metadata.get(key)
            self.check(mine == other, f"seed {seed}: {key} is {mine!r}, not {other!r}")
        label = theirs.metadata.get("label", "out")
        self.check(ours.metadata["label"] == label, f"seed {seed}: label {ours.metadata['label']!r}, not {label!r}")
        # They forget the origin that a file states; it is never after the first call.
        start = int(ours.metadata["start_time_ns"])
        self.check(start <= int(theirs.metadata["start_time_ns"]), f"seed {seed}: begins at {start}")
        shutil.rmtree(folder)

    def same_files(self):
        """Which files a directory stands for, and which are refused."""
        from scope_profiler.native_trace import TraceFormatError, find_traces, load_traces
        calls = {"solve": ("", -1, [10, 20], [15, 30])}
        folder = os.path.join(self.work, "files")
        names = {"a_rank00000.spt": 0, "b.spt": 1, ".hidden.spt": 2, "c_rank3.h5": 3, "all.h5": 4, "d_rank.h5": 5,
                 "e_rank6x.h5": 6, "notes": 7, "f_rank00008.spt2": 8, "g_rankx9.h5": 9, "_rank10.h5": 10}
        os.makedirs(os.path.join(folder, "below"))
        for name, rank in names.items():
            with open(os.path.join(folder, name), "wb") as f:
                f.write(spt(rank, calls, 2, "<"))
        shutil.copy(os.path.join(folder, "b.spt"), os.path.join(folder, "below", "x.spt"))
        wanted = sorted(names[p.name] for p in find_traces(folder))
        path, done = self.ours(folder)
        self.check(done.returncode == 0, f"files: {done.stderr}")
        from scope_profiler.h5reader import read_h5
        got = sorted(rank for _, rank in flat(read_h5(path)))
        self.check(got == wanted, f"the directory stands for the ranks {got}, not {wanted}")
        one, two = os.path.join(folder, "b.spt"), os.path.join(folder, "below", "x.spt")
        _, done = self.ours(one, folder, one, os.path.join(folder, "below", "..", "notes"))
        self.check(done.returncode == 0, f"paths that are there twice: {done.stderr}")
        try:
            load_traces([one, two])
            self.check(False, "scope-profiler takes two files of one rank")
        except TraceFormatError:
            pass
        _, done = self.ours(one, two)
        self.check(done.returncode == 1 and one in done.stderr and two in done.stderr and "rank 1" in done.stderr,
                   f"two files of one rank: {done.stderr}")


def run(args):
    judge = Judge(os.path.abspath(args.report), os.path.abspath(args.work))
    for seed in range(args.first, args.first + args.seeds):
        judge.same_run(seed)
    judge.same_files()
    print(f"{judge.checks} checks, {len(judge.failures)} failed")
    sys.exit(bool(judge.failures) or not judge.checks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--inside", action="store_true")
    args = parser.parse_args()
    python = os.environ.get("SP_SCOPE_PROFILER_PYTHON")
    if args.inside:
        run(args)
    if not python:
        print("SP_SCOPE_PROFILER_PYTHON is not set: no scope-profiler to compare with")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    shutil.rmtree(args.work, ignore_errors=True)
    os.makedirs(args.work)
    sys.exit(subprocess.run([python, "-B", *sys.argv, "--inside"]).returncode)


main()
