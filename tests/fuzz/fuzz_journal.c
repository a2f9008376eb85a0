/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fuzz_journal.c - a journal whose checksums are right and whose events are not: the decoder, and
 * the tables that are made of what it lets through.
 *
 * The input is the packed events of one block; the rest of the journal is put around it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/crc32c.h"
#include "formats/journal.h"
#include "userspace/analysis/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_block(int fd, uint16_t kind, uint64_t sequence, uint32_t events, const void *data,
		      size_t size)
{
	struct sp_block_header header = {
		.magic = SP_JOURNAL_BLOCK_MAGIC,
		.bytes = (uint32_t)size,
		.kind = kind,
		.stream = SP_STREAM_RECORDER,
		.events = events,
		.sequence = sequence,
	};

	header.crc = sp_crc32c(sp_crc32c(0, &header, sizeof(header)), data, size);
	if (write(fd, &header, sizeof(header)) != (ssize_t)sizeof(header) ||
	    write(fd, data, size) != (ssize_t)size)
		abort();
}

static int make_journal(const uint8_t *data, size_t size)
{
	int fd = memfd_create("journal", MFD_CLOEXEC);
	char *schema = sp_schema_text();

	if (fd < 0 || !schema || write(fd, SP_JOURNAL_MAGIC, 8) != 8)
		abort();
	put_block(fd, SP_BLOCK_SCHEMA, 0, 0, schema, strlen(schema));
	/* More events than there can be: what follows the last good one is found to be damaged. */
	put_block(fd, SP_BLOCK_EVENTS, 1, UINT32_MAX, data, size);
	free(schema);
	return fd;
}

/* What must hold after resolve, whatever the events were (recording_resolve.c). */
static void check(const struct sp_recording *rec)
{
	for (size_t i = 0; i < rec->n_lanes; i++) {
		const struct sp_lane *lane = &rec->lanes[i];

		if (lane->process >= rec->n_processes)
			abort();
		if (!lane->calls && !lane->samples)
			continue;
		if (rec->processes[lane->process].unit >= rec->n_units ||
		    lane->thread >= rec->units[rec->processes[lane->process].unit].threads)
			abort();
	}
	for (size_t i = 0; i < rec->n_sites; i++) {
		const struct sp_site *site = &rec->sites[i];
		/* Where nothing but ends stand there is no region, unless its name has one. */
		bool bare = site->is_end && !site->calls && !site->samples;

		if (!site->name || (site->region >= rec->n_regions && !(bare && site->region == SP_NONE)))
			abort();
	}
	if (!rec->n_units)
		abort();
	for (uint32_t i = 0; i < rec->n_maps && i < 64; i++) {
		uint32_t found = sp_recording_find_map(rec, rec->maps[i].process,
						       rec->maps[i].start, rec->maps[i].time);

		if (found != SP_NONE && found >= rec->n_maps)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sp_recording *rec = sp_recording_new();
	struct sp_journal *journal = NULL;
	const struct sp_event *event;

	if (!rec || sp_journal_open_fd(make_journal(data, size), &journal, NULL) < 0)
		abort();
	while (sp_journal_next(journal, &event) == 1)
		if (sp_recording_add(rec, event) < 0)
			abort();
	if (sp_recording_resolve(rec) < 0)
		abort();
	check(rec);
	sp_recording_free(rec);
	sp_journal_free(journal);
	return 0;
}
