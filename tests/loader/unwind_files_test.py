# SPDX-License-Identifier: BSD-2-Clause
"""unwind_files_test.py - tables for unwinding against outside judges, on files that are what they should be.

Every row of programs of many kinds and of the system's libraries is compared with libdw (unwind_judge.c) and with
`readelf --debug-dump=frames-interp`; assembler code with one rule of each form says itself what must come out.
SP_TEST_FULL=1 takes all of the system's libraries.
"""
import argparse
import ctypes
import glob
import os
import re
import struct
import subprocess
import sys

import programs

parser = argparse.ArgumentParser()
for option in ("dump", "judge", "length", "helper", "include", "work"):
    parser.add_argument("--" + option, required=True)
args = parser.parse_args()
full = os.environ.get("SP_TEST_FULL") == "1"
failures = checks = 0


def check(condition, text):
    global failures, checks
    checks += 1
    if not condition:
        failures += 1
        print("not true:", text)


# ---- programs ----

C_SOURCE = r"""
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int sink(void *p);
__attribute__((noinline)) int sink(void *p) { return p ? *(volatile char *)p : 0; }
__attribute__((noinline)) int with_alloca(int n) { char *p = alloca(n); memset(p, n, n); return sink(p); }
__attribute__((noinline)) int realigned(int n)
{
	double a[8] __attribute__((aligned(64)));
	for (int i = 0; i < 8; i++)
		a[i] = n * i;
	return sink(a) + with_alloca(n);
}
__attribute__((noinline)) int both(int n)
{
	float a[16] __attribute__((aligned(64)));
	char *p = alloca(n);
	memset(a, n, sizeof(a));
	return sink(a) + sink(p) + realigned(n);
}
__attribute__((noinline)) int many(int a, int b, int c, int d, int e, int f, int g, int h)
{
	return a > 3 ? both(b + c) + d * e : many(a + 1, h, b, c, d, e, f, g) + sink(&a);
}
__attribute__((noinline)) int large(int n) { char a[1 << 20]; memset(a, n, sizeof(a)); return sink(a + n); }
__attribute__((noinline)) int tail(int n) { return n & 1 ? large(n) : many(n, 1, 2, 3, 4, 5, 6, 7); }
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline, noreturn)) void leave(int n) { printf("%d\n", n); exit(0); }
int main(int argc, char **argv)
{
	int a[4] = {argc, 2, 1, 0};
	(void)argv;
	qsort(a, 4, sizeof(a[0]), order);
	leave(tail(argc) + a[0]);
}
"""
CXX_SOURCE = r"""
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>
struct guard { std::string s; ~guard() { std::puts(s.c_str()); } };
__attribute__((noinline)) int thrower(int n) { if (n > 2) throw std::runtime_error("n"); return n; }
__attribute__((noinline)) int middle(int n) { guard g{"x"}; std::function<int(int)> f = [n](int m) { return thrower(n + m); }; return f(1); }
int main(int argc, char **) { std::vector<int> v; try { for (int i = 0; i < 9; i++) v.push_back(middle(argc + i)); } catch (const std::exception &e) { std::puts(e.what()); } return (int)v.size() - 2; }
"""

C_KINDS = {
    "O0": ["gcc", "-O0"], "O1": ["gcc", "-O1"], "O2": ["gcc", "-O2"], "O3": ["gcc", "-O3", "-mavx2"],
    "Os": ["gcc", "-Os"], "fp": ["gcc", "-O2", "-fno-omit-frame-pointer"],
    "nopie": ["gcc", "-O2", "-fno-pie", "-no-pie"], "static": ["gcc", "-O2", "-static"],
    "static-pie": ["gcc", "-O2", "-static-pie"], "cet": ["gcc", "-O2", "-fcf-protection=full", "-Wl,-z,ibtplt"],
    "probe": ["gcc", "-O2", "-fstack-clash-protection", "-fstack-protector-all"],
    "gold": ["gcc", "-O2", "-fuse-ld=gold"], "lld": ["gcc", "-O2", "-fuse-ld=lld"],
    "clang-O0": ["clang", "-O0"], "clang-O2": ["clang", "-O2"], "clang-O3": ["clang", "-O3", "-mavx2"],
    "clang-nopie": ["clang", "-O2", "-fno-pie", "-no-pie"],
    "debug-frame": ["gcc", "-O2", "-g", "-fno-asynchronous-unwind-tables", "-fno-exceptions"],
    "debug-frame-gz": ["gcc", "-O2", "-g", "-gz=zlib", "-fno-asynchronous-unwind-tables", "-fno-exceptions"],
    "debug-frame-zdebug": ["gcc", "-O2", "-g", "-gz=zlib-gnu", "-fno-asynchronous-unwind-tables", "-fno-exceptions"],
    "debug-frame-dwarf64": ["gcc", "-O2", "-g", "-gdwarf64", "-fno-asynchronous-unwind-tables", "-fno-exceptions"],
    "large": ["gcc", "-O2", "-mcmodel=large"],
    "aarch64": ["aarch64-linux-gnu-gcc", "-O2"], "aarch64-O0": ["aarch64-linux-gnu-gcc", "-O0"],
    "aarch64-pac": ["aarch64-linux-gnu-gcc", "-O2", "-mbranch-protection=standard"],
    "aarch64-static": ["aarch64-linux-gnu-gcc", "-O2", "-static"],
}
CXX_KINDS = {"cxx": ["g++", "-O2"], "cxx-O0": ["g++", "-O0"], "cxx-clang": ["clang++", "-O2"],
             "cxx-aarch64": ["aarch64-linux-gnu-g++", "-O2"]}


def build(name, command, source):
    """A program, or None where its compiler or linker is not there."""
    out = os.path.join(args.work, name)
    if not programs.have(command[0]) or not programs.linker_there(command):
        return None
    if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(__file__):
        done = subprocess.run(command + ["-w", source, "-o", out], capture_output=True, text=True)
        if done.returncode and command[0] == "gcc" and not name.startswith("debug-frame"):
            print(done.stderr)
        if done.returncode:
            return None
    return out


# ---- one rule of each form ----

# Name: (directives, what the row at its label must be). Each at a label behind one instruction, with the CFA at rsp + 8
# before. KIND REG OFFSET ADDEND FLAGS FP RA, and what unwind_dump.c adds; SAME and UNDEFINED are -32768 and -32767.
SAME, UNDEFINED = -32768, -32767
RULES = {
    "plain": ("", "reg 7 8 0 0 -32768 -1"),
    "offset": (".cfi_def_cfa_offset 1048576", "reg 7 1048576 0 0 -32768 -1"),
    "pushed": (".cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbp,0", "reg 7 16 0 0 -2 -1"),
    "framed": (".cfi_def_cfa rbp,16\n.cfi_offset rbp,-16", "reg 6 16 0 0 -2 -1"),
    "other": (".cfi_def_cfa r10,0", "reg 10 0 0 0 -32768 -1"),
    "sf": (".cfi_escape 0x12,7,0x7e", "reg 7 16 0 0 -32768 -1"),
    "offset_sf": (".cfi_escape 0x13,0x7d", "reg 7 24 0 0 -32768 -1"),
    "extended": (".cfi_escape 5,6,3", "reg 7 8 0 0 -3 -1"),
    "extended_sf": (".cfi_escape 0x11,6,0x7e", "reg 7 8 0 0 2 -1"),
    "negative": (".cfi_escape 0x2f,6,4", "reg 7 8 0 0 4 -1"),
    "args_size": (".cfi_escape 0x2e,0x10", "reg 7 8 0 0 -32768 -1"),
    "cfa_expression": (".cfi_escape 0x0f,4,0x77,0x10,0x23,0x08", "reg 7 24 0 0 -32768 -1"),
    "cfa_minus": (".cfi_escape 0x0f,4,0x77,0x20,0x38,0x1c", "reg 7 24 0 0 -32768 -1"),
    "realigned": (".cfi_escape 0x0f,3,0x76,0x78,0x06\n.cfi_escape 0x10,6,2,0x76,0", "deref 6 -8 0 1 0 -1"),
    "assembler": (".cfi_escape 0x0f,6,0x77,0x98,0x01,0x06,0x23,0x08", "deref 7 152 8 0 -32768 -1"),
    "assembler_fp": (".cfi_escape 0x0f,6,0x77,0x98,0x01,0x06,0x23,0x08\n.cfi_offset rbp,-16", "deref 7 152 8 0 -2 -1"),
    "fp_by_sp": (".cfi_def_cfa_offset 32\n.cfi_escape 0x10,6,2,0x77,0x10", "reg 7 32 0 0 -2 -1"),
    "plt": (".cfi_escape 0x0f,11,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22", "plt 7 11 0 0 -32768 -1"),
    "outermost": (".cfi_undefined rip", "outermost 0 0 0 0 0 0"),
    "fp_undefined": (".cfi_undefined rbp", "reg 7 8 0 0 -32767 -1"),
    "fp_in_register": (".cfi_register rbp,r11", "reg 7 8 0 0 -32767 -1"),
    "fp_odd": (".cfi_escape 0x10,6,2,0x77,1", "reg 7 8 0 0 -32767 -1"),
    "fp_value": (".cfi_escape 0x16,6,2,0x77,0", "reg 7 8 0 0 -32767 -1"),
    "fp_far": (".cfi_offset rbp,-262144", "reg 7 8 0 0 -32767 -1"),
    "fp_restored": (".cfi_offset rbp,-16\n.cfi_restore rbp", "reg 7 8 0 0 -32768 -1"),
    "remembered": (".cfi_remember_state\n.cfi_def_cfa_offset 64\n.cfi_restore_state", "reg 7 8 0 0 -32768 -1"),
    "sp_is_cfa": (".cfi_escape 0x14,7,0", "reg 7 8 0 0 -32768 -1"),
    "sp_is_not_cfa": (".cfi_escape 0x14,7,1", "unsupported 0 0 0 0 0 0"),
    "bx_pushed": (".cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbx,0", "reg 7 16 0 0 -32768 -1 bx -2"),
    "bx_framed": (".cfi_def_cfa rbx,24\n.cfi_offset rbx,-32", "reg 3 24 0 0 -32768 -1 bx -4"),
    "bx_undefined": (".cfi_undefined rbx", "reg 7 8 0 0 -32768 -1 bx -32767"),
    "bx_in_register": (".cfi_register rbx,r11", "reg 7 8 0 0 -32768 -1 bx -32767"),
    "bx_far": (".cfi_offset rbx,-262144", "reg 7 8 0 0 -32768 -1 bx -32767"),
    "bx_restored": (".cfi_offset rbx,-16\n.cfi_restore rbx", "reg 7 8 0 0 -32768 -1"),
    "bx_by_fp": (".cfi_escape 0x0f,3,0x76,0x78,0x06\n.cfi_escape 0x10,6,2,0x76,0\n.cfi_escape 0x10,3,2,0x76,0x58",
                 "deref 6 -8 0 1 0 -1 bx -5"),
    "bx_beside_fp": (".cfi_escape 0x0f,3,0x76,0x78,0x06\n.cfi_escape 0x10,6,2,0x76,0\n.cfi_offset rbx,-16",
                     "deref 6 -8 0 1 0 -1 bx -32767"),
    "ra_in_register": (".cfi_register rip,rdx", "reg 7 8 0 0 -32768 -32768 link 1"),
    "ra_in_register_40": (".cfi_register rip,40", "unsupported 0 0 0 0 0 0"),
    "ra_same": (".cfi_same_value rip", "unsupported 0 0 0 0 0 0"),
    "ra_far": (".cfi_offset rip,-400000", "unsupported 0 0 0 0 0 0"),
    "vector": (".cfi_def_cfa 17,8", "reg 17 8 0 0 -32768 -1"),
    "register_40": (".cfi_def_cfa 40,8", "unsupported 0 0 0 0 0 0"),
    "huge": (".cfi_escape 0x0e,0xff,0xff,0xff,0xff,0x7f", "unsupported 0 0 0 0 0 0"),
    "huge_sf": (".cfi_escape 0x13,0x80,0x80,0x80,0x80,0x80,0x80,0x80,0x80,0x80,0x7f", "unsupported 0 0 0 0 0 0"),
    "addend_far": (".cfi_escape 0x0f,6,0x77,0x98,0x01,0x06,0x23,0x7f\n.cfi_escape 0x0f,7,0x77,0x98,0x01,0x06,0x23,0x80,1",
                   "unsupported 0 0 0 0 0 0"),
    "twice_deref": (".cfi_escape 0x0f,4,0x77,8,6,6", "unsupported 0 0 0 0 0 0"),
    "empty_expression": (".cfi_escape 0x0f,0", "unsupported 0 0 0 0 0 0"),
    "cut_expression": (".cfi_escape 0x0f,0x7f,0x77", "unsupported 0 0 0 0 0 0"),
    "after_expression": (".cfi_escape 0x0f,3,0x76,0x78,0x06\n.cfi_escape 0x0e,8", "unsupported 0 0 0 0 0 0"),
    "unknown_operation": (".cfi_escape 0x3e", "unsupported 0 0 0 0 0 0"),
    "not_remembered": (".cfi_escape 0x0b", "unsupported 0 0 0 0 0 0"),
    "too_much_remembered": (".cfi_escape 0x0a\n" * 65, "unsupported 0 0 0 0 0 0"),
}
SIGNAL = ("\t.cfi_signal_frame\n\t.cfi_escape 0x0f,4,0x77,0xa0,1,6\n" +
          "\t.cfi_escape 0x10,6,3,0x77,0xf8,0\n\t.cfi_escape 0x10,7,3,0x77,0xa0,1\n\t.cfi_escape 0x10,16,3,0x77,0xa8,1\n")


def rules_program():
    text = "\t.text\n\t.globl _start\n_start:\n"
    for name, (directives, _) in RULES.items():
        body = "".join("\t" + d + "\n" for d in directives.split("\n") if d)
        text += f"\t.balign 32,0x90\n\t.cfi_startproc\n\tnop\n{body}{name}:\tnop\n\t.cfi_endproc\n\tnop\n"
    text += f"\t.balign 32,0x90\n\t.cfi_startproc\n{SIGNAL}\tnop\nsignal:\tnop\n\t.cfi_endproc\n"
    # Neighbours with one rule, and no byte between them; then an entry with another within.
    text += "\t.balign 32,0x90\nnear:\t.cfi_startproc\n\tnop\n\t.cfi_endproc\n\t.cfi_startproc\n\tnop\n\t.cfi_endproc\n\tnop\n"
    source = programs.write(os.path.join(args.work, "rules.s"), text)
    return build("rules", ["gcc", "-nostdlib", "-static"], source)


def dump(paths):
    """{path: (error, why, [row], [segment])} with a row (pc, rest of the line)."""
    said = subprocess.run([args.dump, args.helper, "--rows"] + paths, capture_output=True, text=True, check=True).stdout
    found, path = {}, None
    for line in said.splitlines():
        words = line.split()
        if words[0] == "file":
            path = words[1]
            found[path] = (int(words[3]), line.partition(" why ")[2], [], [])
        elif words[0] == "row":
            found[path][2].append((int(words[1], 16), " ".join(words[2:])))
        else:
            found[path][3].append(tuple(int(w, 16) for w in words[1:]))
    return found


def row_at(rows, address):
    hit = None
    for pc, rest in rows:
        if pc > address:
            break
        hit = rest
    return hit


def check_rules():
    path = rules_program()
    check(path, "the rules program was built")
    error, why, rows, _ = dump([path])[path]
    check(error == 0 and why == "-", f"rules: {error} {why}")
    said = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    at = {line.split()[2]: int(line.split()[0], 16) for line in said.splitlines() if len(line.split()) == 3}
    for name, (_, wanted) in RULES.items():
        got = row_at(rows, at[name])
        check(got == wanted, f"{name}: {got}, not {wanted}")
        check(row_at(rows, at[name] + 1).startswith("none"), f"{name}: its end")
    got = row_at(rows, at["signal"])
    check(got == "signal 7 160 0 2 15 21 bx -32767", f"signal: {got}")
    check([pc - at["near"] for pc, _ in rows if at["near"] <= pc < at["near"] + 4] == [0, 2], "neighbours are joined")
    return path


# ---- readelf ----

ROW = re.compile(r"^([0-9a-f]{16}) (\S.*)$")
ENTRY = re.compile(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)$")
REGISTERS = {"rax": 0, "rdx": 1, "rcx": 2, "rbx": 3, "rsi": 4, "rdi": 5, "rbp": 6, "rsp": 7} | \
            {f"r{i}": i for i in range(8, 16)} | {f"x{i}": i for i in range(31)} | {"sp": 31}


def readelf_rows(path, aarch64):
    """{pc: (CFA, frame pointer, return address, rbx)} of .eh_frame, ends with None; None where entries lie over each other."""
    said = subprocess.run(["readelf", "--debug-dump=frames-interp", path], capture_output=True, text=True).stdout
    said = said.partition(".debug_frame section")[0]
    rows, ends, columns, last, end, cie = {}, {}, [], None, 0, {}
    name = "x29" if aarch64 else "rbp"
    for line in said.splitlines():
        entry = ENTRY.search(line)
        if entry:
            start, end = int(entry[1], 16), int(entry[2], 16)
            cie_name = re.search(r"cie=([0-9a-f]+)", line)[1]
            if end > start:
                ends[start] = end
                # An entry without rows of its own has its CIE's.
                rows[start] = cie.get(cie_name)
            last = None
        elif " CIE " in line:
            last, end = line.split()[0], 0
        elif line.startswith("   LOC"):
            columns = line.split()[1:]
        elif ROW.match(line):
            # "r10 (r10)" is one word.
            words = re.sub(r" \(\w+\)", "", line).split()
            pc = int(words[0], 16)
            places = dict(zip(columns[1:], words[2:]))
            value = (words[1], places.get(name, "u"), places.get("ra", "u"), places.get("rbx", "u"))
            if last is not None:
                cie[last] = value
            elif pc < end:
                rows[pc] = value
    return rows, ends


def is_at(words, text, where, offset):
    """Whether the rule's @words say of a register what readelf's @text does; @where is their index."""
    if text in ("u", "s"):
        # "u" is how readelf shows what no row has spoken of, too.
        return int(words[where]) in (SAME, UNDEFINED)
    if text[0] != "c":
        return text[0] == "r" and int(words[where]) == (SAME if where == 6 else UNDEFINED)
    moved = offset if int(words[4]) & 2 else 0
    return int(words[where]) * 8 == int(text[1:]) + moved


def check_readelf(path, table, aarch64):
    rows, ends = readelf_rows(path, aarch64)
    differ = seen = unsupported = 0
    for pc, value in rows.items():
        got = row_at_fast(table, pc)
        if value is None or got is None:
            differ += (value is None) != (got is None or got.startswith("none"))
            continue
        cfa, fp, ra, bx = value
        words = got.split()
        words.insert(7, words[words.index("bx") + 1] if "bx" in words else SAME)
        seen += 1
        if "exp" in value or "vexp" in value:
            differ += words[0] not in ("reg", "deref", "plt", "signal", "unsupported")
            continue
        base, sign, offset = re.match(r"(.*?)([+-])(\d+)$", cfa).groups()
        offset = int(sign + offset)
        same = base in REGISTERS and words[0] == "reg" and int(words[1]) == REGISTERS[base] and int(words[2]) == offset
        if words[0] == "unsupported":
            # Something that readelf does not show, as where the stack pointer is (longjmp).
            unsupported += 1
            same = True
        elif words[0] == "outermost":
            same = ra == "u"
        else:
            same = same and is_at(words, fp, 5, offset) and is_at(words, ra, 6, offset) and is_at(words, bx, 7, offset)
        if not same:
            differ += 1
            if differ < 5:
                print(f"{path}: {pc:x}: {got}; readelf: {value}")
    # Entries end where they say, unless another begins there, or a function whose code says it, or clone()'s system call.
    said = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, check=True).stdout
    functions = {int(a, 16) for a in re.findall(r"^\s*\d+: ([0-9a-f]+)\s+\d+ FUNC ", said, re.M)}
    functions |= {section(path, s)[0] for s in (".init", ".fini") if section(path, s)}
    for start, end in ends.items():
        if end not in rows and end not in functions:
            got = row_at_fast(table, end)
            differ += not (got or "none").startswith("none") and got.split()[4] != "4" and not any(s < end < e for s, e in ends.items())
    check(differ == 0, f"{path}: {differ} of {seen} rows of readelf's differ")
    check(seen > 0, f"{path}: readelf has rows")
    check(unsupported <= 10 + seen / 500, f"{path}: {unsupported} of {seen} rows are unsupported")


def row_at_fast(table, address):
    keys, rests = table
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] <= address:
            low = middle + 1
        else:
            high = middle
    return rests[low - 1] if low else None


# ---- what is in no file, and what has lost its headers ----

def vdso():
    """The page of code that the kernel lends to every process."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            if line.rstrip().endswith("[vdso]"):
                start, end = (int(a, 16) for a in line.split()[0].split("-"))
                path = os.path.join(args.work, "vdso")
                with open(path, "wb") as out:
                    out.write(ctypes.string_at(start, end - start))
                return path
    return None


def section(path, name):
    """(address, size), or None."""
    said = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\] " + re.escape(name) + r"\s+\S+\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", said)
    return (int(found[1], 16), int(found[2], 16)) if found else None


def without_sections(path):
    """A copy that has no section headers any more."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    table = struct.unpack_from("<Q", data, 40)[0]
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<HHH", data, 58, 0, 0, 0)
    out = path + "-headless"
    with open(out, "wb") as f:
        f.write(data[:table])
    return out


def check_headless(paths):
    copies = {p: without_sections(p) for p in paths}
    whole, cut = dump(list(copies)), dump(list(copies.values()))
    for path, copy in copies.items():
        check(cut[copy][0] == 0, f"{copy}: {cut[copy][:2]}")
        # What linkers and crti.o do not describe is found by the section's header.
        known = [section(path, s) or (0, 0) for s in (".plt", ".init", ".fini")]
        wanted, got = ([row for row in t if not any(start <= row[0] <= start + size for start, size in known)]
                       for t in (whole[path][2], cut[copy][2]))
        check(wanted == got, f"{copy}: not the rows that {path} has")


def check_extras(built):
    """Code that is known although nobody describes it."""
    tables = dump(list(built.values()))
    for name, wanted in (("lld", {0: "reg 7 16 0 0 -32768 -1", 6: "reg 7 24 0 0 -32768 -1", 16: "plt 7 11 0 0 -32768 -1"}),
                         ("O2", {16: "plt 7 11 0 0 -32768 -1"}), ("cet", {16: "plt 7 9 0 0 -32768 -1"}),
                         ("static", {0: "reg 7 8 0 0 -32768 -1"}),
                         ("aarch64", {0: "reg 31 0 0 0 -32768 -32768 link 30", 4: "reg 31 16 0 0 -32768 -1",
                                      32: "reg 31 0 0 0 -32768 -32768 link 30"})):
        if name not in built:
            continue
        at, size = section(built[name], ".plt")
        for offset, rule in wanted.items():
            got = row_at(tables[built[name]][2], at + offset)
            check(got == rule, f"{name}: .plt + {offset}: {got}, not {rule}")
        check(row_at(tables[built[name]][2], at + size - 1) == list(wanted.values())[-1], f"{name}: the end of .plt")
    # What crti.o and crtn.o bring.
    for name in ("O2", "static", "cet"):
        rows = tables[built[name]][2] if name in built else []
        for begun in filter(None, (rows and section(built[name], s) for s in (".init", ".fini"))):
            got = row_at(rows, begun[0]), row_at(rows, begun[0] + begun[1] - 2), row_at(rows, begun[0] + begun[1] - 1)
            check(got == ("reg 7 8 0 0 -32768 -1 bx -32767", "reg 7 16 0 0 -32768 -1 bx -32767",
                          "reg 7 8 0 0 -32768 -1 bx -32767"), f"{name}: {begun}: {got}")
    linker = "/lib64/ld-linux-x86-64.so.2"
    for path in list(built.values()) + [p for p in [linker] if os.path.exists(p)]:
        said = subprocess.run(["readelf", "-h", path], capture_output=True, text=True, check=True).stdout
        entry = int(re.search(r"Entry point address:\s+0x([0-9a-f]+)", said)[1], 16)
        rows = dump([path])[path][2]
        # A nop comes first on aarch64.
        check(row_at(rows, entry + 4).startswith("outermost"), f"{path}: its entry point is {row_at(rows, entry)}")
    # The stubs of our own probes.
    source = programs.write(os.path.join(args.work, "region.c"), programs.MAIN)
    other = programs.write(os.path.join(args.work, "region_other.c"), programs.OTHER)
    for name in ("pie", "nopie", "aarch64"):
        path = programs.build(args.work, args.include, "region-" + name, programs.LINKS[name], [source, other])
        if not path:
            continue
        notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True).stdout
        rows = dump([path])[path][2]
        places = [int(a, 16) for a in re.findall(r"Location: 0x([0-9a-f]+)", notes)]
        check(len(places) >= 2, f"{path} has probes")
        for at in places:
            got = row_at(rows, at)
            check(got == ("reg 31 0 0 0 -32768 -32768 link 30" if name == "aarch64" else "reg 7 8 0 0 -32768 -1"),
                  f"{path}: the stub at {at:x}: {got}")


# Where clone() returns twice: known, or one byte away from that.
CLONES = {"near": ("jl 9f", "je 1f", "ret", True), "far": (".byte 0x0f,0x8c; .long 0", "je 1f", "ret", True),
          "other": ("jg 9f", "je 1f", "ret", False), "further": ("jl 9f", "je 9f", "ret", False),
          "leaves": ("jl 9f", "je 1f", "leave", False), "more": ("jl 9f", "je 1f", "ret; nop", False)}


def check_clones():
    """Of the gap between two entries."""
    text = "\t.text\n\t.globl _start\n_start:\n"
    for name, (less, equal, last, _) in CLONES.items():
        text += (f"\t.balign 16,0x90\n\t.cfi_startproc\n\tmov $56,%eax\n\t.cfi_endproc\n{name}:\tsyscall\n\ttest %rax,%rax\n"
                 f"\t{less}\n\t{equal}\n\t{last}\n1:\t.cfi_startproc\n\t.cfi_undefined rip\n\txor %ebp,%ebp\n9:\thlt\n"
                 "\t.cfi_endproc\n\tnop\n")
    path = build("clones", ["gcc", "-nostdlib", "-static"], programs.write(os.path.join(args.work, "clones.s"), text))
    check(path, "the program with clone() was built")
    rows = dump([path])[path][2]
    said = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    at = {line.split()[2]: int(line.split()[0], 16) for line in said.splitlines() if len(line.split()) == 3}
    for name, (_, _, _, known) in CLONES.items():
        got = row_at(rows, at[name])
        check(got == ("reg 7 8 0 4 -32768 -1" if known else "none 0 0 0 0 0 0"), f"clone(), {name}: {got}")


INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*\t(\w+)")


def check_lengths(path):
    """Instructions are as long as objdump says."""
    said = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    address, offset = (int(a, 16) for a in re.search(r"\] \.text\s+\S+\s+([0-9a-f]+) ([0-9a-f]+)", said).groups())
    said = subprocess.run(["objdump", "-d", "-j", ".text", "--insn-width=16", path], capture_output=True, text=True).stdout
    lines = []
    for line in said.splitlines():
        found = INSTRUCTION.match(line)
        # A prefix that stands alone is one of the next instruction, and wait is one by itself.
        if found and "(bad)" not in line and found[3] not in ("rex", "data16", "repz", "repnz", "lock", "cs", "ds") and \
                not found[2].startswith("9b "):
            lines.append(f"{int(found[1], 16) - address + offset:x} {len(found[2].split())}\n")
    said = subprocess.run([args.length, path], input="".join(lines), capture_output=True, text=True, check=True).stdout
    check(len(lines) > 10000 and ", 0 wrong, 0 refused" in said, f"{path}: {said.strip()}")


def judge(paths, random):
    done = subprocess.run([args.judge, args.helper, str(random)] + paths, capture_output=True, text=True)
    print(done.stdout[-400:], done.stderr[-3000:], sep="")
    check(done.returncode == 0, f"libdw says the same of {len(paths)} files")


def system_files():
    names = ["libc.so.6", "libm.so.6", "libstdc++.so.6", "libgomp.so.1", "libgfortran.so.5", "libgcc_s.so.1", "libcrypto.so.3",
             "libgmp.so.10", "libz.so.1"]
    folder = os.path.dirname(subprocess.run(["gcc", "-print-file-name=libc.so.6"], capture_output=True, text=True,
                                            check=True).stdout.strip())
    folders = [folder, "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64"]
    found = []
    for name in names:
        for where in folders:
            if os.path.exists(os.path.join(where, name)):
                found.append(os.path.realpath(os.path.join(where, name)))
                break
    found += [p for p in glob.glob("/lib64/ld-linux-x86-64.so.2") + ["/bin/bash"] if os.path.exists(p)]
    if full:
        found += [p for p in glob.glob("/usr/lib/x86_64-linux-gnu/*.so.*") if not os.path.islink(p)][:400]
    usable = {p: d for p, d in dump(found).items() if d[0] == 0}
    check(len(usable) >= 5, f"the system has libraries: {sorted(usable)}")
    return sorted(usable)


def main():
    if not programs.have("gcc") or not programs.have("readelf"):
        print("gcc or readelf is missing")
        sys.exit(77)
    os.makedirs(args.work, exist_ok=True)
    rules = check_rules()
    check_clones()
    sources = [programs.write(os.path.join(args.work, n), t) for n, t in (("unwind.c", C_SOURCE), ("unwind.cc", CXX_SOURCE))]
    built = {n: build(n, c, sources[0]) for n, c in C_KINDS.items()} | {n: build(n, c, sources[1]) for n, c in CXX_KINDS.items()}
    missing = [n for n, p in built.items() if not p]
    built = {n: p for n, p in built.items() if p}
    print(f"{len(built)} programs; not here: {missing}")
    check(len(built) > 10, "programs were built")
    system = system_files()
    image = vdso()
    everything = list(built.values()) + system + ([image] if image else [])
    judge(everything, 3000)
    tables = dump(everything + [rules])
    for name, path in list(built.items()) + [(p, p) for p in system + [image] if p]:
        error, why, rows, _ = tables[path]
        check(error == 0 and why == "-", f"{name}: {error} {why}")
        if name.startswith("debug-frame"):
            kinds = {rest for _, rest in rows}
            check(any(k.startswith("deref") for k in kinds), f"{name}: .debug_frame was read")
            continue
        check_readelf(path, ([pc for pc, _ in rows], [rest for _, rest in rows]), name.startswith(("aarch64", "cxx-aarch64")))
    if "aarch64" in built:
        kinds = [rest.split() for _, rest in tables[built["aarch64"]][2]]
        check(any(k[4] == "2" for k in kinds), "aarch64: a large frame counts from a register")
    # A static program that is not position-independent has no PT_GNU_EH_FRAME.
    check_headless([built[n] for n in ("O2", "nopie", "cxx", "static-pie", "lld", "aarch64") if n in built] +
                   [p for p in [image] if p])
    check_extras(built)
    for path in [p for p in system if re.search(r"/lib(c|gomp)[.-]", p)] + [p for n, p in built.items() if n == "static"]:
        check_lengths(path)
    text = programs.write(os.path.join(args.work, "text"), "no ELF file\n" * 9)
    error, why, _, _ = dump([text])[text]
    check(error == -8 and "not an ELF file" in why, f"a text: {error} {why}")
    bare = build("bare", ["gcc", "-nostdlib", "-static", "-fno-asynchronous-unwind-tables"],
                 programs.write(os.path.join(args.work, "bare.s"), "\t.globl _start\n_start: nop\n"))
    error, why, _, _ = dump([bare])[bare]
    check(error < 0 and "no call frame information" in why, f"bare: {error} {why}")
    print(f"{checks} checks, {failures} failures")
    sys.exit(failures > 0)


main()
