#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Builds home/ (x86-64's page that tells a process from its forked children) and runs it.

With both assemblers' dialects, sanitizers that watch memory and threads, what compilers put at the
start of functions, the large code model with more data than 32 bits reach over, and in valgrind.

Usage: home.py SOURCE_ROOT WORK_DIR
"""

import os
import platform
import shutil
import subprocess
import sys

ROOT, WORK = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
COMMON = ["-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{ROOT}",
          os.path.join(ROOT, "tests/usdt/home/home.c")]
LARGE = "-mcmodel=large -fno-pie -no-pie -DLARGE"

VARIANTS = [  # compiler, flags, runs
    ("gcc", "-O0", 20),
    ("gcc", "-O2", 20),
    ("clang", "-O2 -masm=intel", 20),
    ("gcc", "-O2 -masm=intel -fcf-protection=full", 1),
    ("gcc", "-O1 -pg -fpatchable-function-entry=4,2", 1),
    ("gcc", "-O2 -finstrument-functions -mgeneral-regs-only", 1),
    ("gcc", "-O2 -fsanitize=thread", 3),
    ("clang", "-O0 -fsanitize=thread", 3),
    ("clang", "-O1 -fsanitize=memory", 3),
    ("gcc", "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all", 3),
    ("clang", "-O2 -fsanitize=address,undefined -fno-sanitize-recover=all", 3),
    ("gcc", f"-O2 {LARGE} -fuse-ld=bfd", 1),
    ("gcc", f"-O0 {LARGE} -fuse-ld=gold", 1),
    ("clang", f"-O2 {LARGE} -fuse-ld=lld", 1),
]


def run(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=WORK)
    except subprocess.TimeoutExpired:
        return f"{' '.join(command)}: did not end in 100 s"
    if done.returncode:
        return f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr[-3000:]}"
    return None


def main():
    if platform.machine() != "x86_64":
        print("only x86-64 has such a page")
        return 77
    missing = [t for t in ("gcc", "clang", "ld.gold", "ld.lld", "valgrind") if not shutil.which(t)]
    if missing:
        print(f"cannot run without {', '.join(missing)}")
        return 1 if os.environ.get("CI") == "true" else 77
    os.makedirs(WORK, exist_ok=True)
    failed = 0
    app = os.path.join(WORK, "home")
    for compiler, flags, runs in VARIANTS:
        error = run([compiler, *COMMON, *flags.split(), "-o", app])
        for _ in range(runs):
            error = error or run([app])
        if not error and flags == "-O0":
            error = run(["valgrind", "-q", "--error-exitcode=3", app, "valgrind"])
        if error:
            failed += 1
            print(f"FAILED {compiler} {flags}\n{error}\n")
    print(f"{len(VARIANTS)} variants, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
