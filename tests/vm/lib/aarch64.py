# SPDX-License-Identifier: BSD-2-Clause
"""aarch64.py - the machine of another architecture: a root of its own, and a cross build of the project."""
import pathlib
import platform
import shutil
import subprocess

import packages
import sysroot
from machine import Machine
from packages import Error, Missing

TRIPLET = "aarch64-linux-gnu"
KERNEL, RELEASE = "trixie", "bookworm"
TARGETS = ("sp-trace", "sp-report", "tests/e2e/all")
# Judges that are not in its root, and tests that compile: no compiler is there.
LEFT_OUT = "judges|identical|builds|mpi|languages|hostile|archive|sudo|unwind"


def build(project, root):
    into = project / "build-aarch64"
    if not shutil.which(f"{TRIPLET}-gcc"):
        raise Missing(f"{TRIPLET}-gcc is missing; install the package gcc-{TRIPLET}")
    commands = (["cmake", "-G", "Ninja", "-S", project, "-B", into, "-DSP_TESTS=ON",
                 f"-DCMAKE_TOOLCHAIN_FILE={project}/tests/vm/aarch64.cmake", f"-DSP_SYSROOT={root}",
                 "-DPython3_EXECUTABLE=/usr/bin/python3"],
                ["cmake", "--build", into, "--target", *TARGETS])
    for command in commands:
        done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            said = "\n".join(done.stdout.splitlines()[-20:])
            raise Error(f"the cross build in {into} failed:\n{said}")
    return into


def machine(store, project, chosen, command):
    if platform.machine() not in ("x86_64", "aarch64"):
        raise Missing(f"there is no cross compiler for aarch64 on {platform.machine()}")
    kernel = packages.kernel(store, KERNEL, "arm64")
    root = sysroot.sysroot(store, RELEASE, "arm64", TRIPLET)
    chosen.build = build(project, root)
    text = command(chosen, {"SP_SCOPE_PROFILER_PYTHON": "/usr/bin/python3", "PATH": "/usr/sbin:/usr/bin"},
                   f"^e2e/({LEFT_OUT})", "this root has neither a compiler nor other tools")
    return Machine("Linux of arm64", "arm64", kernel, text, chosen.timeout, pathlib.Path(root) / "usr/bin/busybox",
                   root, project)
