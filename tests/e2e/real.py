#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""real.py - a program of the distribution as it is: LAMMPS, stripped, without probes and frame pointers. Its
stacks reach the start of the program or of the thread in 99 % of the samples, functions that its library
exports have their names, and the ten hottest functions have the shares that perf sees in the same run."""
import collections
import functools
import os
import re
import struct
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (SOURCE, SP_REPORT, SP_TRACE, check, equal, good, main, need_root, need_scope_profiler,
                 need_tool, not_sanitized, recorded, trace)

need_root()
need_scope_profiler()
need_tool("lmp", "perf")
import h5py

INPUT = SOURCE / "tests/e2e/programs/lammps.in"
COMPLETE = 1
STEPS = 1500
START_BYTES = 0x40  # _start is shorter than that


def command(steps=STEPS):
    return ["lmp", "-in", INPUT, "-var", "steps", steps, "-log", "none"]


def environment():
    """One process, no threads, no network: what is measured is LAMMPS."""
    return dict(os.environ, OMP_NUM_THREADS="1", OMPI_MCA_btl="self", OMPI_ALLOW_RUN_AS_ROOT="1",
                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


@functools.lru_cache(None)
def entry_of(path):
    """Where the program begins, or the dynamic linker."""
    try:
        with open(path, "rb") as f:
            return struct.unpack("<Q", f.read(32)[24:32])[0]
    except (OSError, struct.error):
        return 0


def outermost(file):
    """(stack_end, outermost frame, module rows) of all samples."""
    samples = file["sp_trace/samples"]
    frames = file["sp_trace/stack_frames"] if "sp_trace/stack_frames" in file else samples["stack_frames"]
    ends = samples["stack_end"][:].tolist()
    offsets = samples["stack_offsets"][:].astype(int).tolist() + [len(frames)]
    frames = frames[:]
    last = [int(frames[offsets[i + 1] - 1]) if offsets[i + 1] > offsets[i] else 0 for i in range(len(ends))]
    modules = file["sp_trace/modules"]
    rows = list(zip([p.decode() for p in modules["path"][:]], modules["start"][:].tolist(), modules["end"][:].tolist(),
                    modules["bias"][:].tolist()))
    return ends, last, rows


def whole(into):
    """Stacks of main threads end in the entry of the program or of the dynamic linker, as their ELF headers say."""
    done = trace("-F", "997", "-o", into / "out", "--", *command(), env=environment())
    equal(done.returncode, 0, f"status; it said {done.stderr}")
    count = recorded(done.stderr)[1]
    check(count > 500, f"only {count} samples")
    with h5py.File(into / "out/lmp_rank00000.h5") as file:
        ends, last, modules = outermost(file)
    equal(len(ends), count, "samples in the file")
    complete = sum(end == COMPLETE for end in ends)
    started = 0
    for end, address in zip(ends, last):
        for path, start, stop, bias in modules:
            entry = entry_of(path) if start <= address < stop else 0
            if entry and entry <= address - bias <= entry + START_BYTES:
                started += end == COMPLETE
                break
    others = collections.Counter(end for end in ends if end != COMPLETE)
    print(f"{count} samples, {complete} complete, {started} from an entry point, else {dict(others)}")
    check(complete >= 0.99 * count, f"{complete} of {count} stacks are complete; the others end by {dict(others)}")
    # Threads start elsewhere; those of MPI sleep nearly always.
    check(started >= 0.98 * count, f"{started} of {count} stacks begin at an entry point")


def shares_of(counts):
    total = sum(counts.values())
    return {name: n / total for name, n in counts.items()}


def plain(name):
    """Without parameters and what stands behind them, so that two demanglers can be compared."""
    name = re.sub(r"\s*\[\.?k?\]\s*", "", name)
    name = re.sub(r"\[clone.*|@.*", "", name)
    return re.sub(r"\(.*", "", name).strip()


@not_sanitized("shares of time, which a recorder many times slower shifts by its own work")
def hottest(into):
    """perf samples the same run; sp-trace runs within, and is not counted."""
    data = into / "perf.data"
    good(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "997", "--call-graph", "dwarf,16384", "-o", data, "--",
          SP_TRACE, "-q", "-F", "997", "-o", into / "out", "--", *command(3 * STEPS)], env=environment(), timeout=300)
    said = good(["perf", "report", "-i", data, "--stdio", "--no-children", "--no-inline", "-g", "none", "--comm", "lmp",
                 "-F", "sample,symbol", "-t", "\t"], timeout=300).stdout
    perf = collections.Counter()
    for line in said.splitlines():
        if line.strip() and not line.startswith("#"):
            number, name = line.split("\t", 1)
            perf[plain(name.replace("[.]", ""))] += int(number)
    ours = collections.Counter()
    for line in good([SP_REPORT, "export", "folded", "--no-inline", "-o", "-", into / "out"]).stdout.splitlines():
        stack, number = line.rsplit(" ", 1)
        ours[plain(stack.split(";")[-1])] += int(number)
    check(sum(perf.values()) > 1000 and sum(ours.values()) > 1000, f"samples: {sum(perf.values())} and {sum(ours.values())}")
    perf, ours = shares_of(perf), shares_of(ours)
    for name, share in sorted(perf.items(), key=lambda item: -item[1])[:10]:
        print(f"{share:6.3f} by perf, {ours.get(name, 0):6.3f} by sp-trace: {name}")
        if name.startswith("0x"):
            continue  # perf knows no name either
        check(abs(share - ours.get(name, 0)) <= 0.02, f"{name}: {share:.3f} by perf, {ours.get(name, 0):.3f} by sp-trace")
    names = [n for n in sorted(ours, key=ours.get, reverse=True)[:10] if "LAMMPS_NS::" in n]
    check(len(names) >= 3, f"functions of LAMMPS among the hottest ten: {names}")


main(whole, hottest)
