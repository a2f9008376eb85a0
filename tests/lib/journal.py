# SPDX-License-Identifier: BSD-2-Clause
"""journal.py - journals, read and written by FORMAT.md alone (section 4), without any code of ours."""

import struct

MAGIC = b"SPTRJNL1"
HEADER = struct.Struct("<IIHHIQII")
SCHEMA, EVENTS = 1, 2
MASK = (1 << 64) - 1

_table = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    _table.append(_byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def block(payload, number, kind=EVENTS, stream=0xFFFF, events=0):
    head = (0x4B4C4253, len(payload), kind, stream, events, number, 0)
    return HEADER.pack(*head, crc32c(HEADER.pack(*head, 0) + payload)) + payload


def _varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _delta(value, before):
    difference = (value - before) & MASK
    return _varint(((difference << 1) ^ (MASK if difference >> 63 else 0)) & MASK)


class Schema:
    """{id: (name, tail, [(type, field)])}"""

    def __init__(self, text):
        self.text = text
        self.events = {}
        for line in text.splitlines():
            word = line.split()
            if word[0] == "event":
                fields = []
                self.events[int(word[1])] = (word[2], word[3], fields)
            else:
                fields.append((word[1], word[2]))

    def id_of(self, name):
        return next(i for i, event in self.events.items() if event[0] == name)


class Packer:
    """Events of one block, by name: pack("call", lane=1, start=5, …) or with tail=b"…"."""

    def __init__(self, schema):
        self.schema = schema
        self.last = {}
        self.bytes = b""
        self.count = 0

    def pack(self, name, flags=0, lane=0, tail=b"", **values):
        number = self.schema.id_of(name)
        _, kind, fields = self.schema.events[number]
        wanted = [flags, lane] + [values.get(field, 0) for _, field in fields]
        before = self.last.get(number, [0] * len(wanted))
        out = _varint(number) + b"".join(_delta(new, old) for new, old in zip(wanted, before))
        if kind != "none":
            out += _varint(len(tail)) + tail
        self.last[number] = wanted
        self.bytes += out
        self.count += 1
        return self

    def block(self, number, stream=0):
        return block(self.bytes, number, EVENTS, stream, self.count)


def _unpack(schema, payload, count):
    """The events of a block, each as `sp-report dump` shows it."""
    at, last = 0, {}

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = payload[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    for _ in range(count):
        name, kind, fields = schema.events[varint()]
        values = last.setdefault(name, [0] * (2 + len(fields)))
        for i in range(2 + len(fields)):
            delta = varint()
            if delta:
                values[i] = values[i] + (delta >> 1 ^ -(delta & 1)) & MASK
        event = {"event": name, "flags": values[0], "lane": values[1]}
        for (type_of, field), value in zip(fields, values[2:]):
            event[field] = value - (1 << 64) if type_of[0] == "s" and value >> 63 else value
        if kind != "none":
            size = varint()
            tail = payload[at:at + size]
            at += size
            if kind == "text":
                event["text"] = [part.decode("utf-8", "replace") for part in tail.split(b"\0")]
            else:
                event["stack"] = [word[0] for word in struct.iter_unpack("<Q", tail)]
        yield event
    if at != len(payload):
        raise ValueError(f"{len(payload) - at} bytes follow the last event of a block")


def _whole_blocks(data):
    """(offset, end, kind, stream, events, payload) of each."""
    at, number = 8, 0
    while data[:8] == MAGIC and len(data) - at >= HEADER.size:
        magic, size, kind, stream, count, own_number, zero, crc = HEADER.unpack_from(data, at)
        end = at + HEADER.size + size
        if magic != 0x4B4C4253 or size > 1 << 24 or own_number != number or end > len(data):
            break
        payload = data[at + HEADER.size:end]
        if crc32c(data[at:at + 28] + bytes(4) + payload) != crc or (number == 0 and kind != SCHEMA):
            break
        yield at, end, kind, stream, count, payload
        at, number = end, number + 1


def read(data):
    """(schema, [(offset, end, stream, events)]) of the whole blocks; None for the schema if it is not whole."""
    schema, blocks = None, []
    for at, end, kind, stream, count, payload in _whole_blocks(data):
        if not blocks:
            schema = Schema(payload.decode())
        blocks.append((at, end, stream, list(_unpack(schema, payload, count)) if kind == EVENTS else []))
    return schema, blocks


class Journal:
    """The whole blocks of a file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        if data[:8] != MAGIC:
            raise ValueError(f"{path} is no journal: {data[:8]}")
        self.blocks = list(_whole_blocks(data))
        self.schema = Schema(self.blocks[0][-1].decode()) if self.blocks else None

    def events(self):
        for _, _, kind, _, count, payload in self.blocks:
            if kind == EVENTS:
                yield from _unpack(self.schema, payload, count)

    def calls(self):
        """{(lane, number): flags} of all calls. Of one that stands twice, the one that ended holds."""
        found = {}
        for event in self.events():
            if event["event"] == "call":
                key = (event["lane"], event["number"])
                if key not in found or found[key] & 8:
                    found[key] = event["flags"]
        return found

    def count(self, wanted):
        return sum(event["event"] == wanted for event in self.events())
