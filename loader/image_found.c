/* SPDX-License-Identifier: BSD-2-Clause
 *
 * image_found.c - see image_found.h.
 */
#include "loader/image_found.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int keep_event(struct sp_image_found *f, const struct sp_head *event)
{
	const struct sp_event_desc *desc = sp_event_find(event->type);
	struct sp_head *copy;
	size_t tail;

	sp_event_tail(event, &tail);
	if (f->event_count == f->event_room) {
		size_t room = f->event_room ? 2 * f->event_room : 64;
		struct sp_head **more = realloc(f->events, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		f->events = more;
		f->event_room = room;
	}
	copy = malloc(desc->bytes + tail + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, event, desc->bytes + tail);
	((char *)copy)[desc->bytes + tail] = 0;
	f->events[f->event_count++] = copy;
	return 0;
}

int sp_image_found_take(size_t index, const struct sp_head *event, void *all)
{
	struct sp_image_found *f = (struct sp_image_found *)all + index;
	const struct sp_ev_site *site = (const struct sp_ev_site *)event;
	size_t n;
	const char *tail = sp_event_tail(event, &n);

	switch (event->type) {
	case SP_EV_image:
		f->image = *(const struct sp_ev_image *)event;
		f->seen = true;
		if (n) { /* path, which is empty, then the build-id */
			const char *id = memchr(tail, 0, n);

			if (id)
				snprintf(f->build_id, sizeof(f->build_id), "%s", id + 1);
		}
		return 0;
	case SP_EV_probe:
		if (f->probe_count < SP_ELF_LIMIT_PROBES)
			f->probes[f->probe_count++] = *(const struct sp_ev_probe *)event;
		break;
	case SP_EV_site:
		if (!f->first || site->address < f->first)
			f->first = site->address;
		if (site->address > f->last)
			f->last = site->address;
		break;
	default:
		break;
	}
	return keep_event(f, event);
}

void sp_image_found_drop_probes(struct sp_image_found *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->event_count; i++)
		if (f->events[i]->type == SP_EV_segment)
			f->events[kept++] = f->events[i];
		else
			free(f->events[i]);
	f->event_count = kept;
	f->probe_count = 0;
}

void sp_image_found_free(struct sp_image_found *found, size_t count)
{
	for (size_t i = 0; found && i < count; i++) {
		for (size_t k = 0; k < found[i].event_count; k++)
			free(found[i].events[k]);
		free(found[i].events);
	}
	free(found);
}
