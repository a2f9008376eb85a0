#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""hostile.py - programs and circumstances that mean harm: whoever is recorded gains no right by it, and
no others are held up or lose anything."""
import os
import subprocess
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import PROGRAMS, check, equal, main, need_root, need_scope_profiler, need_tool, trace

need_root()
need_scope_profiler()
need_tool("gcc")
from recording import Profile

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


main(audited)
