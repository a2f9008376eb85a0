# SPDX-License-Identifier: BSD-2-Clause
"""packages.py - Debian packages of other releases and architectures, unpacked into a directory of ours.

apt works on a configuration and lists of its own; the machine's are only read, for the mirror's address. What
was fetched is kept: a second run needs no network.
"""
import pathlib
import re
import shutil
import subprocess


class Error(Exception):
    """A sentence that names what went wrong."""


class Missing(Error):
    """What is needed cannot be had here."""


def mirror():
    """The address of the Debian mirror that this machine uses."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"],
                          capture_output=True, text=True)
    found = [line.split() for line in done.stdout.splitlines()]
    for address, release, component in found:
        # "bookworm", and not its updates, nor another vendor's repository.
        if component == "main" and re.fullmatch("[a-z]+", release) and re.search(r"/debian/?$", address):
            return address
    raise Missing("the apt sources of this machine name no Debian mirror (…/debian, component main)")


class Apt:
    """One release and architecture."""

    def __init__(self, directory, release, arch):
        self.base = pathlib.Path(directory) / "apt" / f"{release}-{arch}"
        self.release, self.arch = release, arch
        self.options = ["-q", "-c", str(self.base / "apt.conf")]

    def _configure(self):
        for name in ("etc", "state/lists/partial", "cache/archives/partial"):
            (self.base / name).mkdir(parents=True, exist_ok=True)
        (self.base / "status").touch()
        (self.base / "etc/sources.list").write_text(f"deb {mirror()} {self.release} main\n")
        (self.base / "apt.conf").write_text("".join(f'{key} "{value}";\n' for key, value in (
            ("APT::Architecture", self.arch),
            ("Dir::State", self.base / "state"),
            ("Dir::State::status", self.base / "status"),
            ("Dir::Cache", self.base / "cache"),
            ("Dir::Etc::sourcelist", self.base / "etc/sources.list"),
            ("Dir::Etc::sourceparts", "-"),
            ("Dir::Etc::preferences", "-"),
            ("Dir::Etc::preferencesparts", "-"),
            ("APT::Sandbox::User", ""),
            ("APT::Install-Recommends", "false"),
            ("Acquire::Languages", "none"),
            ("Acquire::Retries", "3"),
            ("Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled", "false"),
            ("Debug::NoLocking", "true"),
        )) + f'#clear APT::Architectures;\nAPT::Architectures {{ "{self.arch}"; }};\n')

    def _run(self, *command):
        done = subprocess.run([command[0], *self.options, *command[1:]], capture_output=True, text=True,
                              cwd=self.base, stdin=subprocess.DEVNULL)
        if done.returncode:
            said = (done.stdout + done.stderr).strip().splitlines()
            raise Missing(f"{' '.join(command)} for Debian {self.release} ({self.arch}) failed: "
                        f"{said[-1] if said else 'it said nothing'}")
        return done.stdout

    def update(self):
        self._configure()
        self._run("apt-get", "update")

    def depends(self, package, pattern):
        """The one package matching a pattern that a package depends on."""
        found = re.findall(r"Depends: (" + pattern + r")\s", self._run("apt-cache", "depends", package))
        if not found:
            raise Missing(f"{package} of Debian {self.release} ({self.arch}) depends on nothing like {pattern}")
        return found[0]

    def download(self, *packages):
        """Without what they depend on. Gives the files."""
        into = self.base / "cache/archives"
        done = subprocess.run(["apt-get", *self.options, "download", *packages], capture_output=True, text=True,
                              cwd=into)
        if done.returncode:
            raise Missing(f"cannot download {' '.join(packages)}: {done.stderr.strip()}")
        return [max(into.glob(f"{p}_*.deb"), key=lambda f: f.stat().st_mtime) for p in packages]

    def download_all(self, *packages):
        """With all that they depend on."""
        self._run("apt-get", "install", "-y", "--download-only", *packages)
        return sorted((self.base / "cache/archives").glob("*.deb"))

    def clean(self):
        """Keeps nothing but what was unpacked."""
        shutil.rmtree(self.base, ignore_errors=True)


def unpack(deb, into):
    subprocess.run(["dpkg-deb", "-x", str(deb), str(into)], check=True)


def unpacked(directory, make):
    """The directory as make(into) fills it, once: what a run that was broken off left does not count."""
    directory = pathlib.Path(directory)
    if not directory.exists():
        part = directory.with_name(directory.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        make(part)
        part.rename(directory)
    return directory


def kernel(directory, release, arch):
    """The directory of a release's kernel: boot/vmlinuz-* and (usr/)lib/modules/*."""
    def make(into):
        apt = Apt(directory, release, arch)
        apt.update()
        name = apt.depends(f"linux-image-{arch}", r"linux-image-\d[^\s]*")
        for deb in apt.download(name):
            unpack(deb, into)
        apt.clean()
    return unpacked(pathlib.Path(directory) / f"kernel-{release}-{arch}", make)
