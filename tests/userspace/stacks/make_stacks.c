/* SPDX-License-Identifier: BSD-2-Clause
 *
 * make_stacks.c - makes an HDF5 profile with stacks out of words on stdin, a fact a line. Rows of
 * tables are numbered from 0 as they come; addresses are hexadecimal; what is -1 is unknown.
 *
 *	region NAME | process | thread RANK PROCESS | module PATH BIAS START END PROCESS MAPPED
 *	kernel ADDRESS END NAME | row REGION RANK | call ID PARENT DEPTH THREAD START END | hz N
 *	sample TIME THREAD REGION CALL MODULE RANK IN_KERNEL KERNEL_FRAMES END SIGNALS IP FRAME…
 *	loss COUNT CAUSE… | gap COUNT CPU THREAD FIRST LAST REGION CAUSE… (REGION -: unknown)
 *	recording ID
 *
 * The word no-ids behind the name of the file: calls have neither ids nor parents.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_write.h"

static char *words[600];
static size_t n_words;

static void split(char *line)
{
	n_words = 0;
	line[strcspn(line, "\n")] = '\0';
	for (char *word = strtok(line, " "); word && n_words < 600; word = strtok(NULL, " "))
		words[n_words++] = word;
}

static long long number(size_t at)
{
	return at < n_words ? strtoll(words[at], NULL, 10) : -1;
}

static uint64_t address(size_t at)
{
	return at < n_words ? strtoull(words[at], NULL, 16) : 0;
}

static int add_sample(struct sp_h5_writer *writer, struct sp_error *error)
{
	struct sp_sample_row row = {
		.time_ns = (uint64_t)number(1),
		.thread = number(2),
		.region = number(3),
		.call_id = number(4),
		.module = number(5),
		.rank = (uint32_t)number(6),
		.kernel = (uint8_t)number(7),
		.kernel_frames = (uint32_t)number(8),
		.stack_end = (uint8_t)number(9),
		.signal_frames = (uint32_t)number(10),
		.ip = address(11),
	};
	uint64_t frames[600];
	size_t n = 0;

	for (size_t i = 12; i < n_words; i++)
		frames[n++] = address(i);
	return sp_h5_writer_add_sample(writer, &row, frames, n, error);
}

static int add_call(struct sp_h5_writer *writer, struct sp_error *error)
{
	int64_t id = number(1), parent = number(2), thread = number(4), start = number(5);
	int64_t end = number(6);
	uint16_t depth = (uint16_t)number(3);
	struct sp_calls calls = {.start = &start,
				 .end = &end,
				 .id = &id,
				 .parent = &parent,
				 .thread = &thread,
				 .depth = &depth};

	return sp_h5_writer_add_calls(writer, &calls, 1, error);
}

static int add(struct sp_h5_writer *writer, char *line, struct sp_error *error)
{
	const char *kind;
	uint32_t region;

	if (!strncmp(line, "region ", 7)) {
		line[strcspn(line, "\n")] = '\0';
		return sp_h5_writer_add_region(writer, line + 7, &region, error);
	}
	split(line);
	kind = n_words ? words[0] : "";
	if (!strcmp(kind, "process")) {
		struct sp_process_row row = {.pid = 1,
					     .ppid = -1,
					     .exe = "",
					     .command_line = "",
					     .first_seen_ns = -1,
					     .last_seen_ns = -1};

		return sp_h5_writer_add_processes(writer, &row, 1, error);
	}
	if (!strcmp(kind, "thread")) {
		struct sp_thread_row row = {.rank = (uint32_t)number(1),
					    .end_ns = -1,
					    .native_id = -1,
					    .name = "t",
					    .process = (uint32_t)number(2)};

		return sp_h5_writer_add_threads(writer, &row, 1, error);
	}
	if (!strcmp(kind, "module")) {
		struct sp_module_row row = {.path = words[1],
					    .build_id = "",
					    .archived = "",
					    .bias = address(2),
					    .start = address(3),
					    .end = address(4),
					    .process = (uint32_t)number(5),
					    .mapped_ns = (uint64_t)number(6)};

		return sp_h5_writer_add_modules(writer, &row, 1, error);
	}
	if (!strcmp(kind, "kernel")) {
		struct sp_kernel_symbol_row row = {.address = address(1),
						   .end = address(2),
						   .name = words[3],
						   .module = "",
						   .rank = UINT32_MAX};

		return sp_h5_writer_add_kernel_symbols(writer, &row, 1, error);
	}
	if (!strcmp(kind, "row")) {
		struct sp_h5_row row = {.region = (uint32_t)number(1),
					.rank = (uint32_t)number(2),
					.source_line = -1,
					.self_ns = -1};

		return sp_h5_writer_begin_row(writer, &row, error);
	}
	if (!strcmp(kind, "loss")) {
		struct sp_loss_row row = {
			.cause = words[2], .cpu = -1, .thread = -1, .count = (uint64_t)number(1)};

		for (size_t i = 3; i < n_words; i++)
			words[i][-1] = ' ';
		return sp_h5_writer_add_losses(writer, &row, 1, error);
	}
	if (!strcmp(kind, "gap")) {
		struct sp_loss_row row = {
			.cause = words[7],
			.count = (uint64_t)number(1),
			.cpu = number(2),
			.thread = number(3),
			.first_ns = (uint64_t)number(4),
			.last_ns = (uint64_t)number(5),
			.rank = UINT32_MAX,
			.region = strcmp(words[6], "-") != 0 ? words[6] : "",
		};

		for (size_t i = 8; i < n_words; i++)
			words[i][-1] = ' ';
		return sp_h5_writer_add_losses(writer, &row, 1, error);
	}
	if (!strcmp(kind, "recording"))
		return sp_h5_writer_set_meta(writer, "recording_id", words[1], error);
	if (!strcmp(kind, "hz"))
		return sp_h5_writer_set_meta_number(writer, "sample_hz", number(1), error);
	if (!strcmp(kind, "call"))
		return add_call(writer, error);
	if (!strcmp(kind, "sample"))
		return add_sample(writer, error);
	return sp_error_set(error, -EINVAL, 0, "what is \"%s\"?", kind);
}

int main(int argc, char **argv)
{
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC,
					.columns = SP_CALLS_TRACE};
	struct sp_h5_writer *writer = NULL;
	struct sp_error error = {0};
	char *line = NULL;
	size_t room = 0;
	int r;

	if (argc == 3 && !strcmp(argv[2], "no-ids"))
		options.columns = 0;
	r = argc < 2 ? -EINVAL : sp_h5_writer_open(argv[1], &options, &writer, &error);
	if (r == 0)
		r = sp_h5_writer_set_meta(writer, "recording_id", argv[1], &error);
	while (r == 0 && getline(&line, &room, stdin) > 0)
		r = add(writer, line, &error);
	if (r == 0)
		r = sp_h5_writer_commit(writer, &error);
	sp_h5_writer_free(writer);
	free(line);
	if (r < 0)
		fprintf(stderr, "make_stacks: %s\n", error.text);
	return r < 0;
}
