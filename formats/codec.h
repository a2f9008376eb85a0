/* SPDX-License-Identifier: BSD-2-Clause
 *
 * codec.h - events: their schema, their checks, and their packed form in a journal.
 *
 * Packed, an event is a varint id, then flags, lane and every field as the zigzag varint of its
 * difference to the same field of the event before it of the same type in the same block, then for
 * events with a tail its length and its bytes. Blocks stand alone: the differences start from 0 in each.
 * A call packs into about 16 bytes instead of 64.
 */
#ifndef SP_FORMATS_CODEC_H
#define SP_FORMATS_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "formats/api.h"
#include "formats/error.h"
#include "formats/wire.h"

SP_API_BEGIN

enum sp_field_type { SP_T_u16, SP_T_u32, SP_T_u64, SP_T_s32, SP_T_s64 };
enum sp_tail { SP_TAIL_NONE, SP_TAIL_TEXT, SP_TAIL_ADDRS };

#define SP_MAX_FIELDS 16

struct sp_field_desc {
	const char *name;
	const char *doc;
	uint16_t offset; /* in the struct */
	uint8_t type;	 /* enum sp_field_type */
};

struct sp_event_desc {
	const char *name;
	const char *doc;
	uint16_t type;	/* SP_EV_* */
	uint16_t bytes; /* of the struct, without tail */
	uint8_t tail;	/* enum sp_tail */
	uint8_t field_count;
	struct sp_field_desc fields[SP_MAX_FIELDS];
};

/* Description of an event type, NULL if this version does not know it. */
const struct sp_event_desc *sp_event_find(unsigned type);
/* All of them in order of id; ends with NULL at @index out of range. */
const struct sp_event_desc *sp_event_at(size_t index);
const char *sp_field_type_name(enum sp_field_type type);
/* Value of a field, widened; signed types are sign-extended. */
uint64_t sp_field_get(const struct sp_field_desc *field, const struct sp_head *event);

/* Name of a cause, as it is stored and shown ("call ring full"), never NULL. */
const char *sp_loss_name(unsigned cause);
/* What the cause means and what helps, one sentence, never NULL. */
const char *sp_loss_help(unsigned cause);

/* What a cause makes missing. */
enum sp_loss_of {
	SP_LOSS_OF_FACTS = 0, /* names, mappings, stacks: calls and samples are there */
	SP_LOSS_OF_CALLS = 1,
	SP_LOSS_OF_SAMPLES = 2,
};
enum sp_loss_of sp_loss_of(unsigned cause);
/* The cause of that name, SP_LOSS_NONE if this version does not know it. */
unsigned sp_loss_find(const char *name);
/* Whether a report that lacks such events is incomplete: not without a stack that is found in another
 * way, nor without an end that no begin belongs to. */
bool sp_loss_is_gap(unsigned cause);

/* The tail of a checked event, and its length. */
const void *sp_event_tail(const struct sp_head *event, size_t *ret_bytes);

/* Checks a record that came over a ring or from a helper: a type that we know, a struct that fits, a
 * tail that fits. 0 or -EBADMSG. */
int sp_event_check(const void *record, size_t bytes);

/* Differences of one block. Zero it at the start of each. */
struct sp_codec_state {
	uint64_t last[SP_EV_MAX][SP_MAX_FIELDS + 2];
};

/* Most bytes that packing the record can take. */
size_t sp_codec_bound(const struct sp_head *event);
/* Packs a checked record to @out, which has sp_codec_bound() bytes of room. Returns the length. */
size_t sp_codec_encode(struct sp_codec_state *state, const struct sp_head *event, uint8_t *out);

/* How the fields of a recording's schema map to ours; made from the text in the journal. */
struct sp_schema;
/* The schema text of this version: lines "event ID NAME TAIL" and "field TYPE NAME", for the journal.
 * Free it. NULL if out of memory. */
char *sp_schema_text(void);
int sp_schema_parse(const char *text, size_t bytes, struct sp_schema **ret_schema, struct sp_error *err);
void sp_schema_free(struct sp_schema *schema);

/* What the text said of an event (by its id) and of its fields, whether this version knows them or
 * not. */
const char *sp_schema_event(const struct sp_schema *schema, unsigned id); /* its name; NULL: none */
enum sp_tail sp_schema_tail(const struct sp_schema *schema, unsigned id);
unsigned sp_schema_field_count(const struct sp_schema *schema, unsigned id);
const char *sp_schema_field(const struct sp_schema *schema, unsigned id, unsigned index);
bool sp_schema_field_is_signed(const struct sp_schema *schema, unsigned id, unsigned index);

/* An unpacked event: the struct in `head` (with tail_bytes set), the tail beside it. */
struct sp_event {
	const struct sp_head *head; /* valid until the next decode; cast it by head->type */
	unsigned id;		    /* in the recording's schema */
	const uint8_t *tail;	    /* into the packed block */
	size_t tail_bytes;
	uint64_t storage[(sizeof(struct sp_head) + 8 * (SP_MAX_FIELDS + 1)) / 8];
};

/* Unpacks one event from @in. Sets @ret_used. Events and fields that we do not know are passed over
 * (head->type is SP_EV_NONE for such an event). -EBADMSG where the bytes cannot be an event. */
int sp_codec_decode(const struct sp_schema *schema, struct sp_codec_state *state, const uint8_t *in,
		    size_t bytes, struct sp_event *event, size_t *ret_used);

/* The @index-th NUL-separated string of a text tail, "" where there are fewer. Copied to @out, always
 * terminated; cut to its room. Returns @out. */
const char *sp_event_string(const struct sp_event *event, unsigned index, char *out, size_t room);

/* FNV-1a, 64 bits, never 0: the identity of a region's name. The same as in usdt/sp_region.h.
 * Source: http://www.isthe.com/chongo/tech/comp/fnv/ */
uint64_t sp_name_hash(const char *name, size_t bytes);

SP_API_END

#endif
