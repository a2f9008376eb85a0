/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scope_profiler.c - the functions of scope_profiler.h, on top of the probes of sp_region.h.
 *
 * Responsible for profilers and their names; beginning and ending are scope_profiler_impl.h's. A
 * region is published complete and stays as it is, but for its place, given once, and what a reset
 * subtracts from its counts.
 *
 * Compiled as C99 (link with -pthread where glibc is older than 2.34), or included by
 * scope_profiler.hpp under SP_HEADER_ONLY: then everything is inline, and all translation units
 * share one state.
 */
#if !defined(_POSIX_C_SOURCE) && !defined(_GNU_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "scope_profiler_impl.h"

/* ---- Regions ---- */

SP_PRIV_ uint64_t sp_hash_(const char *name)
{
	uint64_t hash = 14695981039346656037u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 1099511628211u;
	return hash;
}

SP_PRIV_ struct sp_known_ *sp_find_(const sp_profiler *p, const char *name, uint64_t hash)
{
	struct sp_known_ *known = SP_SEE_(&p->bucket[hash % SP_BUCKETS_]);

	while (known && (known->hash != hash || strcmp(known->name, name) != 0))
		known = known->next;
	return known;
}

/* With the lock held. NULL: out of memory. */
SP_PRIV_ struct sp_known_ *sp_add_(sp_profiler *p, const char *name, uint64_t hash)
{
	unsigned at, k = sp_block_(p->n_regions, &at);
	size_t size = strlen(name) + 1;
	struct sp_known_ *known;
	char *copy = (char *)malloc(size);

	if (copy && !p->block[k]) {
		known = (struct sp_known_ *)calloc((size_t)SP_FIRST_ << k, sizeof(*known));
		SP_PUBLISH_(&p->block[k], known);
	}
	if (!copy || !p->block[k] || p->n_regions == INT32_MAX - (int)SP_FIRST_) {
		free(copy);
		return NULL;
	}
	memcpy(copy, name, size);
	known = &p->block[k][at];
	known->name = copy;
	known->hash = hash;
	known->index = p->n_regions;
	known->next = p->bucket[hash % SP_BUCKETS_];
	return known;
}

/* With the lock held. Registers @name, or gives it the place that it lacks. */
SP_PRIV_ int sp_define_(sp_profiler *p, const char *name, uint64_t hash, const char *file, int line)
{
	struct sp_known_ *known = sp_find_(p, name, hash);
	struct sp_known_ *fresh = known ? NULL : sp_add_(p, name, hash);
	sp_region_t probe;

	if (!known && !fresh)
		return SP_INVALID_REGION;
	/* For a name that it knows, this completes what was not known, and returns the same. */
	probe = sp_region_intern_at(name, file, line > 0 ? (uint32_t)line : 0, NULL);
	if (known) {
		if (file)
			SP_SET_(&known->placed, 1);
		return known->index;
	}
#ifndef SP_REGION_DISABLE
	if (!probe) {
		free(fresh->name);
		return SP_INVALID_REGION;
	}
#endif
	fresh->probe = probe;
	fresh->placed = file != NULL;
	SP_PUBLISH_(&p->bucket[hash % SP_BUCKETS_], fresh);
	SP_PUBLISH_(&p->n_regions, fresh->index + 1);
	return fresh->index;
}

SP_PUB_ int sp_profiler_region_at(sp_profiler *profiler, const char *name, const char *source_file,
				  int source_line)
{
	struct sp_known_ *known;
	uint64_t hash;
	int index;

	if (!profiler)
		return SP_INVALID_REGION;
	if (!SP_SEE_(&profiler->active) || !name) {
		sp_note_(profiler, SP_ERR_INACTIVE);
		return SP_INVALID_REGION;
	}
	hash = sp_hash_(name);
	known = sp_find_(profiler, name, hash);
	if (known && (!source_file || SP_GET_(&known->placed))) {
		sp_note_(profiler, SP_OK);
		return known->index;
	}
	pthread_mutex_lock(&sp_lock_);
	index = sp_define_(profiler, name, hash, source_file, source_line);
	pthread_mutex_unlock(&sp_lock_);
	if (index < 0)
		fprintf(stderr, "scope_profiler: no memory for the region '%s'; not recorded\n",
			name);
	sp_note_(profiler, index < 0 ? SP_ERR_NO_MEMORY : SP_OK);
	return index;
}

SP_PUB_ int sp_profiler_region(sp_profiler *profiler, const char *name)
{
	return sp_profiler_region_at(profiler, name, NULL, 0);
}

SP_PUB_ int sp_trace_find(const sp_profiler *profiler, const char *name)
{
	const struct sp_known_ *known = NULL;

	if (profiler && name)
		known = sp_find_(profiler, name, sp_hash_(name));
	return known ? known->index : SP_INVALID_REGION;
}

SP_PUB_ int sp_profiler_num_regions(const sp_profiler *profiler)
{
	return profiler ? SP_SEE_(&profiler->n_regions) : 0;
}

SP_PUB_ const char *sp_profiler_region_name(const sp_profiler *profiler, int region)
{
	return sp_exists_(profiler, region) ? sp_known_at_(profiler, region)->name : NULL;
}

/* ---- Profilers ---- */

SP_PUB_ sp_profiler *sp_create(const char *prefix, int rank)
{
	sp_profiler *p = (sp_profiler *)calloc(1, sizeof(*p));

	(void)prefix;
	(void)rank;
	if (!p)
		return NULL;
	p->active = 1;
	p->format = SP_OUTPUT_HDF5;
	pthread_mutex_lock(&sp_lock_);
	if (!sp_key_state_) {
		sp_key_state_ = pthread_key_create(&sp_key_, sp_thread_exit_) ? -1 : 1;
		/* Without it, a child could meet the lock held, by a thread it lacks. */
		(void)pthread_atfork(sp_fork_prepare_, sp_fork_parent_, sp_fork_child_);
	}
	p->id = ++sp_last_id_;
	p->next = sp_live_;
	sp_live_ = p;
	pthread_mutex_unlock(&sp_lock_);
	return p;
}

SP_PUB_ void sp_destroy(sp_profiler *profiler)
{
	sp_profiler **at = &sp_live_;
	int i;

	if (!profiler)
		return;
	/* Threads find their record by the profiler's id, which from here on is nobody's. */
	pthread_mutex_lock(&sp_lock_);
	while (*at != profiler)
		at = &(*at)->next;
	*at = profiler->next;
	pthread_mutex_unlock(&sp_lock_);

	while (profiler->threads) {
		struct sp_thread_ *t = profiler->threads;

		profiler->threads = t->next;
		for (i = 0; i < SP_BLOCKS_; i++)
			free(t->block[i]);
		free(t->open);
		free(t);
	}
	for (i = 0; i < profiler->n_regions; i++)
		free(sp_known_at_(profiler, i)->name);
	for (i = 0; i < SP_BLOCKS_; i++)
		free(profiler->block[i]);
	free(profiler);
}

SP_PUB_ int sp_profiler_is_active(const sp_profiler *profiler)
{
	return profiler && SP_SEE_(&profiler->active);
}

SP_PUB_ sp_status sp_profiler_last_error(const sp_profiler *profiler)
{
	return profiler ? (sp_status)SP_GET_(&profiler->last_error) : SP_OK;
}

SP_PUB_ int sp_profiler_reset(sp_profiler *profiler)
{
	int status = SP_OK;
	int i;

	if (!profiler)
		return SP_ERR_INACTIVE;
	pthread_mutex_lock(&sp_lock_);
	/* What was open when it was finalized is over. */
	for (i = 0; i < profiler->n_regions && SP_GET_(&profiler->active); i++)
		if (sp_open_calls_(profiler, i))
			status = SP_ERR_OPEN_SCOPES;
	/* Only its own thread writes a count, so they run on and their past is subtracted. */
	for (i = 0; i < profiler->n_regions && status == SP_OK; i++)
		SP_SET_(&sp_known_at_(profiler, i)->before, sp_all_calls_(profiler, i));
	pthread_mutex_unlock(&sp_lock_);
	return sp_note_(profiler, status);
}

SP_PRIV_ int sp_stop_(sp_profiler *p, int loud)
{
	int status = SP_OK;
	int i;

	if (!p)
		return SP_OK;
	pthread_mutex_lock(&sp_lock_);
	for (i = 0; i < p->n_regions && SP_GET_(&p->active); i++) {
		int64_t open = sp_open_calls_(p, i);

		if (!open)
			continue;
		status = sp_note_(p, SP_ERR_OPEN_SCOPES);
		if (loud)
			fprintf(stderr,
				"scope_profiler: finalized with '%s' open %lld deep; a recording "
				"shows it without an end\n",
				sp_known_at_(p, i)->name, (long long)open);
	}
	SP_PUBLISH_(&p->active, 0);
	pthread_mutex_unlock(&sp_lock_);
	return status;
}

SP_PUB_ int sp_trace_finalize(sp_profiler *profiler)
{
	return sp_stop_(profiler, 0);
}

SP_PUB_ int sp_profiler_finalize(sp_profiler *profiler)
{
	sp_stop_(profiler, 1);
	return 0;
}

/* ---- Calls ---- */

/* The first few times: an unmatched end in a hot loop must not fill a disk. */
SP_PRIV_ __attribute__((cold)) void sp_complain_(const char *what, const sp_profiler *p, int region)
{
	int n = __atomic_add_fetch(&sp_messages_, 1, __ATOMIC_RELAXED);

	if (n <= SP_MAX_MESSAGES_)
		fprintf(stderr, "scope_profiler: %s '%s'%s\n", what, sp_known_at_(p, region)->name,
			n == SP_MAX_MESSAGES_ ? " (further messages are not shown)" : "");
	else
		SP_SET_(&sp_messages_, SP_MAX_MESSAGES_);
}

SP_PUB_ int sp_trace_begin(sp_profiler *profiler, int region)
{
	int64_t slot;

	return sp_enter_(profiler, region, &slot);
}

SP_PUB_ int sp_trace_end(sp_profiler *profiler, int region)
{
	struct sp_thread_ *t;
	size_t i;

	if (!profiler || !SP_SEE_(&profiler->active))
		return SP_ERR_INACTIVE;
	if (!sp_exists_(profiler, region))
		return SP_ERR_UNSUPPORTED;
	if (!sp_innermost_(profiler, region, &t, &i))
		return sp_note_(profiler, SP_ERR_UNMATCHED_END);
	return sp_leave_(profiler, t, i);
}

SP_PUB_ void sp_profiler_begin(sp_profiler *profiler, int region)
{
	int64_t slot;

	if (sp_enter_(profiler, region, &slot) == SP_ERR_NO_MEMORY)
		sp_complain_("no memory to count a call of", profiler, region);
}

SP_PUB_ void sp_profiler_end(sp_profiler *profiler, int region)
{
	if (sp_trace_end(profiler, region) == SP_ERR_UNMATCHED_END)
		sp_complain_("an end without a begin in this thread:", profiler, region);
}

SP_PUB_ int sp_profiler_end_last(sp_profiler *profiler)
{
	struct sp_thread_ *t;

	if (!profiler)
		return SP_ERR_UNMATCHED_END;
	t = SP_SEE_(&profiler->active) ? sp_thread_of_(profiler) : NULL;
	if (!t || !t->n_open)
		return sp_note_(profiler, SP_ERR_UNMATCHED_END);
	return sp_leave_(profiler, t, t->n_open - 1);
}

SP_PUB_ sp_scope sp_profiler_scope_begin(sp_profiler *profiler, int region)
{
	sp_scope scope;

	scope.profiler = profiler;
	scope.region = region;
	scope.slot = -1;
	if (sp_enter_(profiler, region, &scope.slot) == SP_ERR_NO_MEMORY)
		sp_complain_("no memory to count a call of", profiler, region);
	return scope;
}

SP_PUB_ int sp_scope_end(sp_scope *scope)
{
	struct sp_thread_ *t;
	size_t i;

	if (!scope || scope->slot < 0)
		return SP_ERR_UNMATCHED_END;
	if (!sp_profiler_is_active(scope->profiler) ||
	    !sp_exists_(scope->profiler, scope->region)) {
		scope->slot = -1;
		return SP_ERR_UNMATCHED_END;
	}
	if (!sp_innermost_(scope->profiler, scope->region, &t, &i) ||
	    t->open[i].slot != scope->slot)
		return sp_note_(scope->profiler, SP_ERR_UNMATCHED_END);
	scope->slot = -1;
	return sp_leave_(scope->profiler, t, i);
}

SP_PUB_ int64_t sp_trace_num_calls(const sp_profiler *profiler, int region)
{
	if (!sp_exists_(profiler, region))
		return 0;
	return sp_all_calls_(profiler, region) - SP_GET_(&sp_known_at_(profiler, region)->before);
}

SP_PUB_ int64_t sp_trace_num_open(const sp_profiler *profiler, int region)
{
	int64_t open;

	if (!sp_exists_(profiler, region))
		return 0;
	pthread_mutex_lock(&sp_lock_);
	open = sp_open_calls_(profiler, region);
	pthread_mutex_unlock(&sp_lock_);
	return open;
}

SP_PUB_ int sp_profiler_get_region_stats(const sp_profiler *profiler, int region,
					 sp_region_stats *stats)
{
	if (!stats || !sp_exists_(profiler, region))
		return SP_ERR_INACTIVE;
	stats->calls = sp_trace_num_calls(profiler, region);
	stats->total_ns = stats->min_ns = stats->max_ns = -1;
	return SP_ERR_UNSUPPORTED;
}

/* ---- Sites of sp_region.F90.inc ---- */

/* Fortran pads its texts with blanks. */
SP_PRIV_ size_t sp_trimmed_(const char *text, int length)
{
	while (length > 0 && text[length - 1] == ' ')
		length--;
	return length > 0 ? (size_t)length : 0;
}

SP_PRIV_ __attribute__((cold)) sp_region_t sp_site_make_(intptr_t *site, const char *name,
							 int name_len, const char *file,
							 int file_len, int line, const char *tags,
							 int tags_len)
{
	size_t n = sp_trimmed_(name, name_len), f = sp_trimmed_(file, file_len);
	size_t t = sp_trimmed_(tags, tags_len);
	char *text = (char *)calloc(n + f + t + 3, 1);
	sp_region_t region;

	if (!text)
		return NULL;
	memcpy(text, name, n);
	memcpy(text + n + 1, file, f);
	if (t)
		memcpy(text + n + f + 2, tags, t);
	region = sp_region_intern_at(text, text + n + 1, line > 0 ? (uint32_t)line : 0,
				     t ? text + n + f + 2 : NULL);
	free(text);
	SP_PUBLISH_(site, (intptr_t)region);
	return region;
}

SP_PUB_ void sp_trace_site_begin(intptr_t *site, const char *name, int name_len, const char *file,
				 int file_len, int line, const char *tags, int tags_len)
{
	sp_region_t region = (sp_region_t)SP_SEE_(site);

	if (!region)
		region = sp_site_make_(site, name, name_len, file, file_len, line, tags, tags_len);
	sp_handle_begin_v1(region);
}

SP_PUB_ void sp_trace_site_end(intptr_t *site, const char *name, int name_len, const char *file,
			       int file_len, int line)
{
	sp_region_t region = (sp_region_t)SP_SEE_(site);

	if (!region)
		region = sp_site_make_(site, name, name_len, file, file_len, line, NULL, 0);
	sp_handle_end_v1(region);
}

/* ---- What the recorder does instead, and the small rest ---- */

SP_PUB_ const char *sp_error_string(sp_status status)
{
	switch (status) {
	case SP_OK:
		return "no error";
	case SP_ERR_INACTIVE:
		return "no active profiler, or no such region";
	case SP_ERR_NO_CLOCK:
		return "no monotonic clock";
	case SP_ERR_NO_MEMORY:
		return "no memory left";
	case SP_ERR_IO:
		return "cannot write the output";
	case SP_ERR_UNMATCHED_END:
		return "nothing open that this could end";
	case SP_ERR_OPEN_SCOPES:
		return "calls are still open";
	case SP_ERR_UNSUPPORTED:
		return "not known in this process, or not a valid request";
	}
	return "not a status of scope_profiler";
}

SP_PUB_ int sp_hdf5_available(void)
{
	return 1;
}

SP_PUB_ sp_output_format sp_default_output_format(void)
{
	return SP_OUTPUT_HDF5;
}

SP_PUB_ int sp_profiler_set_output_format(sp_profiler *profiler, sp_output_format format)
{
	if (!sp_profiler_is_active(profiler))
		return SP_ERR_INACTIVE;
	if (format != SP_OUTPUT_HDF5 && format != SP_OUTPUT_TRACE)
		return sp_note_(profiler, SP_ERR_UNSUPPORTED);
	SP_SET_(&profiler->format, (int)format);
	return sp_note_(profiler, SP_OK);
}

SP_PUB_ sp_output_format sp_profiler_output_format(const sp_profiler *profiler)
{
	return profiler ? (sp_output_format)SP_GET_(&profiler->format) : SP_OUTPUT_HDF5;
}

SP_PUB_ const char *sp_profiler_output_path(const sp_profiler *profiler)
{
	return profiler ? "(no file: recorded by sp-trace)" : NULL;
}

SP_PUB_ int sp_profiler_flush(sp_profiler *profiler)
{
	(void)profiler;
	return 0;
}

SP_PUB_ int sp_profiler_start_sampling(sp_profiler *profiler, int hz)
{
	if (!sp_profiler_is_active(profiler))
		return SP_ERR_INACTIVE;
	return hz > 0 && hz <= 1000000 ? SP_OK : SP_ERR_UNSUPPORTED;
}

SP_PUB_ int sp_profiler_stop_sampling(sp_profiler *profiler)
{
	(void)profiler;
	return SP_OK;
}

SP_PUB_ int64_t sp_now_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now))
		return -1;
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- The default profiler ---- */

SP_PUB_ sp_profiler *sp_default_profiler(void)
{
	return SP_SEE_(&sp_default_);
}

SP_PUB_ int sp_init(const char *prefix, int rank)
{
	sp_profiler *old = sp_default_profiler();

	SP_PUBLISH_(&sp_default_, sp_create(prefix, rank));
	sp_destroy(old);
	if (sp_default_profiler())
		return 0;
	fprintf(stderr, "scope_profiler: no memory for a profiler; regions are not recorded\n");
	return 1;
}

SP_PUB_ int sp_region(const char *name)
{
	return sp_profiler_region(sp_default_profiler(), name);
}

SP_PUB_ int sp_region_at(const char *name, const char *source_file, int source_line)
{
	return sp_profiler_region_at(sp_default_profiler(), name, source_file, source_line);
}

SP_PUB_ void sp_begin(int region)
{
	sp_profiler_begin(sp_default_profiler(), region);
}

SP_PUB_ void sp_end(int region)
{
	sp_profiler_end(sp_default_profiler(), region);
}

SP_PUB_ int64_t sp_num_calls(int region)
{
	return sp_trace_num_calls(sp_default_profiler(), region);
}

SP_PUB_ int sp_is_active(void)
{
	return sp_profiler_is_active(sp_default_profiler());
}

SP_PUB_ int sp_set_output_format(sp_output_format format)
{
	return sp_profiler_set_output_format(sp_default_profiler(), format);
}

SP_PUB_ sp_output_format sp_current_output_format(void)
{
	return sp_profiler_output_format(sp_default_profiler());
}

SP_PUB_ const char *sp_output_path(void)
{
	return sp_profiler_output_path(sp_default_profiler());
}

SP_PUB_ int sp_finalize(void)
{
	return sp_profiler_finalize(sp_default_profiler());
}

SP_PUB_ int sp_start_sampling(int hz)
{
	return sp_profiler_start_sampling(sp_default_profiler(), hz);
}

SP_PUB_ int sp_stop_sampling(void)
{
	return sp_profiler_stop_sampling(sp_default_profiler());
}
