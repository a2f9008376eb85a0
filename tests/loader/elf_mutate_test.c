/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elf_mutate_test.c - elf_mutate_test ROUNDS FILE…: damages ELF files in every way and scans them.
 *
 * Built with the sanitizers, so a bad access ends it. And whatever a file holds, what the helper
 * says about it must pass the recorder's checks: else a damaged file would look like a hostile
 * helper. The damage is the same in each run.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "formats/codec.h"
#include "loader/elf_limits.h"
#include "loader/elfscan_check.h"
#include "loader/helpers/elf_scan.h"
#include "tests/loader/check.h"
#include "tests/loader/damage.h"

struct outcome {
	struct sp_elfscan_check check;
	int error;
	bool refused;
	union {
		struct sp_head head;
		uint64_t align;
		char bytes[SP_ELF_LIMIT_EVENT + 8];
	} event;
};

static int put(void *arg, const void *event, size_t bytes, const void *tail, size_t tail_bytes)
{
	struct outcome *outcome = arg;

	if (bytes + tail_bytes > SP_ELF_LIMIT_EVENT) {
		outcome->refused = true;
		return 0;
	}
	memcpy(outcome->event.bytes, event, bytes);
	if (tail_bytes)
		memcpy(outcome->event.bytes + bytes, tail, tail_bytes);
	if (sp_elfscan_check_event(&outcome->check, &outcome->event.head, bytes + tail_bytes) < 0)
		outcome->refused = true;
	if (outcome->event.head.type == SP_EV_image)
		outcome->error = ((struct sp_ev_image *)outcome->event.bytes)->error;
	return 0;
}

static struct outcome scan(int fd, const char *what, uint64_t seed)
{
	struct outcome outcome = {.check = {.image = 7}};
	const struct sp_elf_sink sink = {put, &outcome};
	struct stat st;

	if (fstat(fd, &st) < 0)
		abort();
	outcome.check.file_size = (uint64_t)st.st_size;
	sp_elf_scan(fd, 7, &sink);
	CHECK(!outcome.refused, "%s, seed %llu: an event is impossible", what,
	      (unsigned long long)seed);
	CHECK(sp_elfscan_check_end(&outcome.check) == 0, "%s, seed %llu: sites are missing", what,
	      (unsigned long long)seed);
	return outcome;
}

struct input {
	struct damage file;
	size_t notes, notes_size, desc, desc_size, shoff;
};

/* Where the damage matters most. */
static void find_sections(struct input *in)
{
	const Elf64_Ehdr *eh = (const void *)in->file.bytes;
	const Elf64_Shdr *sh = (const void *)(in->file.bytes + eh->e_shoff);
	const char *names = (const char *)in->file.bytes + sh[eh->e_shstrndx].sh_offset;

	in->shoff = eh->e_shoff;
	for (int i = 0; i < eh->e_shnum; i++) {
		if (!strcmp(names + sh[i].sh_name, ".note.stapsdt")) {
			in->notes = sh[i].sh_offset;
			in->notes_size = sh[i].sh_size;
		} else if (!strcmp(names + sh[i].sh_name, "sp_desc")) {
			in->desc = sh[i].sh_offset;
			in->desc_size = sh[i].sh_size;
		}
	}
}

/* A place in one of the structures, or anywhere. */
static size_t pick(const void *arg)
{
	const struct input *in = arg;
	const Elf64_Ehdr *eh = (const void *)in->file.bytes;
	uint64_t r = random_number() >> 8;

	switch (random_number() >> 20 & 7) {
	case 0:
	case 1:
		return in->notes_size ? in->notes + r % in->notes_size : r % in->file.size;
	case 2:
	case 3:
		return in->desc_size ? in->desc + r % in->desc_size : r % in->file.size;
	case 4:
		return r % sizeof(Elf64_Ehdr);
	case 5:
		return sizeof(Elf64_Ehdr) + r % (eh->e_phnum * sizeof(Elf64_Phdr));
	case 6:
		return in->shoff + r % (in->file.size - in->shoff);
	default:
		return r % in->file.size;
	}
}

static void flip_bits(const struct input *in, uint64_t rounds)
{
	for (uint64_t seed = 1; seed <= rounds; seed++) {
		damage_flip(&in->file, seed, 1 + seed % 4, pick, in);
		scan(in->file.fd, in->file.path, seed);
	}
}

static void truncate_everywhere(struct input *in, uint64_t rounds)
{
	int failed = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		size_t size = (size_t)((double)in->file.size * (double)i / (double)rounds);

		damage_cut(&in->file, size);
		failed += scan(in->file.fd, in->file.path, i).error != 0;
	}
	/* Section headers stand at the end, so no prefix is whole. */
	CHECK((uint64_t)failed == rounds, "%d of %llu truncated files were taken", failed,
	      (unsigned long long)rounds);
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;

	if (!rounds)
		return 2;
	for (int i = 2; i < argc; i++) {
		struct input in = {.file = {.path = argv[i]}};
		struct outcome outcome;

		damage_load(&in.file);
		find_sections(&in);
		damage_cut(&in.file, in.file.size);
		outcome = scan(in.file.fd, in.file.path, 0);
		/* x86-64 has a second place of each probe for forked children. */
		CHECK(outcome.error == 0 && outcome.check.sites &&
			      outcome.check.probes == (in.file.bytes[18] == EM_X86_64 ? 4 : 2),
		      "%s: not a whole file to begin with: %d, %u sites", in.file.path,
		      outcome.error, outcome.check.sites);
		flip_bits(&in, rounds);
		truncate_everywhere(&in, rounds / 8 + 1);
		damage_free(&in.file);
	}
	return check_done();
}
