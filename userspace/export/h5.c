/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5.c - a unit of a recording as an HDF5 profile, with everything that was recorded.
 *
 * The whole recording's clocks and facts stand in the file of every unit, and so do losses of no
 * known thread, so that each can be read alone; recording_id tells a reader of several which of
 * them are one recording.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_write.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/export/h5_facts.h"
#include "userspace/export/sink.h"

struct h5_sink {
	struct sp_h5_writer *writer;
	const struct sp_sink_unit *unit;
	struct sp_sink_region
		*regions; /* their strings belong to the recording or to the finalizer */
	size_t n_regions, regions_room;
	bool several_pids; /* so a thread's name does not say whose it is */
};

static void h5_free(void *data)
{
	struct h5_sink *sink = data;

	if (!sink)
		return;
	sp_h5_writer_free(sink->writer);
	free(sink->regions);
	free(sink);
}

static int h5_open(const char *path, const struct sp_sink_unit *unit, void **ret_sink,
		   struct sp_error *error)
{
	struct sp_h5_options options = {
		.output_flags = unit->output_flags,
		.columns = SP_CALLS_TRACE,
		.gzip = unit->gzip,
		.start_time_ns = (int64_t)unit->facts->start_ns,
	};
	struct h5_sink *sink = calloc(1, sizeof(*sink));
	int r;

	if (!sink)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	sink->unit = unit;
	r = sp_h5_writer_open(path, &options, &sink->writer, error);
	if (r < 0) {
		h5_free(sink);
		return r;
	}
	*ret_sink = sink;
	return 0;
}

static int h5_add_region(void *data, const struct sp_sink_region *region, struct sp_error *error)
{
	struct h5_sink *sink = data;
	struct sp_sink_region *new =
		sp_array_add(&sink->regions, &sink->n_regions, &sink->regions_room);
	uint32_t id;

	if (!new)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	*new = *region;
	return sp_h5_writer_add_region(sink->writer, region->name, &id, error);
}

static int h5_begin_row(void *data, uint32_t region, struct sp_error *error)
{
	struct h5_sink *sink = data;
	const struct sp_sink_region *of = &sink->regions[region];
	struct sp_h5_row row = {
		.region = region,
		.rank = sink->unit->unit->rank,
		.source_file = of->file,
		.source_line = of->line,
		.source_text = of->text,
		.tags = of->tags,
		.self_ns = -1,
	};

	return sp_h5_writer_begin_row(sink->writer, &row, error);
}

static int h5_add_site(void *data, const struct sp_site_row *site, struct sp_error *error)
{
	return sp_h5_writer_add_sites(((struct h5_sink *)data)->writer, site, 1, error);
}

static int h5_add_calls(void *data, const struct sp_calls *calls, size_t n, struct sp_error *error)
{
	return sp_h5_writer_add_calls(((struct h5_sink *)data)->writer, calls, n, error);
}

static int h5_add_cuts(void *data, const struct sp_cut_row *cuts, struct sp_error *error)
{
	return sp_h5_writer_add_cuts(((struct h5_sink *)data)->writer, cuts, 1, error);
}

static int h5_add_module(void *data, const struct sp_module_row *module, struct sp_error *error)
{
	return sp_h5_writer_add_modules(((struct h5_sink *)data)->writer, module, 1, error);
}

static int h5_add_kernel_symbol(void *data, const struct sp_kernel_symbol_row *symbol,
				struct sp_error *error)
{
	return sp_h5_writer_add_kernel_symbols(((struct h5_sink *)data)->writer, symbol, 1, error);
}

static int h5_add_sample(void *data, const struct sp_sink_sample *sample, struct sp_error *error)
{
	return sp_h5_writer_add_sample(((struct h5_sink *)data)->writer, &sample->row,
				       sample->frames, sample->n_frames, error);
}

static int h5_add_line_profile(void *data, const struct sp_line_profile *record,
			       struct sp_error *error)
{
	return sp_h5_writer_add_line_profile(((struct h5_sink *)data)->writer, record, error);
}

/* ---- tables ---- */

struct numbered {
	uint32_t number, index;
};

static int by_number(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Indices of the unit's lanes by thread number, or of its processes by row, to free(). */
static struct numbered *list_members(const struct sp_sink_unit *unit, bool lanes, size_t n)
{
	const struct sp_recording *rec = unit->recording;
	struct numbered *list = malloc((n + 1) * sizeof(*list));
	size_t found = 0, all = lanes ? rec->n_lanes : rec->n_processes;

	for (uint32_t i = 0; list && i < all && found < n; i++) {
		const struct sp_process *process =
			&rec->processes[lanes ? rec->lanes[i].process : i];

		if (process->unit == unit->unit_index)
			list[found++] =
				(struct numbered){lanes ? rec->lanes[i].thread : process->row, i};
	}
	if (list)
		qsort(list, found, sizeof(*list), by_number);
	return list;
}

static int add_thread(struct h5_sink *sink, uint32_t index, struct sp_error *error)
{
	const struct sp_recording *rec = sink->unit->recording;
	const struct sp_lane *lane = &rec->lanes[index];
	const struct sp_process *process = &rec->processes[lane->process];
	sp_cleanup(sp_freep) char *name = NULL;
	struct sp_thread_row row = {
		.rank = sink->unit->unit->rank,
		.index = lane->thread,
		.ident = lane->tid,
		.native_id = lane->tid,
		.start_ns = (int64_t)lane->first,
		.end_ns = lane->end ? (int64_t)lane->end : -1,
		.cpu_ns = lane->cpu_time,
		.name = lane->name,
		.process = process->row,
		.calls = lane->calls,
		.samples = lane->samples,
	};

	if (sink->several_pids) {
		if (asprintf(&name, "%s (pid %u)", lane->name, process->pid) < 0) {
			name = NULL;
			return sp_error_set(error, -ENOMEM, 0, "out of memory");
		}
		row.name = name;
	}
	return sp_h5_writer_add_threads(sink->writer, &row, 1, error);
}

static int add_process(struct h5_sink *sink, uint32_t index, struct sp_error *error)
{
	const struct sp_process *process = &sink->unit->recording->processes[index];
	struct sp_process_row row = {
		.pid = process->pid ? (int64_t)process->pid : -1,
		.ppid = process->ppid ? (int64_t)process->ppid : -1,
		.rank = sink->unit->unit->rank,
		.exe = process->exe[0] ? process->exe : process->comm,
		.command_line = process->command_line,
		.first_seen_ns = process->first ? (int64_t)process->first : -1,
		.last_seen_ns = process->end ? (int64_t)process->end : -1,
	};

	return sp_h5_writer_add_processes(sink->writer, &row, 1, error);
}

static int add_members(struct h5_sink *sink, struct sp_error *error)
{
	const struct sp_unit *unit = sink->unit->unit;
	const struct sp_process *all = sink->unit->recording->processes;
	sp_cleanup(sp_freep) struct numbered *lanes = list_members(sink->unit, true, unit->threads);
	sp_cleanup(sp_freep) struct numbered *processes =
		list_members(sink->unit, false, unit->processes);
	int r = 0;

	if (!lanes || !processes)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	for (uint32_t i = 1; i < unit->processes; i++)
		sink->several_pids |= all[processes[i].index].pid != all[processes[0].index].pid;
	for (uint32_t i = 0; r == 0 && i < unit->threads; i++)
		r = add_thread(sink, lanes[i].index, error);
	for (uint32_t i = 0; r == 0 && i < unit->processes; i++)
		r = add_process(sink, processes[i].index, error);
	return r;
}

/* Whether a gap is of a thread of another unit, whose file tells of it. Sets the row of the thread.
 */
static bool is_elsewhere(const struct sp_sink_unit *unit, const struct sp_loss *loss,
			 int64_t *ret_thread)
{
	const struct sp_recording *rec = unit->recording;
	uint32_t index = loss->lane ? sp_idmap_get(&rec->lane_by_id, loss->lane) : SP_NONE;
	uint32_t of = index == SP_NONE ? SP_NONE : rec->processes[rec->lanes[index].process].unit;

	*ret_thread = of == unit->unit_index ? (int64_t)rec->lanes[index].thread : -1;
	return of != SP_NONE && of != unit->unit_index;
}

static int add_losses(struct h5_sink *sink, struct sp_error *error)
{
	const struct sp_recording *rec = sink->unit->recording;
	int r = 0;

	for (size_t i = 0; r == 0 && i < rec->n_losses; i++) {
		const struct sp_loss *loss = &rec->losses[i];
		struct sp_place place = sp_recording_loss_place(rec, loss);
		struct sp_loss_row row = {
			.cause = sp_loss_name(loss->cause),
			.cpu = loss->cpu,
			.count = loss->count,
			.first_ns = loss->first,
			.last_ns = loss->last,
			.rank = UINT32_MAX,
			.region = sp_recording_loss_region(rec, loss),
			.file = place.file,
			.line = place.line,
		};

		if (is_elsewhere(sink->unit, loss, &row.thread))
			continue;
		r = sp_h5_writer_add_losses(sink->writer, &row, 1, error);
	}
	return r;
}

static int add_clocks(struct h5_sink *sink, struct sp_error *error)
{
	const struct sp_recording *rec = sink->unit->recording;
	int r = 0;

	for (size_t i = 0; r == 0 && i < rec->n_clocks; i++) {
		const struct sp_clock *clock = &rec->clocks[i];
		struct sp_clock_row row = {clock->monotonic, clock->realtime, clock->boottime,
					   clock->error, UINT32_MAX};

		r = sp_h5_writer_add_clocks(sink->writer, &row, 1, error);
	}
	return r;
}

static int h5_commit(void *data, struct sp_error *error)
{
	struct h5_sink *sink = data;
	int r = add_members(sink, error);

	if (r == 0)
		r = add_losses(sink, error);
	if (r == 0)
		r = add_clocks(sink, error);
	if (r == 0)
		r = sp_h5_facts_set(sink->writer, sink->unit, error);
	if (r == 0)
		r = sp_h5_writer_commit(sink->writer, error);
	return r;
}

const struct sp_sink_ops sp_sink_h5 = {
	.name = "h5",
	.open = h5_open,
	.add_region = h5_add_region,
	.begin_row = h5_begin_row,
	.add_site = h5_add_site,
	.add_calls = h5_add_calls,
	.add_cuts = h5_add_cuts,
	.add_module = h5_add_module,
	.add_kernel_symbol = h5_add_kernel_symbol,
	.add_sample = h5_add_sample,
	.add_line_profile = h5_add_line_profile,
	.commit = h5_commit,
	.free = h5_free,
};
