/* SPDX-License-Identifier: BSD-2-Clause
 *
 * finalize_samples.c - feeds the samples of one unit to its sinks, and what their stacks are in.
 *
 * Invariant: before a sample goes out, every mapping that has an address of its stack is announced
 * as a module of its own process, and every function of the kernel in it. So a reader finds the
 * module of a frame among those of the sample's process, also where a fork child runs in what its
 * parent had mapped.
 */
#include <errno.h>
#include <string.h>

#include "userspace/export/finalize_internal.h"

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

static int announce_module(struct sp_unit_writer *w, uint32_t process, uint32_t map,
			   uint32_t *ret_number, struct sp_error *error)
{
	const struct sp_recording *rec = w->fin->recording;
	const struct sp_map *from = &rec->maps[map];
	const struct sp_image *image = from->image == SP_NONE ? NULL : &rec->images[from->image];
	struct sp_module_row row = {
		.path = from->path,
		.build_id = sp_finalizer_build_id(w->fin, from),
		.bias = from->bias,
		.start = from->start,
		.end = from->end,
		.file_offset = from->file_offset,
		.process = rec->processes[process].row,
		.archived = image ? image->archived : "",
		.mapped_ns = from->time,
		.place = image ? image->place : 0,
	};
	uint64_t key = (uint64_t)process << 32 | map;
	int r = 0;

	*ret_number = sp_idmap_get(&w->modules, key);
	if (*ret_number != SP_NONE)
		return 0;
	if (sp_idmap_set(&w->modules, key, w->n_modules) < 0)
		return out_of_memory(error);
	*ret_number = w->n_modules++;
	SP_FOR_SINKS(w, r, add_module, &row, error);
	return r;
}

static int announce_kernel_symbol(struct sp_unit_writer *w, uint64_t address,
				  struct sp_error *error)
{
	const struct sp_recording *rec = w->fin->recording;
	uint32_t index = sp_recording_find_kernel_symbol(rec, address);
	struct sp_kernel_symbol_row row = {.rank = w->unit.unit->rank};
	int r = 0;

	if (index == SP_NONE || w->kernel_symbols[index] != SP_NONE)
		return 0;
	row.address = rec->kernel_symbols[index].address;
	row.end = rec->kernel_symbols[index].end;
	row.name = rec->kernel_symbols[index].name;
	row.module = rec->kernel_symbols[index].module;
	w->kernel_symbols[index] = w->n_kernel_symbols++;
	SP_FOR_SINKS(w, r, add_kernel_symbol, &row, error);
	return r;
}

/* A caller's address is the one after the call, which may be the first one behind its function. */
static uint64_t inside(uint64_t address, size_t frame, uint32_t signal_frames)
{
	bool interrupted = !frame || (frame < 32 && signal_frames >> frame & 1);

	return interrupted || !address ? address : address - 1;
}

static int announce_stack(struct sp_unit_writer *w, uint32_t process,
			  const struct sp_sink_sample *sample, struct sp_error *error)
{
	uint32_t kernel = sample->row.kernel_frames, number;
	int r = 0;

	for (size_t i = 0; r == 0 && i < kernel; i++)
		r = announce_kernel_symbol(w, inside(sample->frames[i], i, 0), error);
	for (size_t i = kernel; r == 0 && i < sample->n_frames; i++) {
		uint64_t at = inside(sample->frames[i], i - kernel, sample->row.signal_frames);
		uint32_t map =
			sp_recording_find_map(w->fin->recording, process, at, sample->row.time_ns);

		if (map != SP_NONE)
			r = announce_module(w, process, map, &number, error);
	}
	return r;
}

static int read_frames(struct sp_unit_writer *w, const struct sp_record *record, uint64_t *frames,
		       size_t n, struct sp_error *error)
{
	int r = n ? sp_scratch_read(w->fin->stacks, record->word[SP_SW_STACK], frames,
				    n * sizeof(*frames))
		  : 0;

	if (r == 0)
		return 0;
	sp_finalizer_blame(w->fin, w->fin->options->directory, r);
	return sp_error_set(error, r, 0, "a temporary file in it cannot be read: %s", strerror(-r));
}

/* Module of the interrupted address. */
static int find_module(struct sp_unit_writer *w, uint32_t process, struct sp_sample_row *row,
		       struct sp_error *error)
{
	uint32_t map =
		row->ip ? sp_recording_find_map(w->fin->recording, process, row->ip, row->time_ns)
			: SP_NONE;
	uint32_t number;
	int r = map == SP_NONE ? 0 : announce_module(w, process, map, &number, error);

	row->module = map == SP_NONE ? -1 : (int64_t)number;
	return r;
}

int sp_unit_add_sample(struct sp_unit_writer *w, const struct sp_record *record,
		       struct sp_error *error)
{
	uint64_t frames[SP_STACK_ROOM];
	uint32_t site = (uint32_t)(record->word[SP_SW_SITE] >> 32);
	uint32_t thread = (uint32_t)(record->word[SP_SW_LANE] >> 32);
	uint32_t process = (uint32_t)(record->word[SP_SW_FRAMES] >> 32);
	uint32_t region = site == SP_NONE ? SP_NONE : w->fin->recording->sites[site].region;
	uint64_t number = record->word[SP_SW_NUMBER];
	struct sp_sink_sample sample = {
		.frames = frames,
		.n_frames = (uint16_t)record->word[SP_SW_FRAMES],
	};
	int r = 0;

	if (region != SP_NONE && w->regions[region] == SP_NONE)
		r = sp_unit_begin_row(w, region, error);
	if (r < 0)
		return r;
	sample.row = (struct sp_sample_row){
		.time_ns = record->word[SP_SW_TIME],
		.thread = thread == SP_NONE ? -1 : (int64_t)thread,
		.region = region == SP_NONE ? -1 : (int64_t)w->regions[region],
		.call_id = number && thread != SP_NONE ? sp_unit_call_id(thread, number) : -1,
		.ip = record->word[SP_SW_IP],
		.kernel = record->word[SP_SW_LANE] & SP_SAMPLE_KERNEL ? 1 : 0,
		.rank = w->unit.unit->rank,
		.kernel_frames = (uint16_t)(record->word[SP_SW_FRAMES] >> 16),
		.stack_end = (uint8_t)(record->word[SP_SW_LANE] >> 16),
		.signal_frames = (uint32_t)record->word[SP_SW_SITE],
	};
	r = find_module(w, process, &sample.row, error);
	if (r == 0)
		r = read_frames(w, record, frames, sample.n_frames, error);
	if (r == 0)
		r = announce_stack(w, process, &sample, error);
	if (r == 0)
		SP_FOR_SINKS(w, r, add_sample, &sample, error);
	if (r == 0 && sp_finalizer_count_line(
			      w->fin,
			      region == SP_NONE ? NULL : w->fin->recording->regions[region].name,
			      process, sample.row.ip, sample.row.time_ns) < 0)
		r = out_of_memory(error);
	w->fin->result->samples++;
	sp_stack_counts_add(&w->fin->result->ends, sample.row.stack_end, sample.row.kernel_frames);
	w->fin->result->samples_outside += region == SP_NONE;
	return r;
}
