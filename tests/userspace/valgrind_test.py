# SPDX-License-Identifier: BSD-2-Clause
"""valgrind_test.py - every command of sp-report under valgrind: no bad access, no use of what was never
set, no memory lost for good. On small recordings of each format, whole and damaged.

	valgrind_test.py SP-REPORT MAKE-JOURNAL GOLDEN WORK [COMMAND...]

A choice of runs, or all with SP_TEST_FULL=1; of the COMMANDs alone where some are named."""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import time

REPORT, MAKER, GOLDEN, WORK = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
FULL = os.environ.get("SP_TEST_FULL") == "1"
FOUND = 99  # what valgrind ends with when it has found something
VALGRIND = ["valgrind", "-q", f"--error-exitcode={FOUND}", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite", "--trace-children=yes", "--child-silent-after-fork=no"]

if not shutil.which("valgrind"):
    if os.environ.get("CI") == "true":
        sys.exit("valgrind is missing, and CI=true")
    print("valgrind is missing")
    sys.exit(77)


def good(*command):
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def prepare():
    """Recordings of each format, made without valgrind."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    for kind in ("demo", "died", "stacks", "cuts"):
        good(MAKER, WORK / f"{kind}.spj", kind)
    for kind in ("demo", "stacks"):
        into = WORK / kind
        into.mkdir()
        shutil.copy(WORK / f"{kind}.spj", into / "journal.spj")  # recover removes it
        good(REPORT, "recover", "-o", into, "--formats", "h5,sps,spt", into / "journal.spj")


def first(kind, ending):
    return sorted((WORK / kind).rglob(f"*{ending}"))[0]


# (the right status or None for any of 0 to 3; by default or in full; arguments); OUT is a fresh path.
def runs():
    h5, sps, spt = first("demo", ".h5"), first("demo", ".sps"), first("demo", ".spt")
    stacks = first("stacks", ".h5")
    json = WORK / "demo.json"
    good(REPORT, "export", "json", h5, "-o", json)
    yield 0, True, ["info", h5]
    yield 0, True, ["summary", h5]
    yield 0, True, ["lines", "--no-debuginfod", stacks]
    yield 0, True, ["tree", "--no-debuginfod", stacks]
    yield 3, True, ["verify", h5, WORK / "demo.spj"]
    yield 0, True, ["dump", WORK / "cuts.spj"]
    yield 0, True, ["import", WORK / "demo", "-o", "OUT"]
    yield 0, True, ["recover", "--keep-journal", "-o", "OUT/", "--formats", "h5,sps,spt", WORK / "died.spj"]
    yield 0, True, ["summary", json]
    for form in ("json", "spt", "folded"):
        yield 0, True, ["export", form, stacks if form == "folded" else h5, "-o", "OUT"]
    for bad in sorted((GOLDEN / "bad").glob("*.expected"))[:: 1 if FULL else 40]:
        yield None, True, ["info", bad.with_suffix("")]
    for form in ("h5", "csv", "sps", "prv", "flamegraph", "chrome", "speedscope"):
        yield None, False, ["export", form, stacks if form == "flamegraph" else h5, "-o", "OUT"]
    for command in ("info", "summary", "dump", "verify"):
        for file in (h5, sps, spt, json, stacks, WORK / "demo.spj", WORK / "died.spj"):
            yield None, False, [command, file]
            yield None, False, [command, "--json", file]
    for file in (stacks, WORK / "stacks.spj", WORK / "stacks"):
        yield None, False, ["lines", "--no-debuginfod", file]
        yield None, False, ["tree", "--no-debuginfod", file]
    for golden in sorted(GOLDEN.glob("*.dump")):
        yield None, False, ["dump", golden.with_suffix("")]
    for word in ([], ["--help"], ["--version"], ["summary", "--help"], ["nonsense"], ["info", WORK / "missing"]):
        yield None, False, word


def run(number, expected, arguments):
    out = WORK / f"out{number}"
    if any(a == "OUT/" for a in arguments):
        out.mkdir()
    command = [str(out) if str(a).rstrip("/") == "OUT" else str(a) for a in arguments]
    begin = time.monotonic()
    done = subprocess.run([*VALGRIND, REPORT, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, cwd=WORK)
    found = done.returncode == FOUND or "==" in done.stdout and "blocks are definitely lost" in done.stdout
    wrong = found or done.returncode not in ((0, 1, 2, 3) if expected is None else (expected,))
    print(f"{'FAILED' if wrong else 'ok'}: {' '.join(command)} (status {done.returncode}, "
          f"{time.monotonic() - begin:.1f} s)", flush=True)
    if wrong:
        print(done.stdout[-6000:])
    return wrong


prepare()
chosen = [r for r in runs() if (FULL or r[1]) and (not sys.argv[5:] or set(sys.argv[5:]) & set(map(str, r[2][:1])))]
with concurrent.futures.ThreadPoolExecutor(2 if FULL else os.cpu_count() or 1) as pool:
    bad = sum(pool.map(lambda r: run(r[0], r[1][0], r[1][2]), enumerate(chosen)))
print(f"{len(chosen)} commands, {bad} failed")
sys.exit(1 if bad else 0)
