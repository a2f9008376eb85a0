/* SPDX-License-Identifier: BSD-2-Clause
 *
 * image_found.h - what the helper that reads ELF files told about one file.
 */
#ifndef SP_LOADER_IMAGE_FOUND_H
#define SP_LOADER_IMAGE_FOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/codec.h"
#include "loader/elf_limits.h"

struct sp_image_found {
	struct sp_ev_probe probes[SP_ELF_LIMIT_PROBES];
	size_t probe_count;
	uint64_t first, last;	 /* addresses of descriptors */
	struct sp_head **events; /* copies of its segment, probe and site events */
	size_t event_count, event_room;
	struct sp_ev_image image;
	char build_id[256];
	bool seen;
};

/* For sp_elfscan_run(): takes an event of the file with this index, into @all, an array. */
int sp_image_found_take(size_t index, const struct sp_head *event, void *all);
/* Leaves what symbols need. */
void sp_image_found_drop_probes(struct sp_image_found *f);
/* Frees an array; NULL is fine. */
void sp_image_found_free(struct sp_image_found *found, size_t count);

#endif
