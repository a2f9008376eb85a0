/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fuzz_schema.c - journals whose schema is not ours: what the recorder of another version, or a
 * stranger, wrote. The decoder follows what the file says about itself.
 *
 * The first byte of the input says how the rest is taken: 0 is a journal as it stands, checksums
 * and all; else it is the schema's text, a NUL, and packed events, around which a journal with right
 * checksums is made. Every event that comes out must be one that the recorder's own check accepts.
 */
#include <string.h>

#include "formats/crc32c.h"
#include "formats/journal.h"
#include "tests/fuzz/fuzz_file.h"

static size_t put_block(uint8_t *out, uint16_t kind, uint64_t sequence, uint32_t events,
			const void *data, size_t size)
{
	struct sp_block_header header = {
		.magic = SP_JOURNAL_BLOCK_MAGIC,
		.bytes = (uint32_t)size,
		.kind = kind,
		.stream = 3,
		.events = events,
		.sequence = sequence,
	};

	header.crc = sp_crc32c(sp_crc32c(0, &header, sizeof(header)), data, size);
	memcpy(out, &header, sizeof(header));
	memcpy(out + sizeof(header), data, size);
	return sizeof(header) + size;
}

/* The two blocks around what was given. */
static const char *make_journal(const uint8_t *data, size_t size)
{
	static uint8_t journal[1 << 17];
	const uint8_t *split = memchr(data, '\0', size);
	size_t schema = split ? (size_t)(split - data) : size, at = 8;

	memcpy(journal, SP_JOURNAL_MAGIC, 8);
	at += put_block(journal + at, SP_BLOCK_SCHEMA, 0, 0, data, schema);
	if (split)
		at += put_block(journal + at, SP_BLOCK_EVENTS, 1, UINT32_MAX, split + 1,
				size - schema - 1);
	return fuzz_file(journal, at);
}

static void check_event(const struct sp_event *event)
{
	static uint8_t record[1 << 17];
	const struct sp_event_desc *desc = sp_event_find(event->head->type);
	char text[64];

	if (event->head->type == SP_EV_NONE)
		return;
	if (!desc || (event->tail_bytes && desc->tail == SP_TAIL_NONE) ||
	    (desc->tail == SP_TAIL_ADDRS && event->tail_bytes % 8))
		abort();
	for (unsigned int i = 0; i < desc->field_count; i++)
		sp_field_get(&desc->fields[i], event->head);
	for (unsigned int i = 0; i < 3; i++)
		if (strlen(sp_event_string(event, i, text, sizeof(text))) >= sizeof(text))
			abort();
	/* As a record of a ring: struct, then tail. */
	memcpy(record, event->head, desc->bytes);
	if (event->tail_bytes)
		memcpy(record + desc->bytes, event->tail, event->tail_bytes);
	if (sp_event_check(record, desc->bytes + event->tail_bytes))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sp_error error = {0};
	const struct sp_event *event;
	struct sp_journal *journal;
	uint64_t good, all;
	const char *reason;
	int r;

	if (!size || size > 65536)
		return 0;
	r = sp_journal_open(*data ? make_journal(data + 1, size - 1) : fuzz_file(data + 1, size - 1),
			    &journal, &error);
	if (r) {
		if (r != error.code || !error.text[0])
			abort();
		return 0;
	}
	for (int pass = 0; pass < 2; pass++) {
		while ((r = sp_journal_next(journal, &event)) == 1)
			check_event(event);
		if (r)
			abort();
		if (!sp_journal_intact(journal, &good, &all, &reason) && (!reason || good > all))
			abort();
		sp_journal_rewind(journal);
	}
	sp_journal_free(journal);
	return 0;
}
