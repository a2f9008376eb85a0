/* SPDX-License-Identifier: BSD-2-Clause
 *
 * session.h - one recording, from its options to its files.
 */
#ifndef SP_LOADER_SESSION_H
#define SP_LOADER_SESSION_H

#include "loader/command.h"
#include "loader/options.h"

/* Records and converts; says all there is to say. Returns the status to exit with: the command's,
 * if one was started and the recording is in order, else 0 or 1. */
int sp_session_run(const struct sp_options *options, const struct sp_command_given *given);

#endif
