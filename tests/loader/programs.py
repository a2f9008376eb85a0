# SPDX-License-Identifier: BSD-2-Clause
"""programs.py - the instrumented programs of the loader's tests, built in every kind of link."""
import os
import shutil
import subprocess
import sys

# Two translation units, so that probes and descriptors of both are merged by the linker.
MAIN = r"""
#include "sp_region.h"
#include <unistd.h>
int other(int x);
static int leaf(int x)
{
	SP_REGION_FUNCTION();
	return x * 2;
}
static inline __attribute__((always_inline)) int inlined(int x)
{
	SP_REGION_SCOPE("inlined");
	return leaf(x) + 1;
}
int main(int argc, char **argv)
{
	int x = 0;
	(void)argv;
	SP_REGION_BEGIN_TAGGED("outer \"q\" {%d} \\ \xc3\xbc", "io,checkpoint");
	x += inlined(argc);
	x += inlined(x);
	SP_REGION_END("outer \"q\" {%d} \\ \xc3\xbc");
	SP_REGION_BEGIN("work");
	x += other(x);
	SP_REGION_END("work");
	if (argc > 1) {
		write(1, "ready", 6);
		pause();
	}
	return x < 0;
}
"""
OTHER = r"""
#include "sp_region.h"
int other(int x);
int other(int x)
{
	SP_REGION_BEGIN("work");
	x++;
	SP_REGION_END("work");
	SP_REGION_SCOPE_TAGGED("scoped", "mpi");
	return x;
}
"""
# name of the region -> (file, tags, kinds that some site has)
REGIONS = {
    'outer "q" {%d} \\ \u00fc': ("main.c", "io,checkpoint"),
    "leaf": ("main.c", ""),
    "inlined": ("main.c", ""),
    "work": ("main.c", ""),
    "scoped": ("other.c", "mpi"),
}

LINKS = {
    "pie": ["gcc", "-O2", "-fPIE", "-pie"],
    "nopie": ["gcc", "-O2", "-fno-pie", "-no-pie"],
    "static": ["gcc", "-O2", "-static"],
    "static-pie": ["gcc", "-O2", "-fPIE", "-static-pie"],
    "O0": ["gcc", "-O0"],
    "lto": ["gcc", "-O2", "-flto"],
    "gold": ["gcc", "-O2", "-fuse-ld=gold"],
    "gold-gc": ["gcc", "-O2", "-fuse-ld=gold", "-ffunction-sections", "-Wl,--gc-sections"],
    "lld": ["gcc", "-O2", "-fuse-ld=lld"],
    "lld-nopie": ["gcc", "-O2", "-fuse-ld=lld", "-fno-pie", "-no-pie"],
    "clang": ["clang", "-O2"],
    "clang-lld": ["clang", "-O2", "-fuse-ld=lld", "-Wl,-z,separate-loadable-segments"],
    "cet": ["gcc", "-O2", "-fcf-protection=full"],
    "aarch64": ["aarch64-linux-gnu-gcc", "-O2"],
}


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def have(tool):
    """What is missing leaves out a part of a test, and fails it where everything must be there."""
    found = shutil.which(tool) is not None
    if not found and os.environ.get("CI") == "true":
        sys.exit(f"{tool} is missing, and CI=true")
    return found


def linker_there(command):
    return all(have("ld." + a.split("=")[1]) for a in command if a.startswith("-fuse-ld="))


def build(work, include, name, command=None, sources=None, extra=()):
    """Builds one program; None where its compiler or linker is not installed."""
    command = command or LINKS[name]
    if not have(command[0]) or not linker_there(command):
        return None
    os.makedirs(work, exist_ok=True)
    if sources is None:
        sources = [write(os.path.join(work, "main.c"), MAIN), write(os.path.join(work, "other.c"), OTHER)]
    out = os.path.join(work, name)
    newest = max(os.path.getmtime(p) for p in [os.path.join(include, "sp_region.h")])
    if os.path.exists(out) and os.path.getmtime(out) > newest and os.path.getmtime(out) > os.path.getmtime(__file__):
        return out
    subprocess.run(command + ["-I" + include, "-Wno-unused-result"] + sources + ["-o", out] + list(extra),
                   check=True)
    return out
