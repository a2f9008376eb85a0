# SPDX-License-Identifier: BSD-2-Clause
"""machine.py - one virtual machine: started, watched, ended.

Software emulation, on one thread of the host: with a thread for each processor, Debian's kernels lock up now
and then. Its clock counts instructions (2 ns each), so that a busy host does not make its programs late: that
costs it a third of its speed, and buys tests that do not fail by chance. The machine sees the host's file
system read-only and one directory of its own, where its output and status appear.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import image
from packages import Error, Missing

QEMU = {
    "amd64": ["qemu-system-x86_64"],
    "arm64": ["qemu-system-aarch64", "-M", "virt"],
}
PACKAGE = {"amd64": "qemu-system-x86", "arm64": "qemu-system-arm"}
CONSOLE = {"amd64": "ttyS0", "arm64": "ttyAMA0"}
# A kernel that stumbles ends the test. The second processor is started by init: early in the boot, with a clock
# that counts instructions, 6.1 waits for it forever.
KERNEL_LINE = "edd=off maxcpus=1 loglevel=5 panic=-1 oops=panic mitigations=off random.trust_cpu=on"


def busybox():
    found = shutil.which("busybox")
    if not found:
        raise Missing("busybox is missing; install the package busybox-static")
    return found


class Machine:
    """The result's status: that of the command, or an Error."""

    def __init__(self, name, arch, kernel, command, seconds, busybox, root="/", project=""):
        """`root` becomes the machine's root; `project` lies there under the same name, where it is not part of it."""
        self.name, self.seconds = name, seconds
        if not shutil.which(QEMU[arch][0]):
            raise Missing(f"{QEMU[arch][0]} is missing; install the package {PACKAGE[arch]}")
        self.out = pathlib.Path(tempfile.mkdtemp(prefix="sp-vm-"))
        settings = f"PROJECT={quote(project)}\nCOMMAND={quote(command)}\n"
        (self.out / "initrd").write_bytes(
            image.build(kernel, busybox, pathlib.Path(__file__).parent.parent / "init", settings))
        (self.out / "share").mkdir()
        (vmlinuz,) = pathlib.Path(kernel).glob("boot/vmlinu*")
        self.command = [
            *QEMU[arch], "-accel", "tcg,thread=single", "-icount", "shift=1", "-cpu", "max", "-m", "2048", "-smp", "2",
            "-nographic", "-no-reboot", "-nic", "none", "-monitor", "none", "-serial", f"file:{self.out}/console",
            "-kernel", str(vmlinuz), "-initrd", f"{self.out}/initrd",
            "-append", f"console={CONSOLE[arch]} {KERNEL_LINE}",
            "-virtfs", f"local,path={root},mount_tag=host,security_model=none,readonly=on,multidevs=remap",
            "-virtfs", f"local,path={self.out}/share,mount_tag=out,security_model=none",
        ]
        if project:
            self.command += ["-virtfs", f"local,path={project},mount_tag=project,security_model=none,readonly=on"]

    def _read(self, name):
        try:
            return (self.out / name).read_text(errors="replace")
        except OSError:
            return ""

    def console_tail(self):
        lines = [line for line in self._read("console").splitlines() if line.strip()]
        return "\n".join(f"    {line}" for line in lines[-25:])

    def _show(self, shown):
        """What the tests have said since."""
        said = self._read("share/output")
        sys.stdout.write(said[shown:])
        sys.stdout.flush()
        return len(said)

    def run(self):
        """Shows what the command says, and gives its status."""
        until, shown = time.monotonic() + self.seconds, 0
        qemu = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        try:
            while qemu.poll() is None:
                if time.monotonic() > until:
                    raise Error(f"{self.name} did not end within {self.seconds} s and was switched off; its console "
                                f"ends with:\n{self.console_tail()}")
                time.sleep(0.2)
                shown = self._show(shown)
        finally:
            if qemu.poll() is None:
                qemu.kill()
            said = qemu.communicate()[0]
        self._show(shown)
        if qemu.returncode:
            raise Error(f"QEMU ended with {qemu.returncode} for {self.name}: {said.strip()}")
        status = self._read("share/status").strip()
        if not status.isdigit():
            raise Error(f"{self.name} ended before its tests did; its console ends with:\n{self.console_tail()}")
        return int(status)

    def remove(self):
        shutil.rmtree(self.out, ignore_errors=True)


def quote(text):
    return "'" + str(text).replace("'", "'\\''") + "'"
