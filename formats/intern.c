// SPDX-License-Identifier: BSD-2-Clause
/*
 * intern.c - keeps each of many texts once.
 *
 * Invariant: less than half of the slots are used, so a search ends.
 */
#include "formats/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "formats/util.h"

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t hash(const struct sp_intern *intern, const char *text)
{
	size_t size = strlen(text);
	uint64_t h = mix(intern->key, size), word = 0;

	for (; size >= sizeof(word); size -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		h = mix(h, word);
	}
	word = 0;
	memcpy(&word, text, size);
	h = mix(h, word) ^ intern->key >> 7;
	return (h ^ h >> 32) * 0xd6e8feb86659fd93u >> 16;
}

/* The slot of @text, or the empty one where it belongs. */
static size_t find_slot(const struct sp_intern *intern, const char *text)
{
	size_t mask = intern->n_slots - 1, at = (size_t)hash(intern, text) & mask;

	while (intern->slots[at] && strcmp(intern->texts[intern->slots[at] - 1], text) != 0)
		at = (at + 1) & mask;
	return at;
}

static int grow(struct sp_intern *intern)
{
	size_t old = intern->n_slots;
	uint32_t *slots;

	if (old && intern->n < old / 2)
		return 0;
	if (intern->n >= UINT32_MAX / 2)
		return -EOVERFLOW;
	slots = calloc(old ? old * 2 : 64, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	if (!old && getrandom(&intern->key, sizeof(intern->key), GRND_NONBLOCK) < 0)
		intern->key = (uint64_t)clock() ^ (uintptr_t)slots;
	free(intern->slots);
	intern->slots = slots;
	intern->n_slots = old ? old * 2 : 64;
	for (size_t i = 0; i < intern->n; i++)
		slots[find_slot(intern, intern->texts[i])] = (uint32_t)i + 1;
	return 0;
}

int sp_intern_add(struct sp_intern *intern, const char *text, uint32_t *ret_number, bool *ret_new)
{
	size_t at;
	char *copy;
	int r = grow(intern);

	if (r)
		return r;
	at = find_slot(intern, text);
	if (!intern->slots[at]) {
		copy = strdup(text);
		if (!copy || sp_array_reserve((void **)&intern->texts, &intern->capacity, intern->n,
					      sizeof(*intern->texts))) {
			free(copy);
			return -ENOMEM;
		}
		intern->texts[intern->n++] = copy;
		intern->slots[at] = (uint32_t)intern->n;
		*ret_number = (uint32_t)intern->n - 1;
		if (ret_new)
			*ret_new = true;
		return 0;
	}
	*ret_number = intern->slots[at] - 1;
	if (ret_new)
		*ret_new = false;
	return 0;
}

const char *sp_intern_text(const struct sp_intern *intern, uint32_t number)
{
	return intern->texts[number];
}

void sp_intern_free(struct sp_intern *intern)
{
	for (size_t i = 0; i < intern->n; i++)
		free(intern->texts[i]);
	free(intern->texts);
	free(intern->slots);
	*intern = (struct sp_intern){0};
}
