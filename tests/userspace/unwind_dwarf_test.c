/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_dwarf_test.c - stacks of this very program, copied by itself, are unwound as libgcc does
 * it (backtrace(3)); copies that end early give less.
 */
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "tests/lib/check.h"
#include "tests/userspace/own_stack.h"

#if !defined(__x86_64__)
int main(void)
{
	fprintf(stderr, "copies its registers on x86-64 only\n");
	return 77;
}
#else

/* Innermost first, without the place in take() itself, where the two were called apart. */
static void compare(const char *what, bool whole)
{
	int skip = 0, n;

	find(unwind, taken.event.words);
	/* A sanitizer's own backtrace() is a frame between. */
	while (skip < 2 && stack.frames > 1 && stack.frame[1] != (uint64_t)taken.frames[skip + 1])
		skip++;
	n = taken.n_frames - skip < SP_MAX_FRAMES ? taken.n_frames - skip : SP_MAX_FRAMES;
	fprintf(stderr, "%s: %u frames, libgcc has %d, end %u\n", what, stack.frames,
		taken.n_frames - skip, stack.end);
	CHECK_NUMBER(stack.frames, n);
	CHECK_NUMBER(stack.frame[0], taken.tail[16]);
	for (int i = 1; i < n && i < (int)stack.frames; i++)
		CHECK_NUMBER(stack.frame[i], (uint64_t)taken.frames[i + skip]);
	CHECK_NUMBER(stack.end, whole ? SP_STACK_COMPLETE : SP_STACK_TRUNCATED);
	CHECK(!stack.copy_ended);
}

/* ---- places to take a stack at ---- */

static __attribute__((noinline)) int with_alloca(size_t n)
{
	volatile char *room = __builtin_alloca(n);

	room[n - 1] = 1;
	return recurse(2) + room[n - 1];
}

static int in_qsort(const void *a, const void *b)
{
	take();
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void in_signal(int number)
{
	(void)number;
	recurse(3);
}

static void *in_thread(void *arg)
{
	(void)arg;
	stack_top = (char *)__builtin_frame_address(0) + 512;
	recurse(5);
	return NULL;
}

static void test_places(void)
{
	int numbers[16] = {5, 3, 1, 4};
	struct sigaction action = {.sa_handler = in_signal};
	pthread_t thread;
	char *top = stack_top;
	bool exact = false;

	recurse(0);
	compare("leaf", true);
	recurse(40);
	compare("recursion", true);
	recurse(300);
	compare("deep recursion", false);
	with_alloca(777);
	compare("alloca", true);
	realigned(3);
	compare("realigned", true);
	qsort(numbers, 16, sizeof(numbers[0]), in_qsort);
	compare("qsort", true);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	compare("signal", true);
	CHECK_NUMBER(__builtin_popcount(stack.signal_frames), 1);
	for (uint32_t i = 0; i < stack.frames && i < 32; i++)
		exact |= stack.signal_frames >> i & 1 && i >= 6; /* take, recurse × 4, handler … */
	CHECK(exact);
	CHECK(pthread_create(&thread, NULL, in_thread, NULL) == 0);
	pthread_join(thread, NULL);
	compare("thread", true);
	stack_top = top;
}

/* The copy at hand, as if what stands on the stack at its @word had been called from there. */
static void move_to(uint64_t ip, uint32_t word)
{
	taken.tail[7] += (word - BELOW) * 8ul;
	if (taken.tail[6] == taken.tail[7] - 8) /* take() has a frame pointer of its own */
		taken.tail[6] = taken.tail[REGISTERS + word - 1];
	taken.tail[16] = ip;
	memmove(taken.tail + REGISTERS, taken.tail + REGISTERS + word - BELOW,
		(taken.event.words - (word - BELOW)) * 8ul);
	taken.event.words -= word - BELOW;
}

/* Where glibc's clone() returns twice, there is no call frame information. */
static void test_clone(void)
{
	const uint8_t *code = dlsym(RTLD_DEFAULT, "clone");
	uint32_t word = BELOW;
	size_t at = 0;

	while (code && at < 100 && memcmp(code + at, "\x0f\x05\x48\x85\xc0\x7c", 6))
		at++;
	if (!code || at == 100) {
		fprintf(stderr, "this clone() is not glibc's\n");
		return;
	}
#ifdef __SANITIZE_ADDRESS__
	/* With room around what is local, the place that is looked for below cannot be told. */
	fprintf(stderr, "clone() is not tried with sanitizers\n");
	return;
#endif
	recurse(3);
	while (word + 1 < taken.event.words &&
	       taken.tail[REGISTERS + word] != (uint64_t)taken.frames[1])
		word++;
	move_to((uint64_t)code + at, word);
	for (int offset = 0; offset < 10; offset += offset < 5 ? 2 + offset / 2 : 2) {
		taken.tail[16] = (uint64_t)code + at + (uint64_t)offset;
		taken.tail[2] = offset == 2 ? taken.tail[16] : 0; /* rcx: in the system call */
		taken.tail[0] = 4711;
		find(unwind, taken.event.words);
		CHECK_NUMBER(stack.frames, taken.n_frames);
		for (int i = 1; i < taken.n_frames && i < (int)stack.frames; i++)
			CHECK_NUMBER(stack.frame[i], (uint64_t)taken.frames[i]);
		CHECK_NUMBER(stack.end, SP_STACK_COMPLETE);
		taken.tail[0] = 0;
		find(unwind, taken.event.words);
		CHECK_NUMBER(stack.frames, 1); /* the new thread */
		CHECK_NUMBER(stack.end, SP_STACK_COMPLETE);
	}
}

/* A program's first instructions are those of the dynamic linker, which says nothing of them. */
static void test_entry(void)
{
	uint64_t base = getauxval(AT_BASE);

	if (!base) {
		fprintf(stderr, "a static program\n");
		return;
	}
	recurse(3);
	for (uint64_t offset = 0; offset < 8; offset += 3) { /* mov %rsp,%rdi; call _dl_start */
		taken.tail[16] = base + ((const Elf64_Ehdr *)base)->e_entry + offset;
		find(unwind, taken.event.words);
		CHECK_NUMBER(stack.frames, 1);
		CHECK_NUMBER(stack.end, SP_STACK_COMPLETE);
	}
}

/* Any shorter copy gives the first frames of the whole stack. */
static void test_short(void)
{
	struct sp_dwarf_stack whole;
	uint32_t last = 0;

	recurse(20);
	find(unwind, taken.event.words);
	whole = stack;
	for (uint32_t words = 0; words < taken.event.words; words += words < 200 ? 1 : 37) {
		taken.event.below = words < BELOW ? (uint16_t)words : BELOW;
		find(unwind, words);
		CHECK(stack.frames >= 1 && stack.frames <= whole.frames);
		CHECK(!memcmp(stack.frame, whole.frame, stack.frames * sizeof(uint64_t)));
		CHECK(stack.copy_ended || stack.end == SP_STACK_COMPLETE);
		CHECK((stack.end == SP_STACK_COMPLETE) == (stack.frames == whole.frames));
		CHECK(stack.end == (stack.copy_ended ? SP_STACK_UNREADABLE : SP_STACK_COMPLETE));
		CHECK(words < BELOW || stack.frames >= last);
		last = stack.frames;
	}
	CHECK(last > 15);
	taken.event.below = BELOW;
}

/* What no recorder sends is refused. */
static void test_wrong_events(void)
{
	struct sp_ev_stack_copy good = taken.event;

	taken.event.registers = 5;
	find(unwind, 100);
	CHECK_NUMBER(stack.frames, 0);
	taken.event.registers = REGISTERS;
	taken.event.below = 200;
	find(unwind, 100);
	CHECK_NUMBER(stack.frames, 0);
	taken.event = good;
	for (int i = 0; i < 2000; i++) {
		uint64_t kept = taken.tail[i % REGISTERS];

		taken.tail[i % REGISTERS] = (uint64_t)random() << 32 | (uint64_t)random();
		find(unwind, good.words);
		CHECK(stack.frames >= 1 && stack.end < SP_STACK_END_MAX);
		taken.tail[i % REGISTERS] = kept;
	}
}

int main(void)
{
	struct sp_dwarf_stats stats;

	BEGIN_OWN_STACK();
	test_places();
	test_clone();
	test_entry();
	test_short();
	test_wrong_events();
	sp_unwind_dwarf_stats(unwind, &stats);
	CHECK_NUMBER(stats.not_tried, 2);
	end_own_stack();
	return check_result();
}
#endif
