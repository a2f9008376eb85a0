/* SPDX-License-Identifier: BSD-2-Clause
 *
 * convert.h - having sp-report make the final files of a journal, as the invoking user.
 */
#ifndef SP_LOADER_CONVERT_H
#define SP_LOADER_CONVERT_H

#include <sys/types.h>

#include "loader/identity.h"
#include "loader/options.h"
#include "loader/output.h"

/* Starts it; it prints for itself. -errno, logged. */
int sp_convert_start(const struct sp_options *options, const struct sp_identity *identity,
		     const struct sp_output *output, const char *program, pid_t *ret_pid);
/* Its exit status; -errno logged. */
int sp_convert_wait(pid_t pid, const struct sp_output *output);

#endif
