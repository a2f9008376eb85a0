/* SPDX-License-Identifier: BSD-2-Clause
 *
 * codec_internal.h - a parsed schema, which schema.c makes and codec.c unpacks by. Not installed.
 */
#ifndef SP_FORMATS_CODEC_INTERNAL_H
#define SP_FORMATS_CODEC_INTERNAL_H

#include "formats/codec.h"

enum { SP_SCHEMA_NAME = 64 }; /* room for a name in a schema */

/* One event type as the journal has it. */
struct sp_schema_event {
	const struct sp_event_desc *desc; /* NULL: we do not know it */
	uint8_t present, tail, count;
	int8_t map[SP_MAX_FIELDS]; /* our field's index, -1 for one that we do not know */
	bool is_signed[SP_MAX_FIELDS];
	char name[SP_SCHEMA_NAME], fields[SP_MAX_FIELDS][SP_SCHEMA_NAME];
};

struct sp_schema {
	struct sp_schema_event events[SP_EV_MAX];
};

#endif
