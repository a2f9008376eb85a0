/* SPDX-License-Identifier: BSD-2-Clause
 *
 * intern.h - keeps each of many texts once, and numbers them. Not installed.
 *
 * Names and paths of a profile repeat on every rank; here they cost their bytes once. A text's
 * address does not change before sp_intern_free(). The hash has a random key, so that a file cannot
 * be made to collide.
 */
#ifndef SP_FORMATS_INTERN_H
#define SP_FORMATS_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is empty. Texts are numbered from 0 in the order they came. */
struct sp_intern {
	char **texts;
	size_t n, capacity;
	uint32_t *slots; /* number + 1 of the text, 0 empty */
	size_t n_slots;	 /* a power of two */
	uint64_t key;
};

/* Finds @text or adds a copy of it. *ret_new (may be NULL) says which. -ENOMEM; -EOVERFLOW if there
 * are 2^31 texts already. */
int sp_intern_add(struct sp_intern *intern, const char *text, uint32_t *ret_number, bool *ret_new);
/* The text with this number. */
const char *sp_intern_text(const struct sp_intern *intern, uint32_t number);
void sp_intern_free(struct sp_intern *intern);

#endif
