/* SPDX-License-Identifier: BSD-2-Clause
 *
 * selftest.c - the program on which sp-trace tries its probes before it trusts them.
 *
 * It waits for a byte on stdin, so that its probes can be armed, then enters regions between
 * calculations whose results it knows, and prints one line:
 *   calls=N apart=N wrong=N byte=XX pair_ns=F child=N page=XX…
 * calls: begin-end pairs in all; apart: those of them that never pass the 5-byte nop; wrong:
 * results that differ; byte: the one behind the begin stub's leading nop when all is done (e8: the
 * kernel turned the 5-byte nop into a call); pair_ns: time of a pair once warm; child: 0 if a
 * forked child could enter regions, too, -errno if there could be none. (Linux 6.18 copies the
 * patched code to the child, but not the page that it calls.) page: the first bytes of that page,
 * or "-"; nobody can read them from outside.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loader/unwind_known.h"
#include "usdt/sp_region.h"

/* The begin stub's nops; on aarch64 the stub has no others. */
#ifdef __x86_64__
extern const unsigned char sp_begin_stub_v1_place[] __attribute__((visibility("hidden")));
#else
#define sp_begin_stub_v1_place ((const unsigned char *)(uintptr_t)sp_begin_stub_v1)
#endif

#define CHECKS 2000
#define ROUNDS 80
#define PAIRS \
	200 /* a few tenths of a millisecond, so that a busy machine lets some rounds pass whole \
	     */
#define CHILD_CHECKS 100

/* A leaf whose variables live below the stack pointer, where a probe that writes would hit them. */
__attribute__((noinline)) static uint64_t leaf(uint64_t seed)
{
	volatile uint64_t a[12];

	for (int i = 0; i < 12; i++)
		a[i] = seed * (uint64_t)(2 * i + 1);
	return a[0] ^ a[3] ^ a[5] ^ a[7] ^ a[11];
}

/* The same with regions around and between. */
__attribute__((noinline)) static uint64_t leaf_in_region(uint64_t seed)
{
	volatile uint64_t a[12];

	SP_REGION_BEGIN("selftest");
	for (int i = 0; i < 12; i++)
		a[i] = seed * (uint64_t)(2 * i + 1);
	SP_REGION_END("selftest");
	return a[0] ^ a[3] ^ a[5] ^ a[7] ^ a[11];
}

/* Results that a compiler keeps in the registers that a call must leave alone, and in more than
 * there are of those. */
__attribute__((noinline)) static uint64_t held(uint64_t seed, int regions)
{
	uint64_t a = seed * 3, b = seed * 5, c = seed * 7, d = seed * 11, e = seed * 13,
		 f = seed * 17, g = seed * 19;
	double x = (double)(seed >> 40), y = x * 0.5 + 1.0;

	if (regions)
		SP_REGION_BEGIN("selftest");
	a ^= b + c;
	x = x * y;
	if (regions)
		SP_REGION_END("selftest");
	return a ^ (b << 1) ^ (c << 2) ^ (d << 3) ^ (e << 4) ^ (f << 5) ^ (g << 6) ^
	       (uint64_t)(x - y);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void on_fault(int number)
{
	_exit(number);
}

/* In a forked child. A handler, so that the kernel's log does not tell of a crash at each start. */
static void run_child(void)
{
	unsigned wrong = 0;

	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	signal(SIGILL, on_fault);
	signal(SIGTRAP, on_fault);
	for (uint64_t i = 0; i < CHILD_CHECKS; i++)
		wrong += leaf_in_region(i) != leaf(i);
	_exit(wrong ? 1 : 0);
}

static int test_child(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		run_child();
	return pid < 0 || waitpid(pid, &status, 0) != pid ? -errno : status;
}

/* Prints what the stub calls, if it was made to. */
static void print_page(const volatile unsigned char *stub)
{
	int32_t distance;

	if (stub[1] != 0xe8) {
		puts("-");
		return;
	}
	memcpy(&distance, (const unsigned char *)stub + 2, sizeof(distance));
	for (int i = 0; i < SP_UNWIND_TRAMPOLINE_BYTES; i++)
		printf("%02x", stub[6 + distance + i]);
	puts("");
}

int main(void)
{
	unsigned wrong = 0;
	int child;
	double best = 1e18;
	char byte;

	if (read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	for (uint64_t i = 0; i < CHECKS; i++)
		wrong += leaf_in_region(i * 0x9e3779b97f4a7c15u) != leaf(i * 0x9e3779b97f4a7c15u);
	for (uint64_t i = 0; i < CHECKS; i++)
		wrong += held(i * 0x9e3779b97f4a7c15u, 1) != held(i * 0x9e3779b97f4a7c15u, 0);
	for (int round = 0; round < ROUNDS; round++) {
		double before = now_ns();

		for (int i = 0; i < PAIRS; i++) {
			SP_REGION_BEGIN("selftest");
			SP_REGION_END("selftest");
		}
		before = now_ns() - before;
		best = before < best ? before : best;
	}
	child = test_child();
	printf("calls=%u apart=%u wrong=%u byte=%02x pair_ns=%.1f child=%d page=",
	       2 * CHECKS + ROUNDS * PAIRS + CHILD_CHECKS, CHILD_CHECKS, wrong,
	       ((const volatile unsigned char *)sp_begin_stub_v1_place)[1], best / PAIRS, child);
	print_page(sp_begin_stub_v1_place);
	return fflush(stdout) ? 1 : 0;
}
