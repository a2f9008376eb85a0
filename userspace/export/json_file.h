/* SPDX-License-Identifier: BSD-2-Clause
 *
 * json_file.h - a stream to write text to, which becomes a file, packed with gzip or not.
 *
 * The file appears complete or not at all (formats/output.h). Packed, it depends on the text alone:
 * neither time nor name are in it.
 *
 * Life cycle: open; write to the stream; check it now and then; commit; free.
 */
#ifndef SP_EXPORT_JSON_FILE_H
#define SP_EXPORT_JSON_FILE_H

#include <stdio.h>

#include "formats/output.h"

struct sp_json_file;

/* @gzip: 0 plain, else the level, 1 … 9. @output_flags: SP_OUTPUT_*. */
int sp_json_file_open(const char *path, unsigned int output_flags, int gzip,
		      struct sp_json_file **ret_file, struct sp_error *error);
FILE *sp_json_file_stream(struct sp_json_file *file);
/* What went wrong so far, if anything: writing to the stream does not say. */
int sp_json_file_check(struct sp_json_file *file, struct sp_error *error);
int sp_json_file_commit(struct sp_json_file *file, struct sp_error *error);
/* A file not committed vanishes. NULL is fine. */
void sp_json_file_free(struct sp_json_file *file);

#endif
