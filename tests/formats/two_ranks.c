// SPDX-License-Identifier: BSD-2-Clause
/*
 * two_ranks.c - see two_ranks.h.
 */
#include "tests/formats/two_ranks.h"

#include <errno.h>

#include "formats/h5_write.h"
#include "tests/formats/check.h"

void write_two_ranks(const char *path, unsigned int gzip)
{
	struct sp_error error = {0};
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC,
					.columns = SP_CALLS_TRACE | SP_CALLS_gpu_ns,
					.gzip = gzip,
					.start_time_ns = 500};
	int64_t start[] = {1000, 1100, 1050}, end[] = {1500, 1200, 1060}, id[] = {3, 4, 5};
	int64_t parent[] = {-1, 3, 3}, thread[] = {0, 0, 1}, child[] = {100, 0, 0},
		gpu[] = {-1, 7, 8};
	uint16_t depth[] = {0, 1, 1}, flags[] = {1, 2, 0xffff};
	uint32_t skipped[] = {0, 7, 0xffffffff}, site[] = {1, 0, UINT32_MAX};
	struct sp_calls calls = {.start = start,
				 .end = end,
				 .id = id,
				 .parent = parent,
				 .thread = thread,
				 .child_ns = child,
				 .gpu_ns = gpu,
				 .depth = depth,
				 .flags = flags,
				 .skipped = skipped,
				 .site = site};
	struct sp_h5_writer *writer;
	uint32_t a, b, c, again;

	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	MUST(sp_h5_writer_add_region(writer, "a", &a, &error));
	MUST(sp_h5_writer_add_region(writer, "b/\377", &b, &error));
	MUST(sp_h5_writer_add_region(writer, "never", &c, &error));
	MUST(sp_h5_writer_add_region(writer, "b/\357\277\275", &again, &error));
	CHECK_INT(again, b);
	MUST(sp_h5_writer_begin_row(writer,
				    &(struct sp_h5_row){.region = a,
							.rank = 2,
							.source_file = "f.c",
							.source_line = 9,
							.source_text = "x;\n",
							.tags = "[\"t\"]",
							.self_ns = -1},
				    &error));
	MUST(sp_h5_writer_add_calls(writer, &calls, 2, &error));
	calls.start++, calls.end++;
	calls = (struct sp_calls){.start = start + 2, .end = end + 2, .gpu_ns = gpu + 2};
	MUST(sp_h5_writer_begin_row(
		writer,
		&(struct sp_h5_row){.region = b, .rank = 1, .source_line = -7, .self_ns = 4},
		&error));
	MUST(sp_h5_writer_add_calls(writer, &calls, 1, &error));
	MUST(sp_h5_writer_begin_row(
		writer, &(struct sp_h5_row){.region = b, .rank = 2, .self_ns = -1}, &error));
	MUST(sp_h5_writer_add_threads(writer,
				      &(struct sp_thread_row){.rank = 2,
							      .index = 0,
							      .ident = 5,
							      .native_id = 6,
							      .daemon = 1,
							      .start_ns = 400,
							      .end_ns = -1,
							      .cpu_ns = 8,
							      .name = "t\377",
							      .process = 0},
				      1, &error));
	MUST(sp_h5_writer_add_threads(writer,
				      &(struct sp_thread_row){.rank = 2,
							      .index = 1,
							      .start_ns = 600,
							      .end_ns = 700,
							      .process = UINT32_MAX},
				      1, &error));
	MUST(sp_h5_writer_add_tasks(writer,
				    &(struct sp_task_row){.rank = 1,
							  .index = 3,
							  .kind = "asyncio",
							  .name = "n",
							  .coro_name = "c",
							  .created_ns = 501,
							  .done_ns = -1},
				    1, &error));
	MUST(sp_h5_writer_add_sites(writer,
				    &(struct sp_site_row){.region = 1,
							  .line = 3,
							  .file = "f.c",
							  .tags = "[]",
							  .function = "main",
							  .image = "/bin/x"},
				    1, &error));
	MUST(sp_h5_writer_add_modules(writer,
				      &(struct sp_module_row){.path = "/bin/x",
							      .build_id = "ab",
							      .bias = 1,
							      .start = UINT64_MAX - 1,
							      .end = UINT64_MAX,
							      .file_offset = 4,
							      .process = 0},
				      1, &error));
	MUST(sp_h5_writer_add_processes(writer,
					&(struct sp_process_row){.pid = 4,
								 .ppid = -1,
								 .rank = 2,
								 .exe = "/bin/x",
								 .command_line = "x 'y'",
								 .first_seen_ns = 1,
								 .last_seen_ns = -1},
					1, &error));
	MUST(sp_h5_writer_add_losses(writer,
				     &(struct sp_loss_row){.cause = "ring full",
							   .region = "",
							   .cpu = 3,
							   .thread = -1,
							   .count = UINT64_MAX,
							   .first_ns = 1,
							   .last_ns = 2},
				     1, &error));
	MUST(sp_h5_writer_add_cuts(
		writer, &(struct sp_cut_row){.region = 1, .rank = 2, .flag = 16, .count = 5}, 1,
		&error));
	MUST(sp_h5_writer_add_clocks(
		writer,
		&(struct sp_clock_row){
			.monotonic_ns = 1, .realtime_ns = 2, .boottime_ns = 3, .error_ns = 4},
		1, &error));
	for (uint64_t i = 0; i < 5000; i++) {
		uint64_t frames[3] = {i, i + 1, i + 2};

		MUST(sp_h5_writer_add_sample(writer,
					     &(struct sp_sample_row){.time_ns = i,
								     .thread = 1,
								     .region = -1,
								     .call_id = 4,
								     .ip = UINT64_MAX,
								     .module = 0,
								     .kernel = i % 2,
								     .rank = 2,
								     .stack = 999},
					     frames, i % 4, &error));
	}
	MUST(sp_h5_writer_set_metadata(writer, "hostname", "h\303\274", &error));
	MUST(sp_h5_writer_set_metadata_number(writer, "mpi_size", 4, &error));
	MUST(sp_h5_writer_set_metadata_number(writer, "mpi_size", 5, &error));
	MUST(sp_h5_writer_set_meta(writer, "why", NULL, &error));
	MUST(sp_h5_writer_set_meta_number(writer, "calls", INT64_MIN, &error));
	CHECK_INT(sp_h5_writer_set_meta(writer, "", "x", &error), -EINVAL);
	MUST(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);
}
