/* SPDX-License-Identifier: BSD-2-Clause
 *
 * selftest.h - where probes may be put on this kernel, tried on a program of our own.
 *
 * A uprobe on the 5-byte nop is turned into a call by Linux 6.18, half the cost of a breakpoint; by
 * other kernels it is single-stepped (many times the cost), refused, or accepted and never fired.
 * The fast place is used only if it was seen to be patched, to count every call, to leave all results
 * right, and to let a forked child enter regions; else the leading 1-byte nop, which must pass the same
 * test. (Linux 6.18 does not copy the page that a patched nop calls at fork, so that the child dies.)
 */
#ifndef SP_LOADER_SELFTEST_H
#define SP_LOADER_SELFTEST_H

#include <stdbool.h>

#include "loader/bpf.h"
#include "loader/unwind_known.h"

/* How it comes out, one sentence each: proven; corrupts; refused; never fires; hangs or crashes the
 * program; fires now and then; harms a forked child; works, but is not patched to a call. */
struct sp_selftest {
	bool fast;	  /* put probes on the 5-byte nop */
	double pair_ns;	  /* cost of a begin and its end, recorded, on this machine now */
	char reason[160]; /* why not fast, or "" */
	uint8_t trampoline[SP_UNWIND_TRAMPOLINE_BYTES]; /* what patched probes call; 0: none are */
};

/* Takes about 50 ms, and leaves nothing behind: another recorder that we record, and that tests
 * itself, is to have its calls counted once. -errno, logged, if no place works: then nothing can be
 * recorded. */
int sp_selftest_run(struct sp_bpf *bpf, bool try_fast, struct sp_selftest *ret_result);

#endif
