/* SPDX-License-Identifier: BSD-2-Clause
 *
 * prearm.h - arming the files of a command before it starts.
 */
#ifndef SP_LOADER_PREARM_H
#define SP_LOADER_PREARM_H

#include "loader/identity.h"
#include "loader/images.h"
#include "loader/look.h"

/* Arms the program that @argv would run, every argument (and every word of one, as in sh -c './app
 * -n 4') that is a readable ELF program, and the shared libraries that these would load. What this
 * misses is armed when it is mapped, milliseconds late. */
int sp_prearm_command(struct sp_images *images, struct sp_look *look, char *const *argv,
		      const struct sp_identity *identity);

/* Arms one program, open as @fd (taken over), and its libraries. @until: when it begins to run
 * (sp_now()), whether they are armed or not. */
int sp_prearm_file(struct sp_images *images, struct sp_look *look, int fd, uint64_t until);

#endif
