/* SPDX-License-Identifier: BSD-2-Clause
 *
 * make_profile.c - makes an HDF5 profile with samples out of words on stdin, a fact a line:
 *
 *	region NAME | module PATH BUILD_ID BIAS | sample REGION MODULE IP KERNEL RANK
 *	loss COUNT CAUSE… | hz N
 *
 * BUILD_ID "-" is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_write.h"

static int failed(const struct sp_error *error)
{
	fprintf(stderr, "make_profile: %s\n", error->text);
	return 1;
}

static int add(struct sp_h5_writer *writer, char *line, struct sp_error *error)
{
	char one[512], two[512];
	long long numbers[5];
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (!strncmp(line, "region ", 7)) {
		uint32_t region;

		return sp_h5_writer_add_region(writer, line + 7, &region, error);
	}
	if (sscanf(line, "module %511s %511s %llx", one, two, (unsigned long long *)numbers) == 3) {
		struct sp_module_row row = {.path = one,
					    .build_id = strcmp(two, "-") ? two : "",
					    .bias = (uint64_t)numbers[0],
					    .process = UINT32_MAX};

		return sp_h5_writer_add_modules(writer, &row, 1, error);
	}
	if (sscanf(line, "sample %lld %lld %llx %lld %lld", &numbers[0], &numbers[1],
		   (unsigned long long *)&numbers[2], &numbers[3], &numbers[4]) == 5) {
		struct sp_sample_row row = {.time_ns = 1,
					    .thread = -1,
					    .region = numbers[0],
					    .call_id = -1,
					    .module = numbers[1],
					    .ip = (uint64_t)numbers[2],
					    .kernel = (uint8_t)numbers[3],
					    .rank = (uint32_t)numbers[4]};

		return sp_h5_writer_add_sample(writer, &row, &row.ip, 1, error);
	}
	if (sscanf(line, "loss %lld %n", &numbers[0], &at) == 1 && at) {
		struct sp_loss_row row = {
			.cause = line + at, .cpu = -1, .thread = -1, .count = (uint64_t)numbers[0]};

		return sp_h5_writer_add_losses(writer, &row, 1, error);
	}
	if (sscanf(line, "hz %lld", &numbers[0]) == 1)
		return sp_h5_writer_set_meta_number(writer, "sample_hz", numbers[0], error);
	return sp_error_set(error, -EINVAL, 0, "what is \"%s\"?", line);
}

int main(int argc, char **argv)
{
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC};
	struct sp_h5_writer *writer;
	struct sp_error error;
	char line[2048];

	if (argc != 2 || sp_h5_writer_open(argv[1], &options, &writer, &error) < 0)
		return failed(&error);
	while (fgets(line, sizeof(line), stdin))
		if (add(writer, line, &error) < 0)
			return failed(&error);
	if (sp_h5_writer_commit(writer, &error) < 0)
		return failed(&error);
	sp_h5_writer_free(writer);
	return 0;
}
