# SPDX-License-Identifier: BSD-2-Clause
"""elf_mutate_test.py - builds programs of several kinds and damages them in thousands of ways
(elf_mutate_test.c). SP_TEST_FULL=1 does fifty times as many."""
import argparse
import os
import subprocess
import sys

import programs

parser = argparse.ArgumentParser()
for option in ("test", "include", "work"):
    parser.add_argument("--" + option, required=True)
args = parser.parse_args()
if not programs.have("gcc"):
    print("gcc is missing")
    sys.exit(77)
rounds = 100000 if os.environ.get("SP_TEST_FULL") == "1" else 2000
built = [programs.build(args.work, args.include, name) for name in ("pie", "lld-nopie", "aarch64")]
# A file that a sanitizer finds fault with is left in the work directory by its seed: it can be made again.
sys.exit(subprocess.run([args.test, str(rounds)] + [b for b in built if b]).returncode)
