# SPDX-License-Identifier: BSD-2-Clause
"""Recordings of which every count is known, and what sp-report makes of them.

Each test that uses it is called as TEST REPORT MAKER PROGRAM WORK [NAME…]: PROGRAM is program.c, built with debug
information; its functions' addresses come from nm, inlined calls from addr2line. Stacks are written down by
functions' names, so what must come out is written down, too.
"""
import collections
import json
import os
import random
import shutil
import subprocess
import sys

COMPLETE, LEAF, TRUNCATED, NO_MAPPING, NO_TABLE, FRAME_POINTERS = 1, 2, 3, 4, 6, 12
SVG = "{http://www.w3.org/2000/svg}"
KERNEL = 0xffffffff81000000


class Failed(Exception):
    pass


def same(seen, wanted, what):
    if seen != wanted:
        raise Failed(f"{what}:\n  seen   {seen!r}\n  wanted {wanted!r}")


def there(tool):
    """Where everything must be there, what leaves out a part of a test fails it."""
    found = shutil.which(tool) is not None
    if not found and os.environ.get("CI") == "true":
        raise Failed(f"{tool} is missing, and CI=true")
    return found


class Program:
    """Where the functions of an ELF file are."""

    def __init__(self, path):
        self.path = path
        self.functions = {}
        out = subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True, check=True).stdout
        for line in out.splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in "tT":
                self.functions[words[3]] = (int(words[0], 16), int(words[1], 16))

    def at(self, name, offset=1):
        return self.functions[name][0] + offset

    def end(self, name):
        return sum(self.functions[name])

    def inlined(self, name, inner):
        """An address in a function where another one was inlined."""
        start, size = self.functions[name]
        for address in range(start, start + size):
            out = subprocess.run(["addr2line", "-fie", self.path, hex(address)], capture_output=True, text=True).stdout
            if out.splitlines()[0::2] == [inner, name]:
                return address
        raise Failed(f"{inner} is not inlined into {name}")


class Recording:
    """A profile in the making: lines for MAKER."""

    def __init__(self, test, name, *args):
        self.test, self.path, self.args = test, os.path.join(test.work, name), args
        self.lines = []

    def add(self, *words):
        self.lines.append(" ".join(str(word) for word in words))

    def module(self, path, bias, start, end, process=0, mapped=0):
        self.add("module", path, f"{bias:x}", f"{start:x}", f"{end:x}", process, mapped)

    def sample(self, frames, *, time=1, thread=0, region=-1, call=-1, module=-1, rank=0, kernel=0, kernel_frames=0,
               end=COMPLETE, signals=0, ip=None, count=1):
        ip = ip if ip is not None else frames[kernel_frames] if len(frames) > kernel_frames else 0
        for _ in range(count):
            self.add("sample", time, thread, region, call, module, rank, kernel, kernel_frames, end, signals,
                     f"{ip:x}", *(f"{frame:x}" for frame in frames))

    def write(self):
        subprocess.run([self.test.maker, self.path, *self.args], input="\n".join(self.lines).encode() + b"\n",
                       check=True)
        return self.path


class Test:
    BIAS = 0x7f0000000000

    def __init__(self, report, maker, program, work):
        self.report, self.maker, self.work = report, maker, work
        self.program = Program(program)
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)

    def run(self, *args, status=0, env=None):
        done = subprocess.run([self.report, *args], capture_output=True, env={**os.environ, **(env or {})})
        if done.returncode != status:
            raise Failed(f"{args}: {done.returncode}\n{done.stdout.decode()[-2000:]}\n{done.stderr.decode()}")
        self.errors = done.stderr.decode()
        return done.stdout.decode("utf-8")

    def folded(self, *args):
        lines = self.run("export", "folded", *args).splitlines()
        found = dict((line.rpartition(" ")[0], int(line.rpartition(" ")[2])) for line in lines)
        same(len(found), len(lines), "distinct stacks")
        return found

    def recording(self, name, *args):
        """One process of the program, with a module of its own."""
        recording = Recording(self, name, *args)
        recording.add("process")
        recording.add("thread 0 0")
        recording.module(self.program.path, self.BIAS, self.BIAS, self.BIAS + 0x100000)
        return recording

    def leaf(self, name, offset=1):
        return self.BIAS + self.program.at(name, offset)

    def caller(self, name, offset=2):
        """A return address into a function."""
        return self.BIAS + self.program.at(name, offset)


def tree_of(test, *args):
    """{path of names: (samples, self)} of the JSON tree, after checking its sums."""
    whole = json.loads(test.run("tree", "--json", *args))
    found = {}

    def walk(node, path):
        below = node.get("children", [])
        if whole["direction"] == "top-down":
            same(node["samples"], node["self"] + sum(child["samples"] for child in below), f"sum of {path}")
        else:
            same(node["samples"] >= sum(child["samples"] for child in below), True, f"sum of {path}")
        same([child["samples"] for child in below], sorted((child["samples"] for child in below), reverse=True),
             f"order below {path}")
        for child in below:
            key = path + (child["name"],)
            same(key in found, False, f"{key} twice")
            found[key] = (child["samples"], child["self"])
            walk(child, key)

    walk(whole["tree"], ())
    return whole, found


def random_recording(test, name, seed):
    """Random walks over the functions, in random regions. Returns the path and what must come out."""
    random.seed(seed)
    recording = test.recording(name)
    names = ["leaf", "solve", "handler", "recurse", "stop"]
    regions = ["a", "b;c", "#d #e", ""]
    for region in regions:
        recording.add("region", region)
    wanted = collections.Counter()
    for _ in range(400):
        region = random.randrange(-1, len(regions))
        stack = [random.choice(names) for _ in range(random.randrange(1, 12))]
        end, outer = random.choice([(COMPLETE, []), (COMPLETE, []), (TRUNCATED, ["[truncated]"]), (NO_TABLE, ["[unknown]"])])
        frames = [test.leaf(stack[0])] + [test.caller(name) for name in stack[1:]]
        count = random.randrange(1, 5)
        recording.sample(frames, region=region, end=end, count=count)
        path = [regions[region].replace(";", ":") or "(no name)" if region >= 0 else "(no region)"] + outer + stack[::-1]
        wanted[tuple(path)] += count
    return recording.write(), wanted


def fold(path):
    """A function that calls itself is one node."""
    kept = []
    for name in path:
        if not kept or kept[-1] != name:
            kept.append(name)
    return tuple(kept)


def main(tests):
    """Runs those whose names are given, without "test_", or all."""
    report, maker, program, work, *names = sys.argv[1:]
    test = Test(report, maker, program, work)
    failed = 0
    for name, function in list(tests.items()):
        if not name.startswith("test_") or (names and name[5:] not in names):
            continue
        try:
            function(test)
        except Failed as failure:
            failed += 1
            print(f"{name}: {failure}")
    sys.exit(f"{failed} failed" if failed else 0)
