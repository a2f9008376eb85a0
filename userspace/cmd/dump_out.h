/* SPDX-License-Identifier: BSD-2-Clause
 *
 * dump_out.h - the shape of a dump: sections of records of named values, as text or as JSON.
 *
 *   if (sp_dump_section(dump, "threads", "thread")) {
 *           for (each thread that sp_dump_record(dump) takes) {
 *                   sp_dump_unsigned(dump, "rank", 0);
 *                   sp_dump_record_end(dump);
 *           }
 *           sp_dump_section_end(dump);
 *   }
 *
 * As text a record is one line, "thread  rank=0 name="main" …": its kind, then KEY=VALUE. Values
 * are padded to the widest of their column so far, so that lines stand straight without being known
 * beforehand. Texts are quoted; quotes, backslashes, and what a terminal would act upon are
 * escaped, so a line is one record whatever stands in the file. As JSON a dump is one object with
 * an array for each section, and each record an object on a line of its own. Integers are exact in
 * both. What a file leaves open is "-", in JSON null. Nothing is kept in memory but the record that
 * is written.
 */
#ifndef SP_CMD_DUMP_OUT_H
#define SP_CMD_DUMP_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "userspace/base/json.h"

#define SP_DUMP_COLUMNS 40

/* Columns of the terminal that the values of a kind of record take. Zero it to begin. */
struct sp_dump_widths {
	uint8_t columns[SP_DUMP_COLUMNS];
};

struct sp_dump {
	FILE *out;
	bool as_json;
	uint64_t limit;	      /* records of a section, UINT64_MAX all */
	const char *sections; /* names with commas, NULL all */
	/* its own */
	struct sp_json json;
	const char *section, *kind;
	uint64_t records; /* of the section, the left out ones included */
	struct sp_dump_widths own, *widths;
	unsigned column, pad, list; /* list: elements so far, plus one; 0: not in a list */
	struct {
		const char *section;
		uint64_t records;
	} left_out[32];
	size_t n_left_out;
};

void sp_dump_begin(struct sp_dump *dump);
void sp_dump_end(struct sp_dump *dump);

/* Whether a section is wanted. */
bool sp_dump_wants(const struct sp_dump *dump, const char *section);
/* False if the section is not wanted; then nothing else is to be called for it. Both strings must
 * live until sp_dump_end(). */
bool sp_dump_section(struct sp_dump *dump, const char *section, const char *kind);
void sp_dump_section_end(struct sp_dump *dump);

/* False, and nothing else is to be called for the record, if it is beyond the limit. */
bool sp_dump_record(struct sp_dump *dump);
/* Of another kind than the section's, with widths of its own. */
bool sp_dump_record_as(struct sp_dump *dump, const char *kind, struct sp_dump_widths *widths);
void sp_dump_record_end(struct sp_dump *dump);
/* Counts records beyond the limit that were not even read. */
void sp_dump_skip(struct sp_dump *dump, uint64_t records);
/* How many of @records that come next are within the limit. */
uint64_t sp_dump_room(const struct sp_dump *dump, uint64_t records);

/* Values of a record, or with the key NULL of the list that is open. */
void sp_dump_unsigned(struct sp_dump *dump, const char *key, uint64_t value);
void sp_dump_signed(struct sp_dump *dump, const char *key, int64_t value);
void sp_dump_address(struct sp_dump *dump, const char *key, uint64_t value); /* text: 0x… */
void sp_dump_real(struct sp_dump *dump, const char *key, double value);
void sp_dump_bool(struct sp_dump *dump, const char *key, bool value);
void sp_dump_text(struct sp_dump *dump, const char *key, const char *value); /* NULL: left open */
void sp_dump_bytes(struct sp_dump *dump, const char *key, const char *value, size_t size);
void sp_dump_json(struct sp_dump *dump, const char *key, const char *value); /* is JSON already */
void sp_dump_none(struct sp_dump *dump, const char *key);
void sp_dump_list(struct sp_dump *dump, const char *key);
void sp_dump_list_end(struct sp_dump *dump);

/* A text as sp_dump_text() shows it, for those that show it often; to free(), NULL without memory.
 */
char *sp_dump_quote(const struct sp_dump *dump, const char *value);
void sp_dump_quoted(struct sp_dump *dump, const char *key, const char *quoted);

#endif
