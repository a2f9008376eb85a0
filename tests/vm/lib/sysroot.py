# SPDX-License-Identifier: BSD-2-Clause
"""sysroot.py - a small Debian of another architecture: what programs are linked with there, and what runs the
tests. Packages are unpacked, nothing of them is executed here."""
import pathlib
import subprocess

from packages import Apt, unpacked

LINK = ("libc6-dev", "libbpf-dev", "libelf-dev", "libdw-dev", "libiberty-dev", "libseccomp-dev", "libhdf5-dev",
        "libdeflate-dev", "zlib1g-dev")
RUN = ("bash", "dash", "coreutils", "diffutils", "findutils", "grep", "sed", "gawk", "procps", "util-linux",
       "mount", "passwd", "hostname", "cmake", "python3", "python3-h5py", "libdebuginfod1", "iproute2", "base-passwd",
       "busybox-static")
MERGED = ("bin", "sbin", "lib")
PLACES = ("dev", "proc", "sys", "run", "tmp", "root", "out", "etc")


def extract(deb, into):
    """Through the links that make /bin and /usr/bin one."""
    reader = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", str(into)], stdin=reader.stdout,
                   check=True)
    if reader.wait():
        raise subprocess.CalledProcessError(reader.returncode, "dpkg-deb")


def finish(into, triplet):
    """What the packages' scripts would have done, as far as it is needed."""
    libraries = into / "usr/lib" / triplet
    for folder, name in (("blas", "libblas.so.3"), ("lapack", "liblapack.so.3")):
        if (libraries / folder / name).exists() and not (libraries / name).exists():
            (libraries / name).symlink_to(f"{folder}/{name}")
    (into / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
    (into / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
    if not (into / "usr/bin/awk").exists():
        (into / "usr/bin/awk").symlink_to("gawk")


def sysroot(directory, release, arch, triplet):
    def make(into):
        apt = Apt(directory, release, arch)
        apt.update()
        for place in MERGED:
            (into / "usr" / place).mkdir(parents=True)
            (into / place).symlink_to(f"usr/{place}")
        for place in PLACES:
            (into / place).mkdir()
        for deb in apt.download_all(*LINK, *RUN):
            extract(deb, into)
        finish(into, triplet)
        apt.clean()
    return unpacked(pathlib.Path(directory) / f"root-{release}-{arch}", make)
