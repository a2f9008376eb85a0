# SPDX-License-Identifier: BSD-2-Clause
"""Writes .sps files, in either byte order, for the tests of `sp-report lines`."""

import struct


def write(path, regions, modules, samples, rank=0, hz=997, ticks=None, order="<"):
    """modules: (path, bias); samples: (region, module, address)."""
    out = [b"SCOPESMP", struct.pack(order + "iii", 1, rank, hz)]
    out.append(struct.pack(order + "q", len(samples) if ticks is None else ticks))
    out.append(struct.pack(order + "i", len(regions)))
    for name in regions:
        raw = name.encode()
        out.append(struct.pack(order + "i", len(raw)) + raw)
    out.append(struct.pack(order + "i", len(modules)))
    for name, bias in modules:
        raw = str(name).encode()
        out.append(struct.pack(order + "i", len(raw)) + raw + struct.pack(order + "Q", bias))
    out.append(struct.pack(order + "q", len(samples)))
    out.extend(struct.pack(order + "iiQ", *sample) for sample in samples)
    with open(path, "wb") as file:
        file.write(b"".join(out))
