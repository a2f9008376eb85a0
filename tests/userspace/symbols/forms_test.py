#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""forms_test.py - symbols of every form that debug information comes in, from real compilers.

    forms_test.py LOOK_UP PROGRAMS WORK [TEST…]

LOOK_UP prints as `addr2line -afi` does. Each program's plain form is compared with
llvm-symbolizer, and the source lines with addr2line; every other form must give what the plain one
gives. Tools that are missing skip their tests.
"""
import http.server
import itertools
import os
import pathlib
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import threading
import time
import unittest
import zlib

LOOK_UP, PROGRAMS, WORK = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
COMPILERS = {"gcc": "g++", "clang": "clang++"}


def run(*args, timeout=60, **how):
    """Text of a program that must succeed."""
    done = subprocess.run([str(a) for a in args], capture_output=True, timeout=timeout, **how)
    if done.returncode:
        raise AssertionError(f"{args}: {done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout.decode(errors="replace")


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            assert os.environ.get("CI") != "true", f"{tool} is missing, and CI=true"
            raise unittest.SkipTest(f"{tool} is not installed")


def build(folder, compiler, *options, link=()):
    """Compiles the program in @folder, with paths that do not depend on it."""
    need(compiler, COMPILERS[compiler])
    folder.mkdir(parents=True, exist_ok=True)
    for source in ("weigh.c", "shapes.cpp", "main.cpp"):
        by = compiler if source.endswith(".c") else COMPILERS[compiler]
        run(by, "-g", "-O2", *options, f"-I{PROGRAMS}", "-c", PROGRAMS / source, "-o", source + ".o",
            cwd=folder)
    run(COMPILERS[compiler], "-Wl,--build-id", *options, *link, "shapes.cpp.o", "main.cpp.o", "weigh.c.o",
        "-o", "prog", cwd=folder)
    return folder / "prog"


def addresses(program):
    """Of all instructions."""
    text = run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", program)
    return ["0x" + a for a in re.findall(r"^ +([0-9a-f]+):", text, re.M)]


def compressed_sections(program):
    """{name: (offset, size)} of a file of 64 bits."""
    content = program.read_bytes()
    table, = struct.unpack_from("<Q", content, 40)
    count, names = struct.unpack_from("<HH", content, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", content, table + 64 * i) for i in range(count)]
    found = {}
    for name, _, flags, _, offset, size, *_ in headers:
        if flags & 0x800:
            start = headers[names][4] + name
            found[content[start:content.index(b"\0", start)].decode()] = offset, size
    return found


def build_id(program):
    return re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", program)).group(1)


class Known:
    """What the program under test says: chains by address, and the sentence on the file."""

    def __init__(self, program, wanted, *options, env=None, preexec_fn=None):
        done = subprocess.run([str(a) for a in (LOOK_UP, *options, program)], timeout=60, text=True,
                              input="\n".join(wanted) + "\n", capture_output=True,
                              preexec_fn=preexec_fn,
                              env={**{k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"},
                                   **(env or {})})
        assert done.returncode == 0, done.stderr
        self.chains = chains_of(done.stdout)
        self.said = done.stderr.strip()
        assert len(self.chains) == len(wanted), (len(self.chains), len(wanted), self.said)


def chains_of(text):
    """[[(function, "file:line"), …], …] out of what addr2line and its like print."""
    chains = []
    lines = iter(text.splitlines())
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]+", line):
            chains.append([])
        elif line:
            chains[-1].append((line, re.sub(r" \(discriminator \d+\)", "", next(lines))))
    return chains


def where(place):
    """A place without what tools disagree on: ways to write a path, "?" or 0, names of files that come
    from the symbol table."""
    file, _, line = place.rpartition(":")
    return (os.path.normpath(file), line.replace("?", "0")) if "/" in file else ("??", "0")


def plain(function):
    return re.sub(r"\.(cold|part|isra|constprop|lto_priv)(\.\d+)*", "",
                  function.replace("C1E", "C2E").replace("D1E", "D2E"))


class Plain(unittest.TestCase):
    def judge_by_llvm(self, program, wanted, known):
        need("llvm-symbolizer")
        said = run("llvm-symbolizer", "--no-demangle", "--addresses", "--functions=linkage", "--inlines",
                   "-e", program, input="\n".join(wanted).encode())
        judged = chains_of(re.sub(r"^(.*:\d+):\d+$", r"\1", said, flags=re.M))
        self.assertEqual(len(judged), len(known))
        for address, ours, theirs in zip(wanted, known, judged):
            places = [where(p) for _, p in ours] == [where(p) for _, p in theirs]
            names = len(ours) == len(theirs) and all(
                plain(a) == plain(b) or (a.startswith("_Z") and b in a) or b.startswith("operator")
                for (a, _), (b, _) in zip(ours, theirs))
            self.assertTrue(places and names, f"{program} {address}:\n{ours}\n{theirs}")

    def judge_by_addr2line(self, program, wanted, known):
        """Source lines alone: it takes names of inner functions from elsewhere, and where no function
        is (padding) the name of the one before."""
        judged = chains_of(run("addr2line", "-afi", "-e", program, input="\n".join(wanted).encode()))
        wrong = [(a, x, y) for a, x, y in zip(wanted, known, judged)
                 if x[0][0] != "??" and [where(p) for _, p in x] != [where(p) for _, p in y]]
        self.assertFalse(wrong[:3])

    def check(self, compiler, *options, link=(), addr2line=True):
        name = "-".join((compiler, *options)).replace("/", "")
        program = build(WORK / name, compiler, *options, link=link)
        wanted = addresses(program)
        known = Known(program, wanted)
        self.assertIn(": lines from", known.said)
        self.assertGreater(max(map(len, known.chains)), 1 if "-O0" in options else 4)
        self.judge_by_llvm(program, wanted, known.chains)
        if addr2line:
            self.judge_by_addr2line(program, wanted, known.chains)

    def test_gcc(self):
        for version in (4, 5):
            for level in ("-O0", "-O2", "-O3"):
                with self.subTest(version=version, level=level):
                    # addr2line 2.40 mistakes the files of inline functions of DWARF 5, and does not
                    # read clang's lists of ranges.
                    self.check("gcc", f"-gdwarf-{version}", level, addr2line=version == 4)

    def test_clang(self):
        for version in (4, 5):
            for level in ("-O0", "-O2", "-O3"):
                with self.subTest(version=version, level=level):
                    self.check("clang", f"-gdwarf-{version}", level, addr2line=version == 4)

    def test_link_time_optimization(self):
        self.check("gcc", "-flto", "-gdwarf-4")

    def test_sections(self):
        self.check("gcc", "-gdwarf-4", "-Os", "-ffunction-sections", link=["-Wl,--gc-sections"])


class Stubs(unittest.TestCase):
    """The linker's stubs have no symbols: they are named by what they call, and never like the code
    of another section."""

    SOURCE = """
        #include <math.h>
        #include <stdio.h>
        #include <stdlib.h>
        double (*volatile by_pointer)(double) = sin;
        int main(int argc, char **argv)
        {
                double sum = by_pointer(argc);
                for (int i = 0; i < 100; i++)
                        sum += cos(i + argc) + strtod(argv[0], NULL);
                printf("%g %d\\n", sum, rand());
        }
        """

    def stubs(self, name, *options):
        """{name of a stub: names of what is found at its instructions}, as objdump has them."""
        need("gcc", "objdump")
        folder = WORK / "stubs"
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / name
        run("gcc", "-O2", "-g", *options, "-x", "c", "-", "-o", program, "-lm", input=self.SOURCE.encode())
        found = {}
        for section in (".plt", ".plt.sec", ".plt.got"):
            text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-j", section, program],
                                  capture_output=True, text=True).stdout
            for stub, code in re.findall(r"^\w+ <(\S+)>:\n(.*?)(?:\n\n|\Z)", text, re.M | re.S):
                wanted = ["0x" + a for a in re.findall(r"^ +([0-9a-f]+):", code, re.M)]
                chains = Known(program, wanted).chains
                self.assertTrue(all(len(c) == 1 and c[0][1] == "??:0" for c in chains), chains)
                found.setdefault(stub, set()).update(c[0][0] for c in chains)
        return found

    def test_names(self):
        if os.uname().machine != "x86_64":
            self.skipTest("stubs are named on x86-64 alone")
        for name, options in {"lazy": ["-fcf-protection=none", "-Wl,-z,lazy"],
                              "now": ["-fcf-protection=none", "-Wl,-z,now"],
                              "ibt": ["-fcf-protection=full", "-Wl,-z,lazy", "-Wl,-z,ibtplt"],
                              "fixed": ["-no-pie", "-Wl,-z,lazy"],
                              "no-plt": ["-fno-plt"]}.items():
            with self.subTest(name=name):
                found = self.stubs(name, *options)
                for stub, names in found.items():
                    stub = re.sub(r"@.*plt", "@plt", stub)
                    # objdump gives the stubs that bind lazily, and do not name anybody, names of others.
                    self.assertTrue(names <= {stub, "[plt]"}, (stub, names))
                if name != "no-plt":
                    self.assertIn({"cos@plt"}, found.values())
                self.assertIn({"__cxa_finalize@plt"} if name != "fixed" else {"cos@plt"}, found.values())


class Large(unittest.TestCase):
    """So many addresses of a program so large that several processes share them out."""

    def test_many_addresses(self):
        need("llvm-symbolizer", "readelf")
        program = os.environ["SP_LARGE_PROGRAM"]
        if ".debug_line" not in run("readelf", "-SW", program):
            self.skipTest("built without debug information")
        text = re.search(r"\.text +PROGBITS +(\w+) +\w+ +(\w+)", run("readelf", "-SW", program))
        low, size = (int(number, 16) for number in text.groups())
        wanted = [hex(a) for a in random.Random(20).sample(range(low, low + size), min(20000, size))]
        one, several = (Known(program, wanted, "--jobs", jobs) for jobs in ("1", "5"))
        self.assertEqual(one.chains, several.chains)
        self.assertIn(": lines from", several.said)
        said = run("llvm-symbolizer", "--no-demangle", "--addresses", "--functions=linkage", "--inlines",
                   "-e", program, input="\n".join(wanted).encode())
        judged = chains_of(re.sub(r"^(.*:\d+):\d+$", r"\1", said, flags=re.M))
        self.assertEqual(len(judged), len(wanted))
        for address, ours, theirs in zip(wanted, several.chains, judged):
            self.assertEqual([where(p) for _, p in ours], [where(p) for _, p in theirs], address)


class Forms(unittest.TestCase):
    """Every form gives what the plain program gives."""

    @classmethod
    def setUpClass(cls):
        cls.forms = {(c, v): None for c in COMPILERS for v in (4, 5)}

    def setUp(self):
        self.folder = WORK / self.id().rpartition(".")[2]
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def plain(self, compiler, version):
        """(program, addresses, chains), made once."""
        if not self.forms[compiler, version]:
            program = build(WORK / f"plain-{compiler}-{version}", compiler, f"-gdwarf-{version}")
            wanted = addresses(program)
            self.forms[compiler, version] = program, wanted, Known(program, wanted).chains
        return self.forms[compiler, version]

    def each(self):
        for compiler, version in self.forms:
            with self.subTest(compiler=compiler, version=version):
                yield compiler, version, *self.plain(compiler, version)

    def same(self, program, wanted, chains, *options, said=": lines from", env=None):
        known = Known(program, wanted, *options, env=env)
        self.assertIn(said, known.said)
        for address, ours, expected in zip(wanted, known.chains, chains):
            self.assertEqual(ours, expected, address)

    def test_compressed(self):
        need("objcopy")
        for _, _, program, wanted, chains in self.each():
            for kind in ("zlib", "zlib-gnu", "zlib-gabi"):
                out = self.folder / "prog"
                run("objcopy", f"--compress-debug-sections={kind}", program, out)
                self.same(out, wanted, chains)

    def test_compressed_separate_file(self):
        """Several processes share what one of them has inflated."""
        need("objcopy")
        for _, _, program, wanted, chains in self.each():
            out, debug = self.separate(program)
            run("objcopy", "--compress-debug-sections=zlib", debug)
            run("objcopy", "--remove-section", ".gnu_debuglink", f"--add-gnu-debuglink={debug}", out)
            self.assertGreater(len(wanted), 1200)
            for jobs in ("1", "3"):
                self.same(out, wanted, chains, "--jobs", jobs, said=f"lines from {debug}")

    def test_compressed_damaged(self):
        """A section that cannot be inflated is as good as none, and costs no memory; the rest is read."""
        need("objcopy")
        program, wanted, _ = self.plain("gcc", 5)
        good = self.folder / "good"
        run("objcopy", "--compress-debug-sections=zlib", program, good)
        sections = compressed_sections(good)
        damages = {
            "size": lambda head, stream: (struct.pack("<IIQQ", 1, 0, 1 << 60, 1), stream),
            "most": lambda head, stream: (struct.pack("<IIQQ", 1, 0, 1032 * len(stream), 1), stream),
            "less": lambda head, stream: (head[:8] + struct.pack("<Q", 16) + head[16:], stream),
            "alignment": lambda head, stream: (head[:16] + b"\xff" * 8, stream),
            "method": lambda head, stream: (b"\7" + head[1:], stream),
            "cut": lambda head, stream: (head, stream[:len(stream) // 2] + bytes((len(stream) + 1) // 2)),
            "noise": lambda head, stream: (head, bytes(x ^ 0x55 for x in stream)),
        }
        for (name, change), section in itertools.product(damages.items(), (".debug_info", ".debug_line")):
            with self.subTest(name=name, section=section):
                bad = self.folder / "bad"
                content = bytearray(good.read_bytes())
                at, size = sections[section]
                content[at:at + size] = b"".join(change(content[at:at + 24], bytes(content[at + 24:at + size])))
                bad.write_bytes(content)
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
                without = self.folder / "without"
                run("objcopy", f"--remove-section={section}", program, without)
                self.same(bad, wanted, Known(without, wanted).chains)
                after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
                self.assertLessEqual(after, max(before, 100 << 10))

    def test_compressed_headers(self):
        """Of section headers nothing is believed: the file is read without what they hide."""
        need("objcopy")
        program, wanted, _ = self.plain("gcc", 5)
        good, bad = self.folder / "good", self.folder / "bad"
        run("objcopy", "--compress-debug-sections=zlib", program, good)
        content = good.read_bytes()
        table, = struct.unpack_from("<Q", content, 40)
        count, names = struct.unpack_from("<HH", content, 60)
        info = next(i for i in range(count) if struct.unpack_from("<Q", content, table + 64 * i + 24)[0]
                    == compressed_sections(good)[".debug_info"][0])
        numbers = 0, 1, 1 << 60, 1 << 63, (1 << 64) - 63, (1 << 64) - 1
        fields = {"name": (0, "<I", (1, (1 << 32) - 1)), "type": (4, "<I", (0, 3, 8)), "flags": (8, "<Q", (0x800,)),
                  "offset": (24, "<Q", numbers), "size": (32, "<Q", numbers)}
        for section, (field, (place, form, values)) in itertools.product((info, names), fields.items()):
            for value in values:
                with self.subTest(section=section, field=field, value=value):
                    changed = bytearray(content)
                    struct.pack_into(form, changed, table + 64 * section + place, value)
                    bad.write_bytes(changed)
                    self.assertRegex(Known(bad, wanted[:50]).said, ": (lines|names)")

    def test_compressed_bombs(self):
        """Streams that are small, and holes that are nothing in a file, do not become memory."""
        need("objcopy")
        limit = 300 << 20

        def little_memory():
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

        try:
            run(LOOK_UP, "--help", preexec_fn=little_memory)
        except AssertionError:
            return  # sanitizers alone need more memory: the plain build tells
        program, wanted, _ = self.plain("gcc", 5)
        good, bad = self.folder / "good", self.folder / "bad"
        run("objcopy", "--compress-debug-sections=zlib", program, good)
        content = bytearray(good.read_bytes())
        table, = struct.unpack_from("<Q", content, 40)
        count, = struct.unpack_from("<H", content, 60)
        size = 640 << 20
        hole, bomb = bytearray(content), bytearray(content)
        # The note of the compiler, which nobody reads, is as large as the hole behind it.
        comment = next(at for at in range(table, table + 64 * count, 64)
                       if struct.unpack_from("<IQ", content, at + 4) == (1, 0x30))
        struct.pack_into("<QQ", hole, comment + 24, 0, size)
        stream = zlib.compress(bytes(size), 1)
        at = next(at for at in range(table, table + 64 * count, 64)
                  if struct.unpack_from("<Q", content, at + 24)[0] == compressed_sections(good)[".debug_str"][0])
        struct.pack_into("<QQ", bomb, at + 24, len(content), 24 + len(stream))
        bomb += struct.pack("<IIQQ", 1, 0, size, 1) + stream
        for name, content in {"hole": hole, "bomb": bomb}.items():
            with self.subTest(name=name):
                bad.write_bytes(content)
                if name == "hole":
                    os.truncate(bad, size + len(content))
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
                known = Known(bad, wanted, preexec_fn=little_memory)
                self.assertEqual(": names: its compressed debug information would take more than the 0.3 GB"
                                 in known.said, name == "bomb", known.said)
                self.assertIn("main", {c[-1][0] for c in known.chains})
                after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
                self.assertLessEqual(after, max(before, 2 * limit >> 10))

    def test_compressed_too_large(self):
        """What is too much in all is refused at once, by all processes; so is a method that is not read."""
        need("objcopy")
        program, wanted, _ = self.plain("gcc", 5)
        good, bad = self.folder / "good", self.folder / "bad"
        run("objcopy", "--compress-debug-sections=zlib", program, good)
        stream = zlib.compress(bytes(1 << 30), 1)
        content = bytearray(good.read_bytes())
        sections, end = compressed_sections(good), len(content)
        table, = struct.unpack_from("<Q", content, 40)
        count, = struct.unpack_from("<H", content, 60)
        headers = {struct.unpack_from("<Q", content, at + 24)[0]: at for at in range(table, table + 64 * count, 64)}
        large = bytearray(content)
        # One stream for all: each could be read.
        for at in (headers[offset] for offset, _ in sections.values()):
            struct.pack_into("<QQ", large, at + 24, end, 24 + len(stream))
        large += struct.pack("<IIQQ", 1, 0, 1 << 30, 1) + stream
        limit = 5 << 29  # two of them

        def little_memory():
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

        bad.write_bytes(large)
        said = Known(bad, wanted, "--jobs", "3", preexec_fn=little_memory).said
        self.assertIn(": names: its compressed debug information would take more than", said)
        for name in (".debug_info", ".debug_line"):
            other = bytearray(content)
            other[sections[name][0]] = 2
            bad.write_bytes(other)
            known = Known(bad, wanted, "--jobs", "3")
            self.assertIn(": names: its debug information is compressed with zstd, which is not read", known.said)
            self.assertIn("main", {c[-1][0] for c in known.chains})

    def separate(self, program):
        """A stripped program and its debug file, linked by name and checksum."""
        debug, out = self.folder / "prog.debug", self.folder / "prog"
        run("objcopy", "--only-keep-debug", program, debug)
        run("objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program, out)
        return out, debug

    def test_separate_files(self):
        need("objcopy")
        for _, _, program, wanted, chains in self.each():
            out, debug = self.separate(program)
            self.same(out, wanted, chains, said=f"lines from {debug}")
            (self.folder / ".debug").mkdir(exist_ok=True)
            debug.rename(self.folder / ".debug/prog.debug")
            self.same(out, wanted, chains)
            known = build_id(program)
            by_id = self.folder / "by-id/.build-id" / known[:2]
            by_id.mkdir(parents=True)
            (self.folder / ".debug/prog.debug").rename(by_id / (known[2:] + ".debug"))
            self.assertIn(": names", Known(out, wanted).said)
            self.same(out, wanted, chains, "--debug-dir", self.folder / "by-id")
            by_name = self.folder / "by-name"
            by_name.mkdir()
            (by_id / (known[2:] + ".debug")).rename(by_name / "prog.debug")
            # The second of two directories has it.
            self.same(out, wanted, chains, "--debug-dir", self.folder, "--debug-dir", by_name)
            shutil.rmtree(self.folder / "by-id")
            shutil.rmtree(by_name)

    def test_wrong_checksum(self):
        """Found by name alone, since there is no build-id: the checksum tells the wrong file."""
        need("objcopy")
        program, wanted, chains = self.plain("gcc", 5)
        bare = self.folder / "bare"
        run("objcopy", "--remove-section", ".note.gnu.build-id", program, bare)
        out, debug = self.separate(bare)
        self.same(out, wanted, chains)
        with debug.open("ab") as file:
            file.write(b"x")
        self.assertIn(": names", Known(out, wanted).said)

    def test_other_build_in_debug_dir(self):
        need("objcopy")
        program, wanted, _ = self.plain("gcc", 5)
        other, _, _ = self.plain("gcc", 4)
        out, debug = self.separate(program)
        debug.unlink()
        known = build_id(program)
        by_id = self.folder / ".build-id" / known[:2]
        by_id.mkdir(parents=True)
        shutil.copy(other, by_id / (known[2:] + ".debug"))
        self.assertIn(": names", Known(out, wanted, "--debug-dir", self.folder).said)

    def test_stripped(self):
        need("strip")
        for _, _, program, wanted, chains in self.each():
            out = self.folder / "prog"
            run("strip", "-g", "-o", out, program)
            known = Known(out, wanted)
            self.assertIn(": names", known.said)
            for ours, full in zip(known.chains, chains):
                self.assertEqual((len(ours), ours[0][1]), (1, "??:0"))
                # Same function, unless it is padding or one of the C runtime's.
                if full[-1][0] != "??":
                    self.assertEqual(plain(ours[0][0]), plain(full[-1][0]))

    def test_mini_debug_info(self):
        """A compressed symbol table in a stripped program."""
        need("objcopy", "strip", "xz")
        for _, _, program, wanted, _ in self.each():
            mini, out = self.folder / "mini", self.folder / "prog"
            run("objcopy", "--strip-debug", program, mini)
            run("xz", "-f", mini)
            run("objcopy", "--strip-all", f"--add-section=.gnu_debugdata={mini}.xz", program, out)
            names = {c[0][0] for c in Known(out, wanted).chains}
            self.assertIn("_ZN6shapes4areaERKSt6vectorIdSaIdEEPVd", names)
            self.assertIn("main", names)

    def test_dwz(self):
        need("dwz")
        for compiler, version, program, wanted, chains in self.each():
            if (compiler, version) == ("clang", 5):
                continue  # dwz 0.15 does not know .debug_addr
            out = self.folder / "prog"
            run("dwz", program, "-o", out)
            self.same(out, wanted, chains)

    def test_dwz_common_file(self):
        """What two programs have in common is in a third file (.gnu_debugaltlink)."""
        need("dwz")
        for compiler, version, program, wanted, chains in self.each():
            if (compiler, version) == ("clang", 5):
                continue
            first, second = self.folder / "prog", self.folder / "other"
            shutil.copy(program, first)
            shutil.copy(program, second)
            run("dwz", "-m", self.folder / "common", first, second)
            self.same(first, wanted, chains)
            (self.folder / "common").unlink()
            self.assertIn("common, where dwz put", Known(first, wanted[:50]).said)

    def split(self, compiler, version):
        return build(self.folder / f"split-{compiler}-{version}", compiler, f"-gdwarf-{version}", "-gsplit-dwarf")

    def test_split(self):
        for compiler, version, _, wanted, chains in self.each():
            self.same(self.split(compiler, version), wanted, chains)

    def test_split_package(self):
        for compiler, version, _, wanted, chains in self.each():
            # binutils' dwp does not know DWARF 5, llvm-dwp 14 not gcc's.
            tools = ["llvm-dwp"] if version == 5 else ["dwp", "llvm-dwp"]
            for tool in tools if (compiler, version) != ("gcc", 5) else ():
                need(tool)
                program = self.split(compiler, version)
                run(tool, "-e", program, "-o", f"{program}.dwp", cwd=program.parent)
                for file in program.parent.glob("*.dwo"):
                    file.unlink()
                self.same(program, wanted, chains)

    def test_split_lost(self):
        program = self.split("gcc", 5)
        for file in program.parent.glob("*.dwo"):
            file.unlink()
        known = Known(program, self.plain("gcc", 5)[1])
        self.assertIn("cannot be found", known.said)
        self.assertIn("shapes.cpp:", str(known.chains))

    def test_rebuilt(self):
        """Another build is refused, and a copy that was archived is taken."""
        program, wanted, chains = self.plain("gcc", 5)
        other, _, _ = self.plain("gcc", 4)
        recorded = build_id(program)
        known = Known(other, wanted, "--build-id", recorded)
        self.assertIn(f"changed: its build-id is {build_id(other)}, that of the recording {recorded}", known.said)
        self.assertEqual({str(c) for c in known.chains}, {str([("??", "??:0")])})
        self.same(other, wanted, chains, "--build-id", recorded, "--copy", program)
        gone = self.folder / "gone"
        self.assertIn("missing", Known(gone, wanted, "--build-id", recorded).said)
        self.same(gone, wanted, chains, "--build-id", recorded, "--copy", program)
        # Without a build-id the copy is surer than what now has the name.
        self.same(other, wanted, chains, "--copy", program)


class Server:
    """A debuginfod server, or something that pretends to be one. @answer: (handler, id, kind)."""

    def __init__(self, answer):
        self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(handler):
                _, _, known, kind = handler.path.split("/", 3)
                self.asked.append((known, kind))
                answer(handler, known, kind)

            def log_message(handler, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def send(handler, content):
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


class Debuginfod(unittest.TestCase):
    def setUp(self):
        need("objcopy")
        self.folder = WORK / self.id().rpartition(".")[2]
        shutil.rmtree(self.folder, ignore_errors=True)
        self.program = build(self.folder, "gcc")
        self.wanted = addresses(self.program)
        self.chains = Known(self.program, self.wanted).chains
        self.known = build_id(self.program)
        self.stripped = self.folder / "stripped"
        run("objcopy", "--strip-debug", self.program, self.stripped)
        debug = self.folder / "prog.debug"
        run("objcopy", "--only-keep-debug", self.program, debug)
        self.content = debug.read_bytes()
        debug.unlink()

    def look_up(self, url, *options, program=None):
        return Known(program or self.stripped, self.wanted, "--build-id", self.known, *options,
                     env={"DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(self.folder / "cache"),
                          "DEBUGINFOD_VERBOSE": "", "HOME": str(self.folder)})

    def serve(self, answer):
        server = Server(answer)
        self.addCleanup(server.stop)
        return server

    def right(self, handler, known, _):
        send(handler, self.content) if known == self.known else handler.send_error(404)

    def test_found(self):
        server = self.serve(self.right)
        known = self.look_up(server.url)
        self.assertIn(": lines from", known.said)
        self.assertEqual(known.chains, self.chains)
        self.assertEqual(server.asked, [(self.known, "debuginfo")])
        # The second time it is in the cache.
        self.assertEqual(self.look_up(server.url).chains, self.chains)
        self.assertEqual(len(server.asked), 1)

    def test_program_is_gone(self):
        known = self.look_up(self.serve(self.right).url, program=self.folder / "gone")
        self.assertEqual(known.chains, self.chains)

    def test_not_asked(self):
        server = self.serve(self.right)
        self.assertIn(": names", self.look_up(server.url, "--no-debuginfod").said)
        self.assertIn(": names", self.look_up("").said)
        self.assertEqual(self.look_up(server.url, program=self.program).chains, self.chains)
        self.assertEqual(server.asked, [])

    def test_has_nothing(self):
        server = self.serve(lambda handler, *_: handler.send_error(404))
        known = self.look_up(server.url)
        self.assertIn("names: debuginfod has nothing for its build-id", known.said)
        self.assertIn("main", str(known.chains))  # of the symbol table
        asked = len(server.asked)
        self.look_up(server.url)
        self.assertEqual(len(server.asked), asked, "the miss was not remembered")

    def test_hangs(self):
        server = self.serve(lambda *_: time.sleep(30))
        before = time.monotonic()
        known = self.look_up(server.url, "--debuginfod-timeout", "1")
        self.assertLess(time.monotonic() - before, 10)
        self.assertIn("debuginfod did not answer in time", known.said)
        # That is no answer: it is asked again.
        server = self.serve(self.right)
        self.assertEqual(self.look_up(server.url).chains, self.chains)
        self.assertEqual(len(server.asked), 1)

    def test_gone(self):
        server = Server(self.right)
        server.stop()
        before = time.monotonic()
        known = self.look_up(server.url)
        self.assertLess(time.monotonic() - before, 15)
        self.assertIn("names: debuginfod", known.said)

    def test_garbage(self):
        server = self.serve(lambda handler, *_: send(handler, b"\x7fELF" + bytes(range(256)) * 50))
        known = self.look_up(server.url)
        self.assertIn("names: ", known.said)
        self.assertNotIn("lines from", known.said)

    def test_another_build(self):
        """A file that has another build-id than was asked for is not used."""
        other = build(self.folder / "other", "gcc", "-DOTHER", "-O1").read_bytes()
        known = self.look_up(self.serve(lambda handler, *_: send(handler, other)).url)
        self.assertIn("names: ", known.said)
        self.assertIn("its build-id is", known.said)


if __name__ == "__main__":
    WORK.mkdir(parents=True, exist_ok=True)
    result = unittest.main(argv=[sys.argv[0], *sys.argv[4:]], exit=False).result
    # A form that was not tried is told, by CTest.
    sys.exit(1 if not result.wasSuccessful() else 77 if result.skipped else 0)
