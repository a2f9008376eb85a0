#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""hostile.py - programs and circumstances that mean harm: whoever is recorded gains no right by it, and
no others are held up or lose anything."""
import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (PROGRAMS, SLOWER, SP_REPORT, SP_TRACE, check, contains, equal, everywhere, files, finish, main,
                 need_root, need_scope_profiler, need_tool, real_time, run, start, trace, wait_for)

need_root()
need_scope_profiler()
need_tool("gcc")
from recording import Profile, text

AUDITOR = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Writes down where it runs, which is nobody's business but the program's own. */
unsigned la_version(unsigned version)
{
	char exe[4096] = "";
	int fd = open(LOG, O_CREAT | O_WRONLY | O_APPEND, 0666);

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0 && fd >= 0)
		dprintf(fd, "%s as %d\n", exe, (int)getuid());
	close(fd);
	return version;
}
"""
AUDITED = r"""
#include "usdt/sp_region.h"

int main(void)
{
	SP_REGION_SCOPE("audited");
	return 0;
}
"""


def audited(into):
    """The dynamic linker runs the code of an auditing library even where it only lists a program's
    libraries: no such code may come to run on behalf of the recorder."""
    log = into / "log"
    (into / "auditor.c").write_text(AUDITOR)
    (into / "audited.c").write_text(AUDITED)
    subprocess.run(["gcc", "-shared", "-fPIC", f'-DLOG="{log}"', "auditor.c", "-o", "auditor.so"], check=True)
    subprocess.run(["gcc", f"-I{os.environ['SP_SOURCE']}", "audited.c", "-o", "audited",
                    f"-Wl,--audit={into}/auditor.so"], check=True)
    subprocess.run(["./audited"], check=True)
    check(log.exists(), "the auditing library does not work, so this test tells nothing")
    log.unlink()
    (into / "script").write_text("i=0; while [ $i -lt 3 ]; do ./audit*ed; i=$((i+1)); done\n")

    trace("-F", 0, "-o", into / "word", "--", "/bin/true", into / "audited")
    check(not log.exists(), f"run, though it is only an argument: {log.exists() and log.read_text()}")
    done = trace("-F", 0, "-o", into / "out", "--", "sh", "script")
    equal(set(log.read_text().splitlines()), {f"{into}/audited as {os.getuid()}"}, "where the auditor ran")
    profile = Profile(next((into / "out").glob("*.h5")))
    equal(profile.count().get("audited"), 3, f"calls: {done.stderr}")


@real_time
def half_ended(into):
    """Processes and threads that have ended already do not end once more: the recording ends without them."""
    for play in ("zombie", "leaderless"):
        target = subprocess.Popen([PROGRAMS / "hostile", play])
        time.sleep(0.3)
        done = trace("-F", 0, "-o", into / play, "-p", target.pid)
        equal((done.returncode, target.wait()), (0, 0), f"{play}: status: {done.stderr}")
        contains(done.stderr, "the program ended")
        calls = Profile(into / f"{play}/hostile_rank00000.h5").count().get("waiting", 0)
        check(1 <= calls <= 40, f"{play}: {calls} calls of 40, of which some came before the recording")


def streams_closed(into):
    """Nothing that is opened takes the place of a closed stream, here or in what is started."""
    script = f"ls -l /proc/self/fd > {into}/seen; exec {PROGRAMS}/hostile zombie"
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        shutil.rmtree(into / "out", ignore_errors=True)
        done = run(["sh", "-c", f"exec {SP_TRACE} -v --keep-journal -F 0 -o {into}/out -- sh -c '{script}' {closed}"])
        equal(done.returncode, 0, f"{closed}: status: {done.stderr}")
        seen = (into / "seen").read_text()
        check("journal" not in seen and "anon_inode" not in seen, f"{closed}: the command was handed {seen}")
        done = run([SP_REPORT, "recover", into / "out/journal.spj", "-o", into / "again", "--keep-journal"])
        equal(done.returncode, 0, f"{closed}: the journal: {done.stderr}")
        shutil.rmtree(into / "again", ignore_errors=True)
    done = run(["sh", "-c", f"exec {SP_REPORT} summary {into}/out >&-"])
    equal(done.returncode, 1, "status of a report that goes nowhere")
    contains(done.stderr, "could not be written")


@everywhere
def size_limit(into):
    """A limit of the size of files ends the recording like a full disk; the command has its signal back."""
    limit = 64 << 10

    def few_bytes():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = run([SP_TRACE, "-F", 0, "-o", into / "out", "--", "sh", "-c", "grep SigIgn /proc/self/status"],
               preexec_fn=few_bytes)
    ignored = int(done.stdout.split()[1], 16)
    check(not ignored >> (signal.SIGXFSZ - 1) & 1, f"the command ignores SIGXFSZ, too: {done.stdout}")
    shutil.rmtree(into / "out", ignore_errors=True)
    done = run([SP_TRACE, "-F", 0, "-o", into / "out", "--", PROGRAMS / "hostile", "many"],
               preexec_fn=few_bytes)
    equal(done.returncode, 1, f"status: {done.stderr}")
    contains(done.stderr, "File too large")
    contains(done.stderr, "LOST")
    if "journal.spj" in files(into / "out"):  # the final files did not fit
        contains(done.stderr, "sp-report recover -o DIR")
        equal(run([SP_REPORT, "recover", into / "out/journal.spj", "-o", into / "again"]).returncode, 0, "recover")
        into = into / "again"
    else:
        into = into / "out"
    check(any(name.endswith(".h5") for name in files(into)), f"nothing is there: {files(into)}")


@real_time
def stopped(into):
    """Who waits for a recorder that does not answer waits twice, and not again for each exec."""
    for i in range(40):
        shutil.copy("/bin/true", into / f"true{i}")
    script = f"""
import os, subprocess, time
def start(first):
    begin = time.monotonic()
    for i in range(first, first + 20): subprocess.run(["{into}/true%d" % i])
    return time.monotonic() - begin
before = start(0)
print(before, flush=True)
while not os.path.exists("{into}/go"): time.sleep(0.01)
print(start(20), flush=True)
"""
    recorder = subprocess.Popen([SP_TRACE, "-q", "-F", "0", "-o", into / "out", "--", "python3", "-c", script],
                                stdout=subprocess.PIPE, text=True)
    usual = float(recorder.stdout.readline())
    recorder.send_signal(signal.SIGSTOP)
    (into / "go").touch()
    took = float(recorder.stdout.readline())
    recorder.send_signal(signal.SIGCONT)
    equal(recorder.wait(), 0, "status")
    check(took < usual + 1.5, f"20 execs took {took:.1f} s behind a stopped recorder, and {usual:.1f} s before")


def held_too_long(into):
    """An exec that a stopped recorder did not answer goes on, and what is missing until its program was armed is
    a gap, though the recorder arms it as it answers, too late."""
    shutil.copy(PROGRAMS / "family", into / "late")
    script = f"while ! [ -e {into}/go ]; do sleep 0.01; done; name=lat; {into}/${{name}}e sleep {100 * SLOWER}; exit 0"
    recorder = start([SP_TRACE, "-F", 0, "-o", into / "out", "--", "sh", "-c", script])
    wait_for(lambda: "sh" in run(["ps", "-o", "comm=", "--ppid", recorder.pid]).stdout.split(), "the shell")
    time.sleep(0.3)
    recorder.send_signal(signal.SIGSTOP)
    (into / "go").touch()
    time.sleep(0.6)
    recorder.send_signal(signal.SIGCONT)
    status, _, said = finish(recorder)
    equal(status, 0, f"status: {said}")
    contains(said, "late was mapped", "before its probes were armed", "besides: 1 × armed late: regions or names may be missing")
    profile = Profile(next((into / "out").glob("*.h5")))
    check(0 < profile.count().get("sleep", 0) < 100 * SLOWER, f"calls: {profile.count()}")
    told = dict(zip(text(profile.losses["cause"]), profile.losses["count"]))
    check(told.pop("end without a begin", 0) <= 1, "more ends than one region has")  # that it was in just then
    equal(told, {"armed late": 1}, "losses")


@real_time
def held_while_busy(into):
    """A recorder that has begun to arm a program has a second for it, where it usually needs 20 ms. The process that
    opens files for it stands still for 0.3 s; a machine that has so much else to do that the rest is not enough gets
    another try."""
    os.mkfifo(into / "go")
    for turn in range(5):
        late = into / f"late{turn}"
        shutil.copy(PROGRAMS / "family", late)
        recorder = start([SP_TRACE, "-F", 0, "-o", into / f"out{turn}", "--", "sh", "-c",
                          f"read name <{into}/go; exec {into}/$name exit 0"])
        named = ["ps", "-o", "pid=,comm=", "--ppid", recorder.pid]
        with open(into / "go", "w") as go:  # from here on the shell reads, and nothing is asked
            time.sleep(0.3)
            looker = int(re.search(r"(\d+) sp-look$", run(named).stdout, re.M)[1])
            os.kill(looker, signal.SIGSTOP)
            go.write(f"late{turn}\n")
        time.sleep(0.3)
        with contextlib.suppress(ProcessLookupError):  # after a second it is given up
            os.kill(looker, signal.SIGCONT)
        status, _, said = finish(recorder)
        equal(status, 0, f"status: {said}")
        calls = Profile(next((into / f"out{turn}").glob("*.h5"))).count()
        if calls == {"exit": 1}:
            return
        contains(said, f"late{turn} was mapped", "before its probes were armed")
    check(False, f"the exec went on before its program was armed: {said}")


@real_time
def doorkeeper_killed(into):
    """The recorder goes on without the process that holds execs, says so, and does not spin."""
    recorder = subprocess.Popen([SP_TRACE, "-F", "0", "-o", into / "out", "--", "sh", "-c",
                                 f"sleep 3; {PROGRAMS}/hostile many"], stderr=subprocess.PIPE, text=True)
    named = ["ps", "-o", "pid=,comm=", "--ppid", recorder.pid]
    wait_for(lambda: "sh" in run(named).stdout.split(), "the shell")
    keepers = re.findall(r"(\d+) sp-hold$", run(named).stdout, re.M)
    equal(len(keepers), 1, "doorkeepers")
    os.kill(int(keepers[0]), signal.SIGKILL)
    ticks = [sum(map(int, open(f"/proc/{recorder.pid}/stat").read().rpartition(")")[2].split()[11:13]))]
    time.sleep(1)
    ticks.append(sum(map(int, open(f"/proc/{recorder.pid}/stat").read().rpartition(")")[2].split()[11:13])))
    said = recorder.communicate()[1]
    equal(recorder.returncode, 0, f"status: {said}")
    contains(said, "was killed")
    check(ticks[1] - ticks[0] < 50, f"{ticks[1] - ticks[0]} ticks of a second's 100 were spent on waiting")
    equal(len(keepers) and Profile(next((into / "out").glob("*.h5"))).count().get("many"), 100000, "calls")


@real_time
def ancestor(into):
    """A recorder that descends from its target does not record itself, and wait for itself."""
    begin = time.monotonic()
    done = run(["sh", "-c", f"{SP_TRACE} -v -F 0 --duration 200ms --keep-journal -o {into}/out -p $$; true"])
    equal(done.returncode, 0, "status")
    check(time.monotonic() - begin < 6, f"recording 0.2 s took {time.monotonic() - begin:.1f} s")
    check("sp-libs" not in done.stderr and "sp-elf" not in done.stderr, f"it recorded its helpers: {done.stderr}")


def foreign_links(into):
    """Root writes nothing where a link of another user leads."""
    (into / "real").mkdir()
    (into / "theirs").symlink_to("real")
    os.lchown(into / "theirs", 65533, 65533)
    for out in (into / "theirs", into / "theirs/a/b"):
        done = trace("-F", 0, "-o", out, "--", PROGRAMS / "hostile", "many")
        equal((done.returncode, list((into / "real").iterdir())), (1, []), f"{out}: {done.stderr}")
        contains(done.stderr, "symbolic link of another user", "choose another directory with -o DIR")
    done = trace("-F", 0, "--keep-journal", "-o", into / "out", "--", PROGRAMS / "hostile", "many")
    journal = into / "out/journal.spj"
    for out in (into / "theirs", into / "theirs/a"):
        done = run([SP_REPORT, "recover", journal, "-o", out])
        equal((done.returncode, list((into / "real").iterdir())), (1, []), f"{out}: {done.stderr}")
        contains(done.stderr, "symbolic link of another user")
    os.lchown(into / "theirs", 0, 0)
    done = run([SP_REPORT, "recover", journal, "-o", into / "theirs/a"])
    equal((done.returncode, len(list((into / "real/a").iterdir()))), (0, 2), f"root's own link: {done.stderr}")


main(audited, half_ended, streams_closed, size_limit, stopped, held_too_long, held_while_busy,
     doorkeeper_killed, ancestor, foreign_links)
