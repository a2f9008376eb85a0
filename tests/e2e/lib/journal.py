# SPDX-License-Identifier: BSD-2-Clause
"""journal.py - reads journals as formats/FORMAT.md, section 4, describes them, without any code of ours:
which blocks are whole, and what is in them."""
import struct

BLOCK = struct.Struct("<IIHHIQII")
MAGIC = 0x4B4C4253
EVENTS = 2
SIGNED = {"s32", "s64"}


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


class Journal:
    """The whole blocks of a file: (kind, stream, events, payload). `rest` bytes behind them are not."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        if data[:8] != b"SPTRJNL1":
            raise ValueError(f"{path} is no journal: {data[:8]}")
        self.blocks, at = [], 8
        while at + BLOCK.size <= len(data):
            magic, size, kind, stream, events, number, zero, crc = BLOCK.unpack_from(data, at)
            payload = data[at + BLOCK.size:at + BLOCK.size + size]
            head = data[at:at + 28] + bytes(4)
            if (magic, number, zero) != (MAGIC, len(self.blocks), 0) or len(payload) != size:
                break
            if crc32c(head + payload) != crc:
                break
            self.blocks.append((kind, stream, events, payload))
            at += BLOCK.size + size
        self.bytes, self.rest = at, len(data) - at
        self.schema = self._parse(self.blocks[0][3].decode()) if self.blocks else {}

    @staticmethod
    def _parse(text):
        events = {}
        for line in text.splitlines():
            word, first, *more = line.split()
            if word == "event":
                fields = events.setdefault(int(first), (more[0], more[1], []))[2]
            else:
                fields.append((first, more[0]))
        return events

    def events(self):
        """(name, flags, lane, {field: value}, tail) of each."""
        for kind, _, count, payload in self.blocks:
            if kind == EVENTS:
                yield from self._block(count, payload)

    def _block(self, count, payload):
        at, last, mask = 0, {}, (1 << 64) - 1

        def varint():
            nonlocal at
            value = shift = 0
            while True:
                byte = payload[at]
                at += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    return value & mask

        for _ in range(count):
            name, tail, fields = self.schema[varint()]
            before = last.setdefault(name, [0] * (2 + len(fields)))
            for i in range(2 + len(fields)):
                packed = payload[at]
                if packed < 128:
                    at += 1
                else:
                    packed = varint()
                if packed:
                    before[i] = (before[i] + (packed >> 1 ^ -(packed & 1))) & mask
            values = {field: value - (1 << 64) if value >> 63 and kind in SIGNED else value
                      for (kind, field), value in zip(fields, before[2:])}
            text = b""
            if tail != "none":
                size = varint()
                text = payload[at:at + size]
                at += size
            yield name, before[0], before[1], values, text
        if at != len(payload):
            raise ValueError(f"{len(payload) - at} bytes follow the last event of a block")

    def calls(self):
        """{(lane, number): flags} of all calls. Of one that stands twice, the one that ended holds."""
        found = {}
        for name, flags, lane, values, _ in self.events():
            if name == "call":
                key = (lane, values["number"])
                if key not in found or found[key] & 8:
                    found[key] = flags
        return found

    def count(self, wanted):
        return sum(name == wanted for name, *_ in self.events())
