/* SPDX-License-Identifier: BSD-2-Clause
 *
 * dump.h - the parts of sp-report dump: one for profiles of every format, one for journals.
 */
#ifndef SP_CMD_DUMP_H
#define SP_CMD_DUMP_H

#include "formats/profile_read.h"
#include "userspace/cmd/dump_out.h"

/* Each writes all sections that are wanted. Failures: 0 or -errno, with the reason in @error; what
 * was written up to there stays written. They stop early, with 0, where the output fails. */
int sp_dump_profile(struct sp_dump *dump, struct sp_profile *profile, struct sp_error *error);
int sp_dump_journal(struct sp_dump *dump, const char *path, struct sp_error *error);

/* dump_profile.c's share that dump_parts.c has: everything but regions, rows, calls, samples … */
int sp_dump_facts(struct sp_dump *dump, struct sp_profile *profile, struct sp_error *error);
int sp_dump_tables(struct sp_dump *dump, struct sp_profile *profile, struct sp_error *error);
int sp_dump_extras(struct sp_dump *dump, struct sp_profile *profile, struct sp_error *error);
/* … and that dump_samples.c has. */
int sp_dump_samples(struct sp_dump *dump, struct sp_profile *profile, struct sp_error *error);

#endif
