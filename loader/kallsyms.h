/* SPDX-License-Identifier: BSD-2-Clause
 *
 * kallsyms.h - names of the kernel's functions that samples were in, taken while the kernel runs.
 *
 * Where the kernel is loaded differs from boot to boot, and its modules come and go, so names
 * cannot be found later. Addresses are collected as samples pass (a set of distinct ones, bounded);
 * at the end /proc/kallsyms is read once, in memory that grows with the addresses, not with the
 * kernel. Symbols of modules are kept from the start, too: one may be unloaded before the end.
 *
 * Life cycle: new, add …, resolve, free.
 */
#ifndef SP_LOADER_KALLSYMS_H
#define SP_LOADER_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"
#include "formats/wire.h"

#define SP_KALLSYMS_ADDRESSES 65536 /* distinct ones that are looked up; more have no name */

struct sp_kallsyms;

/* Where the kernel tells; NULL for /proc/kallsyms and /proc/modules. Costs a reading of the first,
 * some 50 to 200 ms. */
struct sp_kallsyms_paths {
	const char *symbols, *modules;
};

int sp_kallsyms_new(const struct sp_kallsyms_paths *paths, struct sp_kallsyms **ret_kallsyms);

/* Notes the kernel frames of a sample, whose tail follows the struct. A few ns a frame. */
void sp_kallsyms_add(struct sp_kallsyms *kallsyms, const struct sp_ev_sample *sample);

/* A function that was hit. @end 0: unknown. @module "": the kernel itself. */
typedef void sp_kallsyms_found(void *arg, uint64_t address, uint64_t end, const char *name,
			       const char *module);

struct sp_kallsyms_counts {
	size_t addresses, named; /* distinct ones that were hit; those whose function is known */
	size_t dropped;		 /* frames beyond SP_KALLSYMS_ADDRESSES, not looked at */
};

/* Looks all of them up; calls @found once for each function. -EACCES: the kernel hides its
 * addresses; else -errno of reading. @err says which, and what helps. */
int sp_kallsyms_resolve(struct sp_kallsyms *kallsyms, sp_kallsyms_found *found, void *arg,
			struct sp_kallsyms_counts *ret_counts, struct sp_error *err);

void sp_kallsyms_free(struct sp_kallsyms *kallsyms);

#endif
