/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stack_end.h - the words for why a user stack ends where it does (enum sp_stack_end of wire.h).
 *
 * The one place for them: what is counted, dumped, shown and warned about says it alike.
 */
#ifndef SP_FORMATS_STACK_END_H
#define SP_FORMATS_STACK_END_H

#include <stdbool.h>

#include "formats/api.h"
#include "formats/wire.h"

SP_API_BEGIN

/* Short name, as in JSON and in tables: "complete", "no table". "unknown" for what this version
 * does not know; never NULL. */
const char *sp_stack_end_name(unsigned end);

/* What a reader of counts is told, to stand behind a number, 1 or more: "12 ended in code without
 * unwind tables". Never NULL. */
const char *sp_stack_end_text(unsigned end);

/* What helps, or why nothing does: one sentence without a full stop, "" where there is nothing to
 * be said (complete). Never NULL. */
const char *sp_stack_end_help(unsigned end);

/* Whether the stack has all its callers, up to the start of its thread. */
static inline bool sp_stack_end_is_complete(unsigned end)
{
	return end == SP_STACK_COMPLETE;
}

/* Whether callers were wanted and are known to be missing, or may be: all but a whole stack, a mere
 * address that was all that was asked for, and the unknown end of an older recording. */
static inline bool sp_stack_end_is_short(unsigned end)
{
	return end != SP_STACK_COMPLETE && end != SP_STACK_LEAF && end != SP_STACK_UNKNOWN;
}

SP_API_END

#endif
