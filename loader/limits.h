/* SPDX-License-Identifier: BSD-2-Clause
 *
 * limits.h - limits that we were started with, and that are too narrow for us. The command gets
 * them back (command.h).
 */
#ifndef SP_LOADER_LIMITS_H
#define SP_LOADER_LIMITS_H

#include "loader/command.h"

/* Raises those of open files and of the stack as far as we may. -ENOMEM, logged, where the stack
 * stays too small. */
int sp_limits_raise(const struct sp_command_given *given);

#endif
