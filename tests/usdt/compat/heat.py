#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""heat.py - the example solvers give one result, whatever the threads and the language.

    heat.py HEAT [HEAT_FORTRAN]
"""
import re
import sys
import tempfile

from builds import run


def result(command):
    with tempfile.TemporaryDirectory() as into:
        # The two languages print the same numbers in their own case.
        return run(command, cwd=into).stdout.lower()


def main():
    heat = sys.argv[1]
    expected = result([heat, "-n", "150", "-s", "300", "-t", "1"])
    if not re.search(r"^150 x 150 cells, 300 steps: residual \d\.\d{6}e-\d\d, checksum [0-9a-f]{16}\n$", expected):
        sys.exit(f"the solver prints {expected!r}")
    for threads in ("2", "3", "7", "150", "1000"):
        got = result([heat, "-n", "150", "-s", "300", "-t", threads])
        if got != expected:
            sys.exit(f"one thread: {expected}{threads} threads: {got}")
    if result([heat, "-n", "150", "-s", "301"]).split()[-1] == expected.split()[-1]:
        sys.exit("the checksum does not depend on the result")
    for bad in (["-n", "0"], ["-n", "x"], ["-s", "-1"], ["-t", "99999"], ["extra"], ["-q"]):
        if "heat" not in run([heat, *bad], status=2).stderr:
            sys.exit(f"no message for {bad}")
    for fortran in sys.argv[2:]:
        got = result([fortran, "150", "300"])
        if got != expected:
            sys.exit(f"C: {expected}Fortran: {got}")
        if "is not a number" not in run([fortran, "none"], status=2).stderr:
            sys.exit("no message for a bad argument")


if __name__ == "__main__":
    main()
