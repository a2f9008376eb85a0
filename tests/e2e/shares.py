#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""shares.py - samples at 997 Hz over 5 s fall on regions as their processor time does, within 3
percentage points; those outside of all regions are kept, and counted in the ticks of the .sps file."""
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import PROGRAMS, check, equal, main, need_root, need_scope_profiler, recorded, report, trace

need_root()
need_scope_profiler()
from recording import Profile

from scope_profiler.native_samples import read_samples

OFF = 0.03
LATE_NS = 100_000


def compare(told, samples, what):
    total = sum(samples.values())
    check(3000 <= total <= 6000, f"{what}: {total} samples in 5 s of processor time")
    for name, share in told.items():
        seen = samples.get(name, 0) / total
        print(f"{what}: {name or '(no region)'}: {seen:.3f} of {total} samples, {share:.3f} of the time")
        check(abs(seen - share) <= OFF, f"{what}: {name} has {seen:.3f} of the samples, {share:.3f} of the time")
    equal(set(samples), set(told), f"{what}: regions with samples")


def shares(into):
    done = trace("-F", "997", "-o", into / "out", "--", PROGRAMS / "shares", 5)
    equal(done.returncode, 0, "status")
    told = {}
    for line in done.stdout.splitlines():
        _, name, share = line.split()
        told[None if name == "-" else name] = float(share)
    equal(len(told), 5, "regions")
    profile = Profile(into / "out/shares_rank00000.h5")
    samples = profile.samples()
    # The program's start and end (exec, the dynamic linker) are outside, too: little of 5 s.
    compare(told, samples, "h5")
    equal(sum(samples.values()), recorded(done.stderr)[1], "samples in the file")
    sps = read_samples(into / "out/shares_rank00000.sps")
    equal((sps.rank, sps.hz), (0, 997), "rank and rate of the .sps file")
    equal(sps.ticks, sum(samples.values()), "ticks of the .sps file")
    counted = {}
    for row in sps.samples.tolist():
        name = sps.regions[row[0]]
        counted[name] = counted.get(name, 0) + 1
    equal(counted, {n: c for n, c in samples.items() if n}, "samples of regions in the .sps file")
    inside = (profile.sample_call >= 0) & (profile.sample_region >= 0)
    call = {int(c): i for i, c in enumerate(profile.id)}
    rows = [call.get(int(c), -1) for c in profile.sample_call[inside]]
    check(-1 not in rows, "samples of calls that are not in the file")
    times = profile.sample_time[inside].astype("int64")
    # A sample may interrupt the end probe, after the region's end was read and before it is done.
    wrong = [int(t) for t, r in zip(times, rows) if not profile.start[r] <= t <= profile.end[r] + LATE_NS]
    equal(wrong, [], "times of samples outside the call that they are said to be in")
    # Three lines of arithmetic take all the time: sp-report lines must find this file.
    hottest = report("lines", into / "out")
    check("shares.c" in str(hottest), "sp-report lines does not name shares.c")


main(shares)
