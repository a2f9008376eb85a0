# SPDX-License-Identifier: BSD-2-Clause
"""Checks that are counted: a test goes on behind one that failed, and says at its end how many did."""

SHOWN = 30
failures = []
count = 0


def check(condition, what):
    global count
    count += 1
    if not condition:
        failures.append(what)
        if len(failures) <= SHOWN:
            print("FAILED:", what)


def told():
    return f"{count} checks, {len(failures)} failed"


def end():
    """Says it; the exit status."""
    print(told())
    return 1 if failures or not count else 0
