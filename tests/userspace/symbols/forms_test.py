#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every form that debug information comes in must give what the plain one gives."""
import itertools
import os
import resource
import shutil
import struct
import unittest
import zlib

from built import (COMPILERS, LOOK_UP, WORK, Known, addresses, build, build_id, compressed_sections, main,
                   need, plain, run)


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
        comment = next(i for i in range(count) if struct.unpack_from("<IQ", content, table + 64 * i + 4) == (1, 0x30))
        numbers = 0, 1, 1 << 60, 1 << 63, (1 << 64) - 63, (1 << 64) - 1
        fields = {"name": (0, "<I", (1, (1 << 32) - 1)), "type": (4, "<I", (0, 3, 8)), "flags": (8, "<Q", (0x800,)),
                  "offset": (24, "<Q", numbers), "size": (32, "<Q", numbers)}
        for section, (field, (place, form, values)) in itertools.product((info, names, comment), fields.items()):
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
        try:
            run(LOOK_UP, "--help", preexec_fn=little_memory)
        except AssertionError:
            pass  # sanitizers alone need more memory: the plain build tells
        else:
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


main()
