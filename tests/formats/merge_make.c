// SPDX-License-Identifier: BSD-2-Clause
/*
 * merge_make.c - see merge_make.h. Calls nest in every lane, sometimes they cross.
 */
#include "tests/formats/merge_make.h"

#include "formats/h5_write.h"
#include "formats/sps.h"
#include "formats/spt.h"
#include "tests/formats/check.h"

enum { NAMES = 12, FLAGS = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC };

static struct sp_error error;
static uint64_t state;

void make_seed(uint64_t seed)
{
	state = seed;
}

/* splitmix64 */
uint64_t make_below(uint64_t limit)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % limit;
}

static const char *name_of(uint64_t i)
{
	static const char *const names[NAMES] = {"solve", "",  "a/b", "\303\244", "e", "f",
						 "g",	  "h", "i",   "j",	  "k", "l"};

	return names[i];
}

/* @n calls of a lane that follow each other, some inside others; every tenth row has a crossing. No
 * two rows (@row < 16) have a start in common: which of calls that coincide is the outer one
 * depends on the numbers of their regions. */
static void make_times(int64_t *starts, int64_t *ends, size_t n, size_t row)
{
	int64_t clock = (int64_t)make_below(1000) + 1;

	for (size_t i = 0; i < n; i++) {
		starts[i] = clock;
		clock += (int64_t)make_below(20);
		ends[i] = clock;
		clock += (int64_t)make_below(3);
		if (i && make_below(3) == 0)
			ends[i - 1] = ends[i]; /* i is inside the one before */
	}
	if (n > 2 && make_below(10) == 0)
		ends[0] = starts[1] + 1;
	for (size_t i = n; i-- > 1;)
		if (ends[i - 1] > starts[i] && ends[i - 1] < ends[i])
			ends[i - 1] = ends[i];
	for (size_t i = 0; i < n; i++) {
		starts[i] = 16 * starts[i] + (int64_t)row;
		ends[i] = 16 * ends[i] + (int64_t)row;
	}
}

static void add_row(struct sp_h5_writer *writer, uint32_t region, uint32_t rank,
		    unsigned int columns, unsigned int tag)
{
	size_t n = (size_t)make_below(60);
	struct sp_h5_row row = {.region = region,
				.rank = rank,
				.source_line = -1,
				.self_ns = make_below(2) ? -1 : 5};
	char file[32], metadata[1024];
	struct sp_calls calls;
	size_t at = 0;

	if (make_below(2)) {
		snprintf(file, sizeof(file), "file%u.c", tag);
		row.source_file = file;
		row.source_line = (int64_t)make_below(100);
		row.source_text = "int main()";
		row.tags = "[\"x\"]";
	}
	if (make_below(3) == 0 && n) {
		for (size_t i = 0; i < n; i++)
			at += (size_t)snprintf(metadata + at, sizeof(metadata) - at, "%s{\"k\":%u}",
					       i ? "," : "[", (unsigned int)i % 10);
		snprintf(metadata + at, sizeof(metadata) - at, "]");
		row.event_metadata = metadata;
	}
	MUST(sp_h5_writer_begin_row(writer, &row, &error));
	if (!n)
		return;
	MUST(sp_calls_alloc(&calls, n, columns));
	make_times(calls.start, calls.end, n, region);
	for (size_t i = 0; i < n; i++) {
		if (calls.id)
			calls.id[i] = (int64_t)(region * 1000 + i);
		if (calls.parent)
			calls.parent[i] = i % 3 ? (int64_t)(region * 1000 + i) - 1 : -1;
		if (calls.thread)
			calls.thread[i] = (int64_t)make_below(3) - 1;
		if (calls.await_ns)
			calls.await_ns[i] = (int64_t)i;
		if (calls.gpu_ns)
			calls.gpu_ns[i] = (int64_t)i % 5 - 1;
		if (calls.flags)
			calls.flags[i] = (uint16_t)(i % 4);
		if (calls.depth)
			calls.depth[i] = (uint16_t)(i % 7);
		if (calls.child_ns)
			calls.child_ns[i] = (int64_t)(i % 2);
		if (calls.skipped)
			calls.skipped[i] = (uint32_t)i;
		if (calls.site)
			calls.site[i] = i % 5 ? (uint32_t)make_below(6) : UINT32_MAX;
	}
	MUST(sp_h5_writer_add_calls(writer, &calls, n, &error));
	sp_calls_free(&calls);
}

static void add_rank_tables(struct sp_h5_writer *writer, uint32_t rank, uint32_t process,
			    unsigned int tag)
{
	char text[64];

	snprintf(text, sizeof(text), "/bin/app%u", tag);
	MUST(sp_h5_writer_add_processes(writer,
					&(struct sp_process_row){.pid = 100 * tag + rank,
								 .ppid = tag,
								 .rank = rank,
								 .exe = text,
								 .command_line = text,
								 .first_seen_ns = 1,
								 .last_seen_ns = -1},
					1, &error));
	for (uint32_t i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "worker %u %u", tag, i);
		MUST(sp_h5_writer_add_threads(
			writer,
			&(struct sp_thread_row){.rank = rank,
						.index = i,
						.native_id = 1000 * tag + i,
						.start_ns = 50 + i,
						.end_ns = i ? -1 : 99,
						.name = text,
						.process = i ? process : UINT32_MAX},
			1, &error));
	}
	MUST(sp_h5_writer_add_tasks(writer,
				    &(struct sp_task_row){.rank = rank,
							  .index = 0,
							  .kind = "asyncio",
							  .name = text,
							  .coro_name = "c",
							  .thread_index = 1,
							  .created_ns = 60,
							  .done_ns = -1},
				    1, &error));
	MUST(sp_h5_writer_add_cuts(
		writer, &(struct sp_cut_row){.region = 0, .rank = rank, .flag = 2, .count = tag}, 1,
		&error));
	MUST(sp_h5_writer_add_kernel_symbols(
		writer,
		&(struct sp_kernel_symbol_row){.address = 4096 * tag,
					       .end = 4096 * tag + 9,
					       .name = text,
					       .module = "m",
					       .rank = tag % 3 ? rank : UINT32_MAX},
		1, &error));
}

static void add_samples(struct sp_h5_writer *writer, uint32_t rank, uint32_t n_regions)
{
	for (uint64_t n = make_below(40); n; n--) {
		uint64_t frames[8], depth = make_below(8);

		for (uint64_t i = 0; i < depth; i++)
			frames[i] = make_below(UINT64_MAX);
		MUST(sp_h5_writer_add_sample(
			writer,
			&(struct sp_sample_row){.time_ns = 1000 + n,
						.thread = (int64_t)make_below(3) - 1,
						.region = (int64_t)make_below(n_regions + 1) - 1,
						.call_id = (int64_t)make_below(100) - 1,
						.ip = make_below(UINT64_MAX),
						.module = (int64_t)make_below(3) - 1,
						.kernel = make_below(2),
						.rank = rank,
						.kernel_frames = (uint32_t)make_below(depth + 1),
						.stack_end = (uint8_t)make_below(13),
						.signal_frames = (uint32_t)make_below(9)},
			frames, depth, &error));
	}
}

static void add_extras(struct sp_h5_writer *writer, uint32_t rank, unsigned int tag)
{
	static const char *const names[] = {"cycles", "instructions"};
	const uint64_t values[] = {tag, rank};
	const int64_t lines[] = {1, 2}, hits[] = {tag, 3}, cpus[] = {0}, counts[] = {7};
	const double times[] = {0.5, tag}, events[] = {1.5, 2.5};
	const struct sp_fact fact = {.key = "CPU name", .text = "x", .kind = SP_FACT_TEXT};

	MUST(sp_h5_writer_add_perf_events(writer,
					  &(struct sp_perf_events){.rank = rank,
								   .region = "solve",
								   .calls = 3,
								   .n = 2,
								   .names = names,
								   .values = values},
					  &error));
	MUST(sp_h5_writer_add_line_profile(writer,
					   &(struct sp_line_profile){.rank = rank,
								     .region = "solve",
								     .filename = "a.c",
								     .function = "f",
								     .unit = 1e-9,
								     .n = 2,
								     .lines = lines,
								     .hits = hits,
								     .times = times},
					   &error));
	MUST(sp_h5_writer_add_likwid(writer,
				     &(struct sp_likwid){.rank = rank,
							 .tag = "solve",
							 .group_name = "FLOPS",
							 .source = "s",
							 .n_threads = 1,
							 .cpus = cpus,
							 .times = times,
							 .call_counts = counts,
							 .n_events = 2,
							 .event_names = names,
							 .events = events},
				     &error));
	MUST(sp_h5_writer_add_likwid_environment(
		writer, &(struct sp_likwid_environment){.rank = rank, .n = 1, .facts = &fact},
		&error));
}

static void add_file_tables(struct sp_h5_writer *writer, uint32_t n_regions, const char *recording,
			    unsigned int tag)
{
	char text[64];

	for (uint32_t i = 0; i < 6; i++) {
		snprintf(text, sizeof(text), "site%u-%u.c", tag, i);
		MUST(sp_h5_writer_add_sites(
			writer,
			&(struct sp_site_row){
				.region = i % n_regions, .line = i, .file = text, .tags = "[]"},
			1, &error));
	}
	for (uint32_t i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "/lib/%u/%u.so", tag, i);
		MUST(sp_h5_writer_add_modules(
			writer,
			&(struct sp_module_row){.path = text,
						.build_id = "ab",
						.bias = 4096 * tag,
						.start = 1,
						.end = 2,
						.process = i ? UINT32_MAX : 0},
			1, &error));
	}
	/* What every file of a recording repeats. */
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t own = recording ? (uint64_t)recording[0] : tag;

		MUST(sp_h5_writer_add_losses(writer,
					     &(struct sp_loss_row){.cause = "ring full", .region = "",
								   .cpu = (int64_t)i,
								   .thread = recording ? -1 : 0,
								   .count = own,
								   .first_ns = own,
								   .last_ns = own + 1,
								   .rank = UINT32_MAX},
					     1, &error));
	}
	MUST(sp_h5_writer_add_clocks(writer,
				     &(struct sp_clock_row){recording ? recording[0] : (int64_t)tag,
							    2, 3, 4, UINT32_MAX},
				     1, &error));
	if (recording)
		MUST(sp_h5_writer_set_meta(writer, "recording_id", recording, &error));
	snprintf(text, sizeof(text), "host%u", tag % 3);
	MUST(sp_h5_writer_set_metadata(writer, "hostname", text, &error));
	MUST(sp_h5_writer_set_meta_number(writer, "sample_hz", 99, &error));
	MUST(sp_h5_writer_set_meta_number(writer, "only", (int64_t)tag, &error));
}

void make_h5(const char *path, const uint32_t *ranks, size_t n_ranks, unsigned int columns,
	     const char *recording, unsigned int tag)
{
	struct sp_h5_options options = {.output_flags = FLAGS,
					.columns = columns,
					.gzip = (unsigned int)make_below(2),
					.event_metadata = true,
					.start_time_ns = 40 + (int64_t)make_below(3)};
	uint32_t n_regions = 1 + (uint32_t)make_below(6), shift = (uint32_t)make_below(NAMES);
	struct sp_h5_writer *writer;

	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	for (uint32_t i = 0; i < n_regions; i++) {
		uint32_t region;

		MUST(sp_h5_writer_add_region(writer, name_of((i + shift) % NAMES), &region,
					     &error));
	}
	for (size_t i = 0; i < n_ranks; i++) {
		for (uint32_t k = 0; k < n_regions; k++)
			if (!k || make_below(3))
				add_row(writer, k, ranks[i], columns, tag);
		add_rank_tables(writer, ranks[i], (uint32_t)i, tag);
		add_samples(writer, ranks[i], n_regions);
		add_extras(writer, ranks[i], tag);
	}
	add_file_tables(writer, n_regions, recording, tag);
	MUST(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);
}

void make_aggregate(const char *path, uint32_t rank)
{
	struct sp_h5_options options = {.output_flags = FLAGS, .aggregate = true};
	const struct sp_stats stats = {
		.calls = 2, .total = 10, .self = 6, .minimum = 3, .maximum = 7, .mean = 5, .m2 = 8};
	struct sp_h5_row row = {.rank = rank, .source_line = -1, .self_ns = 6, .stats = &stats};
	struct sp_h5_writer *writer;

	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	MUST(sp_h5_writer_add_region(writer, "solve", &row.region, &error));
	MUST(sp_h5_writer_begin_row(writer, &row, &error));
	MUST(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);
}

void make_spt(const char *path, uint32_t rank)
{
	struct sp_spt_region regions[NAMES] = {{0}};
	size_t n = (size_t)make_below(NAMES), most = 80;
	struct sp_spt_writer *writer;
	int64_t starts[80], ends[80];

	for (size_t i = 0; i < n; i++)
		regions[i] = (struct sp_spt_region){name_of(make_below(NAMES)), "t.c", 9,
						    make_below(most)};
	MUST(sp_spt_writer_open(path, FLAGS, 2, (int32_t)rank, regions, n, &writer, &error));
	for (size_t i = 0; i < n; i++) {
		make_times(starts, ends, (size_t)regions[i].calls, i);
		MUST(sp_spt_writer_add(writer, i, starts, ends, (size_t)regions[i].calls, &error));
	}
	MUST(sp_spt_writer_commit(writer, &error));
	sp_spt_writer_free(writer);
}

void make_sps(const char *path, uint32_t rank)
{
	static const struct sp_sps_module modules[] = {{"/bin/m", 4096}, {"/lib/n.so", 0}};
	const char *names[NAMES];
	struct sp_sps_writer *writer;

	for (size_t i = 0; i < NAMES; i++)
		names[i] = name_of((i + rank) % NAMES);
	MUST(sp_sps_writer_open(path, FLAGS, (int32_t)rank, 99, names, NAMES, modules, 2, &writer,
				&error));
	for (uint64_t i = 1 + make_below(50); i; i--)
		MUST(sp_sps_writer_add(writer,
				       &(struct sp_sps_sample){(int32_t)make_below(NAMES),
							       (int32_t)make_below(3) - 1,
							       make_below(UINT64_MAX)},
				       1, &error));
	MUST(sp_sps_writer_commit(writer, 77, &error));
	sp_sps_writer_free(writer);
}
