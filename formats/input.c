// SPDX-License-Identifier: BSD-2-Clause
/*
 * input.c - bounded, buffered reading; see input.h for the invariant.
 */
#include "formats/input.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "formats/utf8.h"
#include "formats/util.h"

enum { AFTER_SKIP = 512 };

int sp_input_open(struct sp_input *input, const char *path, struct sp_error *error)
{
	input->at = input->buffer_at = 0;
	input->buffer_used = 0;
	input->big = false;
	input->fd = -1;
	return sp_open_regular(path, &input->fd, &input->size, error);
}

void sp_input_close(struct sp_input *input)
{
	if (input->fd >= 0)
		close(input->fd);
	input->fd = -1;
}

static int truncated(struct sp_input *input, const char *what, struct sp_error *error)
{
	return sp_error_set(error, -SP_E_TRUNCATED, input->at,
			    "ends inside %s: the file is truncated", what);
}

static int read_failed(int r, uint64_t offset, struct sp_error *error)
{
	if (r == -SP_E_TRUNCATED)
		return sp_error_set(error, r, offset, "became shorter while it was read");
	return sp_error_set(error, r, offset, "cannot be read: %s", strerror(-r));
}

static int take_bytes(struct sp_input *input, void *ret_data, size_t size, const char *what,
		      struct sp_error *error)
{
	unsigned char *to = ret_data;
	int r;

	if (size > sp_input_left(input))
		return truncated(input, what, error);
	while (size) {
		uint64_t inside = input->at - input->buffer_at;
		size_t some;

		if (input->at < input->buffer_at || inside >= input->buffer_used) {
			uint64_t left = sp_input_left(input);

			/* After a skip a little is enough to find where the next one leads. */
			some = input->at == input->buffer_at + input->buffer_used
				       ? sizeof(input->buffer)
				       : AFTER_SKIP;
			some = left < some ? (size_t)left : some;
			input->buffer_used = 0;
			r = sp_pread_all(input->fd, input->buffer, some, input->at);
			if (r)
				return read_failed(r, input->at, error);
			input->buffer_at = input->at;
			input->buffer_used = some;
			inside = 0;
		}
		some = input->buffer_used - (size_t)inside;
		if (some > size)
			some = size;
		memcpy(to, input->buffer + inside, some);
		to += some;
		size -= some;
		input->at += some;
	}
	return 0;
}

int sp_input_s32(struct sp_input *input, int32_t *ret_value, const char *what,
		 struct sp_error *error)
{
	uint32_t raw;
	int r = take_bytes(input, &raw, sizeof(raw), what, error);

	if (!r)
		*ret_value = (int32_t)(input->big ? be32toh(raw) : le32toh(raw));
	return r;
}

int sp_input_s64(struct sp_input *input, int64_t *ret_value, const char *what,
		 struct sp_error *error)
{
	uint64_t raw;
	int r = take_bytes(input, &raw, sizeof(raw), what, error);

	if (!r)
		*ret_value = (int64_t)(input->big ? be64toh(raw) : le64toh(raw));
	return r;
}

int sp_input_text(struct sp_input *input, uint32_t max, char **ret_text, const char *what,
		  struct sp_error *error)
{
	sp_cleanup_free char *text = NULL;
	uint64_t start = input->at;
	int32_t size;
	int r;

	r = sp_input_s32(input, &size, what, error);
	if (r)
		return r;
	if (size < 0)
		return sp_error_set(error, -SP_E_COUNT, start, "%s has the length %" PRId32, what,
				    size);
	if ((uint32_t)size > sp_input_left(input))
		return truncated(input, what, error);
	if ((uint32_t)size > max)
		return sp_error_set(error, -SP_E_COUNT, start,
				    "%s has %" PRId32 " bytes, more than the %" PRIu32 " allowed",
				    what, size, max);
	text = malloc((size_t)size + 1);
	if (!text)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	r = take_bytes(input, text, (size_t)size, what, error);
	if (r)
		return r;
	text[size] = '\0';
	if (memchr(text, '\0', (size_t)size))
		return sp_error_set(error, -SP_E_UTF8, start + 4, "%s has a NUL byte inside", what);
	if (!sp_utf8_valid(text, (size_t)size))
		return sp_error_set(error, -SP_E_UTF8, start + 4, "%s is not valid UTF-8", what);
	*ret_text = text;
	text = NULL;
	return 0;
}

int sp_input_skip(struct sp_input *input, uint64_t size, const char *what, struct sp_error *error)
{
	if (size > sp_input_left(input))
		return truncated(input, what, error);
	input->at += size;
	return 0;
}

int sp_input_magic(struct sp_input *input, const char *magic, const char *kind, int32_t newest,
		   int32_t *ret_version, struct sp_error *error)
{
	char found[8];
	int32_t version, swapped;
	int r;

	if (sp_input_left(input) < sizeof(found))
		return sp_error_set(error, -SP_E_FORMAT, 0, "is too short to be %s", kind);
	r = take_bytes(input, found, sizeof(found), "the magic", error);
	if (r)
		return r;
	if (memcmp(found, magic, sizeof(found)))
		return sp_error_set(error, -SP_E_FORMAT, 0, "is not %s: it does not begin with %s",
				    kind, magic);
	input->big = false;
	r = sp_input_s32(input, &version, "the version", error);
	if (r)
		return r;
	swapped = (int32_t)__builtin_bswap32((uint32_t)version);
	if (version < 1 || version > newest) {
		if (swapped < 1 || swapped > newest)
			return sp_error_set(
				error, -SP_E_VERSION, 8,
				"has the unknown version %" PRId32 "; versions up to %" PRId32
				" are known",
				(uint32_t)swapped < (uint32_t)version ? swapped : version, newest);
		input->big = true;
		version = swapped;
	}
	*ret_version = version;
	return 0;
}

int sp_input_array_64(struct sp_input *input, uint64_t offset, size_t n, void *ret_values,
		      struct sp_error *error)
{
	bool native_big = htobe32(1) == 1;
	int r = sp_pread_all(input->fd, ret_values, 8 * n, offset);

	if (r)
		return read_failed(r, offset, error);
	if (input->big != native_big)
		sp_swap_64(ret_values, n);
	return 0;
}
