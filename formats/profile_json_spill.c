// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_json_spill.c - bytes put aside for later: in memory first, then in a temporary file.
 *
 * Invariant: memory is one buffer, whatever is appended.
 */
#include <string.h>
#include <unistd.h>

#include "formats/profile_json.h"
#include "formats/util.h"

enum { SMALLEST = 1 << 12, BUFFER = 1 << 20 };

void sp_json_spill_free(struct sp_json_spill *spill)
{
	if (spill->fd >= 0)
		close(spill->fd);
	free(spill->buffer);
	*spill = (struct sp_json_spill){.fd = -1};
}

/* Makes room: a larger buffer at first, then an empty one. */
static int make_room(struct sp_json_spill *spill, struct sp_error *error)
{
	int r;

	if (spill->capacity < BUFFER) {
		size_t grown = spill->capacity ? 2 * spill->capacity : SMALLEST;
		char *moved = realloc(spill->buffer, grown);

		if (!moved)
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		spill->buffer = moved;
		spill->capacity = grown;
		return 0;
	}
	r = spill->fd < 0 ? sp_temporary_open(&spill->fd, error) : 0;
	if (r)
		return r;
	r = sp_pwrite_all(spill->fd, spill->buffer, spill->used, spill->flushed);
	if (r)
		return sp_error_set(error, r, 0,
				    "cannot be unpacked to a temporary file (TMPDIR says where): "
				    "%s",
				    strerror(-r));
	spill->flushed += spill->used;
	spill->used = 0;
	return 0;
}

int sp_json_spill_append(void *data, const char *bytes, size_t size, struct sp_error *error)
{
	struct sp_json_spill *spill = data;

	while (size) {
		size_t some = spill->capacity - spill->used;

		if (!some) {
			int r = make_room(spill, error);

			if (r)
				return r;
			continue;
		}
		some = size < some ? size : some;
		memcpy(spill->buffer + spill->used, bytes, some);
		spill->used += some;
		bytes += some;
		size -= some;
	}
	return 0;
}

int sp_json_spill_read(const struct sp_json_spill *spill, uint64_t offset, void *ret_bytes,
		       size_t size, struct sp_error *error)
{
	char *bytes = ret_bytes;

	if (offset < spill->flushed) {
		uint64_t there = spill->flushed - offset;
		size_t some = size < there ? size : (size_t)there;
		int r = sp_pread_all(spill->fd, bytes, some, offset);

		if (r)
			return sp_error_set(error, r, 0,
					    "cannot be read back from its temporary file: %s",
					    strerror(-r));
		bytes += some;
		offset += some;
		size -= some;
	}
	if (size)
		memcpy(bytes, spill->buffer + (offset - spill->flushed), size);
	return 0;
}
