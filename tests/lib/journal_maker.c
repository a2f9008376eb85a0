/* SPDX-License-Identifier: BSD-2-Clause
 *
 * journal_maker.c - see journal_maker.h.
 */
#include "tests/lib/journal_maker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(int r, const char *what)
{
	if (r < 0) {
		fprintf(stderr, "the journal maker failed to %s: %s\n", what, strerror(-r));
		exit(1);
	}
}

static void add(struct maker *maker, const struct sp_head *event, size_t bytes)
{
	must(sp_event_check(event, bytes), "make a right event");
	must(sp_journal_add(maker->writer, maker->stream, event), "add an event");
}

/* Adds @event with a tail behind it. */
static void add_with_tail(struct maker *maker, void *event, size_t bytes, const void *tail,
			  size_t tail_bytes)
{
	uint64_t count = tail_bytes;
	char *copy = malloc(bytes + tail_bytes);

	must(copy ? 0 : -ENOMEM, "have memory");
	memcpy((char *)event + sizeof(struct sp_head), &count, sizeof(count));
	memcpy(copy, event, bytes);
	if (tail_bytes)
		memcpy(copy + bytes, tail, tail_bytes);
	add(maker, (struct sp_head *)copy, bytes + tail_bytes);
	free(copy);
}

/* Joins strings with NULs; the list ends with NULL. To free(). */
static char *join(size_t *ret_bytes, const char *const *texts)
{
	char *out = NULL;
	size_t bytes = 0;

	for (size_t i = 0; texts[i]; i++) {
		size_t n = strlen(texts[i]) + (texts[i + 1] != NULL);

		out = realloc(out, bytes + n + 1);
		must(out ? 0 : -ENOMEM, "have memory");
		memcpy(out + bytes, texts[i], n);
		bytes += n;
	}
	*ret_bytes = bytes;
	return out;
}

#define ADD_TEXTS(maker, event, ...) \
	do { \
		const char *const texts_[] = {__VA_ARGS__, NULL}; \
		size_t bytes_; \
		char *tail_ = join(&bytes_, texts_); \
		add_with_tail(maker, &(event), sizeof(event), tail_, bytes_); \
		free(tail_); \
	} while (0)

struct maker maker_open(const char *path)
{
	struct maker maker = {.stream = SP_STREAM_RECORDER};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd < 0 ? -errno : 0, "create the journal");
	must(sp_journal_writer_new(fd, &maker.writer), "start the journal");
	return maker;
}

void maker_flush(struct maker *maker)
{
	must(sp_journal_flush(maker->writer), "flush");
}

void maker_close(struct maker *maker, bool end)
{
	struct sp_ev_end event = {
		.head = {.type = SP_EV_end}, .calls = maker->calls, .samples = maker->samples};

	maker_flush(maker);
	maker->stream = SP_STREAM_RECORDER;
	if (end)
		ADD_TEXTS(maker, event, "the targets ended");
	must(sp_journal_writer_free(maker->writer), "close");
}

void maker_call(struct maker *maker, struct maker_call c)
{
	struct sp_ev_call event = {
		.head = {.type = SP_EV_call,
			 .flags = (uint16_t)SP_CALL_WITH_DEPTH(c.flags, c.depth),
			 .lane = c.lane},
		.start = c.start,
		.end = c.end,
		.child = c.child,
		.number = c.number,
		.parent = c.parent,
		.site = c.site,
		.skipped = c.skipped,
	};

	maker->calls++;
	add(maker, &event.head, sizeof(event));
}

void maker_sample(struct maker *maker, struct maker_sample s)
{
	struct sp_ev_sample event = {
		.head = {.type = SP_EV_sample, .flags = s.flags, .lane = s.lane},
		.time = s.time,
		.ip = s.ip,
		.number = s.number,
		.site = s.site,
		.process = s.process,
		.pid = s.pid,
		.tid = s.tid,
		.stack_end = s.stack_end,
		.kernel_frames = s.kernel_frames,
		.signal_frames = s.signal_frames,
	};

	maker->samples++;
	add_with_tail(maker, &event, sizeof(event), s.frames, s.n_frames * 8);
}

void maker_task(struct maker *maker, uint32_t lane, uint32_t process, uint32_t parent, uint32_t pid,
		uint32_t tid, uint32_t cause, uint64_t time, const char *name)
{
	struct sp_ev_task event = {
		.head = {.type = SP_EV_task, .lane = lane},
		.time = time,
		.process = process,
		.parent_process = parent,
		.pid = pid,
		.tid = tid,
		.ppid = 1,
		.cause = cause,
	};

	ADD_TEXTS(maker, event, name);
}

void maker_exit(struct maker *maker, uint32_t lane, uint32_t process, uint32_t pid, uint32_t tid,
		uint64_t time, uint64_t cpu_time, const char *name)
{
	struct sp_ev_task_exit event = {
		.head = {.type = SP_EV_task_exit, .lane = lane},
		.time = time,
		.cpu_time = cpu_time,
		.process = process,
		.pid = pid,
		.tid = tid,
	};

	ADD_TEXTS(maker, event, name);
}

void maker_process(struct maker *maker, uint32_t process, uint32_t pid, int rank, int size,
		   const char *exe, const char *command_line, const char *job)
{
	struct sp_ev_process event = {
		.head = {.type = SP_EV_process},
		.process = process,
		.pid = pid,
		.rank = rank,
		.size = size,
		.user = getuid() + 1,
		.group = getgid() + 1,
	};

	ADD_TEXTS(maker, event, exe, command_line, rank < 0 ? "" : "PMIX_RANK", job);
}

static void add_site(struct maker *maker, struct sp_ev_site event, const char *name,
		     const char *file, const char *tags)
{
	event.head.type = SP_EV_site;
	event.hash = sp_name_hash(name, strlen(name));
	ADD_TEXTS(maker, event, name, file, tags, "function_of_it");
}

void maker_site(struct maker *maker, uint32_t site, uint32_t image, const char *name,
		const char *file, uint32_t line, const char *tags)
{
	add_site(maker, (struct sp_ev_site){.site = site, .image = image, .line = line}, name, file,
		 tags);
}

void maker_end_site(struct maker *maker, uint32_t site, uint32_t image, const char *name,
		    const char *file, uint32_t line)
{
	add_site(maker,
		 (struct sp_ev_site){
			 .site = site, .image = image, .line = line, .flags = SP_SITE_END},
		 name, file, "");
}

void maker_dynamic_site(struct maker *maker, uint32_t site, uint32_t process, const char *name)
{
	struct sp_ev_dynamic_site event = {
		.head = {.type = SP_EV_dynamic_site},
		.hash = name ? sp_name_hash(name, strlen(name)) : 1,
		.site = site | SP_SITE_DYNAMIC,
		.process = process,
	};

	if (name)
		ADD_TEXTS(maker, event, name, "", "");
	else
		add_with_tail(maker, &event, sizeof(event), "", 0);
}

void maker_map(struct maker *maker, uint32_t process, uint64_t time, uint64_t start, uint64_t end,
	       uint64_t file_offset, uint64_t inode, const char *path)
{
	struct sp_ev_map event = {
		.head = {.type = SP_EV_map},
		.time = time,
		.start = start,
		.end = end,
		.file_offset = file_offset,
		.device = 7,
		.inode = inode,
		.process = process,
	};

	ADD_TEXTS(maker, event, path);
}

void maker_image(struct maker *maker, uint32_t image, uint64_t inode, uint32_t elf_type,
		 const char *path, const char *build_id)
{
	struct sp_ev_image event = {
		.head = {.type = SP_EV_image},
		.device = 7,
		.inode = inode,
		.image = image,
		.elf_type = elf_type,
	};

	ADD_TEXTS(maker, event, path, build_id);
}

void maker_archived(struct maker *maker, uint32_t image, uint64_t size, int error, const char *path)
{
	struct sp_ev_archived event = {
		.head = {.type = SP_EV_archived},
		.size = size,
		.image = image,
		.error = error,
	};

	ADD_TEXTS(maker, event, path);
}

void maker_unwind_table(struct maker *maker, uint32_t image, uint64_t rows, int error,
			const char *why)
{
	struct sp_ev_unwind_table event = {
		.head = {.type = SP_EV_unwind_table},
		.rows = rows,
		.image = image,
		.error = error,
	};

	ADD_TEXTS(maker, event, why);
}

void maker_kernel_symbol(struct maker *maker, uint64_t address, uint64_t end, const char *name,
			 const char *module)
{
	struct sp_ev_kernel_symbol event = {
		.head = {.type = SP_EV_kernel_symbol},
		.address = address,
		.end = end,
	};

	ADD_TEXTS(maker, event, name, module);
}

void maker_stack_copy(struct maker *maker, uint32_t lane, uint64_t time, uint32_t registers,
		      const uint64_t *words, size_t n_words)
{
	struct sp_ev_stack_copy event = {
		.head = {.type = SP_EV_stack_copy, .lane = lane},
		.time = time,
		.registers = (uint16_t)registers,
		.words = (uint32_t)(n_words - registers),
	};

	add_with_tail(maker, &event, sizeof(event), words, n_words * 8);
}

void maker_segment(struct maker *maker, uint32_t image, uint64_t address, uint64_t file_offset,
		   uint64_t file_size)
{
	struct sp_ev_segment event = {
		.head = {.type = SP_EV_segment},
		.address = address,
		.file_offset = file_offset,
		.file_size = file_size,
		.image = image,
		.flags = 5,
	};

	add(maker, &event.head, sizeof(event));
}

void maker_meta(struct maker *maker, const char *key, const char *value)
{
	struct sp_ev_meta event = {.head = {.type = SP_EV_meta}};

	ADD_TEXTS(maker, event, key, value);
}

void maker_loss(struct maker *maker, uint32_t cause, int cpu, uint64_t count, uint64_t first,
		uint64_t last)
{
	maker_loss_at(maker, cause, cpu, 0, 0, count, first, last);
}

void maker_loss_at(struct maker *maker, uint32_t cause, int cpu, uint32_t lane, uint32_t site,
		   uint64_t count, uint64_t first, uint64_t last)
{
	struct sp_ev_loss event = {
		.head = {.type = SP_EV_loss},
		.first = first,
		.last = last,
		.count = count,
		.cause = cause,
		.cpu = cpu,
		.lane = lane,
		.site = site,
	};

	add(maker, &event.head, sizeof(event));
}

void maker_clock(struct maker *maker, int64_t monotonic, int64_t realtime, int64_t boottime,
		 int64_t error)
{
	struct sp_ev_clock event = {
		.head = {.type = SP_EV_clock},
		.monotonic = monotonic,
		.realtime = realtime,
		.boottime = boottime,
		.error = error,
	};

	add(maker, &event.head, sizeof(event));
}
