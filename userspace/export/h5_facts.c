/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5_facts.c - what a recording says of itself, under scope-profiler's names where it has some.
 */
#include "userspace/export/h5_facts.h"

#include <stdio.h>
#include <time.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

/* ISO 8601 with the offset, as scope-profiler writes it. */
static void write_timestamp(int64_t realtime_ns, char *out, size_t room)
{
	time_t seconds = realtime_ns / 1000000000;
	struct tm tm;
	size_t n = gmtime_r(&seconds, &tm) ? strftime(out, room, "%Y-%m-%dT%H:%M:%S", &tm) : 0;

	snprintf(out + n, room - n, ".%06d+00:00", (int)(realtime_ns % 1000000000 / 1000));
}

/* Facts of ours that scope-profiler has a place and a name for. */
static int set_environment(struct sp_h5_writer *writer, const struct sp_sink_unit *unit,
			   struct sp_error *error)
{
	static const char *const copied[][2] = {
		{"hostname", "hostname"},
		{"user", "user"},
		{"working_directory", "working_directory"},
		{"cpu_model", "chip_information"},
		{"omp_num_threads", "omp_num_threads"},
	};
	const struct sp_recording *rec = unit->recording;
	const char *kernel = sp_recording_meta(rec, "kernel"),
		   *name = sp_recording_meta(rec, "uname");
	const char *machine = sp_recording_meta(rec, "machine");
	char platform[256];
	int r = 0;

	for (size_t i = 0; r == 0 && i < sp_array_size(copied); i++) {
		const char *value = sp_recording_meta(rec, copied[i][0]);
		int64_t number = sp_recording_meta_number(rec, copied[i][0], -1);

		if (value && number >= 0)
			r = sp_h5_writer_set_metadata_number(writer, copied[i][1], number, error);
		else if (value)
			r = sp_h5_writer_set_metadata(writer, copied[i][1], value, error);
	}
	if (r == 0 && name)
		r = sp_h5_writer_set_metadata(writer, "uname", name, error);
	if (r < 0 || !kernel)
		return r;
	/* As Python's platform.platform() has it: Linux-6.1.0-x86_64. */
	snprintf(platform, sizeof(platform), "%s%s%s", kernel, machine ? "-" : "",
		 machine ? machine : "");
	for (char *at = platform; *at; at++)
		if (*at == ' ')
			*at = '-';
	return sp_h5_writer_set_metadata(writer, "platform", platform, error);
}

static int set_metadata(struct sp_h5_writer *writer, const struct sp_sink_unit *unit,
			struct sp_error *error)
{
	int64_t realtime = sp_recording_realtime(unit->recording, (int64_t)unit->facts->start_ns);
	const struct {
		const char *key;
		int64_t number;
	} numbers[] = {
		{"finalize_time_ns", (int64_t)unit->facts->end_ns},
		{"mpi_size", unit->unit->size > 0 ? unit->unit->size : 1},
		{"mpi_rank", unit->unit->rank},
		{"num_nodes", 1},
	};
	char timestamp[64];
	int r = sp_h5_writer_set_metadata(writer, "source", "sp-trace", error);

	if (r == 0)
		r = sp_h5_writer_set_metadata(writer, "label", unit->program, error);
	for (size_t i = 0; r == 0 && i < sp_array_size(numbers); i++)
		r = sp_h5_writer_set_metadata_number(writer, numbers[i].key, numbers[i].number,
						     error);
	if (r == 0 && realtime >= 0) {
		write_timestamp(realtime, timestamp, sizeof(timestamp));
		r = sp_h5_writer_set_metadata(writer, "timestamp", timestamp, error);
	}
	return r == 0 ? set_environment(writer, unit, error) : r;
}

static int set_meta(struct sp_h5_writer *writer, const struct sp_sink_unit *unit,
		    struct sp_error *error)
{
	const struct sp_recording *rec = unit->recording;
	const struct {
		const char *key, *text;
	} texts[] = {
		{"recording_id", unit->facts->id},
		{"finalizer_version", SP_VERSION},
		{"job", unit->unit->job},
		{"end_reason", rec->end_reason},
		{"journal_damage", unit->facts->damage},
	};
	const struct {
		const char *key;
		uint64_t number;
	} numbers[] = {
		{"recorder_died", !rec->ended},
		{"without_rank", unit->unit->other},
		{"journal_bytes", unit->facts->file_bytes},
		{"journal_good_bytes", unit->facts->good_bytes},
		{"unannounced_threads", rec->made_up_lanes},
		{"unknown_sites", rec->unknown_sites},
		{"unknown_site_calls", rec->unknown_site_calls},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < rec->n_meta; i++) {
		int64_t number = sp_recording_meta_number(rec, rec->meta[i].key, -1);

		if (number >= 0)
			r = sp_h5_writer_set_meta_number(writer, rec->meta[i].key, number, error);
		else
			r = sp_h5_writer_set_meta(writer, rec->meta[i].key, rec->meta[i].value,
						  error);
	}
	for (size_t i = 0; r == 0 && i < sp_array_size(texts); i++)
		r = sp_h5_writer_set_meta(writer, texts[i].key, texts[i].text, error);
	for (size_t i = 0; r == 0 && i < sp_array_size(numbers); i++)
		r = sp_h5_writer_set_meta_number(writer, numbers[i].key, (int64_t)numbers[i].number,
						 error);
	return r;
}

int sp_h5_facts_set(struct sp_h5_writer *writer, const struct sp_sink_unit *unit,
		    struct sp_error *error)
{
	int r = set_metadata(writer, unit, error);

	return r == 0 ? set_meta(writer, unit, error) : r;
}
