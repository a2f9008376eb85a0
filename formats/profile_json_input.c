// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_json_input.c - the text of a JSON profile, out of a plain file or of a gzip one.
 *
 * Invariant: not a byte of the file is left unread or unchecked when the end is told.
 */
#include <string.h>
#include <unistd.h>

#include "formats/profile_json.h"
#include "formats/util.h"

enum {
	PACKED = 1 << 16,
	/* What is packed tighter than any profile is there to keep its reader busy: refused once it
	 * has grown large. (Columns of zeros are packed 1,000 to 1, but start times are not.) */
	TIGHTEST = 500,
	LARGE = 1 << 28,
};

static int read_some(struct sp_json_input *input, void *buffer, size_t size, size_t *ret_got,
		     struct sp_error *error)
{
	uint64_t left = input->size - input->at;
	size_t some = left < size ? (size_t)left : size;
	int r = sp_pread_all(input->fd, buffer, some, input->at);

	if (r)
		return sp_error_set(error, r, input->at, "cannot be read: %s",
				    r == -SP_E_TRUNCATED ? "it became shorter meanwhile"
							 : strerror(-r));
	input->at += some;
	*ret_got = some;
	return 0;
}

int sp_json_input_open(struct sp_json_input *input, const char *path, struct sp_error *error)
{
	unsigned char magic[2];
	int r;

	*input = (struct sp_json_input){.fd = -1};
	r = sp_open_regular(path, &input->fd, &input->size, error);
	if (r)
		return r;
	input->gzip = input->size >= sizeof(magic) &&
		      !sp_pread_all(input->fd, magic, sizeof(magic), 0) && magic[0] == 0x1f &&
		      magic[1] == 0x8b;
	if (!input->gzip)
		return 0;
	input->packed = malloc(PACKED);
	/* 16: gzip's header and check sum, and no other's. */
	if (!input->packed || inflateInit2(&input->stream, 16 + MAX_WBITS) != Z_OK)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	input->stream_open = true;
	return 0;
}

void sp_json_input_close(struct sp_json_input *input)
{
	if (input->stream_open)
		inflateEnd(&input->stream);
	free(input->packed);
	if (input->fd >= 0)
		close(input->fd);
	*input = (struct sp_json_input){.fd = -1};
}

/* How far into the file the packed bytes were used. */
static uint64_t packed_place(const struct sp_json_input *input)
{
	return input->at - input->stream.avail_in;
}

/* Between two members. *ret_end: there is no other. */
static int next_member(struct sp_json_input *input, bool *ret_end, struct sp_error *error)
{
	*ret_end = !input->stream.avail_in;
	if (*ret_end)
		return 0;
	if (input->stream.next_in[0] != 0x1f)
		return sp_error_set(error, -SP_E_TRAILING, packed_place(input),
				    "has bytes after the end of its gzip data");
	if (inflateReset(&input->stream) != Z_OK)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	input->between = false;
	return 0;
}

static int unpack(struct sp_json_input *input, char *buffer, size_t size, size_t *ret_got,
		  struct sp_error *error)
{
	z_stream *stream = &input->stream;

	stream->next_out = (unsigned char *)buffer;
	stream->avail_out = (unsigned int)size;
	while (stream->avail_out == size) {
		bool end = false;
		size_t got = 0;
		int r = 0;

		if (!stream->avail_in) {
			r = read_some(input, input->packed, PACKED, &got, error);
			stream->next_in = input->packed;
			stream->avail_in = (unsigned int)got;
		}
		if (!r && input->between)
			r = next_member(input, &end, error);
		if (r)
			return r;
		if (end)
			break;
		if (!stream->avail_in)
			return sp_error_set(error, -SP_E_TRUNCATED, input->at,
					    "ends in the middle of its gzip data: it is truncated");
		switch (inflate(stream, Z_NO_FLUSH)) {
		case Z_OK:
		case Z_BUF_ERROR:
			break;
		case Z_STREAM_END:
			input->between = true;
			break;
		case Z_MEM_ERROR:
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		default:
			return sp_error_set(error, -SP_E_DAMAGED, packed_place(input),
					    "has damaged gzip data: %s",
					    stream->msg ? stream->msg : "it needs a dictionary");
		}
	}
	*ret_got = size - stream->avail_out;
	input->unpacked += *ret_got;
	if (input->unpacked > LARGE && input->unpacked / TIGHTEST > packed_place(input))
		return sp_error_set(error, -SP_E_COUNT, packed_place(input),
				    "has gzip data that unpack to more than %d times their size, "
				    "which no profile does",
				    TIGHTEST);
	return 0;
}

int sp_json_input_refill(void *data, char *buffer, size_t size, size_t *ret_got,
			 struct sp_error *error)
{
	struct sp_json_input *input = data;

	if (input->gzip)
		return unpack(input, buffer, size, ret_got, error);
	return read_some(input, buffer, size, ret_got, error);
}
