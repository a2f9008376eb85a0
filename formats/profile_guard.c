// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_guard.c - profiles whose HDF5 file a child reads: opening, and all but numbers in bulk.
 *
 * Invariant: a guarded profile has what a profile that was opened without a guard has, and the same
 * errors; what its child said was checked.
 */
#include "formats/profile_guard.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/h5_read.h"
#include "formats/profile_guard_internal.h"
#include "formats/util.h"

#define DEFAULT_MEMORY ((uint64_t)1 << 30)
#define MOST_CPU_SECONDS 30

/* One request, whose content, if it succeeds, is to be received by the caller. */
static int request(struct sp_guard *guard, const struct sp_guard_request *request,
		   struct sp_error *error)
{
	int r = sp_guard_wake(guard, error);

	if (!r)
		r = sp_guard_drain(guard, error);
	if (!r)
		r = sp_guard_ask(guard, request, error);
	return r ? r : sp_guard_reply(guard, request, error);
}

static int read_table(struct sp_profile *profile, enum sp_h5_table which, void **ret_rows,
		      size_t *ret_n, struct sp_error *error)
{
	const struct sp_guard_request wanted = {.op = SP_GUARD_TABLE, .row = which};
	struct sp_guard *guard = profile->implementation;
	void *rows = NULL;
	size_t n = 0;
	int r = request(guard, &wanted, error);

	if (r)
		return r;
	sp_pipe_table(&guard->child->pipe, which, &rows, &n);
	r = sp_guard_received(guard, &wanted, error);
	if (r) {
		sp_h5_free_table(which, rows, n);
		return r;
	}
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}

static int read_facts(struct sp_profile *profile, const char *group, struct sp_fact **ret_facts,
		      size_t *ret_n, struct sp_error *error)
{
	const struct sp_guard_request wanted = {
		.op = strcmp(group, "/metadata") ? SP_GUARD_META : SP_GUARD_METADATA,
	};
	struct sp_guard *guard = profile->implementation;
	struct sp_fact *facts = NULL;
	size_t n = 0;
	int r = request(guard, &wanted, error);

	if (r)
		return r;
	sp_pipe_facts(&guard->child->pipe, &facts, &n);
	r = sp_guard_received(guard, &wanted, error);
	if (r) {
		sp_facts_free(facts, n);
		return r;
	}
	*ret_facts = facts;
	*ret_n = n;
	return 0;
}

static int read_extras(struct sp_profile *profile, struct sp_extras *ret_extras,
		       struct sp_error *error)
{
	const struct sp_guard_request wanted = {.op = SP_GUARD_EXTRAS};
	struct sp_guard *guard = profile->implementation;
	struct sp_extras extras = {0};
	int r = request(guard, &wanted, error);

	if (r)
		return r;
	sp_pipe_extras(&guard->child->pipe, &extras);
	r = sp_guard_received(guard, &wanted, error);
	if (r)
		sp_extras_free(&extras);
	else
		*ret_extras = extras;
	return r;
}

static int read_event_metadata(struct sp_profile *profile, uint32_t row, char **ret_json,
			       struct sp_error *error)
{
	const struct sp_guard_request wanted = {.op = SP_GUARD_EVENT_METADATA, .row = row};
	struct sp_guard *guard = profile->implementation;
	char *json = NULL;
	int r = request(guard, &wanted, error);

	if (r)
		return r;
	sp_pipe_text_or_null(&guard->child->pipe, (const char **)&json);
	r = sp_guard_received(guard, &wanted, error);
	if (r)
		free(json);
	else
		*ret_json = json;
	return r;
}

static int check(struct sp_profile *profile, struct sp_profile_check *check, struct sp_error *error)
{
	const struct sp_guard_request wanted = {.op = SP_GUARD_CHECK, .check = *check};
	struct sp_guard *guard = profile->implementation;
	struct sp_profile_check went_on = {0};
	int r = request(guard, &wanted, error);

	if (r)
		return r;
	sp_pipe_check(&guard->child->pipe, &went_on);
	r = sp_guard_received(guard, &wanted, error);
	if (!r)
		*check = went_on;
	return r;
}

/* ---- opening ---- */

static void close_guard(void *implementation)
{
	struct sp_guard *guard = implementation;

	if (!guard)
		return;
	sp_guard_stop(guard);
	free(guard->row_first);
	free(guard->path);
	free(guard);
}

static const struct sp_profile_ops guarded_ops = {
	.read_calls = sp_guard_read_calls,
	.read_samples = sp_guard_read_samples,
	.read_stack_offsets = sp_guard_read_stack_offsets,
	.read_frames = sp_guard_read_frames,
	.read_table = read_table,
	.read_facts = read_facts,
	.read_extras = read_extras,
	.read_event_metadata = read_event_metadata,
	.check = check,
	.close = close_guard,
};

static int receive_regions(struct sp_profile *profile, struct sp_pipe *pipe, uint64_t n,
			   struct sp_error *error)
{
	int r = 0;

	for (uint64_t i = 0; !r && i < n && !pipe->failed; i++) {
		const char *name sp_cleanup_free = NULL;

		sp_pipe_text(pipe, &name);
		if (!pipe->failed)
			r = sp_profile_add_region(profile, name, error);
	}
	return r;
}

static int receive_rows(struct sp_profile *profile, struct sp_pipe *pipe, uint64_t n,
			struct sp_error *error)
{
	int r = 0;

	for (uint64_t i = 0; !r && i < n && !pipe->failed; i++) {
		struct sp_row row = {0};

		sp_pipe_row(pipe, &row);
		if (!pipe->failed &&
		    (row.region >= profile->info.n_regions || row.source_line < -1))
			sp_pipe_fail(pipe, -EBADMSG);
		if (!pipe->failed)
			r = sp_profile_add_row(profile, &row, error);
		free((char *)row.source_file);
		free((char *)row.source_text);
		free((char *)row.tags);
	}
	return r;
}

/* Numbers the calls through the rows. An aggregate has none, whatever it counts. */
static int number_calls(struct sp_guard *guard, struct sp_error *error)
{
	const struct sp_profile *profile = guard->profile;
	uint64_t n = 0;

	if (profile->info.aggregate)
		return 0;
	guard->row_first = calloc(profile->info.n_rows + 1, sizeof(*guard->row_first));
	if (!guard->row_first)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (uint32_t i = 0; i < profile->info.n_rows; i++) {
		guard->row_first[i] = n;
		if (__builtin_add_overflow(n, profile->rows[i].stats.calls, &n))
			return sp_error_set(error, -SP_E_COUNT, 0,
					    "claims more calls than there are numbers");
	}
	return 0;
}

static int receive_profile(struct sp_guard *guard, const struct sp_guard_opened *opened,
			   struct sp_error *error)
{
	const struct sp_guard_request wanted = {.op = SP_GUARD_OPEN};
	struct sp_profile *profile = guard->profile;
	struct sp_profile_info *info = &profile->info;
	struct sp_pipe *pipe = &guard->child->pipe;
	int r;

	info->version = opened->version;
	info->trace_version = opened->trace_version;
	info->aggregate = opened->aggregate != 0;
	info->has_event_metadata = opened->has_event_metadata != 0;
	info->compressed = opened->compressed != 0;
	info->columns = opened->columns & ((1u << SP_CALLS_N_COLUMNS) - 1);
	info->n_samples = opened->n_samples;
	info->start_time_ns = opened->start_time_ns;
	profile->origin_known = opened->origin_known != 0;
	guard->n_frames = opened->n_frames;
	if (opened->n_regions > SP_PROFILE_MAX_REGIONS || opened->n_rows > SP_PROFILE_MAX_ROWS)
		sp_pipe_fail(pipe, -EBADMSG);
	r = receive_regions(profile, pipe, opened->n_regions, error);
	if (!r)
		r = receive_rows(profile, pipe, opened->n_rows, error);
	if (r) /* the rest of the message is of no use */
		return r;
	r = sp_guard_received(guard, &wanted, error);
	if (!r && info->n_calls != opened->n_calls)
		r = sp_guard_nonsense(guard, &wanted, error);
	if (!r && info->n_samples > INT64_MAX)
		r = sp_error_set(error, -SP_E_COUNT, 0, "claims %" PRIu64 " samples",
				 info->n_samples);
	return r ? r : number_calls(guard, error);
}

/* Nobody should have to wait long for a small file on which libhdf5 runs in circles. */
static unsigned int default_cpu_seconds(uint64_t size)
{
	uint64_t seconds = 5 + size / (4 << 20);

	return seconds < MOST_CPU_SECONDS ? (unsigned int)seconds : MOST_CPU_SECONDS;
}

static int open_guarded(struct sp_profile *profile, const struct sp_guard_limits *limits,
			struct sp_error *error)
{
	struct sp_guard *guard = calloc(1, sizeof(*guard));
	struct sp_guard_opened opened = {0};
	struct stat st;
	int r;

	if (!guard)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	profile->ops = &guarded_ops;
	profile->implementation = guard;
	guard->profile = profile;
	guard->limits = limits ? *limits : (struct sp_guard_limits){0};
	if (!guard->limits.memory)
		guard->limits.memory = DEFAULT_MEMORY;
	guard->path = realpath(profile->path, NULL);
	if (!guard->path || stat(guard->path, &st))
		return sp_error_set(error, -errno, 0, "cannot be opened: %s", strerror(errno));
	guard->device = st.st_dev;
	guard->inode = st.st_ino;
	guard->size = (uint64_t)st.st_size;
	if (!guard->limits.cpu_seconds)
		guard->limits.cpu_seconds = default_cpu_seconds(guard->size);
	guard->changed_s = st.st_ctim.tv_sec;
	guard->changed_ns = st.st_ctim.tv_nsec;
	r = sp_guard_ask_open(guard, SP_GUARD_OPEN, &opened, error);
	if (!r)
		r = receive_profile(guard, &opened, error);
	if (!r)
		r = sp_guard_check_same(guard, error);
	return r ? r : sp_profile_opened(profile, error);
}

int sp_profile_open_guarded(const char *path, const struct sp_guard_limits *limits,
			    struct sp_profile **ret_profile, struct sp_error *error)
{
	enum sp_format format;
	struct sp_profile *profile;
	int r = sp_format_detect(path, &format, error);

	if (r)
		return r;
	if (format != SP_FORMAT_HDF5)
		return sp_profile_open(path, ret_profile, error);
	profile = calloc(1, sizeof(*profile));
	if (profile)
		profile->path = strdup(path);
	if (!profile || !profile->path) {
		sp_profile_free(profile);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	profile->info.format = format;
	profile->info.ticks = profile->info.hz = -1;
	r = open_guarded(profile, limits, error);
	if (r) {
		sp_profile_free(profile);
		return r;
	}
	*ret_profile = profile;
	return 0;
}
