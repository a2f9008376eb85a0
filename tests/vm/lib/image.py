# SPDX-License-Identifier: BSD-2-Clause
"""image.py - the initial RAM disk of a test machine: busybox, the kernel's modules for it, and our init.

The machine's root is the host's file system, so nothing else is needed.
"""
import gzip
import lzma
import pathlib
import re

# What the root needs, and the terminal; those that a kernel has built in are not among its modules.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_mmio", "virtio_rng")


def module_name(path):
    return path.name.split(".ko")[0].replace("-", "_")


def read_module(path):
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".gz":
        return gzip.decompress(data)
    return data


def load_order(found, wanted):
    """[(name, contents)], each behind what it needs. The needs stand in the modules themselves, since there is
    no modules.dep before an installation."""
    order, seen = [], set()

    def add(name):
        if name in seen or name not in found:
            return
        seen.add(name)
        data = read_module(found[name])
        needs = re.search(rb"\0depends=([^\0]*)\0", data)
        for need in needs[1].decode().split(",") if needs else []:
            add(need.replace("-", "_"))
        order.append((name, data))

    for name in wanted:
        add(name)
    return order


class Cpio:
    """An archive as the kernel unpacks it ("newc")."""

    def __init__(self):
        self.parts, self.inode = [], 1

    def _add(self, name, mode, data=b""):
        encoded = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
        self.inode += 1
        head = b"070701" + b"".join(b"%08X" % f for f in fields) + encoded
        self.parts += [head, bytes(-len(head) % 4), data, bytes(-len(data) % 4)]

    def directory(self, name):
        self._add(name, 0o040755)

    def file(self, name, data, mode=0o644):
        self._add(name, 0o100000 | mode, data)

    def finish(self):
        self._add("TRAILER!!!", 0)
        return b"".join(self.parts)


def build(kernel, busybox, init, settings):
    """The disk's bytes. `settings`: text that init sources."""
    (modules,) = list(pathlib.Path(kernel).glob("lib/modules/*")) + list(pathlib.Path(kernel).glob("usr/lib/modules/*"))
    found = {module_name(p): p for p in modules.rglob("*.ko*")}
    disk = Cpio()
    for name in ("bin", "dev", "proc", "sys", "modules", "host", "upper", "root"):
        disk.directory(name)
    disk.file("bin/busybox", pathlib.Path(busybox).read_bytes(), 0o755)
    disk.file("init", pathlib.Path(init).read_bytes(), 0o755)
    disk.file("settings", settings.encode())
    order = load_order(found, MODULES)
    for name, data in order:
        disk.file(f"modules/{name}.ko", data)
    disk.file("modules/order", "".join(f"{name}\n" for name, _ in order).encode())
    return disk.finish()
