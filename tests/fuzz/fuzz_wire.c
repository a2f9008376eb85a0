/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fuzz_wire.c - records as they come off a ring or from a helper: the check, and what is done with
 * those that pass. Packed, written to a journal and read back, each is what it was, and no other
 * comes out.
 *
 * The input is records in a row: length (2 bytes), stream (1 byte), then the record. Each is tried
 * in memory that is not a byte longer.
 */
#include <string.h>
#include <sys/mman.h>

#include "formats/codec.h"
#include "formats/journal.h"
#include "tests/fuzz/fuzz_file.h"

#define MOST 512

struct kept {
	struct sp_head *record;
	unsigned stream;
};

static void demand(int condition)
{
	if (!condition)
		abort();
}

/* By itself, to a buffer as long as was promised. */
static void pack_alone(const struct sp_head *record)
{
	struct sp_codec_state state = {0};
	size_t bound = sp_codec_bound(record);
	uint8_t *packed = malloc(bound);

	demand(packed != NULL);
	demand(sp_codec_encode(&state, record, packed) <= bound);
	free(packed);
}

static void compare(const struct kept *kept, const struct sp_event *event, unsigned stream)
{
	const struct sp_head *was = kept->record;
	const struct sp_event_desc *desc = sp_event_find(was->type);
	size_t bytes;
	const void *tail = sp_event_tail(was, &bytes);

	demand(stream == kept->stream);
	demand(event->head->type == was->type && event->id == was->type);
	demand(event->head->flags == was->flags && event->head->lane == was->lane);
	for (unsigned i = 0; i < desc->field_count; i++)
		demand(sp_field_get(&desc->fields[i], event->head) ==
		       sp_field_get(&desc->fields[i], was));
	demand(event->tail_bytes == bytes && (!bytes || !memcmp(event->tail, tail, bytes)));
}

/* Within a stream, events keep their order. */
static void read_back(int fd, struct kept *kept, size_t count)
{
	struct sp_journal *journal = NULL;
	const struct sp_event *event;
	uint64_t good, all;
	const char *why = NULL;
	size_t seen = 0;

	demand(sp_journal_open_fd(fd, &journal, NULL) == 0);
	while (sp_journal_next(journal, &event) == 1) {
		size_t i = 0;

		while (i < count &&
		       (!kept[i].record || kept[i].stream != sp_journal_stream(journal)))
			i++;
		demand(i < count);
		compare(&kept[i], event, sp_journal_stream(journal));
		free(kept[i].record);
		kept[i].record = NULL;
		seen++;
	}
	demand(seen == count && sp_journal_intact(journal, &good, &all, &why) && good == all);
	sp_journal_free(journal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kept kept[MOST];
	struct sp_journal_writer *writer = NULL;
	int fd = memfd_create("journal", MFD_CLOEXEC), again = fd < 0 ? -1 : dup(fd);
	size_t count = 0;

	demand(again >= 0 && sp_journal_writer_new(fd, &writer) == 0);
	while (size > 3 && count < MOST) {
		size_t bytes = (size_t)(data[0] | data[1] << 8);
		unsigned stream = data[2] < 4 ? data[2] : SP_STREAM_RECORDER;
		struct sp_head *record;

		data += 3;
		size -= 3;
		bytes = bytes < size ? bytes : size;
		record = malloc(bytes ? bytes : 1);
		demand(record != NULL);
		memcpy(record, data, bytes);
		data += bytes;
		size -= bytes;
		if (sp_event_check(record, bytes) < 0) {
			free(record);
			continue;
		}
		pack_alone(record);
		demand(sp_journal_add(writer, stream, record) == 0);
		kept[count++] = (struct kept){record, stream};
	}
	demand(sp_journal_lost(writer) == 0 && sp_journal_writer_free(writer) == 0);
	read_back(again, kept, count);
	return 0;
}
