# SPDX-License-Identifier: BSD-2-Clause
"""unwind_mutate_test.py - builds programs of several kinds and damages their call frame information in thousands of
ways (unwind_mutate_test.c). SP_TEST_FULL=1 does fifty times as many."""
import argparse
import os
import subprocess
import sys

import programs

SOURCE = r"""
#include <alloca.h>
#include <string.h>
#if defined(__x86_64__)
asm(".text\n.type code,@function\ncode: push %rbp\nsub $96,%rsp\nmov %rbx,(%rsp)\nmov %rsp,%rbx\nsub $4096,%rsp\n"
    "and $-64,%rsp\ntest %rdi,%rdi\njz 2f\n1: dec %rdi\njnz 1b\n2: mov %rbx,%rsp\nmov (%rsp),%rbx\nadd $96,%rsp\n"
    "pop %rbp\nret\n.size code,.-code\n");
#endif
__attribute__((noinline)) int sink(char *p) { return *(volatile char *)p; }
__attribute__((noinline)) int f(int n)
{
	double a[4] __attribute__((aligned(64)));
	char *p = alloca(n);
	memset(p, n, n);
	memset(a, n, sizeof(a));
	return sink(p) + sink((char *)a);
}
int main(int argc, char **argv) { return f(argc + 8) + !argv; }
"""
KINDS = {"mutate-pie": ["gcc", "-O2"], "mutate-nopie": ["gcc", "-O2", "-no-pie", "-fno-pie", "-s"],
         "mutate-debug": ["gcc", "-O2", "-g", "-fno-asynchronous-unwind-tables"],
         "mutate-gz": ["gcc", "-O2", "-g", "-gz=zlib", "-fno-asynchronous-unwind-tables"],
         "mutate-aarch64": ["aarch64-linux-gnu-gcc", "-O2"]}


def build(work):
    """The programs that can be built here."""
    os.makedirs(work, exist_ok=True)
    source = programs.write(os.path.join(work, "mutate.c"), SOURCE)
    found = []
    for name, command in KINDS.items():
        out = os.path.join(work, name)
        if programs.have(command[0]) and subprocess.run(command + ["-w", source, "-o", out]).returncode == 0:
            found.append(out)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("test", "work"):
        parser.add_argument("--" + option, required=True)
    args = parser.parse_args()
    if not programs.have("gcc"):
        print("gcc is missing")
        sys.exit(77)
    rounds = 100000 if os.environ.get("SP_TEST_FULL") == "1" else 2000
    sys.exit(subprocess.run([args.test, str(rounds)] + build(args.work)).returncode)
