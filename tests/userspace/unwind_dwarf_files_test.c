/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_dwarf_files_test.c - copies of stacks and the files around them: files that changed, are
 * gone, or kill their reader cost no more than themselves; a journal's copies reach the final
 * files.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/profile_read.h"
#include "tests/lib/check.h"
#include "tests/userspace/own_stack.h"
#include "userspace/export/finalize.h"

#if !defined(__x86_64__)
int main(void)
{
	fprintf(stderr, "copies its registers on x86-64 only\n");
	return 77;
}
#else

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

int main(int argc, char **argv)
{
	const char *directory = argc > 1 ? argv[1] : ".";

	mkdir(directory, 0700);
	BEGIN_OWN_STACK();
	read_exe();
	test_other_files(directory);
	test_death(directory);
	test_damaged(directory, 30);
	test_conversion(directory);
	end_own_stack();
	free(exe_bytes);
	return check_result();
}
#endif
