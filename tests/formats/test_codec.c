/* SPDX-License-Identifier: BSD-2-Clause
 *
 * test_codec.c - formats/codec.c and crc32c.c: every event with extreme values goes through packing
 * and comes back; every damage is noticed or harmless; a schema of another version maps by names.
 */
#include "formats/codec.h"
#include "formats/crc32c.h"
#include "tests/formats/check.h"

#define ROOM 65536

/* Values at which widths and signs change. */
static const uint64_t extremes[] = {
	0,
	1,
	0x7f,
	0x80,
	0x3fff,
	0x4000,
	0x7fff,
	0x8000,
	0xffff,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x100000000,
	0x7fffffffffffffff,
	0x8000000000000000,
	0xffffffffffffffff,
};
#define EXTREMES (sizeof(extremes) / sizeof(extremes[0]))

struct buffer {
	uint64_t words[ROOM / 8];
};

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static struct sp_schema *own_schema(void)
{
	struct sp_error error = {0};
	struct sp_schema *schema = NULL;
	char *text = sp_schema_text();

	CHECK(text);
	MUST(sp_schema_parse(text, strlen(text), &schema, &error));
	free(text);
	return schema;
}

static void set_field(struct buffer *b, const struct sp_field_desc *f, uint64_t value)
{
	static const size_t bytes[] = {
		[SP_T_u16] = 2, [SP_T_u32] = 4, [SP_T_u64] = 8, [SP_T_s32] = 4, [SP_T_s64] = 8};

	memcpy((char *)b->words + f->offset, &value, bytes[f->type]); /* little-endian */
}

/* An event whose k-th field is the (first + k * step)-th extreme value. */
static size_t make_event(struct buffer *b, const struct sp_event_desc *desc, size_t first,
			 size_t step, size_t tail)
{
	struct sp_head *head = (struct sp_head *)b->words;
	uint8_t *out = (uint8_t *)b->words + desc->bytes;

	memset(b->words, 0, desc->bytes);
	head->type = desc->type;
	head->flags = (uint16_t)extremes[first % EXTREMES];
	head->lane = (uint32_t)extremes[(first + step) % EXTREMES];
	for (unsigned k = 0; k < desc->field_count; k++)
		set_field(b, &desc->fields[k], extremes[(first + (k + 2) * step) % EXTREMES]);
	if (desc->tail == SP_TAIL_NONE)
		return desc->bytes;
	if (desc->tail == SP_TAIL_ADDRS)
		tail -= tail % 8;
	memcpy(head + 1, &(uint64_t){tail}, 8);
	for (size_t i = 0; i < tail; i++)
		out[i] = (uint8_t)next_random();
	return desc->bytes + tail;
}

static void check_same(const struct sp_event *event, const struct buffer *b, size_t bytes)
{
	const struct sp_event_desc *desc = sp_event_find(((const struct sp_head *)b->words)->type);

	CHECK_INT(event->head->type, desc->type);
	CHECK(memcmp(event->head, b->words, desc->bytes) == 0);
	CHECK_INT(event->tail_bytes, bytes - desc->bytes);
	CHECK(!event->tail_bytes ||
	      memcmp(event->tail, (const char *)b->words + desc->bytes, event->tail_bytes) == 0);
}

static void test_round_trips(void)
{
	static struct buffer b;
	static uint8_t packed[ROOM + 1024];
	struct sp_schema *schema = own_schema();
	static struct sp_codec_state in, out;
	const struct sp_event_desc *desc;
	size_t types = 0;

	for (size_t i = 0; (desc = sp_event_at(i)); i++, types++) {
		CHECK(sp_event_find(desc->type) == desc);
		for (size_t first = 0; first < EXTREMES; first++)
			for (size_t step = 0; step < EXTREMES; step++) {
				size_t bytes =
					make_event(&b, desc, first, step, (first * 31 + step) * 9);
				struct sp_event event;
				size_t n, used;

				CHECK_INT(sp_event_check(b.words, bytes), 0);
				n = sp_codec_encode(&out, (struct sp_head *)b.words, packed);
				CHECK(n <= sp_codec_bound((struct sp_head *)b.words));
				CHECK_INT(sp_codec_decode(schema, &in, packed, n, &event, &used),
					  0);
				CHECK_INT(used, n);
				check_same(&event, &b, bytes);
			}
	}
	CHECK(types >= 15);
	CHECK(!sp_event_find(SP_EV_NONE) && !sp_event_find(SP_EV_MAX) && !sp_event_find(65535));
	sp_schema_free(schema);
}

/* Many events of all types in one block, at unaligned places. */
static void test_stream(void)
{
	enum { COUNT = 300 };
	static uint8_t packed[COUNT * 4096];
	static struct buffer made[COUNT];
	static size_t length[COUNT];
	static struct sp_codec_state in, out;
	struct sp_schema *schema = own_schema();
	size_t end = 0, at = 0;

	for (size_t i = 0; i < COUNT; i++) {
		const struct sp_event_desc *desc;

		do
			desc = sp_event_at(next_random() % 24);
		while (!desc);
		length[i] = make_event(&made[i], desc, next_random() % 97, next_random() % 97,
				       next_random() % 500);
		end += sp_codec_encode(&out, (struct sp_head *)made[i].words, packed + end);
	}
	for (size_t i = 0; i < COUNT; i++) {
		struct sp_event event;
		size_t used;

		CHECK_INT(sp_codec_decode(schema, &in, packed + at, end - at, &event, &used), 0);
		check_same(&event, &made[i], length[i]);
		at += used;
	}
	CHECK_INT(at, end);
	sp_schema_free(schema);
}

/* A packed event that is cut anywhere is refused; one whose bits are flipped is refused or is an
 * event whose lengths are within the bytes that there are (the sanitizers watch). */
static void test_damage(void)
{
	static struct buffer b;
	static uint8_t packed[ROOM + 1024];
	struct sp_schema *schema = own_schema();
	const struct sp_event_desc *desc;

	for (size_t i = 0; (desc = sp_event_at(i)); i++) {
		struct sp_codec_state out = {0};
		struct sp_event event;
		size_t used, n;
		uint8_t *exact;

		make_event(&b, desc, 15, 3, 40);
		n = sp_codec_encode(&out, (struct sp_head *)b.words, packed);
		for (size_t cut = 0; cut < n; cut++) {
			struct sp_codec_state in = {0};

			exact = malloc(cut ? cut : 1); /* so that reading beyond is seen */
			memcpy(exact, packed, cut);
			CHECK_INT(sp_codec_decode(schema, &in, exact, cut, &event, &used),
				  -EBADMSG);
			free(exact);
		}
		exact = malloc(n);
		for (size_t bit = 0; bit < 8 * n; bit++) {
			struct sp_codec_state in = {0};
			int r;

			memcpy(exact, packed, n);
			exact[bit / 8] ^= (uint8_t)(1 << bit % 8);
			r = sp_codec_decode(schema, &in, exact, n, &event, &used);
			CHECK(r == 0 || r == -EBADMSG);
			if (r == 0) {
				CHECK(used <= n);
				CHECK(event.tail_bytes <= n);
				CHECK(!event.tail_bytes ||
				      (event.tail >= exact &&
				       event.tail + event.tail_bytes <= exact + n));
			}
		}
		free(exact);
	}
	sp_schema_free(schema);
}

/* Records from a ring: what is too short for its type or its tail is refused. */
static void test_check(void)
{
	static struct buffer b;
	const struct sp_event_desc *desc;

	for (size_t i = 0; (desc = sp_event_at(i)); i++) {
		size_t bytes = make_event(&b, desc, 3, 1, 24);

		CHECK_INT(sp_event_check(b.words, bytes), 0);
		CHECK_INT(sp_event_check(b.words, bytes + 8), 0); /* rings round up */
		for (size_t cut = 0; cut < bytes; cut++) {
			uint8_t *exact = malloc(cut ? cut : 1);

			memcpy(exact, b.words, cut);
			CHECK_INT(sp_event_check(exact, cut), -EBADMSG);
			free(exact);
		}
		if (desc->tail == SP_TAIL_NONE)
			continue;
		for (size_t k = 0; k < EXTREMES; k++) {
			uint64_t claim = extremes[k];
			int good = claim <= 24 && (desc->tail == SP_TAIL_TEXT || claim % 8 == 0);

			memcpy(&b.words[1], &claim, 8);
			CHECK_INT(sp_event_check(b.words, bytes), good ? 0 : -EBADMSG);
		}
	}
	memset(b.words, 0, sizeof(struct sp_head));
	for (unsigned type = 0; type <= UINT16_MAX; type++) {
		((struct sp_head *)b.words)->type = (uint16_t)type;
		if (!sp_event_find(type))
			CHECK_INT(sp_event_check(b.words, sizeof(b)), -EBADMSG);
	}
}

/* A recorder of another version: other ids and order, fields that we have not and some that it has
 * not, an event that we do not know, a tail of another kind. */
static void test_other_schema(void)
{
	static const char text[] = "event 9 rocket text\nfield u64 thrust\nfield s64 fuel\n"
				   "event 40 call none\nfield u32 site\nfield u64 novelty\n"
				   "field u64 end\nfield u64 start\nfield u64 number\n"
				   "event 3 map addrs\nfield u64 start\n";
	/* By hand: id, then zigzag varints of flags, lane and fields. */
	static const uint8_t packed[] = {
		9,  2, 4,  6,  1, 3,	'a',  'b',  'c', /* rocket: flags 1, lane 2, 3, -1, tail */
		40, 2, 14, 10, 8, 0xd0, 0x0f, 0xc8, 1,	 18, /* call: site 5, 4, end 1000, start
								100, 9 */
		40, 0, 2,  0,  0, 2,	1,    2, /* call: +1 lane, end +1, start -1, number +1 */
		3,  0, 0,  2,  8, 1,	2,    3,    4,	 5,  6,
		7,  8, /* map as addrs: not our map */
	};
	struct sp_error error = {0};
	struct sp_schema *schema = NULL;
	struct sp_codec_state state = {0};
	struct sp_event event;
	const struct sp_ev_call *call;
	size_t at = 0, used = 0;

	MUST(sp_schema_parse(text, strlen(text), &schema, &error));
	MUST(sp_codec_decode(schema, &state, packed, sizeof(packed), &event, &used));
	CHECK_INT(event.head->type, SP_EV_NONE);
	CHECK_INT(used, 9);
	at += used;
	MUST(sp_codec_decode(schema, &state, packed + at, sizeof(packed) - at, &event, &used));
	call = (const struct sp_ev_call *)event.head;
	CHECK_INT(call->head.type, SP_EV_call);
	CHECK_INT(call->head.flags, 1);
	CHECK_INT(call->head.lane, 7);
	CHECK_INT(call->site, 5);
	CHECK_INT(call->end, 1000);
	CHECK_INT(call->start, 100);
	CHECK_INT(call->number, 9);
	CHECK_INT(call->parent, 0); /* which that recorder did not have */
	CHECK_INT(call->child, 0);
	at += used;
	MUST(sp_codec_decode(schema, &state, packed + at, sizeof(packed) - at, &event, &used));
	CHECK_INT(call->head.lane, 8);
	CHECK_INT(call->site, 5);
	CHECK_INT(call->end, 1001);
	CHECK_INT(call->start, 99);
	CHECK_INT(call->number, 10);
	at += used;
	MUST(sp_codec_decode(schema, &state, packed + at, sizeof(packed) - at, &event, &used));
	CHECK_INT(event.head->type, SP_EV_NONE);
	CHECK_INT(at + used, sizeof(packed));
	/* An id that the schema has not, though we do. */
	CHECK_INT(sp_codec_decode(schema, &state, (const uint8_t[]){1, 0, 0}, 3, &event, &used),
		  -EBADMSG);
	sp_schema_free(schema);
}

/* A value that does not fit our narrower field must not be cut. */
static void test_too_wide(void)
{
	static const char text[] = "event 1 call none\nfield u64 site\n";
	static const uint8_t fits[] = {1, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x1f}; /* 2^32 - 1 */
	static const uint8_t wide[] = {1, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x20}; /* 2^32 */
	static const uint8_t endless[] = {1,	0,    0,    0x80, 0x80, 0x80, 0x80,
					  0x80, 0x80, 0x80, 0x80, 0x80, 0x02};
	struct sp_error error = {0};
	struct sp_schema *schema = NULL;
	struct sp_event event;
	size_t used;

	MUST(sp_schema_parse(text, strlen(text), &schema, &error));
	struct sp_codec_state state = {0};
	CHECK_INT(sp_codec_decode(schema, &state, fits, sizeof(fits), &event, &used), 0);
	CHECK_INT(((const struct sp_ev_call *)event.head)->site, UINT32_MAX);
	state = (struct sp_codec_state){0};
	CHECK_INT(sp_codec_decode(schema, &state, wide, sizeof(wide), &event, &used), -EBADMSG);
	state = (struct sp_codec_state){0};
	CHECK_INT(sp_codec_decode(schema, &state, endless, sizeof(endless), &event, &used),
		  -EBADMSG);
	sp_schema_free(schema);
}

static void test_bad_schemas(void)
{
	static const char *const bad[] = {
		"event 0 call none\n",
		"event 64 call none\n",
		"event 4294967297 call none\n",
		"event call none\n",
		"event 1 call\n",
		"event 1 call some\n",
		"event 1 call none\nevent 1 sample addrs\n",
		"field u64 start\n",
		"event 1 call none\nfield u64\n",
		"nonsense\n",
		"event 1 call none\n\0field u64 start\n",
	};
	struct sp_schema *schema = NULL;
	struct sp_error error;
	char *text = sp_schema_text(), *many = calloc(1, 4096);
	size_t n = strlen(text), good = 0;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size_t bytes = i == 10 ? 35 : strlen(bad[i]);

		error = (struct sp_error){0};
		if (sp_schema_parse(bad[i], bytes, &schema, &error) == 0) {
			fprintf(stderr, "taken: %s", bad[i]);
			CHECK(i == 10); /* a line that is cut by a NUL may be taken as it stands */
			sp_schema_free(schema);
			schema = NULL;
			continue;
		}
		CHECK_INT(error.code, -EBADMSG);
		CHECK(strstr(error.text, "damaged"));
	}
	strcpy(many, "event 1 call none\n");
	for (int i = 0; i < SP_MAX_FIELDS; i++)
		sprintf(many + strlen(many), "field u64 f%d\n", i);
	CHECK_INT(sp_schema_parse(many, strlen(many), &schema, &error), 0);
	sp_schema_free(schema);
	strcat(many, "field u64 one_more\n");
	CHECK_INT(sp_schema_parse(many, strlen(many), &schema, &error), -EBADMSG);
	memset(many, 'x', 400);
	CHECK_INT(sp_schema_parse(many, 400, &schema, &error), -EBADMSG);
	/* Cut or changed anywhere, it is taken or refused, but nothing is read beyond its end. */
	for (size_t cut = 0; cut <= n; cut++) {
		char *exact = malloc(cut ? cut : 1);

		memcpy(exact, text, cut);
		schema = NULL;
		good += sp_schema_parse(exact, cut, &schema, &error) == 0;
		sp_schema_free(schema);
		free(exact);
	}
	CHECK(good > 0 && good < n);
	for (int i = 0; i < 20000; i++) {
		char *exact = malloc(n);

		memcpy(exact, text, n);
		for (int k = 0; k < 3; k++)
			exact[next_random() % n] = (char)next_random();
		schema = NULL;
		if (sp_schema_parse(exact, n, &schema, &error) == 0)
			sp_schema_free(schema);
		free(exact);
	}
	free(many);
	free(text);
}

static void test_strings(void)
{
	static const char tail[] = "name\0\0file.c\0last";
	struct sp_event event = {.tail = (const uint8_t *)tail, .tail_bytes = sizeof(tail) - 1};
	char out[8];

	CHECK_TEXT(sp_event_string(&event, 0, out, sizeof(out)), "name");
	CHECK_TEXT(sp_event_string(&event, 1, out, sizeof(out)), "");
	CHECK_TEXT(sp_event_string(&event, 2, out, sizeof(out)), "file.c");
	CHECK_TEXT(sp_event_string(&event, 3, out, sizeof(out)), "last");
	CHECK_TEXT(sp_event_string(&event, 4, out, sizeof(out)), "");
	CHECK_TEXT(sp_event_string(&event, 4000000000u, out, sizeof(out)), "");
	CHECK_TEXT(sp_event_string(&event, 0, out, 3), "na");
	CHECK_TEXT(sp_event_string(&event, 0, out, 1), "");
	event.tail_bytes = 0;
	CHECK_TEXT(sp_event_string(&event, 0, out, sizeof(out)), "");
}

/* Vectors: of the FNV page, and of RFC 3720, B.4. */
static void test_hashes(void)
{
	static uint8_t data[4096];
	uint32_t whole;

	CHECK(sp_name_hash("", 0) == 0xcbf29ce484222325u);
	CHECK(sp_name_hash("a", 1) == 0xaf63dc4c8601ec8cu);
	CHECK(sp_name_hash("foobar", 6) == 0x85944171f73967e8u);
	CHECK_INT(sp_crc32c(0, "123456789", 9), 0xe3069283u);
	CHECK_INT(sp_crc32c(0, data, 32), 0x8a9136aau);
	memset(data, 0xff, 32);
	CHECK_INT(sp_crc32c(0, data, 32), 0x62a8ab43u);
	for (size_t i = 0; i < 32; i++)
		data[i] = (uint8_t)i;
	CHECK_INT(sp_crc32c(0, data, 32), 0x46dd794eu);
	CHECK_INT(sp_crc32c(7, data, 0), 7);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)next_random();
	whole = sp_crc32c(0, data, sizeof(data));
	for (size_t cut = 0; cut <= sizeof(data); cut += 37)
		CHECK_INT(sp_crc32c(sp_crc32c(0, data, cut), data + cut, sizeof(data) - cut),
			  whole);
	for (size_t bit = 0; bit < 8 * sizeof(data); bit += 101) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CHECK(sp_crc32c(0, data, sizeof(data)) != whole);
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void test_names(void)
{
	for (unsigned cause = 0; cause < 40; cause++) {
		CHECK(sp_loss_name(cause) && sp_loss_name(cause)[0]);
		CHECK(sp_loss_help(cause) && sp_loss_help(cause)[0]);
	}
	for (unsigned cause = 1; cause <= SP_LOSS_THINNED; cause++)
		CHECK(strcmp(sp_loss_name(cause), sp_loss_name(0)));
	CHECK_TEXT(sp_loss_name(4000000000u), sp_loss_name(0));
}

int main(void)
{
	test_round_trips();
	test_stream();
	test_damage();
	test_check();
	test_other_schema();
	test_too_wide();
	test_bad_schemas();
	test_strings();
	test_hashes();
	test_names();
	return check_end();
}
