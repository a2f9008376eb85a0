# SPDX-License-Identifier: BSD-2-Clause
"""Programs that real compilers build, and what LOOK_UP, which prints as `addr2line -afi` does, says of them.

Each test that uses it is called as TEST LOOK_UP PROGRAMS WORK [TEST…]. Tools that are missing skip their tests.
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import unittest

LOOK_UP, PROGRAMS, WORK = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
COMPILERS = {"gcc": "g++", "clang": "clang++"}


def run(*args, timeout=60, **how):
    """Text of a program that must succeed."""
    done = subprocess.run([str(a) for a in args], capture_output=True, timeout=timeout, **how)
    if done.returncode:
        raise AssertionError(f"{args}: {done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout.decode(errors="replace")


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            assert os.environ.get("CI") != "true", f"{tool} is missing, and CI=true"
            raise unittest.SkipTest(f"{tool} is not installed")


def build(folder, compiler, *options, link=()):
    """Compiles the program in @folder, with paths that do not depend on it."""
    need(compiler, COMPILERS[compiler])
    folder.mkdir(parents=True, exist_ok=True)
    for source in ("weigh.c", "shapes.cpp", "main.cpp"):
        by = compiler if source.endswith(".c") else COMPILERS[compiler]
        run(by, "-g", "-O2", *options, f"-I{PROGRAMS}", "-c", PROGRAMS / source, "-o", source + ".o",
            cwd=folder)
    run(COMPILERS[compiler], "-Wl,--build-id", *options, *link, "shapes.cpp.o", "main.cpp.o", "weigh.c.o",
        "-o", "prog", cwd=folder)
    return folder / "prog"


def addresses(program):
    """Of all instructions."""
    text = run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", program)
    return ["0x" + a for a in re.findall(r"^ +([0-9a-f]+):", text, re.M)]


def compressed_sections(program):
    """{name: (offset, size)} of a file of 64 bits."""
    content = program.read_bytes()
    table, = struct.unpack_from("<Q", content, 40)
    count, names = struct.unpack_from("<HH", content, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", content, table + 64 * i) for i in range(count)]
    found = {}
    for name, _, flags, _, offset, size, *_ in headers:
        if flags & 0x800:
            start = headers[names][4] + name
            found[content[start:content.index(b"\0", start)].decode()] = offset, size
    return found


def build_id(program):
    return re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", program)).group(1)


class Known:
    """What the program under test says: chains by address, and the sentence on the file."""

    def __init__(self, program, wanted, *options, env=None, preexec_fn=None):
        done = subprocess.run([str(a) for a in (LOOK_UP, *options, program)], timeout=60, text=True,
                              input="\n".join(wanted) + "\n", capture_output=True,
                              preexec_fn=preexec_fn,
                              env={**{k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"},
                                   **(env or {})})
        assert done.returncode == 0, done.stderr
        self.chains = chains_of(done.stdout)
        self.said = done.stderr.strip()
        assert len(self.chains) == len(wanted), (len(self.chains), len(wanted), self.said)


def chains_of(text):
    """[[(function, "file:line"), …], …] out of what addr2line and its like print."""
    chains = []
    lines = iter(text.splitlines())
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]+", line):
            chains.append([])
        elif line:
            chains[-1].append((line, re.sub(r" \(discriminator \d+\)", "", next(lines))))
    return chains


def where(place):
    """A place without what tools disagree on: ways to write a path, "?" or 0, names of files that come
    from the symbol table."""
    file, _, line = place.rpartition(":")
    return (os.path.normpath(file), line.replace("?", "0")) if "/" in file else ("??", "0")


def plain(function):
    return re.sub(r"\.(cold|part|isra|constprop|lto_priv)(\.\d+)*", "",
                  function.replace("C1E", "C2E").replace("D1E", "D2E"))


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    result = unittest.main("__main__", argv=[sys.argv[0], *sys.argv[4:]], exit=False).result
    # What was not tried is told, by CTest.
    sys.exit(1 if not result.wasSuccessful() else 77 if result.skipped else 0)
