/* SPDX-License-Identifier: BSD-2-Clause
 *
 * whole_stacks_test.c - stacks of a journal in the files: the kernel's frames before the user's, why they
 * end, and that every address has its module or its function of the kernel, in its own process.
 */
#include "tests/userspace/finalize/profile_check.h"

#define BASE 0x555500000000
#define LIB 0x7f0000000000
#define KERNEL 0xffffffff81000000

static struct sp_finalize_result result;
static struct sp_finalize_failure failure;

static void put_start(struct maker *m)
{
	maker_meta(m, "program", "app");
	maker_meta(m, "start_ns", "1000");
	maker_meta(m, "stop_ns", "900000");
	maker_site(m, 1, 1, "solve", "a.c", 11, "");
	maker_image(m, 1, 5, 3, "/bin/app", "00ff");
	maker_segment(m, 1, 0x1000, 0x1000, 0x1000);
	maker_image(m, 2, 6, 3, "/lib/old.so", "");
	maker_process(m, 1, 10, -1, -1, "/bin/app", "app", "");
	maker_task(m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1500, "app");
	maker_map(m, 1, 1600, BASE + 0x1000, BASE + 0x2000, 0x1000, 5, "/bin/app");
	/* One library in the place of another. */
	maker_map(m, 1, 1700, LIB, LIB + 0x1000, 0, 6, "/lib/old.so");
	maker_map(m, 1, 5000, LIB, LIB + 0x1000, 0, 7, "/lib/new.so");
	maker_map(m, 1, 1700, LIB + 0x10000, LIB + 0x11000, 0, 8, "/lib/idle.so");
	/* A child that runs in what its parent mapped. */
	maker_task(m, 2, 2, 1, 11, 11, SP_TASK_FORK, 3000, "app");
	maker_archived(m, 1, 5, 0, "archive/00ff-app");
	maker_archived(m, 2, 5, -5, "");
	maker_archived(m, 99, 5, 0, "archive/of nothing");
	maker_kernel_symbol(m, KERNEL + 0x100, KERNEL + 0x200, "second", "");
	maker_kernel_symbol(m, KERNEL, KERNEL + 0x100, "first", "mod");
	maker_kernel_symbol(m, KERNEL + 0x1000, 0, "last", "");
}

static void put_sample(struct maker *m, uint32_t lane, uint64_t time, struct maker_sample s)
{
	s.lane = lane;
	s.process = lane;
	s.pid = s.tid = 9 + lane;
	s.time = time;
	maker_sample(m, s);
}

static const char *module_at(struct sp_profile *profile, int64_t row, uint32_t *ret_process)
{
	const struct sp_module_row *rows;
	size_t n;

	CHECK_NUMBER(sp_profile_modules(profile, &rows, &n, NULL), 0);
	if (row < 0 || (size_t)row >= n)
		return "none";
	*ret_process = rows[row].process;
	return rows[row].path;
}

static void test_stacks(void)
{
	/* A caller whose call is the last thing in its mapping; and the address that it returns to
	 * is in none. */
	static const uint64_t mixed[] = {KERNEL + 0x40, KERNEL + 0x100, LIB + 0x10, BASE + 0x2000};
	static const uint64_t user[] = {LIB + 0x10, BASE + 0x1800};
	struct maker m = maker_open(journal_path);
	struct sp_sample_row rows[4];
	const struct sp_module_row *modules;
	const struct sp_kernel_symbol_row *symbols;
	uint64_t offsets[5], frames[12];
	uint32_t process = 99;
	struct sp_profile *profile;
	size_t n;

	put_start(&m);
	put_sample(&m, 1, 2000,
		   (struct maker_sample){.ip = LIB + 0x10,
					 .flags = SP_SAMPLE_KERNEL,
					 .frames = mixed,
					 .n_frames = 4,
					 .kernel_frames = 2,
					 .stack_end = SP_STACK_COMPLETE,
					 .signal_frames = 0x80000002});
	put_sample(&m, 2, 4000,
		   (struct maker_sample){
			   .ip = LIB + 0x10, .frames = user, .n_frames = 2, .stack_end = 7});
	put_sample(&m, 1, 6000,
		   (struct maker_sample){
			   .ip = LIB + 0x10, .frames = user, .n_frames = 2, .stack_end = 255});
	/* Claims more of the kernel than it has, and an end that nobody knows. */
	put_sample(&m, 1, 7000,
		   (struct maker_sample){.ip = 0,
					 .frames = mixed,
					 .n_frames = 2,
					 .kernel_frames = 4000000000,
					 .stack_end = 4000000000});
	maker_close(&m, true);
	CHECK_NUMBER(convert("h5,sps", &result, &failure), 0);
	CHECK_NUMBER(result.ends.ends[SP_STACK_COMPLETE], 1);
	CHECK_NUMBER(result.ends.ends[SP_STACK_NO_RULE], 1);
	CHECK_NUMBER(result.ends.ends[SP_STACK_UNKNOWN], 2);
	CHECK_NUMBER(result.ends.kernel, 2);
	profile = open_output("app_rank00000.h5");
	CHECK_NUMBER(sp_profile_info(profile)->n_samples, 4);
	CHECK_NUMBER(sp_profile_read_samples(profile, 0, 4, rows, NULL), 0);
	CHECK_NUMBER(sp_profile_read_stack_offsets(profile, 0, 4, offsets, NULL), 0);
	CHECK_NUMBER(offsets[4], 4 + 2 + 2 + 2);
	CHECK_NUMBER(sp_profile_read_frames(profile, 0, 10, frames, NULL), 0);
	CHECK_NUMBER(memcmp(frames, mixed, sizeof(mixed)), 0);
	CHECK_NUMBER(memcmp(frames + 4, user, sizeof(user)), 0);

	CHECK_NUMBER(rows[0].kernel_frames, 2);
	CHECK_NUMBER(rows[0].stack_end, SP_STACK_COMPLETE);
	CHECK_NUMBER(rows[0].signal_frames, 0x80000002);
	CHECK_NUMBER(rows[0].kernel, 1);
	CHECK_NUMBER(rows[0].ip, LIB + 0x10);
	CHECK_TEXT(module_at(profile, rows[0].module, &process), "/lib/old.so");
	CHECK_NUMBER(process, 0);
	CHECK_NUMBER(rows[1].kernel_frames, 0);
	CHECK_NUMBER(rows[1].stack_end, 7);
	CHECK_TEXT(module_at(profile, rows[1].module, &process), "/lib/old.so");
	CHECK_NUMBER(process, 1);
	CHECK_NUMBER(rows[2].stack_end, 255);
	CHECK_TEXT(module_at(profile, rows[2].module, &process), "/lib/new.so");
	CHECK_NUMBER(process, 0);
	CHECK_NUMBER(rows[3].kernel_frames, 2);
	CHECK_NUMBER(rows[3].stack_end, 0);
	CHECK_NUMBER(rows[3].module, -1);

	/* Every frame's module, once for each process that has it; none that no stack was in. */
	CHECK_NUMBER(sp_profile_modules(profile, &modules, &n, NULL), 0);
	CHECK_NUMBER(n, 5);
	for (size_t i = 0; i < n; i++) {
		CHECK(strcmp(modules[i].path, "/lib/idle.so") != 0);
		CHECK_TEXT(modules[i].archived,
			   strcmp(modules[i].path, "/bin/app") ? "" : "archive/00ff-app");
		CHECK_NUMBER(modules[i].mapped_ns, !strcmp(modules[i].path, "/lib/new.so") ? 5000
						   : !strcmp(modules[i].path, "/bin/app")  ? 1600
											   : 1700);
	}
	CHECK_NUMBER(sp_profile_kernel_symbols(profile, &symbols, &n, NULL), 0);
	CHECK_NUMBER(n, 1); /* a call at the end of "first" returns to "second" */
	CHECK_TEXT(symbols[0].name, "first");
	CHECK_TEXT(symbols[0].module, "mod");
	CHECK_NUMBER(symbols[0].address, KERNEL);
	CHECK_NUMBER(symbols[0].end, KERNEL + 0x100);
	CHECK_NUMBER(symbols[0].rank, 0);
	sp_profile_free(profile);
	sp_finalize_result_free(&result);
}

/* The deepest stacks that there are, and deeper ones. */
static void test_deep(void)
{
	uint64_t frames[400], read[400], offsets[3];
	struct maker m = maker_open(journal_path);
	struct sp_sample_row rows[2];
	struct sp_profile *profile;

	for (unsigned i = 0; i < 400; i++)
		frames[i] = BASE + 0x1000 + i;
	put_start(&m);
	put_sample(&m, 1, 2000,
		   (struct maker_sample){.ip = frames[127],
					 .frames = frames,
					 .n_frames = 254,
					 .kernel_frames = 127,
					 .stack_end = SP_STACK_TRUNCATED});
	put_sample(&m, 1, 2001,
		   (struct maker_sample){.ip = frames[0],
					 .frames = frames,
					 .n_frames = 400,
					 .stack_end = SP_STACK_TRUNCATED});
	maker_close(&m, true);
	CHECK_NUMBER(convert("h5", &result, &failure), 0);
	profile = open_output("app_rank00000.h5");
	CHECK_NUMBER(sp_profile_read_samples(profile, 0, 2, rows, NULL), 0);
	CHECK_NUMBER(sp_profile_read_stack_offsets(profile, 0, 2, offsets, NULL), 0);
	CHECK_NUMBER(offsets[1], 254);
	CHECK_NUMBER(offsets[2], 2 * 254);
	CHECK_NUMBER(sp_profile_read_frames(profile, 0, 254, read, NULL), 0);
	CHECK_NUMBER(memcmp(read, frames, 254 * 8), 0);
	CHECK_NUMBER(rows[0].kernel_frames, 127);
	sp_profile_free(profile);
	sp_finalize_result_free(&result);
}

int main(int argc, char **argv)
{
	start_work(argc, argv);
	test_stacks();
	test_deep();
	return check_result();
}
