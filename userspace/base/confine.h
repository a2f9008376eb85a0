/* SPDX-License-Identifier: BSD-2-Clause
 *
 * confine.h - what a child gives up before it reads files that nobody vouches for.
 */
#ifndef SP_BASE_CONFINE_H
#define SP_BASE_CONFINE_H

#include <sys/types.h>

#include "userspace/base/user.h"

/* To be called first thing in a forked child of @parent; ends it if that is gone already. A damaged
 * file must cost no more than its own answers: the child dies with its parent, can gain no rights,
 * leaves no core file, asks no debuginfod, and what libraries print goes nowhere. Of system calls it
 * has those that read files and answer its parent; where a kernel takes no filters, it goes on
 * without one. Root's child becomes @user, for good; where that is root, it keeps the right to read
 * files and no other. All @children
 * that run at once have three quarters of the machine's memory together, but each enough for any
 * one program's debug information, if there is so much. (The address sanitizer needs its memory and
 * its words: they are not taken from it.) */
void sp_confine_mute(void); /* the part of it that comes first: what is printed goes nowhere */
void sp_confine_child(pid_t parent, unsigned children, const struct sp_user *user);
/* The last step of it. -errno: there is no filter. */
int sp_confine_calls(void);

#endif
