/* SPDX-License-Identifier: BSD-2-Clause
 *
 * mappings.h - the files that recorded process images map: each goes to the recorder, to the
 * unwinding tables and, a batch at a time, to the images.
 */
#ifndef SP_LOADER_MAPPINGS_H
#define SP_LOADER_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "loader/images.h"
#include "loader/look.h"
#include "loader/recorder.h"
#include "loader/sideband.h"
#include "loader/unwind.h"

struct sp_mappings;

/* @unwind NULL: stacks need no tables. */
int sp_mappings_new(struct sp_recorder *recorder, struct sp_images *images,
		    struct sp_unwind *unwind, struct sp_look *look,
		    struct sp_mappings **ret_mappings);

/* One of the process image with that @number. @found: it was there before the recording, so what it
 * did before is nobody's loss. */
void sp_mappings_add(struct sp_mappings *mappings, const struct sp_mapping *mapping,
		     uint32_t number, bool found);

/* Scans and arms the files that came up since the last time. */
int sp_mappings_commit(struct sp_mappings *mappings);

void sp_mappings_free(struct sp_mappings *mappings);

#endif
