/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_input.c - streams samples into the counts of lines.
 *
 * Reads in pieces of a fixed size, so memory does not depend on the number of samples.
 */
#include "userspace/analysis/lines_input.h"

#include <stdlib.h>

/* One file's numbers of regions and modules, and ours. */
struct reading {
	struct sp_lines_input *input;
	uint32_t *regions;
	size_t n_regions;
	struct sp_sample_modules modules;
};

void sp_lines_input_init(struct sp_lines_input *input, struct sp_lines *lines,
			 struct sp_symbols *symbols)
{
	*input = (struct sp_lines_input){.lines = lines, .symbols = symbols};
	sp_sample_files_init(&input->files);
}

void sp_lines_input_done(struct sp_lines_input *input)
{
	sp_sample_files_done(&input->files);
}

static void reading_done(struct reading *reading)
{
	free(reading->regions);
	reading->regions = NULL;
	sp_sample_modules_done(&reading->modules);
}

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

static int read_tables(void *data, struct sp_profile *profile, struct sp_error *error)
{
	struct reading *reading = data;
	struct sp_lines_input *input = reading->input;
	int r = 0;

	reading_done(reading);
	reading->n_regions = sp_profile_info(profile)->n_regions;
	reading->regions = calloc(reading->n_regions + 1, sizeof(*reading->regions));
	if (!reading->regions)
		return out_of_memory(error);
	for (size_t i = 0; i < reading->n_regions && r == 0; i++)
		r = sp_lines_add_region(input->lines, sp_profile_region(profile, (uint32_t)i),
					&reading->regions[i]);
	if (r < 0)
		return out_of_memory(error);
	return sp_sample_modules_read(profile, input->symbols, &reading->modules, error);
}

static int add_sample(const struct reading *reading, const struct sp_sample_row *sample)
{
	uint32_t region = SP_LINES_NO_REGION, module = SP_LINES_NO_MODULE;
	uint64_t address = 0;

	if (sample->region >= 0 && (uint64_t)sample->region < reading->n_regions)
		region = reading->regions[sample->region];
	if (sample->module >= 0 && (uint64_t)sample->module < reading->modules.n) {
		module = reading->modules.numbers[sample->module];
		address = sample->ip - reading->modules.biases[sample->module];
	}
	return sp_lines_add(reading->input->lines, region, module, address, 1);
}

static int add_samples(void *data, struct sp_profile *profile, const struct sp_sample_row *samples,
		       uint64_t first, size_t n, struct sp_error *error)
{
	const struct reading *reading = data;

	(void)profile;
	(void)first;
	for (size_t i = 0; i < n; i++)
		if (sp_sample_files_wants(&reading->input->files, samples[i].rank) &&
		    add_sample(reading, &samples[i]) < 0)
			return out_of_memory(error);
	return 0;
}

int sp_lines_input_read(struct sp_lines_input *input, struct sp_error *error)
{
	struct reading reading = {.input = input};
	struct sp_sample_reader reader = {
		.begin = read_tables,
		.take = add_samples,
		.data = &reading,
	};
	int r = sp_sample_files_read(&input->files, &reader, error);

	reading_done(&reading);
	return r;
}
