/* SPDX-License-Identifier: BSD-2-Clause
 *
 * perf_to_h5.c - a recording of perf as a profile of ours, sample by sample, so that both can be
 * shown what is the same.
 *
 *   perf_to_h5 perf.data OUT.h5
 *
 * Reads what `perf record -g` writes by itself: one event, samples with call chains, mappings. Not
 * for files of strangers.
 */
#include <err.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>

#include "formats/h5_write.h"
#include "formats/wire.h"

struct section {
	uint64_t offset, size;
};

struct header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, types;
};

static struct sp_h5_writer *writer;
static struct sp_error error;
static uint64_t samples, modules, all_frames;

static void check(int r)
{
	if (r < 0)
		errx(1, "%s", error.text);
}

static void add_mapping(const struct perf_event_header *event)
{
	/* pid, tid, addr, len, pgoff, then a build-id or device and inode (24 bytes), prot, flags,
	 * name */
	const char *at = (const char *)(event + 1);
	uint64_t start, length, offset;
	uint32_t protection;
	const char *name = at + 8 + 24 + 24 + 8;
	struct sp_module_row row = {.process = 0, .build_id = "", .archived = ""};

	memcpy(&start, at + 8, 8);
	memcpy(&length, at + 16, 8);
	memcpy(&offset, at + 24, 8);
	memcpy(&protection, at + 56, 4);
	if (!(protection & PROT_EXEC) || event->misc & PERF_RECORD_MISC_MMAP_DATA ||
	    (event->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
		return;
	row.path = name;
	row.start = start;
	row.end = start + length;
	row.file_offset = offset;
	row.bias = start - offset;
	check(sp_h5_writer_add_modules(writer, &row, 1, &error));
	modules++;
}

static void add_sample(const struct perf_event_header *event, uint64_t type)
{
	const uint64_t *at = (const uint64_t *)(event + 1);
	struct sp_sample_row row = {.thread = 0,
				    .region = -1,
				    .call_id = -1,
				    .module = -1,
				    .stack_end = SP_STACK_FRAME_POINTERS};
	uint64_t frames[512], n;
	size_t kept = 0;
	int mode = 0;

	if (type & PERF_SAMPLE_IDENTIFIER)
		at++;
	if (type & PERF_SAMPLE_IP)
		at++;
	if (type & PERF_SAMPLE_TID)
		at++;
	if (type & PERF_SAMPLE_TIME)
		row.time_ns = *at++;
	if (type & (PERF_SAMPLE_ADDR | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_READ))
		errx(1, "has samples of another kind");
	if (type & PERF_SAMPLE_ID)
		at++;
	if (type & PERF_SAMPLE_CPU)
		at++;
	if (type & PERF_SAMPLE_PERIOD)
		at++;
	n = *at++;
	for (uint64_t i = 0; i < n && kept < 512; i++) {
		if (at[i] == (uint64_t)PERF_CONTEXT_KERNEL)
			mode = 1;
		else if (at[i] == (uint64_t)PERF_CONTEXT_USER)
			mode = 2;
		else if (at[i] >= (uint64_t)PERF_CONTEXT_MAX)
			mode = 0;
		else if (mode) {
			row.kernel_frames += mode == 1;
			if (mode == 2 && !row.ip)
				row.ip = at[i];
			frames[kept++] = at[i];
		}
	}
	row.kernel = row.kernel_frames > 0;
	check(sp_h5_writer_add_sample(writer, &row, frames, kept, &error));
	samples++;
	all_frames += kept;
}

int main(int argc, char **argv)
{
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC,
					.columns = SP_CALLS_TRACE};
	struct sp_thread_row thread = {
		.rank = 0, .index = 0, .native_id = 1, .end_ns = -1, .name = "main", .process = 0};
	struct sp_process_row process = {.pid = 1,
					 .ppid = -1,
					 .exe = "",
					 .command_line = "",
					 .first_seen_ns = -1,
					 .last_seen_ns = -1};
	struct header header;
	struct perf_event_attr attr;
	struct stat status;
	const char *file;
	int fd;

	if (argc != 3)
		errx(2, "usage: perf_to_h5 perf.data OUT.h5");
	fd = open(argv[1], O_RDONLY);
	if (fd < 0 || fstat(fd, &status) < 0)
		err(1, "%s", argv[1]);
	file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		err(1, "%s", argv[1]);
	memcpy(&header, file, sizeof(header));
	if (memcmp(header.magic, "PERFILE2", 8))
		errx(1, "%s is no perf.data", argv[1]);
	memcpy(&attr, file + header.attrs.offset, sizeof(attr));
	check(sp_h5_writer_open(argv[2], &options, &writer, &error));
	check(sp_h5_writer_add_threads(writer, &thread, 1, &error));
	check(sp_h5_writer_add_processes(writer, &process, 1, &error));
	check(sp_h5_writer_set_meta(writer, "recording_id", "perf", &error));
	for (uint64_t at = header.data.offset; at < header.data.offset + header.data.size;) {
		const struct perf_event_header *event = (const void *)(file + at);

		if (event->type == PERF_RECORD_SAMPLE)
			add_sample(event, attr.sample_type);
		else if (event->type == PERF_RECORD_MMAP2)
			add_mapping(event);
		at += event->size;
	}
	check(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);
	printf("%llu samples of %.1f frames, %llu modules\n", (unsigned long long)samples,
	       (double)all_frames / (double)(samples + !samples), (unsigned long long)modules);
	return 0;
}
