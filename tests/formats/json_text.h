/* SPDX-License-Identifier: BSD-2-Clause
 *
 * json_text.h - the JSON profile that the tests read, cut and flip: all that one can hold.
 */
#ifndef SP_TESTS_FORMATS_JSON_TEXT_H
#define SP_TESTS_FORMATS_JSON_TEXT_H

#include <stdint.h>
#include <zlib.h>

#include "formats/profile_read.h"
#include "tests/formats/check.h"

static const char *work;
static struct sp_error error;

#define HEAD "{\"format\": \"scope-profiler-profile\", \"format_version\": 1, "

/* All that a document can hold, as scope-profiler orders it. */
static const char json_full[] = HEAD
	"\"exporter\": \"scope-profiler@0.7.5\", \"time_unit\": \"nanoseconds\", \"num_ranks\": 3,"
	"\"event_data_available\": true, \"metadata\": {\"start_time_ns\": 1000, \"label\": "
	"\"gr\\u00fcn\","
	"\"real\": 1.0, \"none\": null, \"flag\": true, \"modules\": [\"gcc\", \"mpi\"], \"list\": "
	"[1, 2],"
	"\"reals\": [1, 2.5, null], \"mixed\": [1, \"a\"], \"nested\": {\"a\": [1, {\"b\": "
	"null}]}, \"empty\": []},"
	"\"regions\": [{\"name\": \"solve\", \"rank\": 0, \"source_file\": \"a.c\", "
	"\"source_lineno\": 7,"
	"\"source_text\": \"x\\n\\ty\", \"tags\": [\"io\", \"a\\\"b,c\"], \"start_times_ns\": "
	"[1010, 1020, 1040],"
	"\"end_times_ns\": [1015, 1033, 1055], \"event_metadata\": [{\"k\": [1, 2]}, {}, {\"s\": "
	"\"a b\"}],"
	"\"gpu_durations_ns\": [1, -1, 2], \"call_ids\": [0, 1, 2], \"parent_ids\": [-1, -1, 1],"
	"\"thread_ids\": [0, 0, 1], \"task_ids\": [-1, 0, -1], \"await_ns\": [0, 3, 0],"
	"\"exclusive_total_ns\": 30}, {\"name\": \"io\", \"rank\": 2, \"start_times_ns\": [], "
	"\"end_times_ns\": []},"
	"{\"name\": \"solve\", \"rank\": 2, \"start_times_ns\": [-5], \"end_times_ns\": "
	"[9223372036854775807]}],"
	"\"threads\": {\"0\": [{\"index\": 0, \"name\": \"main\", \"ident\": 5, \"native_id\": 77, "
	"\"daemon\": false,"
	"\"start_ns\": 0, \"end_ns\": -1, \"cpu_ns\": 9}]},"
	"\"tasks\": {\"0\": [{\"index\": 0, \"kind\": \"asyncio\", \"name\": \"t\", \"coro_name\": "
	"\"c\","
	"\"thread_index\": 0, \"created_ns\": 4, \"done_ns\": 50, \"steps\": 2, \"running_ns\": 6,"
	"\"suspended_ns\": 7}]},"
	"\"likwid\": {\"1\": {\"tag a\": {\"tag\": \"tag a\", \"group_id\": 1, \"group_name\": "
	"\"FLOPS\","
	"\"cpus\": [0, 4], \"times\": [0.5, null], \"call_counts\": [3, 4], \"event_names\": "
	"[\"E\"],"
	"\"counter_names\": [\"C\"], \"events\": [[1, 2e300]], \"metric_names\": [\"m\", \"n\"],"
	"\"metrics\": [[1, 2], [3, null]], \"source\": \"marker\"}}},"
	"\"line_profile\": {\"0\": [{\"region\": \"solve\", \"filename\": \"a.c\", \"function\": "
	"\"f\","
	"\"first_lineno\": 3, \"line_numbers\": [3, 4], \"hits\": [1, 2], \"times\": [0.25, 4], "
	"\"unit\": 1e-09,"
	"\"source\": \"void f(void)\", \"source_first_lineno\": 3}]},"
	"\"sp_trace\": {\"version\": 1, \"meta\": {\"command_line\": \"./a\"}, \"rank_facts\": "
	"[{\"rank\": 2,"
	"\"part\": \"meta\", \"key\": \"k\", \"kind\": 1, \"text\": \"9\"}], \"perf_events\": "
	"{\"0\": [{\"region\":"
	"\"solve\", \"calls\": 3, \"names\": [\"cycles\", \"instructions\"], \"values\": "
	"[18446744073709551615, 7]}]},"
	"\"likwid_environment\": {\"1\": {\"cpu\": \"x86\"}}}}";

static inline const char *json_write(const char *name, const void *text, size_t size)
{
	const char *path = check_path(work, name);

	check_write_file(path, text, size);
	return path;
}

/* Packs as gzip; returns the size. */
static inline size_t json_pack(const void *text, size_t size, unsigned char *packed, size_t room)
{
	z_stream stream = {0};
	size_t n;

	if (deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	stream.next_in = (unsigned char *)(uintptr_t)text;
	stream.avail_in = (unsigned int)size;
	stream.next_out = packed;
	stream.avail_out = (unsigned int)room;
	if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
		abort();
	n = room - stream.avail_out;
	deflateEnd(&stream);
	return n;
}

#endif
