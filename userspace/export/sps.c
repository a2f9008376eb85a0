/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sps.c - a unit of a recording as a .sps file.
 *
 * The format wants its tables before the first sample, so samples wait in a scratch file. It has
 * place for samples inside regions only; the others are counted in its ticks. Its modules are files
 * with a load bias, so mappings of one file at one bias are one module, in however many processes;
 * addresses outside files (vdso, code made at run time) have none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/sps.h"
#include "userspace/analysis/scratch.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/pool.h"
#include "userspace/export/sink.h"

#define CHUNK 4096

struct sps_sink {
	char *path;
	unsigned output_flags;
	int32_t rank, hz;
	int64_t ticks;
	const char **regions;
	size_t n_regions, regions_room;
	struct sp_sps_module *modules;
	size_t n_modules, modules_room;
	int32_t *numbers; /* module of each announced one, -1 none */
	size_t n_numbers, numbers_room;
	struct sp_pool *paths;
	struct sp_scratch *samples;
};

static void sps_free(void *data)
{
	struct sps_sink *sink = data;

	if (!sink)
		return;
	free(sink->path);
	free(sink->regions);
	free(sink->modules);
	free(sink->numbers);
	sp_pool_free(sink->paths);
	sp_scratch_free(sink->samples);
	free(sink);
}

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

static int sps_open(const char *path, const struct sp_sink_unit *unit, void **ret_sink,
		    struct sp_error *error)
{
	struct sps_sink *sink = calloc(1, sizeof(*sink));
	int r = sink ? 0 : -ENOMEM;

	if (r == 0) {
		sink->path = strdup(path);
		sink->paths = sp_pool_new();
		sink->output_flags = unit->output_flags;
		sink->rank = (int32_t)unit->unit->rank;
		sink->hz = unit->facts->hz;
		r = -ENOMEM;
		if (sink->path && sink->paths)
			r = sp_scratch_new(unit->scratch_directory, 1 << 16, &sink->samples);
	}
	if (r < 0) {
		sps_free(sink);
		return sp_error_set(error, r, 0, "a temporary file cannot be made beside it: %s",
				    strerror(-r));
	}
	*ret_sink = sink;
	return 0;
}

static int sps_add_region(void *data, const struct sp_sink_region *region, struct sp_error *error)
{
	struct sps_sink *sink = data;
	const char **name = sp_array_add(&sink->regions, &sink->n_regions, &sink->regions_room);

	if (!name)
		return out_of_memory(error);
	*name = region->name;
	return 0;
}

/* The pool numbers strings in order of first appearance, as modules are. */
static int find_module(struct sps_sink *sink, const char *path, uint64_t bias, int32_t *ret)
{
	sp_cleanup(sp_freep) char *key = NULL;
	struct sp_sps_module *module;
	uint32_t number;
	int r;

	if (asprintf(&key, "%016llx%s", (unsigned long long)bias, path) < 0) {
		key = NULL;
		return -ENOMEM;
	}
	r = sp_pool_number(sink->paths, key, &number);
	if (r < 0)
		return r;
	if (number == sink->n_modules) {
		module = sp_array_add(&sink->modules, &sink->n_modules, &sink->modules_room);
		if (!module)
			return -ENOMEM;
		*module = (struct sp_sps_module){sp_pool_at(sink->paths, number) + 16, bias};
	}
	*ret = number < SP_SPS_MAX_TABLE ? (int32_t)number : -1;
	return 0;
}

static int sps_add_module(void *data, const struct sp_module_row *module, struct sp_error *error)
{
	struct sps_sink *sink = data;
	int32_t *number = sp_array_add(&sink->numbers, &sink->n_numbers, &sink->numbers_room);

	if (!number)
		return out_of_memory(error);
	*number = -1;
	if (module->path[0] != '/' || !strncmp(module->path, "//", 2))
		return 0;
	if (find_module(sink, module->path, module->bias, number) < 0)
		return out_of_memory(error);
	return 0;
}

static int sps_add_sample(void *data, const struct sp_sink_sample *sample, struct sp_error *error)
{
	struct sps_sink *sink = data;
	struct sp_sps_sample out = {
		.region = (int32_t)sample->row.region,
		.module = sample->row.module < 0 ? -1 : sink->numbers[sample->row.module],
		.ip = sample->row.ip,
	};
	int r;

	sink->ticks++;
	if (sample->row.region < 0)
		return 0;
	r = sp_scratch_append(sink->samples, &out, sizeof(out));
	return r < 0 ? sp_error_set(error, r, 0, "its temporary file cannot be written: %s",
				    strerror(-r))
		     : 0;
}

static int copy_samples(struct sps_sink *sink, struct sp_sps_writer *writer, struct sp_error *error)
{
	uint64_t left = sp_scratch_bytes(sink->samples) / sizeof(struct sp_sps_sample), offset = 0;
	sp_cleanup(sp_freep) struct sp_sps_sample *samples = malloc(CHUNK * sizeof(*samples));
	int r = samples ? 0 : out_of_memory(error);

	while (r == 0 && left) {
		size_t n = left < CHUNK ? (size_t)left : CHUNK;

		r = sp_scratch_read(sink->samples, offset, samples, n * sizeof(*samples));
		if (r < 0)
			return sp_error_set(error, r, 0, "its temporary file cannot be read: %s",
					    strerror(-r));
		r = sp_sps_writer_add(writer, samples, n, error);
		offset += n * sizeof(*samples);
		left -= n;
	}
	return r;
}

static size_t limit(size_t modules)
{
	return modules < SP_SPS_MAX_TABLE ? modules : SP_SPS_MAX_TABLE;
}

static int sps_commit(void *data, struct sp_error *error)
{
	struct sps_sink *sink = data;
	struct sp_sps_writer *writer = NULL;
	int r = sp_sps_writer_open(sink->path, sink->output_flags, sink->rank, sink->hz,
				   sink->regions, sink->n_regions, sink->modules,
				   limit(sink->n_modules), &writer, error);

	if (r == 0)
		r = copy_samples(sink, writer, error);
	if (r == 0)
		r = sp_sps_writer_commit(writer, sink->ticks, error);
	sp_sps_writer_free(writer);
	return r;
}

const struct sp_sink_ops sp_sink_sps = {
	.name = "sps",
	.open = sps_open,
	.add_region = sps_add_region,
	.add_module = sps_add_module,
	.add_sample = sps_add_sample,
	.commit = sps_commit,
	.free = sps_free,
};
