/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libraries.h - which shared libraries a program would load.
 */
#ifndef SP_LOADER_LIBRARIES_H
#define SP_LOADER_LIBRARIES_H

#include "loader/identity.h"

/* Calls back with the path of each library that the dynamic linker finds for the program @path,
 * which is open as @fd. The program is not trusted: the linker runs locked in (helpers/sp_libs.c),
 * for @runner if that one is about to run the program anyway, else (NULL) as the owner of the file,
 * who then learns nothing new. The paths are what a hostile program says, and may be anything.
 * Nothing is called back where the linker fails or takes more than a second. Costs some
 * milliseconds. */
void sp_libraries_list(const char *path, int fd, const struct sp_identity *runner,
		       void (*cb)(void *arg, const char *path), void *arg);

#endif
