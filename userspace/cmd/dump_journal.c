/* SPDX-License-Identifier: BSD-2-Clause
 *
 * dump_journal.c - dumps a journal: its schema, every event with all fields, how it ends.
 *
 * Events are shown by the journal's own schema, so those of another version of sp-trace are
 * complete, too. Memory: a block of the journal.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/journal.h"
#include "userspace/base/cleanup.h"
#include "userspace/cmd/dump.h"

SP_DEFINE_CLEANUP(struct sp_journal *, sp_journal_free);

static void dump_file(struct sp_dump *dump, const char *path, const struct sp_journal *journal)
{
	uint64_t good, bytes;
	const char *reason;

	if (!sp_dump_section(dump, "file", "file"))
		return;
	sp_journal_intact(journal, &good, &bytes, &reason);
	if (sp_dump_record(dump)) {
		sp_dump_text(dump, "path", path);
		sp_dump_text(dump, "format", sp_format_name(SP_FORMAT_JOURNAL));
		sp_dump_unsigned(dump, "version", 1);
		sp_dump_unsigned(dump, "bytes", bytes);
		sp_dump_record_end(dump);
	}
	sp_dump_section_end(dump);
}

static void dump_schema(struct sp_dump *dump, const struct sp_schema *schema)
{
	static const char *const tails[] = {
		[SP_TAIL_NONE] = "none", [SP_TAIL_TEXT] = "text", [SP_TAIL_ADDRS] = "addrs"};

	if (!sp_dump_section(dump, "schema", "schema"))
		return;
	for (unsigned id = 0; id < SP_EV_MAX; id++) {
		if (!sp_schema_event(schema, id) || !sp_dump_record(dump))
			continue;
		sp_dump_unsigned(dump, "id", id);
		sp_dump_text(dump, "event", sp_schema_event(schema, id));
		sp_dump_text(dump, "tail", tails[sp_schema_tail(schema, id)]);
		sp_dump_list(dump, "fields");
		for (unsigned i = 0; i < sp_schema_field_count(schema, id); i++)
			sp_dump_text(dump, NULL, sp_schema_field(schema, id, i));
		sp_dump_list_end(dump);
		sp_dump_record_end(dump);
	}
	sp_dump_section_end(dump);
}

static void put_tail(struct sp_dump *dump, enum sp_tail kind, const struct sp_event *event)
{
	const char *at = (const char *)event->tail, *end = at + event->tail_bytes;
	uint64_t address;

	if (kind == SP_TAIL_ADDRS) {
		sp_dump_list(dump, "stack");
		for (; at < end; at += sizeof(address)) {
			memcpy(&address, at, sizeof(address));
			sp_dump_address(dump, NULL, address);
		}
		sp_dump_list_end(dump);
	} else if (kind == SP_TAIL_TEXT) {
		sp_dump_list(dump, "text");
		for (;;) {
			size_t n = strnlen(at, (size_t)(end - at));

			sp_dump_bytes(dump, NULL, at, n);
			at += n;
			if (at == end)
				break;
			at++; /* a NUL: a string follows, maybe an empty one */
		}
		sp_dump_list_end(dump);
	}
}

static bool is_address(const char *event, const char *field)
{
	return !strcmp(field, "ip") || !strcmp(field, "address") ||
	       (!strcmp(event, "map") && (!strcmp(field, "start") || !strcmp(field, "end")));
}

static void put_event(struct sp_dump *dump, const struct sp_journal *journal,
		      const struct sp_event *event)
{
	const struct sp_schema *schema = sp_journal_schema(journal);
	struct sp_journal_state state;

	sp_journal_state(journal, &state);
	if (dump->as_json)
		sp_dump_text(dump, "event", sp_schema_event(schema, event->id));
	sp_dump_unsigned(dump, "block", state.block);
	sp_dump_unsigned(dump, "stream", sp_journal_stream(journal));
	sp_dump_unsigned(dump, "flags", event->head->flags);
	sp_dump_unsigned(dump, "lane", event->head->lane);
	for (unsigned i = 0; i < sp_schema_field_count(schema, event->id); i++) {
		const char *name = sp_schema_field(schema, event->id, i);
		uint64_t value = sp_journal_value(journal, i);

		if (sp_schema_field_is_signed(schema, event->id, i))
			sp_dump_signed(dump, name, (int64_t)value);
		else if (is_address(sp_schema_event(schema, event->id), name))
			sp_dump_address(dump, name, value);
		else
			sp_dump_unsigned(dump, name, value);
	}
	put_tail(dump, sp_schema_tail(schema, event->id), event);
}

/* Whether an event is wanted: all, or those of its name. "calls" and "samples" are words of the
 * other formats for the same. */
static bool is_wanted(const struct sp_dump *dump, const char *name)
{
	return sp_dump_wants(dump, "events") || sp_dump_wants(dump, name) ||
	       (!strcmp(name, "call") && sp_dump_wants(dump, "calls")) ||
	       (!strcmp(name, "sample") && sp_dump_wants(dump, "samples"));
}

static int dump_events(struct sp_dump *dump, struct sp_journal *journal, bool *ret_ended,
		       struct sp_error *error)
{
	const struct sp_schema *schema = sp_journal_schema(journal);
	sp_cleanup(sp_freep) struct sp_dump_widths *widths = calloc(SP_EV_MAX, sizeof(*widths));
	const char *sections = dump->sections;
	const struct sp_event *event;
	bool wanted[SP_EV_MAX] = {false}, any = false;
	int r;

	if (!widths)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	for (unsigned id = 0; id < SP_EV_MAX; id++) {
		wanted[id] =
			sp_schema_event(schema, id) && is_wanted(dump, sp_schema_event(schema, id));
		any |= wanted[id];
	}
	dump->sections = NULL; /* single events make the section, too */
	if (any)
		sp_dump_section(dump, "events", "event");
	dump->sections = sections;
	while ((r = sp_journal_next_any(journal, &event)) == 1 && !ferror(dump->out)) {
		*ret_ended = event->head->type == SP_EV_end;
		if (!wanted[event->id] ||
		    !sp_dump_record_as(dump, sp_schema_event(schema, event->id),
				       &widths[event->id]))
			continue;
		put_event(dump, journal, event);
		sp_dump_record_end(dump);
	}
	if (r < 0)
		return sp_error_set(error, r, 0, "cannot be read: %s", strerror(-r));
	if (any)
		sp_dump_section_end(dump);
	return 0;
}

static void dump_state(struct sp_dump *dump, const struct sp_journal *journal, bool ended)
{
	struct sp_journal_state state;
	uint64_t good, bytes;
	const char *reason;
	bool intact = sp_journal_intact(journal, &good, &bytes, &reason);

	if (!sp_dump_section(dump, "state", "state"))
		return;
	sp_journal_state(journal, &state);
	if (sp_dump_record(dump)) {
		sp_dump_bool(dump, "intact", intact);
		sp_dump_bool(dump, "ended", ended);
		sp_dump_unsigned(dump, "good_bytes", good);
		sp_dump_unsigned(dump, "bytes", bytes);
		sp_dump_unsigned(dump, "blocks", state.block + 1);
		sp_dump_unsigned(dump, "unknown_events", state.unknown_events);
		sp_dump_unsigned(dump, "unknown_blocks", state.unknown_blocks);
		sp_dump_text(dump, "reason", intact ? NULL : reason);
		sp_dump_record_end(dump);
	}
	sp_dump_section_end(dump);
}

int sp_dump_journal(struct sp_dump *dump, const char *path, struct sp_error *error)
{
	sp_cleanup(sp_journal_freep) struct sp_journal *journal = NULL;
	bool ended = false;
	int r = sp_journal_open(path, &journal, error);

	if (r < 0)
		return r;
	sp_dump_begin(dump);
	dump_file(dump, path, journal);
	dump_schema(dump, sp_journal_schema(journal));
	r = dump_events(dump, journal, &ended, error);
	if (r < 0)
		return r;
	dump_state(dump, journal, ended);
	sp_dump_end(dump);
	return 0;
}
