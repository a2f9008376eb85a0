// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_json_aggregate.c - statistics that stand in a JSON profile instead of calls.
 *
 * Invariant: what the document does not say is unknown; a mean follows from total and count.
 */
#include <math.h>

#include "formats/profile_json.h"

struct aggregate {
	int64_t count, total, minimum, maximum, exclusive, first, last;
	int64_t start_minimum, end_maximum, gpu_count, gpu_total;
	double mean, m2;
};

static struct sp_stats to_stats(const struct aggregate *from)
{
	return (struct sp_stats){
		.calls = (uint64_t)from->count,
		.total = from->total,
		.self = from->exclusive,
		.minimum = from->minimum,
		.maximum = from->maximum,
		.first = from->first,
		.last = from->last,
		.start_minimum = from->start_minimum,
		.end_maximum = from->end_maximum,
		.mean = isnan(from->mean) ? (double)from->total / (double)from->count : from->mean,
		.m2 = from->m2,
		.gpu_calls = (uint64_t)from->gpu_count,
		.gpu_total = from->gpu_total,
	};
}

int sp_json_read_aggregate(struct sp_json_profile *json, const struct sp_json_token *token,
			   void *target, struct sp_error *error)
{
#define FIELD(name, read, required) \
	{ \
#name, sp_json_read_##read, offsetof(struct aggregate, name), required \
	}
	static const struct sp_json_field fields[] = {
		FIELD(count, integer, true),
		FIELD(total, integer, true),
		FIELD(minimum, integer, true),
		FIELD(maximum, integer, true),
		FIELD(exclusive, integer, false),
		FIELD(first, integer, false),
		FIELD(last, integer, false),
		FIELD(start_minimum, integer, false),
		FIELD(end_maximum, integer, false),
		FIELD(gpu_count, integer, false),
		FIELD(gpu_total, integer, false),
		FIELD(mean, real, false),
		FIELD(m2, real, false),
	};
#undef FIELD
	struct sp_json_aggregate *result = target;
	struct aggregate from = {
		.exclusive = -1,
		.first = -1,
		.last = -1,
		.start_minimum = -1,
		.end_maximum = -1,
		.mean = NAN,
		.m2 = -1,
	};
	int r = sp_json_read_object(json, token, fields, sizeof(fields) / sizeof(fields[0]), &from,
				    NULL, error);

	if (r)
		return r;
	if (from.count < 0 || from.gpu_count < 0)
		return sp_json_refuse(json, -SP_E_COUNT, token->offset, error,
				      "has a negative number of calls");
	result->there = true;
	result->stats = sp_profile_unknown_stats((uint64_t)from.count);
	if (from.count)
		result->stats = to_stats(&from);
	return 0;
}
