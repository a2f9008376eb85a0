#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Builds levels/ with several compilers and sanitizers, also for aarch64, and runs it.

Usage: levels.py SOURCE_ROOT WORK_DIR
"""

import concurrent.futures
import os
import shutil
import subprocess
import sys

ROOT, WORK = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
HERE = os.path.join(ROOT, "tests/usdt/levels")
COMMON = ["-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{ROOT}"]
QEMU = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]

# (compiler, flags, how to run, arguments of `levels`)
VARIANTS = [
    ("gcc", "-O0", [], []),
    ("gcc", "-O2 -fPIC", [], []),
    ("gcc", "-O3 -static", [], []),
    ("clang", "-O0 -fPIC", [], []),
    ("clang", "-O2 -fuse-ld=lld", [], []),
    ("gcc", "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all", [], []),
    ("clang", "-O2 -fsanitize=address,undefined -fno-sanitize-recover=all", [], []),
    ("gcc", "-O2 -fsanitize=thread", [], ["calm"]),
    ("aarch64-linux-gnu-gcc", "-O2 -fPIC", QEMU, []),
    ("aarch64-linux-gnu-gcc", "-O0 -static", QEMU, []),
    ("clang --target=aarch64-linux-gnu", "-O2", QEMU, []),
]


def attempt(number, variant):
    compiler, flags, start, arguments = variant
    for program in ("levels", "intern"):
        output = os.path.join(WORK, f"{program}{number}")
        sources = [os.path.join(HERE, f) for f in (program + ".c", "far.c", "stub.c")]
        for command in ([*compiler.split(), *COMMON, *flags.split(), *sources, "-o", output],
                        [*start, output, *(arguments if program == "levels" else [])]):
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=200)
            except subprocess.TimeoutExpired:
                return f"{' '.join(command)}: did not end in 200 s"
            if done.returncode:
                return (f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout[-1000:]}"
                        f"{done.stderr[-3000:]}")
    return None


def main():
    os.makedirs(WORK, exist_ok=True)
    variants = [v for v in VARIANTS if shutil.which(v[0].split()[0]) and
                (not v[2] or shutil.which(v[2][0]) and os.path.isdir(v[2][2]))]
    if len(variants) < len(VARIANTS):
        print("cannot run all variants: gcc, clang, aarch64-linux-gnu-gcc or qemu-aarch64 missing")
        if os.environ.get("CI") == "true" or not variants:
            return 1
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for variant, error in zip(variants, pool.map(attempt, range(len(variants)), variants)):
            if error:
                failed += 1
                print(f"FAILED {variant[0]} {variant[1]}\n{error}\n")
    print(f"{len(variants)} variants, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
