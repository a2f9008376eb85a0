// SPDX-License-Identifier: BSD-2-Clause
/*
 * stack_end.c - see stack_end.h.
 */
#include "formats/stack_end.h"

static const struct {
	const char *name, *text, *help;
} ends[] = {
	[SP_STACK_UNKNOWN] = {"unknown", "ended for an unknown reason",
			      "an older recorder did not write it down"},
	[SP_STACK_COMPLETE] = {"complete", "complete", ""},
	[SP_STACK_LEAF] = {"leaf", "the address alone, as asked for",
			   "record with --stacks eh for callers"},
	[SP_STACK_TRUNCATED] = {"truncated", "cut off at the most frames that are kept",
				"the outermost callers are missing; deep recursion is the usual "
				"reason"},
	[SP_STACK_NO_MAPPING] = {"no mapping", "ended at an address that is in no known mapping",
				 "code made at run time, or a mapping that came just before"},
	[SP_STACK_PENDING] = {"pending", "ended in code whose unwind table was still being made",
			      "that happens shortly after a program or a library is loaded"},
	[SP_STACK_NO_TABLE] = {"no table", "ended in code without unwind tables",
			       "compile it with -fasynchronous-unwind-tables or "
			       "-fno-omit-frame-pointer"},
	[SP_STACK_NO_RULE] = {"no rule",
			      "ended at an address of which the unwind table says nothing",
			      "hand-written assembly without .cfi directives is the usual reason"},
	[SP_STACK_UNSUPPORTED] = {"unsupported",
				  "ended at an unwind rule that sp-trace cannot follow",
				  "--stacks dwarf unwinds such code afterwards"},
	[SP_STACK_UNREADABLE] = {"unreadable", "ended where the stack's memory could not be read",
				 "memory that is swapped out, or a stack that is overwritten"},
	[SP_STACK_NO_PROGRESS] = {"no progress", "ended where the next frame would lie below",
				  "a stack that is overwritten, or a wrong unwind table"},
	[SP_STACK_BUSY] = {"busy", "without user registers",
			   "in the middle of an exec or an exit there is no user stack"},
	[SP_STACK_FRAME_POINTERS] =
		{"frame pointers", "followed by frame pointers alone, may lack callers",
		 "that is --stacks fp, or a process whose tables were not there "
		 "yet"},
};

_Static_assert(sizeof(ends) / sizeof(ends[0]) == SP_STACK_END_MAX, "one line for each end");

static unsigned known(unsigned end)
{
	return end < SP_STACK_END_MAX ? end : SP_STACK_UNKNOWN;
}

const char *sp_stack_end_name(unsigned end)
{
	return ends[known(end)].name;
}

const char *sp_stack_end_text(unsigned end)
{
	return ends[known(end)].text;
}

const char *sp_stack_end_help(unsigned end)
{
	return ends[known(end)].help;
}
