# SPDX-License-Identifier: BSD-2-Clause
"""10 million calls and 100,000 samples are converted in less than 64 MiB.

The peak is what the kernel says of the command itself. The number of calls in the file is read back,
so that a conversion that drops them to save memory does not pass.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time

CALLS = 10_000_000
SAMPLES = 100_000
LIMIT = 64 << 20


def peak_of(argv):
    """Runs a command: its peak resident bytes and its CPU seconds."""
    pid = os.posix_spawn(argv[0], argv, os.environ)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{argv[:2]} failed with status {status}")
    return usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", required=True)
    parser.add_argument("--maker", required=True)
    parser.add_argument("--work", required=True)
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    if shutil.disk_usage(options.work).free < 4 << 30:
        print("skipped: less than 4 GiB of disk are free")
        return 77
    try:
        journal = os.path.join(options.work, "journal.spj")
        out = os.path.join(options.work, "out")
        subprocess.run([options.maker, journal, "big", str(CALLS), str(SAMPLES)], check=True)
        began = time.monotonic()
        peak, cpu = peak_of([options.report, "recover", "-q", "--no-sync", "-o", out, journal])
        wall = time.monotonic() - began
        info = json.loads(subprocess.run([options.report, "info", "--json", out], check=True,
                                         capture_output=True).stdout)
        recording = info["recordings"][0]
        print(f"peak {peak / 2**20:.1f} MiB, {CALLS / cpu / 1e6:.2f} million calls a CPU second,"
              f" {CALLS / wall / 1e6:.2f} million a second")
        problems = []
        if peak >= LIMIT:
            problems.append(f"the peak is {peak} bytes, not below {LIMIT}")
        if recording["calls"] != CALLS or recording["samples"] != SAMPLES:
            problems.append(f"the files have {recording['calls']} calls and"
                            f" {recording['samples']} samples")
        if os.path.exists(journal):
            problems.append("the journal is still there")
        for problem in problems:
            print(problem)
        return 1 if problems else 0
    finally:
        shutil.rmtree(options.work, ignore_errors=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
