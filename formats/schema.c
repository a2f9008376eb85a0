/* SPDX-License-Identifier: BSD-2-Clause
 *
 * schema.c - the text in a journal that describes its events: made, parsed, and asked.
 *
 * Invariant: a parsed schema maps only to events and fields of this version, and only to an event
 * whose tail is of the same kind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/codec_internal.h"

static const char *const tail_names[] = {
	[SP_TAIL_NONE] = "none", [SP_TAIL_TEXT] = "text", [SP_TAIL_ADDRS] = "addrs"};

char *sp_schema_text(void)
{
	const struct sp_event_desc *ev;
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	for (size_t i = 0; (ev = sp_event_at(i)); i++) {
		fprintf(f, "event %u %s %s\n", ev->type, ev->name, tail_names[ev->tail]);
		for (unsigned k = 0; k < ev->field_count; k++)
			fprintf(f, "field %s %s\n", sp_field_type_name(ev->fields[k].type),
				ev->fields[k].name);
	}
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

static int parse_event_line(struct sp_schema *schema, const char *line,
			    struct sp_schema_event **ret)
{
	char name[SP_SCHEMA_NAME] = "", tail[16];
	const struct sp_event_desc *desc;
	struct sp_schema_event *ev;
	unsigned id;

	if (sscanf(line, "event %4u %63s %15s", &id, name, tail) != 3 || id == 0 || id >= SP_EV_MAX)
		return -EBADMSG;
	ev = &schema->events[id];
	if (ev->present)
		return -EBADMSG;
	ev->present = 1;
	for (ev->tail = 0; ev->tail < 3 && strcmp(tail, tail_names[ev->tail]); ev->tail++)
		;
	if (ev->tail == 3)
		return -EBADMSG;
	memcpy(ev->name, name, sizeof(ev->name));
	for (size_t i = 0; (desc = sp_event_at(i)); i++)
		if (!strcmp(desc->name, name) && desc->tail == ev->tail)
			ev->desc = desc;
	*ret = ev;
	return 0;
}

static int parse_field_line(struct sp_schema_event *ev, const char *line)
{
	char type[8], name[SP_SCHEMA_NAME] = "";

	if (!ev || ev->count == SP_MAX_FIELDS || sscanf(line, "field %7s %63s", type, name) != 2)
		return -EBADMSG;
	ev->map[ev->count] = -1;
	ev->is_signed[ev->count] = type[0] == 's';
	memcpy(ev->fields[ev->count], name, sizeof(name));
	for (unsigned i = 0; ev->desc && i < ev->desc->field_count; i++)
		if (!strcmp(ev->desc->fields[i].name, name))
			ev->map[ev->count] = (int8_t)i;
	ev->count++;
	return 0;
}

int sp_schema_parse(const char *text, size_t bytes, struct sp_schema **ret_schema,
		    struct sp_error *err)
{
	struct sp_schema *schema = calloc(1, sizeof(*schema));
	struct sp_schema_event *ev = NULL;
	size_t at = 0;
	int r = 0;

	if (!schema)
		return sp_error_set(err, -ENOMEM, 0, "out of memory");
	while (at < bytes && r == 0) {
		const char *nl = memchr(text + at, '\n', bytes - at);
		char line[160];
		size_t n = nl ? (size_t)(nl - text) - at : bytes - at;

		if (n >= sizeof(line)) {
			r = -EBADMSG;
			break;
		}
		memcpy(line, text + at, n);
		line[n] = 0;
		if (!strncmp(line, "event ", 6))
			r = parse_event_line(schema, line, &ev);
		else if (!strncmp(line, "field ", 6))
			r = parse_field_line(ev, line);
		else if (n)
			r = -EBADMSG;
		if (r == 0)
			at += n + 1;
	}
	if (r < 0) {
		sp_schema_free(schema);
		return sp_error_set(err, r, at, "the description of its events is damaged");
	}
	*ret_schema = schema;
	return 0;
}

void sp_schema_free(struct sp_schema *schema)
{
	free(schema);
}

static const struct sp_schema_event *find_in(const struct sp_schema *schema, unsigned id)
{
	return id < SP_EV_MAX && schema->events[id].present ? &schema->events[id] : NULL;
}

const char *sp_schema_event(const struct sp_schema *schema, unsigned id)
{
	const struct sp_schema_event *event = find_in(schema, id);

	return event ? event->name : NULL;
}

enum sp_tail sp_schema_tail(const struct sp_schema *schema, unsigned id)
{
	const struct sp_schema_event *event = find_in(schema, id);

	return event ? (enum sp_tail)event->tail : SP_TAIL_NONE;
}

unsigned sp_schema_field_count(const struct sp_schema *schema, unsigned id)
{
	const struct sp_schema_event *event = find_in(schema, id);

	return event ? event->count : 0;
}

const char *sp_schema_field(const struct sp_schema *schema, unsigned id, unsigned index)
{
	const struct sp_schema_event *event = find_in(schema, id);

	return event && index < event->count ? event->fields[index] : NULL;
}

bool sp_schema_field_is_signed(const struct sp_schema *schema, unsigned id, unsigned index)
{
	const struct sp_schema_event *event = find_in(schema, id);

	return event && index < event->count && event->is_signed[index];
}
