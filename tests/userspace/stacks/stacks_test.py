#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a stack becomes in sp-report tree and export folded."""
import collections
import csv
import io
import json
import os
import re

from recordings import (FRAME_POINTERS, KERNEL, LEAF, NO_MAPPING, NO_TABLE, Recording, TRUNCATED, fold, main,
                        random_recording, same, tree_of)


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
    # id, parent, depth: step { solve { solve { io } } io }, and solve { io } whose parent was lost
    recording.add("row 2 0")
    recording.add("call 4 3 3 0 30 40")
    recording.add("call 5 1 1 0 70 80")
    recording.add("call 10 9 3 0 102 108")
    recording.add("row 1 0")
    recording.add("call 2 1 1 0 10 60")
    recording.add("call 3 2 2 0 20 50")
    recording.add("call 9 8 2 0 100 110")
    recording.add("row 0 0")
    recording.add("call 1 -1 0 0 0 90")
    recording.add("row 1 1")
    recording.add("call 4 -1 0 1 0 90")
    leaf = test.leaf("leaf")
    for call, region, rank in ((1, 0, 0), (2, 1, 0), (3, 1, 0), (4, 2, 0), (5, 2, 0), (9, 1, 0), (10, 2, 0), (77, 2, 0),
                               (-1, 3, 0), (-1, -1, 0), (4, 1, 1)):
        recording.sample([leaf], region=region, call=call, rank=rank, thread=rank)
    path = recording.write()
    wanted = {"step;leaf": 1, "step;solve;leaf": 1, "step;solve;solve;leaf": 1, "step;solve;solve;io;leaf": 1,
              "step;io;leaf": 1, "solve;leaf": 2, "solve;io;leaf": 1, "io;leaf": 1, "idle;leaf": 1,
              "(no region);leaf": 1}
    same(test.folded(path), wanted, "folded")
    same(test.folded("--rank", "1", path), {"solve;leaf": 1}, "--rank")
    same(test.folded("-r", "solve", path), {key: n for key, n in wanted.items() if "solve" in key}, "-r")
    same(test.folded("-r", "(no region)", path), {"(no region);leaf": 1}, "-r (no region)")
    # Of the calls 9, 10 and 77, those around them, or they themselves, were lost.
    note = "note: 3 samples: the regions around theirs are not known, since calls were lost"
    same(note in test.run("tree", "--by-region", path), True, "what was lost")
    same(note in test.run("tree", path), False, "which does not matter without regions")
    same(json.loads(test.run("tree", "--by-region", "--json", path))["samples_regions_lost"], 3, "JSON")
    for form in "folded", "flamegraph":
        test.run("export", form, "-o", os.path.join(test.work, "lost." + form), path)
        same(note in test.errors, True, f"{form}: {test.errors}")
    whole, tree = tree_of(test, "--by-region", path)
    same(tree[("step",)], (5, 0), "step")
    same(tree[("step", "solve")], (3, 0), "a region within itself is one")
    same(tree[("step", "solve", "io", "leaf")], (1, 1), "what is in the inner one")
    same("solve (region, in itself up to 2 deep)" in test.run("tree", "--by-region", path), True, "how deep")
    _, tree = tree_of(test, path)
    same(tree, {("leaf",): (11, 11)}, "over all regions")
    _, tree = tree_of(test, path, "--by-region", "--bottom-up")
    same(tree[("step", "solve", "io", "leaf")], (1, 1), "bottom up, by region")
    same("of these 6 (54.5 %) in solve" in test.run("tree", "-r", "solve", path), True, "heading")
    test.run("tree", "-r", "sovle", path, status=1)
    same('did you mean "solve"?' in test.errors, True, test.errors)

    bare = Recording(test, "bare.h5", "no-ids")
    bare.lines = [line.replace(" 0 0", " 0 0") for line in recording.lines]
    same(test.folded(bare.write()), {"step;leaf": 1, "solve;leaf": 4, "io;leaf": 4, "idle;leaf": 1,
                                     "(no region);leaf": 1}, "calls without ids: the innermost region alone")


def test_no_addresses(test):
    """Samples without addresses."""
    recording = test.recording("alone.h5")
    recording.add("thread 1 0")
    recording.sample([], ip=0, count=2)
    path = recording.write()
    same("note: no sample has an address in a file" in test.run("lines", path), True, "why there are no lines")


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


main(globals())
