# SPDX-License-Identifier: BSD-2-Clause
"""sp-report recover on prefixes of journals: at every byte of a small one, at random ones of a large one.

What must be in the files is counted by journal.py from the whole blocks of each prefix. Run by root, the
command runs as nobody: it must never need a privilege. SP_TEST_FULL=1 cuts the schema at every byte, too,
and looks into all files.
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(__file__), "../lib"))
import journal
from checks import check, end, told

NOBODY = 65534
FULL = os.environ.get("SP_TEST_FULL") == "1"


def run(program, *args, cwd):
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    return subprocess.run([program, *args], cwd=cwd, capture_output=True, timeout=60, **who)


def count(blocks):
    """Calls and samples; a call that was open, and later ended after all, is one."""
    calls, samples = set(), 0
    for _, _, _, events in blocks:
        for event in events:
            if event["event"] == "call":
                calls.add((event["lane"], event["number"]))
            samples += event["event"] == "sample"
    return len(calls), samples


def state(path):
    st = os.stat(path)
    with open(path, "rb") as f:
        return st.st_ino, st.st_mtime_ns, f.read()


class Prefixes:
    def __init__(self, program, work, data):
        self.program, self.work, self.data = program, work, data
        self.schema, self.blocks = journal.read(data)
        assert self.schema and self.blocks[-1][1] == len(data)
        self.ends = {end + d for _, end, _, _ in self.blocks for d in (-1, 0, 1)}

    def recover(self, cut):
        """Everything that is seen of one cut, in a directory of its own."""
        into = tempfile.mkdtemp(dir=self.work)
        os.chmod(into, 0o777)
        path = os.path.join(into, "journal.spj")
        with open(path, "wb") as f:
            f.write(self.data[:cut])
        os.chmod(path, 0o444)
        before = state(path)
        done = run(self.program, "recover", "--no-sync", "journal.spj", "-o", "out", cwd=into)
        kept = os.path.exists(path)
        same = kept and state(path) == before
        files = [os.path.join(base, name) for base, _, names in os.walk(into + "/out") for name in names]
        seen = None
        if done.returncode == 0 and (FULL or cut % 4 == 0 or cut in self.ends):
            told = run(self.program, "info", "--json", *[f for f in files if f.endswith(".h5")], cwd=into)
            seen = (told.returncode, told.stdout, told.stderr)
        shutil.rmtree(into)
        return cut, done.returncode, done.stderr.decode(), kept, same, files, seen

    def judge(self, result):
        cut, status, said, kept, same, files, seen = result
        whole = [block for block in self.blocks if block[1] <= cut]
        name = f"cut at {cut} of {len(self.data)}"
        complete = cut == len(self.data)
        check(status in (0, 1), f"{name}: status {status}: {said}")
        check(kept != complete and (complete or same), f"{name}: the journal was touched")
        if not whole:
            text = "is empty" if not cut else "ends inside its schema"
            check(status == 1 and text in said and not files, f"{name}: {status} {said} {files}")
            return
        check(status == 0 and files, f"{name}: {status} {said}")
        if status:
            return
        good = whole[-1][1]
        if complete:
            check("died" not in said and "kept" not in said, f"{name}: {said}")
        else:
            check("the recorder died" in said, f"{name}: does not say that it died: {said}")
            check(f"kept: {good:,} of {cut:,} bytes, {len(whole)} whole block" in said, f"{name}: {said}")
            check(("the last block is cut off" in said) == (good != cut), f"{name}: {said}")
            check("journal.spj is kept" in said, f"{name}: {said}")
        told = re.search(r"^sp-report: ([\d,]+) calls?, ([\d,]+) samples? \(", said, re.MULTILINE)
        told = tuple(int(number.replace(",", "")) for number in told.groups()) if told else said
        check(told == count(whole), f"{name}: {told} calls and samples, not {count(whole)}")
        if not seen:
            return
        check(seen[0] == 0, f"{name}: info failed: {seen[2]}")
        recordings = json.loads(seen[1])["recordings"]
        found = tuple(sum(r[what] for r in recordings) for what in ("calls", "samples"))
        check(found == count(whole), f"{name}: {found} calls and samples in the files, not {count(whole)}")

    def test(self, cuts):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for result in pool.map(self.recover, cuts):
                self.judge(result)


def test_overwriting(program, work, data):
    """Files that are there stay, unless --force."""
    into = tempfile.mkdtemp(dir=work)
    os.chmod(into, 0o777)
    with open(into + "/journal.spj", "wb") as f:
        f.write(data[:-1])
    first = run(program, "recover", "journal.spj", "--no-sync", cwd=into)
    check(first.returncode == 0, f"recover: {first.stderr}")
    before = {name: state(os.path.join(into, name)) for name in os.listdir(into)}
    second = run(program, "recover", "journal.spj", "--no-sync", cwd=into)
    check(second.returncode == 1 and b"--force" in second.stderr, f"files were replaced: {second.stderr}")
    check({name: state(os.path.join(into, name)) for name in os.listdir(into)} == before, "files changed")
    third = run(program, "recover", "journal.spj", "--no-sync", "--force", cwd=into)
    check(third.returncode == 0, f"recover --force: {third.stderr}")
    check(sorted(os.listdir(into)) == sorted(before), "other files than before")
    shutil.rmtree(into)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", required=True)
    parser.add_argument("--maker", required=True)
    options = parser.parse_args()
    # Somewhere that nobody can reach, with a copy of the program.
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        program = shutil.copy(options.report, work)
        path = os.path.join(work, "made.spj")
        subprocess.run([options.maker, path, "big", "24", "6"], check=True)
        small = Prefixes(program, work, open(path, "rb").read())
        first = small.blocks[0][1]
        small.test(cut for cut in range(len(small.data) + 1) if FULL or cut % 8 < 2 or cut >= first - 40)
        print(f"{len(small.data)} bytes, {len(small.blocks)} blocks: {told()}")
        test_overwriting(program, work, small.data)
        subprocess.run([options.maker, path, "big", "20000", "2000"], check=True)
        large = Prefixes(program, work, open(path, "rb").read())
        seed = random.randrange(1 << 32)
        print(f"{len(large.data)} bytes, {len(large.blocks)} blocks, seed {seed}")
        rng = random.Random(seed)
        large.test(rng.randrange(len(large.data)) for _ in range(300))
    return end()


if __name__ == "__main__":
    sys.exit(main())
