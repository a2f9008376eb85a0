// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_window.c - a column of numbers that is read piece by piece.
 *
 * Invariant: values[0 … n − 1] are those of the column from number at on.
 */
#include "formats/h5_window.h"

#include <stdlib.h>
#include <string.h>

#include "formats/h5_read.h"

enum { HELD = 1 << 14 }; /* values */

void sp_h5_window_init(struct sp_h5_window *window)
{
	*window = (struct sp_h5_window){.dataset = -1};
}

int sp_h5_window_open(struct sp_h5_window *window, hid_t file, const char *path,
		      enum sp_h5_type type, bool required, uint64_t length, struct sp_error *error)
{
	hid_t dataset;
	uint64_t found;
	char *copy;
	int r = sp_h5_open_numbers(file, path, required, length, &dataset, &found, error);

	if (r || dataset < 0)
		return r;
	/* An optional column as long as the others may be all fill value, and stored in no byte. */
	r = required ? sp_h5_check_size(dataset, path, found, error) : 0;
	copy = strdup(path);
	if (!r && !copy)
		r = sp_error_set(error, -ENOMEM, 0, "no memory");
	if (r) {
		free(copy);
		sp_h5_close(&dataset);
		return r;
	}
	window->dataset = dataset;
	window->path = copy;
	window->type = type;
	window->length = found;
	window->at = window->n = window->next = 0;
	return 0;
}

/* Holds as many values from @at on as there are, up to the size of the window. */
static int fill(struct sp_h5_window *window, uint64_t at, struct sp_error *error)
{
	uint64_t left = window->length - at;
	size_t n = left < HELD ? (size_t)left : HELD;
	int r;

	window->n = 0;
	if (!window->values) {
		window->values = malloc(HELD * sizeof(uint64_t));
		if (!window->values)
			return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	r = sp_h5_read_slab(window->dataset, window->path, sp_h5_memory_type(window->type), at, n,
			    window->values, error);
	if (r)
		return r;
	window->at = at;
	window->n = n;
	return 0;
}

int sp_h5_window_read(struct sp_h5_window *window, uint64_t at, size_t n, void *ret_values,
		      struct sp_error *error)
{
	size_t size = sp_h5_type_size(window->type);
	bool forward = at == window->next;
	char *to = ret_values;

	if (at > window->length || n > window->length - at)
		return sp_error_set(error, -EINVAL, 0, "%s does not have so many values",
				    window->path);
	window->next = at + n;
	if (at >= window->at && at - window->at < window->n) {
		size_t skipped = (size_t)(at - window->at);
		size_t some = n < window->n - skipped ? n : window->n - skipped;

		memcpy(to, window->values + skipped * size, some * size);
		to += some * size;
		at += some;
		n -= some;
		forward = true;
	}
	/* If what comes after it cannot be read, this still may be. */
	if (n && n < HELD && forward && !fill(window, at, error)) {
		memcpy(to, window->values, n * size);
		return 0;
	}
	return sp_h5_read_slab(window->dataset, window->path, sp_h5_memory_type(window->type), at,
			       n, to, error);
}

void sp_h5_window_close(struct sp_h5_window *window)
{
	sp_h5_close(&window->dataset);
	free(window->path);
	free(window->values);
	sp_h5_window_init(window);
}
