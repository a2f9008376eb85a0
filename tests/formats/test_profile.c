// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_profile.c - HDF5 profiles: golden files, a round trip of everything, misuse, a full disk.
 *
 *	test_profile GOLDEN_DIR WORK_DIR
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "formats/h5_write.h"
#include "formats/profile_read.h"
#include "tests/formats/check.h"
#include "tests/formats/two_ranks.h"

static const char *golden, *work;
static struct sp_error error;

static void test_golden(void)
{
	static const struct {
		const char *name;
		enum sp_format format;
		int version;
		const char *file;
		const char *tags;
	} files[] = {
		{"native-v1.spt", SP_FORMAT_SPT, 1, "", "[]"},
		{"native-v2.spt", SP_FORMAT_SPT, 2, "solver.c", "[]"},
		{"hdf5-schema-1.h5", SP_FORMAT_HDF5, 1, "solver.py", "[\"golden\"]"},
		{"hdf5-schema-2.h5", SP_FORMAT_HDF5, 2, "solver.py", "[\"golden\"]"},
		{"hdf5-schema-3.h5", SP_FORMAT_HDF5, 3, "solver.py", "[\"golden\"]"},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct sp_profile *profile;
		const struct sp_profile_info *info;
		const struct sp_row *row;
		int64_t starts[3], ends[3];
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", golden, files[i].name);
		MUST(sp_profile_open(path, &profile, &error));
		info = sp_profile_info(profile);
		CHECK_INT(info->format, files[i].format);
		CHECK_INT(info->version, files[i].version);
		CHECK_INT(info->trace_version, 0);
		CHECK_INT(info->n_rows, 1);
		CHECK_INT(info->n_ranks, 1);
		CHECK_INT(info->n_calls, 3);
		row = sp_profile_row(profile, 0);
		CHECK_TEXT(sp_profile_region(profile, row->region), "solve");
		CHECK_TEXT(row->source_file, files[i].file);
		CHECK_TEXT(row->tags, files[i].tags);
		CHECK_INT(row->source_line, *files[i].file ? 7 : -1);
		MUST(sp_profile_complete(profile, 1000, &error));
		CHECK_INT(row->stats.total, 33);
		CHECK_INT(row->stats.self, 33);
		CHECK_INT(row->stats.minimum, 5);
		CHECK_INT(row->stats.maximum, 15);
		CHECK_INT(row->stats.start_minimum, 10);
		CHECK_INT(row->stats.end_maximum, 55);
		CHECK(row->stats.mean == 11 && row->stats.m2 == 56);
		CHECK_INT(info->start_time_ns, 10);
		/* Backwards, in single steps: deltas must be summed up anew. */
		for (int k = 2; k >= 0; k--)
			MUST(sp_profile_read_calls(
				profile, 0, (uint64_t)k, 1,
				&(struct sp_calls){.start = &starts[k], .end = &ends[k]}, &error));
		CHECK(starts[0] == 10 && starts[1] == 20 && starts[2] == 40);
		CHECK(ends[0] == 15 && ends[1] == 33 && ends[2] == 55);
		MUST(sp_profile_read_calls(profile, 0, 1, 2, &(struct sp_calls){.end = ends},
					   &error));
		CHECK(ends[0] == 33 && ends[1] == 55);
		CHECK_INT(sp_profile_read_calls(profile, 0, 2, 2, &(struct sp_calls){.end = ends},
						&error),
			  -EINVAL);
		sp_profile_free(profile);
	}
}

static void check_calls(struct sp_profile *profile)
{
	struct sp_calls calls;

	MUST(sp_calls_alloc(&calls, 2, (1u << SP_CALLS_N_COLUMNS) - 1));
	MUST(sp_profile_read_calls(profile, 0, 0, 2, &calls, &error));
	CHECK(calls.start[0] == 1000 && calls.start[1] == 1100 && calls.end[0] == 1500 &&
	      calls.end[1] == 1200);
	CHECK(calls.id[0] == 3 && calls.id[1] == 4 && calls.parent[0] == -1 &&
	      calls.parent[1] == 3);
	CHECK(calls.thread[0] == 0 && calls.task[0] == -1 && calls.await_ns[0] == 0 &&
	      calls.gpu_ns[1] == 7);
	CHECK(calls.flags[1] == 2 && calls.depth[1] == 1 && calls.child_ns[0] == 100 &&
	      calls.skipped[1] == 7);
	CHECK(calls.site[0] == 1 && calls.site[1] == 0);
	/* Columns that were left out got their defaults. */
	MUST(sp_profile_read_calls(profile, 1, 0, 1, &calls, &error));
	CHECK(calls.start[0] == 1050 && calls.end[0] == 1060 && calls.id[0] == -1 &&
	      calls.gpu_ns[0] == 8);
	CHECK(calls.child_ns[0] == -1 && calls.site[0] == UINT32_MAX && calls.flags[0] == 0);
	sp_calls_free(&calls);
}

static void check_rows(struct sp_profile *profile)
{
	const struct sp_row *row = sp_profile_row(profile, 0);

	CHECK_INT(sp_profile_info(profile)->n_rows, 4);
	CHECK_INT(sp_profile_info(profile)->n_calls, 3);
	CHECK_INT(sp_profile_info(profile)->n_ranks, 2);
	CHECK(sp_profile_rank(profile, 0) == 1 && sp_profile_rank(profile, 1) == 2);
	CHECK_TEXT(sp_profile_region(profile, 1), "b/\357\277\275");
	CHECK_TEXT(row->source_file, "f.c");
	CHECK_TEXT(row->source_text, "x;\n");
	CHECK_TEXT(row->tags, "[\"t\"]");
	CHECK_INT(row->source_line, 9);
	CHECK_INT(row->rank, 2);
	CHECK_INT(row->stats.calls, 2);
	CHECK_INT(row->stats.total, 600);
	CHECK_INT(row->stats.self, 500);
	CHECK_INT(row->stats.first, 500);
	CHECK_INT(row->stats.last, 100);
	CHECK_INT(row->stats.gpu_calls, 1);
	CHECK_INT(row->stats.gpu_total, 7);
	CHECK(row->stats.mean == 300 && row->stats.m2 == 80000);
	row = sp_profile_row(profile, 1);
	CHECK_INT(row->source_line, -1);
	CHECK_INT(row->stats.self, 4);
	row = sp_profile_row(profile, 2);
	CHECK_INT(row->stats.calls, 0);
	CHECK_INT(row->stats.total, 0);
	/* The region without a row got one, on the lowest rank. */
	row = sp_profile_row(profile, 3);
	CHECK_TEXT(sp_profile_region(profile, row->region), "never");
	CHECK_INT(row->rank, 1);
}

static void check_samples(struct sp_profile *profile)
{
	static struct sp_sample_row samples[5000];
	static uint64_t offsets[5001];
	uint64_t frames[3];

	CHECK_INT(sp_profile_info(profile)->n_samples, 5000);
	MUST(sp_profile_read_samples(profile, 0, 5000, samples, &error));
	MUST(sp_profile_read_stack_offsets(profile, 0, 5000, offsets, &error));
	CHECK_INT(samples[4999].time_ns, 4999);
	CHECK_INT(samples[7].thread, 1);
	CHECK_INT(samples[7].region, -1);
	CHECK_INT(samples[7].call_id, 4);
	CHECK(samples[7].ip == UINT64_MAX && samples[7].kernel == 1 && samples[8].kernel == 0);
	CHECK(samples[7].rank == 2 && samples[7].module == 0);
	for (size_t i = 0; i < 5000; i++)
		if (offsets[i + 1] - offsets[i] != i % 4 || offsets[i] != samples[i].stack)
			CHECK_INT(offsets[i + 1] - offsets[i], i % 4);
	MUST(sp_profile_read_frames(profile, offsets[4995], 3, frames, &error));
	CHECK(frames[0] == 4995 && frames[2] == 4997);
	CHECK_INT(sp_profile_read_frames(profile, offsets[5000], 1, frames, &error), -EINVAL);
	CHECK_INT(sp_profile_read_samples(profile, 5000, 1, samples, &error), -EINVAL);
}

static void check_tables(struct sp_profile *profile)
{
	const struct sp_thread_row *threads;
	const struct sp_task_row *tasks;
	const struct sp_site_row *sites;
	const struct sp_module_row *modules;
	const struct sp_process_row *processes;
	const struct sp_loss_row *losses;
	const struct sp_clock_row *clocks;
	const struct sp_cut_row *cuts;
	const struct sp_fact *facts;
	size_t n;

	MUST(sp_profile_threads(profile, &threads, &n, &error));
	CHECK_INT(n, 2);
	CHECK_TEXT(threads[0].name, "t\357\277\275");
	CHECK_TEXT(threads[1].name, "");
	CHECK(threads[0].start_ns == 400 && threads[0].end_ns == -1 && threads[0].daemon == 1);
	CHECK(threads[1].start_ns == 600 && threads[1].end_ns == 700 &&
	      threads[1].process == UINT32_MAX);
	MUST(sp_profile_tasks(profile, &tasks, &n, &error));
	CHECK(n == 1 && tasks[0].created_ns == 501 && tasks[0].done_ns == -1 &&
	      tasks[0].index == 3);
	MUST(sp_profile_sites(profile, &sites, &n, &error));
	CHECK(n == 1 && sites[0].region == 1 && sites[0].line == 3);
	CHECK_TEXT(sites[0].function, "main");
	CHECK_TEXT(sites[0].image, "/bin/x");
	MUST(sp_profile_modules(profile, &modules, &n, &error));
	CHECK(n == 1 && modules[0].end == UINT64_MAX && modules[0].bias == 1 &&
	      modules[0].file_offset == 4);
	CHECK_TEXT(modules[0].build_id, "ab");
	MUST(sp_profile_processes(profile, &processes, &n, &error));
	CHECK(n == 1 && processes[0].pid == 4 && processes[0].ppid == -1 && processes[0].rank == 2);
	CHECK_TEXT(processes[0].command_line, "x 'y'");
	MUST(sp_profile_losses(profile, &losses, &n, &error));
	CHECK(n == 1 && losses[0].count == UINT64_MAX && losses[0].cpu == 3 &&
	      losses[0].thread == -1);
	CHECK_TEXT(losses[0].cause, "ring full");
	MUST(sp_profile_cuts(profile, &cuts, &n, &error));
	CHECK(n == 1 && cuts[0].region == 1 && cuts[0].rank == 2 && cuts[0].flag == 16 &&
	      cuts[0].count == 5);
	MUST(sp_profile_clocks(profile, &clocks, &n, &error));
	CHECK(n == 1 && clocks[0].realtime_ns == 2 && clocks[0].error_ns == 4);
	MUST(sp_profile_metadata(profile, &facts, &n, &error));
	CHECK_INT(n, 3);
	CHECK_TEXT(sp_fact_find(facts, n, "hostname")->text, "h\303\274");
	CHECK_INT(sp_fact_find(facts, n, "mpi_size")->number, 5);
	CHECK(!sp_fact_find(facts, n, "label"));
	MUST(sp_profile_meta(profile, &facts, &n, &error));
	CHECK_INT(n, 2);
	CHECK_TEXT(sp_fact_find(facts, n, "why")->text, "");
	CHECK(sp_fact_find(facts, n, "calls")->number == INT64_MIN);
}

static void test_round_trip(void)
{
	for (unsigned int gzip = 0; gzip <= 4; gzip += 4) {
		const char *path = check_path(work, gzip ? "packed.h5" : "round.h5");
		struct sp_profile *profile;

		write_two_ranks(path, gzip);
		MUST(sp_profile_open(path, &profile, &error));
		CHECK_INT(sp_profile_info(profile)->version, 3);
		CHECK_INT(sp_profile_info(profile)->trace_version, 1);
		CHECK_INT(sp_profile_info(profile)->start_time_ns, 500);
		CHECK_INT(sp_profile_info(profile)->columns, SP_CALLS_TRACE | SP_CALLS_gpu_ns);
		check_rows(profile);
		check_calls(profile);
		check_samples(profile);
		check_tables(profile);
		sp_profile_free(profile);
	}
}

static void test_misuse(void)
{
	const char *path = check_path(work, "misuse.h5");
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_NO_SYNC};
	struct sp_h5_row row = {0};
	struct sp_h5_writer *writer;
	struct sp_profile *profile;
	int64_t time = 0;
	uint32_t region;

	unlink(path);
	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	CHECK_INT(sp_h5_writer_add_calls(writer, &(struct sp_calls){.start = &time, .end = &time},
					 1, &error),
		  -EINVAL);
	CHECK_INT(sp_h5_writer_begin_row(writer, &row, &error), -EINVAL);
	MUST(sp_h5_writer_add_region(writer, "a", &region, &error));
	MUST(sp_h5_writer_begin_row(writer, &row, &error));
	MUST(sp_h5_writer_begin_row(writer, &row, &error));
	CHECK_INT(sp_h5_writer_commit(writer, &error), -EINVAL);
	CHECK(strstr(error.text, "two rows") != NULL);
	sp_h5_writer_free(writer);
	CHECK_INT(access(path, F_OK), -1);

	/* Nothing at all is a valid profile. */
	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	MUST(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);
	MUST(sp_profile_open(path, &profile, &error));
	CHECK_INT(sp_profile_info(profile)->n_rows, 0);
	CHECK_INT(sp_profile_info(profile)->n_samples, 0);
	sp_profile_free(profile);
	CHECK_INT(sp_h5_writer_open(path, &options, &writer, &error), -EEXIST);
	options.gzip = 10;
	CHECK_INT(sp_h5_writer_open(path, &options, &writer, &error), -EINVAL);
}

/* In a child: fills the disk, as it were, at @limit bytes. Whatever happens, no file and no crash,
 * and the next file is written. */
static void fill_disk(rlim_t limit)
{
	const char *path = check_path(work, "full.h5");
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE, .columns = SP_CALLS_id};
	struct rlimit saved, small;
	struct sp_h5_writer *writer = NULL;
	struct sp_profile *profile;
	struct sp_calls calls;
	uint32_t region;
	int r;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &saved);
	small = saved;
	small.rlim_cur = limit;
	setrlimit(RLIMIT_FSIZE, &small);
	MUST(sp_calls_alloc(&calls, 1 << 16, SP_CALLS_id));
	r = sp_h5_writer_open(path, &options, &writer, &error);
	if (!r)
		r = sp_h5_writer_add_region(writer, "a", &region, &error);
	if (!r)
		r = sp_h5_writer_begin_row(writer, &(struct sp_h5_row){.region = 0}, &error);
	for (int i = 0; !r && i < 4; i++)
		r = sp_h5_writer_add_calls(writer, &calls, 1 << 16, &error);
	if (!r)
		r = sp_h5_writer_commit(writer, &error);
	check_that(__FILE__, __LINE__, r < 0 && error.text[0], "limit %ld: no failure",
		   (long)limit);
	sp_h5_writer_free(writer);
	CHECK_INT(access(path, F_OK), -1);
	setrlimit(RLIMIT_FSIZE, &saved);
	sp_calls_free(&calls);
	write_two_ranks(path, 0);
	MUST(sp_profile_open(path, &profile, &error));
	CHECK_INT(sp_profile_info(profile)->n_calls, 3);
	sp_profile_free(profile);
	unlink(path);
	exit(check_failed != 0);
}

static void test_full_disk(void)
{
	static const rlim_t limits[] = {0, 100, 2000, 300000, 1000000, 5000000, 6290000};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		pid_t child = fork();
		int status;

		if (!child)
			fill_disk(limits[i]);
		CHECK(waitpid(child, &status, 0) == child);
		check_that(__FILE__, __LINE__, status == 0, "limit %ld: status %x", (long)limits[i],
			   status);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	golden = argv[1];
	work = argv[2];
	mkdir(work, 0777);
	test_golden();
	test_round_trip();
	test_misuse();
	test_full_disk();
	return check_end();
}
