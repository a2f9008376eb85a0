/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elfscan_check.h - is what the ELF helper sent possible at all?
 *
 * One checker follows the events of one file and refuses the first that no file could have caused.
 * This is the boundary to a process that a hostile file may have taken over.
 */
#ifndef SP_LOADER_ELFSCAN_CHECK_H
#define SP_LOADER_ELFSCAN_CHECK_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/wire.h"

struct sp_elfscan_check {
	uint64_t file_size;
	uint32_t image; /* the number that it must bear */
	bool started;	/* image seen */
	bool noted;	/* meta seen */
	uint32_t sites_promised, sites, probes, segments;
};

/* @event is aligned and @bytes long in all. 0 or -EBADMSG. */
int sp_elfscan_check_event(struct sp_elfscan_check *check, const struct sp_head *event,
			   size_t bytes);
/* After the last one: is all there? 0 or -EBADMSG. */
int sp_elfscan_check_end(const struct sp_elfscan_check *check);

#endif
