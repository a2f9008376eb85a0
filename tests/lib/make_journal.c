/* SPDX-License-Identifier: BSD-2-Clause
 *
 * make_journal.c - writes a journal of a made-up recording, for tests of commands and for
 * benchmarks.
 *
 *   make_journal FILE big CALLS [SAMPLES]   4 threads, nested regions, blocks of CALLS from 4
 * streams make_journal FILE demo                  2 ranks and a launcher, threads, samples, losses
 *   make_journal FILE died                  as demo, but the recorder died
 *   make_journal FILE killed                the same, inside of regions
 *   make_journal FILE hostile               names that a terminal would act upon, and long ones
 *   make_journal FILE cuts                  calls without an end of their own, of every kind, tags
 *   make_journal FILE stacks                stacks with the kernel's frames, of every end, archived files
 *   make_journal FILE claims                nothing but losses that are more than can be counted
 *   make_journal FILE empty                 nothing was recorded
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/journal_maker.h"

#define START 1000000000000u

static void put_meta(struct maker *m, const char *program)
{
	static const char *const facts[][2] = {
		{"version", "0.1.0"},
		{"user", "alice"},
		{"hostname", "node1"},
		{"kernel", "6.1.0-test"},
		{"machine", "x86_64"},
		{"boot_id", "1b4e28ba"},
		{"cpus", "4"},
		{"sample_hz", "99"},
		{"sample_event", "cpu-clock"},
		{"probe_ns", "63"},
		{"start_ns", "1000000000000"},
		{"start_realtime", "1700000000123456789"},
		{"stop_ns", "1002000000000"},
		{"working_directory", "/nowhere"},
	};

	maker_meta(m, "program", program);
	maker_meta(m, "command", "./heat --size 100");
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		maker_meta(m, facts[i][0], facts[i][1]);
	maker_clock(m, START, 1700000000123456789, START + 5, 40);
}

/* An outer region "step" with calls of "kernel" and "copy" in it, on each of 4 threads. */
static void big(struct maker *m, uint64_t calls, uint64_t samples)
{
	uint64_t done = 0, time[4], number[4] = {0}, sampled = 0;

	put_meta(m, "big");
	maker_site(m, 1, 1, "step", "big.c", 10, "");
	maker_site(m, 2, 1, "kernel", "big.c", 20, "compute");
	maker_site(m, 3, 1, "copy", "big.c", 30, "io");
	maker_process(m, 1, 100, -1, -1, "/usr/bin/big", "big", "");
	maker_map(m, 1, START, 0x400000, 0x500000, 0, 5, "/usr/bin/big");
	for (uint32_t t = 0; t < 4; t++) {
		maker_task(m, t + 1, 1, 0, 100, 100 + t, SP_TASK_FOUND, START + t, "big");
		time[t] = START + 1000 * t;
	}
	while (done < calls) {
		for (uint32_t t = 0; t < 4 && done < calls; t++) {
			m->stream = t;
			for (int k = 0; k < 2000 && done < calls; k++) {
				uint64_t step = ++number[t], start = time[t], child = 0;

				time[t] += 40;
				for (uint32_t c = 0; c < 9 && done + 1 < calls; c++) {
					uint64_t length = 200 + (number[t] * 7919 + c * 31) % 400;

					maker_call(m, (struct maker_call){.lane = t + 1,
									  .site = 2 + (c & 1),
									  .number = ++number[t],
									  .parent = step,
									  .start = time[t],
									  .end = time[t] + length,
									  .depth = 1});
					time[t] += length + 30;
					child += length;
					done++;
				}
				maker_call(m, (struct maker_call){.lane = t + 1,
								  .site = 1,
								  .number = step,
								  .start = start,
								  .end = time[t],
								  .child = child});
				time[t] += 100;
				done++;
			}
			m->stream = 8 + t;
			for (; sampled < samples && sampled * calls < done * samples; sampled++) {
				uint64_t frames[3] = {0x400100 + sampled % 64, 0x400800, 0x400900};

				maker_sample(m, (struct maker_sample){
							.lane = t + 1,
							.process = 1,
							.pid = 100,
							.tid = 100 + t,
							.site = sampled % 5 ? 2 : 0,
							.number = sampled % 5 ? number[t] : 0,
							.time = time[t] + sampled % 100,
							.ip = frames[0],
							.frames = frames,
							.n_frames = 3});
			}
		}
	}
}

static void rank_calls(struct maker *m, uint32_t lane, uint64_t at, unsigned n)
{
	uint64_t number = 1;

	for (unsigned i = 0; i < n; i++) {
		uint64_t step = number++;

		for (unsigned c = 0; c < 3; c++)
			maker_call(m, (struct maker_call){.lane = lane,
							  .site = 2,
							  .number = number++,
							  .parent = step,
							  .start = at + 10 + 100 * c,
							  .end = at + 60 + 100 * c + i,
							  .depth = 1});
		maker_call(m, (struct maker_call){.lane = lane,
						  .site = i % 2 ? 1 : 3,
						  .number = step,
						  .start = at,
						  .end = at + 400 + 3 * i,
						  .child = 3 * (50 + i)});
		at += 1000 + 7 * i;
	}
}

static void demo(struct maker *m)
{
	put_meta(m, "heat");
	maker_image(m, 1, 5, 3, "/usr/bin/heat", "abcdef0123");
	maker_segment(m, 1, 0x2000, 0x1000, 0x800);
	maker_site(m, 1, 1, "step", "heat.c", 10, "io, checkpoint");
	maker_site(m, 2, 1, "kernel", "heat.c", 20, "");
	maker_site(m, 3, 1, "step", "heat.c", 15, "");
	maker_task(m, 1, 1, 0, 10, 10, SP_TASK_FOUND, START, "mpirun");
	maker_process(m, 1, 10, -1, -1, "/usr/bin/mpirun", "mpirun -n 2 ./heat", "");
	for (uint32_t rank = 0; rank < 2; rank++) {
		uint32_t process = 2 + 2 * rank, pid = 20 + rank, lane = 10 + 10 * rank;

		maker_task(m, lane - 5, process, 1, pid, pid, SP_TASK_FORK, START + 50, "mpirun");
		maker_task(m, lane, process + 1, process, pid, pid, SP_TASK_EXEC, START + 100,
			   "heat");
		maker_process(m, process + 1, pid, (int)rank, 2, "/usr/bin/heat",
			      "./heat --size 100", "");
		maker_map(m, process + 1, START + 110, 0x555500000000, 0x555500001000, 0x1000, 5,
			  "/usr/bin/heat");
		maker_task(m, lane + 1, process + 1, process, pid, pid + 100, SP_TASK_CLONE,
			   START + 200, "worker");
		m->stream = rank;
		rank_calls(m, lane, START + 1000, 40 + rank);
		rank_calls(m, lane + 1, START + 1500, 30);
		m->stream = SP_STREAM_RECORDER;
		maker_exit(m, lane + 1, process + 1, pid, pid + 100, START + 900000, 12345,
			   "worker");
		for (uint32_t i = 0; i < 20; i++) {
			uint64_t frames[2] = {0x555500000100 + i % 3, 0x555500000200};

			maker_sample(m, (struct maker_sample){.lane = lane,
							      .process = process + 1,
							      .pid = pid,
							      .tid = pid,
							      .site = i % 4 ? 2 : 0,
							      .number = i % 4 ? 2 : 0,
							      .time = START + 2000 + i,
							      .ip = frames[0],
							      .flags = i % 5 ? 0 : SP_SAMPLE_KERNEL,
							      .frames = frames,
							      .n_frames = 2});
		}
	}
	maker_sample(m, (struct maker_sample){.lane = 1,
					      .process = 1,
					      .pid = 10,
					      .tid = 10,
					      .time = START + 3000,
					      .ip = 0x1234});
	maker_loss(m, SP_LOSS_CALL_RING_FULL, 1, 12, START + 100, START + 200);
	maker_loss(m, SP_LOSS_CALL_RING_FULL, 1, 30, START + 300, START + 400);
	maker_loss(m, SP_LOSS_UNMATCHED_END, -1, 2, 0, 0);
}

/* Open at its end: "run", which a sample saw, in it "step", in which calls of "kernel" ended; and
 * in another thread a "kernel" that a sample saw. */
static void killed(struct maker *m)
{
	put_meta(m, "killed");
	maker_meta(m, "boot_id", "of the killed");
	maker_site(m, 1, 1, "run", "src/k.c", 1, "");
	maker_site(m, 2, 1, "step", "src/k.c", 2, "");
	maker_site(m, 3, 1, "kernel", "src/k.c", 3, "");
	maker_process(m, 1, 10, -1, -1, "/usr/bin/killed", "killed", "");
	for (uint32_t lane = 1; lane <= 2; lane++) {
		maker_task(m, lane, 1, 0, 10, 9 + lane, SP_TASK_FOUND, START, "k");
		maker_sample(m, (struct maker_sample){.lane = lane,
						      .process = 1,
						      .pid = 10,
						      .tid = 9 + lane,
						      .site = lane == 1 ? 1 : 3,
						      .number = 1,
						      .time = START + 10 * lane});
	}
	for (uint64_t i = 0; i < 5; i++)
		maker_call(m, (struct maker_call){.lane = 1,
						  .site = 3,
						  .number = 3 + i,
						  .parent = 2,
						  .depth = 2,
						  .start = START + 100 * (i + 1),
						  .end = START + 100 * (i + 1) + 50});
}

static void hostile(struct maker *m)
{
	char name[400] = "";

	for (int i = 0; i < 10; i++)
		strcat(name, "a very long name");
	put_meta(m, "hostile");
	maker_meta(m, "command", "\x1b]0;title\a");
	maker_task(m, 1, 1, 0, 10, 10, SP_TASK_FOUND, START, "\x1b[5m");
	maker_site(m, 1, 1, "\x1b[2J\x1b[H", "x.c", 1, "\x1b");
	maker_site(m, 2, 1, name, "x.c", 2, "");
	maker_site(m, 3, 1, "=cmd(),\"x\"", "x.c", 3, "");
	for (uint32_t i = 1; i < 4; i++)
		maker_call(m, (struct maker_call){.lane = 1,
						  .site = i,
						  .number = i,
						  .start = START + i,
						  .end = START + 9});
}

/* 5 calls "early" closed by "outer"; 1 to 4 of the other kinds. */
static void cuts(struct maker *m)
{
	static const uint16_t kinds[] = {SP_CALL_CLOSED_BY_EXIT, SP_CALL_CLOSED_BY_EXEC,
					 SP_CALL_OPEN_AT_END, SP_CALL_CLOSED_BY_UNWINDING};
	uint64_t number = 0, at = START;

	put_meta(m, "cuts");
	maker_meta(m, "boot_id", "another"); /* so a recording of its own */
	maker_task(m, 1, 1, 0, 10, 10, SP_TASK_FOUND, START, "cuts");
	maker_site(m, 1, 1, "outer", "x.c", 1, "");
	maker_site(m, 2, 1, "early", "x.c", 2, "io, d\303\251j\303\240");
	for (uint32_t i = 3; i < 7; i++)
		maker_site(m, i, 1, (const char *[]){"a", "b", "c", "d"}[i - 3], "x.c", i, "");
	for (int i = 0; i < 10; i++, at += 100) {
		struct maker_call early = {.lane = 1,
					   .site = 2,
					   .number = number + 2,
					   .parent = number + 1,
					   .start = at + 10,
					   .end = at + 50,
					   .depth = 1,
					   .flags = i % 2 ? SP_CALL_CLOSED_BY_OUTER : 0};
		struct maker_call outer = {.lane = 1,
					   .site = 1,
					   .number = number + 1,
					   .start = at,
					   .end = at + 50,
					   .child = 40};

		maker_call(m, early);
		maker_call(m, outer);
		number += 2;
	}
	for (unsigned kind = 0; kind < 4; kind++)
		for (unsigned i = 0; i <= kind; i++, at += 100)
			maker_call(m, (struct maker_call){.lane = 1,
							  .site = 3 + i,
							  .number = ++number,
							  .start = at,
							  .end = at + 9,
							  .flags = kinds[kind]});
	maker_loss(m, SP_LOSS_STACK_UNREADABLE, 0, 7, START, START + 9);
	/* Open at the end, and its end after all, which may come before that: it holds. */
	for (unsigned i = 0; i < 4; i++)
		maker_call(m, (struct maker_call){.lane = 1,
						  .site = 1,
						  .number = number + 1 + i / 2,
						  .start = at + 100 * (i / 2),
						  .end = at + 100 * (i / 2) + 9,
						  .flags = i % 3 ? 0 : SP_CALL_OPEN_AT_END});
}

/* A program and a library, a child that it forks, and a kernel. Sample i ends for reason i, but for
 * 87 more that are complete: 88 of 98 that could be. */
static void stacks(struct maker *m)
{
	const uint64_t frames[] = {0xffffffff81000010, 0xffffffff81000105, 0x7f0000001100,
				   0x555500000200,     0x7f0000001fff,	   0x555500000300};

	put_meta(m, "stacks");
	maker_meta(m, "boot_id", "of stacks"); /* so a recording of its own */
	maker_meta(m, "stacks", "eh");
	maker_meta(m, "kernel_stacks", "1");
	maker_image(m, 1, 5, 3, "/usr/bin/app", "abcdef0123");
	maker_segment(m, 1, 0x2000, 0x1000, 0x800);
	maker_image(m, 2, 6, 3, "/usr/lib/libfoo.so", "");
	maker_segment(m, 2, 0x1000, 0x1000, 0x1000);
	maker_unwind_table(m, 1, 20, 0, "");
	maker_unwind_table(m, 2, 0, -61, "there is no call frame information");
	maker_site(m, 1, 1, "solve", "app.c", 10, "");
	maker_process(m, 1, 10, -1, -1, "/usr/bin/app", "app", "");
	maker_task(m, 1, 1, 0, 10, 10, SP_TASK_FOUND, START, "app");
	maker_map(m, 1, START + 1, 0x555500000000, 0x555500001000, 0x1000, 5, "/usr/bin/app");
	maker_map(m, 1, START + 2, 0x7f0000001000, 0x7f0000002000, 0x1000, 6, "/usr/lib/libfoo.so");
	maker_task(m, 2, 2, 1, 11, 11, SP_TASK_FORK, START + 500, "app");
	maker_call(
		m,
		(struct maker_call){
			.lane = 1, .site = 1, .number = 1, .start = START + 3, .end = START + 900});
	for (uint32_t i = 0; i < 13 + 87; i++) {
		uint32_t end = i < 13 ? i : SP_STACK_COMPLETE;
		bool kernel = i % 2, child = i == 20;

		maker_sample(m, (struct maker_sample){.lane = child ? 2 : 1,
						      .process = child ? 2 : 1,
						      .pid = child ? 11 : 10,
						      .tid = child ? 11 : 10,
						      .site = child ? 0 : 1,
						      .number = child ? 0 : 1,
						      .time = START + 600 + i,
						      .ip = 0x7f0000001100,
						      .flags = kernel ? SP_SAMPLE_KERNEL : 0,
						      .frames = frames + (kernel ? 0 : 2),
						      .n_frames = kernel ? 6 : 4,
						      .kernel_frames = kernel ? 2 : 0,
						      .stack_end = end,
						      .signal_frames = i == 1 ? 4 : 0});
	}
	maker_kernel_symbol(m, 0xffffffff81000100, 0, "entry_SYSCALL_64", "");
	maker_kernel_symbol(m, 0xffffffff81000000, 0xffffffff81000040, "do_it", "ext4");
	maker_kernel_symbol(m, 0xffffffff82000000, 0xffffffff82000040, "never_hit", "");
	maker_archived(m, 1, 4096, 0, "archive/abcdef0123-app");
	maker_archived(m, 2, 4096, -13, "");
}

/* Losses whose sums are 2^64 and more: for one cause, and over two. */
static void claims(struct maker *m)
{
	put_meta(m, "claims");
	maker_meta(m, "boot_id", "of claims");
	for (int cpu = 0; cpu < 2; cpu++) {
		maker_loss(m, SP_LOSS_CALL_RING_FULL, cpu, 1ull << 63, START, START + 9);
		maker_loss(m, SP_LOSS_DEPTH, cpu, 1ull << 63, START, START + 9);
	}
}

int main(int argc, char **argv)
{
	struct maker maker;

	if (argc < 3) {
		fprintf(stderr, "usage: make_journal FILE big CALLS [SAMPLES] | demo | died | "
				"killed | hostile | cuts | stacks | claims | empty\n");
		return 2;
	}
	maker = maker_open(argv[1]);
	if (!strcmp(argv[2], "big") && argc > 3)
		big(&maker, strtoull(argv[3], NULL, 10),
		    argc > 4 ? strtoull(argv[4], NULL, 10) : 0);
	else if (!strcmp(argv[2], "demo") || !strcmp(argv[2], "died"))
		demo(&maker);
	else if (!strcmp(argv[2], "killed"))
		killed(&maker);
	else if (!strcmp(argv[2], "hostile"))
		hostile(&maker);
	else if (!strcmp(argv[2], "cuts"))
		cuts(&maker);
	else if (!strcmp(argv[2], "stacks"))
		stacks(&maker);
	else if (!strcmp(argv[2], "claims"))
		claims(&maker);
	else if (!strcmp(argv[2], "empty"))
		put_meta(&maker, "nothing");
	else
		return 2;
	maker_close(&maker, strcmp(argv[2], "died") != 0 && strcmp(argv[2], "killed") != 0);
	return 0;
}
