# SPDX-License-Identifier: BSD-2-Clause
"""Reads from an ELF file what sp_region.h puts there: notes, stubs, descriptors; little-endian, 64 bit.

Independent of the recorder's scanner on purpose: it judges the header by the layout as written down.
"""

import struct

PT_LOAD = 1
SHT_RELA, SHT_NOBITS = 4, 8
EM_X86_64, EM_AARCH64 = 62, 183
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
