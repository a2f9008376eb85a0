/* SPDX-License-Identifier: BSD-2-Clause
 *
 * confine.h - what a child gives up before it reads files that nobody vouches for.
 */
#ifndef SP_BASE_CONFINE_H
#define SP_BASE_CONFINE_H

#include <sys/types.h>

/* To be called first thing in a forked child of @parent; ends it if that is gone already. A damaged
 * file must cost no more than its own answers: the child dies with its parent, can gain no rights,
 * leaves no core file, asks no debuginfod, and what libraries print goes nowhere. All @children
 * that run at once have three quarters of the machine's memory together, but each enough for any
 * one program's debug information, if there is so much. (The address sanitizer needs its memory and
 * its words: they are not taken from it.) */
void sp_confine_child(pid_t parent, unsigned children);

#endif
