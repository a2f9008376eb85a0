/* SPDX-License-Identifier: BSD-2-Clause
 *
 * first.c - regions where a recorder might come too late or leave too early: in constructors, of
 *the program and of its library, as the very first and last statement, and at exit.
 *
 *	first [LIBRARY]		LIBRARY is loaded and called while running, too
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "usdt/sp_region.h"

void firstlib_call(void);

__attribute__((constructor)) static void constructor(void)
{
	SP_REGION_BEGIN("program constructor");
	SP_REGION_END("program constructor");
}

static void at_exit(void)
{
	SP_REGION_BEGIN("at exit");
	SP_REGION_END("at exit");
}

int main(int argc, char **argv)
{
	SP_REGION_BEGIN("first statement");
	SP_REGION_END("first statement");
	atexit(at_exit);
	firstlib_call();
	if (argc > 1) {
		void *library = dlopen(argv[1], RTLD_NOW);
		void (*call)(void) =
			library ? (void (*)(void))dlsym(library, "firstlib_call") : NULL;

		if (!call) {
			fprintf(stderr, "first: %s\n", dlerror());
			return 9;
		}
		call();
	}
	SP_REGION_BEGIN("last statement");
	SP_REGION_END("last statement");
	return 0;
}
