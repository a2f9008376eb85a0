#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What sp-report says of samples that were lost, and of regions that lost all of theirs."""
import csv
import io
import json
import os
import re
import xml.etree.ElementTree as ET

from recordings import SVG, main, same


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


main(globals())
