#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""disk.py - the place to write to goes bad: full, over quota, read-only, removed, moved. The recording ends
cleanly, says why, keeps all so far, and the program goes on to its right end."""
import contextlib
import ctypes
import os
import shutil
import signal
import struct
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/../lib")
from e2e import (SP_REPORT, SP_TRACE, check, contains, equal, everywhere, files, finish, good, have, main,
                 need_root, need_scope_profiler, run, start, start_trace, stop_trace, trace, wait_for, wait_said)

need_root()
need_scope_profiler()
from journal import Journal
from recording import Profile
from sums import check_disarmed, check_exact, end_sums, losses, start_sums

NOBODY = 65534


@contextlib.contextmanager
def tmpfs(into, size):
    disk = into / "disk"
    disk.mkdir()
    good(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk])
    try:
        yield disk
    finally:
        good(["umount", "-l", disk])


@contextlib.contextmanager
def disk_image(into, megabytes, make, options):
    """A file system in a file; None where the machine cannot mount it."""
    disk, image = into / "disk", into / "image"
    disk.mkdir()
    with open(image, "wb") as file:
        file.truncate(megabytes << 20)
    good([*make, image])
    mounted = run(["mount", "-o", options, image, disk])
    if mounted.returncode:
        print(f"not available: {mounted.stderr.strip().splitlines()[0]}")
        yield None
        return
    try:
        yield disk
    finally:
        good(["umount", "-l", disk])


def ext4(into, megabytes, make=(), options="loop"):
    return disk_image(into, megabytes, ["mkfs.ext4", "-q", "-F", *make], options)


def ended_by_disk(recorder, target, ledger, directory, word):
    """A recorder that met a write error: it ends by itself, the program does not."""
    status, _, said = finish(recorder)
    equal(status, 1, f"status: {said}")
    contains(said, f"cannot write to {directory}", word, "what was written so far is kept")
    check(target.poll() is None, "the program ended with its recording")
    check_disarmed(target)
    return said


def check_saved(into, journal, ledger):
    """All whole blocks of the journal, in files made elsewhere, with the loss that ended it."""
    calls = Journal(journal).calls()
    done = good([SP_REPORT, "recover", "--keep-journal", "-o", into / "saved", journal])
    profile = Profile(into / "saved/sums_rank00000.h5")
    equal(len(profile.start), len(calls), "calls in the files, and in whole blocks")
    check(1000 < len(calls) <= ledger.entered(), f"{len(calls)} calls of {ledger.entered()}")
    print(f"{len(calls)} calls saved; {losses(profile)}")
    return profile, done.stderr


@everywhere
def full(into):
    """Disk full while recording, then space is made."""
    with tmpfs(into, "640k") as disk:
        target, ledger = start_sums(into, "run", 2, 0, 50)
        recorder = start_trace("-F", 997, "--max-disk-use", 100, "-o", disk / "out", pid=target.pid)
        ledger.go()
        ended_by_disk(recorder, target, ledger, disk / "out", "No space left on device")
        equal(files(disk / "out"), ["journal.spj"], "what is left")
        profile, said = check_saved(into, disk / "out/journal.spj", ledger)
        good(["mount", "-o", "remount,size=64m", disk])
        good([SP_REPORT, "recover", disk / "out"])
        equal(len(Profile(disk / "out/sums_rank00000.h5").start), len(profile.start), "calls, recovered in place")
        end_sums(target, ledger)


def full_at_start(into):
    """No room for a first byte: the command is not started."""
    with tmpfs(into, "64k") as disk:
        (disk / "ballast").write_bytes(bytes(64 << 10))
        done = trace("--max-disk-use", 100, "-o", disk / "out", "--", "touch", into / "started")
        equal(done.returncode, 1, f"status: {done.stderr}")
        contains(done.stderr, "No space left on device", "-o DIR")
        check(not (into / "started").exists(), "the command was started")
        check(not (disk / "out").exists(), "a directory was left behind")


def full_in_conversion(into):
    """The journal fits, the files do not: it is kept, whole, and makes them when there is room."""
    with tmpfs(into, "48m") as disk:
        target, ledger = start_sums(into, "run", 2, 20000, 0)
        recorder = start_trace("-F", 0, "--max-disk-use", 100, "--formats", "h5,sps,spt", "-o", disk / "out", pid=target.pid)
        ledger.go()
        wait_for(ledger.done, "the work")
        time.sleep(0.2)
        room = os.statvfs(disk)
        with contextlib.suppress(OSError), open(disk / "ballast", "wb", buffering=0) as file:
            file.write(bytes(room.f_bavail * room.f_frsize - (256 << 10)))
        recorder.send_signal(signal.SIGTERM)
        status, _, said = finish(recorder)
        equal(status, 1, f"status: {said}")
        contains(said, "No space left on device", "sp-report recover", "journal.spj")
        equal([f for f in files(disk / "out") if f != "spt"], ["journal.spj"], "what is left")
        (disk / "ballast").unlink()
        good([SP_REPORT, "recover", disk / "out"])
        check_exact(Profile(disk / "out/sums_rank00000.h5"), ledger)
        equal(files(disk / "out"), ["sums_rank00000.h5", "sums_rank00000.sps"], "files")
        end_sums(target, ledger)


def set_quota(device, user, kib):
    """quotactl(2): a hard limit of blocks. 0 or the errno."""
    libc = ctypes.CDLL(None, use_errno=True)
    block = struct.pack("<8QI4x", kib, 0, 0, 0, 0, 0, 0, 0, 1)  # QIF_BLIMITS
    q_setquota = 0x800008 << 8
    return 0 if libc.quotactl(q_setquota, os.fsencode(device), user, block) == 0 else ctypes.get_errno()


@contextlib.contextmanager
def with_quota(into):
    """(directory with little room, how to lift the limit), from what the machine has."""
    with ext4(into, 64, ["-O", "quota", "-E", "quotatype=usrquota"], "loop,usrquota") as disk:
        if disk:
            device = good(["findmnt", "-n", "-o", "SOURCE", disk]).stdout.strip()
            failed = set_quota(device, NOBODY, 1024)
            if not failed:
                disk.chmod(0o777)
                yield disk, lambda: equal(set_quota(device, NOBODY, 0), 0, "lifting the quota")
                return
            print(f"not available: quota of ext4: {os.strerror(failed)}")
    (into / "image").unlink()
    (into / "disk").rmdir()
    if not have("mkfs.btrfs"):
        yield None, None
        return
    with disk_image(into, 160, ["mkfs.btrfs", "-q"], "loop") as disk:
        if not disk:
            yield None, None
            return
        good(["btrfs", "subvolume", "create", disk / "small"])
        good(["btrfs", "quota", "enable", disk])
        good(["btrfs", "qgroup", "limit", "1M", disk / "small"])
        (disk / "small").chmod(0o777)
        yield disk / "small", lambda: good(["btrfs", "qgroup", "limit", "none", disk / "small"])


def quota(into):
    """Of the user who records, or of a directory. Of ext4's quotas root is free, unless it lacks CAP_SYS_RESOURCE."""
    with with_quota(into) as (disk, lift):
        if not disk:
            return
        environment = {**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}
        target, ledger = start_sums(into, "run", 2, 0, 20)
        recorder = start(["setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource", SP_TRACE, "-F", 0,
                          "-o", disk / "out", "-p", target.pid], env=environment)
        wait_said(recorder, "recording; Ctrl-C ends it")
        ledger.go()
        ended_by_disk(recorder, target, ledger, disk / "out", "Disk quota exceeded")
        lift()
        check_saved(into, disk / "out/journal.spj", ledger)
        good([SP_REPORT, "recover", disk / "out"])
        end_sums(target, ledger)


def read_only(into):
    """A file system that turns read-only, as after an error of its disk; and one that is so from the start."""
    with ext4(into, 64) as disk:
        if not disk:
            return
        target, ledger = start_sums(into, "run", 2, 0, 200)
        recorder = start_trace("-F", 497, "-o", disk / "out", pid=target.pid)
        ledger.go()
        time.sleep(0.3)
        aborted = run(["mount", "-o", "remount,abort", disk])
        print(f"remount,abort: {aborted.returncode} {aborted.stderr.strip()}")
        ended_by_disk(recorder, target, ledger, disk / "out", "Read-only file system")
        check_saved(into, disk / "out/journal.spj", ledger)
        end_sums(target, ledger)
        done = trace("-o", disk / "new", "--", "touch", into / "started")
        equal(done.returncode, 1, f"status: {done.stderr}")
        contains(done.stderr, "Read-only file system", "-o DIR")
        check(not (into / "started").exists(), "the command was started")


def removed(into):
    """The output directory is removed: recording ends, and all so far is written where it was."""
    target, ledger = start_sums(into, "run", 2, 0, 200)
    ledger.go()
    for name, break_it in (("all", lambda d: shutil.rmtree(d)),
                           ("journal", lambda d: (d / "journal.spj").unlink()),
                           ("above", lambda d: shutil.rmtree(d.parent))):
        out = into / name / "out"
        before = ledger.left()
        recorder = start_trace("-F", 997, "-o", out, pid=target.pid)
        began = ledger.left()
        time.sleep(0.3)
        after = ledger.left()
        break_it(out)
        status, _, said = finish(recorder)
        equal(status, 1, f"status: {said}")
        contains(said, "journal.spj was removed")
        equal(files(out), ["sums_rank00000.h5", "sums_rank00000.sps"], f"files after {name} was removed: {said}")
        count = len(Profile(out / "sums_rank00000.h5").start)
        most = ledger.entered() - before + 4  # two threads may have been in two calls each
        check(after - began <= count <= most, f"{count} calls, not {after - began} to {most}")
        check_disarmed(target)
    end_sums(target, ledger)


def removed_for_good(into):
    """It cannot be made again: the files go to the working directory, which is said."""
    with tmpfs(into, "16m") as disk:
        target, ledger = start_sums(into, "run", 2, 0, 200)
        recorder = start_trace("-F", 0, "-o", disk / "out", pid=target.pid)
        ledger.go()
        time.sleep(0.3)
        (into / "other").mkdir()
        good(["mount", "-o", "bind", disk, into / "other"])
        good(["mount", "-o", "bind", disk, disk])
        good(["mount", "-o", "remount,bind,ro", disk])  # this way to it alone; the recorder's file stays writable
        try:
            shutil.rmtree(into / "other/out")
            status, _, said = finish(recorder)
        finally:
            good(["umount", "-l", disk])
            good(["umount", "-l", into / "other"])
        equal(status, 1, f"status: {said}")
        contains(said, "journal.spj was removed", "Read-only file system", "sums.sp/journal.spj")
        equal(files(into / "sums.sp"), ["sums_rank00000.h5", "sums_rank00000.sps"], "files in the working directory")
        check_disarmed(target)
        end_sums(target, ledger)


def moved(into):
    """The output directory is renamed while recording: the files go to where it is now."""
    target, ledger = start_sums(into, "run", 2, 2000, 100)
    recorder = start_trace("-F", 0, "-o", into / "old", pid=target.pid)
    ledger.go()
    time.sleep(0.1)
    (into / "old").rename(into / "new")
    (into / "old").mkdir()
    wait_for(ledger.done, "the work")
    said = stop_trace(recorder)
    contains(said, f"{into}/new/sums_rank00000.h5")
    equal((files(into / "new"), files(into / "old")), (["sums_rank00000.h5", "sums_rank00000.sps"], []), "files")
    check_exact(Profile(into / "new/sums_rank00000.h5"), ledger)
    end_sums(target, ledger)


def out_of_reach(into):
    """Its file system is unmounted while somebody is in it, or another is mounted over it: the files are made anew
    under that name."""
    target, ledger = start_sums(into, "run", 2, 0, 200)
    ledger.go()
    for name, command in (("unmounted", ["umount", "-l"]), ("over", ["mount", "-t", "tmpfs", "tmpfs"])):
        (into / name).mkdir()
        with tmpfs(into / name, "16m") as disk, contextlib.ExitStack() as undo:
            recorder = start_trace("-F", 0, "-o", disk / "out", pid=target.pid)
            began = ledger.left()
            time.sleep(0.3)
            good([*command, disk])
            undo.callback(run, ["umount", "-l", disk])
            after = ledger.left()
            said = stop_trace(recorder)
            contains(said, f"nothing leads to {disk}/out/journal.spj any more", f"written again, to {disk}/out/journal.spj")
            equal(files(disk / "out"), ["sums_rank00000.h5", "sums_rank00000.sps"], f"files, {name}: {said}")
            check(len(Profile(disk / "out/sums_rank00000.h5").start) >= after - began, f"calls, {name}")
            check_disarmed(target)
            if name == "unmounted":
                undo.pop_all()
                good(["mount", "-t", "tmpfs", "tmpfs", disk])  # for tmpfs() to take off
    end_sums(target, ledger)


main(full, full_at_start, full_in_conversion, quota, read_only, removed, removed_for_good, moved, out_of_reach)
