/* SPDX-License-Identifier: BSD-2-Clause
 *
 * journal_maker.h - journals for tests, made event by event with the real writer.
 *
 * Every function exits with a message if it fails. `stream` of the maker may be changed between
 * events: events of one stream stand in blocks of their own, as those of a ring do.
 */
#ifndef SP_TESTS_JOURNAL_MAKER_H
#define SP_TESTS_JOURNAL_MAKER_H

#include "formats/journal.h"

struct maker {
	struct sp_journal_writer *writer;
	unsigned stream;
	uint64_t calls, samples;
};

struct maker_call {
	uint32_t lane, site;
	uint64_t number, parent, start, end, child;
	uint32_t depth, skipped;
	uint16_t flags;
};

struct maker_sample {
	uint32_t lane, process, pid, tid, site;
	uint64_t number, time, ip;
	uint16_t flags;
	const uint64_t *frames; /* the kernel's first */
	size_t n_frames;
	uint32_t kernel_frames, stack_end, signal_frames;
};

struct maker maker_open(const char *path);
/* @end: writes the end event. */
void maker_close(struct maker *maker, bool end);
void maker_flush(struct maker *maker);

void maker_call(struct maker *maker, struct maker_call call);
void maker_sample(struct maker *maker, struct maker_sample sample);
void maker_task(struct maker *maker, uint32_t lane, uint32_t process, uint32_t parent, uint32_t pid,
		uint32_t tid, uint32_t cause, uint64_t time, const char *name);
void maker_exit(struct maker *maker, uint32_t lane, uint32_t process, uint32_t pid, uint32_t tid,
		uint64_t time, uint64_t cpu_time, const char *name);
/* @rank -1: none. */
void maker_process(struct maker *maker, uint32_t process, uint32_t pid, int rank, int size,
		   const char *exe, const char *command_line, const char *job);
void maker_site(struct maker *maker, uint32_t site, uint32_t image, const char *name,
		const char *file, uint32_t line, const char *tags);
/* A place where a region ends, and begins not. */
void maker_end_site(struct maker *maker, uint32_t site, uint32_t image, const char *name,
		    const char *file, uint32_t line);
/* @name: NULL, it could not be read. */
void maker_dynamic_site(struct maker *maker, uint32_t site, uint32_t process, const char *name);
void maker_map(struct maker *maker, uint32_t process, uint64_t time, uint64_t start, uint64_t end,
	       uint64_t file_offset, uint64_t inode, const char *path);
void maker_image(struct maker *maker, uint32_t image, uint64_t inode, uint32_t elf_type,
		 const char *path, const char *build_id);
/* @error: -errno of one that could not be copied. */
void maker_archived(struct maker *maker, uint32_t image, uint64_t size, int error,
		    const char *path);
void maker_unwind_table(struct maker *maker, uint32_t image, uint64_t rows, int error,
			const char *why);
void maker_kernel_symbol(struct maker *maker, uint64_t address, uint64_t end, const char *name,
			 const char *module);
/* Of the sample of that time and lane. @words: @registers registers, then the stack. */
void maker_stack_copy(struct maker *maker, uint32_t lane, uint64_t time, uint32_t registers,
		      const uint64_t *words, size_t n_words);
void maker_segment(struct maker *maker, uint32_t image, uint64_t address, uint64_t file_offset,
		   uint64_t file_size);
void maker_meta(struct maker *maker, const char *key, const char *value);
void maker_loss(struct maker *maker, uint32_t cause, int cpu, uint64_t count, uint64_t first,
		uint64_t last);
/* The same of a thread and a region; 0: unknown. */
void maker_loss_at(struct maker *maker, uint32_t cause, int cpu, uint32_t lane, uint32_t site,
		   uint64_t count, uint64_t first, uint64_t last);
void maker_clock(struct maker *maker, int64_t monotonic, int64_t realtime, int64_t boottime,
		 int64_t error);

#endif
