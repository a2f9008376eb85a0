# SPDX-License-Identifier: BSD-2-Clause
"""sp-report as a user meets it: messages, exit codes, and what goes to which stream."""

import argparse
import csv
import fcntl
import glob
import io
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import termios

sys.dont_write_bytecode = True
from checks import check, end


class Report:
    def __init__(self, program, work):
        self.program = program
        self.work = work

    def run(self, *args, env=None):
        return subprocess.run([self.program, *args], cwd=self.work, text=True, capture_output=True,
                              timeout=60, env=env)

    def expect(self, args, code, *, out=(), err=(), nothing=()):
        r = self.run(*args)
        name = "sp-report " + " ".join(args)
        check(r.returncode == code, f"{name}: exit {r.returncode}, not {code}: {r.stderr}")
        for text in out:
            check(text in r.stdout, f"{name}: stdout lacks {text!r}:\n{r.stdout}")
        for text in err:
            check(text in r.stderr, f"{name}: stderr lacks {text!r}:\n{r.stderr}")
        for text in nothing:
            check(text not in r.stdout + r.stderr, f"{name}: says {text!r}")
        if code:
            check(r.stderr.startswith("sp-report: "), f"{name}: stderr does not begin with the program")
        check("\x1b" not in r.stdout + r.stderr, f"{name}: an escape sequence without a terminal")
        return r


def test_usage(report):
    report.expect([], 0, out=["Commands:", "summary", "recover", "info", "lines"])
    report.expect(["--help"], 0, out=["Commands:"])
    report.expect(["--version"], 0, out=["sp-report "])
    report.expect(["sumary", "x"], 2, err=["did you mean 'summary'?"])
    report.expect(["demo"], 2, err=["a command must come first: sp-report summary demo"])
    report.expect(["nonsense"], 2, err=["unknown command 'nonsense'"])
    report.expect(["--jso"], 2, err=["unknown option '--jso'"])
    for command in ("summary", "info", "recover"):
        report.expect([command], 2, err=["is given", f"Try 'sp-report {command} --help'."])
        report.expect([command, "--help"], 0, out=[f"Usage: sp-report {command}", "--help"])
        report.expect([command, "--nonsense"], 2, err=["unknown option '--nonsense'"])
        report.expect([command, "missing.h5"], 1, err=["missing.h5: ", "No such file"])
    report.expect(["summary", "demo", "--sort", "cals"], 2, err=["did you mean 'calls'?"])
    report.expect(["summary", "demo", "--sort", "foo"], 2, err=["'foo' is no column", "name, rank, calls"])
    report.expect(["summary", "demo", "--top", "0"], 2, err=["'0' is no number of rows"])
    report.expect(["summary", "demo", "--json", "--csv"], 2, err=["exclude each other"])
    report.expect(["recover", "a", "b"], 2, err=["one too many"])
    report.expect(["recover", "a", "--formats", "h5,xyz"], 2, err=["'h5,xyz' is not a list of formats"])
    report.expect(["recover", "a", "--compress", "10"], 2, err=["'10' is neither none, auto"])


def test_recover(report, maker):
    journal = os.path.join(report.work, "demo", "journal.spj")
    subprocess.run([maker, journal, "demo"], check=True)
    before = open(journal, "rb").read()
    report.expect(["summary", "demo"], 1, err=["recover demo/journal.spj"])
    report.expect(["summary", "demo/journal.spj"], 1, err=["is a journal", "sp-report recover"])
    r = report.expect(["recover", "--keep-journal", "demo/journal.spj"], 0,
                      err=["564 calls, 41 samples (11 outside", "42 × call ring full", "--ring-size",
                           "demo/heat_rank00001.sps", "demo/other/heat_rank00000.h5"],
                      nothing=["died"])
    check(r.stdout == "", "recover prints on stdout")
    report.expect(["recover", "demo/journal.spj"], 1,
                  err=["demo/heat_rank00000.h5: is there already", "--force", "The journal is as it was"])
    check(open(journal, "rb").read() == before, "a refused recover changed the journal")
    report.expect(["recover", "-q", "--force", "--formats", "spt,h5,sps", "demo/journal.spj"], 0,
                  nothing=["564 calls", "heat_rank"])
    check(not os.path.exists(journal), "the journal is still there")
    check(os.path.exists(os.path.join(report.work, "demo/spt/heat_rank00001.spt")), "no .spt was made")
    check(sorted(os.listdir(os.path.join(report.work, "demo"))) ==
          ["heat_rank00000.h5", "heat_rank00000.sps", "heat_rank00001.h5", "heat_rank00001.sps",
           "other", "spt"], "something else lies in the directory")

    shutil.copytree(os.path.join(report.work, "demo"), os.path.join(report.work, "again"))
    report.expect(["recover", "again/"], 1, err=["again/journal.spj: ", "No such file", "has no journal"],
                  nothing=["as it was"])
    with open(os.path.join(report.work, "again/journal.spj"), "wb") as f:
        f.write(before)
    report.expect(["recover", "again/", "--force"], 0, err=["564 calls", "again/heat_rank00000.h5"])
    check(not os.path.exists(os.path.join(report.work, "again/journal.spj")), "DIR's journal is still there")

    died = os.path.join(report.work, "died.spj")
    subprocess.run([maker, died, "died"], check=True)
    whole = os.path.getsize(died)
    with open(died, "ab") as f:
        f.write(b"SBLK half a block")
    report.expect(["recover", "died.spj", "-o", "died/", "--program", "x"], 0,
                  err=["the recorder died", f"the last block is cut off (at byte {whole})",
                       f"kept: {whole:,} of {whole + 17:,} bytes, 4 whole blocks; what follows is lost",
                       "died/x_rank00000.h5", "died.spj is kept"])
    check(os.path.exists(died), "a journal without an end was removed")
    report.expect(["info", "died"], 0, out=["MISSING: the recorder died", "MISSING: the journal was damaged",
                                            "\nended        unknown\n"], nothing=["losses       none"])
    report.expect(["dump", "died"], 1, err=["died: is a directory", "sp-report info died"])
    empty = os.path.join(report.work, "empty.spj")
    subprocess.run([maker, empty, "empty"], check=True)
    report.expect(["recover", "empty.spj", "-o", "empty"], 0, err=["0 calls, 0 samples"])
    report.expect(["summary", "empty"], 0, out=["No region was called"])
    report.expect(["recover", "/dev/null"], 1, err=["/dev/null: "])
    with open(os.path.join(report.work, "text.spj"), "w") as f:
        f.write("this is no journal")
    report.expect(["recover", "text.spj"], 1, err=["text.spj: ", "not a journal"])


def test_info(report):
    r = report.expect(["info", "demo"], 0,
                      out=["MISSING: 42 × call ring full", "hdf5, schema 3", "sp-trace 0.1.0",
                           "./heat --size 100", "node1", "2.000 s", "cpu-clock", "63 ns a call",
                           "demo/other"],
                      nothing=["\nlabel "])
    check(r.stdout.startswith("MISSING"), "losses do not come first")
    info = json.loads(report.expect(["info", "--json", "demo"], 0).stdout)
    check(len(info["recordings"]) == 1, "two ranks are not one recording")
    recording = info["recordings"][0]
    check((recording["ranks"], recording["calls"], recording["samples"]) == (2, 564, 40), "info's numbers")
    check(info["losses"][0]["count"] == 42, "a loss is counted once for each rank")
    check(recording["metadata"]["mpi_size"] == 2, "mpi_size")
    check(recording["meta"]["stop_ns"] == 1002000000000, "meta numbers are numbers")
    report.expect(["info", "demo/heat_rank00000.sps"], 0, out=["sps, version 1", "99 Hz"])
    report.expect(["info", "demo/spt"], 0, out=["spt, version 2"])


def rows(report, *args):
    return json.loads(report.expect(["summary", "--json", *args], 0).stdout)


def test_summary(report):
    text = report.expect(["summary", "demo"], 0, out=["MISSING: 42 ×", "step", "kernel", "(no region)"]).stdout
    check(text.startswith("MISSING"), "losses do not come first")
    s = rows(report, "demo")
    by_name = {r["name"]: r for r in s["regions"]}
    # 40 + 41 + 30 + 30 steps of three kernels each; a kernel of step i takes 50 + i, a step 400 + 3 i.
    steps = [(400 + 3 * i, 50 + i) for n in (40, 41, 30, 30) for i in range(n)]
    check(by_name["step"]["calls"] == 141, "calls")
    check(by_name["kernel"]["calls"] == 423, "calls")
    check(by_name["step"]["total_ns"] == sum(a for a, _ in steps), "total")
    check(by_name["kernel"]["total_ns"] == sum(3 * b for _, b in steps), "total")
    check(by_name["step"]["self_ns"] == sum(a - 3 * b for a, b in steps), "self")
    check(by_name["step"]["max_ns"] == 520 and by_name["step"]["min_ns"] == 400, "min, max")
    check(by_name["step"]["line"] == 10, "the lowest site gives the line")
    check(s["samples"] == 40 and s["samples_outside"] == 10, "samples")
    check(by_name["kernel"]["samples"] == 30, "samples of a region")
    check(abs(by_name["kernel"]["sampled_share"] - 0.75) < 1e-12, "sampled share")
    share = by_name["step"]["self_ns"] / s["thread_time_ns"]
    check(abs(by_name["step"]["share"] - share) < 1e-15, "share")
    ranks = rows(report, "demo", "--by-rank")["regions"]
    check(len(ranks) == 4, "a row for each rank")
    check(sum(r["calls"] for r in ranks) == 564, "calls by rank")
    check([r["rank"] for r in rows(report, "demo", "--by-rank", "--sort", "rank")["regions"]] == [0, 0, 1, 1],
          "order by rank")
    check([r["name"] for r in rows(report, "demo", "--sort", "name")["regions"]] == ["kernel", "step"],
          "order by name")
    check(len(rows(report, "demo", "--top", "1")["regions"]) == 1, "--top")
    # All formats have the same calls; .spt has no nesting across threads, so no self time is compared.
    spt = {r["name"]: r for r in rows(report, "demo/spt")["regions"]}
    one = {r["name"]: r for r in rows(report, "demo/spt/heat_rank00000.spt", "demo/heat_rank00000.sps")["regions"]}
    for name in by_name:
        for key in ("calls", "total_ns", "min_ns", "max_ns", "first_ns", "last_ns"):
            check(spt[name][key] == by_name[name][key], f"{key} of {name} in .spt")
    check(one["kernel"]["samples"] == 15, "samples beside .spt")
    table = list(csv.DictReader(io.StringIO(report.expect(["summary", "--csv", "demo"], 0).stdout)))
    check([t["region"] for t in table] == [r["name"] for r in s["regions"]] + ["(no region)"], "CSV rows")
    check(int(table[0]["total_ns"]) == s["regions"][0]["total_ns"], "CSV numbers")
    report.expect(["summary", "demo", "demo/heat_rank00000.h5"], 1, err=["holds rank 0, as demo/heat_rank00000.h5 does; give one of the two"])
    with open(os.path.join(report.work, "bad.h5"), "wb") as f:
        f.write(b"\x89HDF\r\n\x1a\n" + bytes(100))
    report.expect(["summary", "bad.h5"], 1, err=["bad.h5: "])
    report.expect(["export", "json", "demo", "-o", "unnamed.json"], 0)
    with open(os.path.join(report.work, "unnamed.json")) as f:
        text = f.read().replace('"name": "kernel"', '"name": ""')
    with open(os.path.join(report.work, "unnamed.json"), "w") as f:
        f.write(text)
    report.expect(["import", "unnamed.json", "-o", "unnamed.h5"], 0)
    report.expect(["summary", "unnamed.h5"], 0, out=["\n(no name)  "])
    os.makedirs(os.path.join(report.work, "void"))
    report.expect(["summary", "void"], 1, err=["void: has no profile"])


def test_killed(report, maker):
    """What was open when the recorder died: told as far as calls and samples inside of it tell."""
    journal = os.path.join(report.work, "killed.spj")
    subprocess.run([maker, journal, "killed"], check=True)
    where = ("in threads k/10: 2, k/11: 1; in regions kernel at k.c:3: 1, run at k.c:1: 1; from 0.000000 to 0.000001 s of the run")
    report.expect(["info", "killed.spj"], 0, out=["MISSING: 3 × open at the journal's end", where, "losses       3 events"])
    report.expect(["recover", "killed.spj", "-o", "killed"], 0, err=["lost: 3 × open at the journal's end", "5 calls"])
    done = report.run("verify", "killed")
    check(done.returncode == 3 and "3 events were lost" in done.stdout, f"verify of the killed: {done}")
    report.expect(["info", "killed"], 0, out=["MISSING: 3 × open at the journal's end", where])
    regions = {r["name"]: (r["calls"], r["lost_calls"], r["calls_in_gap"], r["whole"]) for r in rows(report, "killed")["regions"]}
    check(regions == {"kernel": (5, 1, True, False), "run": (0, 1, False, False)}, f"regions of the killed: {regions}")


CUTS = [
    "5 calls had no end of their own and ended with the region around them, so the times may be wrong: "
    "an early return, or a missing end (5 × early at x.c:2)",
    "1 call had no end of its own and ended with its thread (1 × a at x.c:3)",
    "2 calls had no end of their own and ended when their process executed another program "
    "(1 × a at x.c:3, 1 × b at x.c:4)",
    "3 calls had no end of their own and were still open when the recording ended: cut there "
    "(1 × a at x.c:3, 1 × b at x.c:4, 1 × c at x.c:5)",
    "4 calls had no end of their own and ended when their function was seen to have returned "
    "(1 × a at x.c:3, 1 × b at x.c:4, 1 × c at x.c:5, and at 1 more place)",
]


def test_cuts(report, maker):
    """Calls without an end of their own are told of, and counted by region."""
    journal = os.path.join(report.work, "cuts.spj")
    subprocess.run([maker, journal, "cuts"], check=True)
    notes = ["note: " + text for text in CUTS]
    report.expect(["recover", "--keep-journal", "cuts.spj", "-o", "cuts"], 0,
                  err=["sp-report: " + text for text in notes] + ["32 calls", "sp-report: note: 7 × stack unreadable ("],
                  nothing=["warning"])
    # The journal itself says the same, also of a call that was open at the end and ended after all.
    report.expect(["info", "cuts.spj"], 0, out=notes + ["calls        32\n", "probe cost   63 ns a call", "started      2023-11-14T22:13:20+00:00"])
    report.expect(["recover", "-q", "cuts.spj", "-o", "cuts2"], 0, nothing=["note: "])
    report.expect(["info", "cuts"], 0, out=notes, nothing=["MISSING"])
    report.expect(["summary", "cuts"], 0, out=notes, nothing=["MISSING"])
    s = rows(report, "cuts")
    check({r["name"]: r["cut_calls"] for r in s["regions"]} ==
          {"outer": 0, "early": 5, "a": 4, "b": 3, "c": 2, "d": 1}, "cut calls by region")
    check([n["text"] for n in s["notes"]] == CUTS, "cut calls as notes of the JSON")
    check({r["name"]: r["whole"] for r in s["regions"]} == {"outer": True, **dict.fromkeys(("early", "a", "b", "c", "d"), False)},
          "regions that are not whole")
    places = [(c["region"], c["reason"], c["count"], c["file"], c["line"]) for c in s["cut_calls"]]
    check(("early", "closed_by_outer", 5, "x.c", 2) in places and ("d", "closed_by_unwinding", 1, "x.c", 6) in places and
          len(places) == 11, f"places of cut calls: {places}")
    ranks = rows(report, "cuts", "--by-rank")["regions"]
    check({(r["name"], r["rank"]): r["cut_calls"] for r in ranks}[("early", 0)] == 5, "by rank")
    report.expect(["info", "demo"], 0, nothing=["no end of"])
    # A sample without its stack is all there, but for that: a note, after what is missing.
    text = report.expect(["summary", "cuts"], 0, out=["note: 7 × stack unreadable, all within 9 ns: the sample is kept"]).stdout
    check(text.startswith("note: 7 ×"), "a note on stacks does not come first")

    # Tags: a list in JSON, words for people.
    check({r["name"]: r["tags"] for r in s["regions"] if r["tags"]} == {"early": ["io", "déjà"]},
          "tags in JSON")
    text = report.expect(["summary", "cuts"], 0, out=["  io, déjà\n", "\ncut: calls without a begin or an end of their own"]).stdout
    check([line.split()[-4:-2] for line in text.splitlines() if line.startswith("early ")] == [["%", "5"]], f"the column cut: {text}")
    check(any(line.endswith("  tags") for line in text.splitlines()), "no column of tags")
    check(not any(line.endswith(" ") for line in text.splitlines()), "blanks at the end of a line")
    table = {t["region"]: t for t in
             csv.DictReader(io.StringIO(report.expect(["summary", "--csv", "cuts"], 0).stdout))}
    check((table["early"]["tags"], table["early"]["cut_calls"]) == ("io, déjà", "5"), "tags in CSV")
    check((table["early"]["whole"], table["outer"]["whole"]) == ("0", "1"), "whole in CSV")

    # Two recordings: info has both, each with its own notes; their numbers are not added up.
    text = report.expect(["info", "cuts", "demo"], 0).stdout
    first, second = text.index("cuts/cuts_rank"), text.index("files        2: demo/heat_rank")
    check(text.index(CUTS[0]) < first < text.index("MISSING: 42") < second, "notes beside recordings")
    report.expect(["info", "cuts", "cuts2"], 1, err=["holds rank 0, as cuts/cuts_rank00000.h5 does"])
    answer = json.loads(report.expect(["info", "--json", "demo", "cuts"], 0).stdout)
    check([(len(r["losses"]), len(r["notes"])) for r in answer["recordings"]] == [(2, 1), (1, 5)],
          "losses and notes of a recording")
    report.expect(["info", "demo", "demo/heat_rank00001.h5"], 1, err=["give one of the two"])
    report.expect(["summary", "demo", "cuts"], 1, err=["these are two runs: give them one by one"])
    # Samples alone have no calls to speak of.
    report.expect(["summary", "demo/heat_rank00000.sps"], 0, nothing=["unknown length", " mean "],
                  out=["samples alone (calls are in the .h5 files): ", "sampled"])


def run_on_terminal(program, work, args, columns, until=None):
    """Runs sp-report with a terminal of that width as stdout and stderr: its output, its status. With
    @until, a SIGINT is sent as soon as the output holds that text."""
    main_end, its_end = os.openpty()
    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([program, *args], cwd=work, stdin=subprocess.DEVNULL, stdout=its_end,
                               stderr=its_end, env={**os.environ, "TERM": "xterm"})
    os.close(its_end)
    seen = b""
    while True:
        try:
            data = os.read(main_end, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
        if until and until in seen:
            process.send_signal(signal.SIGINT)
            until = None
    os.close(main_end)
    return seen.decode(), process.wait(timeout=60)


def test_terminal(report, maker):
    text, status = run_on_terminal(report.program, report.work, ["summary", "hostile"], 90)
    check(status == 0 and "\x1b[1mregion" in text, "no bold heading on a terminal")
    check("\x1b[2J" not in text and "\\x1b[2J" in text, "a name reaches the terminal as it is")
    longest = max(len(line) for line in text.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines())
    check(longest <= 90, f"a line of {longest} columns on a terminal with 90")
    check("…" in text, "the long name was not cut")
    check("a very long name" * 10 in report.run("summary", "hostile").stdout, "cut without a terminal")
    # Interrupted in the middle: nothing is left but the journal.
    journal = os.path.join(report.work, "large.spj")
    subprocess.run([maker, journal, "big", "6000000"], check=True)
    before = os.stat(journal)
    text, status = run_on_terminal(report.program, report.work,
                                   ["recover", "large.spj", "-o", "large", "--no-sync"], 80,
                                   until=b"converting the journal: writing")
    check(status == 1 and "interrupted" in text, f"an interrupted conversion: {status} {text!r}")
    after = os.stat(journal)
    check((before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns), "the journal changed")
    check(os.listdir(os.path.join(report.work, "large")) == [], "an interrupted conversion left files")
    os.unlink(journal)


def test_full_disk(report, maker):
    journal = os.path.join(report.work, "room.spj")
    subprocess.run([maker, journal, "demo"], check=True)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    r = subprocess.run([report.program, "recover", "room.spj", "-o", "room"], cwd=report.work,
                       capture_output=True, text=True, preexec_fn=limit)
    check(r.returncode == 1 and "File too large" in r.stderr, f"no room for files: {r.returncode} {r.stderr}")
    check("sp-report recover -o DIR room.spj" in r.stderr, "no remedy for a full disk")
    check(os.path.exists(journal) and not glob.glob(report.work + "/room/*"), "something was left or lost")
    with open("/dev/full", "w") as full:
        r = subprocess.run([report.program, "summary", "demo"], cwd=report.work, stdout=full,
                           stderr=subprocess.PIPE, text=True)
    check(r.returncode == 1 and "could not be written: No space left" in r.stderr, "a full disk goes unnoticed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", required=True)
    parser.add_argument("--maker", required=True)
    parser.add_argument("--work", required=True)
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(os.path.join(options.work, "demo"))
    report = Report(options.report, options.work)
    test_usage(report)
    test_recover(report, options.maker)
    test_info(report)
    test_summary(report)
    test_killed(report, options.maker)
    test_cuts(report, options.maker)
    hostile = os.path.join(options.work, "hostile.spj")
    subprocess.run([options.maker, hostile, "hostile"], check=True)
    report.expect(["recover", "-q", "hostile.spj", "-o", "hostile"], 0)
    report.expect(["info", "hostile"], 0, out=["\\x1b]0;title"])
    test_terminal(report, options.maker)
    test_full_disk(report, options.maker)
    return end()


if __name__ == "__main__":
    sys.exit(main())
