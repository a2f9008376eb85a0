#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""sp-report tree, export folded and export flamegraph, on recordings of which every count is known.

    stacks_test.py REPORT MAKER PROGRAM WORK [NAME…]

PROGRAM is program.c, built with debug information; its functions' addresses come from nm, inlined calls from
addr2line. Stacks are written down by functions' names, so what must come out is written down, too.
"""
import collections
import csv
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

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


# ---- what a stack becomes ----

def test_places(test):
    """Return addresses, signals, inlined calls, ends, files without names, the kernel."""
    recording = test.recording("places.h5")
    inner = test.BIAS + test.program.inlined("leaf", "inner")
    main = test.caller("main")
    bare = os.path.join(test.work, "libbare.so")
    with open(bare, "wb") as file:
        file.write(b"\x7fELF nothing in it")
    recording.module(bare, 0x10000000, 0x10000000, 0x10010000)
    recording.add("kernel", f"{KERNEL:x}", f"{KERNEL + 0x100:x}", "do_read")
    recording.add("kernel", f"{KERNEL + 0x100:x}", f"{KERNEL + 0x200:x}", "entry")
    recording.add("hz 100")
    recording.sample([inner, test.caller("solve"), main], count=3)
    # The call is the function's last instruction: what it returns to belongs to the next one.
    recording.sample([test.leaf("stop"), test.BIAS + test.program.end("last_call"), main])
    # Of a frame that a signal interrupted, the address itself counts.
    recording.sample([test.leaf("handler"), test.BIAS + test.program.at("solve", 0), main], signals=2)
    recording.sample([test.leaf("leaf")], end=NO_TABLE)
    recording.sample([test.leaf("leaf"), main], end=TRUNCATED)
    recording.sample([test.leaf("leaf"), main], end=FRAME_POINTERS)
    # Frame pointers lead anywhere in code that has none: nobody made that at run time.
    recording.sample([test.leaf("leaf"), 0x666000, main], end=FRAME_POINTERS)
    recording.sample([test.leaf("leaf")], end=LEAF)
    recording.sample([0x10000010, main])
    recording.sample([0x666000, main])
    recording.sample([test.leaf("leaf"), 0x666000], end=NO_MAPPING)
    recording.sample([0x666000], end=NO_MAPPING)
    recording.sample([], end=LEAF, ip=0)
    recording.sample([KERNEL + 0x10, KERNEL + 0x100, test.leaf("leaf"), main], kernel=1, kernel_frames=2)
    recording.sample([KERNEL + 0x10, KERNEL + 0x180, test.leaf("leaf"), main], kernel=1, kernel_frames=2)
    recording.sample([KERNEL + 0x5000, test.leaf("leaf"), main], kernel=1, kernel_frames=1)
    recording.sample([test.leaf("leaf"), main], kernel=1)
    path = recording.write()
    wanted = {
        "main;solve;leaf;inner": 3, "main;last_call;stop": 1, "main;solve;handler": 1, "[unknown];leaf": 1,
        "[truncated];main;leaf": 1, "main;leaf": 1, "leaf": 1, "main;[libbare.so]": 1, "main;[jit]": 1,
        "[unknown]": 1, "main;[unknown];leaf": 1, "main;leaf;do_read_[k];do_read_[k]": 1,
        "main;leaf;entry_[k];do_read_[k]": 1, "main;leaf;[kernel]_[k]": 2,
    }
    wanted["[unknown];leaf"] += 1  # of a stack that ended in no mapping
    wanted["[unknown]"] += 1  # a sample that knows nothing at all
    same(test.folded(path), wanted, "folded")

    same(test.folded("--no-inline", path)["main;solve;leaf"], 3, "--no-inline")
    same(test.folded("--no-kernel", path)["main;leaf"], 1 + 4, "--no-kernel")
    whole, tree = tree_of(test, path)
    same(whole["samples"], sum(wanted.values()), "samples")
    same(whole["stacks"]["complete"], 11, "complete")
    same(tree[("main", "leaf", "do_read")], (1, 1), "a function of the kernel that calls itself is one")
    test.run("tree", "--csv", path)
    same("libbare.so" in test.errors, True, f"a note beside CSV, in {test.errors}")
    text = test.run("tree", path, "--min", "0")
    for line in ("do_read [k]", "inner (inlined)", "[libbare.so]"):
        same(line in text, True, f"{line} in\n{text}")
    same("10.00 ms" in text, True, "time")


def test_remapped(test):
    """One address in two files, one after the other; two processes with other addresses."""
    recording = Recording(test, "remapped.h5")
    old, new = (os.path.join(test.work, name) for name in ("libold.so", "libnew.so"))
    for _ in range(2):
        recording.add("process")
    recording.add("thread 0 0")
    recording.add("thread 0 1")
    recording.module(old, 0x1000, 0x1000, 0x2000, 0, 100)
    recording.module(new, 0x1800, 0x1800, 0x2800, 0, 200)
    recording.module(new, 0x1000, 0x1000, 0x2000, 1, 0)
    for time, address, thread in ((150, 0x1900, 0), (250, 0x1900, 0), (50, 0x1900, 0), (250, 0x1100, 0), (150, 0x1900, 1)):
        recording.sample([address], time=time, thread=thread)
        recording.sample([address, address + 1], time=time, thread=thread)
    recording.sample([0x1100], thread=-1, module=2)
    recording.sample([0x1900], thread=-1, time=250)
    same(test.folded(recording.write()), {"[libold.so]": 3, "[libold.so];[libold.so]": 3, "[libnew.so]": 4,
                                          "[libnew.so];[libnew.so]": 2}, "folded")


def test_regions(test):
    """Chains of regions by the calls around a sample's call, in any order of the rows, over ranks."""
    recording = test.recording("regions.h5")
    recording.add("thread 1 0")
    for name in ("step", "solve", "io", "idle"):
        recording.add("region", name)
    # id, parent, depth: step { solve { solve { io } } io }, and one whose parent was lost
    recording.add("row 2 0")
    recording.add("call 4 3 3 0 30 40")
    recording.add("call 5 1 1 0 70 80")
    recording.add("row 1 0")
    recording.add("call 2 1 1 0 10 60")
    recording.add("call 3 2 2 0 20 50")
    recording.add("call 9 8 2 0 100 110")
    recording.add("row 0 0")
    recording.add("call 1 -1 0 0 0 90")
    recording.add("row 1 1")
    recording.add("call 4 -1 0 1 0 90")
    leaf = test.leaf("leaf")
    for call, region, rank in ((1, 0, 0), (2, 1, 0), (3, 1, 0), (4, 2, 0), (5, 2, 0), (9, 1, 0), (77, 2, 0), (-1, 3, 0),
                               (-1, -1, 0), (4, 1, 1)):
        recording.sample([leaf], region=region, call=call, rank=rank, thread=rank)
    path = recording.write()
    wanted = {"step;leaf": 1, "step;solve;leaf": 1, "step;solve;solve;leaf": 1, "step;solve;solve;io;leaf": 1,
              "step;io;leaf": 1, "solve;leaf": 2, "io;leaf": 1, "idle;leaf": 1, "(no region);leaf": 1}
    same(test.folded(path), wanted, "folded")
    same(test.folded("--rank", "1", path), {"solve;leaf": 1}, "--rank")
    same(test.folded("-r", "solve", path), {key: n for key, n in wanted.items() if "solve" in key}, "-r")
    same(test.folded("-r", "(no region)", path), {"(no region);leaf": 1}, "-r (no region)")
    # Of the calls 9 and 77, those around them, or they themselves, were lost.
    note = "note: 2 samples: the regions around theirs are not known, since calls were lost"
    same(note in test.run("tree", "--by-region", path), True, "what was lost")
    same(note in test.run("tree", path), False, "which does not matter without regions")
    same(json.loads(test.run("tree", "--by-region", "--json", path))["samples_regions_lost"], 2, "JSON")
    for form in "folded", "flamegraph":
        test.run("export", form, "-o", os.path.join(test.work, "lost." + form), path)
        same(note in test.errors, True, f"{form}: {test.errors}")
    whole, tree = tree_of(test, "--by-region", path)
    same(tree[("step",)], (5, 0), "step")
    same(tree[("step", "solve")], (3, 0), "a region within itself is one")
    same(tree[("step", "solve", "io", "leaf")], (1, 1), "what is in the inner one")
    same("solve (region, in itself up to 2 deep)" in test.run("tree", "--by-region", path), True, "how deep")
    _, tree = tree_of(test, path)
    same(tree, {("leaf",): (10, 10)}, "over all regions")
    _, tree = tree_of(test, path, "--by-region", "--bottom-up")
    same(tree[("step", "solve", "io", "leaf")], (1, 1), "bottom up, by region")
    same("of these 5 (50.0 %) in solve" in test.run("tree", "-r", "solve", path), True, "heading")
    test.run("tree", "-r", "sovle", path, status=1)
    same('did you mean "solve"?' in test.errors, True, test.errors)

    bare = Recording(test, "bare.h5", "no-ids")
    bare.lines = [line.replace(" 0 0", " 0 0") for line in recording.lines]
    same(test.folded(bare.write()), {"step;leaf": 1, "solve;leaf": 4, "io;leaf": 3, "idle;leaf": 1,
                                     "(no region);leaf": 1}, "calls without ids: the innermost region alone")


def test_no_addresses(test):
    """Samples without addresses."""
    recording = test.recording("alone.h5")
    recording.add("thread 1 0")
    recording.sample([], ip=0, count=2)
    path = recording.write()
    same("note: no sample has an address in a file" in test.run("lines", path), True, "why there are no lines")


def test_gaps(test):
    """Where losses struck stands behind them, and regions that a gap touches are marked, in every form."""
    folder = os.path.join(test.work, "gaps.sp")
    os.makedirs(folder)
    for rank in range(2):
        recording = test.recording(f"gaps.sp/x_rank0000{rank}.h5")
        recording.add("recording one")
        recording.add("thread 1 0")
        for name in ("step", "solve", "idle"):
            recording.add("region", name)
        for region, (start, end) in enumerate(((0, 90), (10, 20), (150, 160))):
            recording.add("row", region, rank)
            recording.add("call", region + 1, -1, 0, rank, start, end)
            recording.sample([test.leaf("leaf"), test.caller("main")], region=region, call=region + 1, rank=rank,
                             thread=rank, module=0, count=region + 1)
        # Of this file's thread; of nobody's, which is in each file.
        recording.add(f"gap 7 1 {rank} 12 18 solve sample ring full")
        recording.add(f"gap 2 0 {rank} 12 18 solve call ring full")
        recording.add("gap 3 -1 -1 100 155 - sample not written")
        recording.add("gap 4 -1 -1 100 155 - stack unreadable")  # the sample is there
        recording.write()
    wanted = {"step": (0, 0, False, False), "solve": (4, 14, False, False), "idle": (0, 0, False, True)}

    def marks(of):
        return tuple(of[key] for key in ("lost_calls", "lost_samples", "calls_in_gap", "samples_in_gap"))

    whole = json.loads(test.run("tree", "--by-region", "--json", folder))
    same({node["name"]: marks(node) for node in whole["tree"]["children"]}, wanted, "tree --json")
    same({loss["cause"]: loss["count"] for loss in whole["losses"]},
         {"sample ring full": 14, "call ring full": 4, "sample not written": 3, "stack unreadable": 4}, "losses of tree")
    same(sorted((gap["cause"], gap["count"], gap["cpu"], gap["region"]) for gap in whole["gaps"] if gap["rank"] == 1),
         [("call ring full", 2, 0, "solve"), ("sample ring full", 7, 1, "solve")], "gaps of tree")
    found = json.loads(test.run("lines", "--json", folder))
    same({region["region"]: marks(region) for region in found["regions"]}, wanted, "lines --json")
    same(found["gaps"], whole["gaps"], "gaps of lines")
    summary = json.loads(test.run("summary", "--json", folder))
    same({region["name"]: marks(region) for region in summary["regions"]}, wanted, "summary --json, which agrees")

    for command in (["tree", "--by-region"], ["lines"]):
        text = test.run(*command, folder)
        for words in ("note: 14 lost: sample ring full", "on CPU 1; in region solve; from",
                      "note: 3 lost: sample not written", "may be missing in them: idle"):
            same(words in text, True, f"{words} in {command}:\n{text}")
        same("stack unreadable" in text, False, f"nothing is missing then, in {command}")
    text = test.run("tree", "--by-region", folder)
    same(re.search(r"solve \(region; missing: 4 calls, 14 samples\)", text) is not None, True, text)
    same(re.search(r"idle \(region; missing: 0\+ samples\)", text) is not None, True, text)
    same(re.search(r"step \(region\)", text) is not None, True, text)
    text = test.run("lines", folder)
    same(re.search(r"solve  4 samples, .* of all; missing: 4 calls, 14 samples", text) is not None, True, text)
    for command in ("tree --by-region", "lines"):
        rows = csv.DictReader(io.StringIO(test.run(*command.split(), "--csv", folder)))
        key = "name" if "tree" in command else "region"
        found = {row[key]: row["in_gap"] for row in rows if row[key] in wanted}
        same(found, {"step": "0", "solve": "1", "idle": "1"}, f"CSV of {command}")
    test.run("export", "folded", folder)
    same("in region solve" in test.errors and "missing in them: idle" in test.errors, True, test.errors)
    test.run("tree", "--rank", "0", folder, "--json")
    same({loss["cause"]: loss["count"] for loss in json.loads(test.run("tree", "--rank", "0", folder, "--json"))["losses"]},
         {"sample ring full": 7, "call ring full": 2, "sample not written": 3, "stack unreadable": 4}, "of one rank")
    picture = os.path.join(test.work, "gaps.svg")
    test.run("export", "flamegraph", folder, "-o", picture)
    titles = [title.text for title in ET.parse(picture).getroot().iter(SVG + "title")]
    about = "".join(t.text or "" for t in ET.parse(picture).getroot().iter(SVG + "text") if t.get("id") == "about")
    same("; MISSING: 14 × sample ring full, 4 × call ring full, 3 × sample not written" in about, True, about)
    same(any(t.startswith("solve (region)\n") and "; missing: 4 calls, 14 samples" in t for t in titles), True, f"{titles}")
    same(any(t.startswith("all\n") and "\nMISSING: 14 × sample ring full, on CPU 1; in region solve; from" in t for t in titles), True,
         f"{titles}")


def test_silent_regions(test):
    """A region that had samples and lost all is told, though no sample of it is there to be shown."""
    folder = os.path.join(test.work, "regions.sp")
    os.makedirs(folder)
    for rank in range(2):
        recording = test.recording(f"regions.sp/x_rank0000{rank}.h5")
        recording.add("recording one")
        recording.add("thread", rank, 0)
        for name in ("solve", "lost", "half"):
            recording.add("region", name)
        for region in range(3):
            recording.add("row", region, rank)
            recording.add("call", region + 1, -1, 0, rank, 10 + 20 * region, 20 + 20 * region)
        stack = [test.leaf("leaf"), test.caller("main")]
        recording.sample(stack, region=0, call=1, rank=rank, thread=rank, module=0, count=3)
        if rank == 0:
            recording.sample(stack, region=2, call=3, rank=rank, thread=rank, module=0)
        for region, lost in (("lost", 7), ("half", 2), ("solve", 1)):
            recording.add(f"gap {lost} 1 {rank} 12 18 {region} sample ring full")
        recording.write()
    sentence = "no sample is left directly in lost (14 lost)"
    for command in (["tree"], ["tree", "--by-region"], ["lines"]):
        same(f"note: {sentence}\n" in test.run(*command, folder), True, f"{command}")
        told = json.loads(test.run(*command, "--json", folder))
        same(told["regions_without_samples"], [{"region": "lost", "lost_samples": 14}], f"{command}")
        told = json.loads(test.run(*command, "--rank", "1", "--json", folder))
        same(told["regions_without_samples"], [{"region": "lost", "lost_samples": 7}, {"region": "half", "lost_samples": 2}],
             f"{command} of one rank")
        test.run(*command, "--region", "lost", folder, status=1)
        same('no sample of region "lost" is left: 14 were lost' in test.errors, True, test.errors)
    test.run("export", "folded", folder)
    same(sentence in test.errors, True, test.errors)
    same(sentence in test.run("export", "flamegraph", folder), True, "the picture")


def test_silent(test):
    """A rank that lost all of its samples is told, though no sample of it is there to be shown."""
    folder = os.path.join(test.work, "silent.sp")
    os.makedirs(folder)
    for rank, lost in enumerate((0, 9, 20)):
        recording = test.recording(f"silent.sp/x_rank0000{rank}.h5")
        recording.add("recording one")
        recording.add("thread", rank, 0)
        recording.add("region solve")
        recording.add("row 0", rank)
        recording.add("call 1 -1 0", rank, 10, 20)
        if rank == 0:
            recording.sample([test.leaf("leaf"), test.caller("main")], region=0, call=1, module=0, count=3)
        else:
            recording.add(f"gap {lost} 1 1 12 18 solve sample ring full")
        recording.write()
    sentence = "no sample is left of ranks 1-2: 29 were lost"
    for command in (["tree"], ["tree", "--by-region"], ["lines"]):
        text = test.run(*command, folder)
        same("note: 29 lost: sample ring full" in text and f"note: {sentence}\n" in text, True, text)
        told = json.loads(test.run(*command, "--json", folder))
        same(told["ranks_without_samples"], [{"rank": 1, "lost_samples": 9}, {"rank": 2, "lost_samples": 20}], f"{command}")
    test.run("export", "folded", folder)
    same(sentence in test.errors, True, test.errors)
    same(sentence in test.run("export", "flamegraph", folder), True, "the picture")
    same("of rank 1: 9 were lost" in test.run("tree", "--rank", "0,1", folder), True, "wanted ranks")
    same("no sample is" in test.run("tree", "--rank", "0", folder), False, "rank 0 alone")
    # A rank with nothing left, alone, and by its name.
    for command in (["tree", "--rank", "2", folder], ["lines", os.path.join(folder, "x_rank00002.h5")]):
        test.run(*command, status=1)
        same("no sample is left: 20 lost: sample ring full (sample less often" in test.errors, True, test.errors)
    # Nobody knows whose they were.
    folder = os.path.join(test.work, "whose.sp")
    os.makedirs(folder)
    for rank in range(2):
        recording = test.recording(f"whose.sp/x_rank0000{rank}.h5")
        recording.add("recording two")
        recording.add("region solve")
        recording.add("row 0", rank)
        recording.add("call 1 -1 0", rank, 10, 20)
        if rank == 0:
            recording.sample([test.leaf("leaf"), test.caller("main")], region=0, call=1, module=0)
        recording.add("gap 5 -1 -1 12 18 - sample not taken")
        recording.write()
    same("no sample is there of rank 1; whose the lost ones were is not known" in test.run("tree", folder), True, "whose")
    # Without a loss, a rank without samples is nothing to tell.
    folder = os.path.join(test.work, "idle.sp")
    os.makedirs(folder)
    for rank in range(2):
        recording = test.recording(f"idle.sp/x_rank0000{rank}.h5")
        recording.add("recording three")
        recording.add("region solve")
        recording.add("row 0", rank)
        recording.add("call 1 -1 0", rank, 10, 20)
        if rank == 0:
            recording.sample([test.leaf("leaf"), test.caller("main")], region=0, call=1, module=0)
        recording.write()
    same("no sample" in test.run("tree", folder), False, "idle")


def test_directory(test):
    """Directories, several files, the same one twice, and .sps files beside them."""
    folder = os.path.join(test.work, "rec.sp")
    os.makedirs(folder)
    for rank in range(2):
        recording = test.recording(f"rec.sp/x_rank0000{rank}.h5")
        recording.add("region solve")
        recording.add("loss 5 sample ring full")
        recording.sample([test.leaf("leaf"), test.caller("main")], region=0, rank=0, module=0, count=rank + 1)
        path = recording.write()
    same(test.folded(folder), {"solve;main;leaf": 3}, "directory")
    same(test.folded(folder, path), {"solve;main;leaf": 3}, "a file that is in the directory")
    sps = os.path.join(test.work, "x.sps")
    test.run("export", "sps", path, "-o", sps)
    same(test.folded(sps), {"solve;leaf": 2}, "the innermost functions are all that .sps files have")
    text = test.run("tree", folder)
    same(re.search(r"note: 10 lost: sample ring full", text) is not None and text.index("lost") < text.index("total"), True,
         f"losses first:\n{text}")
    test.run("tree", os.path.join(test.work, "nothing"), status=1)
    test.run("tree", folder, "--rank", "7", status=1)
    for wrong in (["--min", "x"], ["--min", "101"], ["--depth", "0"], ["--rank", "a"], ["--json", "--csv"]):
        test.run("tree", folder, *wrong, status=2)
    test.run("tree", status=2)


# ---- against a model ----

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


def test_model(test):
    for seed in range(3):
        path, wanted = random_recording(test, "random.h5", seed)
        same(test.folded(path), {re.sub("^#", r"\\x23", ";".join(key)): n for key, n in wanted.items()}, "folded")
        down, up = collections.Counter(), collections.Counter()
        selfs = collections.Counter()
        for key, n in wanted.items():
            kept = fold(key[1:])
            for i in range(len(kept)):
                down[kept[:i + 1]] += n
                up[kept[::-1][:i + 1]] += n
            selfs[kept] += n
        _, tree = tree_of(test, path)
        same(tree, {key: (n, selfs[key]) for key, n in down.items()}, "tree")
        _, tree = tree_of(test, "--bottom-up", path)
        same({key: n for key, (n, _) in tree.items()}, dict(up), "bottom up")
        same({key: own for key, (_, own) in tree.items() if own}, {key: n for key, n in up.items() if len(key) == 1},
             "self, bottom up")
        check_csv(test, path, down, selfs)
        check_text(test, path, down)


def check_csv(test, path, down, selfs):
    rows = list(csv.DictReader(io.StringIO(test.run("tree", "--csv", path))))
    paths = {}
    for row in rows:
        above = paths.get(row["parent"])
        paths[row["node"]] = (above + (row["name"],)) if above is not None else ()
        if above is not None:
            key = paths[row["node"]]
            same((int(row["samples"]), int(row["self"])), (down[key], selfs[key]), f"CSV's {key}")
            same(int(row["level"]), len(key), f"CSV's level of {key}")
    same(len(rows), len(down) + 1, "CSV's rows")


def check_text(test, path, down):
    """What is shown for people, and how much is hidden."""
    all_samples = sum(n for key, n in down.items() if len(key) == 1)
    text = test.run("tree", "--min", "2", path)
    shown = [line for line in text.splitlines() if re.match(r" *[\d.]+ % ", line)]
    kept = [key for key, n in down.items() if n >= 0.02 * all_samples]
    same(len(shown), len(kept) + 1, "lines")
    hidden = [key for key in down if key not in kept and (len(key) == 1 or key[:-1] in kept)]
    same(f"{len(hidden)} branches under 2 % hidden" in text, True, f"hidden {len(hidden)}:\n{text}")
    text = test.run("tree", "--min", "0", "--depth", "2", path)
    shown = [line for line in text.splitlines() if re.match(r" *[\d.]+ % ", line)]
    same(len(shown), sum(1 for key in down if len(key) <= 2) + 1, "lines to depth 2")
    same("├─" in test.run("tree", path, env={"LC_ALL": "C.UTF-8"}), True, "Unicode")
    plain = test.run("tree", path, env={"LC_ALL": "C"})
    same(("|- " in plain, plain.isascii()), (True, True), "ASCII")


# ---- flame graphs ----

HOSTILE = ["<script>alert(1)</script>", "\"'&]]>", "\x1b[31mred\x07", "\udcff\udcfe not UTF-8", "x" * 65000, "a;b c 12", "\ufffe",
           "$(touch /tmp/x)", "=cmd|' /C calc'!A0", "\x9b31mC1", "‮right to left"]


# What a terminal acts upon, but newlines.
ACTIVE = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"


def svg_of(test, *args, name="x.svg"):
    path = os.path.join(test.work, name)
    test.run("export", "flamegraph", "--force", "-o", path, *args)
    if there("xmllint"):
        subprocess.run(["xmllint", "--noout", "--nonet", path], check=True)
    return path, ET.parse(path).getroot()


def frames_of(root):
    """(name, samples, level, start) of each frame, and its tooltip."""
    found = []
    for g in root.iter(SVG + "g"):
        if "f" in g.get("class", "").split():
            title = g.find(SVG + "title").text
            found.append((int(g.get("data-l")), int(g.get("data-s")), int(g.get("data-n")), title, g))
    return found


def test_flamegraph(test):
    path, wanted = random_recording(test, "flame.h5", 7)
    svg, root = svg_of(test, path, "--min", "0", "--title", "<Title> & more")
    found = collections.Counter()
    open_names, ends = [], []
    for level, start, n, title, _ in frames_of(root):
        del open_names[level:], ends[level:]
        if level:
            same(start >= 0 and start + n <= ends[-1], True, f"{title} lies within what called it")
        open_names.append(re.sub(r" \([a-z ]*\)$", "", title.split("\n")[0]))
        ends.append(start + n)
        found[tuple(open_names[1:])] += n
    down = collections.Counter()
    for key, n in wanted.items():
        key = (key[0].replace("b:c", "b;c"),) + key[1:]
        for i in range(len(key) + 1):
            down[key[:i]] += n
    same(found, down, "frames")
    texts = [text.text for text in root.iter(SVG + "text") if text.get("id") == "heading"]
    same(texts, ["<Title> & more"], "heading")
    _, narrow = svg_of(test, path, "--min", "1")
    same(len(frames_of(narrow)) < len(frames_of(root)), True, "--min")
    _, inverted = svg_of(test, path, "--inverted", "--min", "0")
    rows = {level: float(g.find(SVG + "rect").get("y")) for level, _, _, _, g in frames_of(inverted)}
    same(sorted(rows.values()), [rows[level] for level in sorted(rows)], "--inverted")
    same(test.run("export", "flamegraph", path, "--title", "t"), open(svg_of(test, path, "--title", "t")[0]).read(),
         "the standard output")
    test.run("export", "flamegraph", "-o", svg, path, status=1)
    same("--force" in test.errors, True, test.errors)
    test.run("export", "flamegraph", "-o", path, "--force", path, status=1)
    test.run("export", "h5", "--title", "x", path, "-o", "y.h5", status=2)
    test.run("export", "folded", "--label", "x", path, status=2)


def test_hostile(test):
    """Names are text and nothing else, in every output."""
    recording = test.recording("hostile.h5")
    lines = []
    for name in HOSTILE:
        lines.append(b"region " + name.encode("utf-8", "surrogateescape"))
    for number in range(len(HOSTILE)):
        recording.sample([test.leaf("leaf")], region=number, count=number + 1)
    subprocess.run([test.maker, recording.path], check=True,
                   input=b"\n".join(lines) + b"\n" + "\n".join(recording.lines).encode() + b"\n")
    folded = test.run("export", "folded", recording.path).splitlines()
    same(len(folded), len(HOSTILE), "folded: a line a stack")
    for line in folded:
        same(re.fullmatch(r"(?!#)[^\x00-\x1f\x7f;]*;leaf \d+", line) is not None, True, f"folded {line[:100]!r}")
    path, root = svg_of(test, recording.path, "--min", "0", "--title", HOSTILE[0])
    same(sorted({element.tag.replace(SVG, "") for element in root.iter()}), ["g", "rect", "script", "style", "svg", "text", "title"],
         "elements")
    same(len(list(root.iter(SVG + "script"))), 1, "scripts")
    for element in root.iter():
        for name in element.attrib:
            same(name.startswith("on") or "href" in name, False, f"attribute {name}")
    text = open(path, encoding="utf-8").read()
    body = text[:text.index("<script>")]
    for word in ("<script", "\x1b", "\x07", "alert(1)</"):
        same(word in body, False, f"{word!r} in the picture")
    same(re.search(r"https?://(?!www\.w3\.org/)", text), None, "addresses of others")
    same(max(len(title.text) for title in root.iter(SVG + "title")) < 2000, True, "long names are cut")
    for args in (["tree"], ["tree", "--by-region"], ["tree", "--csv", "--by-region"], ["tree", "--json", "--by-region"]):
        out = test.run(*args, recording.path)
        if "--json" in args:
            same(len(json.loads(out)["tree"]["children"]), len(HOSTILE), "JSON")
            same(re.search(ACTIVE, out), None, "what a terminal acts upon in JSON")
        elif "--csv" not in args:
            same(re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out), None, f"{args}")
        else:
            csv.field_size_limit(1 << 20)
            same(len(list(csv.reader(io.StringIO(out)))), 2 + 2 * len(HOSTILE), "CSV")
            same(re.search(ACTIVE, out), None, "what a terminal acts upon in CSV")
    for args in (["lines", "--csv"], ["lines", "--json"]):
        out = test.run(*args, recording.path)
        same(re.search(ACTIVE, out), None, f"what a terminal acts upon in {args}")
        same("\n=cmd|" in out, False, f"a formula in {args}")


def test_script(test):
    """The script of a flame graph, in a small imitation of a browser: zoom, search, keys."""
    node = shutil.which("nodejs") or "node"
    if not there(node):
        print("script: skipped, there is no node")
        return
    recording = test.recording("script.h5")
    recording.add("region solve")
    main = test.caller("main")
    recording.sample([test.leaf("leaf"), test.caller("solve"), main], region=0, count=60)
    recording.sample([test.leaf("leaf"), test.caller("leaf"), main], region=0, count=20)
    recording.sample([test.leaf("stop"), main], count=20)
    _, root = svg_of(test, recording.write(), name="script.svg")

    def plain(element):
        return {"tag": element.tag.replace(SVG, ""), "attributes": dict(element.attrib), "text": element.text or "",
                "children": [plain(child) for child in element if child.tag != SVG + "script"]}

    work = os.path.join(test.work, "script.json")
    with open(work, "w", encoding="utf-8") as file:
        json.dump(plain(root), file)
    script = os.path.join(test.work, "script.js")
    with open(script, "w", encoding="utf-8") as file:
        file.write(next(root.iter(SVG + "script")).text)
    done = subprocess.run([node, os.path.join(os.path.dirname(os.path.abspath(__file__)), "browser.js"), work, script],
                          capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stdout + done.stderr)


def main():
    report, maker, program, work, *names = sys.argv[1:]
    test = Test(report, maker, program, work)
    failed = 0
    for name, function in list(globals().items()):
        if not name.startswith("test_") or (names and name[5:] not in names):
            continue
        try:
            function(test)
        except Failed as failure:
            failed += 1
            print(f"{name}: {failure}")
    sys.exit(f"{failed} failed" if failed else 0)


main()
