#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""errors.py - what goes wrong is said in a sentence that names the thing and the remedy, with the right
status, and leaves nothing behind."""
import errno
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (BIN, PROGRAMS, SP_TRACE, check, contains, equal, everywhere, files, main, need_root,
                 need_scope_profiler, run, start, trace)

need_root()
need_scope_profiler()
from recording import Profile

FAMILY = PROGRAMS / "family"


def not_root(into):
    """As nobody, from a folder that nobody may read."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sp-e2e-"))
    try:
        for name in ("sp-trace", "sp-elf", "sp-selftest", "sp-report"):
            shutil.copy(BIN / name, folder)
        folder.chmod(0o777)
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        done = run([*nobody, folder / "sp-trace", "--", "touch", folder / "started"], cwd=folder)
        equal(done.returncode, 1, "status")
        contains(done.stderr, "recording needs root", "sudo", "CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE")
        check(not (folder / "started").exists(), "the command was started")
        equal([f for f in files(folder) if f.endswith(".sp")], [], "directories left behind")
        listed = run([*nobody, folder / "sp-trace", "--list", FAMILY], cwd=folder)
        if listed.returncode == 0:  # where nobody can read the build folder
            contains(listed.stdout, "around fork", "family.c:")
        # Root without a capability, as in a container.
        done = run(["setpriv", "--bounding-set=-bpf", "--inh-caps=-bpf", SP_TRACE, "--", "true"], cwd=folder)
        equal(done.returncode, 1, "status without CAP_BPF")
        contains(done.stderr, "root user is restricted", "CAP_BPF (to load BPF programs)", "container")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def poor_kernels(into):
    """Kernels that lack what recording needs: the command is not started, and nothing is left behind."""
    def refused(said, *wanted):
        equal(said.returncode, 1, f"status: {said.stderr}")
        contains(said.stderr, *wanted)
        check(not witness.exists(), "the command was started")
        check(not (into / "out").exists(), "a directory was left behind")

    witness = into / "started"
    command = [SP_TRACE, "-o", into / "out", "--", "touch", witness]
    refused(run(["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh", *command]),
            "(BTF)", "CONFIG_DEBUG_INFO_BTF=y")
    without = PROGRAMS / "without_bpf"
    refused(run([without, errno.ENOSYS, *command]), "no BPF", "CONFIG_BPF_SYSCALL", "distribution's kernel")
    refused(run([without, errno.EPERM, *command]), "refuses BPF", "seccomp")


def usage(into):
    for arguments, words in (
            ([], ["Usage: sp-trace"]),
            (["--nonsense", "--", "true"], ["nonsense"]),
            (["--duratoin", "1s", "--", "true"], ["duration"]),
            (["-F", "many", "--", "true"], ["-F wants", "many"]),
            (["-F", "-3", "--", "true"], ["-F wants"]),
            (["-F", "100001", "--", "true"], ["100000"]),
            (["-p", "x"], ["'x' is not a process id"]),
            (["-p", "1,,2"], ["process ids"]),
            (["-p", "0"], ["'0' is not a process id"]),
            (["-p", str(os.getpid()), "--", "true"], ["either -p PID or a command"]),
            (["--duration", "soon", "--", "true"], ["--duration wants a time such as 10s"]),
            (["--duration", "0s", "--", "true"], ["--duration wants"]),
            (["--formats", "h5,pdf", "--", "true"], ["'pdf' is not a format"]),
            (["--formats", "", "--", "true"], ["--formats wants"]),
            (["--max-size", "big", "--", "true"], ["--max-size wants a size such as 2G"]),
            (["--max-size", "10", "--", "true"], ["--max-size wants 64K at least", "'10'"]),
            (["--max-disk-use", "101", "--", "true"], ["--max-disk-use wants 1 to 100"]),
            (["--ring-size", "1", "--", "true"], ["--ring-size wants 4K to 1G"]),
            (["-o", "", "--", "true"], ["-o wants a directory"]),
            (["--stacks", "deep", "--", "true"], ["--stacks wants eh, fp, dwarf[,BYTES], leaf or none", "deep"]),
            (["--stacks", "eh,16K", "--", "true"], ["only --stacks dwarf takes a size", "eh,16K"]),
            (["--stacks", "dwarf,10000", "--", "true"], ["a power of two from 512 to 64K", "10000"]),
            (["--stacks", "dwarf,128K", "--", "true"], ["a power of two from 512 to 64K", "128K"]),
            (["--stacks", "dwarf,", "--", "true"], ["a power of two from 512 to 64K"]),
            (["-o"], ["-o"]),
            (["--list"], ["--list wants"]),
            (["-F", "99"], ["say what to record"]),
    ):
        done = trace(*arguments)
        equal(done.returncode, 2, f"status of {arguments}")
        contains(done.stdout + done.stderr, *words)
    equal(files(into), [], "files made by wrong usage")
    for option, word in (("--help", "Usage: sp-trace"), ("--version", "0.")):
        done = trace(option)
        equal((done.returncode, done.stderr), (0, ""), f"status and stderr of {option}")
        contains(done.stdout, word)


def without_probes(into):
    """Sampled all the same, and told how to add regions; exit status kept."""
    done = trace("-F", 997, "-o", into / "out", "--", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3")
    equal(done.returncode, 3, "status")
    contains(done.stderr, "sh has no regions; only samples are taken", "SP_REGION_BEGIN", "sp_region.h")
    profile = Profile(into / "out/sh_rank00000.h5")
    equal(len(profile.start), 0, "calls")
    check(len(profile.sample_time) > 20, f"{len(profile.sample_time)} samples")


def stripped(into):
    """Notes and descriptors survive strip."""
    program = into / "family"
    shutil.copy(FAMILY, program)
    equal(run(["strip", "--strip-all", program]).returncode, 0, "status of strip")
    done = trace("-o", into / "out", "--", program, "fork")
    equal(done.returncode, 0, "status")
    equal(Profile(into / "out/family_rank00000.h5").count(), {"child": 1001, "around fork": 2}, "calls")


def listing(into):
    done = trace("--list", FAMILY)
    equal(done.returncode, 0, "status")
    contains(done.stdout, "around fork", "killed inside", "family.c:")
    equal(trace("--list", "/bin/sh").returncode, 0, "status of a program without regions")
    for path, word in (("/none", "No such file"), ("/etc/passwd", "ELF"), ("/", "")):
        done = trace("--list", path)
        equal(done.returncode, 1, f"status of --list {path}")
        contains(done.stderr, path, word)
    target = start([FAMILY, "loop"])
    done = trace("--list", "-p", target.pid)
    equal(done.returncode, 0, "status of --list -p")
    contains(done.stdout, "child", "family.c:")
    gone = start(["true"])
    gone.wait()
    done = trace("--list", "-p", gone.pid)
    equal(done.returncode, 1, "status of --list -p of a process that is gone")
    contains(done.stderr, str(gone.pid))


@everywhere
def damaged(into):
    """A program whose notes are nonsense runs as it would untraced, and its user is told."""
    data = bytearray(FAMILY.read_bytes())
    at = data.index(b"stapsdt\0")
    data[at - 12:at - 4] = (0xFFFFFFF0).to_bytes(4, "little") * 2
    program = into / "broken"
    program.write_bytes(data)
    program.chmod(0o755)
    done = trace("-o", into / "out", "--", program, "exit", 4)
    equal(done.returncode, 4, f"status: {done.stderr}")
    contains(done.stderr, "broken", "region")


main(not_root, poor_kernels, usage, without_probes, stripped, listing, damaged)
