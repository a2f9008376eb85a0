/* SPDX-License-Identifier: BSD-2-Clause
 *
 * own_stack.c - see own_stack.h.
 */
#include "tests/userspace/own_stack.h"

#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/lib/check.h"

struct taken taken;
char *stack_top;
struct sp_recording *recording;
struct sp_unwind_dwarf *unwind;
struct sp_dwarf_stack stack;
struct sp_journal_writer *writer;

/* Registers by their DWARF numbers, then the address. */
#define STORE_REGISTERS(to) \
	__asm__ volatile( \
		"movq %%rax, 0(%0); movq %%rdx, 8(%0); movq %%rcx, 16(%0); movq %%rbx, 24(%0);" \
		"movq %%rsi, 32(%0); movq %%rdi, 40(%0); movq %%rbp, 48(%0); movq %%rsp, 56(%0);" \
		"movq %%r8, 64(%0); movq %%r9, 72(%0); movq %%r10, 80(%0); movq %%r11, 88(%0);" \
		"movq %%r12, 96(%0); movq %%r13, 104(%0); movq %%r14, 112(%0); movq %%r15, " \
		"120(%0);" \
		"leaq 0(%%rip), %%rcx; movq %%rcx, 128(%0)" \
		: \
		: "a"(to) \
		: "rcx", "memory")

__attribute__((noinline, no_sanitize("address", "undefined"))) void take(void)
{
	uint64_t room, sp;

	STORE_REGISTERS(taken.tail);
	sp = taken.tail[7];
	room = ((uint64_t)stack_top - sp) / 8 + BELOW;
	taken.event.words = (uint32_t)(room < WORDS ? room : WORDS);
	taken.event.registers = REGISTERS;
	taken.event.below = BELOW;
	for (uint32_t i = 0; i < taken.event.words; i++)
		taken.tail[REGISTERS + i] = ((uint64_t *)sp)[(int)i - BELOW];
	taken.n_frames = backtrace(taken.frames, 512);
}

__attribute__((noinline)) int recurse(int depth)
{
	volatile char room[24];

	room[0] = (char)depth;
	if (depth)
		return recurse(depth - 1) + room[0];
	take();
	return room[0];
}

__attribute__((noinline)) int realigned(int n)
{
	volatile char room[128] __attribute__((aligned(64)));

	room[n] = 1;
	return recurse(1) + room[n];
}

int add_event(struct sp_recording *rec, void *head, size_t bytes, const void *tail,
	      size_t tail_bytes)
{
	struct sp_event event = {.head = head, .tail = tail, .tail_bytes = tail_bytes};
	uint64_t length = tail_bytes;
	char *record = malloc(bytes + tail_bytes);

	memcpy((char *)head + sizeof(struct sp_head), &length, sizeof(length));
	memcpy(record, head, bytes);
	memcpy(record + bytes, tail, tail_bytes);
	CHECK_NUMBER(sp_event_check(record, bytes + tail_bytes), 0);
	if (writer)
		CHECK_NUMBER(sp_journal_add(writer, 0, (struct sp_head *)record), 0);
	free(record);
	return rec ? sp_recording_add(rec, &event) : 0;
}

struct sp_recording *record_maps(const char *replaced, const char *build_id)
{
	struct sp_recording *rec = sp_recording_new();
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096], exe[4096] = "", boot[128] = "boot_id";
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	struct sp_ev_meta meta = {.head = {.type = SP_EV_meta}};
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY);

	CHECK(n > 0 && maps && fd >= 0);
	n = read(fd, boot + 8, 36);
	close(fd);
	ADD_EVENT(rec, meta, boot, 8 + 36);
	while (maps && fgets(line, sizeof(line), maps)) {
		struct sp_ev_map event = {.head = {.type = SP_EV_map}, .time = 1, .process = 1};
		unsigned long start, end, offset, inode;
		unsigned major, minor;
		char rights[8], path[4096] = "";

		if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %4095s", &start, &end, rights, &offset,
			   &major, &minor, &inode, path) < 7 ||
		    rights[2] != 'x')
			continue;
		event.start = start;
		event.end = end;
		event.file_offset = offset;
		event.device = makedev(major, minor);
		event.inode = inode;
		/* As the recorder does: on overlayfs and btrfs, maps has other numbers. */
		if (inode) {
			struct stat status;

			CHECK(stat(path, &status) == 0);
			event.device = status.st_dev;
			event.inode = status.st_ino;
		}
		if (replaced && !strcmp(path, exe)) {
			event.inode = EXE_INODE;
			snprintf(path, sizeof(path), "%s", replaced);
		}
		ADD_EVENT(rec, event, path, strlen(path));
		if (replaced && event.inode == EXE_INODE) {
			struct sp_ev_image image = {.head = {.type = SP_EV_image},
						    .device = event.device,
						    .inode = EXE_INODE,
						    .image = 1,
						    .elf_type = 3};
			char text[4096 + 128];
			size_t bytes =
				(size_t)snprintf(text, sizeof(text), "%s%c%s", path, 0, build_id);

			ADD_EVENT(rec, image, text, bytes);
			replaced = NULL; /* one image is enough */
			event.inode = 0;
		}
	}
	if (maps)
		fclose(maps);
	CHECK_NUMBER(sp_recording_resolve(rec), 0);
	return rec;
}

void find(struct sp_unwind_dwarf *with, uint32_t words)
{
	struct sp_event event = {.head = &taken.event.head,
				 .tail = (const uint8_t *)taken.tail,
				 .tail_bytes = (REGISTERS + (size_t)words) * 8};
	uint32_t whole = taken.event.words;

	taken.event.head.type = SP_EV_stack_copy;
	taken.event.time = 10;
	taken.event.words = words;
	CHECK_NUMBER(sp_unwind_dwarf_find(with, sp_idmap_get(&recording->process_by_number, 1),
					  &event, &stack),
		     0);
	taken.event.words = whole;
}

void end_own_stack(void)
{
	struct sp_dwarf_stats stats;

	sp_unwind_dwarf_stats(unwind, &stats);
	CHECK_NUMBER(stats.deaths, 0);
	CHECK_NUMBER(stats.n_files, 0);
	sp_unwind_dwarf_free(unwind);
	sp_recording_free(recording);
}
