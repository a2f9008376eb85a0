#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""sudo.py - under sudo the command runs as the invoking user, with groups, home and environment, and
the files are that user's; what that user may not do, root does not do for them."""
import os
import pathlib
import pwd
import re
import shutil
import sys
import tempfile

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import (PROGRAMS, SP_REPORT, SP_TRACE, check, contains, equal, everywhere, files, good, main, need_root,
                 need_scope_profiler, need_tool, run)

need_root()
need_scope_profiler()
need_tool("sudo", "useradd", "groupadd", "setpriv")
from recording import Profile

USER, GROUP = "sptest", "sptestgroup"
CALLS = str(PROGRAMS / "calls")
FAMILY = str(PROGRAMS / "family")


class User:
    """A user with a group more than their own, and sudo without a password; gone at the end."""

    def __enter__(self):
        self.__exit__()
        good(["groupadd", GROUP])
        # Not under a build folder, which the user may not be able to enter.
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="sp-e2e-"))
        good(["useradd", "-M", "-d", self.home, "-s", "/bin/sh", "-G", GROUP, USER])
        self.entry = pwd.getpwnam(USER)
        os.chown(self.home, self.entry.pw_uid, self.entry.pw_gid)
        self.programs = self.home / "programs"  # readable for the user, wherever the build is
        self.programs.mkdir()
        for program in (CALLS, FAMILY, SP_REPORT):
            shutil.copy(program, self.programs)
        self.rules = pathlib.Path("/etc/sudoers.d/sp-e2e")
        self.rules.write_text(f"{USER} ALL=(root) NOPASSWD: {SP_TRACE}\n")  # nobody can be this user but root
        self.rules.chmod(0o440)
        return self

    def __exit__(self, *_):
        pathlib.Path("/etc/sudoers.d/sp-e2e").unlink(missing_ok=True)
        run(["userdel", USER])
        run(["groupdel", GROUP])
        if hasattr(self, "home"):
            shutil.rmtree(self.home, ignore_errors=True)

    def run(self, *command, **options):
        """As the user, with the groups of a login."""
        options.setdefault("cwd", self.home)
        return run(["setpriv", f"--reuid={self.entry.pw_uid}", f"--regid={self.entry.pw_gid}", "--init-groups",
                    "env", f"HOME={self.home}", f"USER={USER}", *command], **options)

    def trace(self, *arguments, **options):
        return self.run("sudo", SP_TRACE, *arguments, **options)


def owners(path):
    return {(p.stat().st_uid, p.stat().st_gid) for p in (path, *path.iterdir())}


def as_the_user(into):
    with User() as user:
        mine = (user.entry.pw_uid, user.entry.pw_gid)
        done = user.trace("--", "sh", "-c", f"id -u; id -g; id -Gn; echo $HOME; echo $USER; pwd; "
                          f"{user.programs}/family surroundings | grep -E '^(Cap|NoNew)'; {user.programs}/family exit 7")
        equal(done.returncode, 7, f"status: {done.stderr}")
        lines = done.stdout.splitlines()
        equal(lines[:2], [str(n) for n in mine], "user and group of the command")
        equal(set(lines[2].split()), {USER, GROUP}, "groups of the command")
        equal(lines[3:6], [str(user.home), USER, str(user.home)], "home, user and folder of the command")
        plain = user.run(f"{user.programs}/family", "surroundings").stdout.splitlines()
        equal(lines[6:], [x for x in plain if re.match("Cap|NoNew", x)], "rights of the command")
        equal(files(user.home / "sh.sp"), ["sh_rank00000.h5", "sh_rank00000.sps"], "files")
        equal(owners(user.home / "sh.sp"), {mine}, "owners of the files")
        read = user.run(user.programs / "sp-report", "summary", user.home / "sh.sp")
        equal(read.returncode, 0, f"status of sp-report as the user: {read.stderr}")
        contains(read.stdout, "exit")
        profile = Profile(user.home / "sh.sp/sh_rank00000.h5")
        equal(profile.metadata["user"], USER, "user in the file")


@everywhere
def as_root(into):
    with User() as user:
        done = user.trace("--as-root", "-o", user.home / "out", "--", "sh", "-c", f"id -u; {user.programs}/family exit 0")
        equal((done.returncode, done.stdout), (0, "0\n"), f"status and user id: {done.stderr}")
        equal(owners(user.home / "out"), {(0, 0)}, "owners of the files")


def sudo_u(into):
    """root by su, or root's own sudo: no other user is meant."""
    env = {**os.environ, "SUDO_UID": "0", "SUDO_GID": "0", "SUDO_USER": "root"}
    done = run([SP_TRACE, "-o", into / "out", "--", "id", "-u"], env=env)
    equal((done.returncode, done.stdout), (0, "0\n"), "status and user id")
    for bad in ("x", "-1", "4294967295", ""):  # of the environment, so anybody's to set
        done = run([SP_TRACE, "-o", into / f"bad{bad}", "--", "id", "-u"], env={**env, "SUDO_UID": bad})
        equal((done.returncode, done.stdout), (0, "0\n"), f"status and user id with SUDO_UID={bad}")


def forbidden(into):
    """Folders that the user may not write to, or only through a link."""
    with User() as user:
        secret = into / "secret"
        secret.mkdir(mode=0o700)
        into.chmod(0o755)
        for where in (secret / "out", secret, "/etc/sp-trace.sp"):
            done = user.trace("-o", where, "--", "touch", user.home / "started")
            equal(done.returncode, 1, f"status of -o {where}")
            contains(done.stderr, "Permission denied", "-o DIR")
        os.symlink(secret, user.home / "link")
        done = user.trace("-o", user.home / "link/out", "--", "touch", user.home / "started")
        equal(done.returncode, 1, "status of a folder behind the user's link")
        equal(files(secret), [], "files in the folder that is root's alone")
        check(not (user.home / "started").exists(), "the command was started")
        check(not os.path.exists("/etc/sp-trace.sp"), "a directory was made in /etc")
        # A program that the user may not read or run.
        (into / "hidden").mkdir(mode=0o700)
        shutil.copy(FAMILY, into / "hidden/family")
        done = user.trace("-o", user.home / "out", "--", into / "hidden/family", "exit", "0")
        check(done.returncode in (126, 127), f"status of a program that the user cannot reach: {done.returncode}")


def planted(into):
    """The user swaps the journal's and the final files' names for links: root follows none."""
    with User() as user:
        victim = into / "victim"
        victim.write_text("precious")
        into.chmod(0o755)
        out = user.home / "out"
        script = (f"cd {out} && ln -sf {victim} calls_rank00000.h5 && ln -sf {victim} calls_rank00000.sps; "
                  f"mv journal.spj j2 && ln -s {victim} journal.spj && mv j2 journal.spj; "
                  f"{user.programs}/calls {user.home}/log 1 1000 0")
        done = user.trace("-o", out, "--", "sh", "-c", script)
        equal(victim.read_text(), "precious", "a file of root's to which links were planted")
        print(f"status {done.returncode}: {done.stderr.strip()[-300:]}")
        done = user.trace("-o", user.home / "out2", "--", "sh", "-c",
                          f"rm {user.home}/out2/journal.spj; ln -s {victim} {user.home}/out2/journal.spj")
        equal(victim.read_text(), "precious", "a file of root's to which the journal was linked")
        check(done.returncode != 0 or "sp-report" in done.stderr, f"no word on a journal that vanished: {done.stderr}")


def own_process(into):
    """sudo sp-trace -p: the files are the user's, too."""
    with User() as user:
        done = user.run("sh", "-c", f"{user.programs}/calls log 1 0 200000 >/dev/null & pid=$!; sleep 0.5; "
                        f"sudo {SP_TRACE} --duration 500ms -p $pid; s=$?; kill $pid; exit $s")
        equal(done.returncode, 0, f"status: {done.stderr}")
        equal(owners(user.home / "calls.sp"), {(user.entry.pw_uid, user.entry.pw_gid)}, "owners of the files")
        check(len(Profile(user.home / "calls.sp/calls_rank00000.h5").start) > 100, "too few calls")


main(as_the_user, as_root, sudo_u, forbidden, planted, own_process)
