/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/stacks.h"

#include <stdio.h>
#include <string.h>

#include "formats/stack_end.h"
#include "userspace/base/log.h"
#include "userspace/base/units.h"

#define MOST_CAUSES 3
#define MOST_FILES 3

/* The address whose caller could not be found. */
static uint64_t last_address(const struct sp_ev_sample *sample)
{
	const uint64_t *stack = (const uint64_t *)(sample + 1);
	size_t frames = sample->tail_bytes / sizeof(*stack);

	return frames > sample->kernel_frames ? stack[frames - 1] : sample->ip;
}

void sp_stacks_add(struct sp_stacks *stacks, struct sp_unwind *unwind,
		   const struct sp_ev_sample *sample)
{
	unsigned end = sample->stack_end < SP_STACK_END_MAX ? sample->stack_end : SP_STACK_UNKNOWN;

	stacks->ends[end]++;
	stacks->last = end;
	if (unwind && sp_stack_end_is_short(end) && end != SP_STACK_BUSY)
		sp_unwind_blame(unwind, sample->process, last_address(sample), end);
}

void sp_stacks_add_copy(struct sp_stacks *stacks)
{
	if (!stacks->ends[stacks->last])
		return;
	stacks->ends[stacks->last]--;
	stacks->copied++;
}

/* Without those that had no user stack, which is nobody's fault. */
static uint64_t count_wanted(const struct sp_stacks *stacks)
{
	uint64_t sum = stacks->ends[SP_STACK_COMPLETE];

	for (unsigned i = 0; i < SP_STACK_END_MAX; i++)
		if (sp_stack_end_is_short(i) && i != SP_STACK_BUSY)
			sum += stacks->ends[i];
	return sum;
}

static void add_files(char *text, size_t room, const struct sp_unwind *unwind, unsigned end)
{
	const char *names[MOST_FILES];
	size_t n = unwind ? sp_unwind_worst(unwind, end, names, MOST_FILES) : 0, at = strlen(text);

	for (size_t i = 0; i < n && at < room; i++) {
		const char *slash = strrchr(names[i], '/');

		at += (size_t)snprintf(text + at, room - at, "%s%s%s", i ? ", " : " (",
				       slash && slash[1] ? slash + 1 : names[i],
				       i + 1 == n ? ")" : "");
	}
}

/* The most frequent cause that is not in @said, 0 for none. */
static unsigned next_cause(const struct sp_stacks *stacks, uint32_t said)
{
	unsigned best = 0;

	for (unsigned i = 1; i < SP_STACK_END_MAX; i++)
		if (sp_stack_end_is_short(i) && i != SP_STACK_BUSY && !(said & 1u << i) &&
		    stacks->ends[i] && (!best || stacks->ends[i] > stacks->ends[best]))
			best = i;
	return best;
}

void sp_stacks_say(const struct sp_stacks *stacks, const struct sp_unwind *unwind)
{
	uint64_t wanted = count_wanted(stacks), complete = stacks->ends[SP_STACK_COMPLETE];
	unsigned first = next_cause(stacks, 0), cause = first;
	uint32_t said = 0;
	char text[1024] = "";

	if (stacks->copied)
		snprintf(text, sizeof(text),
			 "; %s more, earlier than their tables, to be unwound from copies",
			 sp_show_count(stacks->copied).text);
	if (!wanted || stacks->ends[SP_STACK_FRAME_POINTERS] == wanted)
		return;
	for (int i = 0; i < MOST_CAUSES && cause; i++) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "; %s %s",
			 sp_show_count(stacks->ends[cause]).text, sp_stack_end_text(cause));
		add_files(text, sizeof(text), unwind, cause);
		said |= 1u << cause;
		cause = next_cause(stacks, said);
	}
	/* Rounded down: 100 % is all. */
	sp_log_info("stacks: %.4g %% complete%s%s", (double)(complete * 1000 / wanted) / 10, text,
		    cause ? "; …" : "");
	if (first && complete * 100 < wanted * 99 && sp_stack_end_help(first)[0])
		sp_log_hint("%s", sp_stack_end_help(first));
}
