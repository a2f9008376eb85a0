/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recording_facts.c - takes what the recorder wrote down: sites, files, processes, facts.
 */
#include "userspace/analysis/recording_events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/units.h"

#define MAX_META 4096 /* more keys than any recorder writes */

static int describe_site(struct sp_recording *rec, const struct sp_event *event, uint32_t number,
			 uint32_t image, int64_t line)
{
	struct sp_site *site;
	const char *name, *file, *tags, *function = "";
	int r = sp_recording_ensure_site(rec, number, &site);

	if (r < 0 || site->name)
		return r; /* a name is announced once for each process that uses it */
	if ((r = sp_recording_take_text(rec, event, 0, &name)) < 0 ||
	    (r = sp_recording_take_text(rec, event, 1, &file)) < 0 ||
	    (r = sp_recording_take_text(rec, event, 2, &tags)) < 0)
		return r;
	if (event->head->type == SP_EV_site &&
	    (r = sp_recording_take_text(rec, event, 3, &function)) < 0)
		return r;
	/* A run-time name that could not be read comes as nothing; an empty one has an end. */
	if (!event->tail_bytes && (number & SP_SITE_DYNAMIC))
		return 0;
	site->name = name;
	site->file = file;
	site->tags = tags;
	site->function = function;
	site->image = image;
	site->line = line > 0 ? line : -1;
	return 0;
}

int sp_recording_add_site(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_site *ev = (const struct sp_ev_site *)event->head;

	struct sp_site *site;
	int r = describe_site(rec, event, ev->site, ev->image, ev->line);

	if (r == 0)
		r = sp_recording_ensure_site(rec, ev->site, &site);
	if (r == 0)
		site->is_end = ev->flags & SP_SITE_END;
	return r;
}

int sp_recording_add_dynamic_site(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_dynamic_site *ev = (const struct sp_ev_dynamic_site *)event->head;

	return describe_site(rec, event, ev->site, 0, ev->line);
}

int sp_recording_add_image(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_image *ev = (const struct sp_ev_image *)event->head;
	uint32_t index = (uint32_t)rec->n_images;
	const char *path, *build_id;
	struct sp_image *image;
	int r = sp_recording_take_raw(rec, event, 0, &path);

	if (r == 0)
		r = sp_recording_take_text(rec, event, 1, &build_id);
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
		.size = ev->size,
		.mtime = ev->mtime,
		.path = path,
		.build_id = build_id,
		.archived = "",
		.place = (uint8_t)ev->head.flags,
		.error = ev->error,
	};
	return sp_idmap_set(&rec->image_by_number, ev->image, index);
}

int sp_recording_add_segment(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_segment *ev = (const struct sp_ev_segment *)event->head;
	struct sp_segment *segment =
		sp_array_add(&rec->segments, &rec->n_segments, &rec->segments_room);

	if (!segment)
		return -ENOMEM;
	*segment = (struct sp_segment){ev->image, ev->address, ev->file_offset, ev->file_size};
	return 0;
}

int sp_recording_add_process(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_process *ev = (const struct sp_ev_process *)event->head;
	const char *exe, *command_line, *source, *job;
	struct sp_process *process;
	uint32_t index;
	int r = sp_recording_ensure_process(rec, ev->process, &index);

	if (r < 0 || (r = sp_recording_take_text(rec, event, 0, &exe)) < 0 ||
	    (r = sp_recording_take_text(rec, event, 1, &command_line)) < 0 ||
	    (r = sp_recording_take_text(rec, event, 2, &source)) < 0 ||
	    (r = sp_recording_take_text(rec, event, 3, &job)) < 0)
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
	process->user = ev->user;
	process->group = ev->group;
	if (ev->pid)
		process->pid = ev->pid;
	sp_recording_note_time(rec, ev->time, ev->time);
	return 0;
}

int sp_recording_add_clock(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_clock *ev = (const struct sp_ev_clock *)event->head;
	struct sp_clock *clock = sp_array_add(&rec->clocks, &rec->n_clocks, &rec->clocks_room);

	if (!clock)
		return -ENOMEM;
	*clock = (struct sp_clock){ev->monotonic, ev->realtime, ev->boottime, ev->error};
	return 0;
}

int sp_recording_add_meta(struct sp_recording *rec, const struct sp_event *event)
{
	const char *key, *value;
	struct sp_meta *meta;
	int r = sp_recording_take_text(rec, event, 0, &key);

	if (r == 0)
		r = sp_recording_take_text(rec, event, 1, &value);
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

int sp_recording_add_end(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_end *ev = (const struct sp_ev_end *)event->head;

	rec->ended = true;
	rec->end_time = ev->time;
	rec->end_calls = ev->calls;
	rec->end_samples = ev->samples;
	sp_recording_note_time(rec, ev->time, ev->time);
	return sp_recording_take_text(rec, event, 0, &rec->end_reason);
}

int64_t sp_recording_realtime(const struct sp_recording *rec, int64_t monotonic)
{
	return rec->n_clocks ? rec->clocks[0].realtime - (rec->clocks[0].monotonic - monotonic)
			     : -1;
}

const char *sp_recording_meta(const struct sp_recording *rec, const char *key)
{
	for (size_t i = 0; i < rec->n_meta; i++)
		if (!strcmp(rec->meta[i].key, key))
			return rec->meta[i].value;
	return NULL;
}

bool sp_recording_is_of_this_boot(const struct sp_recording *rec)
{
	const char *boot = sp_recording_meta(rec, "boot_id");
	sp_cleanup(sp_closep) int fd =
		open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char own[64] = "";
	ssize_t n = fd < 0 ? -1 : read(fd, own, sizeof(own) - 1);

	own[n > 0 ? n : 0] = 0;
	own[strcspn(own, "\n")] = 0;
	return boot && own[0] && !strcmp(boot, own);
}

int64_t sp_recording_meta_number(const struct sp_recording *rec, const char *key, int64_t otherwise)
{
	const char *value = sp_recording_meta(rec, key);
	uint64_t number;

	return value && sp_parse_count(value, 0, INT64_MAX, &number) == 0 ? (int64_t)number
									  : otherwise;
}
