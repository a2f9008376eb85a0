/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_input.c - streams samples into the counts of lines.
 *
 * Reads in pieces of a fixed size, so memory does not depend on the number of samples.
 */
#include "userspace/analysis/lines_input.h"

#include <stdlib.h>

#include "formats/profile_guard.h"
#include "userspace/base/cleanup.h"

#define STORED_NO_REGION "(no region)" /* as export/line_profile.h writes it */

SP_DEFINE_CLEANUP(struct sp_profile *, sp_profile_free);

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
	sp_lines_set_written(input->lines, input->files.written);
	return r;
}

static int add_stored(struct sp_lines_input *input, const char *path, struct sp_error *error)
{
	sp_cleanup(sp_profile_freep) struct sp_profile *profile = NULL;
	const struct sp_extras *extras;
	int r = sp_profile_open_guarded(path, NULL, &profile, error);

	if (r == 0)
		r = sp_profile_extras(profile, &extras, error);
	for (size_t i = 0; r == 0 && i < extras->n_line_profiles; i++)
		if (sp_sample_files_wants(&input->files, extras->line_profiles[i].rank))
			r = sp_lines_add_stored(input->lines, &extras->line_profiles[i],
						STORED_NO_REGION, input->files.written);
	return r;
}

/* Whether samples lack lines since the file that has them is not there any more. */
static bool lacks_files(const struct sp_lines_input *input)
{
	for (uint32_t i = 0; i < sp_symbols_n_modules(input->symbols); i++) {
		const struct sp_symbols_module *module = sp_symbols_module(input->symbols, i);

		if ((module->status == SP_SYMBOLS_CHANGED ||
		     module->status == SP_SYMBOLS_MISSING) &&
		    module->path[0] != '[' && sp_lines_module_samples(input->lines, i))
			return true;
	}
	return false;
}

int sp_lines_input_use_stored(struct sp_lines_input *input, struct sp_error *error)
{
	uint64_t unknown;
	int r = 0;

	if (!lacks_files(input))
		return 0;
	for (size_t i = 0; i < input->files.n && r == 0; i++)
		r = add_stored(input, input->files.paths[i], error);
	if (r < 0 || sp_lines_n_stored(input->lines, &unknown) != input->files.samples ||
	    unknown >= sp_lines_unknown(input->lines))
		return r;
	input->stored = true;
	return sp_lines_count_stored(input->lines);
}
