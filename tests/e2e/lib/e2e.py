# SPDX-License-Identifier: BSD-2-Clause
"""e2e.py - what the end-to-end tests share: requirements, running sp-trace, reading what it made.

A test is a script that calls `main(test, ...)` with functions that take a fresh directory. A failed
check says what it saw and the test goes on; the exit status is 1 if anything failed or if nothing was
checked, 77 if the machine lacks what the test needs (with CI=true that is a failure, too).

Environment, set by CMake: SP_BIN (folder of sp-trace and sp-report), SP_PROGRAMS (the programs under
test), SP_WORK (where a test may write), SP_SOURCE (the project).

On an emulated machine (tests/vm/run sets SP_TEST_EMULATED) everything takes many times longer: time limits are
multiplied, counts divided by scaled(); tests marked @real_time are left out, and where it is "short" all but
those that are marked @everywhere.
"""
import contextlib
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback

BIN = pathlib.Path(os.environ["SP_BIN"])
PROGRAMS = pathlib.Path(os.environ["SP_PROGRAMS"])
WORK = pathlib.Path(os.environ["SP_WORK"])
SOURCE = pathlib.Path(os.environ["SP_SOURCE"])
sys.path.append(str(SOURCE / "tests/lib"))  # journal.py
SP_TRACE = str(BIN / "sp-trace")
SP_REPORT = str(BIN / "sp-report")
SANITIZED = os.environ.get("SP_SANITIZED") == "1"  # sp-trace, sp-report and examples/ are
EMULATED = os.environ.get("SP_TEST_EMULATED", "")
SLOWER = 15 if EMULATED else 1  # programs
PATIENCE = max(SLOWER, 4 if SANITIZED else 1)  # sp-trace and sp-report
LONG = 120 * PATIENCE  # seconds after which anything is taken to hang

_checks = _failures = 0


# ---- checks ----

def check(condition, message):
    global _checks, _failures
    _checks += 1
    if not condition:
        _failures += 1
        where = traceback.extract_stack(limit=6)
        here = [f for f in where if f.filename != __file__][-1]
        print(f"FAILED {os.path.basename(here.filename)}:{here.lineno}: {message}", flush=True)
    return bool(condition)


def equal(seen, wanted, what):
    return check(seen == wanted, f"{what}: {short(seen)}, not {short(wanted)}")


def contains(text, *wanted):
    """Each of the words is in the text."""
    return all([check(w in text, f"{short(w)} is missing in: {text.strip()}") for w in wanted])


def short(value):
    text = repr(value)
    return text if len(text) < 600 else text[:600] + "…"


# ---- requirements ----

def left_out(what):
    """For the list that tests/vm/run prints at its end."""
    path = os.environ.get("SP_TEST_LEFT_OUT")
    if path:
        name = pathlib.Path(sys.argv[0]).resolve().relative_to(pathlib.Path(__file__).resolve().parents[1])
        with open(path, "a") as file:
            file.write(f"e2e/{name.with_suffix('')}: {what}\n")


def skip(why):
    """Ends the test. Where everything must be there, that is a failure."""
    left_out(why)
    if os.environ.get("CI") == "true":
        sys.exit(f"FAILED: this test cannot be skipped under CI=true: {why}")
    print(f"skipped: {why}")
    sys.exit(77)


def need_root():
    if os.geteuid() != 0:
        skip("needs root")
    if not os.access("/sys/kernel/btf/vmlinux", os.R_OK):
        skip("this kernel has no BTF")


def not_sanitized(why):
    """Marks a test that says nothing where sp-trace is built with sanitizers."""
    def mark(test):
        test.not_sanitized = why
        return test
    return mark


def need_tool(*names):
    for name in names:
        if not shutil.which(name):
            skip(f"needs {name}")


def have(tool):
    """Leaves out a part of a test where the tool is missing; where everything must be there, that is a failure."""
    there = shutil.which(tool)
    if not there:
        print(f"no {tool} here: left out")
        check(os.environ.get("CI") != "true", f"{tool} is missing")
    return there


def need_scope_profiler():
    """Goes on under the Python that has scope-profiler, h5py and numpy."""
    python = os.environ.get("SP_SCOPE_PROFILER_PYTHON")
    if not python:
        skip("SP_SCOPE_PROFILER_PYTHON names no Python that has scope-profiler")
    if os.environ.get("SP_E2E_PYTHON") != "1":
        os.environ["SP_E2E_PYTHON"] = "1"
        sys.stdout.flush()
        os.execv(python, [python, *sys.argv])


def scaled(count, least=1):
    """So many where programs run at a machine's speed; fewer where that is emulated."""
    return max(count // SLOWER, min(least, count))


def real_time(test):
    """Marks a test that counts on a machine's speed, or judges shares of time."""
    test.real_time = True
    return test


def everywhere(test):
    """Marks a test that belongs to the short run on other kernels."""
    test.everywhere = True
    return test


def _runs_here(test):
    if not EMULATED:
        return True
    return not hasattr(test, "real_time") and (EMULATED != "short" or hasattr(test, "everywhere"))


def main(*tests):
    """Runs the functions, or those of them that the command line names, each in a directory of its own. With
    --real-time only those that are marked so, with --not-real-time the others."""
    wanted, base = sys.argv[1:], WORK / pathlib.Path(sys.argv[0]).stem
    for test in tests:
        if EMULATED and hasattr(test, "real_time") and not wanted:
            left_out(f"{test.__name__}: judges a machine's speed")
    if wanted in (["--real-time"], ["--not-real-time"]):
        tests = [t for t in tests if hasattr(t, "real_time") == (wanted == ["--real-time"])]
        base, wanted = base.with_name(base.name + wanted[0]), []
    tests = [t for t in tests if wanted or _runs_here(t)]
    shutil.rmtree(base, ignore_errors=True)
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        if SANITIZED and hasattr(test, "not_sanitized"):
            print(f"left out: {test.__name__}: {test.not_sanitized}", flush=True)
            continue
        into = base / test.__name__
        into.mkdir(parents=True)
        failures, begin = _failures, time.monotonic()
        os.chdir(into)
        try:
            test(into)
        except Exception:
            check(False, f"{test.__name__} broke off:\n{traceback.format_exc()}")
        finally:
            _kill_all()
        good = _failures == failures
        print(f"{'ok' if good else 'FAILED'}: {test.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
        if good:
            os.chdir("/")
            shutil.rmtree(into, ignore_errors=True)
    print(f"{_checks} checks, {_failures} failed")
    sys.exit(1 if _failures or not _checks else 0)


# ---- processes ----

_running = []


def _kill_all():
    for process in _running:
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdout, process.stderr, process.stdin):
            if stream:
                with contextlib.suppress(Exception):
                    stream.close()
    _running.clear()


def run(command, *, timeout=LONG, **options):
    """Runs to the end; output as text. Never raises for a status."""
    options.setdefault("stdin", subprocess.DEVNULL) if "input" not in options else None
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=timeout, **options)


def good(command, **options):
    """The same for what must work."""
    done = run(command, **options)
    if done.returncode:
        raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def start(command, **options):
    """Starts a process that is killed at the end of the test if it has not ended."""
    for name in ("stdout", "stderr"):
        options.setdefault(name, subprocess.PIPE)
    options.setdefault("stdin", subprocess.DEVNULL)
    process = subprocess.Popen([str(c) for c in command], text=True, errors="replace", **options)
    _running.append(process)
    process.said = ""
    return process


def wait_for(condition, what, seconds=30):
    """Polls until the condition gives something true, which is returned."""
    seconds *= PATIENCE
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise RuntimeError(f"waited {seconds} s in vain: {what}")
        time.sleep(0.01)


def wait_said(process, word, seconds=120):
    """Reads the process's stderr until the word comes."""
    until = time.monotonic() + seconds * PATIENCE
    while word not in process.said:
        left = until - time.monotonic()
        ready, _, _ = select.select([process.stderr], [], [], max(left, 0))
        more = os.read(process.stderr.fileno(), 65536).decode(errors="replace") if ready else ""
        if not more:
            raise RuntimeError(f"{process.args} did not say '{word}' but: {process.said}")
        process.said += more


def finish(process, timeout=LONG):
    """Waits; gives (status, stdout, all of stderr)."""
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out or "", process.said + (err or "")


def start_trace(*options, pid, **more):
    """sp-trace attached to running processes; returns when it records."""
    process = start([SP_TRACE, *options, "-p", pid], **more)
    wait_said(process, "recording; Ctrl-C ends it")
    return process


def stop_trace(process, number=signal.SIGTERM):
    """Ends a recording; it must succeed. Returns what it said."""
    process.send_signal(number)
    status, _, said = finish(process)
    check(status == 0, f"sp-trace ended with {status}: {said}")
    return said


def trace(*arguments, **options):
    """sp-trace to its end."""
    return run([SP_TRACE, *arguments], **options)


def preloaded(library, **more):
    """The environment in which sp-trace starts with a library of programs/, behind the sanitizer's, which must be
    the first."""
    libraries = [PROGRAMS / library]
    if SANITIZED:
        libraries = [w for w in run(["ldd", SP_TRACE]).stdout.split() if w.startswith("/") and "libasan" in w] + libraries
    return {**os.environ, "LD_PRELOAD": ":".join(map(str, libraries)), **more}


def tracee_pid(process):
    """The process id of the command that sp-trace started."""
    def program(pid):
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/{pid}/exe")
        return ""

    def find():
        children = run(["ps", "-o", "pid=", "--ppid", str(process.pid)]).stdout.split()
        return [int(c) for c in children if program(c) and not program(c).startswith(f"{BIN}/")]
    return wait_for(find, "the command of sp-trace")[0]


# ---- semaphores ----

def semaphores(pid, program):
    """The semaphores of the probes of a program, as they are in the process's memory: {probe: value}."""
    sys.path.insert(0, str(SOURCE / "tests/usdt"))
    import elf
    file = elf.Elf(str(program))
    base = 0
    for line in open(f"/proc/{pid}/maps"):
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].strip() == str(program):
            base = int(fields[0].split("-")[0], 16) - int(fields[2], 16)
            break
    if file.segments[0][0]:  # not position-independent
        base = 0
    values = {}
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for _, name, _, semaphore, _ in file.notes():
            memory.seek(base + semaphore)
            values[name] = int.from_bytes(memory.read(2), "little")
    if set(values) != {"begin", "end"}:
        raise RuntimeError(f"{program} has probes {values}")
    return values


def all_zero(pid, program):
    return not any(semaphores(pid, program).values())


# ---- results ----

def report(*arguments):
    """sp-report … --json, decoded."""
    return json.loads(good([SP_REPORT, *arguments, "--json"]).stdout)


def files(directory):
    """Names in a recording."""
    return sorted(p.name for p in pathlib.Path(directory).iterdir())


def lost(said):
    """Calls and samples that sp-trace says it lost."""
    found = re.search(r"LOST: ([\d,]+)", said)
    return int(found[1].replace(",", "")) if found else 0


def recorded(said):
    """(calls, samples) that sp-trace says it recorded."""
    found = re.search(r"([\d,]+) calls?, ([\d,]+) samples?", said)
    if not found:
        raise RuntimeError(f"sp-trace did not say what it recorded: {said}")
    return tuple(int(n.replace(",", "")) for n in found.groups())
