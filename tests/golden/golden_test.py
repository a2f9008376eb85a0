#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Golden files are read as they always were, and golden bad files are refused with the sentence that stands
beside them.

usage: golden_test.py SP_REPORT [--update [NAME-PART]]

NAME.dump is what sp-report dump --limit 60 says of NAME; bad/NAME.expected is the exit status of sp-report verify and
what it says. --update writes them: look at the difference before it is committed. No other command may do
worse on a bad file than to refuse it in one line.
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
SUFFIXES = (".spt", ".sps", ".h5", ".json", ".gz", ".spj")
LOSSES = ("demo.spj", "h5py-schema-2.h5", "h5py-schema-3.h5", "ours-full.h5", "ours-schema-2.h5", "ours-stacks.h5")
failures = []


def run(report, *arguments, directory):
    # C.UTF-8, so that what is printed does not depend on who runs this.
    done = subprocess.run([report, *arguments], cwd=directory, capture_output=True, timeout=120,
                          env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "HDF5_PLUGIN_PATH": "/nonexistent"})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def fail(name, *what):
    failures.append(name)
    print(f"{name}:", *what, file=sys.stderr)


def expect(name, path, got, update):
    if update:
        path.write_text(got)
        return
    expected = path.read_text() if path.exists() else f"({path.name} is missing: golden_test.py --update)\n"
    if got != expected:
        line = next((i for i, (a, b) in enumerate(zip(got.splitlines(), expected.splitlines())) if a != b), None)
        if line is None:
            fail(name, f"{len(got.splitlines())} lines instead of {len(expected.splitlines())}")
        else:
            fail(name, f"line {line + 1}\n  is       {got.splitlines()[line][:300]}\n  not      {expected.splitlines()[line][:300]}")


def good(report, path, update):
    code, out, err = run(report, "dump", "--limit", "60", path.name, directory=HERE)
    if code:
        fail(path.name, f"dump exits with {code}: {err}")
    expect(path.name, HERE / (path.name + ".dump"), out or err, update)
    if code:
        return
    for command in ("verify", "info"):
        code, out, err = run(report, command, path.name, directory=HERE)
        wanted = 0
        if command == "verify":
            # What a recorder that died left is for recover; where events were lost, the rest is sound.
            wanted = 1 if path.name == "died.spj" else 3 if path.name in LOSSES else 0
        if code != wanted:
            fail(path.name, f"{command} exits with {code}: {out}{err}")
    for command in ("dump", "info"):
        code, out, err = run(report, command, "--json", path.name, directory=HERE)
        try:
            json.loads(out)
        except ValueError as error:
            fail(path.name, f"{command} --json is no JSON: {error}")


def bad(report, path, update):
    code, out, err = run(report, "verify", path.name, directory=path.parent)
    if code != 1:
        fail(path.name, f"verify exits with {code}")
    expect(path.name, path.with_name(path.name + ".expected"), f"exit {code}\n{out}{err}", update)
    for command in ("info", "dump"):
        code, out, err = run(report, command, path.name, directory=path.parent)
        # Some damage is not where these look.
        if code not in (0, 1) or (code == 1 and not err.strip()) or (command == "info" and len(err.splitlines()) > 3):
            fail(path.name, f"{command} exits with {code}: {err}")


def main():
    report, update = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:3] == ["--update"]
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    for check, directory in ((good, HERE), (bad, HERE / "bad")):
        files = [path for path in sorted(directory.iterdir()) if path.name.endswith(SUFFIXES) and part in path.name]
        for path in files:
            check(report, path, update)
        print(f"{directory.name}: {len(files)} files")
    return 1 if failures else 0


sys.exit(main())
