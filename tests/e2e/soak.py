#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""soak.py - a minute of tests/soak (20 s, with less to do, where the machine is emulated): the recorder's memory, descriptors and CPU are flat under mixed load,
and every call is accounted for."""
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import BIN, EMULATED, LONG, SOURCE, equal, main, need_root, need_scope_profiler, run

need_root()
need_scope_profiler()


def soak(into):
    load = ["--seconds", 20, "--rate", 100] if EMULATED else ["--seconds", 60]
    done = run([sys.executable, SOURCE / "tests/soak", *load, "--build", BIN.parent, "--keep", into / "kept"],
               timeout=max(500, LONG))
    print(done.stdout, done.stderr, sep="")
    equal(done.returncode, 0, "status")


main(soak)
