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
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/units.h"

#define TEXT_ROOM 16384 /* longer strings are cut */
#define MAX_META 4096	/* more keys than any recorder writes */

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
	free(rec->units);
	sp_idmap_free(&rec->lane_by_id);
	sp_idmap_free(&rec->process_by_number);
	sp_idmap_free(&rec->site_by_number);
	sp_idmap_free(&rec->loss_by_key);
	sp_idmap_free(&rec->image_by_number);
	free(rec);
}

/* The @index-th string of an event's tail, as it is (paths must stay what the kernel knows). */
static int take_raw(struct sp_recording *rec, const struct sp_event *event, unsigned index,
		    const char **ret)
{
	char text[TEXT_ROOM];

	*ret = sp_pool_add(rec->strings, sp_event_string(event, index, text, sizeof(text)));
	return *ret ? 0 : -ENOMEM;
}

/* The same, made UTF-8. */
static int take_text(struct sp_recording *rec, const struct sp_event *event, unsigned index,
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

static void note_time(struct sp_recording *rec, uint64_t first, uint64_t last)
{
	if (first && (!rec->first_time || first < rec->first_time))
		rec->first_time = first;
	if (last > rec->last_time)
		rec->last_time = last;
}

static int ensure_process(struct sp_recording *rec, uint32_t number, uint32_t *ret_index)
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

static int ensure_site(struct sp_recording *rec, uint32_t number, struct sp_site **ret_site)
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
	int r = process ? ensure_process(rec, process, &index) : 0;

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
		r = ensure_site(rec, call->site, &site);
	if (r < 0)
		return r;
	rec->calls++;
	rec->open_calls += !!(call->head.flags & SP_CALL_OPEN_AT_END);
	lane->calls++;
	site->calls++;
	if (!lane->first || call->start < lane->first)
		lane->first = call->start;
	note_time(rec, call->start, call->end);
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
	note_time(rec, sample->time, sample->time);
	if (sample->site) {
		r = ensure_site(rec, sample->site, &site);
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
	r = ensure_process(rec, sample->process, &process);
	if (r == 0)
		rec->processes[process].samples++;
	return r;
}

static int add_task(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_task *task = (const struct sp_ev_task *)event->head;
	struct sp_process *process;
	struct sp_lane *lane;
	const char *name;
	uint32_t index;
	int r = take_text(rec, event, 0, &name);

	if (r == 0)
		r = ensure_lane(rec, task->head.lane, &lane);
	if (r == 0)
		r = ensure_process(rec, task->process, &index);
	if (r == 0)
		r = lane_is_of(rec, lane, task->process, task->pid, task->tid, task->time);
	if (r < 0)
		return r;
	note_time(rec, task->time, task->time);
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
	int r = take_text(rec, event, 0, &name);

	if (r == 0)
		r = ensure_lane(rec, task->head.lane, &lane);
	if (r == 0)
		r = lane_is_of(rec, lane, task->process, task->pid, task->tid, task->time);
	if (r < 0)
		return r;
	note_time(rec, task->time, task->time);
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
	int r = take_raw(rec, event, 0, &path);

	if (r == 0)
		r = ensure_process(rec, ev->process, &process);
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
	};
	return 0;
}

static int describe_site(struct sp_recording *rec, const struct sp_event *event, uint32_t number,
			 uint32_t image, int64_t line)
{
	struct sp_site *site;
	const char *name, *file, *tags, *function = "";
	int r = ensure_site(rec, number, &site);

	if (r < 0 || site->name)
		return r; /* a name is announced once for each process that uses it */
	if ((r = take_text(rec, event, 0, &name)) < 0 ||
	    (r = take_text(rec, event, 1, &file)) < 0 || (r = take_text(rec, event, 2, &tags)) < 0)
		return r;
	if (event->head->type == SP_EV_site && (r = take_text(rec, event, 3, &function)) < 0)
		return r;
	/* A run-time name that could not be read comes as nothing. */
	if (!name[0] && (number & SP_SITE_DYNAMIC))
		return 0;
	site->name = name;
	site->file = file;
	site->tags = tags;
	site->function = function;
	site->image = image;
	site->line = line > 0 ? line : -1;
	return 0;
}

static int add_site(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_site *ev = (const struct sp_ev_site *)event->head;

	/* Where a region ends is no place that calls come from. */
	if (ev->flags & SP_SITE_END)
		return 0;
	return describe_site(rec, event, ev->site, ev->image, ev->line);
}

static int add_dynamic_site(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_dynamic_site *ev = (const struct sp_ev_dynamic_site *)event->head;

	return describe_site(rec, event, ev->site, 0, ev->line);
}

static int add_image(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_image *ev = (const struct sp_ev_image *)event->head;
	uint32_t index = (uint32_t)rec->n_images;
	const char *path, *build_id;
	struct sp_image *image;
	int r = take_raw(rec, event, 0, &path);

	if (r == 0)
		r = take_text(rec, event, 1, &build_id);
	if (r < 0)
		return r;
	image = sp_array_add(&rec->images, &rec->n_images, &rec->images_room);
	if (!image)
		return -ENOMEM;
	*image = (struct sp_image){
		.number = ev->image,
		.elf_type = ev->elf_type,
		.device = ev->device,
		.inode = ev->inode,
		.path = path,
		.build_id = build_id,
		.error = ev->error,
	};
	return sp_idmap_set(&rec->image_by_number, ev->image, index);
}

static int add_segment(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_segment *ev = (const struct sp_ev_segment *)event->head;
	struct sp_segment *segment =
		sp_array_add(&rec->segments, &rec->n_segments, &rec->segments_room);

	if (!segment)
		return -ENOMEM;
	*segment = (struct sp_segment){ev->image, ev->address, ev->file_offset, ev->file_size};
	return 0;
}

static int add_process(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_process *ev = (const struct sp_ev_process *)event->head;
	const char *exe, *command_line, *source, *job;
	struct sp_process *process;
	uint32_t index;
	int r = ensure_process(rec, ev->process, &index);

	if (r < 0 || (r = take_text(rec, event, 0, &exe)) < 0 ||
	    (r = take_text(rec, event, 1, &command_line)) < 0 ||
	    (r = take_text(rec, event, 2, &source)) < 0 || (r = take_text(rec, event, 3, &job)) < 0)
		return r;
	if (index == 0)
		return 0; /* says nothing about anybody */
	process = &rec->processes[index];
	process->described = true;
	process->exe = exe;
	process->command_line = command_line;
	process->rank_source = source;
	process->job = job;
	process->rank = ev->rank < 0 ? -1 : ev->rank;
	process->size = ev->size < 0 ? -1 : ev->size;
	if (ev->pid)
		process->pid = ev->pid;
	note_time(rec, ev->time, ev->time);
	return 0;
}

static int add_loss(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_loss *ev = (const struct sp_ev_loss *)event->head;
	uint64_t key = (uint64_t)ev->cause << 32 | (uint32_t)ev->cpu;
	uint32_t index = sp_idmap_get(&rec->loss_by_key, key);
	struct sp_loss *loss;

	if (!ev->count)
		return 0;
	if (index == SP_NONE) {
		index = (uint32_t)rec->n_losses;
		loss = sp_array_add(&rec->losses, &rec->n_losses, &rec->losses_room);
		if (!loss || sp_idmap_set(&rec->loss_by_key, key, index) < 0)
			return -ENOMEM;
		*loss = (struct sp_loss){.cause = ev->cause, .cpu = ev->cpu};
	}
	loss = &rec->losses[index];
	if (__builtin_add_overflow(loss->count, ev->count, &loss->count))
		loss->count = UINT64_MAX;
	if (ev->first && (!loss->first || ev->first < loss->first))
		loss->first = ev->first;
	if (ev->last > loss->last)
		loss->last = ev->last;
	return 0;
}

static int add_clock(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_clock *ev = (const struct sp_ev_clock *)event->head;
	struct sp_clock *clock = sp_array_add(&rec->clocks, &rec->n_clocks, &rec->clocks_room);

	if (!clock)
		return -ENOMEM;
	*clock = (struct sp_clock){ev->monotonic, ev->realtime, ev->boottime, ev->error};
	return 0;
}

static int add_meta(struct sp_recording *rec, const struct sp_event *event)
{
	const char *key, *value;
	struct sp_meta *meta;
	int r = take_text(rec, event, 0, &key);

	if (r == 0)
		r = take_text(rec, event, 1, &value);
	if (r < 0 || !key[0])
		return r;
	for (size_t i = 0; i < rec->n_meta; i++) {
		if (rec->meta[i].key == key) {
			rec->meta[i].value = value;
			return 0;
		}
	}
	if (rec->n_meta == MAX_META)
		return 0;
	meta = sp_array_add(&rec->meta, &rec->n_meta, &rec->meta_room);
	if (!meta)
		return -ENOMEM;
	*meta = (struct sp_meta){key, value};
	return 0;
}

static int add_end(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_end *ev = (const struct sp_ev_end *)event->head;

	rec->ended = true;
	rec->end_time = ev->time;
	rec->end_calls = ev->calls;
	rec->end_samples = ev->samples;
	note_time(rec, ev->time, ev->time);
	return take_text(rec, event, 0, &rec->end_reason);
}

int sp_recording_add(struct sp_recording *rec, const struct sp_event *event)
{
	static int (*const handlers[SP_EV_MAX])(struct sp_recording *, const struct sp_event *) = {
		[SP_EV_call] = add_call,   [SP_EV_sample] = add_sample,
		[SP_EV_task] = add_task,   [SP_EV_task_exit] = add_task_exit,
		[SP_EV_map] = add_map,	   [SP_EV_dynamic_site] = add_dynamic_site,
		[SP_EV_meta] = add_meta,   [SP_EV_clock] = add_clock,
		[SP_EV_image] = add_image, [SP_EV_segment] = add_segment,
		[SP_EV_site] = add_site,   [SP_EV_process] = add_process,
		[SP_EV_loss] = add_loss,   [SP_EV_end] = add_end,
	};
	unsigned type = event->head->type;

	return type < SP_EV_MAX && handlers[type] ? handlers[type](rec, event) : 0;
}

const char *sp_recording_meta(const struct sp_recording *rec, const char *key)
{
	for (size_t i = 0; i < rec->n_meta; i++)
		if (!strcmp(rec->meta[i].key, key))
			return rec->meta[i].value;
	return NULL;
}

int64_t sp_recording_meta_number(const struct sp_recording *rec, const char *key, int64_t otherwise)
{
	const char *value = sp_recording_meta(rec, key);
	uint64_t number;

	return value && sp_parse_count(value, 0, INT64_MAX, &number) == 0 ? (int64_t)number
									  : otherwise;
}
