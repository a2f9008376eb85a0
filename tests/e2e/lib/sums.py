# SPDX-License-Identifier: BSD-2-Clause
"""sums.py - starts programs/sums.c, and judges it: what it computed, what it fired, its semaphores."""
import mmap
import os
import struct

from e2e import LONG, PROGRAMS, all_zero, check, equal, finish, semaphores, short, start, wait_for

SUMS = PROGRAMS / "sums"
MAGIC = 0x31534D5553505321
HEADER = struct.Struct("<QIIIIIIQ")
LANE = struct.Struct("<IIQQQQQ")
FACTOR, ADDEND, MASK = 6364136223846793005, 1442695040888963407, (1 << 64) - 1
ZERO = {"begin": 0, "end": 0}


def sum_after(seed, steps):
    """The sum's state after so many steps: x → factor · x + addend, by repeated squaring."""
    factor, addend, total_factor, total_addend = FACTOR, ADDEND, 1, 0
    while steps:
        if steps & 1:
            total_addend = (factor * total_addend + addend) & MASK
            total_factor = factor * total_factor & MASK
        addend = (factor + 1) * addend & MASK
        factor = factor * factor & MASK
        steps >>= 1
    return (total_factor * seed + total_addend) & MASK


class Lane:
    def __init__(self, number, values):
        self.number = number
        self.pid, self.tid, self.entered, self.left, self.steps, self.state, self.done = values


class Ledger:
    """A live view of what a program says of itself."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), os.fstat(file.fileno()).st_size)

    def _header(self):
        return HEADER.unpack_from(self.map)

    def ready(self):
        return self._header()[0] == MAGIC

    def _set(self, at):
        struct.pack_into("<I", self.map, at, 1)

    def go(self):
        self._set(8)

    def stop(self):
        self._set(12)

    def leave(self):
        self._set(16)

    def refused(self):
        return self._header()[5]

    def done(self):
        return self._header()[6]

    def lanes(self):
        return [Lane(i, LANE.unpack_from(self.map, HEADER.size + i * LANE.size)) for i in range(self._header()[4])]

    def entered(self):
        return sum(lane.entered for lane in self.lanes())

    def left(self):
        return sum(lane.left for lane in self.lanes())


def _ready(path):
    try:
        ledger = Ledger(path)
        return ledger if ledger.ready() else None
    except (OSError, ValueError, struct.error):
        return None


def wait_ledger(path):
    return wait_for(lambda: _ready(path), "the program's ledger")


def start_sums(into, *arguments, name="ledger", **options):
    """The program, waiting to go. Gives it and its ledger."""
    target = start([SUMS, into / name, *arguments], **options)
    ledger = wait_ledger(into / name)
    equal(semaphores(target.pid, SUMS), ZERO, "semaphores before")
    return target, ledger


def check_sums(ledger, killed=()):
    """All that it computed is right. `killed`: pids of which a call may be half done."""
    for lane in ledger.lanes():
        if lane.pid not in killed:
            equal(lane.entered, lane.left, f"calls of lane {lane.number} that have ended")
            equal(lane.state, sum_after(lane.number + 1, lane.steps), f"sum of lane {lane.number}")


def check_disarmed(target, program=SUMS, seconds=60):
    """Its semaphores are back to what they were."""
    wait_for(lambda: all_zero(target.pid, program), "semaphores back to 0", seconds)


def end_sums(target, ledger):
    """Lets it go to its end, which must be right."""
    ledger.stop()
    wait_for(ledger.done, "the program's work", LONG)
    check_disarmed(target)
    check_sums(ledger)
    ledger.leave()
    status, out, said = finish(target)
    equal((status, out, said), (0, f"{len(ledger.lanes())} lanes\n", ""), "end of the program")


def check_exact(profile, ledger):
    """Every call of every thread is there, once, and nothing else."""
    wanted = {}
    for lane in ledger.lanes():
        wanted[lane.tid] = wanted.get(lane.tid, 0) + lane.left
    tids = profile.tid.tolist()
    seen = {}
    for tid in tids:
        seen[tid] = seen.get(tid, 0) + 1
    wrong = {t: (seen.get(t), n) for t, n in wanted.items() if seen.get(t, 0) != n}
    check(not wrong and set(seen) <= set(wanted),
          f"calls recorded and made by thread: {short(wrong)}; strangers: {short(set(seen) - set(wanted))}")
    rounds = ledger.left() // 4
    equal(profile.count(), {"outer": rounds, "inner": 3 * rounds}, "calls by region")


def losses(profile):
    """Losses of a file by their cause."""
    found = {}
    for cause, count in zip(profile.losses.get("cause", []), profile.losses.get("count", [])):
        cause = cause.decode() if isinstance(cause, bytes) else cause
        found[cause] = found.get(cause, 0) + count
    return found
