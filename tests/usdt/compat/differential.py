#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""differential.py - the same calls to scope-profiler's native libraries and to ours, answers compared.

    differential.py USDT_DIR C|Fortran

Builds the interpreter beside this file with the installed package's sources and with ours, runs
random scripts through both (SP_TEST_SEEDS of them), and fails on the first line of answers that
differs; also if ours leaves a file. The package is that of the Python named by
SP_SCOPE_PROFILER_PYTHON; skips with 77 without it, unless CI=true, when that is a failure.

Where the two differ on purpose, the scripts do not go, and api.c and fortran.f90 test ours:
durations; more than 64 open calls of a region; the innermost open call after ends out of order
(scope-profiler looks at how many are open, not which); scopes kept over a reset.
"""
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ["solve", "io", "a", "fib_call", "''", "x/y:z", "%s%n", "B" * 200, "\u00e9t\u00e9"]
HANDLES = [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1 << 30, -(1 << 31)]


def package():
    """The package's directory, or None."""
    python = os.environ.get("SP_SCOPE_PROFILER_PYTHON")
    if not python:
        return None
    out = subprocess.run([python, "-c", "import scope_profiler; print(scope_profiler.__path__[0])"],
                         capture_output=True, text=True)
    return out.stdout.strip() if out.returncode == 0 else None


def run(command, **how):
    done = subprocess.run(command, capture_output=True, **how)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed with {done.returncode}:\n"
                 f"{done.stderr.decode(errors='replace')}")
    return done.stdout


def c_script(rng, ordered):
    """One script. Ordered: ends come in order, so that endlast is defined; else any order without it."""
    lines, open_calls, scopes = [], {p: [] for p in range(4)}, {}

    def say(op, p=0, a=0, b=0, text="-", file="-"):
        lines.append(f"{op} {p} {a} {b} {text} {file}")

    def forget(p):
        open_calls[p] = []
        for b in [b for b, q in scopes.items() if q == p]:
            del scopes[b]

    for _ in range(rng.randrange(20, 300)):
        p = rng.choice([0, 0, 0, 1, 2])
        mine = open_calls[p]
        op = rng.choices(["new", "drop", "region", "place", "begin", "end", "endlast", "scope", "leave",
                          "reset", "finalize", "query"],
                         [1, .3, 8, 4, 30, 28, 8 * ordered, 12, 12, 3, .5, 10])[0]
        handle = rng.choice(HANDLES) if rng.random() < .1 else rng.randrange(5)
        if op in ("new", "drop"):
            if op == "drop" and p == 0:
                continue
            forget(p)
            say(op, p, text=rng.choice(["profile", "-"]) if p else "profile")
            for name in NAMES[:5] if op == "new" else []:
                say("region", p, text=name)
        elif op in ("region", "place"):
            if op == "region" and rng.random() < .1:
                op = rng.choice(["here", "noname"])
            say(op, p, rng.randrange(-2, 500), text=rng.choice(NAMES),
                file=rng.choice(["-", "solver.c", "other.c"]))
        elif op == "begin":
            if mine.count(handle) < 60:
                mine.append(handle)
                say(op, p, handle)
        elif op == "scope":
            if mine.count(handle) < 60:
                b = rng.randrange(64)
                mine.append(handle)
                scopes[b] = p
                say(op, p, handle, b)
        elif op == "end":
            # Out of order, or, if ordered, only the last or one that is not open at all.
            if ordered and handle in mine:
                handle = mine[-1]
            say(op, p, handle)
            if handle in mine:
                del mine[len(mine) - 1 - mine[::-1].index(handle)]
        elif op == "endlast":
            # A begin that was refused (no such region) is in the list but was never open.
            if all(0 <= h < 5 for h in mine):
                say(op, p)
                del mine[-1:]
        elif op == "leave" and scopes:
            b = rng.choice(list(scopes))
            if ordered:
                continue
            say(op, scopes[b], b=b)
        elif op == "reset":
            for b in [b for b, q in scopes.items() if q == p]:
                del scopes[b]
            say(op, p)
        elif op == "finalize":
            say(op, p)
            forget(p)
        elif op == "query":
            op = rng.choice(["stats", "name", "flush", "format", "path", "noscope", "sample", "unsample",
                             "stats", "name"])
            values = {"format": [0, 1, 1, 7], "sample": [0, -1, 2000000]}.get(op, HANDLES)
            say(op, p, rng.choice(values), 3)
    return "\n".join(lines) + "\n"


def ordered_scopes(rng):
    """Scopes and ends by handle mixed, in order but for refused attempts, with endlast."""
    lines, stack = ["new 0 0 0 profile -"], []
    lines += [f"region 0 0 0 {name} -" for name in "abc"]
    for _ in range(200):
        if rng.random() < .5 or not stack:
            region, b = rng.randrange(3), len(stack)
            if b < 60:
                kind = rng.choice(["begin", "scope"])
                lines.append(f"{kind} 0 {region} {b} - -")
                stack.append((region, b, kind))
        else:
            region, b, kind = stack[-1]
            # An outer scope of the same region is refused while this one is open.
            outer = [c for r, c, k in stack[:-1] if r == region and k == "scope"]
            if outer and rng.random() < .5:
                lines.append(f"leave 0 0 {rng.choice(outer)} - -")
            how = rng.choice(["end", "endlast"] + ["leave"] * (kind == "scope"))
            lines.append(f"{how} 0 {region} {b} - -")
            if how != "leave" and kind == "scope":
                lines.append(f"leave 0 {region} {b} - -")
            stack.pop()
    return "\n".join(lines) + "\n"


def fortran_script(rng):
    names = ["solve", "io", "x y", "it's", 'say "hi"', "n" * 128, "n" * 128 + "tail", "n" * 127, " lead"]
    lines = []

    def say(op, handle=0, number=0, text="-", file=" "):
        quoted = '"' + text.replace('"', '""') + '"'
        lines.append(f'"{op}", {handle}, {number}, {quoted}, "{file}"')

    depth = {}
    for _ in range(rng.randrange(20, 300)):
        op = rng.choices(["init", "rank", "longprefix", "region", "place", "file", "begin", "quietbegin", "end",
                          "statend", "beginname", "endname", "reset", "flush", "finalize", "stats"],
                         [.6, .3, .3, 6, 3, 2, 25, 3, 25, 3, 6, 6, 3, 1, .4, 6])[0]
        handle = rng.choice(HANDLES) if rng.random() < .1 else rng.randrange(1, 6)
        depth[handle] = depth.get(handle, 0) + (op in ("begin", "quietbegin"))
        if op.endswith("begin") and depth[handle] > 40:
            continue
        say(op, handle, rng.choice([-1, 0, 5, 200, 513]),
            rng.choice(["", "p"]) if op in ("init", "rank") else rng.choice(names),
            rng.choice(["solver.f90", " "]))
    return "\n".join(lines) + "\n"


def build(language, package_dir, usdt, into):
    """Returns the two interpreters: theirs and ours."""
    cc, fc = os.environ.get("CC", "cc"), os.environ.get("FC", "gfortran")
    theirs, ours = f"{into}/theirs", f"{into}/ours"
    if language == "C":
        source = f"{HERE}/script.c"
        hdf5 = subprocess.run(["pkg-config", "--cflags", "--libs", "hdf5"], capture_output=True, text=True)
        # With HDF5 it knows both output formats, as ours does.
        run([cc, "-O1", "-DSP_USE_HDF5", f"-I{package_dir}/c", source, f"{package_dir}/c/scope_profiler.c",
             "-o", theirs] + hdf5.stdout.split())
        run([cc, "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{usdt}", source,
             f"{usdt}/scope_profiler.c", "-o", ours])
        return theirs, ours
    source = f"{HERE}/script.f90"
    for name in ("t", "o"):
        os.mkdir(f"{into}/{name}")
    run([fc, "-O1", "-J", f"{into}/t", f"{package_dir}/fortran/scope_profiler.f90", source, "-o", theirs])
    run([cc, "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-c",
         f"{usdt}/scope_profiler.c", "-o", f"{into}/o/c.o"])
    run([fc, "-O1", "-g", "-fcheck=all", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
         "-J", f"{into}/o", f"{usdt}/scope_profiler.f90", source, f"{into}/o/c.o", "-o", ours])
    return theirs, ours


def answers(program, script, folder):
    os.mkdir(folder)
    out = run([program], input=script.encode(), cwd=folder, timeout=60)
    return out.decode(errors="replace").splitlines(), os.listdir(folder)


def compare(seed, script, theirs, ours, into):
    expected, _ = answers(theirs, script, f"{into}/{seed}-theirs")
    got, left = answers(ours, script, f"{into}/{seed}-ours")
    if left:
        sys.exit(f"seed {seed}: ours left files behind: {left}")
    if expected == got:
        return len(got)
    lines = script.splitlines()
    offset = len(expected) - len(lines)
    for i, (a, b) in enumerate(zip(expected, got)):
        if a != b:
            context = "\n".join(lines[max(0, i - 40):i - offset + 2])
            sys.exit(f"seed {seed}: answer {i} differs\n scope-profiler: {a}\n ours:           {b}\nafter\n{context}")
    sys.exit(f"seed {seed}: {len(expected)} answers of scope-profiler, {len(got)} of ours")


def main():
    usdt, language = os.path.abspath(sys.argv[1]), sys.argv[2]
    package_dir = package()
    if not package_dir:
        print("no scope-profiler: set SP_SCOPE_PROFILER_PYTHON to a Python that has it")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    seeds = int(os.environ.get("SP_TEST_SEEDS", "60"))
    with tempfile.TemporaryDirectory() as into:
        theirs, ours = build(language, package_dir, usdt, into)
        total = 0
        for seed in range(seeds):
            rng = random.Random(seed)
            if language == "Fortran":
                script = fortran_script(rng)
            elif seed % 3 == 2:
                script = ordered_scopes(rng)
            else:
                script = c_script(rng, seed % 3)
            total += compare(seed, script, theirs, ours, into)
    if total < 20 * seeds:
        sys.exit(f"only {total} answers compared: the scripts are broken")
    print(f"{total} answers of {seeds} scripts agree")


if __name__ == "__main__":
    main()
