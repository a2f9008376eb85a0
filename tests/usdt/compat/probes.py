#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""probes.py - what bpftrace sees of a program is what the program itself counts. As root.

    probes.py USDT_DIR c|cxx|fortran
    probes.py USDT_DIR heat PROGRAM [ARGUMENT...]

Runs a program under bpftrace, counting sp:begin and sp:end by name. The first form builds one that
prints 'count NAME|BEGUN|ENDED' for each region and compares; the second runs an example traced and
untraced, which must print the same, checksum included, and fire as many ends as begins.
Exits with 77 where probes cannot be used.
"""
import collections
import json
import os
import shutil
import sys
import tempfile

from builds import run

HERE = os.path.dirname(os.path.abspath(__file__))


def skip(why):
    print(why)
    sys.exit(77)


def trace(command, into):
    """Runs the command under bpftrace. Returns its output and both counts by name."""
    probe = f"usdt:{command[0]}:sp:"
    script = (f"{probe}begin {{ @begin[str(arg1)] = count(); }} {probe}end {{ @end[str(arg1)] = count(); }}")
    said = f"{into}/said"
    # bpftrace splits at blanks and knows no quotes, so the program's output goes the way of its stdout.
    done = run(["bpftrace", "-f", "json", "-o", said, "-e", script, "-c", " ".join(command)],
               env={**os.environ, "BPFTRACE_STRLEN": "128"}, cwd=into)
    counts = {"@begin": {}, "@end": {}}
    for line in open(said):
        record = json.loads(line)
        if record["type"] == "map":
            for name, values in record["data"].items():
                counts[name] = values
    return done.stdout, counts["@begin"], counts["@end"]


def build(language, usdt, into):
    program = f"{into}/program"
    build_c = ["cc", "-O2", "-g", f"-I{usdt}", "-pthread"]
    if language == "c":
        run([*build_c, f"{HERE}/counts.c", f"{usdt}/scope_profiler.c", "-o", program])
    elif language == "cxx":
        run(["c++", "-std=c++17", "-O2", "-g", f"-I{usdt}", "-pthread", "-DSP_HEADER_ONLY", "-x", "c++",
             f"{HERE}/counts.c", "-o", program])
    else:
        fc = os.environ.get("FC", "gfortran")
        if not shutil.which(fc):
            skip(f"no {fc}")
        run([*build_c, "-c", f"{usdt}/scope_profiler.c", "-o", f"{into}/c.o"])
        run([fc, "-O2", "-g", "-fopenmp", f"-I{usdt}", f"-J{into}", f"{usdt}/scope_profiler.f90",
             f"{HERE}/regions.F90", f"{into}/c.o", "-o", program])
    return [program] + (["3000"] if language == "fortran" else [])


def compare_counts(command, into):
    output, begun, ended = trace(command, into)
    wanted_begun, wanted_ended = collections.Counter(), collections.Counter()
    for line in output.splitlines():
        if line.startswith("count "):
            name, begins, ends = line[len("count "):].rsplit("|", 2)
            wanted_begun[name] += int(begins)
            wanted_ended[name] += int(ends)
    if len(wanted_begun) < 5:
        sys.exit(f"the program counted too little:\n{output}")
    for what, wanted, got in (("begins", wanted_begun, begun), ("ends", wanted_ended, ended)):
        if dict(wanted) != got:
            sys.exit(f"{what}: the program counts {dict(wanted)}, bpftrace {got}")
    print(f"{sum(begun.values())} begins and {sum(ended.values())} ends of {len(begun)} regions agree")


def compare_heat(command, into):
    plain = run(command, cwd=into).stdout
    traced, begun, ended = trace(command, into)
    # bpftrace adds empty lines of its own.
    if "checksum" not in plain or plain.split() != traced.split():
        sys.exit(f"untraced: {plain}traced:   {traced}")
    if begun != ended or not {"setup", "step", "stencil", "residual"} <= set(begun):
        sys.exit(f"begins {begun}, ends {ended}")
    print(f"{plain}{begun}")


def main():
    usdt, what = os.path.abspath(sys.argv[1]), sys.argv[2]
    if os.geteuid() != 0:
        skip("needs root")
    if not shutil.which("bpftrace"):
        skip("needs bpftrace")
    with tempfile.TemporaryDirectory() as into:
        if what == "heat":
            compare_heat(sys.argv[3:], into)
        else:
            compare_counts(build(what, usdt, into), into)


if __name__ == "__main__":
    main()
