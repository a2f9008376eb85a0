// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_make.c - writes a random profile, the same for the same seed, with the library's writers.
 *
 *	profile_make SEED DIR
 *
 * makes DIR/profile.h5 (all ranks), and for each rank DIR/spt/p_rank<NNNNN>.spt and
 * DIR/sps/p_rank<NNNNN>.sps. What it makes covers: no region at all, one to many ranks, threads,
 *empty rows, recursion, zero-length calls, names with slashes, quotes, line ends, UTF-8 and broken
 *UTF-8, rows longer than a chunk, compression, missing optional columns, samples with and without
 *stacks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/h5_write.h"
#include "formats/sps.h"
#include "formats/spt.h"

enum { MAX_REGIONS = 64, MAX_DEPTH = 12 };

static struct sp_error error;
static uint64_t state;

/* splitmix64 */
static uint64_t random_64(void)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t below(uint64_t limit)
{
	return random_64() % limit;
}

static void must(int r)
{
	if (!r)
		return;
	fprintf(stderr, "profile_make: %s: %s\n", strerror(-r), error.text);
	exit(1);
}

struct call {
	int64_t start, end, child;
	int64_t id, parent;
	uint32_t region, thread, depth;
};

static struct call *calls;
static size_t n_calls, calls_capacity;
static size_t n_regions;
static int64_t next_id;

/* One call with calls inside, on a thread, from *@clock on. */
static size_t make_call(uint32_t thread, int64_t parent, uint32_t depth, int64_t *clock,
			size_t budget)
{
	size_t index = n_calls++, children = budget ? below(budget + 1) : 0;
	struct call call = {.start = *clock,
			    .id = next_id++,
			    .parent = parent,
			    .thread = thread,
			    .depth = depth,
			    .region = (uint32_t)below(n_regions)};

	if (n_calls > calls_capacity)
		calls = realloc(calls, sizeof(*calls) * (calls_capacity = n_calls * 2));
	*clock += (int64_t)below(50);
	while (children && depth < MAX_DEPTH) {
		size_t some = 1 + below(children);
		int64_t before = *clock;
		size_t inside = make_call(thread, call.id, depth + 1, clock, some - 1);

		call.child += calls[inside].end - calls[inside].start;
		*clock += before == *clock ? 1 : (int64_t)below(30);
		children -= some;
	}
	call.end = *clock;
	calls[index] = call;
	return index;
}

static int compare_calls(const void *a, const void *b)
{
	const struct call *left = a, *right = b;

	if (left->region != right->region)
		return left->region < right->region ? -1 : 1;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->id > right->id) - (left->id < right->id);
}

/* All calls of a rank, by region and in order of entry. */
static void make_rank(size_t threads, size_t budget, int64_t origin)
{
	n_calls = 0;
	next_id = (int64_t)below(1000);
	for (uint32_t thread = 0; thread < threads && n_regions; thread++) {
		int64_t clock = origin + (int64_t)below(1000000);

		next_id += (int64_t)thread << 40;
		for (size_t at = 0; at < budget;) {
			size_t before = n_calls;

			make_call(thread, -1, 0, &clock, below(40));
			clock += 1 + (int64_t)below(1000);
			at += n_calls - before;
		}
	}
	if (n_calls)
		qsort(calls, n_calls, sizeof(*calls), compare_calls);
}

static const char *region_name(size_t i)
{
	static const char *const odd[] = {
		"solve",       "",
		"a/b/c",       "quote\"back\\slash",
		"line\nend",   "gr\303\274n \342\202\254",
		"bad\377byte", "percent %s %n",
		" spaces ",    "rank0",
	};
	static char name[MAX_REGIONS][32];

	if (i < sizeof(odd) / sizeof(odd[0]))
		return odd[i];
	snprintf(name[i], sizeof(name[i]), "region %zu", i);
	return name[i];
}

static size_t region_range(uint32_t region, size_t *ret_first)
{
	size_t first = 0, n = 0;

	while (first < n_calls && calls[first].region != region)
		first++;
	while (first + n < n_calls && calls[first + n].region == region)
		n++;
	*ret_first = first;
	return n;
}

static void write_row(struct sp_h5_writer *writer, uint32_t rank, uint32_t region,
		      unsigned int columns)
{
	size_t first, n = region_range(region, &first), chunk = 1 + below(5000);
	struct sp_h5_row row = {.region = region, .rank = rank, .source_line = -1, .self_ns = -1};
	struct sp_calls out;

	if (!n && below(2))
		return;
	if (below(2)) {
		row.source_file = "/src/\303\244 file.c";
		row.source_line = (int64_t)below(1000);
		row.source_text = "for (;;)\n\t\"x\";\n";
		row.tags = "[\"io\", \"check\\\"point\"]";
	}
	must(sp_h5_writer_begin_row(writer, &row, &error));
	if (sp_calls_alloc(&out, chunk, columns))
		exit(1);
	for (size_t at = 0; at < n; at += chunk) {
		size_t some = n - at < chunk ? n - at : chunk;

		for (size_t i = 0; i < some; i++) {
			const struct call *call = &calls[first + at + i];

			out.start[i] = call->start;
			out.end[i] = call->end;
			if (columns & SP_CALLS_id)
				out.id[i] = call->id;
			if (columns & SP_CALLS_parent)
				out.parent[i] = call->parent;
			if (columns & SP_CALLS_thread)
				out.thread[i] = call->thread;
			if (columns & SP_CALLS_depth)
				out.depth[i] = (uint16_t)call->depth;
			if (columns & SP_CALLS_child_ns)
				out.child_ns[i] = call->child;
			if (columns & SP_CALLS_site)
				out.site[i] = call->region;
			if (columns & SP_CALLS_await_ns)
				out.await_ns[i] = call->id % 7;
		}
		must(sp_h5_writer_add_calls(writer, &out, some, &error));
	}
	sp_calls_free(&out);
}

static void write_tables(struct sp_h5_writer *writer, uint32_t rank, size_t threads, int64_t origin)
{
	for (size_t i = 0; i < threads; i++) {
		char name[64];

		snprintf(name, sizeof(name), "worker %u/%zu", rank, i);
		must(sp_h5_writer_add_threads(
			writer,
			&(struct sp_thread_row){.rank = rank,
						.index = (int64_t)i,
						.native_id = 1000 + (int64_t)i,
						.start_ns = origin + (int64_t)i - 5,
						.end_ns = i % 2 ? -1 : origin + 999,
						.cpu_ns = 77,
						.name = name,
						.process = rank},
			1, &error));
	}
	must(sp_h5_writer_add_processes(writer,
					&(struct sp_process_row){.pid = 1000 + rank,
								 .ppid = 1,
								 .rank = rank,
								 .exe = "/bin/app",
								 .command_line = "app --x",
								 .first_seen_ns = origin,
								 .last_seen_ns = -1},
					1, &error));
	for (uint64_t i = below(3000); i; i--) {
		uint64_t frames[128], n = below(4) ? below(20) : below(128);

		for (uint64_t k = 0; k < n; k++)
			frames[k] = random_64();
		must(sp_h5_writer_add_sample(
			writer,
			&(struct sp_sample_row){.time_ns = (uint64_t)origin + i,
						.thread = (int64_t)below(3) - 1,
						.region = (int64_t)below(n_regions + 1) - 1,
						.call_id = -1,
						.ip = random_64(),
						.module = (int64_t)below(3) - 1,
						.kernel = below(2),
						.rank = rank},
			frames, n, &error));
	}
}

static void write_spt(const char *directory, uint32_t rank)
{
	struct sp_spt_region regions[MAX_REGIONS];
	struct sp_spt_writer *writer;
	char path[4096];

	for (uint32_t i = 0; i < n_regions; i++) {
		size_t first;

		regions[i] = (struct sp_spt_region){.name = region_name(i),
						    .source_file = i % 2 ? "a.c" : NULL,
						    .source_line = i % 2 ? (int32_t)i : -1,
						    .calls = region_range(i, &first)};
	}
	snprintf(path, sizeof(path), "%s/spt/p_rank%05u.spt", directory, rank);
	must(sp_spt_writer_open(path, SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC, SP_SPT_VERSION,
				(int32_t)rank, regions, n_regions, &writer, &error));
	for (size_t i = 0; i < n_calls; i++)
		must(sp_spt_writer_add(writer, calls[i].region, &calls[i].start, &calls[i].end, 1,
				       &error));
	must(sp_spt_writer_commit(writer, &error));
	sp_spt_writer_free(writer);
}

static void write_sps(const char *directory, uint32_t rank)
{
	static const struct sp_sps_module modules[] = {{"/bin/true", 0x555555554000},
						       {"/lib/\303\244.so", 0}};
	const char *names[MAX_REGIONS];
	struct sp_sps_writer *writer;
	char path[4096];

	for (size_t i = 0; i < n_regions; i++)
		names[i] = region_name(i);
	snprintf(path, sizeof(path), "%s/sps/p_rank%05u.sps", directory, rank);
	must(sp_sps_writer_open(path, SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC, (int32_t)rank, 997,
				names, n_regions, modules, 2, &writer, &error));
	for (uint64_t i = n_regions ? below(10000) : 0; i; i--)
		must(sp_sps_writer_add(writer,
				       &(struct sp_sps_sample){(int32_t)below(n_regions),
							       (int32_t)below(3) - 1, random_64()},
				       1, &error));
	must(sp_sps_writer_commit(writer, 12345, &error));
	sp_sps_writer_free(writer);
}

int main(int argc, char **argv)
{
	static const unsigned int column_sets[] = {
		SP_CALLS_TRACE,
		SP_CALLS_TRACE,
		0,
		SP_CALLS_thread,
		SP_CALLS_id | SP_CALLS_parent,
		SP_CALLS_TRACE | SP_CALLS_await_ns,
	};
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC};
	struct sp_h5_writer *writer;
	uint32_t ranks, region;
	size_t threads, budget;
	char path[4096];

	if (argc != 3)
		return 2;
	state = strtoull(argv[1], NULL, 10) * 1000003 + 7;
	mkdir(argv[2], 0777);
	snprintf(path, sizeof(path), "%s/spt", argv[2]);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/sps", argv[2]);
	mkdir(path, 0777);
	n_regions = below(8) ? 1 + below(MAX_REGIONS) : below(3);
	ranks = 1 + (uint32_t)(below(3) ? below(3) : below(12));
	options.columns = column_sets[below(6)];
	/* Overlapping threads need the thread column to be told apart. */
	threads = options.columns & SP_CALLS_thread ? 1 + below(4) : 1;
	budget = below(6) ? below(2000) : 40000;
	options.gzip = below(3) ? 0 : 1 + (unsigned int)below(9);
	options.start_time_ns = (int64_t)below(1000000000000);
	snprintf(path, sizeof(path), "%s/profile.h5", argv[2]);
	must(sp_h5_writer_open(path, &options, &writer, &error));
	for (size_t i = 0; i < n_regions; i++)
		must(sp_h5_writer_add_region(writer, region_name(i), &region, &error));
	for (uint32_t rank = 0; rank < ranks; rank++) {
		int64_t origin = options.start_time_ns + (int64_t)below(1000000);

		make_rank(threads, budget, origin);
		for (uint32_t i = 0; i < n_regions; i++)
			write_row(writer, rank, i, options.columns);
		write_tables(writer, rank, threads, origin);
		write_spt(argv[2], rank);
		write_sps(argv[2], rank);
	}
	must(sp_h5_writer_set_metadata(writer, "hostname", "node \303\274", &error));
	must(sp_h5_writer_set_metadata_number(writer, "mpi_size", ranks, &error));
	must(sp_h5_writer_set_meta(writer, "command_line", "app \377 x", &error));
	must(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);
	free(calls);
	return 0;
}
