# SPDX-License-Identifier: BSD-2-Clause
"""unwind_fuzz_test.py - runs the fuzzer of sp-unwind: briefly, or for five minutes with SP_TEST_FULL=1."""
import argparse
import os
import shutil
import subprocess
import sys

import programs

# The smallest files that have everything, so that the fuzzer's changes hit something.
SEED = """
	.text
	.globl _start
_start:	.cfi_startproc
	.cfi_undefined {ra}
	nop
	.cfi_endproc
	.cfi_startproc
	nop
	.cfi_adjust_cfa_offset 16
	.cfi_rel_offset {fp},0
	nop
	.cfi_def_cfa_register {fp}
	.cfi_remember_state
	nop
	.cfi_escape 0x0f,3,0x76,0x78,0x06
	.cfi_escape 0x10,6,2,0x76,0
	nop
	.cfi_restore_state
	.cfi_escape 0x2e,8
	nop
	.cfi_escape 0x0f,11,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22
	nop
	.cfi_endproc
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f,4,0x77,0xa0,1,6
	.cfi_escape 0x10,6,3,0x77,0xf8,0
	.cfi_escape 0x10,16,3,0x77,0xa8,1
	nop
	.cfi_endproc
"""

# A function that nobody describes, of which the code is read.
CODE = """
	.type code,@function
code:	push %rbp
	sub $96,%rsp
	mov %rbx,(%rsp)
	mov %rsp,%rbx
	sub $4096,%rsp
	and $-64,%rsp
	test %rdi,%rdi
	jz 2f
1:	vfmadd231pd 8(%rsp,%rax,1),%ymm0,%ymm1
	mov $1,%rax
	dec %rdi
	jnz 1b
2:	mov %rbx,%rsp
	mov (%rsp),%rbx
	add $96,%rsp
	pop %rbp
	ret
	.size code,.-code
"""

parser = argparse.ArgumentParser()
for option in ("fuzzer", "work"):
    parser.add_argument("--" + option, required=True)
args = parser.parse_args()
if not programs.have("gcc"):
    print("gcc is missing")
    sys.exit(77)
corpus = os.path.join(args.work, "corpus")
shutil.rmtree(corpus, ignore_errors=True)
os.makedirs(corpus)
for gcc, ra, fp in (("gcc", "rip", "rbp"), ("aarch64-linux-gnu-gcc", "x30", "x29")):
    for name, sections in (("eh", ".cfi_sections .eh_frame\n"), ("debug", ".cfi_sections .debug_frame\n"),
                           ("both", ".cfi_sections .eh_frame,.debug_frame\n")):
        source = programs.write(os.path.join(args.work, "seed.s"), sections + SEED.format(ra=ra, fp=fp) + (CODE if ra == "rip" else ""))
        if programs.have(gcc):
            subprocess.run([gcc, "-nostdlib", "-static", "-Wl,-z,noseparate-code", "-Wl,-N", "-Wl,--eh-frame-hdr",
                            "-Wl,--build-id=none", source, "-o", os.path.join(corpus, f"{gcc}-{name}")], check=True)
limit = ["-max_total_time=300"] if os.environ.get("SP_TEST_FULL") == "1" else ["-max_total_time=8"]
sys.exit(subprocess.run([args.fuzzer, "-seed=1", "-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1",
                         "-artifact_prefix=" + args.work + "/"] + limit + [corpus]).returncode)
