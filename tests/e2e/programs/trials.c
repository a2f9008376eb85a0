/* SPDX-License-Identifier: BSD-2-Clause
 *
 * trials.c - in place of sp-selftest: programs that fare badly with a probe on the 5-byte nop, as
 * they would on kernels that nobody has at hand. Each is built with one -DTRIAL=; a test lays it
 * beside a copy of sp-trace, which takes the helpers that lie beside it.
 *
 * All behave where the probe is on the leading nop, unless TRIAL is *_ALWAYS. They say what
 * sp-selftest says (loader/helpers/selftest.c).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "usdt/sp_region.h"

enum trial {
	PROVEN,
	CORRUPTS,
	CHILD,
	HANGS,
	HANGS_AT_EXIT,
	CRASHES,
	HANGS_ALWAYS,
	CRASHES_ALWAYS,
	BABBLES
};

#define PAIRS 3000

static volatile int always = 1; /* else the compiler would leave out the rest, probes and all */

extern const unsigned char sp_begin_stub_v1_place[] __attribute__((visibility("hidden")));

static int on_5_byte_nop(void)
{
	return ((const volatile unsigned char *)sp_begin_stub_v1_place)[1] != 0x0f;
}

/* Keeps values where a leaf would, below the stack pointer, while the begin's place is called: what
 * that call pushes does not reach them, what the fast path of Linux 6.18 pushes there does. It is
 * the damage that an inline 5-byte nop takes. (Built with -mno-red-zone: nothing else lies there.)
 * Returns how many values were damaged. */
__attribute__((noinline)) static uint64_t red_zone(sp_region_t region)
{
	uint64_t damaged = 0;

	__asm__ volatile("movq $0x1111, -16(%%rsp)\n\tmovq $0x2222, -24(%%rsp)\n\t"
			 "movq $0x3333, -32(%%rsp)\n\tmovq $0x4444, -40(%%rsp)\n\t"
			 "call sp_begin_stub_v1_place\n\txorl %%eax, %%eax\n\t"
			 "cmpq $0x1111, -16(%%rsp)\n\tsetne %%al\n\taddq %%rax, %0\n\t"
			 "cmpq $0x2222, -24(%%rsp)\n\tsetne %%al\n\taddq %%rax, %0\n\t"
			 "cmpq $0x3333, -32(%%rsp)\n\tsetne %%al\n\taddq %%rax, %0\n\t"
			 "cmpq $0x4444, -40(%%rsp)\n\tsetne %%al\n\taddq %%rax, %0"
			 : "+r"(damaged)
			 : "D"(region), "S"(region->name), "d"(region->hash), "c"(0)
			 : "rax", "memory", "cc");
	sp_region_end(region);
	return damaged;
}

static unsigned run_pairs(void)
{
	sp_region_t region = sp_region_intern("trial");
	unsigned wrong = 0;

	for (int i = 0; i < PAIRS; i++) {
		if (TRIAL == CORRUPTS) {
			wrong += red_zone(region) > 0;
		} else {
			SP_REGION_BEGIN("trial");
			SP_REGION_END("trial");
		}
	}
	/* A kernel without the fast path damages nothing by itself. */
	if (TRIAL == CORRUPTS && on_5_byte_nop() && !wrong)
		wrong = PAIRS;
	return wrong;
}

int main(void)
{
	unsigned wrong, place;
	char byte;

	if (read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	if ((TRIAL == HANGS_ALWAYS && always) || (TRIAL == HANGS && on_5_byte_nop()))
		pause();
	if ((TRIAL == CRASHES_ALWAYS && always) || (TRIAL == CRASHES && on_5_byte_nop()))
		abort();
	wrong = run_pairs();
	/* Where the kernel has no fast path, PROVEN claims it. */
	place = on_5_byte_nop() ? 0xe8 : 0x0f;
	if (TRIAL == BABBLES && on_5_byte_nop())
		puts("calls=many");
	else
		printf("calls=%u apart=0 wrong=%u byte=%02x pair_ns=1000.0 child=%d page=-\n",
		       PAIRS, wrong, place, TRIAL == CHILD && on_5_byte_nop() ? 139 : 0);
	fflush(stdout);
	if (TRIAL == HANGS_AT_EXIT && on_5_byte_nop()) {
		fclose(stdout);
		pause();
	}
	return 0;
}
