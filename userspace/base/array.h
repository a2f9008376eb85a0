/* SPDX-License-Identifier: BSD-2-Clause
 *
 * array.h - arrays that grow.
 *
 *   struct thing *things; size_t count, room;
 *   struct thing *new = sp_array_add(&things, &count, &room);   NULL without memory; zeroed
 */
#ifndef SP_BASE_ARRAY_H
#define SP_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline void *sp_array_grow(void *array, size_t count, size_t *room, size_t size)
{
	size_t more = *room + *room / 2 + 16;
	void *larger = count < *room ? array : reallocarray(array, more, size);

	if (larger && count >= *room)
		*room = more;
	return larger;
}

#define sp_array_add(array, count, room) \
	({ \
		void *grown_ = sp_array_grow(*(array), *(count), (room), sizeof(**(array))); \
		if (grown_) { \
			*(array) = grown_; \
			memset(&(*(array))[*(count)], 0, sizeof(**(array))); \
			++*(count); \
		} \
		grown_ ? &(*(array))[*(count)-1] : NULL; \
	})

/* The same for texts that others keep. False without memory. */
static inline bool sp_array_add_text(char ***texts, size_t *n, size_t *room, const char *text)
{
	char **added = sp_array_add(texts, n, room);

	if (added)
		*added = (char *)text;
	return added != NULL;
}

#endif
