#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Real tracers as judges of the probes, as root: bpftrace, perf, and bare uprobes of the kernel.

Usage: traced.py SOURCE_ROOT WORK_DIR count|redzone|levels|forks|perf

count    bpftrace counts begins and ends by name, in programs built in several ways, and the numbers
         are those the program itself prints; semaphores go up and down while it runs
redzone  a traced program's results are bit-identical to an untraced run's, with the probe on the
         1-byte nop (bpftrace) and on the 5-byte nop (a bare uprobe)
levels   regions thinned from outside, by uprobes on the pool of nops: fired + skipped = called
forks    children of every descent live, and their regions are counted, each at the place that is
         its process's own, also where the header's system calls are refused or left out
perf     `perf list`, `perf probe` and `perf record` see the probes
"""

import concurrent.futures
import ctypes
import json
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys

import elf
import matrix

ROOT, WORK = matrix.ROOT, matrix.WORK
HERE = os.path.join(ROOT, "tests/usdt/traced")


class Bpftrace:
    """A bpftrace that runs until stop(), which returns its maps."""

    def __init__(self, script):
        environment = dict(os.environ, BPFTRACE_STRLEN="150")
        self.process = subprocess.Popen(["bpftrace", "-f", "json", "-e", script], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=environment)

    def stop(self):
        out = None
        for patience in (10, 20, 60):  # seen once in a while: bpftrace 0.17 misses the signal
            self.process.send_signal(signal.SIGINT)
            try:
                out, errors = self.process.communicate(timeout=patience)
                break
            except subprocess.TimeoutExpired:
                print(f"bpftrace did not end in {patience} s", flush=True)
        assert out is not None, "bpftrace does not end"
        maps = {}
        for line in out.splitlines():
            # bpftrace 0.17 writes bytes beyond ASCII sign-extended.
            line = re.sub(r"(\\uffffff[0-9a-f]{2})+", lambda found: bytes.fromhex(
                found[0].replace("\\uffffff", "")).decode(), line)
            if line.startswith('{"type": "map"'):
                maps.update(json.loads(line)["data"])
        assert maps, f"bpftrace said nothing: {errors}"
        return maps

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Uprobe:
    """A bare uprobe at an address of a file, on every CPU: counts hits, raises a counter."""

    def __init__(self, file, address, counter):
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/sys/bus/event_source/devices/uprobe/type", encoding="ascii") as type_file:
            kind = int(type_file.read())
        path = ctypes.create_string_buffer(os.fsencode(file.path))
        attr = struct.pack("<IIQQQQQIIQQ", kind, 112, file.at(counter) << 32, 0, 0, 0, 0, 0, 0,
                           ctypes.addressof(path), file.at(address)).ljust(112, b"\0")
        self.events = []
        for cpu in range(os.cpu_count()):
            fd = libc.syscall(298, attr, -1, cpu, -1, 8)  # perf_event_open, close on exec
            assert fd >= 0, f"uprobe: {os.strerror(ctypes.get_errno())}"
            self.events.append(fd)

    def hits(self):
        return sum(struct.unpack("<Q", os.read(fd, 8))[0] for fd in self.events)

    def close(self):
        for fd in self.events:
            os.close(fd)
        self.events = []


class Traceable(elf.Elf):
    def __init__(self, path):
        super().__init__(path)
        self.path = path
        self.probe = self.probes()

    def long_nop(self, name):
        return self.probe[name][0] + 1

    def child(self, name):
        return self.probe[name][1]

    def semaphore(self, name):
        return self.probe[name][2]

    def pool(self, name, index):
        return self.probe[name][0] + 16 + index

    def level_cells(self, name):
        """Addresses of the level cells of all begin sites of a region."""
        section = self.section("sp_desc")
        for address, d in zip(range(section[2], section[2] + section[4], 32), self.descriptors()):
            if d["name"] == name and not d["flags"] & elf.END_SITE:
                yield address + self.s32(address + 20)


class Program:
    """A traced program, read line by line as it writes."""

    def __init__(self, command, **options):
        self.name = " ".join(command)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, **options)
        self.buffer = b""

    def line(self):
        while b"\n" not in self.buffer:
            ready = select.select([self.process.stdout], [], [], 120)[0]
            assert ready, f"{self.name}: no answer in 120 s"
            more = os.read(self.process.stdout.fileno(), 65536)
            assert more, f"{self.name}: exit {self.process.wait()} too early"
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def finish(self):
        out, _ = self.process.communicate(timeout=120)
        out = (self.buffer + out).decode()
        assert self.process.returncode == 0, f"{self.name}: exit {self.process.returncode}\n{out}"
        return out

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def build(number, *words, **extra):
    options = dict(zip(matrix.DIMENSIONS, words), target="native")
    options.update(extra)
    made = matrix.Build(number, options)
    made.make()
    return made


def compile_one(name, compiler, *flags):
    output = os.path.join(WORK, f"{name}-{compiler}{''.join(flags)}")
    matrix.run([compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", *flags, f"-I{ROOT}",
                os.path.join(HERE, name + ".c"), "-pthread", "-o", output])
    return output


COUNTED = [
    ("gcc", "c11", "-O2", "pie", "bfd", "", ""),
    ("gcc", "mixed", "-O3", "libraries", "bfd", "", "-fvisibility=hidden"),
    ("clang", "mixed", "-O2", "libraries", "lld", "", "-ffunction-sections"),
    ("clang", "c++17", "-O3", "static", "lld", "", ""),
    ("clang", "c++20", "-O2", "pie", "lld", "thin", ""),
    ("gcc", "mixed", "-O2", "no-pie", "gold", "lto", ""),
    ("gcc", "c11", "-O0", "static-pie", "bfd", "", "-DSP_REGION_PLAIN_PROBES"),
]


def read_calls(program):
    calls, line = {}, ""
    while not line.startswith("sum"):
        line = program.line()
        found = re.fullmatch(r"call (\d+) (.*)", line)
        if found:
            calls[found[2]] = int(found[1])
    return calls, line


def test_count():
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for report in pool.map(count_one, range(len(COUNTED)), COUNTED):
            print(report, flush=True)


def count_one(number, words):
    made = build(number, *words)
    expect_sum = matrix.run([made.app, "200"]).split("\n")[-2]
    for path in made.files:
        out = matrix.run(["bpftrace", "-l", f"usdt:{path}:*"])
        assert f"usdt:{path}:sp:begin\n" in out and f"usdt:{path}:sp:end\n" in out, out
    script = "".join(f"usdt:{path}:sp:begin {{ @begin[str(arg1)] = count(); "
                     "@skipped = sum(arg3); } "
                     f"usdt:{path}:sp:end {{ @end[str(arg1)] = count(); }} "
                     for path in made.files)
    # One that the tracer finds running, and one that starts when it is there.
    with Bpftrace(script) as tracer, Program([made.app, "200", "traced"]) as early:
        calls, line = read_calls(early)
        with Program([made.app, "200", "traced"]) as late:
            assert read_calls(late) == (calls, line)
            maps = tracer.stop()
            early.finish()  # when its semaphores are down again
            late.finish()
    assert line == expect_sum, (made.name, line, expect_sum)
    calls = {name: 2 * count for name, count in calls.items()}
    if words[1] in matrix.CXX:
        calls["static initializer"] = 1  # of the late one: it runs before main()
    assert len(calls) >= 8 and matrix.ODD_NAME in calls
    assert maps["@begin"] == calls, (made.name, maps["@begin"], calls)
    assert maps["@end"] == calls, (made.name, maps["@end"], calls)
    assert maps["@skipped"] == 0
    return f"{made.name}: {sum(calls.values())} calls of {len(calls)} regions"


def test_redzone():
    rounds = "5000"
    for compiler in ("gcc", "clang"):
        for optimize in ("-O2", "-O3"):
            app = compile_one("redzone", compiler, optimize)
            untraced = matrix.run([app, rounds])
            file = Traceable(app)
            with Bpftrace(f"usdt:{app}:sp:begin {{ @begin = count(); }} "
                          f"usdt:{app}:sp:end {{ @end = count(); }}") as tracer:
                traced = Program([app, rounds, "traced"]).finish()
                maps = tracer.stop()
            assert traced == untraced, (app, traced, untraced)
            assert maps["@begin"] == maps["@end"] == 5000 * 12 + 4984 * 16, maps
            probes = [Uprobe(file, file.long_nop(name), file.semaphore(name))
                      for name in ("begin", "end")]
            traced = Program([app, rounds, "traced"]).finish()
            hits = [p.hits() for p in probes]
            for p in probes:
                p.close()
            assert traced == untraced, ("on the 5-byte nop", app, traced, untraced)
            assert hits == [maps["@begin"], maps["@end"]], (hits, maps)
            print(f"{compiler} {optimize}: {hits[0]} pairs, {untraced.strip()}", flush=True)


def test_levels():
    """Level 3 for `hot`, 1 for `scope`, 2 for `handle`, none for `cool`; then back to 0."""
    for compiler, flags in (("gcc", ["-O2"]), ("clang", ["-O0", "-fPIC"])):
        app = compile_one("thinned", compiler, *flags)
        file = Traceable(app)
        pool = file.pool("begin", 64)
        pool += file.s32(pool)
        script = (f"usdt:{app}:sp:begin {{ @fired[tid, str(arg1)] = count(); "
                  "@skipped[tid, str(arg1)] = sum(arg3); } "
                  f"usdt:{app}:sp:end {{ @ended[tid, str(arg1)] = count(); }}")
        with Bpftrace(script) as tracer, Program([app], stdin=subprocess.PIPE) as program:
            assert program.line() == "traced"
            # `handle` was interned first in this program: its cell is the pool's first.
            cells = ([(c, 3) for c in file.level_cells("hot")] +
                     [(c, 1) for c in file.level_cells("scope")] + [(pool, 2)])
            raised, place = [], 0
            for cell, level in cells:
                for _ in range(level):
                    raised.append(Uprobe(file, file.pool("begin", place), cell))
                    place += 1
            for calls in ("1000", "1003"):
                program.tell(calls)
                assert program.line() == "phase"
                for probe in raised:
                    assert probe.hits() == 0
                    probe.close()
                raised = []
            out = program.finish()
            maps = tracer.stop()
        calls = re.findall(r"calls (\d+) (\w+) (\d+)", out)
        assert len(calls) == 8, out
        for thread, name, count in calls:
            key = f"{thread},{name}"
            fired, skipped = maps["@fired"][key], maps["@skipped"][key]
            level = {"hot": 3, "scope": 1, "handle": 2, "cool": 0}[name]
            assert fired == (1000 >> level) + 1003, (key, fired)
            assert fired + skipped == int(count) == 2003, (key, fired, skipped, count)
            assert maps["@ended"][key] == fired, (key, maps["@ended"][key], fired)
        print(f"{compiler} {' '.join(flags)}: fired {maps['@fired']}", flush=True)


FORKS = (  # compiler, flags, what the kernel refuses
    ("gcc", ["-O2"], None), ("clang", ["-O1", "-fuse-ld=lld"], None), ("gcc", ["-O2"], "no-mmap"),
    ("gcc", ["-O2"], "no-madvise"), ("gcc", ["-O0", "-DSP_REGION_NO_SYSCALLS"], None))


def build_forks(compiler, flags):
    base = os.path.join(WORK, "forks-" + re.sub(r"\W", "", compiler + "".join(flags)))
    command = [compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", *flags, f"-I{ROOT}",
               os.path.join(HERE, "forks.c"), "-pthread"]
    libraries = [f"{base}-{unit}.so" for unit in ("one", "two")]
    for unit, path in zip(("one", "two"), libraries):
        matrix.run([*command, "-fPIC", "-shared", "-DUNIT=" + unit, "-o", path])
    matrix.run([*command, *libraries, "-o", base])
    return [base, *libraries]


def read_forks(text, refused):
    """What the program counted: {name: (begins, ends)}, and of all of them [begins, ends] by place."""
    calls, own, child = {}, [0, 0], [0, 0]
    for begins, ends, child_begins, child_ends, name in re.findall(
            r"(\d+) (\d+) (\d+) (\d+) (.*)\n", text):
        numbers = [int(begins), int(ends), int(child_begins), int(child_ends)]
        calls[name] = (numbers[0] + numbers[2], numbers[1] + numbers[3])
        for edge in (0, 1):
            own[edge] += numbers[edge]
            child[edge] += numbers[2 + edge]
    assert len(calls) == 17 and min(min(c) for c in calls.values()) > 0, text
    assert own[0] > 20000 and child[0] > 10000, text
    if refused:
        own, child = [0, 0], [o + c for o, c in zip(own, child)]
    return calls, own, child


def test_forks():
    for compiler, flags, refused in FORKS:
        files = [Traceable(path) for path in build_forks(compiler, flags)]
        app, more = files[0].path, [refused] if refused else []
        untraced = Program([app, "quiet", *more]).finish()
        script = "".join(f"usdt:{f.path}:sp:begin {{ @begin[str(arg1)] = count(); }} "
                         f"usdt:{f.path}:sp:end {{ @end[str(arg1)] = count(); }} " for f in files)
        none_own = refused or "-DSP_REGION_NO_SYSCALLS" in flags
        with Bpftrace(script) as tracer:
            text = Program([app, "traced", *more]).finish()
            maps = tracer.stop()
        assert text == untraced, (text, untraced)
        calls, own, child = read_forks(text, none_own)
        assert maps["@begin"] == {n: c[0] for n, c in calls.items()}, (maps["@begin"], calls)
        assert maps["@end"] == {n: c[1] for n, c in calls.items()}, (maps["@end"], calls)
        # And as sp-trace puts its probes, where the kernel may turn them into calls.
        bare = [[Uprobe(f, f.long_nop(name), f.semaphore(name)) for f in files] +
                [Uprobe(f, f.child(name), f.semaphore(name)) for f in files]
                for name in ("begin", "end")]
        try:
            assert Program([app, "traced", *more]).finish() == untraced
            for edge in (0, 1):
                hits = [probe.hits() for probe in bare[edge]]
                assert sum(hits[:3]) == own[edge], (edge, hits, own)
                assert sum(hits[3:]) == child[edge], (edge, hits, child)
        finally:
            for probe in bare[0] + bare[1]:
                probe.close()
        print(f"{compiler} {' '.join(flags)} {refused or ''}: begins and ends {own} at the process's"
              f" own place, {child} at the children's", flush=True)


PERF = """
set -e
test -e /sys/kernel/tracing/uprobe_events || mount -t tracefs none /sys/kernel/tracing
perf="perf --buildid-dir $1/buildid"
$perf buildid-cache --add $2
$perf list sdt | grep -q sdt_sp:begin
$perf probe -q sdt_sp:begin
trap "$perf probe -q -d 'sdt_sp:*'" EXIT
$perf probe -q sdt_sp:end
$perf record -q -o $1/perf.data -e sdt_sp:begin -e sdt_sp:end $2 60
$perf script -i $1/perf.data -F event,trace
"""

# A file's probes one after the other: perf has one name for those of all files. System-wide, for an
# event of one process misses what a child does before perf's copy of the event is in place.
PERF_FORKS = """
set -e
test -e /sys/kernel/tracing/uprobe_events || mount -t tracefs none /sys/kernel/tracing
perf="perf --buildid-dir $1/buildid"
$perf buildid-cache --add $2
$perf probe -q sdt_sp:begin
trap "$perf probe -q -d 'sdt_sp:*'" EXIT
$perf stat -a -e sdt_sp:begin $2 quiet 2>&1
"""


def test_perf():
    app = compile_one("redzone", "gcc", "-O2", "-g")
    with open("/proc/filesystems", encoding="ascii") as file:
        if "tracefs" not in file.read():
            print("this kernel has no tracefs, which perf needs")
            return 77
    shutil.rmtree(os.path.join(WORK, "buildid"), ignore_errors=True)
    # A mount namespace of its own: nothing is mounted for others.
    out = matrix.run(["unshare", "-m", "sh", "-c", PERF, "sh", WORK, app])
    begins, ends = out.count("sdt_sp:begin:"), out.count("sdt_sp:end:")
    assert begins == ends == 60 * 12 + 44 * 16, (begins, ends)
    assert re.search(r"arg1=\d+ arg2=\d+ arg3=0 arg4=0", out), out[:500]
    print(f"perf: {begins} begins, {ends} ends")
    app = build_forks("gcc", ["-O2"])[0]
    shutil.rmtree(os.path.join(WORK, "buildid"), ignore_errors=True)
    out = matrix.run(["unshare", "-m", "sh", "-c", PERF_FORKS, "sh", WORK, app])
    _, own, child = read_forks(out, False)
    libraries = sum(int(n) for n in re.findall(r"^(\d+) \d+ 0 0 (?:one|two,.*)$", out, re.M))
    libraries += sum(int(n) for n in re.findall(r"^0 0 (\d+) \d+ (?:one|two),.*$", out, re.M))
    seen = re.search(r"^ *([\d,]+) +sdt_sp:begin", out, re.M)
    assert seen and int(seen[1].replace(",", "")) == own[0] + child[0] - libraries, (out, libraries)
    print(f"perf: {seen[1]} begins of a family of processes")
    return 0


def main():
    test = {"count": test_count, "redzone": test_redzone, "levels": test_levels,
            "forks": test_forks, "perf": test_perf}[sys.argv[3]]
    needs = ["gcc", "g++", "clang", "clang++", "ld.lld", "ld.gold"]
    needs += ["perf", "unshare"] if test is test_perf else ["bpftrace"]
    missing = [tool for tool in needs if not shutil.which(tool)]
    if os.geteuid() != 0:
        missing.append("root")
    if missing:
        print(f"cannot run without {', '.join(missing)}")
        return 1 if os.environ.get("CI") == "true" else 77
    os.makedirs(WORK, exist_ok=True)
    try:
        return test() or 0
    except AssertionError as error:
        print(f"FAILED {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
