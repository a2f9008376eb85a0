# SPDX-License-Identifier: BSD-2-Clause
"""elf_fuzz_test.py - runs the fuzzer of the ELF helper: briefly, or for five minutes with SP_TEST_FULL=1."""
import argparse
import os
import shutil
import subprocess
import sys

import programs

# The smallest file that has everything, so that the fuzzer's changes hit something.
SEED = """
	.text
	.globl _start
	.balign 16
_start:	.byte 0x90,0x0f,0x1f,0x44,0,0,0xc3,1
	.4byte base-.
	.balign 16,0x90
	.fill 64,1,0x90
	.section .probes,"aw"
sema:	.2byte 0
	.section sp_level,"aw"
level:	.2byte 0
	.section .stapsdt.base,"a"
base:	.space 1
	.section .rodata
name:	.asciz "name"
file:	.asciz "file.c"
	.section sp_desc,"a"
	.balign 4
991:	.4byte name-991b,file-991b,0,0,5,level-991b,0x01000000,0
992:	.4byte name-992b,file-992b,name-992b,name-992b,6,level-992b,0x01000004,0
	.section .note.stapsdt,"","note"
	.balign 4
	.4byte 982f-981f,984f-983f,3
981:	.asciz "stapsdt"
982:	.balign 4
983:	.8byte _start,base,sema
	.asciz "sp"
	.asciz "begin"
	.asciz "8@%rdi 8@%rsi 8@%rdx 8@%rcx"
984:	.balign 4
"""

parser = argparse.ArgumentParser()
for option in ("fuzzer", "include", "work"):
    parser.add_argument("--" + option, required=True)
args = parser.parse_args()
if not programs.have("gcc"):
    print("gcc is missing")
    sys.exit(77)
corpus = os.path.join(args.work, "corpus")
shutil.rmtree(corpus, ignore_errors=True)
os.makedirs(corpus)
seed = programs.write(os.path.join(args.work, "seed.s"), SEED)
path = programs.build(args.work, args.include, "seed",
                      ["gcc", "-nostdlib", "-static", "-Wl,-z,noseparate-code", "-Wl,-N", "-Wl,--build-id"], [seed])
shutil.copy(path, corpus)
for name in ("pie", "lld-nopie"):
    path = programs.build(args.work, args.include, name)
    if path:
        subprocess.run(["strip", "-o", os.path.join(corpus, name), path], check=True)
limit = ["-max_total_time=300"] if os.environ.get("SP_TEST_FULL") == "1" else ["-max_total_time=8"]
sys.exit(subprocess.run([args.fuzzer, "-seed=1", "-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1",
                         "-artifact_prefix=" + args.work + "/"] + limit + [corpus]).returncode)
