/* SPDX-License-Identifier: BSD-2-Clause
 *
 * facts.h - what is noted about the machine, the command and the program's run-time names.
 */
#ifndef SP_LOADER_FACTS_H
#define SP_LOADER_FACTS_H

#include "loader/identity.h"
#include "loader/look.h"
#include "loader/options.h"
#include "loader/recorder.h"

/* What the recording's files are called: the command's or the first process's name, made safe as a
 * file name. To be freed; NULL if out of memory. */
char *sp_facts_program(const struct sp_options *options);

/* Host, kernel, boot id, user, CPUs, command line, working directory, version. */
void sp_facts_write(struct sp_recorder *recorder, const struct sp_identity *identity,
		    char *const *command);

/* Adds a run-time name; where the kernel side could not read its text, reads it from the process.
 */
void sp_facts_add_name(struct sp_recorder *recorder, struct sp_look *look,
		       const struct sp_ev_dynamic_site *site);

#endif
