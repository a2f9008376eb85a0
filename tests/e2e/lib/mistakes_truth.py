# SPDX-License-Identifier: BSD-2-Clause
"""mistakes_truth.py - what a right recording of a program of programs/mistakes.h holds, from its log.

An edge is decided by what can be known at it: region, stack pointer, scope or free. The rules, stated
once more and without any code of the recorder:

  an end      ends the innermost call of its region and kind that began at the same stack pointer in the same
              function (a scope by the same descriptor), else the innermost of its region and kind; what is
              open inside is closed with it. Functions are known of literal names; with run-time names the function
              returns to the same address. An end with a run-time name is that of the innermost call if this
              is of its region and was begun with a literal one
  a scope     that began below the stack pointer of an edge on the same stack has returned; it and what is
              open inside is closed at that edge; so is one that begins again in its place. Fibers' stacks
              are known to nobody, so nothing on them is closed that way
  a full      stack: free calls that began again in the same place were left, all but the last, and ended by
              when they did, or when a call inside began that was not; if there is none, all those deeper than
              the edge, innermost first.
              Neither is asked if the innermost call is higher on the stack than the edge, or on another one
  no call     matches: it is late, if a call of the region was closed without its end; else one that began
              before the thread's record did, if nothing is open and the parent had open calls, and it is a
              scope's or the region was not begun since; else it is dropped
"""
import mmap
import struct

NOTHING, SCOPE_BEGIN, SCOPE_END, FREE_BEGIN, FREE_END = range(5)
MAIN, THREAD, FORK, EXEC = range(4)
OUTER, EXIT, BY_EXEC, OPEN, UNWINDING, BEFORE = 1, 2, 4, 8, 16, 32
LANES, ENTRIES, DEPTH, LATE = 64, 4000, 80, 4
ENTRY = struct.Struct("<IIQQQQQII")
LANE = struct.Struct("<8I")


def name_id(name):
    h = 0xcbf29ce484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001b3 % 2**64
    return h & ~7


class Entry:
    def __init__(self, values):
        self.op, self.name, self.site, self.sp, self.caller, self.before, self.after, self.stack, self.line = values
        self.scope = self.op in (SCOPE_BEGIN, SCOPE_END)
        self.known = self.stack in (0, 1)


class Call:
    """An open call, later one that was recorded."""
    def __init__(self, entry, number):
        self.entry, self.number = entry, number
        self.name, self.scope, self.sp, self.stack, self.site = entry.name, entry.scope, entry.sp, entry.stack, entry.site
        self.caller = entry.caller
        self.parent, self.depth, self.flags = 0, 0, 0
        self.ended_own = False  # its own end came, sooner or later

    def close(self, flags, first, last):
        self.flags, self.end_first, self.end_last = flags, first, last


class Lane:
    def __init__(self, head, entries, names):
        self.tid, self.pid, self.cause, self.n, self.parent_lane, self.parent_n, self.ended, _ = head
        self.entries, self.names = entries, names
        self.done = []      # in order of ends
        self.unmatched = self.late_ends = self.too_deep = 0
        self.killed_by_exec = False
        self.depths = {}    # after how many entries: calls that are, or may be, open

    def run(self, before):
        self.budget = self.next = before
        self.stack, self.late, self.n_late, self.seen, self.overflow = [], [None] * LATE, 0, set(), 0
        self.first_too_deep = 0
        for i, e in enumerate(self.entries):
            self.depths[i] = min(len(self.stack) + self.budget, DEPTH)
            (self.begin if e.op in (SCOPE_BEGIN, FREE_BEGIN) else self.end)(e)
        self.depths[len(self.entries)] = min(len(self.stack) + self.budget, DEPTH)
        last = self.entries[-1].after if self.entries else 0
        while self.stack:
            self.pop(BY_EXEC if self.killed_by_exec else EXIT, last, 2**63)
        self.place_befores()

    def pop(self, flags, first, last):
        call = self.stack.pop()
        call.depth = len(self.stack)
        call.parent = self.stack[-1].number if self.stack else 0
        call.close(flags, first, last)
        self.done.append(call)

    def dead(self, f, e):
        return f.scope and e.known and f.stack == e.stack and f.sp < e.sp

    def make_room(self, e):
        def above(f):
            return f.sp == e.sp or e.known and f.stack == e.stack and f.sp < e.sp

        if not above(self.stack[-1]):
            return
        def same(f, g):
            return (g.name, g.sp, g.scope, g.caller) == (f.name, f.sp, f.scope, f.caller)

        full, self.stack, stays = self.stack, [], 0
        for i, f in enumerate(full):
            left = not f.scope and any(same(f, g) for g in full[i + 1:])
            keep = stays
            if left:
                keep = next((k for k in range(stays, len(self.stack)) if same(f, self.stack[k])), len(self.stack))
            while len(self.stack) > keep:
                self.left(self.stack[-1])
                self.pop(UNWINDING, f.entry.before, f.entry.after)
            self.stack.append(f)
            if not left:
                stays = len(self.stack)
        if len(self.stack) < DEPTH:
            return
        while self.stack and above(self.stack[-1]) and self.stack[-1].sp < e.sp:
            self.left(self.stack[-1])
            self.pop(UNWINDING, e.before, e.after)

    def left(self, f):
        self.late[self.n_late % LATE] = f.name
        self.n_late += 1
        self.overflow = 0

    def close_inner(self, e, keep, again=False):
        while len(self.stack) > keep:
            f = self.stack[-1]
            returned = self.dead(f, e) or (again and f.scope and f.sp == e.sp)
            self.left(f)
            self.pop(UNWINDING if returned else OUTER, e.before, e.after)

    def close_dead(self, e):
        for i, f in enumerate(self.stack):
            if self.dead(f, e):
                self.close_inner(e, i)
                return

    def begin(self, e):
        top = self.stack[-1] if self.stack else None
        if top and (top.sp < e.sp or (e.scope and top.sp == e.sp)):
            self.close_dead(e)
            if e.scope:
                for i in range(len(self.stack) - 1, -1, -1):
                    f = self.stack[i]
                    if f.sp > e.sp:
                        break
                    if f.scope and f.site == e.site and f.sp == e.sp:
                        self.close_inner(e, i, True)
                        break
        if len(self.stack) >= DEPTH:
            self.make_room(e)
        if len(self.stack) >= DEPTH:
            if not self.overflow:
                self.first_too_deep = e.sp
            self.overflow += 1
            self.too_deep += 1
            return
        if self.budget:
            self.seen.add(self.bit(e.name))
        self.next += 1
        self.stack.append(Call(e, self.next))

    def bit(self, name):
        h = name_id(self.names[name])
        return h >> 9 & 3, h >> 3 & 63

    def exact(self, e):
        for i in range(len(self.stack) - 1, -1, -1):
            f = self.stack[i]
            here = f.caller == e.caller if e.caller else f.site == e.site or not f.site
            if (f.name, f.scope, f.sp) == (e.name, e.scope, e.sp) and here:
                return i
        return None

    def end(self, e):
        top, found = self.stack[-1] if self.stack else None, None
        fits = top and (top.name, top.scope) == (e.name, e.scope)
        in_order = fits and e.caller and not top.caller
        here = fits and top.sp == e.sp and (not e.caller or top.caller == e.caller)
        if not self.overflow and (here or in_order):
            self.pop(0, e.before, e.after)
            return
        if self.overflow and top:
            if e.scope or e.sp > self.first_too_deep:
                found = self.exact(e)
            if found is None and not self.dead(top, e):
                self.overflow -= 1
                return
            self.overflow = 0
        if found is None and not in_order:
            found = self.exact(e)
        if found is None and fits and not e.scope:
            found = len(self.stack) - 1
        if found is None:
            self.close_dead(e)
            for i in range(len(self.stack) - 1, -1, -1):
                if (self.stack[i].name, self.stack[i].scope) == (e.name, e.scope):
                    found = i
                    break
        if found is not None:
            self.close_inner(e, found + 1)
            self.pop(0, e.before, e.after)
            return
        self.end_nothing(e)

    def end_nothing(self, e):
        if e.name in self.late:
            self.late[self.late.index(e.name)] = None
            self.late_ends += 1
            return
        if self.budget and e.scope and e.known:
            self.close_inner(e, 0)
        if self.budget and not self.stack and (e.scope or self.bit(e.name) not in self.seen):
            call = Call(e, self.budget)
            call.close(BEFORE, e.before, e.after)
            self.done.append(call)
            self.budget -= 1
        else:
            self.unmatched += 1

    def place_befores(self):
        around = []  # calls from before that end later, the next one last
        for call in reversed(self.done):
            if around and not call.parent:
                call.parent = around[-1].number
            call.depth += len(around)
            if call.flags & BEFORE:
                around.append(call)


def read(path, names):
    """Lanes in order of their beginning, each with the calls that must be in the recording."""
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    lanes = []
    for i in range(struct.unpack_from("<I", data)[0]):
        at = 8 + i * (LANE.size + ENTRIES * ENTRY.size)
        head = LANE.unpack_from(data, at)
        entries = [Entry(ENTRY.unpack_from(data, at + LANE.size + k * ENTRY.size)) for k in range(head[3])]
        lanes.append(Lane(head, entries, names))
    for lane in lanes:
        lane.killed_by_exec = any(x.cause == EXEC and x.tid == lane.tid for x in lanes) and lane.cause != EXEC
    for lane in lanes:
        before = 0
        if lane.cause == FORK:
            parent = lanes[lane.parent_lane]
            if not parent.depths:
                parent.run(0)
            before = parent.depths[lane.parent_n]
        if not lane.depths:
            lane.run(before)
    return lanes
