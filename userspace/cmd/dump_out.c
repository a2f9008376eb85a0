/* SPDX-License-Identifier: BSD-2-Clause
 *
 * dump_out.c - see dump_out.h.
 *
 * Invariant: between sp_dump_record() and sp_dump_record_end() nothing ends the line of a text.
 */
#include "userspace/cmd/dump_out.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"

#define WIDEST 40 /* columns to which a value is padded at most */

void sp_dump_begin(struct sp_dump *dump)
{
	dump->json = (struct sp_json){.out = dump->out};
	if (dump->as_json)
		sp_json_open_object(&dump->json, NULL);
}

void sp_dump_end(struct sp_dump *dump)
{
	if (!dump->as_json)
		return;
	if (dump->n_left_out) {
		sp_json_open_object(&dump->json, "left_out");
		for (size_t i = 0; i < dump->n_left_out; i++)
			sp_json_unsigned(&dump->json, dump->left_out[i].section,
					 dump->left_out[i].records);
		sp_json_close_object(&dump->json);
	}
	sp_json_close_object(&dump->json);
	sp_json_end(&dump->json);
}

bool sp_dump_wants(const struct sp_dump *dump, const char *section)
{
	return !dump->sections || sp_cli_list_has(dump->sections, section);
}

bool sp_dump_section(struct sp_dump *dump, const char *section, const char *kind)
{
	if (!sp_dump_wants(dump, section))
		return false;
	dump->section = section;
	dump->kind = kind;
	dump->records = 0;
	dump->own = (struct sp_dump_widths){{0}};
	if (dump->as_json)
		sp_json_open_array(&dump->json, section);
	return true;
}

void sp_dump_section_end(struct sp_dump *dump)
{
	uint64_t left = dump->records > dump->limit ? dump->records - dump->limit : 0;

	if (dump->as_json)
		sp_json_close_array(&dump->json);
	if (!left)
		return;
	if (!dump->as_json)
		fprintf(dump->out, "# %s: %s more, left out by --limit\n", dump->section,
			sp_show_count(left).text);
	if (dump->n_left_out < sp_array_size(dump->left_out)) {
		dump->left_out[dump->n_left_out].section = dump->section;
		dump->left_out[dump->n_left_out++].records = left;
	}
}

uint64_t sp_dump_room(const struct sp_dump *dump, uint64_t records)
{
	uint64_t room = dump->records < dump->limit ? dump->limit - dump->records : 0;

	return records < room ? records : room;
}

void sp_dump_skip(struct sp_dump *dump, uint64_t records)
{
	dump->records += records;
}

bool sp_dump_record_as(struct sp_dump *dump, const char *kind, struct sp_dump_widths *widths)
{
	if (dump->records++ >= dump->limit)
		return false;
	dump->widths = widths;
	dump->column = dump->pad = 0;
	if (dump->as_json) {
		sp_json_open_object(&dump->json, NULL);
		dump->json.compact = true;
	} else {
		fputs_unlocked(kind, dump->out);
	}
	return true;
}

bool sp_dump_record(struct sp_dump *dump)
{
	return sp_dump_record_as(dump, dump->kind, &dump->own);
}

void sp_dump_record_end(struct sp_dump *dump)
{
	if (dump->as_json) {
		sp_json_close_object(&dump->json);
		dump->json.compact = false;
	} else {
		putc_unlocked('\n', dump->out);
	}
}

/* ---- text ---- */

static void spaces(struct sp_dump *dump, unsigned n)
{
	while (n--)
		putc_unlocked(' ', dump->out);
}

/* What stands before a value. */
static void begin(struct sp_dump *dump, const char *key)
{
	if (dump->list) {
		if (dump->list++ > 1)
			putc_unlocked(' ', dump->out);
		return;
	}
	spaces(dump, dump->pad + (dump->column ? 1 : 2));
	dump->pad = 0;
	fputs_unlocked(key, dump->out);
	putc_unlocked('=', dump->out);
}

/* A value was written that takes @width columns. */
static void finish(struct sp_dump *dump, size_t width)
{
	uint8_t *widest;

	if (dump->list)
		return;
	if (dump->column == SP_DUMP_COLUMNS) {
		return; /* the rest is not padded */
	}
	widest = &dump->widths->columns[dump->column++];
	if (width > *widest && width <= WIDEST)
		*widest = (uint8_t)width;
	dump->pad = width < *widest ? *widest - (unsigned)width : 0;
}

static void put(struct sp_dump *dump, const char *key, const char *value, size_t size)
{
	begin(dump, key);
	fwrite_unlocked(value, 1, size, dump->out);
	finish(dump, size);
}

/* Escapes what would end or forge a value, then what a terminal acts upon. */
static char *quote(const char *value)
{
	size_t n = strlen(value), at = 0;
	sp_cleanup(sp_freep) char *marked = malloc(2 * n + 3);

	if (!marked)
		return NULL;
	marked[at++] = '"';
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			marked[at++] = '\\';
		marked[at++] = *value;
	}
	marked[at++] = '"';
	marked[at] = 0;
	return sp_text_escape(marked);
}

static void put_quoted(struct sp_dump *dump, const char *key, const char *quoted)
{
	begin(dump, key);
	fputs_unlocked(quoted, dump->out);
	finish(dump, dump->list ? 0 : sp_text_width(quoted));
}

/* ---- values ---- */

void sp_dump_unsigned(struct sp_dump *dump, const char *key, uint64_t value)
{
	char digits[24], *at = digits + sizeof(digits);

	if (dump->as_json) {
		sp_json_unsigned(&dump->json, key, value);
		return;
	}
	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	put(dump, key, at, (size_t)(digits + sizeof(digits) - at));
}

void sp_dump_signed(struct sp_dump *dump, const char *key, int64_t value)
{
	char text[24];

	if (dump->as_json)
		sp_json_signed(&dump->json, key, value);
	else if (value >= 0)
		sp_dump_unsigned(dump, key, (uint64_t)value);
	else
		put(dump, key, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, value));
}

void sp_dump_address(struct sp_dump *dump, const char *key, uint64_t value)
{
	char text[24];

	if (dump->as_json)
		sp_json_unsigned(&dump->json, key, value);
	else
		put(dump, key, text, (size_t)snprintf(text, sizeof(text), "0x%" PRIx64, value));
}

void sp_dump_real(struct sp_dump *dump, const char *key, double value)
{
	char text[40];

	if (dump->as_json)
		sp_json_real(&dump->json, key, value);
	else
		put(dump, key, text, (size_t)snprintf(text, sizeof(text), "%.17g", value));
}

void sp_dump_bool(struct sp_dump *dump, const char *key, bool value)
{
	if (dump->as_json)
		sp_json_bool(&dump->json, key, value);
	else
		put(dump, key, value ? "yes" : "no", value ? 3 : 2);
}

void sp_dump_none(struct sp_dump *dump, const char *key)
{
	if (dump->as_json)
		sp_json_null(&dump->json, key);
	else
		put(dump, key, "-", 1);
}

void sp_dump_text(struct sp_dump *dump, const char *key, const char *value)
{
	sp_cleanup(sp_freep) char *quoted = NULL;

	if (!value) {
		sp_dump_none(dump, key);
	} else if (dump->as_json) {
		sp_json_text(&dump->json, key, value);
	} else {
		quoted = quote(value);
		put_quoted(dump, key, quoted ? quoted : "(out of memory)");
	}
}

void sp_dump_bytes(struct sp_dump *dump, const char *key, const char *value, size_t size)
{
	sp_cleanup(sp_freep) char *copy = strndup(value, size);

	sp_dump_text(dump, key, copy ? copy : "(out of memory)");
}

void sp_dump_json(struct sp_dump *dump, const char *key, const char *value)
{
	if (dump->as_json)
		sp_json_raw(&dump->json, key, value);
	else
		sp_dump_text(dump, key, value);
}

char *sp_dump_quote(const struct sp_dump *dump, const char *value)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!dump->as_json)
		return quote(value);
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	sp_json_quote(out, value);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

void sp_dump_quoted(struct sp_dump *dump, const char *key, const char *quoted)
{
	if (dump->as_json)
		sp_json_raw(&dump->json, key, quoted);
	else
		put_quoted(dump, key, quoted);
}

void sp_dump_list(struct sp_dump *dump, const char *key)
{
	if (dump->as_json) {
		sp_json_open_array(&dump->json, key);
		return;
	}
	begin(dump, key);
	putc_unlocked('[', dump->out);
	dump->list = 1;
}

void sp_dump_list_end(struct sp_dump *dump)
{
	if (dump->as_json) {
		sp_json_close_array(&dump->json);
		return;
	}
	putc_unlocked(']', dump->out);
	dump->list = 0;
	finish(dump, 0);
	dump->pad = 0;
}
