# SPDX-License-Identifier: BSD-2-Clause
"""elf_files_test.py - real programs in every kind of link: what the ELF helper says about them, held
against readelf, against the sources, and against the programs' own bytes."""
import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time

import programs

PLACES = 4 if platform.machine() == "x86_64" else 2  # of a program's two probes
failures = 0


def check(condition, *what):
    global failures
    if not condition:
        failures += 1
        print("not true:", *what, file=sys.stderr)


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode("utf-8", "surrogateescape")


def scan(paths):
    """Events of each file, as a list of lists."""
    found = [[] for _ in paths]
    for line in run(args.dump, args.helper, *paths).splitlines():
        event = json.loads(line)
        if "text" in event:
            event["text"] = [t.encode("latin-1").decode("utf-8") for t in event["text"]]
        found[event["index"]].append(event)
    return found


def of(events, kind):
    return [e for e in events if e["event"] == kind]


def readelf_notes(path):
    """(name, location, semaphore, arguments) of each probe of ours."""
    text = run("readelf", "-nW", path)
    notes = re.findall(r"Provider: (\S+)\s+Name: (\S+)\s+Location: (\S+), Base: \S+, Semaphore: (\S+)\s+"
                       r"Arguments: (.*)", text)
    return sorted((n, int(l, 16), int(s, 16), a.strip()) for p, n, l, s, a in notes
                  if p == "sp" and int(l, 16))


def readelf_sections(path):
    """name -> (address, offset, size)"""
    found = {}
    for m in re.finditer(r"\]\s+(\S+)\s+\S+\s+([0-9a-f]{16})\s+([0-9a-f]+)\s+([0-9a-f]+)\s",
                         run("readelf", "-SW", path)):
        found[m[1]] = tuple(int(m[i], 16) for i in (2, 3, 4))
    return found


def readelf_loads(path):
    """(offset, address, file size, flags) of each PT_LOAD."""
    return [(int(m[1], 16), int(m[2], 16), int(m[3], 16), m[4])
            for m in re.finditer(r"LOAD\s+(\S+)\s+(\S+)\s+\S+\s+(\S+)\s+\S+\s+([RWE ]{3})",
                                 run("readelf", "-lW", path))]


def offset_of(loads, address):
    for offset, start, size, _ in loads:
        if start <= address < start + size:
            return address - start + offset
    raise ValueError(hex(address))


def check_program(name, path, events, regions):
    loads, sections = readelf_loads(path), readelf_sections(path)
    image = of(events, "image")[0]
    result = of(events, "result")[0]
    check(result["error"] == 0 and image["error"] == 0, name, result)
    build_id = re.search(r"Build ID: (\S+)", run("readelf", "-nW", path))
    check(image["text"][1] == (build_id[1] if build_id else ""), name, "build-id", image["text"])
    kind = re.search(r"Type:\s+(\S+)", run("readelf", "-hW", path))[1]
    check(image["elf_type"] == {"EXEC": 2, "DYN": 3}[kind], name, kind, image["elf_type"])
    st = os.stat(path)
    check((image["device"], image["inode"], image["size"]) == (st.st_dev, st.st_ino, st.st_size), name, "stat")
    check(image["mtime"] == st.st_mtime_ns and image["ctime"] == st.st_ctime_ns, name, "times")

    segments = [(e["file_offset"], e["address"], e["file_size"]) for e in of(events, "segment")]
    check(segments == [l[:3] for l in loads if "E" in l[3]], name, "segments", segments, loads)

    probes = of(events, "probe")
    check(sorted((p["text"][1], p["address"], p["semaphore"], p["text"][2]) for p in probes) ==
          readelf_notes(path), name, "probes", probes, readelf_notes(path))
    # On x86-64 each has a second place, without a 5-byte nop, for forked children.
    places = 1 if name == "aarch64" else 2
    check(sorted(p["text"][1] for p in probes) == ["begin"] * places + ["end"] * places, name, probes)
    check(len({(p["text"][1], p["semaphore"]) for p in probes}) == 2, name, "semaphores", probes)
    with open(path, "rb") as f:
        data = f.read()
    for p in probes:
        at, sema = p["file_offset"], p["semaphore_offset"]
        check(at == offset_of(loads, p["address"]), name, "probe's place", p)
        check(sema == offset_of(loads, p["semaphore"]), name, "semaphore's place", p)
        check(data[sema:sema + 2] == b"\0\0", name, "semaphore's value", p)
        stub = data[at:at + 8] == b"\x90\x0f\x1f\x44\x00\x00\xc3" + bytes([p["kind"]])
        child = data[at:at + 2] == b"\x90\xc3"
        check(p["flags"] == (1 if stub else 0), name, "stub", p)
        check(stub + child == (name != "aarch64"), name, "stub bytes", data[at:at + 8])
    if name != "aarch64":
        check(sorted(p["kind"] for p in probes if p["flags"]) == [1, 2], name, "one stub of each", probes)

    sites = of(events, "site")
    check(image["sites"] == len(sites), name, "number of sites")
    check([s["site"] for s in sites] == list(range(1, len(sites) + 1)), name, "numbers of sites")
    address, _, size = sections["sp_desc"]
    check(sorted(s["address"] for s in sites) == list(range(address, address + size, 32)), name, "addresses")
    check({s["text"][0] for s in sites} == set(regions), name, "names", {s["text"][0] for s in sites})
    for s in sites:
        region, file, tags, function = s["text"]
        if region not in regions:
            continue
        begins = [e for e in sites if e["text"][0] == region and not e["flags"] & 4]
        check(os.path.basename(file) in ("main.c", "other.c"), name, s)
        check(any(e["text"][2] == regions[region][1] and
                  os.path.basename(e["text"][1]) == regions[region][0] for e in begins), name, region)
        check(fnv(region) == s["hash"], name, "hash", s)
        source = open(file, encoding="utf-8").read().splitlines()[s["line"] - 1]
        check("SP_REGION" in source, name, "line", s, source)
        check(function in ("", "main", "leaf", "inlined", "other"), name, "function", s)
        check(bool(s["flags"] & 4) == ("SP_REGION_END" in source), name, "flags", s)
        check(bool(s["flags"] & 2) == ("FUNCTION" in source), name, "flags", s)
        check(bool(s["flags"] & 1) == ("FUNCTION" in source or "SCOPE" in source), name, "flags", s)


def fnv(text):
    h = 0xcbf29ce484222325
    for b in text.encode():
        h = (h ^ b) * 0x100000001b3 & (1 << 64) - 1
    return h or 1


def test_links():
    built = {}
    for name in programs.LINKS:
        path = programs.build(args.work, args.include, name)
        if path:
            built[name] = path
    check({"pie", "nopie", "static"} <= set(built), "too few compilers", built)
    for (name, path), events in zip(built.items(), scan(list(built.values()))):
        check_program(name, path, events, programs.REGIONS)
    print("links:", " ".join(built))
    return built


def test_stripped(built):
    """strip keeps what we need; without section headers there is an answer, too."""
    stripped = os.path.join(args.work, "pie.stripped")
    shutil.copy(built["pie"], stripped)
    run("strip", stripped)
    headless = os.path.join(args.work, "pie.headless")
    data = bytearray(open(built["pie"], "rb").read())
    data[0x28:0x30] = bytes(8)
    data[0x3c:0x40] = bytes(4)
    open(headless, "wb").write(data)
    debug = os.path.join(args.work, "pie.debug")
    run("objcopy", "--only-keep-debug", built["pie"], debug)
    a, b, c = scan([stripped, headless, debug])
    check_program("stripped", stripped, a, programs.REGIONS)
    check(of(b, "result")[0]["error"] == -42 and "strip" in of(b, "result")[0]["why"], "headless", of(b, "result"))
    check(of(b, "segment") and of(b, "image")[0]["text"][1], "headless: segments, build-id")
    check(not of(b, "site") and not of(b, "probe"), "headless: sites")
    check(not of(c, "site"), "a file of debug information has no sites", c)


def test_libraries():
    """Two libraries and a program, each with its own probes and sites."""
    text = '#include "sp_region.h"\nint NAME(int x);\nint NAME(int x)\n{\n\tSP_REGION_SCOPE("in NAME");\n\treturn x;\n}\n'
    libs = []
    for name in ("one", "two"):
        source = programs.write(os.path.join(args.work, "lib%s.c" % name), text.replace("NAME", name))
        libs.append(programs.build(args.work, args.include, "lib%s.so" % name,
                                   ["gcc", "-O2", "-fPIC", "-shared"], [source]))
    for name, events in zip(("one", "two"), scan(libs)):
        check(of(events, "result")[0]["error"] == 0, name, events)
        check([s["text"][0] for s in of(events, "site")] == ["in " + name], name, of(events, "site"))
        check(len(of(events, "probe")) == PLACES, name, of(events, "probe"))


def test_others(built):
    """Files without regions of ours, and of kinds that are refused."""
    foreign = os.path.join(args.work, "foreign.s")
    programs.write(foreign, """
	.text
	.globl main
main:
990:	nop
	xorl %eax, %eax
	ret
	.pushsection .note.stapsdt,"?","note"
	.balign 4
	.4byte 992f-991f,994f-993f,3
991:	.asciz "stapsdt"
992:	.balign 4
993:	.8byte 990b,0,0
	.asciz "other"
	.asciz "begin"
	.asciz "8@%rdi"
994:	.balign 4
	.popsection
	.section .note.GNU-stack,"",@progbits
""")
    ours = os.path.join(args.work, "wrong-arguments.s")
    programs.write(ours, open(foreign).read().replace('"other"', '"sp"'))
    objects = os.path.join(args.work, "main.o")
    subprocess.run(["gcc", "-c", "-I" + args.include, os.path.join(args.work, "main.c"), "-o", objects], check=True)
    small = os.path.join(args.work, "elf32")
    data = bytearray(open(built["pie"], "rb").read())
    data[4] = 1
    open(small, "wb").write(data)
    paths = [programs.build(args.work, args.include, "foreign", ["gcc"], [foreign]),
             programs.build(args.work, args.include, "wrong-arguments", ["gcc"], [ours]),
             objects, small, sys.executable, __file__]
    none, wrong, obj, elf32, python, script = scan(paths)
    check(of(none, "result")[0]["error"] == 0 and not of(none, "probe"), "another provider", none)
    check(of(wrong, "result")[0]["error"] == -93 and not of(wrong, "probe"), "unknown arguments", wrong)
    check(of(obj, "result")[0]["error"] == -95, "object file", obj)
    check(of(elf32, "result")[0]["error"] == -95, "32 bits", elf32)
    check(of(python, "result")[0]["error"] == 0 and not of(python, "site"), "python", python)
    check(of(script, "result")[0]["error"] == -8, "not ELF", script)


def patched(built, name, change):
    data = bytearray(open(built["pie"], "rb").read())
    change(data)
    path = os.path.join(args.work, "pie." + name)
    open(path, "wb").write(data)
    return path


def test_hostile(built):
    """Damage whose outcome is known: skipped and counted, refused, never believed."""
    sections = readelf_sections(built["pie"])
    desc, size = sections["sp_desc"][1:]
    shoff = int.from_bytes(open(built["pie"], "rb").read()[0x28:0x30], "little")

    def word(at, value):
        def change(data):
            data[at:at + 4] = value.to_bytes(4, "little", signed=value < 0)
        return change

    def section(field, value):
        def change(data):
            header = next(h for h in range(shoff, len(data), 64)
                          if int.from_bytes(data[h + 24:h + 32], "little") == desc and
                          int.from_bytes(data[h + 32:h + 40], "little") == size)
            data[header + field[0]:header + field[0] + field[1]] = value.to_bytes(field[1], "little")
        return change

    total = size // 32
    cases = {
        "name-outside": (word(desc, 0x7fffffff), -74, total - 1),
        "name-before": (word(desc, -0x7fffffff), -74, total - 1),
        "no-name": (word(desc, 0), -74, total - 1),
        "file-outside": (word(desc + 4, 0x70000000), -74, total - 1),
        "tags-outside": (word(desc + 8, 0x70000000), -74, total - 1),
        "level-in-code": (word(desc + 20, -0x1000), -74, total - 1),
        "level-odd": (word(desc + 20, 0x1001), -74, total - 1),
        "version": (word(desc + 24, 0x02000000), -93, total - 1),
        "nobits": (section((4, 4), 8), 0, 0),
        "odd-size": (section((32, 8), size - 8), -74, 0),
        "huge": (section((32, 8), 1 << 40), -61, 0),
        "wrong-address": (section((16, 8), 0x10000), -74, 0),
        "compressed": (section((8, 8), 0x802), -74, 0),
    }
    paths = [patched(built, name, change) for name, (change, _, _) in cases.items()]
    sparse = os.path.join(args.work, "sparse")
    shutil.copy(built["pie"], sparse)
    os.truncate(sparse, 4 << 30)
    all_events = scan(paths + [sparse])
    for (name, (_, error, count)), events in zip(cases.items(), all_events):
        result = of(events, "result")[0]
        check(result["error"] == error, name, result)
        check(len(of(events, "site")) == count, name, len(of(events, "site")), "sites")
        if error in (-74, -93) and count:
            check(" 1 " in result["why"], name, result)
    check(of(all_events[-1], "result")[0]["error"] == 0, "4 GB with a hole", all_events[-1][-1])


def patch_notes(data, notes, size, places, by):
    """Adds to the addresses of all notes: to the first, or to all of the probe, its base and its semaphore."""
    at = notes
    while at < notes + size:
        name, desc = (int.from_bytes(data[at + i:at + i + 4], "little") for i in (0, 4))
        begin = at + 12 + (name + 3 & ~3)
        for place in range(begin, begin + 8 * places, 8):
            value = int.from_bytes(data[place:place + 8], "little") + by
            data[place:place + 8] = value.to_bytes(8, "little")
        at = begin + (desc + 3 & ~3)


def test_moved(built):
    """Notes count from .stapsdt.base, so that what moves a linked file need not edit them."""
    notes, size = readelf_sections(built["pie"])[".note.stapsdt"][1:]
    moved, plain = scan([patched(built, "moved", lambda data: patch_notes(data, notes, size, 3, 0x123000)),
                         built["pie"]])
    check(of(moved, "probe") == [dict(p, index=0, image=1) for p in of(plain, "probe")], "moved", moved)
    check(len(of(moved, "probe")) == PLACES, "moved", moved)


def test_not_a_nop(built):
    """Notes that are forged, or that a tool forgot when it moved the code: a breakpoint in the middle of an
    instruction would ruin the program."""
    notes, size = readelf_sections(built["pie"])[".note.stapsdt"][1:]
    forged, = scan([patched(built, "forged", lambda data: patch_notes(data, notes, size, 1, 2))])
    check(not of(forged, "probe") and "damaged probes" in of(forged, "result")[0]["why"], "not a nop", forged)


def test_many():
    """As many sites as the limit allows are taken, and one more is not; texts that are too long are cut."""
    text = """
	.globl main
	.text
main:	ret
	.section .rodata
name:	.asciz "a name"
	.section sp_level,"aw"
level:	.2byte 0
	.section sp_desc,"a"
	.balign 4
	.rept %d
991:	.4byte name-991b,name-991b,0,0,5,level-991b,0x01000000,0
	.endr
	.section .note.GNU-stack,"",@progbits
"""
    paths = []
    for count in (262144, 262145):
        source = programs.write(os.path.join(args.work, "many%d.s" % count), text % count)
        paths.append(programs.build(args.work, args.include, "many%d" % count, ["gcc"], [source]))
    long = '#include "sp_region.h"\nint main(void)\n{\n\tSP_REGION_SCOPE("%s");\n\treturn 0;\n}\n'
    source = programs.write(os.path.join(args.work, "long.c"), long % ("\u00fc" * 800))
    paths.append(programs.build(args.work, args.include, "long", ["gcc", "-O0"], [source]))
    start = time.monotonic()
    most, more, cut = scan(paths)
    print("262144 sites took %.2f s, printing included" % (time.monotonic() - start))
    check(len(of(most, "site")) == 262144 and of(most, "result")[0]["error"] == 0, "most", of(most, "result"))
    check(not of(more, "site") and of(more, "result")[0]["error"] == -75, "more", of(more, "result"))
    check(of(cut, "result")[0]["error"] == 0 and "cut" in of(cut, "result")[0]["why"], "long", cut)
    check([s["text"][0] for s in of(cut, "site")] == ["\u00fc" * 500], "long", cut)


def main():
    built = test_links()
    test_stripped(built)
    test_libraries()
    test_others(built)
    test_hostile(built)
    test_moved(built)
    test_not_a_nop(built)
    test_many()
    print("failures:", failures)
    return 1 if failures else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("dump", "helper", "list", "include", "work"):
        parser.add_argument("--" + option, required=True)
    args = parser.parse_args()
    if not programs.have("readelf") or not programs.have("gcc"):
        print("readelf or gcc is missing")
        sys.exit(77)
    sys.exit(main())
