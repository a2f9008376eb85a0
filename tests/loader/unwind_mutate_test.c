/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_mutate_test.c - unwind_mutate_test ROUNDS FILE…: damages ELF files in every way and makes
 * their tables; then files that are made to cost as much as can be.
 *
 * Built with the sanitizers, so a bad access ends it. And whatever a file holds, the table must
 * pass the recorder's checks: else a damaged file would look like a hostile helper. The damage is
 * the same in each run.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "loader/helpers/unwind_make.h"
#include "tests/loader/check.h"
#include "tests/loader/damage.h"

struct input {
	struct damage file;
	size_t cfi, cfi_size, header, shoff;
};

struct outcome {
	int error;
	size_t rows, rules;
	char text[256];
};

static struct outcome make(int fd, const char *what, uint64_t seed)
{
	struct sp_unwind_table table = {0};
	struct sp_error err = {0};
	struct outcome outcome = {0};
	struct stat st;

	if (fstat(fd, &st) < 0)
		abort();
	outcome.error = sp_unwind_make(fd, &table, &err);
	outcome.rows = table.rows;
	outcome.rules = table.rules;
	memcpy(outcome.text, err.text, sizeof(err.text));
	CHECK(outcome.error < 0 || sp_unwind_table_check(&table, (uint64_t)st.st_size) == 0,
	      "%s, seed %llu: the table is impossible", what, (unsigned long long)seed);
	CHECK(outcome.error == 0 || !table.pc, "%s, seed %llu: an error, and a table", what,
	      (unsigned long long)seed);
	sp_unwind_table_clear(&table);
	return outcome;
}

/* Where the damage matters most. */
static void find_sections(struct input *in)
{
	const Elf64_Ehdr *eh = (const void *)in->file.bytes;
	const Elf64_Shdr *sh = (const void *)(in->file.bytes + eh->e_shoff);
	const char *names = (const char *)in->file.bytes + sh[eh->e_shstrndx].sh_offset;

	in->shoff = eh->e_shoff;
	for (int i = 0; i < eh->e_shnum; i++) {
		const char *name = names + sh[i].sh_name;

		if (!strcmp(name, ".eh_frame_hdr"))
			in->header = sh[i].sh_offset;
		if (!strcmp(name, ".debug_frame") || (!strcmp(name, ".eh_frame") && !in->cfi)) {
			in->cfi = sh[i].sh_offset;
			in->cfi_size = sh[i].sh_size;
		}
	}
	if (!in->cfi)
		abort();
}

static size_t pick(const void *arg)
{
	const struct input *in = arg;
	const Elf64_Ehdr *eh = (const void *)in->file.bytes;
	uint64_t r = random_number() >> 8;

	switch (random_number() >> 20 & 15) {
	case 0:
		return r % sizeof(Elf64_Ehdr);
	case 1:
		return sizeof(Elf64_Ehdr) + r % (eh->e_phnum * sizeof(Elf64_Phdr));
	case 2:
		return in->shoff ? in->shoff + r % (in->file.size - in->shoff) : r % in->file.size;
	case 3:
		return in->header ? in->header + r % 64 : r % in->file.size;
	case 4:
		return r % in->file.size;
	default:
		return in->cfi + r % in->cfi_size;
	}
}

static void flip_bits(const struct input *in, uint64_t rounds)
{
	for (uint64_t seed = 1; seed <= rounds; seed++) {
		damage_flip(&in->file, seed, 1 + seed % 8, pick, in);
		make(in->file.fd, in->file.path, seed);
	}
}

/* Without its section headers, too, which stand at the end. */
static void truncate_everywhere(struct input *in, bool headless, uint64_t rounds)
{
	Elf64_Ehdr *eh = (void *)in->file.bytes, whole = *eh;
	size_t step = in->file.size / rounds + 1;

	if (headless) {
		eh->e_shoff = 0;
		eh->e_shnum = eh->e_shstrndx = 0;
	}
	for (size_t size = 0; size < in->file.size; size += size < 1024 ? 1 : step) {
		struct outcome outcome;

		damage_cut(&in->file, size);
		outcome = make(in->file.fd, in->file.path, size);
		CHECK(headless || outcome.error < 0, "%s of %zu bytes was taken", in->file.path,
		      size);
	}
	*eh = whole;
}

/* ---- files that are made to be expensive ---- */

#define TEXT_ADDRESS 0x400000u

struct bomb {
	uint8_t *bytes; /* of .eh_frame */
	size_t used, room;
	uint64_t text; /* bytes of code that the file claims, and has */
};

static void put(struct bomb *b, const void *bytes, size_t n)
{
	if (b->used + n > b->room) {
		b->room = 2 * (b->used + n);
		b->bytes = realloc(b->bytes, b->room);
		if (!b->bytes)
			abort();
	}
	if (n)
		memcpy(b->bytes + b->used, bytes, n);
	b->used += n;
}

static void put_u32(struct bomb *b, uint32_t value)
{
	put(b, &value, 4);
}

/* A CIE with absolute 32-bit addresses, at offset 0. */
static void put_cie(struct bomb *b, const void *program, size_t bytes)
{
	static const uint8_t head[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x03};
	static const uint8_t start[] = {0x0c, 7, 8, 0x90, 1};

	put_u32(b, (uint32_t)(4 + sizeof(head) + sizeof(start) + bytes));
	put_u32(b, 0);
	put(b, head, sizeof(head));
	put(b, start, sizeof(start));
	put(b, program, bytes);
}

static void put_fde(struct bomb *b, uint32_t start, uint32_t length, const void *program,
		    size_t bytes)
{
	uint8_t none = 0;

	put_u32(b, (uint32_t)(4 + 8 + 1 + bytes));
	put_u32(b, (uint32_t)b->used);
	put_u32(b, start);
	put_u32(b, length);
	put(b, &none, 1);
	put(b, program, bytes);
}

static struct outcome explode(struct bomb *b, const char *what, double seconds)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";
	Elf64_Ehdr eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(eh),
			 .e_ehsize = sizeof(eh),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 2};
	Elf64_Phdr ph = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = TEXT_ADDRESS};
	Elf64_Shdr sh[3] = {{0},
			    {.sh_name = 1, .sh_type = SHT_PROGBITS},
			    {.sh_name = 11, .sh_type = SHT_STRTAB}};
	int fd = memfd_create("bomb", 0);
	struct timespec from, to;
	struct outcome outcome;
	double took;

	sh[2].sh_offset = sizeof(eh) + sizeof(ph);
	sh[2].sh_size = sizeof(names);
	eh.e_shoff = sh[2].sh_offset + sizeof(names);
	sh[1].sh_offset = eh.e_shoff + sizeof(sh);
	sh[1].sh_size = b->used;
	sh[1].sh_addr = 0x1000;
	ph.p_offset = sh[1].sh_offset + b->used;
	ph.p_filesz = ph.p_memsz = b->text;
	if (fd < 0 || ftruncate(fd, (off_t)(ph.p_offset + b->text)) < 0 ||
	    pwrite(fd, &eh, sizeof(eh), 0) < 0 || pwrite(fd, &ph, sizeof(ph), sizeof(eh)) < 0 ||
	    pwrite(fd, names, sizeof(names), (off_t)sh[2].sh_offset) < 0 ||
	    pwrite(fd, sh, sizeof(sh), (off_t)eh.e_shoff) < 0 ||
	    pwrite(fd, b->bytes, b->used, (off_t)sh[1].sh_offset) != (ssize_t)b->used)
		abort();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	outcome = make(fd, what, 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	took = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	printf("%s: %zu bytes, %.2f s, %zu rows, %zu rules, %d %s\n", what, b->used, took,
	       outcome.rows, outcome.rules, outcome.error, outcome.text);
	CHECK(took < seconds, "%s: took %.2f s", what, took);
	close(fd);
	free(b->bytes);
	*b = (struct bomb){0};
	return outcome;
}

/* Entries for one address, in descending order, in all of the code: the work stays linear. */
static void explode_entries(void)
{
	struct bomb b = {.text = 1 << 20};
	struct outcome o;
	uint8_t nop = 0;

	put_cie(&b, NULL, 0);
	for (uint32_t i = 0; i < 300000; i++)
		put_fde(&b, TEXT_ADDRESS, 1 << 20, &nop, 1);
	o = explode(&b, "one address", 20);
	CHECK(o.error == 0 && o.rows == 2, "one address: %d, %zu rows", o.error, o.rows);

	b.text = 1 << 22;
	put_cie(&b, NULL, 0);
	for (uint32_t i = 300000; i > 0; i--)
		put_fde(&b, TEXT_ADDRESS + i, (1 << 20) - i, &nop, 1);
	o = explode(&b, "nested", 20);
	CHECK(o.error == 0 && o.rows == 2, "nested: %d, %zu rows", o.error, o.rows);

	b.text = 1 << 20;
	put_cie(&b, NULL, 0);
	for (uint32_t i = 300000; i > 0; i--)
		put_fde(&b, TEXT_ADDRESS + 3 * i, 2, &nop, 1);
	o = explode(&b, "descending", 20);
	CHECK(o.error == 0 && o.rows == 600000, "descending: %d, %zu rows", o.error, o.rows);
}

/* Programs: of many rows with as many rules, that remember much, with expressions without end. */
static void explode_programs(void)
{
	struct bomb b = {.text = 1 << 22}, program = {0};
	static uint8_t zeros[1 << 20];
	struct outcome o;

	put_cie(&b, NULL, 0);
	for (uint32_t i = 0; i < 100000; i++) {
		uint8_t row[] = {0x41, 0x0e, 0x80 | (i & 0x7f), 0x80 | (i >> 7 & 0x7f), i >> 14};

		put(&program, row, sizeof(row));
	}
	put_fde(&b, TEXT_ADDRESS, 1 << 20, program.bytes, program.used);
	o = explode(&b, "rules", 20);
	CHECK(o.error == 0 && o.rules == SP_UNWIND_LIMIT_RULES && strstr(o.text, "different rules"),
	      "rules: %d, %zu, %s", o.error, o.rules, o.text);

	program.used = 0;
	for (uint32_t i = 0; i < 200000; i++)
		put(&program, "\x0a\x41", 2);
	b.text = 1 << 22;
	put_cie(&b, "\x0a\x0a\x0a", 3);
	put_fde(&b, TEXT_ADDRESS, 1 << 20, program.bytes, program.used);
	o = explode(&b, "remembered", 20);
	CHECK(o.error == 0 && o.rows == 3, "remembered: %d, %zu rows", o.error, o.rows);

	program.used = 0;
	put(&program, "\x0f\x82\x80\x40\x77\x08", 6); /* 1 MiB of plus_uconst 0 */
	memset(zeros, 0x23, sizeof(zeros));
	for (size_t i = 1; i < sizeof(zeros); i += 2)
		zeros[i] = 0;
	put(&program, zeros, sizeof(zeros));
	b.text = 1 << 22;
	put_cie(&b, NULL, 0);
	put_fde(&b, TEXT_ADDRESS, 1 << 20, program.bytes, program.used);
	o = explode(&b, "an endless expression", 20);
	CHECK(o.error == 0 && o.rows == 2, "expression: %d, %zu rows", o.error, o.rows);

	memset(zeros, 0x80, sizeof(zeros));
	b.text = 1 << 22;
	put_cie(&b, NULL, 0);
	put_fde(&b, TEXT_ADDRESS, 1 << 20, "\x0e", 1);
	put_fde(&b, TEXT_ADDRESS + (1 << 20), 16, zeros, sizeof(zeros));
	o = explode(&b, "numbers without end", 20);
	CHECK(o.error == 0, "numbers: %d", o.error);
	free(program.bytes);
}

/* A section that is none: its sentence is the result's. */
static void explode_garbage(void)
{
	struct bomb b = {.text = 4096};
	struct outcome o;

	put_u32(&b, 0x7fffffff);
	put_u32(&b, 0);
	o = explode(&b, "garbage", 5);
	CHECK(o.error == -SP_E_DAMAGED && strstr(o.text, ".eh_frame is damaged"), "garbage: %d, %s",
	      o.error, o.text);
}

/* More rows than are taken from one file. */
static void explode_rows(void)
{
	struct bomb b = {.text = 64 << 20}, program = {0};
	struct outcome o;

	for (uint32_t i = 0; i < SP_UNWIND_LIMIT_ROWS / 2 + 4; i++)
		put(&program, "\x41\x0e\x10\x41\x0e\x08", 6);
	put_cie(&b, NULL, 0);
	put_fde(&b, TEXT_ADDRESS, 32 << 20, program.bytes, program.used);
	o = explode(&b, "rows", 60);
	CHECK(o.error == -SP_E_COUNT && strstr(o.text, "rows"), "rows: %d, %s", o.error, o.text);
	free(program.bytes);
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
		outcome = make(in.file.fd, in.file.path, 0);
		CHECK(outcome.error == 0 && outcome.rows > 10 && !outcome.text[0],
		      "%s: not a whole file to begin with: %d %s", in.file.path, outcome.error,
		      outcome.text);
		flip_bits(&in, rounds);
		truncate_everywhere(&in, false, rounds / 8 + 1);
		truncate_everywhere(&in, true, rounds / 8 + 1);
		damage_free(&in.file);
	}
	explode_entries();
	explode_programs();
	explode_garbage();
	explode_rows();
	return check_done();
}
