#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""throttled.py - samples that the kernel throttles are counted: recorded and throttled ones together are what
was due, and the spans are those that a perf event of our own, of the same rate, is told of.

The kernel's limit of the rate is lowered for half a second, after the events were opened.
"""
import contextlib
import ctypes
import mmap
import os
import pathlib
import platform
import struct
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import PROGRAMS, SP_REPORT, check, contains, equal, lost, main, need_root, real_time, report, run, \
    skip, start, start_trace, stop_trace
from journal import Journal

need_root()
HZ, LOWERED = 10000, 2000
LIMIT = pathlib.Path("/proc/sys/kernel/perf_event_max_sample_rate")
NOT_TAKEN, THROTTLED = "sample not taken", 13  # in reports, and in journals: SP_LOSS_SAMPLE_THROTTLED
CPU = max(os.sched_getaffinity(0))  # the program's
TIMES = 3  # what else runs here may be given the program's CPU meanwhile


class Judge:
    """A sampling event on the CPU, with a ring of its own, which says when it was throttled."""
    PAGES = 256
    CYCLES, CPU_CLOCK = (0, 0), (1, 0)
    DISABLED, EXCLUDE_IDLE, FREQ, CLOCK = 1 << 0, 1 << 7, 1 << 10, 1 << 25
    ENABLE, DISABLE, THROTTLE, UNTHROTTLE = 0x2400, 0x2401, 5, 6

    def __init__(self, cpu):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self._open(self.CYCLES, cpu)
        self.cycles = self.fd >= 0
        if not self.cycles:
            self.fd = self._open(self.CPU_CLOCK, cpu)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "cannot open an event")
        self.ring = mmap.mmap(self.fd, (self.PAGES + 1) * mmap.PAGESIZE)
        self._control(self.ENABLE)

    def _open(self, event, cpu):
        # perf_event_attr: type, size, config, rate, no fields in samples, …, flags, …, clock.
        attr = struct.pack("=IIQQQQQ44xiQIHH", event[0], 112, event[1], HZ, 0, 0,
                           self.DISABLED | self.EXCLUDE_IDLE | self.FREQ | self.CLOCK, time.CLOCK_MONOTONIC, 0, 0, 0, 0)
        number = {"x86_64": 298, "aarch64": 241}[platform.machine()]
        return self.libc.syscall(number, attr, -1, cpu, -1, 8)

    def _control(self, what):
        if self.libc.ioctl(self.fd, what, 0):
            raise OSError(ctypes.get_errno(), "ioctl")

    def spans(self):
        """[(begin, end)] in ns, of the CPU; the event ends."""
        self._control(self.DISABLE)
        head = struct.unpack_from("Q", self.ring, 1024)[0]
        data, found, since, at = self.ring[mmap.PAGESIZE:mmap.PAGESIZE + head], [], None, 0
        if head > self.PAGES * mmap.PAGESIZE:
            raise RuntimeError("the judge's ring is too small")
        while at < len(data):
            kind, _, size = struct.unpack_from("IHH", data, at)
            moment = struct.unpack_from("Q", data, at + 8)[0] if kind in (self.THROTTLE, self.UNTHROTTLE) else 0
            if kind == self.THROTTLE:
                since = moment
            elif kind == self.UNTHROTTLE and since:
                found.append((since, moment))
                since = None
            at += size
        self.ring.close()
        os.close(self.fd)
        return found


@contextlib.contextmanager
def lowered_limit():
    before = LIMIT.read_text()
    LIMIT.write_text(str(LOWERED))
    try:
        yield
    finally:
        LIMIT.write_text(before)


def cpu_time(pid):
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def not_taken(events):
    """The gaps; that the recording began inside of a call, whose end then has no begin, is none of them."""
    return [e for e in events if e["event"] == "loss" and e["cause"] == THROTTLED]


def record(into, program, throttle):
    """What was due by the program's processor time and by the clock, samples, gaps, the judge's spans, and
    what sp-trace said."""
    tracer = start_trace("-F", HZ, "--stacks", "leaf", "--keep-journal", "-o", into, pid=program.pid)
    judge = Judge(CPU)
    begin_cpu, begin = cpu_time(program.pid), time.monotonic_ns()
    with lowered_limit() if throttle else contextlib.nullcontext():
        time.sleep(0.5)
    time.sleep(0.05)  # a timer tick, after which nothing is throttled
    end_cpu, end = cpu_time(program.pid), time.monotonic_ns()
    spans, said = judge.spans(), stop_trace(tracer)
    events = list(Journal(into / "journal.spj").events())
    samples = sum(e["event"] == "sample" and begin <= e["time"] < end for e in events)
    gaps = not_taken(events)
    due = (HZ * (end_cpu - begin_cpu) / 1e9, HZ * (end - begin) / 1e9)
    return due, samples, gaps, spans, said, judge.cycles


def pinned():
    if not os.access(LIMIT, os.W_OK) or int(LIMIT.read_text()) < HZ:
        skip(f"needs {LIMIT} of {HZ} or more, and may change it")
    program = start(["taskset", "-c", CPU, PROGRAMS / "shares", 30])
    while not os.readlink(f"/proc/{program.pid}/exe").endswith("/shares"):
        time.sleep(0.01)
    return program


@real_time
def throttled(into):
    program = pinned()
    for turn in range(TIMES):
        (cpu_due, clock_due), samples, gaps, spans, said, cycles = record(into / f"{turn}", program, True)
        here = [g for g in gaps if g["cpu"] == CPU]
        count = sum(g["count"] for g in here)
        print(f"{clock_due:.0f} due by the clock, {cpu_due:.0f} by processor time; {samples} recorded, {count} not "
              f"taken in {len(here)} spans; the judge: {sum(e - b for b, e in spans) * HZ / 1e9:.0f} in {len(spans)}")
        # The frequency of cycles is steered by the kernel, which a throttled event misleads.
        off = 0.3 if cycles else 0.1
        if samples + count >= (1 - off) * cpu_due:
            break
    check(spans, "the judge was not throttled")
    check(count > 0, f"nothing is missing: {gaps}")
    check((1 - off) * cpu_due <= samples + count <= (1 + off) * clock_due,
          f"{samples} recorded and {count} throttled, of {cpu_due:.0f} (of {clock_due:.0f} by the clock)")
    told = sum(e - b for b, e in spans) * HZ / 1e9
    check(abs(count - told) <= 0.1 * told + len(spans) / 2, f"{count} not taken; the judge says {told:.0f}")
    check(all(g["first"] < g["last"] < g["first"] + 1e9 for g in here), f"spans without an end: {here[:5]}")
    everywhere = sum(g["count"] for g in gaps)
    equal(lost(said), everywhere, "what sp-trace says is lost")
    # All of it is in the files.
    losses = report("dump", "--section", "losses", next((into / f"{turn}").glob("*.h5")))["losses"]
    equal(sum(row["count"] for row in losses if row["cause"] == NOT_TAKEN), everywhere, "losses in the file")
    verified = run([SP_REPORT, "verify", into / f"{turn}"])
    equal(verified.returncode, 3, "status of verify")
    contains(run([SP_REPORT, "info", into / f"{turn}"]).stdout, NOT_TAKEN, "use a lower -F")


@real_time
def still_throttled(into):
    """The recording ends while the kernel throttles: what is missing until then is counted."""
    program = pinned()
    tracer = start_trace("-F", HZ, "--stacks", "none", "--keep-journal", "-o", into / "out", pid=program.pid)
    with lowered_limit():
        time.sleep(0.1)
        tracer.terminate()
        time.sleep(0.3)
    said = stop_trace(tracer)
    events = list(Journal(into / "out/journal.spj").events())
    stop = [e["time"] for e in events if e["event"] == "end"]
    gaps = not_taken(events)
    check(gaps, f"nothing is missing: {said}")
    check(all(g["first"] <= g["last"] <= stop[0] for g in gaps), f"a gap goes on after the end at {stop}: {gaps[-5:]}")


@real_time
def not_throttled(into):
    """Where the kernel throttles nothing, nothing is missing."""
    _, samples, gaps, spans, said, _ = record(into / "out", pinned(), False)
    if not spans:
        equal((gaps, lost(said)), ([], 0), "gaps")
    check(samples > 0, "no samples")


main(throttled, still_throttled, not_throttled)
