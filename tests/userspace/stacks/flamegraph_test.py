#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Flame graphs: the picture, its script, and hostile names, which are text in all other outputs, too."""
import collections
import csv
import io
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

from recordings import SVG, Failed, main, random_recording, same, there

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


def test_plain(test):
    """Programs that draw know little of style sheets: variables are taken for black, at-rules are skipped."""
    recording = test.recording("plain.h5")
    recording.sample([test.leaf("leaf"), test.caller("main")])
    path, root = svg_of(test, recording.write())
    text = open(path, encoding="utf-8").read()
    same(re.findall(r"var\(.*?\)", text), [], "variables")
    papers = [rect.get("fill") for rect in root.iter(SVG + "rect") if rect.get("class") == "paper"]
    same(set(papers), {"#ffffff"}, "the paper's colour without a style sheet")
    same(all(rect.get("fill", "").startswith("#") for rect in root.iter(SVG + "rect")), True, "a rectangle without a colour")
    same((root.get("font-family"), root.get("font-size")), ("monospace", "12"), "the font without a style sheet")
    same(re.search(r"^\.paper \{ fill: #ffffff; \}", text, re.M) is not None, True, "the paper's colour outside of at-rules")


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


main(globals())
