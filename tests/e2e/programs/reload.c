/* SPDX-License-Identifier: BSD-2-Clause
 *
 * reload.c - loads libraries with regions, calls and unloads them, again and again: one after
 * another at the same address, if they are as large, and not always at the same one.
 *
 *	reload TIMES LIBRARY...
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++) {
		for (int k = 2; k < argc; k++) {
			void *library = dlopen(argv[k], RTLD_NOW | RTLD_LOCAL);
			void (*call)(void) =
				library ? (void (*)(void))dlsym(library, "firstlib_call") : NULL;

			if (!call) {
				fprintf(stderr, "reload: %s\n", dlerror());
				return 9;
			}
			call();
			dlclose(library);
		}
		if (mmap(NULL, 4096u * (unsigned)(1 + i % 5), PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			return 9;
	}
	return 0;
}
