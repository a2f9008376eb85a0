/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fake_elf.c - an sp-elf that a hostile file has taken over: does what the file says.
 *
 * The file's first word: FINE (one site), DIE, HANG, DRIP (a byte a second), and lies of every
 * kind.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/codec.h"

static void put(const void *bytes, size_t n)
{
	if (write(1, bytes, n) != (ssize_t)n)
		_exit(4);
}

static void put_event(const void *event, size_t bytes, const char *tail, size_t tail_bytes)
{
	uint32_t length = (uint32_t)(bytes + tail_bytes);

	put(&length, 4);
	put(event, bytes);
	if (tail_bytes)
		put(tail, tail_bytes);
}

static void put_image(uint32_t image, uint32_t sites)
{
	struct sp_ev_image ev = {.head = {.type = SP_EV_image}, .tail_bytes = 5, .image = image};

	ev.sites = sites;
	ev.elf_type = 3;
	ev.device = 0xdead; /* the recorder knows better */
	put_event(&ev, sizeof(ev), "\0beef", 5);
}

static void put_site(uint32_t image, uint32_t number, uint64_t hash, const char *tail, size_t bytes)
{
	struct sp_ev_site ev = {.head = {.type = SP_EV_site}, .tail_bytes = bytes, .hash = hash};

	ev.site = number;
	ev.image = image;
	ev.address = 0x2000;
	put_event(&ev, sizeof(ev), tail, bytes);
}

static const char tail[] = "name\0file.c\0tags\0function";
#define TAIL (sizeof(tail) - 1)

static void lie(const char *word, uint32_t image)
{
	uint64_t hash = sp_name_hash("name", 4);
	struct sp_ev_segment seg = {.head = {.type = SP_EV_segment}, .flags = 1};
	struct sp_ev_probe probe = {.head = {.type = SP_EV_probe}, .kind = 1, .flags = 1};

	seg.image = probe.image = image;
	if (!strcmp(word, "HASH")) {
		put_image(image, 1);
		put_site(image, 1, hash + 1, tail, TAIL);
	} else if (!strcmp(word, "FEWER")) {
		put_image(image, 2);
		put_site(image, 1, hash, tail, TAIL);
	} else if (!strcmp(word, "MORE")) {
		put_image(image, 1);
		put_site(image, 1, hash, tail, TAIL);
		put_site(image, 2, hash, tail, TAIL);
	} else if (!strcmp(word, "OTHER")) {
		put_image(image + 1, 0);
	} else if (!strcmp(word, "STRINGS")) {
		put_image(image, 1);
		put_site(image, 1, hash, "name\0file.c", 11);
	} else if (!strcmp(word, "SEGMENT")) {
		put_image(image, 0);
		seg.file_offset = 1;
		seg.file_size = UINT64_MAX;
		put_event(&seg, sizeof(seg), NULL, 0);
	} else if (!strcmp(word, "PROBE")) {
		put_image(image, 0);
		probe.file_offset = 1 << 20;
		probe.tail_bytes = 9;
		put_event(&probe, sizeof(probe), "sp\0begin\0", 9);
	} else if (!strcmp(word, "TYPE")) {
		struct sp_ev_call call = {.head = {.type = SP_EV_call}};

		put_image(image, 0);
		put_event(&call, sizeof(call), NULL, 0);
	} else if (!strcmp(word, "LENGTH")) {
		uint32_t length = 0xfffffff0;

		put(&length, 4);
		for (int i = 0; i < 1000; i++)
			put(tail, TAIL);
	} else if (!strcmp(word, "TAIL")) {
		struct sp_ev_image ev = {.head = {.type = SP_EV_image}, .tail_bytes = 1 << 20};

		ev.image = image;
		put_event(&ev, sizeof(ev), "\0", 1);
	} else if (!strcmp(word, "META")) {
		struct sp_ev_meta ev = {.head = {.type = SP_EV_meta}, .tail_bytes = 10};

		put_image(image, 0);
		put_event(&ev, sizeof(ev), "note\0\033[31m", 10);
	}
}

int main(int argc, char **argv)
{
	int count = argc == 3 ? atoi(argv[1]) : 0;
	uint32_t first = argc == 3 ? (uint32_t)atoi(argv[2]) : 0, zero = 0;

	for (int i = 0; i < count; i++) {
		char word[16] = "";
		uint32_t image = first + (uint32_t)i;

		if (pread(3 + i, word, sizeof(word) - 1, 0) < 0)
			_exit(1);
		if (!strcmp(word, "DIE")) {
			put_image(image, 5); /* half a file */
			raise(SIGSEGV);
		}
		if (!strcmp(word, "SPIN"))
			for (;;)
				__asm__ volatile("");
		if (!strcmp(word, "HANG"))
			pause();
		if (!strcmp(word, "FINE")) {
			put_image(image, 1);
			put_site(image, 1, sp_name_hash("name", 4), tail, TAIL);
		} else if (strcmp(word, "NOTHING")) {
			lie(word, image);
		}
		put(&zero, 4);
	}
	/* More than it was asked for. */
	if (count && pread(3, &zero, 4, 0) == 4 && !memcmp(&zero, "EXTR", 4))
		put_image(first, 0);
	return 0;
}
