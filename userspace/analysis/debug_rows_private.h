/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_rows_private.h - what debug_rows.c, which runs line-number programs, and
 * debug_rows_header.c, which reads what stands before them, share.
 */
#ifndef SP_ANALYSIS_DEBUG_ROWS_PRIVATE_H
#define SP_ANALYSIS_DEBUG_ROWS_PRIVATE_H

#include "userspace/analysis/debug_rows.h"

struct sp_rows_file {
	const char *name;
	uint64_t directory;
	const char *path; /* NULL until asked for */
};

struct sp_debug_rows {
	struct sp_pool *paths;
	const char *directory;
	const char **directories;
	size_t n_directories, directories_room;
	struct sp_rows_file *files;
	size_t n_files, files_room;
	uint16_t version;
};

/* A line-number program, and how to read it. */
struct sp_rows_program {
	const struct sp_debug_sections *sections;
	struct sp_bytes bytes;	  /* of the instructions */
	struct sp_bytes prologue; /* of the lists in the header */
	uint16_t version;
	uint8_t address_size, offset_size;
	uint8_t minimum, most, line_range, opcode_base;
	int8_t line_base;
	uint8_t lengths[256]; /* of standard opcodes: their arguments */
};

/* False if there is no program at @offset that can be run. */
bool sp_rows_read_header(const struct sp_debug_sections *sections, uint64_t offset,
			 uint8_t address_size, struct sp_rows_program *program);
/* The directories and files. Fails only without memory. */
int sp_rows_read_lists(struct sp_rows_program *program, struct sp_debug_rows *table);

#endif
