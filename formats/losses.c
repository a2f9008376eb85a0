/* SPDX-License-Identifier: BSD-2-Clause
 *
 * losses.c - the causes of losses: what they are called, what they mean, and what is missing then.
 */
#include <string.h>

#include "formats/codec.h"

static const struct {
	const char *name, *help;
} losses[SP_LOSS_MAX] = {
	[SP_LOSS_NONE] = {"unknown cause", "a newer sp-trace wrote this recording"},
	[SP_LOSS_CALL_RING_FULL] =
		{"call ring full",
		 "the recorder could not keep up: give it a CPU or a larger --ring-size"},
	[SP_LOSS_SAMPLE_RING_FULL] = {"sample ring full",
				      "sample less often (-F), or use a larger --sample-ring-size"},
	[SP_LOSS_CONTROL_RING_FULL] = {"control ring full",
				       "threads or names came faster than they could be noted"},
	[SP_LOSS_STORAGE] = {"no task storage",
			     "the kernel had no memory for a thread's open regions"},
	[SP_LOSS_DEPTH] = {"nested too deeply", "regions more than 80 deep are not recorded"},
	[SP_LOSS_UNMATCHED_END] =
		{"end without a begin",
		 "the region began before its probes were armed, or its begin is missing or has "
		 "another name, or it was ended twice"},
	[SP_LOSS_UNKNOWN_SITE] = {"unknown region site",
				  "the binary's region table could not be read"},
	[SP_LOSS_TABLE_FULL] = {"name table full", "the program makes too many names at run time"},
	[SP_LOSS_NAME_UNREADABLE] = {"name unreadable", "the name's memory could not be read"},
	[SP_LOSS_PROGRAM_SKIPPED] = {"probe skipped by the kernel",
				     "a BPF program was still running on that CPU"},
	[SP_LOSS_STACK_UNREADABLE] = {"stack unreadable", "the sample is kept without its stack"},
	[SP_LOSS_DISK] = {"not written", "the disk was full or refused the data"},
	[SP_LOSS_DISK_SAMPLES] = {"sample not written", "the disk was full or refused the data"},
	[SP_LOSS_DISK_FACTS] =
		{"record not written",
		 "the disk was full or refused the data: names of threads, regions or "
		 "files may be missing"},
	[SP_LOSS_THINNED] = {"thinned", "so that it costs less, the program did not fire them"},
	[SP_LOSS_ARMED_LATE] = {"armed late",
				"a program or library was mapped before its probes were armed, "
				"or they could not be: if regions of it ran then, they are missing"},
	[SP_LOSS_STACK_COPY] =
		{"stack copy ring full",
		 "these samples have the stack that the kernel side found: sample less "
		 "often (-F), or copy less (--stacks dwarf,BYTES)"},
	[SP_LOSS_LATE_END] =
		{"end that came too late",
		 "its call had been closed, by the end of one around it or because its "
		 "function was left"},
	[SP_LOSS_MAPPING] =
		{"mapping not seen",
		 "all processes of the machine mapped files faster than it could be noted: where "
		 "one of the recorded did, addresses in that file have no name, and its regions "
		 "may be missing"},
	[SP_LOSS_UNFINISHED] = {"open at the journal's end",
				"the recorder died, or is still at it: how these calls ended is not "
				"in it"},
	[SP_LOSS_SAMPLE_THROTTLED] =
		{"sample not taken",
		 "the kernel throttled sampling, or came too late: use a lower -F"},
};

const char *sp_loss_name(unsigned cause)
{
	return cause < SP_LOSS_MAX && losses[cause].name ? losses[cause].name : losses[0].name;
}

const char *sp_loss_help(unsigned cause)
{
	return cause < SP_LOSS_MAX && losses[cause].name ? losses[cause].help : losses[0].help;
}

unsigned sp_loss_find(const char *name)
{
	for (unsigned cause = 1; cause < SP_LOSS_MAX; cause++)
		if (losses[cause].name && !strcmp(losses[cause].name, name))
			return cause;
	return SP_LOSS_NONE;
}

enum sp_loss_of sp_loss_of(unsigned cause)
{
	switch (cause) {
	case SP_LOSS_NONE: /* of a newer version: it may be anything */
	case SP_LOSS_CALL_RING_FULL:
	case SP_LOSS_STORAGE:
	case SP_LOSS_DEPTH:
	case SP_LOSS_PROGRAM_SKIPPED:
	case SP_LOSS_DISK:
	case SP_LOSS_ARMED_LATE:
	case SP_LOSS_THINNED:
	case SP_LOSS_UNFINISHED:
		return SP_LOSS_OF_CALLS;
	case SP_LOSS_SAMPLE_RING_FULL:
	case SP_LOSS_SAMPLE_THROTTLED:
	case SP_LOSS_DISK_SAMPLES:
		return SP_LOSS_OF_SAMPLES;
	default:
		return SP_LOSS_OF_FACTS;
	}
}

bool sp_loss_is_gap(unsigned cause)
{
	return cause != SP_LOSS_STACK_UNREADABLE && cause != SP_LOSS_STACK_COPY &&
	       cause != SP_LOSS_UNMATCHED_END && cause != SP_LOSS_LATE_END;
}
