# SPDX-License-Identifier: BSD-2-Clause
"""sp-report import and export: which files they take, which ranks these get, what arrives, what is said."""

import argparse
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from checks import check, end


def spt(rank, regions, version=2, order="<"):
    """A native trace: regions is {name: [(start, end), …]}."""
    out = b"SCOPEPRF" + struct.pack(order + "iiq", version, rank, len(regions))
    for name, calls in regions.items():
        raw = name.encode()
        out += struct.pack(order + "i", len(raw)) + raw
        if version == 2:
            out += struct.pack(order + "i", 5) + b"src.c" + struct.pack(order + "i", 7)
        out += struct.pack(order + "q", len(calls))
        out += struct.pack(order + "%dq" % len(calls), *(c[0] for c in calls))
        out += struct.pack(order + "%dq" % len(calls), *(c[1] for c in calls))
    return out


def sps(rank, samples, regions=("solve",), modules=(("/bin/x", 0x1000),), hz=99, ticks=None):
    out = b"SCOPESMP" + struct.pack("=iii", 1, rank, hz)
    out += struct.pack("=q", len(samples) if ticks is None else ticks) + struct.pack("=i", len(regions))
    for name in regions:
        out += struct.pack("=i", len(name)) + name.encode()
    out += struct.pack("=i", len(modules))
    for path, bias in modules:
        out += struct.pack("=i", len(path)) + path.encode() + struct.pack("=Q", bias)
    out += struct.pack("=q", len(samples))
    for sample in samples:
        out += struct.pack("=iiQ", *sample)
    return out


CALLS = {"solve": [(10, 15), (20, 33), (40, 55)]}


class Report:
    def __init__(self, program, work):
        self.program = program
        self.work = work

    def path(self, name):
        path = os.path.join(self.work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def put(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)

    def get(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def expect(self, args, code, *, err=(), nothing=()):
        r = subprocess.run([self.program, *args], cwd=self.work, text=True, capture_output=True, timeout=120)
        name = "sp-report " + " ".join(args)
        check(r.returncode == code, f"{name}: exit {r.returncode}, not {code}: {r.stderr}")
        for text in err:
            check(text in r.stderr, f"{name}: stderr lacks {text!r}:\n{r.stderr}")
        for text in nothing:
            check(text not in r.stderr, f"{name}: stderr says {text!r}:\n{r.stderr}")
        if code:
            check(r.stderr.startswith("sp-report"), f"{name}: stderr does not begin with the program: {r.stderr}")
        return r

    def dump(self, name):
        r = subprocess.run([self.program, "dump", name], cwd=self.work, text=True, capture_output=True, timeout=120)
        check(r.returncode == 0, f"dump {name}: {r.stderr}")
        return r.stdout.splitlines()

    def summary(self, *names):
        r = subprocess.run([self.program, "summary", "--json", *names], cwd=self.work, text=True, capture_output=True, timeout=120)
        check(r.returncode == 0, f"summary {names}: {r.stderr}")
        return json.loads(r.stdout)

    def rows(self, name):
        """{(rank, region): calls}"""
        found = {}
        for line in self.dump(name):
            if line.startswith("row "):
                parts = dict(p.split("=", 1) for p in line.split() if "=" in p)
                found[int(parts["rank"]), parts["region"].strip('"')] = int(parts["calls"])
        return found


def test_usage(report):
    report.put("u/a.spt", spt(0, CALLS))
    report.expect(["import"], 2, err=["no file or directory is given"])
    report.expect(["import", "u/a.spt"], 2, err=["no output is given; name it with -o FILE"])
    report.expect(["import", "u/a.spt", "-o", "u/x.h5", "--compress", "10"], 2, err=["'10' is neither none, auto"])
    report.expect(["import", "u/a.spt", "-o", "u/x.h5", "--schema", "1"], 2, err=["'1' is no schema"])
    report.expect(["import", "u/none.spt", "-o", "u/x.h5"], 1, err=["u/none.spt: cannot be opened: No such file"])
    report.expect(["import", "", "-o", "u/x.h5"], 1, err=["No such file"])
    for name, format in ("x.spt", "spt"), ("y.sps", "sps"), ("z.json", "json"), ("z.json.gz", "json"):
        report.expect(["import", "u/a.spt", "-o", "u/" + name], 2, err=[f"sp-report export {format} … -o u/{name}"])
    report.expect(["import", "u/a.spt", "-o", "-"], 2, err=["must be written to a file"])
    report.expect(["export", "json", "u/a.spt", "-o", "-"], 2, err=["must be written to a file"])
    check(not os.path.exists(report.path("-")), "an output is called '-'")
    report.expect(["export"], 2, err=["no format is given"])
    report.expect(["export", "u/a.spt", "-o", "u/x.h5"], 2, err=["the format must come first: sp-report export h5 u/a.spt"])
    report.expect(["export", "sptt", "u/a.spt", "-o", "x"], 2, err=["did you mean 'spt'?"])
    report.expect(["export", "nonsense", "u/a.spt", "-o", "x"], 2, err=["unknown format 'nonsense': h5, spt, sps, json, folded or flamegraph"])
    report.expect(["export", "spt", "u/a.spt", "-o", "x", "--schema", "2"], 2, err=["--schema does not go with spt"])
    report.expect(["export", "h5", "u/a.spt", "-o", "x", "--trace-version", "1"], 2, err=["--trace-version does not go with h5"])
    report.expect(["export", "spt", "u/a.spt"], 2, err=["no output is given"])
    report.expect(["export", "spt", "u/a.spt", "-o", "x", "--prefix", "a/b"], 2, err=["'a/b' is no name of a file"])
    check(os.listdir(report.path("u/")) == ["a.spt"], "wrong usage made files")


def test_outputs(report):
    """An output appears once, whole, and replaces nothing that was not given up."""
    report.put("o/a.spt", spt(0, CALLS))
    report.expect(["import", "o/a.spt", "-o", "o/x.h5"], 0, err=["o/x.h5: 1 rank, 1 region, 3 calls, 0 samples"])
    before = report.get("o/x.h5")
    report.expect(["import", "o/a.spt", "-o", "o/x.h5"], 1, err=["o/x.h5 is there already", "--force"])
    check(report.get("o/x.h5") == before, "an output was replaced unasked")
    report.expect(["import", "o/a.spt", "-o", "o/x.h5", "--force", "-q"], 0)
    report.expect(["import", "o/x.h5", "-o", "o/x.h5", "--force"], 1, err=["o/x.h5 is one of the inputs"])
    os.symlink("x.h5", report.path("o/link.h5"))
    report.expect(["import", "o/x.h5", "-o", "o/link.h5", "--force"], 1, err=["o/link.h5 is one of the inputs"])
    report.expect(["import", "o/a.spt", "-o", "o"], 1, err=["o is a directory"])
    for command in (["import"], ["export", "h5"]):
        report.expect([*command, "o/a.spt", "-o", "o/no/x.h5"], 1,
                      err=["o/no/x.h5 cannot be made: there is no directory o/no", "mkdir -p o/no\n"])
    report.expect(["export", "spt", "o/a.spt", "-o", "o/no/x/"], 1, err=["there is no directory o/no", "mkdir -p o/no\n"],
                  nothing=["cannot be made as"])
    report.expect(["export", "json", "o/a.spt", "-o", "o/new/"], 1, err=["o/new/ is the name of a directory: name a file in it"])
    report.put("o/bad.spt", spt(0, CALLS)[:-1])
    report.expect(["import", "o/bad.spt", "-o", "o/bad.h5"], 1, err=["o/bad.spt: ", "truncated"])
    check(not os.path.exists(report.path("o/bad.h5")), "a failed import left a file")
    check(not [n for n in os.listdir(report.path("o/")) if "tmp" in n], "a temporary file was left behind")


def test_find(report):
    """As scope-profiler's find_traces, and by content."""
    for name in ("f/d/a_rank00000.spt", "f/d/sub/b_rank00001.spt", "f/d/notes.txt", "f/d/all.h5"):
        report.put(name, spt(1 if "sub" in name else 0, CALLS))
    report.expect(["import", "f/d", "f/d/", "f//d/./a_rank00000.spt", "-o", "f/x.h5"], 0, err=["1 rank"])
    check(report.rows("f/x.h5") == {(0, "solve"): 3}, "a directory is entered, or a path taken twice")
    report.put("f/odd name", spt(4, CALLS, version=1, order=">"))
    report.expect(["import", "f/d", "f/odd name", "-o", "f/y.h5"], 0, err=["2 ranks"])
    check(report.rows("f/y.h5") == {(0, "solve"): 3, (4, "solve"): 3}, "a file of another name is lost")
    report.put("f/e/all.h5", b"")
    report.expect(["import", "f/e", "-o", "f/z.h5"], 1, err=["f/e: has no file of a rank", "f/e/all.h5"])
    report.put("f/empty/readme", b"")
    report.expect(["import", "f/empty", "-o", "f/z.h5"], 1, err=["f/empty: has no file of a rank: no .spt, _rank<N>.h5"])
    report.put("f/j/journal.spj", b"SPTRJNL1")
    report.expect(["import", "f/j", "-o", "f/z.h5"], 1, err=["sp-report recover f/j/journal.spj"])
    report.expect(["import", "f/j/journal.spj", "-o", "f/z.h5"], 1, err=["is a journal", "sp-report recover f/j/journal.spj"])
    report.put("f/t/text_rank00000.spt", b"hello world")
    report.expect(["import", "f/t", "-o", "f/z.h5"], 1, err=["f/t/text_rank00000.spt: "])
    # A hidden file is one, too; a directory of that name is none.
    report.put("f/h/.a_rank00003.spt", spt(3, CALLS))
    os.makedirs(report.path("f/h/dir.spt"))
    report.expect(["import", "f/h", "-o", "f/h.h5"], 0, err=["1 rank"])
    os.symlink("nowhere", report.path("f/h/broken.spt"))
    report.expect(["import", "f/h", "-o", "f/h2.h5"], 1, err=["f/h/broken.spt: ", "No such file"])


def test_conflicts(report):
    report.put("c/a_rank00000.spt", spt(0, CALLS))
    report.put("c/b_rank00000.spt", spt(0, {"other": [(1, 2)]}))
    both = ["c/a_rank00000.spt and c/b_rank00000.spt both hold rank 0", "--renumber"]
    report.expect(["import", "c", "-o", "c/x.h5"], 1, err=both)
    report.expect(["import", "c/b_rank00000.spt", "c/a_rank00000.spt", "-o", "c/x.h5"], 1, err=both)
    report.put("c/c_rank00005.spt", spt(5, {"more": [(3, 9)]}))
    report.expect(["import", "c", "--renumber", "-o", "c/x.h5"], 0,
                  err=["rank 0 of c/b_rank00000.spt is rank 6 now: c/a_rank00000.spt has its number"])
    check(report.rows("c/x.h5") == {(0, "solve"): 3, (5, "more"): 1, (6, "other"): 1}, "renumbered otherwise")
    os.makedirs(report.path("c/l"))
    shutil.copy(report.path("c/a_rank00000.spt"), report.path("c/l/a.spt"))
    os.symlink("a.spt", report.path("c/l/twin.spt"))
    report.expect(["import", "c/l", "-o", "c/y.h5"], 1, err=["c/l/a.spt and c/l/twin.spt both hold rank 0"])
    # An HDF5 file and a trace of one rank, side by side.
    report.expect(["import", "c/l/a.spt", "-o", "c/m_rank00000.h5", "-q"], 0)
    os.makedirs(report.path("c/m"))
    os.rename(report.path("c/m_rank00000.h5"), report.path("c/m/m_rank00000.h5"))
    report.put("c/m/m_rank00000.spt", spt(0, CALLS))
    report.expect(["import", "c/m", "-o", "c/y.h5"], 1, err=["m_rank00000.h5 and c/m/m_rank00000.spt both hold rank 0"])
    # Files of many ranks move as one.
    report.expect(["import", "c/a_rank00000.spt", "c/x.h5", "--renumber", "-o", "c/y.h5"], 0,
                  err=["the 3 ranks of c/x.h5 (0 to 6) are ranks 7 to 9 now"])
    check(set(report.rows("c/y.h5")) == {(0, "solve"), (7, "solve"), (8, "more"), (9, "other")}, "a file was torn")
    # Who comes first on the command line keeps its ranks, in a directory by name.
    report.put("c/2/a_rank00000.spt", spt(0, {"after0": [(1, 2)]}))
    report.put("c/2/b_rank00001.spt", spt(1, {"after1": [(1, 2)]}))
    report.put("c/1/y_rank00000.spt", spt(0, {"before0": [(1, 2)]}))
    report.put("c/1/z_rank00001.spt", spt(1, {"before1": [(1, 2)]}))
    report.expect(["import", "c/2/", "c/1", "c/2/a_rank00000.spt", "--renumber", "-o", "c/o.h5"], 0,
                  err=["rank 0 of c/1/y_rank00000.spt is rank 2 now: c/2/a_rank00000.spt", "rank 1 of c/1/z_rank00001.spt is rank 3"])
    check(set(report.rows("c/o.h5")) == {(0, "after0"), (1, "after1"), (2, "before0"), (3, "before1")}, "other order")
    # Every one is told, or counted.
    for i in range(10):
        report.put(f"c/p/{i}.spt", spt(0, CALLS))
    lines = report.expect(["import", "c/p", "--renumber", "-o", "c/p9.h5"], 0, err=["note: 1 more file has new ranks (-v"]).stderr
    check(lines.count(" now: ") == 8, f"not 8 are told: {lines}")
    report.put("c/p/x.spt", spt(0, CALLS))
    report.expect(["import", "c/p", "--renumber", "-o", "c/p10.h5"], 0, err=["note: 2 more files have new ranks (-v"])
    lines = report.expect(["import", "c/p", "--renumber", "-v", "-o", "c/p11.h5"], 0, nothing=[" more file"]).stderr
    check(lines.count(" now: ") == 10, f"not 10 are told with -v: {lines}")
    # A trace without regions has a rank, too.
    report.put("c/n/a.spt", spt(2, {}))
    report.put("c/n/b.spt", spt(2, {}))
    report.expect(["import", "c/n", "-o", "c/n.h5"], 1, err=["c/n/a.spt and c/n/b.spt both hold rank 2"])


def samples_of(report, name):
    return [dict(p.split("=", 1) for p in line.split() if "=" in p)
            for line in report.dump(name) if line.startswith("sample ")]


def test_samples(report):
    """Samples join the trace of their name; they keep to it when it moves."""
    report.put("s/a_rank00000.spt", spt(0, CALLS))
    report.put("s/a_rank00000.sps", sps(0, [(0, 0, 0x1234), (0, -1, 0x99)], ticks=5))
    report.expect(["import", "s", "-o", "s/x.h5"], 0, err=["1 rank, 1 region, 3 calls, 2 samples"])
    report.expect(["export", "sps", "s/x.h5", "-o", "back.sps"], 0, err=["back.sps"])
    check(report.get("back.sps") == report.get("s/a_rank00000.sps"), "samples came back as others")
    report.put("s/b_rank00000.spt", spt(0, CALLS))
    report.put("s/b_rank00000.sps", sps(0, [(0, 0, 0x77)] * 3, ticks=3))
    report.expect(["import", "s", "-o", "s/y.h5"], 1, err=["both hold rank 0"])
    report.expect(["import", "s", "-o", "s/y.h5", "--renumber"], 0, err=["is rank 1 now", "5 samples"])
    ranks = [s["rank"] for s in samples_of(report, "s/y.h5")]
    check(sorted(ranks) == ["0", "0", "1", "1", "1"], f"samples have the ranks {ranks}")
    report.expect(["export", "sps", "s/y.h5", "-o", "s/out"], 0, err=["s/out/y_rank00001.sps"])
    check(report.get("s/out/y_rank00000.sps") == report.get("s/a_rank00000.sps"), "rank 0's samples changed")
    moved = report.get("s/b_rank00000.sps")
    check(report.get("s/out/y_rank00001.sps") == moved[:12] + struct.pack("=i", 1) + moved[16:], "rank 1's changed")
    # Alone, and twice of one rank.
    report.put("s/only/p_rank00002.sps", sps(2, [(0, 0, 1)]))
    report.expect(["import", "s/only", "-o", "s/z.h5"], 0, err=["1 sample"])
    check(report.rows("s/z.h5") == {(2, "solve"): 0}, f"samples alone have rows {report.rows('s/z.h5')}")
    report.expect(["import", "s/a_rank00000.sps", "s/b_rank00000.sps", "-o", "s/w.h5"], 1, err=["both hold rank 0"])


def test_archive(report, maker):
    """Copies of programs stay where they are, and it is said where; not where they are found."""
    subprocess.run([maker, report.path("k/run.sp/journal.spj"), "stacks"], check=True)
    report.expect(["recover", "-q", "--formats", "h5", "k/run.sp"], 0)
    note = "note: the copies of the programs that ran stay in "
    report.expect(["import", "k/run.sp", "-o", "k/none.h5"], 0, nothing=[note])
    report.put("k/run.sp/archive/abcdef0123-app", b"")
    os.makedirs(report.path("k/out/"), exist_ok=True)
    said = report.expect(["import", "k/run.sp", "-o", "k/out/x.h5"], 0, err=[note]).stderr
    check(said.count(note) == 1, f"said more than once: {said}")
    report.expect(["import", "k/run.sp", "-o", "k/run.sp/inside.h5"], 0, nothing=[note])
    # What it says helps.
    command = said[said.index("ln -s"):].strip()
    subprocess.run(command.split(), cwd=report.work, check=True)
    report.expect(["import", "k/run.sp/stacks_rank00000.h5", "-o", "k/out/x.h5", "--force"], 0, nothing=[note])


def test_recording(report, maker):
    """A recording's own directory always imports, whatever formats it holds."""
    formats = ["h5", "sps", "spt"]
    counts = {}
    for chosen in range(1, 8):
        wanted = ",".join(f for i, f in enumerate(formats) if chosen & 1 << i)
        name = "r/" + wanted.replace(",", "-")
        journal = report.path(name + "/journal.spj")
        subprocess.run([maker, journal, "demo"], check=True)
        report.expect(["import", name, "-o", "r/no.h5"], 1, err=["sp-report recover"])
        report.expect(["recover", "-q", "--formats", wanted, name], 0)
        r = report.expect(["import", name, "-o", name + ".h5"], 0)
        r = report.expect(["import", name, "-o", name + "-v.h5", "-v"], 0)
        if chosen & 5 == 5:
            check("is left out: its calls are in" in r.stderr, f"{wanted}: nothing is said of the traces: {r.stderr}")
        if chosen & 3 == 3:
            check("samples of" in r.stderr and "are left out" in r.stderr, f"{wanted}: nothing is said: {r.stderr}")
        counts[chosen] = (report.rows(name + ".h5"), len(samples_of(report, name + ".h5")))
    for chosen, (rows, samples) in counts.items():
        calls = {k: v for k, v in rows.items() if v}
        has_calls = chosen & 5
        check(sum(calls.values()) == (564 if has_calls else 0), f"{chosen}: {calls}")
        check(calls == {k: v for k, v in counts[1][0].items() if v} if has_calls else not calls, f"{chosen}: {calls}")
        check(samples == {0: 0, 1: 41, 2: 30}[1 if chosen & 1 else chosen & 2], f"{chosen}: {samples} samples")


def test_differences(report, maker):
    """Two recordings in one file: what differs is not told as if it held for both."""
    for name, kind in ("d/one", "demo"), ("d/two", "cuts"):
        subprocess.run([maker, report.path(name + "/journal.spj"), kind], check=True)
        report.expect(["recover", "-q", name], 0)
    report.expect(["import", "d/one", "d/two", "--renumber", "-o", "d/x.h5"], 0)
    text = subprocess.run([report.program, "info", "d/x.h5"], cwd=report.work, text=True, capture_output=True).stdout
    differ, = [line for line in text.splitlines() if line.startswith("differ ")] or [""]
    for key in "recording_id", "program", "sp-report dump --section rank_facts":
        check(key in differ, f"{key} is not told to differ: {text}")
    # The rate of one rank as another's.
    report.expect(["export", "json", "d/x.h5", "-o", "d/x.json", "-q"], 0)
    document = json.loads(report.get("d/x.json"))
    rate = document["sp_trace"]["meta"]["sample_hz"]
    document["sp_trace"]["rank_facts"].append({"rank": 1, "part": "meta", "key": "sample_hz", "kind": 1, "text": str(rate + 900)})
    report.put("d/y.json", json.dumps(document).encode())
    report.expect(["import", "d/y.json", "-o", "d/y.h5", "-q"], 0)
    check(report.summary("d/x.h5")["sample_hz"] == rate, "a common rate is lost")
    check(report.summary("d/y.h5")["sample_hz"] is None, "two rates are one")
    # A rank is one also if it has no region, as that of mpirun.
    document["threads"]["7"] = document["threads"]["0"]
    report.put("d/r.json", json.dumps(document).encode())
    ranks = {rank for rank, _ in report.rows("d/x.h5")} | {int(rank) for rank in document["threads"]}
    report.expect(["import", "d/r.json", "-o", "d/r.h5"], 0, err=[f"d/r.h5: {len(ranks)} ranks"])
    # As many ranks are told as its readers see.
    for name in "d/one", "d/two", "d/x.h5", "d/r.h5":
        for command in ["import", name, "-o", "d/z.h5"], ["export", "json", name, "-o", "d/z.json"]:
            said = report.expect([*command, "--force"], 0).stderr
            info = json.loads(subprocess.run([report.program, "info", "--json", command[-1]], cwd=report.work,
                                             capture_output=True).stdout)
            ranks = info["recordings"][0]["ranks"]
            check(f"{command[-1]}: {ranks} rank" in said, f"{command}: {said}, but info has {ranks}")


def test_jobs(report, maker):
    """Jobs, and processes without a rank, get along."""
    for folder, rank in (("job_a", 0), ("job_a", 1), ("job_b", 0), ("job_b", 1), ("job_b", 2)):
        report.put(f"g/{folder}/p_rank{rank:05d}.x", b"")
        report.put(f"g/{folder}/spt/p_rank{rank:05d}.spt", spt(rank, {f"{folder}{rank}": [(1, 2)]}))
    report.put("g/other/spt/p_rank00000.spt", spt(0, {"unranked": [(1, 2)]}))
    report.expect(["import", "g", "-o", "g.h5"], 0,
                  err=["rank 0 of g/job_b/spt/p_rank00000.spt is rank 3 now", "rank 0 of g/other/spt/p_rank00000.spt"])
    check(report.rows("g.h5") == {(0, "job_a0"): 1, (1, "job_a1"): 1, (3, "job_b0"): 1, (4, "job_b1"): 1,
                                  (2, "job_b2"): 1, (5, "unranked"): 1}, f"ranks: {report.rows('g.h5')}")
    # A folder that is no recording is not entered.
    report.put("k/x_rank00000.spt", spt(0, CALLS))
    report.put("k/other/y_rank00000.spt", spt(0, CALLS))
    report.expect(["import", "k", "-o", "k.h5"], 0, err=["1 rank"])


def test_export(report):
    """Every format goes to every other one, and the traces come back as they were."""
    data = spt(3, {"solve": [(10, 99), (20, 30)], "a/b": [(12, 15)], "": [(13, 14)], "none": []})
    report.put("e/a.spt", data)
    report.expect(["export", "h5", "e/a.spt", "-o", "e/a.h5", "--compress", "none", "--label", "run"], 0)
    check(any('key="label"' in line and '"run"' in line for line in report.dump("e/a.h5")), "no label")
    report.expect(["export", "spt", "e/a.h5", "-o", "e/b.spt"], 0, err=["left out, since spt has no place for it: metadata"])
    check(report.get("e/b.spt") == data, "a trace came back as another one")
    report.expect(["export", "spt", "e/a.h5", "-o", "e/1.spt", "--trace-version", "1"], 0, err=["source lines"])
    check(report.get("e/1.spt") == spt(3, {"solve": [(10, 99), (20, 30)], "a/b": [(12, 15)], "": [(13, 14)],
                                           "none": []}, version=1), "version 1 is another one")
    report.expect(["export", "h5", "e/a.spt", "-o", "e/2.h5", "--schema", "2"], 0)
    report.expect(["export", "spt", "e/2.h5", "-o", "e/c.spt", "-q"], 0)
    check(report.get("e/c.spt") == data, "schema 2 lost something")
    report.expect(["export", "h5", "e/a.spt", "-o", "e/s.h5", "--aggregate"], 0, err=["an aggregate has no place"])
    rows = [line for line in report.dump("e/s.h5") if line.startswith("row ")]
    check(any("calls=2 total=99 self=86 minimum=10 maximum=89" in line for line in rows), f"statistics: {rows}")
    report.expect(["export", "spt", "e/s.h5", "-o", "e/d.spt"], 1, err=["the profile has statistics only"])
    report.expect(["export", "sps", "e/a.h5", "-o", "e/d.sps"], 1, err=["the inputs have no samples"])
    for name in ("e/a.json", "e/a.json.gz"):
        report.expect(["export", "json", "e/a.h5", "-o", name], 0)
        report.expect(["export", "spt", name, "-o", name + ".spt", "-q"], 0)
        check(report.get(name + ".spt") == data, f"{name} lost something")
        report.expect(["import", name, "-o", name + ".h5", "-q"], 0)
        check(report.rows(name + ".h5")[3, "a/b"] == 1, f"{name} lost something")
    # Several ranks are several files, in a directory.
    report.put("e/r/x_rank00000.spt", spt(0, CALLS))
    report.put("e/r/x_rank00001.spt", spt(1, CALLS))
    report.expect(["export", "spt", "e/r", "-o", "e/many"], 0, err=["e/many/x_rank00001.spt"])
    check(sorted(os.listdir(report.path("e/many"))) == ["x_rank00000.spt", "x_rank00001.spt"], "other files")
    report.expect(["export", "spt", "e/r", "-o", "e/many"], 1, err=["e/many/x_rank00000.spt is there already"])
    report.expect(["export", "spt", "e/r", "-o", "e/many", "--prefix", "y", "-q"], 0)
    check(report.get("e/many/y_rank00001.spt") == report.get("e/r/x_rank00001.spt"), "a file of many differs")
    report.expect(["export", "spt", "e/r", "-o", "e/a.spt", "--force"], 1, err=["e/a.spt: cannot be made as a directory"])
    check(report.get("e/a.spt") == data, "an input was overwritten")
    report.expect(["export", "spt", "e/a.spt", "-o", "e/dir/"], 0, err=["e/dir/a_rank00003.spt"])


def test_metadata(report):
    """Labels, and what scope-profiler says of an imported profile."""
    def facts(name):
        return {line.split('key="')[1].split('"')[0]: line.split("value=")[1].strip('"')
                for line in report.dump(name) if line.startswith("metadata ")}
    report.put("m/a.spt", spt(0, {"solve": [(70, 80)], "late": [(90, 95)]}))
    report.put("m/b.spt", spt(1, {"solve": [(60, 80)]}))
    report.expect(["import", "m", "-o", "m/heat.v2.h5"], 0)
    want = {"label": "heat.v2", "source": "native", "trace_format_version": "2", "start_time_ns": "60"}
    check({k: facts("m/heat.v2.h5").get(k) for k in want} == want, f"facts: {facts('m/heat.v2.h5')}")
    report.expect(["import", "m/heat.v2.h5", "-o", "m/c.h5"], 0)
    check(facts("m/c.h5")["label"] == "heat.v2", "the input's label is lost")
    report.expect(["import", "m/heat.v2.h5", "-o", "m/d.h5", "--label", "new"], 0)
    check(facts("m/d.h5")["label"] == "new", "the label that was asked for is not there")


def test_run(report):
    """What is of the run is not of its lowest rank alone; what each rank said stays known."""
    for rank, metadata in enumerate(({"start_time_ns": 5, "finalize_time_ns": 105, "mpi_size": 1},
                                     {"start_time_ns": 3, "finalize_time_ns": 203, "mpi_size": 1, "uname": "Linux n1 6.1"})):
        report.put(f"n/{rank}.spt", spt(rank, {"solve": [(20, 30), (40, 50)]}))
        report.expect(["export", "json", f"n/{rank}.spt", "-o", f"n/{rank}.json", "-q"], 0)
        document = json.loads(report.get(f"n/{rank}.json"))
        document["metadata"].update(metadata)
        report.put(f"n/{rank}.json", json.dumps(document).encode())
    report.expect(["import", "n/0.json", "n/1.json", "-o", "n/both.h5", "-q"], 0)
    facts = [line for line in report.dump("n/both.h5") if "time_ns" in line or "mpi_size" in line]
    for key, value in ("start_time_ns", 3), ("finalize_time_ns", 203), ("mpi_size", 2):
        check(any(f'metadata  key="{key}"' in line and f"value={value}" in line for line in facts), f"{key} is not {value}: {facts}")
    for key, value in ("start_time_ns", 5), ("finalize_time_ns", 105):
        check(any("rank=0" in line and f'"{key}"' in line and str(value) in line for line in facts), f"{key} of rank 0: {facts}")
    # Each rank's 20 ns in the 100 and the 200 ns that it ran.
    report.expect(["export", "json", "n/both.h5", "-o", "n/both.json.gz", "-q"], 0)
    report.expect(["export", "h5", "n/both.h5", "-o", "n/sums.h5", "--aggregate", "-q"], 0)
    for inputs in ["n/0.json", "n/1.json"], ["n/both.h5"], ["n/both.json.gz"], ["n/sums.h5"]:
        share = report.summary(*inputs)["regions"][0]["share"]
        check(abs(share - 40 / 300) < 1e-9, f"{inputs}: a share of {share}")
    # Where a file does not say how long it ran, it did from its first call to its last.
    report.expect(["import", "n/0.spt", "n/1.spt", "-o", "n/native.h5", "-q"], 0)
    for inputs in ["n/0.spt", "n/1.spt"], ["n/native.h5"], ["n/0.spt"]:
        share = report.summary(*inputs)["regions"][0]["share"]
        check(abs(share - 20 / 30) < 1e-9, f"{inputs}: a share of {share}")


def test_lanes(report):
    """Threads are lanes if they have calls, whatever the table says of these."""
    report.put("l/a.spt", spt(0, {"solve": [(20, 60), (10, 50), (60, 70), (100, 110)]}))
    report.expect(["export", "json", "l/a.spt", "-o", "l/a.json", "-q"], 0)
    document = json.loads(report.get("l/a.json"))
    document["metadata"].update({"start_time_ns": 10, "finalize_time_ns": 110})
    document["threads"] = {"0": [{"index": i, "name": str(i), "ident": i, "native_id": i, "daemon": False, "start_ns": start,
                                  "end_ns": end, "cpu_ns": 0} for i, start, end in ((0, 0, -1), (1, 5, 55), (2, 0, 100))]}
    document["regions"][0]["thread_ids"] = [1, 0, 0, 0]
    report.put("l/t.json", json.dumps(document).encode())
    report.expect(["import", "l/t.json", "-o", "l/t.h5", "-q"], 0)
    report.expect(["import", "l/t.json", "l/t.h5", "--renumber", "-o", "l/two.h5", "-q"], 0)
    for name, n in ("l/t.json", 1), ("l/t.h5", 1), ("l/two.h5", 2):
        r = subprocess.run([report.program, "verify", name], cwd=report.work, text=True, capture_output=True)
        check(r.returncode == 0 and "stands before" not in r.stdout + r.stderr, f"verify {name}: {r.stdout}{r.stderr}")
        summary = report.summary(name)
        # 40 + 40 + 10 + 10 ns, of the 100 of thread 0 and the 50 of thread 1
        check((summary["threads"], summary["thread_time_ns"]) == (2 * n, 150 * n), f"{name}: {summary}")
        check(abs(summary["regions"][0]["share"] - 100 / 150) < 1e-9, f"{name}: {summary['regions']}")


def test_origin(report):
    """Who wrote a file, and what it does not say."""
    report.put("w/a.spt", spt(0, CALLS))
    report.expect(["export", "json", "w/a.spt", "-o", "w/a.json", "-q"], 0)
    document = json.loads(report.get("w/a.json"))
    document["metadata"].update({"scope_profiler_version": "0.7.5", "platform": "Linux-6.1-x86_64"})
    report.put("w/a.json", json.dumps(document).encode())
    report.expect(["import", "w/a.spt", "-o", "w/native.h5", "-q"], 0)
    report.expect(["import", "w/a.json", "-o", "w/theirs.h5", "-q"], 0)
    report.expect(["export", "h5", "w/a.spt", "-o", "w/out.h5", "-q"], 0)
    report.expect(["import", "w/out.h5", "-o", "w/again.h5", "-q"], 0)
    for name, writer in (("native", "sp-report import "), ("theirs", "(data of scope-profiler 0.7.5)"),
                         ("out", "sp-report export "), ("again", "sp-report export ")):
        text = subprocess.run([report.program, "info", f"w/{name}.h5"], cwd=report.work, text=True, capture_output=True).stdout
        said = dict(line.split(None, 1) for line in text.replace("written by", "written-by").splitlines() if " " in line.strip())
        check(writer in said["written-by"], f"{name}: {said}")
        for what in "processes", "threads", "samples", "losses":
            check(said[what] == "unknown", f"{name}: {what} are {said[what]}")
    check("Linux-6.1-x86_64" in subprocess.run([report.program, "info", "w/theirs.h5"], cwd=report.work, text=True,
                                               capture_output=True).stdout, "the platform is not shown")
    # A line profile, and no samples.
    document["line_profile"] = {"0": [{"region": "solve", "filename": "a.py", "function": "f", "first_lineno": 3,
                                       "line_numbers": [3, 4], "hits": [1, 2], "times": [5.0, 6.0], "unit": 1e-9,
                                       "source": "def f():\n  pass\n", "source_first_lineno": 3}]}
    report.put("w/lines.json", json.dumps(document).encode())
    report.expect(["import", "w/lines.json", "-o", "w/lines/x_rank00000.h5"], 1)
    os.makedirs(report.path("w/lines/"), exist_ok=True)
    report.expect(["import", "w/lines.json", "-o", "w/lines/x_rank00000.h5", "-q"], 0)
    for name in "w/lines.json", "w/lines/x_rank00000.h5", "w/lines":
        report.expect(["lines", name], 1, err=["sp-report dump --section lines w/lines"], nothing=["-F 0"])
    report.expect(["lines", "w/theirs.h5"], 1, err=["no samples: they are in the .sps files"], nothing=["-F 0"])
    report.expect(["export", "json", "w/lines/x_rank00000.h5", "-o", "w/back.json"], 0, nothing=["left out"])
    check(json.loads(report.get("w/back.json"))["line_profile"] == document["line_profile"], "a line profile lost something")


def test_many(report):
    """More files than descriptors are allowed at first."""
    for rank in range(600):
        report.put(f"many/x_rank{rank:05d}.spt", spt(rank, CALLS))
    script = 'ulimit -S -n 256 && exec "$@"'
    r = subprocess.run(["sh", "-c", script, "sh", report.program, "import", "many", "-o", "many.h5"],
                       cwd=report.work, text=True, capture_output=True, timeout=120)
    check(r.returncode == 0 and "600 ranks, 1 region, 1,800 calls" in r.stderr, f"600 ranks: {r.stderr}")


def test_interrupt(report):
    """An interrupt leaves nothing behind."""
    calls = [(i * 10, i * 10 + 5) for i in range(1000000)]
    report.put("i/a.spt", spt(0, {"solve": calls}))
    caught = False
    for wait in (0.15, 0.08, 0.04, 0.02, 0.01, 0.3):
        process = subprocess.Popen([report.program, "import", "i/a.spt", "-o", "i/x.h5", "--compress", "9"],
                                   cwd=report.work, stderr=subprocess.PIPE, text=True)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        if process.returncode == 1:
            caught = True
            check("interrupted; i/x.h5 was not made" in said, f"interrupted: {said}")
        if process.returncode:
            check(os.listdir(report.path("i/")) == ["a.spt"], "an interrupted import left a file")
        else:
            os.unlink(report.path("i/x.h5"))
    check(caught, "no interrupt was caught")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", required=True)
    parser.add_argument("--maker", required=True)
    parser.add_argument("--work", required=True)
    args = parser.parse_args()
    shutil.rmtree(args.work, ignore_errors=True)
    os.makedirs(args.work)
    report = Report(args.report, args.work)
    for test in (test_usage, test_outputs, test_find, test_conflicts, test_samples, test_export, test_metadata, test_run, test_lanes,
                 test_origin, test_many, test_interrupt):
        test(report)
    test_archive(report, args.maker)
    test_recording(report, args.maker)
    test_jobs(report, args.maker)
    test_differences(report, args.maker)
    sys.exit(end())


main()
