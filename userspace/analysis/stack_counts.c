/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stack_counts.c - see stack_counts.h.
 */
#include "userspace/analysis/stack_counts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/units.h"

#define CHUNK 4096

int sp_stack_counts_read(struct sp_stack_counts *counts, struct sp_profile *profile,
			 struct sp_error *error)
{
	sp_cleanup(sp_freep) struct sp_sample_row *rows = malloc(CHUNK * sizeof(*rows));
	uint64_t all = sp_profile_info(profile)->n_samples;

	if (!rows)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	for (uint64_t at = 0; at < all; at += CHUNK) {
		size_t n = all - at < CHUNK ? (size_t)(all - at) : CHUNK;
		int r = sp_profile_read_samples(profile, at, n, rows, error);

		if (r < 0)
			return r;
		for (size_t i = 0; i < n; i++)
			sp_stack_counts_add(counts, rows[i].stack_end, rows[i].kernel_frames);
	}
	return 0;
}

static bool is_wanted(unsigned end)
{
	return sp_stack_end_is_complete(end) ||
	       (sp_stack_end_is_short(end) && end != SP_STACK_BUSY);
}

/* Stacks that could have been whole; 0: there is nothing to tell. */
static uint64_t count_wanted(const struct sp_stack_counts *counts)
{
	uint64_t sum = 0;

	for (unsigned end = 0; end < SP_STACK_END_MAX; end++)
		sum += is_wanted(end) ? counts->ends[end] : 0;
	return sum;
}

double sp_stack_counts_share(const struct sp_stack_counts *counts)
{
	uint64_t wanted = count_wanted(counts);

	return wanted ? (double)counts->ends[SP_STACK_COMPLETE] / (double)wanted : NAN;
}

static void tell_causes(const struct sp_stack_counts *counts, unsigned most, FILE *out)
{
	bool said[SP_STACK_END_MAX] = {false};

	for (;;) {
		unsigned best = SP_STACK_END_MAX;

		for (unsigned end = 0; end < SP_STACK_END_MAX; end++)
			if (!said[end] && sp_stack_end_is_short(end) && is_wanted(end) &&
			    counts->ends[end] &&
			    (best == SP_STACK_END_MAX || counts->ends[end] > counts->ends[best]))
				best = end;
		if (best == SP_STACK_END_MAX)
			return;
		if (!most--) {
			fputs("; \xe2\x80\xa6", out);
			return;
		}
		said[best] = true;
		fprintf(out, "; %s %s", sp_show_count(counts->ends[best]).text,
			sp_stack_end_text(best));
	}
}

char *sp_stack_counts_tell(const struct sp_stack_counts *counts, unsigned causes)
{
	uint64_t wanted = count_wanted(counts);
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!wanted)
		return strdup("");
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	if (counts->ends[SP_STACK_FRAME_POINTERS] == wanted) {
		fputs("by frame pointers alone, may lack callers", out);
	} else {
		/* Rounded down: 100 % is all. */
		double tenths = floor(sp_stack_counts_share(counts) * 1000);

		fprintf(out, "%.4g %% complete", tenths / 10);
		if (causes)
			tell_causes(counts, causes, out);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

const char *sp_stack_mode_text(const char *mode)
{
	static const char *const modes[][2] = {
		{"eh", "by unwind tables"},
		{"fp", "by frame pointers"},
		{"dwarf", "by unwind tables, and by libdw from copies"},
		{"leaf", "none: the interrupted address alone"},
		{"none", "none"},
	};

	for (size_t i = 0; i < sp_array_size(modes); i++)
		if (!strcmp(modes[i][0], mode))
			return modes[i][1];
	return mode;
}
