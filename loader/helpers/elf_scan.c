/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elf_scan.c - one ELF file, told as events.
 *
 * The descriptors are walked twice, first to count, so that the image event can come first and
 * memory stays small whatever the file claims.
 */
#include "loader/helpers/elf_scan.h"

#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/codec.h"
#include "formats/error.h"
#include "loader/helpers/elf_file.h"
#include "loader/helpers/elf_probes.h"
#include "loader/helpers/elf_sites.h"

struct scan {
	struct sp_elf_file file;
	struct sp_elf_probes probes;
	struct sp_elf_sites sites;
	uint32_t image;
	const struct sp_elf_sink *sink;
};

/* Up to four texts in a row, with a NUL between them. */
struct tail {
	char text[SP_ELF_LIMIT_EVENT];
	size_t bytes;
};

static void tail_add(struct tail *tail, const char *text, size_t bytes)
{
	if (bytes > sizeof(tail->text) - tail->bytes)
		bytes = sizeof(tail->text) - tail->bytes;
	memcpy(tail->text + tail->bytes, text, bytes);
	tail->bytes += bytes;
}

static void tail_next(struct tail *tail, const char *text, size_t bytes)
{
	tail_add(tail, "", 1);
	tail_add(tail, text, bytes);
}

static int put_image(struct scan *scan, int error)
{
	char build_id[2 * SP_ELF_MAX_BUILD_ID + 1] = "";
	struct sp_ev_image ev = {.head = {.type = SP_EV_image}};
	struct tail tail = {.bytes = 0};
	struct stat st;

	if (scan->file.elf)
		sp_elf_file_build_id(&scan->file, build_id);
	tail_next(&tail, build_id, strlen(build_id));
	if (fstat(scan->file.fd, &st) == 0) {
		ev.device = st.st_dev;
		ev.inode = st.st_ino;
		ev.size = (uint64_t)st.st_size;
		ev.mtime = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
		ev.ctime = st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec;
	}
	ev.tail_bytes = tail.bytes;
	ev.image = scan->image;
	ev.elf_type = scan->file.type;
	ev.sites = scan->sites.valid;
	ev.error = error;
	return scan->sink->put(scan->sink->arg, &ev, sizeof(ev), tail.text, tail.bytes);
}

static int put_segments(struct scan *scan)
{
	for (size_t i = 0; i < scan->file.segment_count; i++) {
		const struct sp_elf_segment *s = &scan->file.segments[i];
		struct sp_ev_segment ev = {
			.head = {.type = SP_EV_segment},
			.address = s->address,
			.file_offset = s->offset,
			.file_size = s->bytes,
			.image = scan->image,
			.flags = s->flags,
		};
		int r;

		if (!(s->flags & PF_X))
			continue;
		r = scan->sink->put(scan->sink->arg, &ev, sizeof(ev), NULL, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_probes(struct scan *scan)
{
	for (size_t i = 0; i < scan->probes.count; i++) {
		const struct sp_elf_probe *p = &scan->probes.at[i];
		const char *name = p->kind == SP_PROBE_BEGIN ? "begin" : "end";
		struct tail tail = {.bytes = 0};
		struct sp_ev_probe ev = {
			.head = {.type = SP_EV_probe},
			.address = p->address,
			.file_offset = p->offset,
			.semaphore = p->semaphore,
			.semaphore_offset = p->semaphore_offset,
			.image = scan->image,
			.kind = p->kind,
			.flags = p->flags,
		};
		int r;

		tail_add(&tail, "sp", 2);
		tail_next(&tail, name, strlen(name));
		tail_next(&tail, p->arguments, strlen(p->arguments));
		ev.tail_bytes = tail.bytes;
		r = scan->sink->put(scan->sink->arg, &ev, sizeof(ev), tail.text, tail.bytes);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_site(void *arg, uint32_t number, const struct sp_elf_site *site)
{
	struct scan *scan = arg;
	struct tail tail = {.bytes = 0};
	struct sp_ev_site ev = {
		.head = {.type = SP_EV_site},
		.address = site->address,
		.hash = sp_name_hash(site->name, site->name_bytes),
		.site = number,
		.image = scan->image,
		.line = site->line,
		.flags = site->flags,
	};

	tail_add(&tail, site->name, site->name_bytes);
	tail_next(&tail, site->file, site->file_bytes);
	tail_next(&tail, site->tags, site->tags_bytes);
	tail_next(&tail, site->function, site->function_bytes);
	ev.tail_bytes = tail.bytes;
	return scan->sink->put(scan->sink->arg, &ev, sizeof(ev), tail.text, tail.bytes);
}

static int put_note(struct scan *scan)
{
	char text[SP_ELF_LIMIT_NOTE] = "";
	const struct {
		uint32_t count;
		const char *what;
	} notes[] = {
		{scan->sites.unknown, "region descriptors of an unknown version"},
		{scan->probes.unknown, "probes with unknown arguments"},
		{scan->sites.skipped, "damaged region descriptors"},
		{scan->probes.invalid, "damaged probes"},
		{scan->sites.cut, "texts longer than 1000 bytes that were cut"},
	};
	struct sp_ev_meta ev = {.head = {.type = SP_EV_meta}};
	struct tail tail = {.bytes = 0};
	size_t at = 0;

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (notes[i].count && at < sizeof(text))
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u %s",
					       at ? ", " : "it has ", notes[i].count,
					       notes[i].what);
	if (!at)
		return 0;
	tail_add(&tail, "note", 4);
	tail_next(&tail, text, strlen(text));
	ev.tail_bytes = tail.bytes;
	return scan->sink->put(scan->sink->arg, &ev, sizeof(ev), tail.text, tail.bytes);
}

/* What is there is told even where something else is wrong: a newer header's probes beside ours. */
static int content_error(const struct scan *scan)
{
	if (scan->sites.unknown || scan->probes.unknown)
		return -SP_E_VERSION;
	if (scan->sites.skipped || scan->probes.invalid)
		return -SP_E_DAMAGED;
	if (!scan->file.has_sections)
		return -SP_E_MISSING;
	return 0;
}

static int read_content(struct scan *scan)
{
	int r = sp_elf_probes_read(&scan->file, &scan->probes);

	if (r == 0)
		r = sp_elf_sites_walk(&scan->file, NULL, NULL, &scan->sites);
	if (r == 0)
		return content_error(scan);
	/* Half a table would give wrong answers. */
	memset(&scan->sites, 0, sizeof(scan->sites));
	memset(&scan->probes, 0, sizeof(scan->probes));
	return r;
}

static int put_all(struct scan *scan, int error)
{
	struct sp_elf_sites again;
	int r = put_image(scan, error);

	if (r == 0)
		r = put_segments(scan);
	if (r == 0)
		r = put_probes(scan);
	if (r == 0 && scan->sites.valid)
		r = sp_elf_sites_walk(&scan->file, put_site, scan, &again);
	if (r == 0)
		r = put_note(scan);
	return r;
}

int sp_elf_scan(int fd, uint32_t image, const struct sp_elf_sink *sink)
{
	struct scan scan = {.file = {.fd = fd}, .image = image, .sink = sink};
	int error = sp_elf_file_open(&scan.file, fd), r;

	if (error == 0) {
		error = read_content(&scan);
	} else {
		scan.file.segment_count = 0;
		scan.file.note_segments.count = 0;
	}
	r = put_all(&scan, error);
	sp_elf_file_close(&scan.file);
	return r;
}
