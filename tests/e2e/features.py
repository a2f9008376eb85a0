#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""features.py - what sp-trace does where the kernel lacks something: --check names it, and a recording without
the feature is as exact as one with it. SP_TRACE_WITHOUT takes away what this kernel has."""
import os
import re
import shutil
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (PROGRAMS, SP_TRACE, check, contains, equal, everywhere, finish, lost, main, need_root,
                 need_scope_profiler, run, scaled, start, start_trace, stop_trace, trace, wait_for)

need_root()
need_scope_profiler()
from recording import Profile, text
from stamps import Log, compare_exclusive, compare_lane

CALLS, FAMILY, ODD = PROGRAMS / "calls", PROGRAMS / "family", PROGRAMS / "odd"
INSTEAD = {
    "uprobe_multi": "one perf event for each probe",
    "fast_probes": "a probe is a breakpoint",
    "cycles": "by the CPU clock",
    "exec_hold": "first regions of programs that recorded ones start may be lost",
    "map_files": "opened by their paths",
    "short_slice": "by its nice value alone",
    "kallsyms": "kernel.kptr_restrict=1",
    "code_faults": "need a copy of their stack",
}


def without(*features):
    return {**os.environ, "SP_TRACE_WITHOUT": ",".join(features)}


def checked(*features):
    """What --check says of each feature: {name: (has it, rest of the line)}."""
    done = trace("--check", env=without(*features))
    equal((done.returncode, done.stderr), (0, ""), f"status and stderr of --check without {features}")
    contains(done.stdout, "Programs can be recorded here", os.uname().release, os.uname().machine)
    return {name: (has == "yes", what) for name, has, what in
            re.findall(r"^(\w+) +(yes|no) +(.*)$", done.stdout, re.M)}


@everywhere
def told(into):
    """Each feature, there or not, and what is done instead."""
    here = checked()
    equal(sorted(here), sorted(INSTEAD), "features")
    for name, (has, what) in here.items():
        check(has != (INSTEAD[name] in what), f"{name}: {has}, {what}")
    print({name: has for name, (has, _) in here.items()})
    nothing = checked(*INSTEAD)
    for name, (has, what) in nothing.items():
        check(not has and INSTEAD[name] in what, f"{name}, taken away: {has}, {what}")
    for wrong in (["--check", "true"], ["--check", "-p", "1"], ["--check", "--list", FAMILY]):
        equal(trace(*wrong).returncode, 2, f"status of {wrong}")
    done = run(["setpriv", "--bounding-set=-bpf", "--inh-caps=-bpf", "sh", "-c", 'exec "$0" --check', SP_TRACE])
    equal((done.returncode, done.stdout), (1, ""), "status and stdout without the right")
    contains(done.stderr, "CAP_BPF")


def record(into, features, *options):
    """A recording without them is exact."""
    done = trace("-F", 499, *options, "-o", into / "out", "--", CALLS, into / "log", 2, scaled(30_000), 0,
                 env=without(*features))
    equal(done.returncode, 0, f"status: {done.stderr}")
    equal(lost(done.stderr), 0, "losses")
    profile, log = Profile(into / "out/calls_rank00000.h5"), Log(into / "log")
    equal(len(profile.start), log.total(), "calls")
    for lane in range(2):
        compare_lane(profile, log, lane)
    compare_exclusive(profile)
    return profile, done.stderr


@everywhere
def one_by_one(into):
    """A perf event for each probe, and breakpoints."""
    profile, _ = record(into, ["uprobe_multi", "fast_probes"])
    equal((profile.meta["attach_mode"], profile.meta["probe_place"]), ("perf event", "1-byte nop"), "how it was armed")


def one_by_one_fast(into):
    profile, _ = record(into, ["uprobe_multi"])
    equal(profile.meta["attach_mode"], "perf event", "how it was armed")


def by_the_clock(into):
    profile, _ = record(into, ["cycles", "short_slice"])
    equal(profile.meta["sample_event"], "cpu-clock", "what samples are taken by")
    check(len(profile.sample_time) > 0, "no samples")


def nameless_kernel(into):
    _, said = record(into, ["kallsyms"], "-k")
    contains(said, "functions of the kernel have no names", "kptr_restrict=1")


def late_code(into):
    """Stacks in what was just mapped are completed from copies."""
    done = trace("-F", 4999, "-o", into / "out", "--", CALLS, into / "log", 2, scaled(200_000), 0, env=without("code_faults"))
    equal(done.returncode, 0, f"status: {done.stderr}")
    (share,) = re.findall(r"sp-report: .*stacks ([\d.]+) % complete", done.stderr)
    check(float(share) >= 99, f"stacks: {done.stderr}")


@everywhere
def by_path(into):
    """Without map_files: the program is found in its own mount namespace, too."""
    hidden = into / "hidden"
    hidden.mkdir()
    inside = f"mount -t tmpfs tmpfs {hidden} && cp {ODD} {hidden}/app && exec {hidden}/app run"
    target = start(["unshare", "--mount", "sh", "-c", inside])
    wait_for(lambda: open(f"/proc/{target.pid}/comm").read().strip() == "app", "the program in its namespace")
    recorder = start_trace("-o", into / "out", pid=target.pid, env=without("map_files"))
    time.sleep(0.5)
    said = stop_trace(recorder)
    equal(lost(said), 0, "losses")
    calls = Profile(into / "out/app_rank00000.h5").count().get("run", 0)
    check(calls > 20, f"{calls} calls of a program in another namespace: {said}")
    target.kill()
    finish(target)


def by_path_launched(into):
    record(into, ["map_files"])


@everywhere
def execs_pass(into):
    """Without the hold: a program that nothing named before is armed once it runs; what came before is lost,
    and said."""
    shutil.copy(FAMILY, into / "app")
    script = into / "script"
    script.write_text(f"#!/bin/sh\nname=ap\n{into}/${{name}}p sleep 100\nexit 0\n")
    script.chmod(0o755)
    done = trace("-v", "-F", 0, "-o", into / "out", "--", script, env=without("exec_hold"))
    equal(done.returncode, 0, f"status: {done.stderr}")
    contains(done.stderr, "execs are not held", "may be lost")
    profile = Profile(next((into / "out").glob("*.h5")))
    calls = profile.count().get("sleep", 0)
    check(0 < calls <= 100, f"{calls} of 100 calls")
    if calls < 100:
        told = dict(zip(text(profile.losses.get("cause", [])), profile.losses.get("count", [])))
        check(told.get("armed late"), f"{100 - calls} calls are missing, and the file says {told}")


def execs_pass_named(into):
    """The command itself is armed before it starts, hold or not."""
    record(into, ["exec_hold"])


main(told, one_by_one, one_by_one_fast, by_the_clock, nameless_kernel, late_code, by_path, by_path_launched,
     execs_pass, execs_pass_named)
