/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recording.c - takes the events of a journal into tables, in any order.
 *
 * Invariant: whatever names a lane, a process or a site makes an entry for it, so every call and
 * sample has a place to go, described or not. Events of several rings come out of order; nothing
 * here depends on it.
 */
#include "userspace/analysis/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/utf8.h"
#include "userspace/analysis/recording_events.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define TEXT_ROOM 16384 /* longer strings are cut */

struct sp_recording *sp_recording_new(void)
{
	struct sp_recording *rec = calloc(1, sizeof(*rec));
	struct sp_process *unknown;

	if (!rec)
		return NULL;
	rec->strings = sp_pool_new();
	rec->end_reason = "";
	unknown = sp_array_add(&rec->processes, &rec->n_processes, &rec->processes_room);
	if (!rec->strings || !unknown || sp_idmap_set(&rec->process_by_number, 0, 0) < 0) {
		sp_recording_free(rec);
		return NULL;
	}
	*unknown = (struct sp_process){.rank = -1,
				       .size = -1,
				       .exe = "",
				       .command_line = "",
				       .rank_source = "",
				       .job = "",
				       .comm = "",
				       .unit = SP_NONE};
	return rec;
}

void sp_recording_free(struct sp_recording *rec)
{
	if (!rec)
		return;
	sp_pool_free(rec->strings);
	free(rec->lanes);
	free(rec->processes);
	free(rec->sites);
	free(rec->regions);
	free(rec->images);
	free(rec->segments);
	free(rec->maps);
	free(rec->losses);
	free(rec->clocks);
	free(rec->meta);
	free(rec->kernel_symbols);
	free(rec->unwind_facts);
	free(rec->units);
	free(rec->befores);
	sp_idmap_free(&rec->lane_by_id);
	sp_idmap_free(&rec->process_by_number);
	sp_idmap_free(&rec->site_by_number);
	sp_idmap_free(&rec->loss_by_key);
	sp_idmap_free(&rec->loss_places);
	sp_idmap_free(&rec->image_by_number);
	free(rec);
}

int sp_recording_take_raw(struct sp_recording *rec, const struct sp_event *event, unsigned index,
			  const char **ret)
{
	char text[TEXT_ROOM];

	*ret = sp_pool_add(rec->strings, sp_event_string(event, index, text, sizeof(text)));
	return *ret ? 0 : -ENOMEM;
}

int sp_recording_take_text(struct sp_recording *rec, const struct sp_event *event, unsigned index,
			   const char **ret)
{
	char text[TEXT_ROOM];
	sp_cleanup(sp_freep) char *repaired = NULL;
	const char *given = sp_event_string(event, index, text, sizeof(text));

	if (!sp_utf8_valid(given, strlen(given))) {
		repaired = sp_utf8_repair(given);
		if (!repaired)
			return -ENOMEM;
		given = repaired;
	}
	*ret = sp_pool_add(rec->strings, given);
	return *ret ? 0 : -ENOMEM;
}

void sp_recording_note_time(struct sp_recording *rec, uint64_t first, uint64_t last)
{
	if (first && (!rec->first_time || first < rec->first_time))
		rec->first_time = first;
	if (last > rec->last_time)
		rec->last_time = last;
}

int sp_recording_ensure_process(struct sp_recording *rec, uint32_t number, uint32_t *ret_index)
{
	uint32_t index = sp_idmap_get(&rec->process_by_number, number);
	struct sp_process *process;

	if (index == SP_NONE) {
		index = (uint32_t)rec->n_processes;
		process = sp_array_add(&rec->processes, &rec->n_processes, &rec->processes_room);
		if (!process || sp_idmap_set(&rec->process_by_number, number, index) < 0)
			return -ENOMEM;
		*process = (struct sp_process){.number = number,
					       .rank = -1,
					       .size = -1,
					       .exe = "",
					       .command_line = "",
					       .rank_source = "",
					       .job = "",
					       .comm = "",
					       .unit = SP_NONE};
	}
	*ret_index = index;
	return 0;
}

static int ensure_lane(struct sp_recording *rec, uint32_t id, struct sp_lane **ret_lane)
{
	uint32_t index = sp_idmap_get(&rec->lane_by_id, id);
	struct sp_lane *lane;

	if (index == SP_NONE) {
		index = (uint32_t)rec->n_lanes;
		lane = sp_array_add(&rec->lanes, &rec->n_lanes, &rec->lanes_room);
		if (!lane || sp_idmap_set(&rec->lane_by_id, id, index) < 0)
			return -ENOMEM;
		*lane = (struct sp_lane){.id = id,
					 .process = SP_NONE,
					 .thread = SP_NONE,
					 .cpu_time = -1,
					 .name = "?"};
	}
	*ret_lane = &rec->lanes[index];
	return 0;
}

int sp_recording_ensure_site(struct sp_recording *rec, uint32_t number, struct sp_site **ret_site)
{
	uint32_t index = sp_idmap_get(&rec->site_by_number, number);
	struct sp_site *site;

	if (index == SP_NONE) {
		index = (uint32_t)rec->n_sites;
		site = sp_array_add(&rec->sites, &rec->n_sites, &rec->sites_room);
		if (!site || sp_idmap_set(&rec->site_by_number, number, index) < 0)
			return -ENOMEM;
		*site = (struct sp_site){
			.number = number, .line = -1, .file = "", .tags = "", .function = ""};
	}
	*ret_site = &rec->sites[index];
	return 0;
}

/* Lanes are told of by several events; what the first of them knows holds. */
static int lane_is_of(struct sp_recording *rec, struct sp_lane *lane, uint32_t process,
		      uint32_t pid, uint32_t tid, uint64_t time)
{
	uint32_t index;
	int r = process ? sp_recording_ensure_process(rec, process, &index) : 0;

	if (r < 0)
		return r;
	if (process && lane->process == SP_NONE)
		lane->process = index;
	if (process && !rec->processes[index].pid)
		rec->processes[index].pid = pid;
	if (!lane->tid)
		lane->tid = tid;
	if (!lane->first || time < lane->first)
		lane->first = time;
	return 0;
}

static int add_call(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_call *call = (const struct sp_ev_call *)event->head;
	struct sp_lane *lane;
	struct sp_site *site;
	int r = ensure_lane(rec, call->head.lane, &lane);

	if (r == 0)
		r = sp_recording_ensure_site(rec, call->site, &site);
	if (r < 0)
		return r;
	rec->calls++;
	rec->open_calls += !!(call->head.flags & SP_CALL_OPEN_AT_END);
	lane->calls++;
	site->calls++;
	if (call->head.flags & SP_CALL_BEGAN_BEFORE) {
		r = sp_recording_add_before(rec, call);
		if (r < 0)
			return r;
	}
	if (!lane->first || call->start < lane->first)
		lane->first = call->start;
	sp_recording_note_time(rec, call->start, call->end);
	return 0;
}

static int add_sample(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_sample *sample = (const struct sp_ev_sample *)event->head;
	struct sp_lane *lane;
	struct sp_site *site;
	uint32_t process;
	int r = 0;

	rec->samples++;
	sp_stack_counts_add(&rec->stacks, sample->stack_end, sample->kernel_frames);
	sp_recording_note_time(rec, sample->time, sample->time);
	if (sample->site) {
		r = sp_recording_ensure_site(rec, sample->site, &site);
		if (r < 0)
			return r;
		site->samples++;
	}
	if (sample->head.lane) {
		r = ensure_lane(rec, sample->head.lane, &lane);
		if (r < 0)
			return r;
		lane->samples++;
		return lane_is_of(rec, lane, sample->process, sample->pid, sample->tid,
				  sample->time);
	}
	r = sp_recording_ensure_process(rec, sample->process, &process);
	if (r == 0)
		rec->processes[process].samples++;
	return r;
}

static int add_stack_copy(struct sp_recording *rec, const struct sp_event *event)
{
	(void)event;
	rec->stack_copies++;
	return 0;
}

static int add_task(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_task *task = (const struct sp_ev_task *)event->head;
	struct sp_process *process;
	struct sp_lane *lane;
	const char *name;
	uint32_t index;
	int r = sp_recording_take_text(rec, event, 0, &name);

	if (r == 0)
		r = ensure_lane(rec, task->head.lane, &lane);
	if (r == 0)
		r = sp_recording_ensure_process(rec, task->process, &index);
	if (r == 0)
		r = lane_is_of(rec, lane, task->process, task->pid, task->tid, task->time);
	if (r < 0)
		return r;
	sp_recording_note_time(rec, task->time, task->time);
	process = &rec->processes[index];
	lane->announced = true;
	if (lane->name[0] == '?' && !lane->name[1])
		lane->name = name;
	if (!task->process)
		return 0;
	if (!process->ppid)
		process->ppid = task->ppid;
	if (!process->parent && task->parent_process != task->process)
		process->parent = task->parent_process;
	if (task->cause == SP_TASK_EXEC)
		process->from_exec = true;
	if (task->tid == task->pid || !process->comm[0])
		process->comm = name;
	return 0;
}

static int add_task_exit(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_task_exit *task = (const struct sp_ev_task_exit *)event->head;
	struct sp_lane *lane;
	const char *name;
	int r = sp_recording_take_text(rec, event, 0, &name);

	if (r == 0)
		r = ensure_lane(rec, task->head.lane, &lane);
	if (r == 0)
		r = lane_is_of(rec, lane, task->process, task->pid, task->tid, task->time);
	if (r < 0)
		return r;
	sp_recording_note_time(rec, task->time, task->time);
	/* Threads name themselves after they start: the last name says most. */
	if (name[0])
		lane->name = name;
	lane->end = task->time;
	lane->cpu_time = task->cpu_time > INT64_MAX ? -1 : (int64_t)task->cpu_time;
	return 0;
}

static int add_map(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_map *ev = (const struct sp_ev_map *)event->head;
	uint32_t process;
	struct sp_map *map;
	const char *path;
	int r = sp_recording_take_raw(rec, event, 0, &path);

	if (r == 0)
		r = sp_recording_ensure_process(rec, ev->process, &process);
	if (r < 0)
		return r;
	map = sp_array_add(&rec->maps, &rec->n_maps, &rec->maps_room);
	if (!map)
		return -ENOMEM;
	*map = (struct sp_map){
		.process = process,
		.image = SP_NONE,
		.time = ev->time,
		.start = ev->start,
		.end = ev->end,
		.file_offset = ev->file_offset,
		.device = ev->device,
		.inode = ev->inode,
		.path = path,
		.no_answer = ev->head.flags & SP_MAP_NO_ANSWER,
	};
	return 0;
}

int sp_recording_add(struct sp_recording *rec, const struct sp_event *event)
{
	static int (*const handlers[SP_EV_MAX])(struct sp_recording *, const struct sp_event *) = {
		[SP_EV_call] = add_call,
		[SP_EV_sample] = add_sample,
		[SP_EV_stack_copy] = add_stack_copy,
		[SP_EV_task] = add_task,
		[SP_EV_task_exit] = add_task_exit,
		[SP_EV_map] = add_map,
		[SP_EV_dynamic_site] = sp_recording_add_dynamic_site,
		[SP_EV_meta] = sp_recording_add_meta,
		[SP_EV_clock] = sp_recording_add_clock,
		[SP_EV_image] = sp_recording_add_image,
		[SP_EV_segment] = sp_recording_add_segment,
		[SP_EV_site] = sp_recording_add_site,
		[SP_EV_process] = sp_recording_add_process,
		[SP_EV_loss] = sp_recording_add_loss,
		[SP_EV_end] = sp_recording_add_end,
		[SP_EV_unwind_table] = sp_recording_add_unwind_table,
		[SP_EV_kernel_symbol] = sp_recording_add_kernel_symbol,
		[SP_EV_archived] = sp_recording_add_archived,
	};
	unsigned type = event->head->type;

	return type < SP_EV_MAX && handlers[type] ? handlers[type](rec, event) : 0;
}
