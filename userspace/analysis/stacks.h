/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks.h - samples with their whole stacks, from any profiles, summed into distinct stacks.
 *
 * Life cycle: new; add files or directories; read (streams the samples, in memory that grows with
 * distinct stacks, not with samples); symbols are resolved; walk the stacks; free. A million
 * samples of 30 frames take about a second.
 */
#ifndef SP_ANALYSIS_STACKS_H
#define SP_ANALYSIS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"
#include "userspace/analysis/symbols.h"

struct sp_stacks;

/* A distinct stack of a region, or of a chain of regions, with how often it was seen. */
struct sp_stack_row {
	const uint32_t
		*regions; /* of the open regions, outermost first; numbers of sp_stacks_region() */
	uint32_t n_regions;
	const uint32_t *places; /* innermost first; numbers of sp_stacks_place() */
	uint32_t n_places;
	uint8_t end; /* enum sp_stack_end */
	uint64_t samples;
};

/* One address of a module: what symbols make of it may be several (inlined) functions. */
struct sp_stack_place {
	uint32_t module; /* of the symbols; UINT32_MAX: the kernel's, or in no file */
	bool kernel;
	uint64_t address; /* link-time; already of the call, not of what follows it */
	const char *name; /* where there is no module: the kernel's function, "[unknown]", "[jit]";
			     else NULL */
};

#endif
