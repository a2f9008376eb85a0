#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""judges.py - others judge a recording: the real scope-profiler loads every file and agrees with
sp-report on every number; bpftrace, in the same run, counts the same calls; perf sees the probes."""
import json
import math
import os
import re
import shutil
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (BIN, PROGRAMS, SANITIZED, check, equal, finish, good, have, main, need_root,
                 need_scope_profiler, recorded, report, run, scaled, semaphores, start, start_trace, trace, wait_for)

need_root()
need_scope_profiler()
import scope_profiler
from recording import Profile
from scope_profiler import native_samples, native_trace
from stamps import NAMES, ready

HEAT = BIN / "heat"
CALLS = PROGRAMS / "calls"
NS = 1e9
EVENTS = "/sys/kernel/tracing/events/sdt_sp"


def near(seen, wanted, what):
    """Equal but for the rounding of seconds in a double."""
    check(math.isclose(seen, wanted, rel_tol=1e-9, abs_tol=2e-9), f"{what}: {seen!r}, not {wanted!r}")


def compare_numbers(results, summary, extra):
    """scope-profiler's numbers of each region against those of sp-report summary."""
    ours = {r["name"]: r for r in summary["regions"]}
    equal(sorted(results.region_names), sorted(ours), "regions")
    for name, own in ours.items():
        region = results.get_region(name)
        equal(region.num_calls, own["calls"], f"calls of {name}")
        near(region.total_duration, own["total_ns"] / NS, f"total of {name}")
        near(region.min_duration, own["min_ns"] / NS, f"minimum of {name}")
        near(region.max_duration, own["max_ns"] / NS, f"maximum of {name}")
        near(region.average_duration, own["mean_ns"] / NS, f"mean of {name}")
        near(region.first_duration, own["first_ns"] / NS, f"first of {name}")
        near(region.last_duration, own["last_ns"] / NS, f"last of {name}")
        near(region.std_duration, own["std_ns"] / NS, f"standard deviation of {name}")
        equal(region.source_lineno, own["line"], f"line of {name}")
        equal(region.source_file, own["file"], f"file of {name}")
        if extra:
            near(region.total_exclusive_duration, own["self_ns"] / NS, f"self time of {name}")
            equal(list(region.tags), own["tags"], f"tags of {name}")


def scope_profiler_reads(into):
    done = trace("-F", 499, "--formats", "h5,sps,spt", "-o", into / "out", "--", HEAT, "-n", scaled(500, least=100), "-s", 600)
    equal(done.returncode, 0, "status")
    summary = report("summary", into / "out")
    equal(summary["calls"], recorded(done.stderr)[0], "calls")
    whole = scope_profiler.read_h5(into / "out/heat_rank00000.h5")
    compare_numbers(whole, summary, extra=True)
    compare_numbers(native_trace.load_traces(into / "out"), summary, extra=False)
    compare_numbers(native_trace.load_traces(into / "out/spt"), summary, extra=False)
    short = scope_profiler.read_h5_summary(into / "out/heat_rank00000.h5")
    for region in summary["regions"]:
        equal(short.get_region(region["name"]).num_calls, region["calls"], f"calls of {region['name']} in the summary")
        near(short.get_region(region["name"]).total_duration, region["total_ns"] / NS, f"total of {region['name']}")
    threads = [t for t in whole.threads[0] if t.name.startswith("heat")]
    equal(len(threads), 3 if SANITIZED else 2, "threads")  # the leak sanitizer looks on in one of its own
    graph = whole.call_graph() if callable(whole.call_graph) else whole.call_graph
    steps = [c for c in graph if c["name"] == "stencil"]
    check(steps and all(c["depth"] == 1 for c in steps), "stencil is not inside step in the call graph")


def pictures(into):
    """scope-profiler's commands and exports work on what we wrote, threads and all."""
    equal(trace("-q", "--formats", "h5", "-o", into / "out", "--", HEAT, "-n", 200, "-s", 100).returncode, 0, "status")
    file = into / "out/heat_rank00000.h5"
    whole = scope_profiler.read_h5(file)
    for export in (scope_profiler.export_chrome_trace, scope_profiler.export_speedscope):
        target = into / f"{export.__name__}.out"
        written = export(whole, target, verbose=False)
        check(written and all(os.path.getsize(p) > 1000 for p in written), f"{export.__name__} wrote {written}")
    env = {**os.environ, "MPLBACKEND": "Agg"}
    inspect = run([sys.executable, "-m", "scope_profiler", "inspect", file], env=env)
    equal(inspect.returncode, 0, f"status of inspect: {inspect.stderr[-500:]}")
    check("stencil" in inspect.stdout, "inspect does not show stencil")
    imported = run([sys.executable, "-m", "scope_profiler", "import-native", into / "out", "-o", into / "all.h5"], env=env)
    equal(imported.returncode, 0, f"status of import-native: {imported.stderr[-500:]}")
    equal(scope_profiler.read_h5(into / "all.h5").get_region("stencil").num_calls, 200, "calls after import-native")


def samples(into):
    """Its line profile of the .sps file has the samples that sp-report counts, region by region."""
    done = trace("-F", 997, "-o", into / "out", "--", HEAT, "-n", scaled(800, least=200), "-s", 500)
    equal(done.returncode, 0, "status")
    file = native_samples.read_samples(into / "out/heat_rank00000.sps")
    equal(sum(Profile(into / "out/heat_rank00000.h5").samples().values()), file.ticks, "ticks")
    theirs = {}
    for name, lines in native_samples.line_profile(file).items():
        theirs[name] = sum(line.samples for line in lines)
    ours = report("lines", into / "out")
    regions = {r["region"]: r for r in ours["regions"] if r["region"] in theirs}
    equal({n: r["samples"] for n, r in regions.items()}, theirs, "samples of regions")
    check(sum(theirs.values()) > 200, f"only {sum(theirs.values())} samples")
    hottest = native_samples.line_profile(file)["stencil"][0]
    line = regions["stencil"]["lines"][0]
    equal(str(hottest.file).rpartition(":")[0] or str(hottest.file), line["file"], "file of the hottest line")


def plain_names(counts):
    """bpftrace 0.17 writes a byte above 127 as a number of 32 bits, of which JSON takes four digits."""
    def text(name):
        raw = re.sub("\uffffff([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), name)
        return raw.encode("latin-1").decode()
    return {text(name): count for name, count in (counts or {}).items()}


def bpftrace_counts(into):
    """bpftrace, sp-trace and the program itself count the same calls of one run."""
    if not have("bpftrace"):
        return
    target = start([CALLS, into / "log", 3, scaled(20_000), 0, "wait"])
    log = wait_for(lambda: ready(into / "log"), "the program's log")
    said = into / "bpftrace.out"
    script = "".join(f"usdt:{CALLS}:sp:{p} {{ @{p}[str(arg1)] = count(); }} " for p in ("begin", "end"))
    other = start(["bpftrace", "-f", "json", "-o", said, "-p", target.pid, "-e", script],
                  env={**os.environ, "BPFTRACE_STRLEN": "128"})
    wait_for(lambda: all(semaphores(target.pid, CALLS).values()), "bpftrace to attach")
    time.sleep(0.5)
    recorder = start_trace("-o", into / "out", pid=target.pid)
    log.go()
    equal(finish(target)[0], 0, "status of the program")
    status, _, text = finish(recorder)
    equal(status, 0, "status of sp-trace")
    finish(other, 60)
    counts = {}
    for line in said.read_text().splitlines():
        record = json.loads(line)
        if record["type"] == "map":
            counts.update(record["data"])
    wanted = {}
    for lane in range(3):
        for region in log.stamps(lane)["region"].tolist():
            wanted[NAMES[region]] = wanted.get(NAMES[region], 0) + 1
    equal(recorded(text)[0], log.total(), "calls that sp-trace counts")
    equal(Profile(into / "out/calls_rank00000.h5").count(), wanted, "sp-trace's counts")
    equal(plain_names(counts.get("@begin")), wanted, "bpftrace's counts of begins")
    equal(plain_names(counts.get("@end")), wanted, "bpftrace's counts of ends")


def perf_records(into):
    """perf finds the probes by their notes, and records as many events as there are calls."""
    if not have("perf"):
        return
    program = into / "family"  # a file of its own, so that no cache of the machine knows it
    shutil.copy(PROGRAMS / "family", program)
    env = {**os.environ, "HOME": str(into), "DEBUGINFOD_URLS": ""}
    wait_for(lambda: not os.path.exists(EVENTS), "the end of somebody else's perf events sdt_sp:*", 60)
    good(["perf", "buildid-cache", "--add", program], env=env)
    listed = run(["perf", "list", "sdt"], env=env).stdout
    check("sdt_sp:begin" in listed and "sdt_sp:end" in listed, f"perf list shows: {listed[:300]}")
    try:
        for event in ("sdt_sp:begin", "sdt_sp:end"):
            good(["perf", "probe", event], env=env)
        done = run(["perf", "record", "-q", "-o", into / "data", "-e", "sdt_sp:begin", "-e", "sdt_sp:end", "--", program,
                    "threads"], env=env)
        equal(done.returncode, 0, f"status of perf record: {done.stderr[-300:]}")
        text = good(["perf", "script", "-i", into / "data", "-F", "event"], env=env).stdout
        equal((text.count("sdt_sp:begin:"), text.count("sdt_sp:end:")), (2001, 2000), "begins and ends that perf sees")
    finally:
        run(["perf", "probe", "-d", "sdt_sp:begin", "-d", "sdt_sp:end"], env=env)
    check(not os.path.exists(EVENTS), "the perf events were not removed")


main(scope_profiler_reads, pictures, samples, bpftrace_counts, perf_records)
