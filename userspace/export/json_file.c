/* SPDX-License-Identifier: BSD-2-Clause
 *
 * json_file.c - see json_file.h.
 *
 * Invariant: the first failure is kept, and nothing is written after it.
 */
#include "userspace/export/json_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { TEXT = 1 << 17, PACKED = 1 << 17 };

struct sp_json_file {
	struct sp_output *output;
	FILE *stream;
	uint64_t offset;
	bool packing;
	z_stream zlib;
	unsigned char *packed;
	struct sp_error error;
};

static int put(struct sp_json_file *file, const void *data, size_t size)
{
	int r = sp_output_write(file->output, file->offset, data, size, &file->error);

	file->offset += r == 0 ? size : 0;
	return r;
}

/* Packs what zlib was given; with Z_FINISH, to the end of the file. */
static int pack(struct sp_json_file *file, int flush)
{
	int state = Z_OK;

	do {
		int r;

		file->zlib.next_out = file->packed;
		file->zlib.avail_out = PACKED;
		state = deflate(&file->zlib, flush);
		if (state == Z_STREAM_ERROR)
			return sp_error_set(&file->error, -EIO, 0, "cannot be packed");
		r = put(file, file->packed, PACKED - file->zlib.avail_out);
		if (r < 0)
			return r;
	} while (flush == Z_FINISH ? state != Z_STREAM_END : !file->zlib.avail_out);
	return 0;
}

static ssize_t write_text(void *data, const char *text, size_t size)
{
	struct sp_json_file *file = data;
	int r = file->error.code;

	if (r == 0 && file->packing) {
		file->zlib.next_in = (unsigned char *)text; /* it only reads */
		file->zlib.avail_in = (unsigned int)size;
		r = pack(file, Z_NO_FLUSH);
	} else if (r == 0) {
		r = put(file, text, size);
	}
	return r < 0 ? 0 : (ssize_t)size;
}

static int start_packing(struct sp_json_file *file, int level)
{
	file->packed = malloc(PACKED);
	/* 16: gzip's header, in which zlib leaves time and name empty. */
	if (!file->packed || deflateInit2(&file->zlib, level, Z_DEFLATED, 16 + MAX_WBITS, 9,
					  Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	file->packing = true;
	return 0;
}

int sp_json_file_open(const char *path, unsigned int output_flags, int gzip,
		      struct sp_json_file **ret_file, struct sp_error *error)
{
	static const cookie_io_functions_t functions = {.write = write_text};
	struct sp_json_file *file = calloc(1, sizeof(*file));
	int r = file ? sp_output_open(path, output_flags, &file->output, error) : -ENOMEM;

	if (r == 0 && gzip)
		r = start_packing(file, gzip);
	if (r == 0) {
		file->stream = fopencookie(file, "w", functions);
		if (!file->stream || setvbuf(file->stream, NULL, _IOFBF, TEXT))
			r = -ENOMEM;
	}
	if (r < 0) {
		sp_json_file_free(file);
		return r == -ENOMEM ? sp_error_set(error, r, 0, "out of memory") : r;
	}
	*ret_file = file;
	return 0;
}

FILE *sp_json_file_stream(struct sp_json_file *file)
{
	return file->stream;
}

int sp_json_file_check(struct sp_json_file *file, struct sp_error *error)
{
	if (!file->error.code && ferror(file->stream))
		sp_error_set(&file->error, -EIO, 0, "cannot be written");
	if (file->error.code && error)
		*error = file->error;
	return file->error.code;
}

int sp_json_file_commit(struct sp_json_file *file, struct sp_error *error)
{
	int r;

	fflush(file->stream);
	r = sp_json_file_check(file, error);
	if (r == 0 && file->packing) {
		file->zlib.avail_in = 0;
		pack(file, Z_FINISH);
		r = sp_json_file_check(file, error);
	}
	return r < 0 ? r : sp_output_commit(file->output, error);
}

void sp_json_file_free(struct sp_json_file *file)
{
	if (!file)
		return;
	/* Closing flushes: let it find no file to write to. */
	if (!file->error.code)
		file->error.code = -ECANCELED;
	if (file->stream)
		fclose(file->stream);
	if (file->packing)
		deflateEnd(&file->zlib);
	free(file->packed);
	sp_output_free(file->output);
	free(file);
}
