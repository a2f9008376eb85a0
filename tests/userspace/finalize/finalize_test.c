/* SPDX-License-Identifier: BSD-2-Clause
 *
 * finalize_test.c - what stands in a journal stands in the files: every call, once, in order of
 * entry, in the right file.
 */
#include "tests/userspace/finalize/profile_check.h"

static struct sp_finalize_result result;
static struct sp_finalize_failure failure;

static void put_start(struct maker *m)
{
	maker_meta(m, "program", "app");
	maker_meta(m, "start_ns", "1000");
	maker_meta(m, "stop_ns", "900000");
	maker_meta(m, "sample_hz", "250");
	maker_site(m, 1, 0, "outer", "a.c", 11, "");
	maker_site(m, 2, 0, "inner", "a.c", 22, " io , , checkpoint");
}

/* A recursive region on two threads: a call ends before the one around it, so the journal has it
 * first. */
static void test_order(void)
{
	struct maker m = maker_open(journal_path);
	struct sp_profile *profile;
	struct sp_calls c;
	const struct sp_row *row;

	put_start(&m);
	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1500, "app");
	maker_task(&m, 2, 1, 0, 10, 12, SP_TASK_CLONE, 1600, "helper");
	m.stream = 0;
	/* outer(1) { outer(2) { outer(3) } inner(4) } outer(5), the second with a start equal to
	 * the first's. */
	maker_call(&m, (struct maker_call){.lane = 1,
					   .site = 1,
					   .number = 3,
					   .parent = 2,
					   .start = 2010,
					   .end = 2020,
					   .depth = 2});
	maker_call(&m, (struct maker_call){.lane = 1,
					   .site = 1,
					   .number = 2,
					   .parent = 1,
					   .start = 2000,
					   .end = 2030,
					   .child = 10,
					   .depth = 1});
	maker_call(&m, (struct maker_call){.lane = 1,
					   .site = 2,
					   .number = 4,
					   .parent = 1,
					   .start = 2040,
					   .end = 2045,
					   .depth = 1,
					   .skipped = 7,
					   .flags = SP_CALL_CLOSED_BY_OUTER});
	maker_call(&m, (struct maker_call){.lane = 1,
					   .site = 1,
					   .number = 1,
					   .start = 2000,
					   .end = 2100,
					   .child = 35});
	maker_call(&m, (struct maker_call){.lane = 1,
					   .site = 1,
					   .number = 5,
					   .start = 2100,
					   .end = 2100,
					   .flags = SP_CALL_CLOSED_BY_EXIT});
	m.stream = 1;
	maker_call(&m, (struct maker_call){
			       .lane = 2, .site = 1, .number = 1, .start = 2000, .end = 2050});
	maker_call(&m, (struct maker_call){
			       .lane = 2, .site = 1, .number = 2, .start = 2015, .end = 2016});
	maker_exit(&m, 2, 1, 10, 12, 5000, 777, "helper2");
	maker_close(&m, true);
	CHECK_NUMBER(convert("h5,sps,spt", &result, &failure), 0);
	CHECK_NUMBER(result.calls, 7);
	CHECK_NUMBER(result.n_files, 3);
	CHECK_NUMBER(result.duplicates, 0);
	profile = open_output("app_rank00000.h5");
	CHECK_NUMBER(sp_profile_info(profile)->n_calls, 7);
	CHECK_NUMBER(sp_profile_info(profile)->start_time_ns, 1000);
	CHECK_NUMBER(read_calls(profile, "outer", &c), 6);
	static const int64_t starts[] = {2000, 2000, 2000, 2010, 2015, 2100};
	static const int64_t ends[] = {2100, 2030, 2050, 2020, 2016, 2100};
	static const int64_t threads[] = {0, 0, 1, 0, 1, 0}, numbers[] = {1, 2, 1, 3, 2, 5};
	static const int64_t parents[] = {0, 1, 0, 2, 0, 0}, depths[] = {0, 1, 0, 2, 0, 0};
	for (int i = 0; i < 6; i++) {
		CHECK_NUMBER(c.start[i], starts[i]);
		CHECK_NUMBER(c.end[i], ends[i]);
		CHECK_NUMBER(c.thread[i], threads[i]);
		CHECK_NUMBER(c.id[i], threads[i] << 40 | numbers[i]);
		CHECK_NUMBER(c.parent[i], parents[i] ? threads[i] << 40 | parents[i] : -1);
		CHECK_NUMBER(c.depth[i], depths[i]);
	}
	CHECK_NUMBER(c.flags[5], SP_CALL_CLOSED_BY_EXIT);
	CHECK_NUMBER(c.child_ns[0], 35);
	sp_calls_free(&c);
	CHECK_NUMBER(read_calls(profile, "inner", &c), 1);
	CHECK_NUMBER(c.skipped[0], 7);
	CHECK_NUMBER(c.flags[0], SP_CALL_CLOSED_BY_OUTER);
	CHECK_NUMBER(c.parent[0], 1);
	sp_calls_free(&c);
	row = sp_profile_row(profile, find_row(profile, "outer"));
	CHECK_NUMBER(row->stats.total, 100 + 30 + 50 + 10 + 1);
	CHECK_NUMBER(row->stats.self, 65 + 20 + 50 + 10 + 1);
	CHECK_NUMBER(row->stats.minimum, 0);
	CHECK_NUMBER(row->stats.maximum, 100);
	row = sp_profile_row(profile, find_row(profile, "inner"));
	CHECK_TEXT(row->tags, "[\"io\", \"checkpoint\"]");
	CHECK_TEXT(row->source_file, "a.c");
	CHECK_NUMBER(row->source_line, 22);

	const struct sp_thread_row *rows;
	size_t n;
	CHECK_NUMBER(sp_profile_threads(profile, &rows, &n, NULL), 0);
	CHECK_NUMBER(n, 2);
	CHECK_TEXT(rows[0].name, "app");
	CHECK_NUMBER(rows[0].native_id, 10);
	CHECK_NUMBER(rows[0].start_ns, 1500);
	CHECK_NUMBER(rows[0].end_ns, -1);
	CHECK_NUMBER(rows[0].cpu_ns, -1);
	CHECK_NUMBER(rows[0].calls, 5);
	CHECK_TEXT(rows[1].name, "helper2");
	CHECK_NUMBER(rows[1].end_ns, 5000);
	CHECK_NUMBER(rows[1].cpu_ns, 777);
	sp_profile_free(profile);

	profile = open_output("spt/app_rank00000.spt");
	CHECK_NUMBER(sp_profile_info(profile)->n_calls, 7);
	CHECK_NUMBER(read_calls(profile, "outer", &c), 6);
	for (int i = 0; i < 6; i++) {
		CHECK_NUMBER(c.start[i], starts[i]);
		CHECK_NUMBER(c.end[i], ends[i]);
	}
	sp_calls_free(&c);
	sp_profile_free(profile);
	sp_finalize_result_free(&result);
}

/* A call open at the snapshot may end afterwards and be sent again, before or after it. */
static void test_duplicates(void)
{
	struct maker m = maker_open(journal_path);
	struct sp_profile *profile;
	struct sp_calls c;

	put_start(&m);
	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1500, "app");
	m.stream = 0;
	maker_call(&m, (struct maker_call){
			       .lane = 1, .site = 1, .number = 1, .start = 2000, .end = 2500});
	maker_call(&m, (struct maker_call){.lane = 1,
					   .site = 2,
					   .number = 2,
					   .parent = 1,
					   .start = 2100,
					   .end = 9000,
					   .flags = SP_CALL_OPEN_AT_END});
	m.stream = SP_STREAM_RECORDER;
	maker_call(&m, (struct maker_call){.lane = 1,
					   .site = 1,
					   .number = 1,
					   .start = 2000,
					   .end = 9000,
					   .flags = SP_CALL_OPEN_AT_END});
	maker_call(&m, (struct maker_call){.lane = 1,
					   .site = 1,
					   .number = 7,
					   .start = 3000,
					   .end = 9000,
					   .flags = SP_CALL_OPEN_AT_END});
	m.stream = 1;
	maker_call(&m, (struct maker_call){.lane = 1,
					   .site = 2,
					   .number = 2,
					   .parent = 1,
					   .start = 2100,
					   .end = 2200});
	maker_close(&m, true);
	CHECK_NUMBER(convert("h5,spt", &result, &failure), 0);
	CHECK_NUMBER(result.calls, 3);
	CHECK_NUMBER(result.duplicates, 2);
	profile = open_output("app_rank00000.h5");
	CHECK_NUMBER(read_calls(profile, "outer", &c), 2);
	CHECK_NUMBER(c.end[0], 2500);
	CHECK_NUMBER(c.flags[0], 0);
	CHECK_NUMBER(c.end[1], 9000);
	CHECK_NUMBER(c.flags[1], SP_CALL_OPEN_AT_END);
	sp_calls_free(&c);
	CHECK_NUMBER(read_calls(profile, "inner", &c), 1);
	CHECK_NUMBER(c.end[0], 2200);
	sp_calls_free(&c);
	sp_profile_free(profile);
	profile = open_output("spt/app_rank00000.spt");
	CHECK_NUMBER(sp_profile_info(profile)->n_calls, 3);
	sp_profile_free(profile);
	sp_finalize_result_free(&result);
}

static void test_samples(void)
{
	struct maker m = maker_open(journal_path);
	struct sp_profile *profile;
	const uint64_t frames[] = {0x401010, 0x401020, 0x401030};
	struct sp_sample_row s[5];
	uint64_t offsets[6], read_frames[8];

	put_start(&m);
	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1500, "app");
	maker_map(&m, 1, 1000, 0x401000, 0x402000, 0x1000, 5, "/bin/app");
	maker_map(&m, 1, 1000, 0x7fff000, 0x8000000, 0, 0, "[vdso]");
	/* Out of order; one outside, one in the kernel, one nowhere, one in a region without any
	 * call. */
	maker_sample(&m, (struct maker_sample){.lane = 1,
					       .process = 1,
					       .pid = 10,
					       .tid = 10,
					       .site = 1,
					       .number = 4,
					       .time = 5000,
					       .ip = frames[0],
					       .frames = frames,
					       .n_frames = 3});
	maker_sample(&m, (struct maker_sample){.lane = 1,
					       .process = 1,
					       .pid = 10,
					       .tid = 10,
					       .time = 3000,
					       .ip = 0x7fff010,
					       .flags = SP_SAMPLE_KERNEL});
	maker_sample(&m, (struct maker_sample){.lane = 1,
					       .process = 1,
					       .pid = 10,
					       .tid = 10,
					       .site = 2,
					       .number = 9,
					       .time = 4000,
					       .ip = 0x7fff020,
					       .frames = frames,
					       .n_frames = 1});
	maker_sample(&m, (struct maker_sample){
				 .lane = 0, .process = 1, .pid = 10, .tid = 10, .time = 6000});
	maker_call(&m, (struct maker_call){
			       .lane = 1, .site = 1, .number = 4, .start = 4900, .end = 5100});
	maker_close(&m, true);
	CHECK_NUMBER(convert("h5,sps", &result, &failure), 0);
	CHECK_NUMBER(result.samples, 4);
	CHECK_NUMBER(result.samples_outside, 2);
	profile = open_output("app_rank00000.h5");
	CHECK_NUMBER(sp_profile_info(profile)->n_samples, 4);
	CHECK_NUMBER(sp_profile_read_samples(profile, 0, 4, s, NULL), 0);
	CHECK_NUMBER(sp_profile_read_stack_offsets(profile, 0, 4, offsets, NULL), 0);
	CHECK_NUMBER(s[0].time_ns, 3000);
	CHECK_NUMBER(s[0].region, -1);
	CHECK_NUMBER(s[0].kernel, 1);
	CHECK_NUMBER(s[1].time_ns, 4000);
	CHECK_TEXT(sp_profile_region(profile, (uint32_t)s[1].region), "inner");
	CHECK_NUMBER(s[1].call_id, 9);
	CHECK_NUMBER(s[2].time_ns, 5000);
	CHECK_NUMBER(s[2].ip, 0x401010);
	CHECK_NUMBER(s[2].thread, 0);
	CHECK_NUMBER(s[2].call_id, 4);
	CHECK_NUMBER(s[3].thread, -1);
	CHECK_NUMBER(s[3].module, -1);
	CHECK_NUMBER(offsets[3] - offsets[2], 3);
	CHECK_NUMBER(sp_profile_read_frames(profile, offsets[2], 3, read_frames, NULL), 0);
	CHECK(!memcmp(read_frames, frames, sizeof(frames)));

	const struct sp_module_row *modules;
	size_t n;
	CHECK_NUMBER(sp_profile_modules(profile, &modules, &n, NULL), 0);
	CHECK_NUMBER(n, 2);
	CHECK_TEXT(modules[s[2].module].path, "/bin/app");
	CHECK_NUMBER(modules[s[2].module].bias, 0x400000);
	CHECK_NUMBER(sp_profile_row(profile, find_row(profile, "inner"))->stats.calls, 0);
	sp_profile_free(profile);

	profile = open_output("app_rank00000.sps");
	CHECK_NUMBER(sp_profile_info(profile)->n_samples, 2);
	CHECK_NUMBER(sp_profile_info(profile)->ticks, 4);
	CHECK_NUMBER(sp_profile_info(profile)->hz, 250);
	CHECK_NUMBER(sp_profile_read_samples(profile, 0, 2, s, NULL), 0);
	CHECK_NUMBER(s[0].module, -1); /* the vdso is no file */
	CHECK_NUMBER(s[1].ip, 0x401010);
	CHECK_NUMBER(sp_profile_modules(profile, &modules, &n, NULL), 0);
	CHECK_NUMBER(n, 1);
	sp_profile_free(profile);
	sp_finalize_result_free(&result);
}

/* Names that want to be paths, formats, or something else. */
static void test_hostile_names(void)
{
	static const char *const names[] = {
		"../../etc/passwd",  "%s%n",	    "", "a/b", "\x1b[2J", "bad \xff\xfe",
		"\"quoted\", comma", "\xe6\xbc\xa2"};
	struct maker m = maker_open(journal_path);
	struct sp_profile *profile;
	char large[3000];

	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = 0;
	maker_meta(&m, "program", "../../../tmp/evil\n%s");
	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1500, "../\x1b[31m");
	for (uint32_t i = 0; i < 8; i++)
		maker_site(&m, 1 + i, 0, names[i], "/dev/zero", 1, "a\",b");
	maker_site(&m, 9, 0, large, "/proc/self/mem", 3, "");
	for (uint32_t i = 0; i < 9; i++)
		maker_call(&m, (struct maker_call){.lane = 1,
						   .site = 1 + i,
						   .number = 1 + i,
						   .start = 2000 + i,
						   .end = 2100});
	maker_close(&m, true);
	CHECK_NUMBER(convert("h5,sps,spt", &result, &failure), 0);
	CHECK_TEXT(result.files[0], "_._.._.._tmp_evil_%s_rank00000.h5");
	profile = open_output(result.files[0]);
	CHECK_NUMBER(sp_profile_info(profile)->n_rows, 9);
	for (uint32_t i = 0; i < 8; i++)
		CHECK(i == 5 || find_row(profile, names[i]) != UINT32_MAX);
	CHECK(find_row(profile, "bad \xef\xbf\xbd\xef\xbf\xbd") != UINT32_MAX);
	CHECK(find_row(profile, large) != UINT32_MAX);
	CHECK_TEXT(sp_profile_row(profile, 0)->tags, "[\"a\\\"\", \"b\"]");
	CHECK_TEXT(sp_profile_row(profile, 0)->source_text, "");
	sp_profile_free(profile);
	sp_finalize_result_free(&result);
}

static void test_source_text(void)
{
	struct maker m = maker_open(journal_path);
	/* Root reads as the user of the journal, who may not come to @work, in root's home perhaps. */
	char sources[] = "/tmp/sp-sources-XXXXXX", source[64];
	struct sp_profile *profile;
	FILE *file;

	CHECK(mkdtemp(sources) && !chmod(sources, 0755));
	snprintf(source, sizeof(source), "%s/src.c", sources);
	file = fopen(source, "w");
	fputs("one\n\t  SP_REGION_BEGIN(\"x\");  \r\nthree", file);
	fclose(file);
	maker_meta(&m, "working_directory", sources);
	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1500, "app");
	maker_site(&m, 1, 0, "a", source, 2, "");
	maker_site(&m, 2, 0, "b", "src.c", 3, "");
	maker_site(&m, 3, 0, "c", "src.c", 4, "");
	for (uint32_t i = 1; i < 4; i++)
		maker_call(
			&m,
			(struct maker_call){
				.lane = 1, .site = i, .number = i, .start = 2000 + i, .end = 2100});
	maker_close(&m, true);
	CHECK_NUMBER(convert("h5", &result, &failure), 0);
	profile = open_output("program_rank00000.h5");
	CHECK_TEXT(sp_profile_row(profile, 0)->source_text, "SP_REGION_BEGIN(\"x\");");
	CHECK_TEXT(sp_profile_row(profile, 1)->source_text, "three");
	CHECK_TEXT(sp_profile_row(profile, 2)->source_text, "");
	sp_profile_free(profile);
	sp_finalize_result_free(&result);
	remove_tree(sources);
}

static void test_directories(void)
{
	struct maker m = maker_open(journal_path);
	struct stat st;
	char path[8300];

	put_start(&m);
	for (uint32_t i = 0; i < 3; i++) {
		maker_task(&m, 1 + i, 1 + i, 0, 10 + i, 10 + i, SP_TASK_FOUND, 1500, "app");
		maker_process(&m, 1 + i, 10 + i, i == 2 ? -1 : (int)i * 70000, 2, "/a", "a",
			      i == 1 ? "../x" : "");
		maker_call(
			&m,
			(struct maker_call){
				.lane = 1 + i, .site = 1, .number = 1, .start = 2000, .end = 2100});
	}
	maker_close(&m, true);
	CHECK_NUMBER(convert("sps,spt", &result, &failure), 0);
	CHECK_NUMBER(result.n_files, 6);
	CHECK_TEXT(result.files[0], "job_none/app_rank00000.sps");
	CHECK_TEXT(result.files[1], "job_none/spt/app_rank00000.spt");
	CHECK_TEXT(result.files[2], "job_none/other/app_rank00000.sps");
	CHECK_TEXT(result.files[3], "job_none/other/spt/app_rank00000.spt");
	CHECK_TEXT(result.files[4], "job__._x/app_rank70000.sps");
	for (size_t i = 0; i < result.n_files; i++) {
		snprintf(path, sizeof(path), "%s/%s", out_dir, result.files[i]);
		CHECK_NUMBER(stat(path, &st), 0);
	}
	sp_finalize_result_free(&result);
}

/* Nothing is overwritten, and nothing of a failed conversion stays. */
static void test_refusals(void)
{
	struct sp_finalize_options options = {.journal = journal_path,
					      .directory = out_dir,
					      .formats = "h5,sps",
					      .no_sync = true,
					      .keep_journal = true};
	struct maker m = maker_open(journal_path);
	char path[8300], text[32] = "";
	struct stat st;
	FILE *file;

	put_start(&m);
	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1500, "app");
	maker_call(&m, (struct maker_call){
			       .lane = 1, .site = 1, .number = 1, .start = 2000, .end = 2100});
	maker_close(&m, true);
	remove_tree(out_dir);
	mkdir(out_dir, 0777);
	snprintf(path, sizeof(path), "%s/app_rank00000.sps", out_dir);
	file = fopen(path, "w");
	fputs("precious", file);
	fclose(file);
	CHECK_NUMBER(sp_finalize(&options, &result, &failure), -EEXIST);
	CHECK_TEXT(failure.path, path);
	file = fopen(path, "r");
	CHECK(fgets(text, sizeof(text), file));
	fclose(file);
	CHECK_TEXT(text, "precious");
	snprintf(path, sizeof(path), "%s/app_rank00000.h5", out_dir);
	CHECK(stat(path, &st) < 0);
	CHECK_NUMBER(stat(journal_path, &st), 0);
	options.force = true;
	options.keep_journal = false;
	CHECK_NUMBER(sp_finalize(&options, &result, &failure), 0);
	CHECK(result.journal_removed);
	CHECK(stat(journal_path, &st) < 0);
	CHECK_NUMBER(stat(path, &st), 0);
	sp_finalize_result_free(&result);
	CHECK_NUMBER(sp_finalize(&options, &result, &failure), -ENOENT);
	CHECK_TEXT(failure.path, journal_path);
	options.journal = "/dev/null";
	CHECK(sp_finalize(&options, &result, &failure) < 0);
	CHECK(sp_finalize_known("h5") && sp_finalize_known("spt,h5,sps"));
	CHECK(!sp_finalize_known("") && !sp_finalize_known("h5,") && !sp_finalize_known("h5,x") &&
	      !sp_finalize_known("h") && !sp_finalize_known(",h5"));
}

static void test_nothing(void)
{
	struct maker m = maker_open(journal_path);
	struct sp_profile *profile;

	maker_meta(&m, "program", "idle");
	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1500, "idle");
	maker_close(&m, false);
	CHECK_NUMBER(convert("h5,sps,spt", &result, &failure), 0);
	CHECK_NUMBER(result.n_files, 3);
	CHECK(!result.recording->ended);
	for (size_t i = 0; i < result.n_files; i++) {
		profile = open_output(result.files[i]);
		CHECK_NUMBER(sp_profile_info(profile)->n_calls, 0);
		sp_profile_free(profile);
	}
	sp_finalize_result_free(&result);
}

int main(int argc, char **argv)
{
	start_work(argc, argv);
	test_order();
	test_duplicates();
	test_samples();
	test_hostile_names();
	test_source_text();
	test_directories();
	test_refusals();
	test_nothing();
	return check_result();
}
