/* SPDX-License-Identifier: BSD-2-Clause
 *
 * damage_test.c - a journal cut anywhere, or with any bit flipped, is converted as far as it is
 * whole, and nothing else happens.
 *
 * What must be in the files is counted independently: whole blocks of the cut file, by their
 * headers.
 */
#include <fcntl.h>

#include "formats/crc32c.h"
#include "tests/userspace/finalize/profile_check.h"

#define BLOCKS 40
#define CALLS_A_BLOCK 5

static uint8_t *original;
static size_t size;
static size_t ends[BLOCKS * 2]; /* where a block ends, and how many calls are before it */
static uint64_t calls_at[BLOCKS * 2];
static size_t n_ends;
static uint64_t state = 99;

static uint64_t next_random(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

static void make_original(void)
{
	struct maker m = maker_open(journal_path);
	uint64_t number = 0;
	struct stat st;
	int fd;

	maker_site(&m, 1, 0, "outer", "a.c", 11, "");
	maker_site(&m, 2, 0, "inner", "a.c", 22, "");
	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1500, "app");
	maker_map(&m, 1, 1000, 0x401000, 0x402000, 0x1000, 5, "/bin/app");
	maker_flush(&m);
	for (uint32_t b = 0; b < BLOCKS; b++) {
		m.stream = b % 3;
		for (int i = 0; i < CALLS_A_BLOCK; i++, number++)
			maker_call(&m, (struct maker_call){.lane = 1,
							   .site = 1 + (number & 1),
							   .number = number + 1,
							   .start = 2000 + 10 * number,
							   .end = 2005 + 10 * number});
		if (b % 4 == 0) {
			uint64_t frames[2] = {0x401010 + b, 0x401020};

			maker_sample(&m, (struct maker_sample){.lane = 1,
							       .process = 1,
							       .pid = 10,
							       .tid = 10,
							       .time = 3000 + b,
							       .site = 1,
							       .ip = frames[0],
							       .frames = frames,
							       .n_frames = 2});
		}
		maker_flush(&m);
	}
	maker_close(&m, true);
	fd = open(journal_path, O_RDONLY);
	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	size = (size_t)st.st_size;
	original = malloc(size);
	CHECK(original && read(fd, original, size) == (ssize_t)size);
	close(fd);
}

/* Walks the blocks by their headers; the first is the schema, the second has tables only. */
static void find_blocks(void)
{
	struct sp_block_header header;
	size_t at = 8;
	int block = 0;

	while (at + sizeof(header) <= size) {
		memcpy(&header, original + at, sizeof(header));
		at += sizeof(header) + header.bytes;
		ends[n_ends] = at;
		calls_at[n_ends++] = block < 2 ? 0 : (uint64_t)(block - 1) * CALLS_A_BLOCK;
		block++;
	}
	CHECK_NUMBER(at, size);
	/* The last block is the end event. */
	calls_at[n_ends - 1] = (uint64_t)BLOCKS * CALLS_A_BLOCK;
	CHECK_NUMBER(n_ends, BLOCKS + 3);
}

static void write_journal(const uint8_t *data, size_t bytes)
{
	int fd = open(journal_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	close(fd);
}

/* Calls that stand whole in the first @bytes. */
static uint64_t whole_calls(size_t bytes, size_t *ret_good)
{
	uint64_t calls = 0;

	*ret_good = 0;
	for (size_t i = 0; i < n_ends && ends[i] <= bytes; i++) {
		calls = calls_at[i];
		*ret_good = ends[i];
	}
	return calls;
}

static void check_cut(const uint8_t *data, size_t bytes, size_t good_until)
{
	struct sp_finalize_result result;
	struct sp_finalize_failure failure;
	struct sp_profile *profile;
	size_t good;
	uint64_t calls = whole_calls(good_until, &good);
	int r;

	write_journal(data, bytes);
	r = convert("h5,sps", &result, &failure);
	if (good < ends[0]) {
		CHECK(r < 0 && failure.error.text[0]);
		CHECK_TEXT(failure.path, journal_path);
		return;
	}
	CHECK_NUMBER(r, 0);
	if (r < 0)
		return;
	CHECK_NUMBER(result.calls, calls);
	CHECK_NUMBER(result.facts.good_bytes, good);
	CHECK_NUMBER(result.facts.file_bytes, bytes);
	CHECK((result.facts.damage[0] != 0) == (good != bytes));
	CHECK_NUMBER(result.recording->ended, good == size);
	profile = open_output(result.files[0]);
	CHECK_NUMBER(sp_profile_info(profile)->n_calls, calls);
	sp_profile_free(profile);
	sp_finalize_result_free(&result);
}

/* Blocks whose checksum is right and whose events are not: what a hostile journal looks like.
 * Whatever is made of it can be read back, or there is a sentence. */
static void check_forged(void)
{
	uint8_t *forged = malloc(size);
	struct sp_finalize_result result;
	struct sp_finalize_failure failure;
	struct sp_block_header header;

	memcpy(forged, original, size);
	for (int flips = 1 + (int)(next_random() % 8); flips > 0; flips--) {
		size_t block = next_random() % (n_ends - 1), at = ends[block], bytes;

		memcpy(&header, forged + at, sizeof(header));
		bytes = sizeof(header) + header.bytes;
		forged[at + sizeof(header) + next_random() % header.bytes] ^=
			1u << (next_random() & 7);
		header.crc = 0;
		memcpy(forged + at, &header, sizeof(header));
		header.crc = sp_crc32c(0, forged + at, bytes);
		memcpy(forged + at, &header, sizeof(header));
	}
	write_journal(forged, size);
	if (convert("h5,sps,spt", &result, &failure) < 0) {
		CHECK(failure.error.text[0] && failure.path[0]);
	} else {
		for (size_t i = 0; i < result.n_files; i++)
			sp_profile_free(open_output(result.files[i]));
		sp_finalize_result_free(&result);
	}
	free(forged);
}

int main(int argc, char **argv)
{
	start_work(argc, argv);
	make_original();
	find_blocks();
	for (size_t i = 0; i < n_ends; i++)
		for (int off = -1; off <= 1; off++)
			if (ends[i] + (size_t)off <= size)
				check_cut(original, ends[i] + (size_t)off, ends[i] + (size_t)off);
	for (int i = 0; i < 100; i++) {
		size_t cut = next_random() % size;

		check_cut(original, cut, cut);
	}
	check_cut(original, 0, 0);
	check_cut(original, 7, 7);
	/* One bit is wrong: everything before its block is good. */
	for (int i = 0; i < 100; i++) {
		size_t at = next_random() % size, good = 0;

		original[at] ^= 1u << (i & 7);
		for (size_t k = 0; k < n_ends && ends[k] <= at; k++)
			good = ends[k];
		check_cut(original, size, good);
		original[at] ^= 1u << (i & 7);
	}
	for (int i = 0; i < 300; i++)
		check_forged();
	free(original);
	return check_result();
}
