/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_dwarf_test.c - stacks of this very program, copied by itself, are unwound as libgcc does
 * it (backtrace(3)); copies that end early give less, and files that changed, are gone, or kill
 * their reader cost no more than themselves.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "formats/journal.h"
#include "formats/profile_read.h"
#include "tests/lib/check.h"
#include "userspace/analysis/unwind_dwarf.h"
#include "userspace/analysis/unwind_pairs.h"
#include "userspace/export/finalize.h"

#if !defined(__x86_64__)
int main(void)
{
	fprintf(stderr, "copies its registers on x86-64 only\n");
	return 77;
}
#else

#define REGISTERS 17
#define BELOW 16
#define WORDS (8192 + BELOW)
#define EXE_INODE 4242 /* in place of the executable's own, where a copy of it takes its place */

/* A copy, and what libgcc says of the same moment. */
static struct {
	struct sp_ev_stack_copy event;
	uint64_t tail[REGISTERS + WORDS];
	void *frames[512];
	int n_frames;
} taken;

static char *stack_top;

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

static __attribute__((noinline, no_sanitize("address", "undefined"))) void take(void)
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

/* ---- a recording of this process ---- */

static struct sp_journal_writer *writer; /* events go into a journal, too, while it is open */

/* The struct's tail_bytes are set here. */
static int add_event(struct sp_recording *rec, void *head, size_t bytes, const void *tail,
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

#define ADD_EVENT(rec, event, tail, tail_bytes) \
	CHECK_NUMBER(add_event(rec, &(event), sizeof(event), tail, tail_bytes), 0)

/* @replaced: what stands in the place of the executable, NULL: itself. */
static struct sp_recording *record_maps(const char *replaced, const char *build_id)
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

static struct sp_recording *recording;
static struct sp_unwind_dwarf *unwind;
static struct sp_dwarf_stack stack;

static void find(struct sp_unwind_dwarf *with, uint32_t words)
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

/* Innermost first, without the place in take() itself, where the two were called apart. */
static void compare(const char *what, bool whole)
{
	int skip = 0, n;

	find(unwind, taken.event.words);
	/* A sanitizer's own backtrace() is a frame between. */
	while (skip < 2 && stack.frames > 1 && stack.frame[1] != (uint64_t)taken.frames[skip + 1])
		skip++;
	n = taken.n_frames - skip < SP_MAX_FRAMES ? taken.n_frames - skip : SP_MAX_FRAMES;
	fprintf(stderr, "%s: %u frames, libgcc has %d, end %u\n", what, stack.frames,
		taken.n_frames - skip, stack.end);
	CHECK_NUMBER(stack.frames, n);
	CHECK_NUMBER(stack.frame[0], taken.tail[16]);
	for (int i = 1; i < n && i < (int)stack.frames; i++)
		CHECK_NUMBER(stack.frame[i], (uint64_t)taken.frames[i + skip]);
	CHECK_NUMBER(stack.end, whole ? SP_STACK_COMPLETE : SP_STACK_TRUNCATED);
	CHECK(!stack.copy_ended);
}

/* ---- places to take a stack at ---- */

static __attribute__((noinline)) int recurse(int depth)
{
	volatile char room[24];

	room[0] = (char)depth;
	if (depth)
		return recurse(depth - 1) + room[0];
	take();
	return room[0];
}

static __attribute__((noinline)) int with_alloca(size_t n)
{
	volatile char *room = __builtin_alloca(n);

	room[n - 1] = 1;
	return recurse(2) + room[n - 1];
}

static __attribute__((noinline)) int realigned(int n)
{
	volatile char room[128] __attribute__((aligned(64)));

	room[n] = 1;
	return recurse(1) + room[n];
}

static int in_qsort(const void *a, const void *b)
{
	take();
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void in_signal(int number)
{
	(void)number;
	recurse(3);
}

static void *in_thread(void *arg)
{
	(void)arg;
	stack_top = (char *)__builtin_frame_address(0) + 512;
	recurse(5);
	return NULL;
}

static void test_places(void)
{
	int numbers[16] = {5, 3, 1, 4};
	struct sigaction action = {.sa_handler = in_signal};
	pthread_t thread;
	char *top = stack_top;
	bool exact = false;

	recurse(0);
	compare("leaf", true);
	recurse(40);
	compare("recursion", true);
	recurse(300);
	compare("deep recursion", false);
	with_alloca(777);
	compare("alloca", true);
	realigned(3);
	compare("realigned", true);
	qsort(numbers, 16, sizeof(numbers[0]), in_qsort);
	compare("qsort", true);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	compare("signal", true);
	CHECK_NUMBER(__builtin_popcount(stack.signal_frames), 1);
	for (uint32_t i = 0; i < stack.frames && i < 32; i++)
		exact |= stack.signal_frames >> i & 1 && i >= 6; /* take, recurse × 4, handler … */
	CHECK(exact);
	CHECK(pthread_create(&thread, NULL, in_thread, NULL) == 0);
	pthread_join(thread, NULL);
	compare("thread", true);
	stack_top = top;
}

/* The copy at hand, as if what stands on the stack at its @word had been called from there. */
static void move_to(uint64_t ip, uint32_t word)
{
	taken.tail[7] += (word - BELOW) * 8ul;
	if (taken.tail[6] == taken.tail[7] - 8) /* take() has a frame pointer of its own */
		taken.tail[6] = taken.tail[REGISTERS + word - 1];
	taken.tail[16] = ip;
	memmove(taken.tail + REGISTERS, taken.tail + REGISTERS + word - BELOW,
		(taken.event.words - (word - BELOW)) * 8ul);
	taken.event.words -= word - BELOW;
}

/* Where glibc's clone() returns twice, there is no call frame information. */
static void test_clone(void)
{
	const uint8_t *code = dlsym(RTLD_DEFAULT, "clone");
	uint32_t word = BELOW;
	size_t at = 0;

	while (code && at < 100 && memcmp(code + at, "\x0f\x05\x48\x85\xc0\x7c", 6))
		at++;
	if (!code || at == 100) {
		fprintf(stderr, "this clone() is not glibc's\n");
		return;
	}
#ifdef __SANITIZE_ADDRESS__
	/* With room around what is local, the place that is looked for below cannot be told. */
	fprintf(stderr, "clone() is not tried with sanitizers\n");
	return;
#endif
	recurse(3);
	while (word + 1 < taken.event.words &&
	       taken.tail[REGISTERS + word] != (uint64_t)taken.frames[1])
		word++;
	move_to((uint64_t)code + at, word);
	for (int offset = 0; offset < 10; offset += offset < 5 ? 2 + offset / 2 : 2) {
		taken.tail[16] = (uint64_t)code + at + (uint64_t)offset;
		taken.tail[2] = offset == 2 ? taken.tail[16] : 0; /* rcx: in the system call */
		taken.tail[0] = 4711;
		find(unwind, taken.event.words);
		CHECK_NUMBER(stack.frames, taken.n_frames);
		for (int i = 1; i < taken.n_frames && i < (int)stack.frames; i++)
			CHECK_NUMBER(stack.frame[i], (uint64_t)taken.frames[i]);
		CHECK_NUMBER(stack.end, SP_STACK_COMPLETE);
		taken.tail[0] = 0;
		find(unwind, taken.event.words);
		CHECK_NUMBER(stack.frames, 1); /* the new thread */
		CHECK_NUMBER(stack.end, SP_STACK_COMPLETE);
	}
}

/* A program's first instructions are those of the dynamic linker, which says nothing of them. */
static void test_entry(void)
{
	uint64_t base = getauxval(AT_BASE);

	if (!base) {
		fprintf(stderr, "a static program\n");
		return;
	}
	recurse(3);
	for (uint64_t offset = 0; offset < 8; offset += 3) { /* mov %rsp,%rdi; call _dl_start */
		taken.tail[16] = base + ((const Elf64_Ehdr *)base)->e_entry + offset;
		find(unwind, taken.event.words);
		CHECK_NUMBER(stack.frames, 1);
		CHECK_NUMBER(stack.end, SP_STACK_COMPLETE);
	}
}

/* Any shorter copy gives the first frames of the whole stack. */
static void test_short(void)
{
	struct sp_dwarf_stack whole;
	uint32_t last = 0;

	recurse(20);
	find(unwind, taken.event.words);
	whole = stack;
	for (uint32_t words = 0; words < taken.event.words; words += words < 200 ? 1 : 37) {
		taken.event.below = words < BELOW ? (uint16_t)words : BELOW;
		find(unwind, words);
		CHECK(stack.frames >= 1 && stack.frames <= whole.frames);
		CHECK(!memcmp(stack.frame, whole.frame, stack.frames * sizeof(uint64_t)));
		CHECK(stack.copy_ended || stack.end == SP_STACK_COMPLETE);
		CHECK((stack.end == SP_STACK_COMPLETE) == (stack.frames == whole.frames));
		CHECK(stack.end == (stack.copy_ended ? SP_STACK_UNREADABLE : SP_STACK_COMPLETE));
		CHECK(words < BELOW || stack.frames >= last);
		last = stack.frames;
	}
	CHECK(last > 15);
	taken.event.below = BELOW;
}

/* What no recorder sends is refused. */
static void test_wrong_events(void)
{
	struct sp_ev_stack_copy good = taken.event;

	taken.event.registers = 5;
	find(unwind, 100);
	CHECK_NUMBER(stack.frames, 0);
	taken.event.registers = REGISTERS;
	taken.event.below = 200;
	find(unwind, 100);
	CHECK_NUMBER(stack.frames, 0);
	taken.event = good;
	for (int i = 0; i < 2000; i++) {
		uint64_t kept = taken.tail[i % REGISTERS];

		taken.tail[i % REGISTERS] = (uint64_t)random() << 32 | (uint64_t)random();
		find(unwind, good.words);
		CHECK(stack.frames >= 1 && stack.end < SP_STACK_END_MAX);
		taken.tail[i % REGISTERS] = kept;
	}
}

/* ---- other files in the place of the executable ---- */

static size_t exe_size;
static char *exe_bytes;

static void read_exe(void)
{
	FILE *in = fopen("/proc/self/exe", "re");

	fseek(in, 0, SEEK_END);
	exe_size = (size_t)ftell(in);
	rewind(in);
	exe_bytes = malloc(exe_size);
	CHECK(exe_bytes && fread(exe_bytes, 1, exe_size, in) == exe_size);
	fclose(in);
}

static void write_copy(const char *path)
{
	FILE *out = fopen(path, "we");

	CHECK(out && fwrite(exe_bytes, 1, exe_size, out) == exe_size && fclose(out) == 0);
}

static const char *own_id(void)
{
	static char text[128];
	FILE *in = popen("readelf -n /proc/$PPID/exe | sed -n 's/.*Build ID: //p'", "r");

	if (!fgets(text, sizeof(text), in))
		text[0] = 0;
	pclose(in);
	text[strcspn(text, "\n")] = 0;
	return text;
}

static void expect_refusal(const char *path, const char *build_id, enum sp_dwarf_refusal wanted)
{
	struct sp_recording *rec = record_maps(path, build_id);
	struct sp_unwind_dwarf *with = NULL;
	struct sp_dwarf_stats stats;

	CHECK_NUMBER(sp_unwind_dwarf_new(rec, NULL, &with), 0);
	recurse(2);
	find(with, taken.event.words);
	sp_unwind_dwarf_stats(with, &stats);
	CHECK_NUMBER(stats.n_files, wanted != SP_DWARF_USED);
	if (stats.n_files) {
		CHECK_NUMBER(stats.files[0].refusal, wanted);
		CHECK_TEXT(stats.files[0].path, path);
	} else {
		CHECK_NUMBER(stack.end, SP_STACK_COMPLETE);
	}
	CHECK(stack.frames >= 1);
	CHECK_NUMBER(stats.deaths, 0);
	sp_unwind_dwarf_free(with);
	sp_recording_free(rec);
}

static void test_other_files(const char *directory)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/copy", directory);
	write_copy(path);
	expect_refusal(path, own_id(), SP_DWARF_USED);
	expect_refusal(path, "0123456789abcdef", SP_DWARF_CHANGED);
	expect_refusal(path, "", SP_DWARF_CHANGED); /* no id, and another file's numbers */
	unlink(path);
	expect_refusal(path, own_id(), SP_DWARF_GONE);
	CHECK(mkfifo(path, 0600) == 0); /* must not block */
	expect_refusal(path, own_id(), SP_DWARF_GONE);
	unlink(path);
	exe_bytes[0] ^= 1;
	write_copy(path);
	expect_refusal(path, own_id(), SP_DWARF_NOT_ELF);
	exe_bytes[0] ^= 1;
	unlink(path);
}

/* A file that is cut while the child has it mapped kills the child. */
static void test_death(const char *directory)
{
	char path[4096];
	struct sp_recording *rec;
	struct sp_unwind_dwarf *with = NULL;
	struct sp_dwarf_stats stats;

	snprintf(path, sizeof(path), "%s/cut", directory);
	write_copy(path);
	rec = record_maps(path, own_id());
	CHECK_NUMBER(sp_unwind_dwarf_new(rec, NULL, &with), 0);
	recurse(2);
	find(with, taken.event.words);
	CHECK_NUMBER(stack.end, SP_STACK_COMPLETE);
	CHECK(truncate(path, 0) == 0);
	realigned(1); /* rules that were not looked at before */
	find(with, taken.event.words);
	sp_unwind_dwarf_stats(with, &stats);
	CHECK_NUMBER(stack.frames, 0);
	CHECK_NUMBER(stats.deaths, 1);
	CHECK_NUMBER(stats.n_files, 1);
	CHECK(stats.n_files == 1 && stats.files[0].refusal == SP_DWARF_DEADLY);
	recurse(2);
	find(with, taken.event.words);
	CHECK(stack.frames >= 1);
	sp_unwind_dwarf_stats(with, &stats);
	CHECK_NUMBER(stats.deaths, 1);
	sp_unwind_dwarf_free(with);
	sp_recording_free(rec);
	unlink(path);
}

/* Whatever stands in the file, an answer comes, and soon. */
static void test_damaged(const char *directory, int rounds)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/damaged", directory);
	for (int round = 0; round < rounds; round++) {
		char *good = malloc(exe_size);
		struct sp_recording *rec;
		struct sp_unwind_dwarf *with = NULL;

		memcpy(good, exe_bytes, exe_size);
		for (int i = 0; i < 2000; i++)
			exe_bytes[64 + (size_t)random() % (exe_size - 64)] ^=
				(char)(1 << random() % 8);
		write_copy(path);
		rec = record_maps(path, "");
		/* Taken for the file that ran, as the archive's files are. */
		rec->images[0].archived = "damaged";
		CHECK_NUMBER(sp_unwind_dwarf_new(rec, directory, &with), 0);
		recurse(10);
		find(with, taken.event.words);
		CHECK(stack.frames <= SP_MAX_FRAMES);
		realigned(4);
		find(with, taken.event.words);
		CHECK(stack.frames <= SP_MAX_FRAMES);
		sp_unwind_dwarf_free(with);
		sp_recording_free(rec);
		memcpy(exe_bytes, good, exe_size);
		free(good);
		unlink(path);
	}
}

/* ---- conversion ---- */

static void put_sample(uint64_t time, const uint64_t *frames, size_t n, uint32_t end)
{
	struct sp_ev_sample sample = {.head = {SP_EV_sample, 0, 1},
				      .time = time,
				      .ip = taken.tail[16],
				      .process = 1,
				      .pid = 1,
				      .tid = 1,
				      .stack_end = end,
				      .kernel_frames = 1};
	uint64_t tail[SP_MAX_FRAMES + 1] = {0xffffffff81000001};

	memcpy(tail + 1, frames, n * 8);
	ADD_EVENT(NULL, sample, tail, (n + 1) * 8);
}

static void put_copy(uint64_t time, uint32_t words)
{
	struct sp_ev_stack_copy copy = taken.event;

	copy.head = (struct sp_head){SP_EV_stack_copy, 0, 1};
	copy.time = time;
	copy.words = words;
	ADD_EVENT(NULL, copy, taken.tail, (REGISTERS + (size_t)words) * 8);
}

/* Each sample's user frames in the file are @wanted. */
static void check_file(const char *path, const struct sp_dwarf_stack *whole)
{
	struct sp_profile *profile = NULL;
	struct sp_error error = {0};
	struct sp_sample_row rows[4];
	uint64_t offsets[5], frames[SP_MAX_FRAMES + 1];
	const uint32_t wanted[4] = {whole->frames, whole->frames, 1, whole->frames};

	CHECK_NUMBER(sp_profile_open(path, &profile, &error), 0);
	CHECK_NUMBER(sp_profile_info(profile)->n_samples, 4);
	CHECK_NUMBER(sp_profile_read_samples(profile, 0, 4, rows, &error), 0);
	CHECK_NUMBER(sp_profile_read_stack_offsets(profile, 0, 4, offsets, &error), 0);
	for (int i = 0; i < 4; i++) {
		uint64_t n = offsets[i + 1] - offsets[i];

		CHECK_NUMBER(n, wanted[i] + 1);
		CHECK_NUMBER(rows[i].kernel_frames, 1);
		CHECK_NUMBER(rows[i].stack_end, i == 2 ? SP_STACK_NO_TABLE : SP_STACK_COMPLETE);
		if (n > SP_MAX_FRAMES + 1)
			continue;
		CHECK_NUMBER(sp_profile_read_frames(profile, offsets[i], n, frames, &error), 0);
		CHECK_NUMBER(frames[0], 0xffffffff81000001);
		CHECK(!memcmp(frames + 1, whole->frame, wanted[i] * sizeof(uint64_t)));
	}
	sp_profile_free(profile);
}

/* The files get libdw's stack, or the recorded one where libdw's ends early. */
static void test_conversion(const char *directory)
{
	char journal[4096], file[4200];
	struct sp_finalize_options options = {.journal = journal,
					      .directory = directory,
					      .formats = "h5",
					      .program = "test",
					      .force = true,
					      .no_sync = true,
					      .keep_journal = true};
	struct sp_finalize_result result = {0};
	struct sp_finalize_failure failure = {0};
	struct sp_ev_end end = {.head = {.type = SP_EV_end}, .samples = 4};
	struct sp_dwarf_stack whole;
	int fd;

	recurse(30);
	find(unwind, taken.event.words);
	whole = stack;
	snprintf(journal, sizeof(journal), "%s/journal.spj", directory);
	fd = open(journal, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK_NUMBER(sp_journal_writer_new(fd, &writer), 0);
	sp_recording_free(record_maps(NULL, ""));
	put_sample(100, whole.frame, 1, SP_STACK_NO_TABLE);
	put_copy(100, taken.event.words);
	put_sample(200, whole.frame, whole.frames, SP_STACK_COMPLETE);
	put_copy(200, 100);
	put_sample(300, whole.frame, 1, SP_STACK_NO_TABLE); /* its copy was lost */
	put_sample(400, whole.frame, 3, SP_STACK_NO_RULE);
	put_copy(400, taken.event.words);
	ADD_EVENT(NULL, end, "done", 4);
	CHECK_NUMBER(sp_journal_writer_free(writer), 0);
	writer = NULL;
	CHECK_NUMBER(sp_finalize(&options, &result, &failure), 0);
	CHECK_TEXT(failure.error.text, "");
	CHECK_NUMBER(result.stacks.copies, 3);
	CHECK_NUMBER(result.stacks.by_libdw, 2);
	CHECK_NUMBER(result.stacks.short_copies, 1);
	CHECK_NUMBER(result.stacks.failed, 0);
	CHECK_NUMBER(result.stacks.n_unusable, 0);
	CHECK_NUMBER(result.n_files, 1);
	if (result.n_files == 1) {
		snprintf(file, sizeof(file), "%s/%s", directory, result.files[0]);
		check_file(file, &whole);
	}
	sp_finalize_result_free(&result);
}

/* ---- pairs ---- */

struct seen {
	unsigned pairs, alone;
	uint64_t last;
};

static int on_pair(void *context, const struct sp_event *event, const struct sp_event *copy)
{
	const struct sp_ev_sample *sample = (const struct sp_ev_sample *)event->head;
	struct seen *seen = context;

	CHECK_NUMBER(event->tail_bytes, 16);
	CHECK_NUMBER(((const uint64_t *)event->tail)[1], sample->time * 2);
	if (copy)
		CHECK_NUMBER(((const struct sp_ev_stack_copy *)copy->head)->time, sample->time);
	seen->pairs += copy != NULL;
	seen->alone += copy == NULL;
	seen->last = sample->time;
	return sample->time == 666 ? -EINTR : 0;
}

static int give(struct sp_unwind_pairs *pairs, unsigned stream, unsigned type, uint32_t lane,
		uint64_t time)
{
	struct sp_ev_sample sample = {.head = {SP_EV_sample, 0, lane}, .time = time};
	struct sp_ev_stack_copy copy = {.head = {SP_EV_stack_copy, 0, lane}, .time = time};
	uint64_t tail[2] = {time, time * 2};
	struct sp_event event = {.head = type == SP_EV_sample ? &sample.head : &copy.head,
				 .tail = (const uint8_t *)tail,
				 .tail_bytes = sizeof(tail)};

	return sp_unwind_pairs_add(pairs, stream, &event);
}

static void test_pairs(void)
{
	struct seen seen = {0};
	struct sp_unwind_pairs pairs = {.found = on_pair, .context = &seen};

	give(&pairs, 0, SP_EV_sample, 1, 100);
	give(&pairs, 1, SP_EV_sample, 2, 100);
	give(&pairs, 0, SP_EV_stack_copy, 1, 100);
	give(&pairs, 1, SP_EV_stack_copy, 2, 100);
	CHECK_NUMBER(seen.pairs, 2);
	give(&pairs, 0, SP_EV_sample, 1, 200); /* its copy is lost */
	give(&pairs, 0, SP_EV_sample, 1, 300);
	CHECK_NUMBER(seen.last, 200);
	give(&pairs, 0, SP_EV_stack_copy, 1, 300);
	give(&pairs, 0, SP_EV_stack_copy, 1, 300); /* twice */
	give(&pairs, 0, SP_EV_sample, 1, 400);
	give(&pairs, 0, SP_EV_stack_copy, 3, 400); /* of another lane */
	give(&pairs, 5, SP_EV_stack_copy, 1, 400); /* of another stream */
	CHECK_NUMBER(sp_unwind_pairs_finish(&pairs), 0);
	CHECK_NUMBER(seen.pairs, 3);
	CHECK_NUMBER(seen.alone, 2);
	CHECK_NUMBER(pairs.alone, 3);
	give(&pairs, 7, SP_EV_sample, 1, 666);
	CHECK_NUMBER(give(&pairs, 7, SP_EV_stack_copy, 1, 666), -EINTR);
	sp_unwind_pairs_free(&pairs);
}

int main(int argc, char **argv)
{
	const char *directory = argc > 1 ? argv[1] : ".";
	struct sp_dwarf_stats stats;

	mkdir(directory, 0700);
	stack_top = (char *)__builtin_frame_address(0) + 256;
	recording = record_maps(NULL, "");
	CHECK_NUMBER(sp_unwind_dwarf_new(recording, NULL, &unwind), 0);
	test_places();
	test_clone();
	test_entry();
	test_short();
	test_wrong_events();
	sp_unwind_dwarf_stats(unwind, &stats);
	CHECK_NUMBER(stats.deaths, 0);
	CHECK_NUMBER(stats.n_files, 0);
	CHECK_NUMBER(stats.not_tried, 2);
	read_exe();
	test_other_files(directory);
	test_death(directory);
	test_damaged(directory, 30);
	test_conversion(directory);
	test_pairs();
	sp_unwind_dwarf_free(unwind);
	sp_recording_free(recording);
	free(exe_bytes);
	return check_result();
}
#endif
