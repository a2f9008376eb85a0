# SPDX-License-Identifier: BSD-2-Clause
"""sp-report dump, verify and info on journals, traces, samples and HDF5 profiles, good and bad ones.

The second opinion on journals is journal.py, on traces and samples struct; HDF5 files must show the same
calls as the traces of the same recording.
"""

import argparse
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(__file__), "../lib"))
import journal
from checks import check, end


class Report:
    def __init__(self, program, maker, work):
        self.program, self.maker, self.work = program, maker, work

    def run(self, *args):
        return subprocess.run([self.program, *args], cwd=self.work, capture_output=True, timeout=120)

    def text(self, *args, status=0):
        done = self.run(*args)
        check(done.returncode == status, f"{args}: {done.returncode}, not {status}: {done.stderr.decode()}")
        return done.stdout.decode()

    def said(self, *args, status=1):
        done = self.run(*args)
        check(done.returncode == status, f"{args}: {done.returncode}, not {status}: {done.stderr.decode()}")
        return done.stderr.decode()

    def json(self, *args, status=0):
        return json.loads(self.text(*args, "--json", status=status))

    def write(self, name, data):
        with open(os.path.join(self.work, name), "wb") as f:
            f.write(data)
        return name

    def read(self, name):
        with open(os.path.join(self.work, name), "rb") as f:
            return f.read()

    def make(self, kind, *args):
        name = kind + ".spj"
        subprocess.run([self.maker, os.path.join(self.work, name), kind, *args], check=True)
        self.text("recover", name, "--keep-journal", "-q", "--no-sync", "--force", "-o", kind, "--formats",
                  "h5,sps,spt")
        return name


# ---- dump ----

def read_spt(data):
    magic, version, rank, n = struct.unpack_from("<8siiq", data)
    assert magic == b"SCOPEPRF" and version == 2
    at, calls = 24, []
    for _ in range(n):
        size, = struct.unpack_from("<i", data, at)
        name = data[at + 4:at + 4 + size].decode()
        at += 4 + size
        size, = struct.unpack_from("<i", data, at)
        at += 4 + size + 4
        n_calls, = struct.unpack_from("<q", data, at)
        at += 8
        times = struct.unpack_from(f"<{2 * n_calls}q", data, at)
        at += 16 * n_calls
        calls += [(rank, name, i, times[i], times[n_calls + i]) for i in range(n_calls)]
    assert at == len(data)
    return calls


def calls_of(dump):
    return [(c["rank"], c["region"], c["index"], c["start_ns"], c["end_ns"]) for c in dump["calls"]]


def pairs(line):
    """{key: value} of a line; a value is a word, a quoted text or a list."""
    kind, _, rest = line.partition("  ")
    found = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\[(?:[^]"]|"(?:[^"\\]|\\.)*")*\]|\S+)', rest)
    return kind, dict(found)


def test_dump_journal(report):
    for kind, args in ("demo", ()), ("died", ()), ("cuts", ()), ("stacks", ()), ("claims", ()), ("big", ("500", "50")):
        name = report.make(kind, *args)
        schema, blocks = journal.read(report.read(name))
        wanted = [dict(event, block=i, stream=stream)
                  for i, (_, _, stream, events) in enumerate(blocks) for event in events]
        dump = report.json("dump", name)
        check(dump["events"] == wanted, f"{name}: other events than journal.py reads")
        check([(e["id"], e["event"], e["tail"], e["fields"]) for e in dump["schema"]] ==
              [(i, n, t, [f for _, f in fields]) for i, (n, t, fields) in sorted(schema.events.items())],
              f"{name}: another schema")
        check(dump["state"][0]["ended"] == (kind != "died") and dump["state"][0]["intact"], f"{name}: state")
        lines = report.text("dump", name, "--section", "events").splitlines()
        check(len(lines) == len(wanted), f"{name}: {len(lines)} lines for {len(wanted)} events")
        for line, event in zip(lines, wanted):
            kind_of, values = pairs(line)
            check(kind_of == event["event"], f"{name}: {line}")
            numbers = {k: v for k, v in event.items() if isinstance(v, int)}
            check({k: int(values.get(k, "-99"), 0) for k in numbers} == numbers, f"{name}: {line}: {event}")
        calls = report.text("dump", name, "--section", "call").splitlines()
        check(len(calls) == sum(e["event"] == "call" for e in wanted), f"{name}: --section call")


def test_dump_profiles(report):
    for rank in 0, 1:
        spt, sps, h5 = (f"demo/{place}heat_rank0000{rank}.{suffix}"
                        for place, suffix in (("spt/", "spt"), ("", "sps"), ("", "h5")))
        native = read_spt(report.read(spt))
        check(len(native) > 200, "the trace has no calls")
        check(calls_of(report.json("dump", spt)) == native, f"{spt}: other calls than struct reads")
        dump = report.json("dump", h5)
        check(sorted(calls_of(dump)) == sorted(native), f"{h5}: other calls than the trace")
        check(len(dump["samples"]) == 20 and all(s["stack"] and s["ip"] == s["stack"][0] for s in dump["samples"]),
              f"{h5}: samples")
        check({t["name"] for t in dump["threads"]} == {"heat", "worker"}, f"{h5}: threads")
        check({m["key"]: m["value"] for m in dump["meta"]}["stop_ns"] == 1002000000000, f"{h5}: meta")
        ids = {c["id"] for c in dump["calls"]}
        check(len(ids) == len(native) and all(c["parent"] in ids | {-1} for c in dump["calls"]), f"{h5}: ids")
        samples = report.json("dump", sps)
        n, = struct.unpack_from("<q", report.read(sps), len(report.read(sps)) - 16 * len(samples["samples"]) - 8)
        check(n == len(samples["samples"]) == 15, f"{sps}: samples")
        for name in spt, sps, h5:
            whole = report.json("dump", name)
            lines = report.text("dump", name).splitlines()
            check(len(lines) == sum(len(section) for section in whole.values()), f"{name}: lines and records")
            limited = report.json("dump", name, "--limit", "2")
            for section, records in whole.items():
                left = limited.get("left_out", {}).get(section, 0)
                check(limited[section] == records[:2] and left == max(0, len(records) - 2), f"{name}: {section}")
            check(list(report.json("dump", name, "--section", "regions,rows")) == ["regions", "rows"],
                  f"{name}: --section")
    text = report.text("dump", "demo/heat_rank00000.h5", "--limit", "0")
    check("# calls: 280 more, left out by --limit" in text and "\ncall " not in text, "--limit 0")


def test_dump_usage(report):
    check("no file is given" in report.said("dump", status=2), "dump without a file")
    check("one too many" in report.said("dump", "a", "b", status=2), "dump of two files")
    check("did you mean 'calls'" in report.said("dump", "--section", "cals", "a", status=2), "a wrong section")
    check("'-1' is no number" in report.said("dump", "--limit=-1", "a", status=2), "a wrong limit")
    check("missing.h5: cannot be opened: No such file" in report.said("dump", "missing.h5"), "no such file")
    # Whoever reads it may stop: it ends at once, without a word.
    name = report.make("big", "200000")
    for args in ("big/big_rank00000.h5",), ("big/big_rank00000.h5", "--json"), (name,):
        for restore in True, False:
            reader = subprocess.Popen([report.program, "dump", *args], cwd=report.work, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, restore_signals=restore)
            reader.stdout.read(100)
            reader.stdout.close()
            said = reader.stderr.read()
            status = reader.wait(timeout=60)
            check(status == -signal.SIGPIPE and not said, f"a broken pipe: {status} {said}")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([report.program, "dump", name], cwd=report.work, stdout=full, stderr=subprocess.PIPE)
    check(done.returncode == 1 and b"could not be written" in done.stderr, f"a full disk: {done}")


def test_hostile_names(report):
    """Every record stays a line, and nothing in it acts upon a terminal."""
    report.make("hostile")
    schema = journal.Schema(report_schema(report))
    names = [b"\xff\xfe", b"two\nlines", b"tab\tbell\a", b'quote" start=5', b"back\\slash", b"\xc2\x9b31m", b"",
             "r\u202eb".encode(), b"long" * 2000, b"\x00\x00"]
    packer = journal.Packer(schema)
    for name in names:
        packer.pack("task", lane=1, process=1, pid=5, tid=5, tail=name)
    data = journal.MAGIC + journal.block(schema.text.encode(), 0, journal.SCHEMA) + packer.block(1)
    report.write("names.spj", data)
    for name, section in ("hostile/hostile_rank00000.h5", "calls"), ("names.spj", "events"):
        done = report.run("dump", name, "--section", section)
        text = done.stdout.decode()
        check(not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text),
              f"{name}: something for the terminal in {text!r}")
        check(len(text.splitlines()) == len(report.json("dump", name)[section]), f"{name}: a record is no line")
    lines = report.text("dump", "names.spj", "--section", "events").splitlines()
    texts = [pairs(line)[1]["text"] for line in lines]
    check(texts == [r'["\xff\xfe"]', r'["two\nlines"]', r'["tab\tbell\x07"]', r'["quote\" start=5"]',
                    r'["back\\slash"]', r'["\u009b31m"]', '[""]', r'["r\u202eb"]', '["' + "long" * 2000 + '"]',
                    '["" "" ""]'], f"escapes: {texts}")
    events = report.json("dump", "names.spj")["events"]
    check([e["text"] for e in events] == [e["text"] for e in journal.read(data)[1][1][3]], "names in JSON")
    for command in "info", "verify":
        done = report.run(command, "hostile", "hostile.spj")
        check(b"\x1b" not in done.stdout + done.stderr, f"{command}: an escape sequence")


def report_schema(report):
    return journal.read(report.read("demo.spj"))[0].text


# ---- verify ----

def test_verify_claims(report):
    """Losses are never nothing because their sum is 2^64."""
    most = f"{2**64 - 1:,}"
    for what in "claims", "claims.spj":
        check(f"incomplete: {most} events" in report.text("verify", what, status=3), f"verify {what}")
        told = report.text("info", what)
        check(f"MISSING: {most} × call ring full" in told and f"MISSING: {most} × nested too deeply" in told and
              f"losses       {most} events" in told, f"info {what}: {told}")


def test_verify_good(report):
    good = report.text("verify", "demo", "cuts", "hostile", "stacks", "big", "demo.spj", "cuts.spj", "stacks.spj", status=3)
    check(good.count("but incomplete: 42 events were lost when it was recorded") == 4, f"what is lost: {good}")
    check(report.text("verify", "cuts", "cuts.spj").count("incomplete") == 0, "stacks are no events")
    lines = good.splitlines()
    check(len(lines) > 12 and all(": ok (" in line or ": ok, but incomplete: " in line for line in lines), f"good files: {good}")
    check("(hdf5 schema 3: 2 regions, 280 calls, 20 samples, " in good, good)
    check(report.text("verify", "-q", "demo", status=3) == "", "verify -q says something")
    answer = report.json("verify", "demo", status=3)
    check(answer["ok"] and not answer["complete"] and [f["lost"] for f in answer["files"]].count(42) == 3, f"verify --json: {answer}")
    check(answer["ok"] and all(f["ok"] and not f["warnings"] for f in answer["files"]), "verify --json")
    check(sum(f["checked"]["calls"] for f in answer["files"] if f["format"] == "hdf5") == 564, "calls that were read")
    check("no file or directory is given" in report.said("verify", status=2), "verify without a file")
    check("no stacks were compared" in report.said("verify", "--stacks", "demo"), "verify --stacks without a journal")
    os.mkdir(os.path.join(report.work, "void"))
    check("void: has no file to verify" in report.said("verify", "void"), "an empty directory")


def test_verify_stacks_without_copies(report):
    """By tables, only stacks for which there was no table yet are copied: nothing to compare a table's with."""
    schema = journal.Schema(report_schema(report))
    for how in "eh", "fp", "leaf", "dwarf":
        packer = journal.Packer(schema)
        packer.pack("meta", tail=f"stacks\0{how}".encode())
        packer.pack("process", process=1, pid=5, tail=b"demo\0demo\0\0")
        packer.pack("task", lane=1, process=1, pid=5, tid=5, tail=b"demo")
        packer.pack("sample", lane=1, time=1000, ip=0x401000, process=1, pid=5, tid=5,
                    tail=struct.pack("<2Q", 0x401000, 0x402000))
        packer.pack("stack_copy", lane=1, time=1000, words=1, registers=17, tail=bytes(8 * 18))
        packer.pack("end", samples=1, tail=b"exited")
        report.write("copies.spj", journal.MAGIC + journal.block(schema.text.encode(), 0, journal.SCHEMA) + packer.block(1))
        done = report.run("verify", "--stacks", "copies.spj")
        check((b"has no copies of stacks to compare with" in done.stderr) == (how != "dwarf"), f"{how}: {done}")


def test_summary_of_nothing(report):
    report.make("empty")
    told = report.text("summary", "empty")
    check("no calls, 0 samples at 99 Hz\n" in told and ".h5" not in told, f"summary of nothing: {told}")


def test_verify_continues(report):
    report.write("text", b"this is no profile")
    done = report.run("verify", "text", "demo/heat_rank00000.sps", "missing", "cuts.spj")
    check(done.returncode == 1 and done.stdout.decode().count(": ok (") == 2, f"it stopped: {done}")
    said = done.stderr.decode()
    check("text: is neither a profile" in said and "missing: cannot be opened" in said, said)
    answer = report.json("verify", "text", "demo/heat_rank00000.sps", status=1)
    check([f["ok"] for f in answer["files"]] == [False, True] and not answer["ok"], "JSON of two files")
    check(answer["files"][0]["error"]["name"] == "EMEDIUMTYPE", f"the error: {answer['files'][0]}")


def test_verify_journals(report):
    data = report.read("demo.spj")
    schema, blocks = journal.read(data)
    head = journal.MAGIC + journal.block(schema.text.encode(), 0, journal.SCHEMA)

    def bad(name, content, *words, status=1):
        said = report.said("verify", report.write(name, content), status=status)
        check(all(word in said for word in words), f"{name}: {said}")

    def packer():
        return journal.Packer(schema)

    bad("died2.spj", data[:blocks[-1][0]], "has no event that ends the recording: the recorder died",
        f"(at byte {blocks[-1][0]})")
    bad("cut.spj", data[:-1], "the last block is cut off", f"recover keeps {blocks[-1][0]} of {len(data) - 1} bytes")
    bad("schema.spj", data[:50], "ends inside its schema")
    bad("trailing.spj", data + b"x" * 40, "has 40 bytes behind its end event")
    flipped = bytearray(data)
    flipped[blocks[2][0] + 60] ^= 4
    bad("flipped.spj", bytes(flipped), "checksum is wrong", f"(at byte {blocks[2][0]})")
    end = packer().pack("end", calls=1, samples=0, tail=b"done")
    bad("counts.spj", head + end.block(1), "its end says 1 calls and 0 samples, but it has 0 and 0")
    call = packer().pack("call", lane=1, site=1, number=1, start=5, end=9)
    end = packer().pack("end", calls=1, tail=b"done").block(2)
    check("ok, with 2 warnings" in report.text("verify", report.write("one.spj", head + call.block(1) + end)),
          "a call without its site and thread")
    bad("slack.spj", head + journal.block(call.bytes + b"\0\0\0", 1, events=1) + end, "has 3 bytes behind the last")
    bad("later.spj", head + call.block(1) + end + packer().pack("loss", count=1, cause=1).block(3), "behind the one that ends")
    bad("cause.spj", head + packer().pack("loss", count=1, cause=31).block(1) + packer().pack("end").block(2),
        "lost for a cause that this version does not know: event 0, 31", status=3)
    wrong = journal.block(call.bytes[:4], 1, events=1)
    bad("event.spj", head + wrong + end, "events are damaged although its checksum is right")
    bad("number.spj", head + call.block(2), "header is damaged")
    bad("version.spj", b"SPTRJNL2" + data[8:], "is a journal of version '2'")
    bad("nothing.spj", b"", "is empty")
    # Of a newer version: events and blocks that are not known are passed over, and told of.
    newer = journal.Schema(schema.text + "event 63 news text\nfield s32 number\n")
    unknown = journal.Packer(newer).pack("news", number=-5 & journal.MASK, tail=b"hear, hear")
    content = (journal.MAGIC + journal.block(newer.text.encode(), 0, journal.SCHEMA) + unknown.block(1) +
               journal.block(b"?", 2, kind=9) + journal.Packer(newer).pack("end").block(3))
    bad("newer.spj", content, "an event is of a kind", "a block is of a kind", status=0)
    events = report.json("dump", "newer.spj")["events"]
    check(events[0] == {"event": "news", "block": 1, "stream": 0, "flags": 0, "lane": 0, "number": -5,
                        "text": ["hear, hear"]}, f"an unknown event: {events[0]}")


def test_verify_native(report):
    def spt(name, starts, ends):
        body = struct.pack("<8siiq", b"SCOPEPRF", 1, 0, 1) + struct.pack("<i1sq", 1, b"a", len(starts))
        return report.write(name, body + struct.pack(f"<{2 * len(starts)}q", *starts, *ends))

    odd = report.said("verify", spt("odd.spt", [5, 4, 9], [6, 5, 8]), status=0)
    check('a call ends before it starts: call 2 of row 0 ("a" on rank 0)' in odd, odd)
    check('a call starts before the one that stands before it: call 1 of row 0' in odd, odd)
    many = report.said("verify", spt("many.spt", [5] * 3, [4] * 3), status=0)
    check('3 calls end before they start; the first is call 0 of row 0' in many, many)
    data = report.read("demo/spt/heat_rank00000.spt")
    for cut in list(range(0, 80)) + [len(data) - 1]:
        said = report.said("verify", report.write("cut.spt", data[:cut]))
        check(said.startswith("sp-report: cut.spt: "), said)
    check("after its last region" in report.said("verify", report.write("more.spt", data + b"\0")), "trailing")


# ---- info ----

def test_info(report):
    text = report.text("info", "died.spj")
    first, size = text.splitlines(), len(report.read("died.spj"))
    check(first[0].startswith("MISSING: 42 × call ring full"), "losses do not come first")
    for wanted in ("MISSING: the recorder died", "format       journal, version 1", "host         node1",
                   "ranks        2", "calls        564", "samples      41 at 99 Hz, by cpu-clock",
                   "losses       42 events", f"{size:,} of {size:,} are whole", "sp-report recover died.spj"):
        check(wanted in text, f"info of a journal lacks {wanted!r}: {text}")
    packer = journal.Packer(journal.Schema(report_schema(report)))
    packer.pack("call", lane=1, site=1, number=1, start=5, end=9).pack("loss", count=1, cause=1).pack("end", calls=1)
    report.write("lone.spj", report.read("demo.spj")[:journal.read(report.read("demo.spj"))[1][0][1]] + packer.block(1))
    report.text("recover", "--keep-journal", "-o", "lone", "lone.spj")
    for what in "lone.spj", "lone":
        check("losses       1 event, as told above" in report.text("info", what), f"one loss, in {what}")
    both = report.json("info", "demo.spj", "demo")["recordings"]
    for key in "ranks", "calls", "regions", "host", "start_ns", "end_ns":
        check(both[0][key] == both[1][key], f"{key}: {both[0][key]} of the files, {both[1][key]} of the journal")
    check(both[1]["files"][0]["events"]["call"] == 564 and both[1]["files"][0]["ended"], "events in JSON")
    # A directory with nothing but a journal stands for it.
    os.mkdir(os.path.join(report.work, "alone"))
    shutil.copy(os.path.join(report.work, "died.spj"), os.path.join(report.work, "alone/journal.spj"))
    for path in "alone", "alone/":
        check("alone/journal.spj\n" in report.text("info", path), "a directory with a journal")
    check("ends inside its schema" in report.said("info", "schema.spj"), "info of a cut journal")
    # What a foreign file does not say is unknown, not 0.
    text = report.text("info", "demo/spt/heat_rank00000.spt")
    for what in "host", "processes", "threads", "samples", "losses":
        check(f"{what:12} unknown\n" in text, f"{what} of a trace: {text}")
    check("spt, version 2, little-endian" in text and "calls        280" in text, text)
    check("calls        unknown\n" in report.text("info", "demo/heat_rank00000.sps"), "calls of samples")
    trace = report.json("info", "demo/spt/heat_rank00000.spt")["recordings"][0]
    check([trace[k] for k in ("host", "threads", "samples", "processes")] == [None] * 4, "unknown is null")
    check(not trace["losses_known"], "the losses of a trace are known")
    parts = report.json("info", "demo")["recordings"][0]["files"][0]["parts"]
    check({"thread ids", "call ids", "threads", "tags", "/sp_trace"} <= set(parts), f"parts: {parts}")


# ---- stacks: "stacks" of make_journal.c has a sample of each end, and 87 more that are complete ----

ENDS = ["unknown", "complete", "leaf", "truncated", "no mapping", "pending", "no table", "no rule", "unsupported", "unreadable", "no progress",
        "busy", "frame pointers"]


def test_stacks(report):
    causes = "; ".join(f"1 {words}" for words in (
        "cut off at the most frames that are kept", "ended at an address that is in no known mapping",
        "ended in code whose unwind table was still being made", "ended in code without unwind tables",
        "ended at an address of which the unwind table says nothing", "ended at an unwind rule that sp-trace cannot follow",
        "ended where the stack's memory could not be read", "ended where the next frame would lie below",
        "followed by frame pointers alone, may lack callers"))
    for path in "stacks.spj", "stacks":
        text = report.text("info", path)
        check(f"stacks       by unwind tables, with the kernel's: 90.7 % complete; {causes}\n" in text, text)
        counts = report.json("info", path)["recordings"][0]["stacks"]
        check(counts == {**dict.fromkeys(ENDS, 1), "complete": 88}, f"{path}: {counts}")
    check("\nstacks " not in report.text("info", "demo"), "an older recording has stacks in info")
    check(report.json("info", "demo")["recordings"][0]["stacks"].keys() == {"unknown"}, "an older recording in JSON")
    text = report.text("summary", "stacks")
    wanted = "; ".join(["note: stacks: 90.7 % complete", *causes.split("; ")[:3], "…\n"])
    check(wanted in text, f"summary: {text}")
    check("stacks" not in report.text("summary", "demo"), "summary of an older recording")
    done = report.run("recover", "stacks.spj", "--keep-journal", "--no-sync", "--force", "-o", "stacks", "--formats", "h5,sps,spt")
    check(b"100 samples (1 outside of regions); stacks 90.7 % complete\n" in done.stderr, done.stderr)
    dump = report.json("dump", "stacks/stacks_rank00000.h5")
    check([one["stack_end"] for one in dump["samples"]] == [*ENDS, *["complete"] * 87], "ends of samples")
    check([(one["kernel_frames"], len(one["stack"])) for one in dump["samples"]] == [(0, 4), (2, 6)] * 50, "frames of samples")
    check([one["signal_frames"] for one in dump["samples"]] == [0, 4] + [0] * 98, "signal frames of samples")
    check([(one["name"], one["module"], one["rank"]) for one in dump["kernel_symbols"]] == [("do_it", "ext4", 0), ("entry_SYSCALL_64", "", 0)],
          f"kernel symbols: {dump['kernel_symbols']}")
    check(sorted((one["path"], one["process"], one["archived"]) for one in dump["modules"]) ==
          [("/usr/bin/app", 0, "archive/abcdef0123-app"), ("/usr/bin/app", 1, "archive/abcdef0123-app"), ("/usr/lib/libfoo.so", 0, ""),
           ("/usr/lib/libfoo.so", 1, "")], f"modules: {dump['modules']}")
    lines = report.text("dump", "--section", "kernel_symbols", "stacks/stacks_rank00000.h5").splitlines()
    check(lines[0].startswith("kernel_symbol  row=0 address=0xffffffff81000000 end=0xffffffff81000040 name="), lines)
    check("kernel symbols" in report.json("info", "stacks")["recordings"][0]["files"][0]["parts"], "parts")
    # What JSON has no place for is told.
    done = report.run("export", "json", "stacks", "-o", "stacks.json")
    check(b"names of kernel functions" in done.stderr, done.stderr)
    # And in the file that was made of it these are unknown, which is not none.
    text = report.text("info", "stacks.json")
    for what in "processes", "samples", "losses":
        check(f"{what:12} unknown\n" in text, f"{what} of an exported JSON: {text}")
    exported = report.json("info", "stacks.json")["recordings"][0]
    check([exported[k] for k in ("samples", "processes")] == [None] * 2 and not exported["losses_known"], exported)


def test_memory(report):
    """Neither keeps what it has read: 3 million calls (48 MB) in a few MiB."""
    n = 3000000
    body = struct.pack("<8siiq", b"SCOPEPRF", 1, 0, 1) + struct.pack("<i1sq", 1, b"a", n)
    with open(os.path.join(report.work, "large.spt"), "wb") as f:
        f.write(body)
        for part in range(2):
            for at in range(0, n, 100000):
                f.write(struct.pack("<100000q", *range(at + part, at + part + 100000)))
    for args in ("verify",), ("dump",), ("dump", "--json"):
        with open(os.devnull, "wb") as null:
            process = subprocess.Popen([report.program, *args, "large.spt"], cwd=report.work, stdout=null)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        check(status == 0 and usage.ru_maxrss < 40 << 10, f"{args}: {status}, {usage.ru_maxrss} KiB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", required=True)
    parser.add_argument("--maker", required=True)
    parser.add_argument("--sanitized", action="store_true", help="the program needs more memory than it asks for")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        report = Report(options.report, options.maker, work)
        test_dump_journal(report)
        test_dump_profiles(report)
        test_dump_usage(report)
        test_hostile_names(report)
        test_verify_claims(report)
        test_verify_good(report)
        test_verify_stacks_without_copies(report)
        test_summary_of_nothing(report)
        test_verify_continues(report)
        test_verify_journals(report)
        test_verify_native(report)
        test_info(report)
        test_stacks(report)
        if not options.sanitized:
            test_memory(report)
    return end()


if __name__ == "__main__":
    sys.exit(main())
