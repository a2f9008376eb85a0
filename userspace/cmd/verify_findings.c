/* SPDX-License-Identifier: BSD-2-Clause
 *
 * verify_findings.c - what verify warns of, in words.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/base/units.h"
#include "userspace/cmd/verify.h"

#define PROGRESS_EVERY_NS 200000000

/* For one and for many; "%s" is how many. */
static const struct {
	const char *one, *many;
} words[SP_FIND_N] = {
	[SP_FIND_REVERSED] = {"a call ends before it starts", "%s calls end before they start"},
	[SP_FIND_UNORDERED] = {"a call starts before the one that stands before it",
			       "%s calls start before the one that stands before them"},
	[SP_FIND_PARENT_LATER] = {"a call's parent has an id that is not smaller than its own",
				  "%s calls have a parent whose id is not smaller than theirs"},
	[SP_FIND_CALL_THREAD] = {"a call names a thread that the table does not have",
				 "%s calls name a thread that the table does not have"},
	[SP_FIND_CALL_TASK] = {"a call names a task that the table does not have",
			       "%s calls name a task that the table does not have"},
	[SP_FIND_CHILD_LONGER] = {"the calls inside of a call took longer than itself",
				  "%s calls took less than the calls inside of them"},
	[SP_FIND_FLAGS] = {"a call has flags of a meaning that is not known",
			   "%s calls have flags of a meaning that is not known"},
	[SP_FIND_CROSSING] = {"a call crosses another one of its lane instead of lying inside or "
			      "beside it: no flame chart can show it",
			      "%s calls cross another one of their lane instead of lying inside or "
			      "beside it: no flame chart can show them"},
	[SP_FIND_SELF_LARGER] = {"a row's self time is larger than its total",
				 "%s rows have a self time that is larger than their total"},
	[SP_FIND_THREAD_TWICE] = {"two threads of a rank have one index",
				  "%s threads have the index of another one of their rank"},
	[SP_FIND_TASK_TWICE] = {"two tasks of a rank have one index",
				"%s tasks have the index of another one of their rank"},
	[SP_FIND_TABLE_TIMES] = {"a thread, task or process ends before it starts",
				 "%s threads, tasks or processes end before they start"},
	[SP_FIND_MODULE_RANGE] = {"a module ends before it starts",
				  "%s modules end before they start"},
	[SP_FIND_SAMPLE_RANK] = {"a sample is of a rank that the profile does not have",
				 "%s samples are of ranks that the profile does not have"},
	[SP_FIND_METADATA] = {"the recording ended before it started",
			      "the recording ended before it started"},
	[SP_FIND_TICKS] = {"there are more samples than the timer ticked",
			   "there are more samples than the timer ticked"},
	[SP_FIND_UNKNOWN_EVENTS] = {"an event is of a kind that this version does not know",
				    "%s events are of kinds that this version does not know"},
	[SP_FIND_UNKNOWN_BLOCKS] = {"a block is of a kind that this version does not know",
				    "%s blocks are of kinds that this version does not know"},
	[SP_FIND_LANES] = {"a thread has no record of its own",
			   "%s threads have no record of their own"},
	[SP_FIND_SITES] = {"a call is of a region whose name is not known",
			   "%s calls are of regions whose name is not known"},
	[SP_FIND_KERNEL_FRAMES] = {"a sample has fewer frames than it says the kernel has",
				   "%s samples have fewer frames than they say the kernel has"},
	[SP_FIND_STACK_END] = {"a stack ends for a reason that this version does not know",
			       "%s stacks end for reasons that this version does not know"},
	[SP_FIND_LOSS_CAUSE] = {"events were lost for a cause that this version does not know",
				"%s times events were lost for a cause that this version does not "
				"know"},
};

void sp_verdict_warn(struct sp_verdict *verdict, enum sp_finding finding, const char *format, ...)
{
	struct sp_tally *tally = &verdict->findings[finding];
	va_list args;

	if (tally->count++)
		return;
	va_start(args, format);
	vsnprintf(tally->first, sizeof(tally->first), format, args);
	va_end(args);
}

int sp_verdict_loss(struct sp_verdict *verdict, const char *where, uint64_t number, bool has_cause,
		    uint64_t count, uint64_t first, uint64_t last)
{
	if (!has_cause)
		return sp_error_set(&verdict->error, -SP_E_DAMAGED, 0,
				    "%s %" PRIu64 " has no cause", where, number);
	if (!count)
		return sp_error_set(&verdict->error, -SP_E_DAMAGED, 0,
				    "%s %" PRIu64 " counts no event", where, number);
	if (first > last)
		return sp_error_set(&verdict->error, -SP_E_DAMAGED, 0,
				    "%s %" PRIu64 " ends at %" PRIu64
				    " ns, before it begins at %" PRIu64,
				    where, number, last, first);
	return 0;
}

char *sp_verdict_tell(const struct sp_verdict *verdict, enum sp_finding finding)
{
	const struct sp_tally *tally = &verdict->findings[finding];
	struct sp_shown count = sp_show_count(tally->count);
	const char *before = words[finding].many;
	const char *after = strstr(before, "%s");
	char *text;
	int n;

	if (tally->count == 1 || !after)
		n = asprintf(&text, "%s%s%s", words[finding].one, tally->first[0] ? ": " : "",
			     tally->first);
	else
		n = asprintf(&text, "%.*s%s%s%s%s", (int)(after - before), before, count.text,
			     after + 2, tally->first[0] ? "; the first is " : "", tally->first);
	return n < 0 ? NULL : text;
}

void sp_verdict_progress(struct sp_verdict *verdict, uint64_t more)
{
	static uint64_t last;
	struct timespec now;
	uint64_t ns;

	verdict->done += more;
	if (!sp_log_has_status())
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (ns - last < PROGRESS_EVERY_NS)
		return;
	if (last)
		sp_log_status("verifying %s … %.0f %%", verdict->path,
			      verdict->all ? 100.0 * (double)verdict->done / (double)verdict->all
					   : 0.0);
	last = ns;
}
