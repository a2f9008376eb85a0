# SPDX-License-Identifier: BSD-2-Clause
"""Reads from an ELF file what sp_region.h puts there: notes, stubs, descriptors; little-endian, 64 bit.

Independent of the recorder's scanner on purpose: it judges the header by the layout as written down.
"""

import re
import struct

PT_LOAD = 1
SHT_RELA, SHT_NOBITS = 4, 8
EM_X86_64, EM_AARCH64 = 62, 183
ENTRY = re.compile(  # endbr64; mov home(%rip),%rax; test; je child; cmpb $0,(%rax); jne place
    rb"\xf3\x0f\x1e\xfa\x48\x8b\x05(....)\x48\x85\xc0(?:\x74\x09|\x0f\x84\x09\0\0\0)"
    rb"\x80\x38\x00\x0f\x85(....)\x90\xc3",
    re.DOTALL)
END_SITE, LEXICAL, FUNCTION = 4, 1, 2
NOPS = {EM_X86_64: b"\x90" * 64, EM_AARCH64: struct.pack("<I", 0xD503201F) * 64}


class Elf:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        assert self.data[:6] == b"\x7fELF\x02\x01", path
        (_, self.machine, _, _, phoff, shoff, _, _, phentsize, phnum, shentsize, shnum,
         shstrndx) = struct.unpack_from("<HHIQQQIHHHHHH", self.data, 16)
        self.segments = []
        for i in range(phnum):
            kind, _, offset, address, _, size, _, _ = struct.unpack_from(
                "<IIQQQQQQ", self.data, phoff + i * phentsize)
            if kind == PT_LOAD:
                self.segments.append((address, offset, size))
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.data, shoff + i * shentsize)
                   for i in range(shnum)]
        names = headers[shstrndx][4]
        self.sections = [(self.text(names + h[0]), *h[1:]) for h in headers]

    def text(self, offset):
        return self.data[offset:self.data.index(b"\0", offset)].decode()

    def section(self, name):
        """(type, flags, address, offset, size, link, info, align, entry size), or None."""
        found = [s[1:] for s in self.sections if s[0] == name]
        assert len(found) <= 1, f"{len(found)} sections {name}"
        return found[0] if found else None

    def at(self, address):
        """File offset of what will be at an address."""
        for start, offset, size in self.segments:
            if start <= address < start + size:
                return offset + address - start
        raise AssertionError(f"address {address:#x} is not in the file")

    def bytes_at(self, address, size):
        offset = self.at(address)
        return self.data[offset:offset + size]

    def s32(self, address):
        return struct.unpack("<i", self.bytes_at(address, 4))[0]

    def notes(self):
        """Every stapsdt note as (provider, name, address, semaphore, arguments)."""
        found = []
        section = self.section(".note.stapsdt")
        if not section:
            return found
        base = self.section(".stapsdt.base")
        place, end = section[3], section[3] + section[4]
        while place < end:
            name_size, size, kind = struct.unpack_from("<III", self.data, place)
            assert (name_size, kind) == (8, 3) and self.text(place + 12) == "stapsdt"
            address, note_base, semaphore = struct.unpack_from("<QQQ", self.data, place + 20)
            assert base and note_base == base[2], "the note's base is not the section's address"
            words = self.data[place + 44:place + 20 + size].split(b"\0")
            found.append((words[0].decode(), words[1].decode(), address, semaphore,
                          words[2].decode()))
            place += 20 + (size + 3) // 4 * 4
        return found

    def probes(self):
        """Each of our probes by name, as (place, place in forked children or None, semaphore, arguments).

        Judges what is between them, too: the kind, the pool of nops, the code that chooses.
        """
        found = {}
        for name, kind in (("begin", 1), ("end", 2)):
            notes = [n[2:] for n in self.notes() if n[:2] == ("sp", name)]
            assert len({n[1:] for n in notes}) == 1, f"semaphores, arguments: {notes}"
            if self.machine != EM_X86_64:
                assert len(notes) == 1, f"{name}: {notes}"
                place, child = notes[0][0], None
                assert self.bytes_at(place, 8) == bytes.fromhex("1f2003d5c0035fd6")
                assert self.bytes_at(place + 12, 1)[0] == kind
            else:
                code = bytes((0x90, 0x0F, 0x1F, 0x44, 0, 0, 0xC3, kind))
                whole = [n[0] for n in notes if self.bytes_at(n[0], 8) == code]
                short = [n[0] for n in notes if self.bytes_at(n[0], 2) == b"\x90\xc3"]
                assert len(notes) == 2 and len(whole) == len(short) == 1, f"{name}: {notes}"
                place, child = whole[0], short[0]
                entry = ENTRY.fullmatch(self.bytes_at(place + 96, child + 2 - (place + 96)))
                assert entry, f"{name}: between the places stands another code"
                home, to = (struct.unpack("<i", word)[0] for word in entry.groups())
                assert child + to == place, f"{name}: jumps elsewhere"
                home += place + 96 + 11
                assert home % 8 == 0 and any(s[3] <= home <= s[3] + s[5] - 16 and s[2] & 3 == 3
                                             for s in self.sections), f"{name}: no home"
            assert place % 16 == 0, "the stub is not aligned"
            assert self.bytes_at(place + 16, len(NOPS[self.machine])) == NOPS[self.machine], "pool"
            found[name] = (place, child, *notes[0][1:])
        assert len({p for n in found.values() for p in n[:2] if p}) == sum(
            p is not None for n in found.values() for p in n[:2]), "places were folded"
        return found

    def descriptors(self):
        """Every record of section sp_desc as a dictionary."""
        section = self.section("sp_desc")
        found = []
        if not section:
            return found
        assert section[4] % 32 == 0, "sp_desc is not a multiple of 32 bytes"
        levels = self.section("sp_level")
        cells = set()
        for address in range(section[2], section[2] + section[4], 32):
            name, file, tags, func, line, level, flags, reserved = struct.unpack(
                "<iiiiIiII", self.bytes_at(address, 32))
            assert flags >> 24 == 1 and not flags & 0xFFFFF8 and reserved == 0, hex(flags)
            cell = address + level
            assert levels[2] <= cell <= levels[2] + levels[4] - 2 and cell not in cells, "level"
            cells.add(cell)

            def string(offset):
                return self.text(self.at(address + offset)) if offset else None
            found.append({"name": string(name), "file": string(file), "tags": string(tags),
                          "func": string(func), "line": line, "flags": flags & 7})
        return found

    def relocated(self, name):
        """Run-time relocations whose place lies in a section."""
        section = self.section(name)
        found = []
        for _, kind, flags, _, offset, size, _, _, _, _ in self.sections:
            if kind != SHT_RELA or not flags & 2:
                continue
            for i in range(offset, offset + size, 24):
                place = struct.unpack_from("<Q", self.data, i)[0]
                if section[2] <= place < section[2] + section[4]:
                    found.append(place)
        return found
