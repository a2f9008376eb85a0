# SPDX-License-Identifier: BSD-2-Clause
"""cgroup.py - a control group for a test, of version 1 or 2, whichever the machine has."""
import contextlib
import os
import pathlib
import signal
import time

NAMES = {"memory.max": "memory.limit_in_bytes", "memory.current": "memory.usage_in_bytes"}


def _mounts(controller):
    """(directory, version) of the hierarchies that may have the controller."""
    for line in open("/proc/self/mounts"):
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup" and controller in options.split(","):
            yield pathlib.Path(where), 1
        if kind == "cgroup2":
            yield pathlib.Path(where), 2


class Group:
    def __init__(self, path, version):
        self.path, self.version = path, version

    def _file(self, name):
        return self.path / (NAMES.get(name, name) if self.version == 1 else name)

    def set(self, name, value):
        self._file(name).write_text(f"{value}\n")

    def get(self, name):
        return self._file(name).read_text().strip()

    def procs(self):
        return str(self.path / "cgroup.procs")

    def inside(self, *command):
        """The command, to be run in it."""
        return ["sh", "-c", f'echo $$ > {self.procs()} && exec "$@"', "sh", *map(str, command)]


def make(controller, name):
    """A new group with that controller; None, and a line that says so, where none can be made."""
    why = "no hierarchy has it"
    for root, version in _mounts(controller):
        try:
            if version == 2 and controller not in (root / "cgroup.controllers").read_text().split():
                continue
            if version == 2 and controller not in (root / "cgroup.subtree_control").read_text().split():
                (root / "cgroup.subtree_control").write_text(f"+{controller}")
            path = root / f"sp-e2e-{name}-{os.getpid()}"
            path.mkdir()
            return Group(path, version)
        except OSError as e:
            why = str(e)
    print(f"not available: a control group for {controller}: {why}")
    return None


@contextlib.contextmanager
def group(controller, name):
    made = make(controller, name)
    try:
        yield made
    finally:
        for _ in range(100 if made else 0):  # until the last that a test left in it is gone
            try:
                for pid in pathlib.Path(made.procs()).read_text().split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
                made.path.rmdir()
                break
            except OSError:
                time.sleep(0.05)
