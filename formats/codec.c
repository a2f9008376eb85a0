/* SPDX-License-Identifier: BSD-2-Clause
 *
 * codec.c - tables made from events.def, checks of records, packing and unpacking.
 *
 * Invariant: nothing here reads or writes outside the lengths that it was given, whatever the
 * bytes.
 */
#include "formats/codec_internal.h"

#include <string.h>

/* Every struct is its fields without a hole. */
#define SP_EVENT(id, name, tail, doc) \
	_Static_assert(sizeof(struct sp_ev_##name) == sizeof(struct sp_head) SP_TAIL_SIZE_##tail
#define SP_FIELD(type, name, doc) +sizeof(sp_wire_##type)
#define SP_EVENT_END(name) \
	, "hole in the event " #name);
#define SP_TAIL_SIZE_NONE
#define SP_TAIL_SIZE_TEXT +8
#define SP_TAIL_SIZE_ADDRS +8
#include "formats/events.def"

/* SP_FIELD does not know its event, so offsets are not to be had here: fill_tables() adds up the
 * sizes. */
#define SP_EVENT(id, ev, tail, doc) \
	{ \
#ev, doc, id, sizeof(struct sp_ev_##ev), SP_TAIL_##tail, 0, \
		{
#define SP_FIELD(type, name, doc) {#name, doc, 0, SP_T_##type},
#define SP_EVENT_END(ev) \
	} \
	} \
	,
static struct sp_event_desc events[] = {
#include "formats/events.def"
};
#define EVENT_COUNT (sizeof(events) / sizeof(events[0]))

static const struct sp_event_desc *by_type[SP_EV_MAX];

static const uint8_t type_bytes[] = {
	[SP_T_u16] = 2, [SP_T_u32] = 4, [SP_T_u64] = 8, [SP_T_s32] = 4, [SP_T_s64] = 8};
static const char *const type_names[] = {[SP_T_u16] = "u16",
					 [SP_T_u32] = "u32",
					 [SP_T_u64] = "u64",
					 [SP_T_s32] = "s32",
					 [SP_T_s64] = "s64"};
__attribute__((constructor)) static void fill_tables(void)
{
	for (size_t i = 0; i < EVENT_COUNT; i++) {
		struct sp_event_desc *ev = &events[i];
		uint16_t offset = sizeof(struct sp_head) + (ev->tail == SP_TAIL_NONE ? 0 : 8);

		while (ev->field_count < SP_MAX_FIELDS && ev->fields[ev->field_count].name) {
			ev->fields[ev->field_count].offset = offset;
			offset += type_bytes[ev->fields[ev->field_count].type];
			ev->field_count++;
		}
		by_type[ev->type] = ev;
	}
}

const struct sp_event_desc *sp_event_find(unsigned type)
{
	return type < SP_EV_MAX ? by_type[type] : NULL;
}

const struct sp_event_desc *sp_event_at(size_t index)
{
	return index < EVENT_COUNT ? &events[index] : NULL;
}

const char *sp_field_type_name(enum sp_field_type type)
{
	return type_names[type];
}

static uint64_t load(const void *at, uint8_t type)
{
	union {
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
		int32_t s32;
	} v;

	switch (type) {
	case SP_T_u16:
		memcpy(&v.u16, at, 2);
		return v.u16;
	case SP_T_u32:
		memcpy(&v.u32, at, 4);
		return v.u32;
	case SP_T_s32:
		memcpy(&v.s32, at, 4);
		return (uint64_t)(int64_t)v.s32;
	default:
		memcpy(&v.u64, at, 8);
		return v.u64;
	}
}

/* False where the value is too wide for the type. */
static int store(void *at, uint8_t type, uint64_t value)
{
	uint16_t u16 = (uint16_t)value;
	uint32_t u32 = (uint32_t)value;

	switch (type) {
	case SP_T_u16:
		memcpy(at, &u16, 2);
		return u16 == value;
	case SP_T_u32:
		memcpy(at, &u32, 4);
		return u32 == value;
	case SP_T_s32:
		memcpy(at, &u32, 4);
		return (uint64_t)(int64_t)(int32_t)u32 == value;
	default:
		memcpy(at, &value, 8);
		return 1;
	}
}

uint64_t sp_field_get(const struct sp_field_desc *field, const struct sp_head *event)
{
	return load((const char *)event + field->offset, field->type);
}

const void *sp_event_tail(const struct sp_head *event, size_t *ret_bytes)
{
	const struct sp_event_desc *desc = sp_event_find(event->type);
	uint64_t n = 0;

	if (desc && desc->tail != SP_TAIL_NONE)
		memcpy(&n, event + 1, 8);
	*ret_bytes = n;
	return desc ? (const char *)event + desc->bytes : NULL;
}

int sp_event_check(const void *record, size_t bytes)
{
	const struct sp_event_desc *desc;
	struct sp_head head;
	uint64_t tail = 0;

	if (bytes < sizeof(head))
		return -EBADMSG;
	memcpy(&head, record, sizeof(head));
	desc = sp_event_find(head.type);
	if (!desc || bytes < desc->bytes)
		return -EBADMSG;
	if (desc->tail == SP_TAIL_NONE)
		return 0;
	memcpy(&tail, (const char *)record + sizeof(head), 8);
	if (tail > bytes - desc->bytes || (desc->tail == SP_TAIL_ADDRS && tail % 8))
		return -EBADMSG;
	return 0;
}

static uint8_t *put_varint(uint8_t *out, uint64_t v)
{
	while (v >= 0x80) {
		*out++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*out++ = (uint8_t)v;
	return out;
}

static inline uint8_t *put_delta(uint8_t *out, uint64_t *last, uint64_t v)
{
	uint64_t d = v - *last;

	*last = v;
	return put_varint(out, (d << 1) ^ (0 - (d >> 63)));
}

/* NULL where the bytes end or the number does not fit 64 bits. */
static const uint8_t *get_varint(const uint8_t *in, const uint8_t *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; in < end && shift < 70; shift += 7) {
		uint8_t b = *in++;

		if (shift == 63 && b > 1)
			return NULL;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = v;
			return in;
		}
	}
	return NULL;
}

static const uint8_t *get_delta(const uint8_t *in, const uint8_t *end, uint64_t *last)
{
	uint64_t z = 0;

	in = get_varint(in, end, &z);
	if (in)
		*last += (z >> 1) ^ (0 - (z & 1));
	return in;
}

size_t sp_codec_bound(const struct sp_head *event)
{
	size_t tail = 0;

	sp_event_tail(event, &tail);
	return 10 * (SP_MAX_FIELDS + 4) + tail;
}

size_t sp_codec_encode(struct sp_codec_state *state, const struct sp_head *event, uint8_t *out)
{
	const struct sp_event_desc *desc = by_type[event->type];
	uint64_t *last = state->last[event->type];
	uint8_t *start = out;

	out = put_varint(out, event->type);
	out = put_delta(out, &last[0], event->flags);
	out = put_delta(out, &last[1], event->lane);
	for (unsigned i = 0; i < desc->field_count; i++) {
		const struct sp_field_desc *f = &desc->fields[i];

		out = put_delta(out, &last[2 + i], load((const char *)event + f->offset, f->type));
	}
	if (desc->tail != SP_TAIL_NONE) {
		size_t n;
		const void *tail = sp_event_tail(event, &n);

		out = put_varint(out, n);
		memcpy(out, tail, n);
		out += n;
	}
	return (size_t)(out - start);
}

static const uint8_t *decode_fields(const struct sp_schema_event *se, uint64_t *last,
				    const uint8_t *in, const uint8_t *end, char *out)
{
	for (unsigned i = 0; i < se->count; i++) {
		in = get_delta(in, end, &last[2 + i]);
		if (!in)
			return NULL;
		if (se->map[i] >= 0) {
			const struct sp_field_desc *f = &se->desc->fields[se->map[i]];

			if (!store(out + f->offset, f->type, last[2 + i]))
				return NULL;
		}
	}
	return in;
}

int sp_codec_decode(const struct sp_schema *schema, struct sp_codec_state *state, const uint8_t *in,
		    size_t bytes, struct sp_event *event, size_t *ret_used)
{
	const uint8_t *start = in, *end = in + bytes;
	const struct sp_schema_event *se;
	struct sp_head head = {0};
	uint64_t type, tail = 0, *last;

	in = get_varint(in, end, &type);
	if (!in || type >= SP_EV_MAX || !schema->events[type].present)
		return -EBADMSG;
	se = &schema->events[type];
	last = state->last[type];
	in = get_delta(in, end, &last[0]);
	if (in)
		in = get_delta(in, end, &last[1]);
	if (!in || last[0] > UINT16_MAX || last[1] > UINT32_MAX)
		return -EBADMSG;
	if (se->desc)
		memset(event->storage, 0, se->desc->bytes);
	in = decode_fields(se, last, in, end, (char *)event->storage);
	if (!in)
		return -EBADMSG;
	if (se->tail != SP_TAIL_NONE) {
		in = get_varint(in, end, &tail);
		if (!in || tail > (size_t)(end - in) || (se->tail == SP_TAIL_ADDRS && tail % 8))
			return -EBADMSG;
		if (se->desc)
			memcpy((char *)event->storage + sizeof(head), &tail, 8);
	}
	head.type = se->desc ? se->desc->type : SP_EV_NONE;
	head.flags = (uint16_t)last[0];
	head.lane = (uint32_t)last[1];
	memcpy(event->storage, &head, sizeof(head));
	event->head = (const struct sp_head *)event->storage;
	event->id = (unsigned)type;
	event->tail = in;
	event->tail_bytes = tail;
	*ret_used = (size_t)(in - start) + tail;
	return 0;
}

const char *sp_event_string(const struct sp_event *event, unsigned index, char *out, size_t room)
{
	const char *at = (const char *)event->tail, *end = at + event->tail_bytes;
	size_t n;

	for (; index && at < end; index--) {
		const char *nul = memchr(at, 0, (size_t)(end - at));

		at = nul ? nul + 1 : end;
	}
	n = strnlen(at, (size_t)(end - at));
	if (n >= room)
		n = room - 1;
	memcpy(out, at, n);
	out[n] = 0;
	return out;
}

uint64_t sp_name_hash(const char *name, size_t bytes)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ (uint8_t)name[i]) * 0x100000001b3u;
	return h ? h : 1;
}
