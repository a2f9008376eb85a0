/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwritten.h - counts the events that a full disk refused, to be told at the end: by kind, CPU,
 * thread and region. What cannot be kept apart, for want of memory, is added up: the sum is always
 * exact.
 */
#ifndef SP_LOADER_UNWRITTEN_H
#define SP_LOADER_UNWRITTEN_H

#include <stdint.h>

#include "formats/codec.h"

struct sp_unwritten;

int sp_unwritten_new(struct sp_unwritten **ret_unwritten);
/* @stream: as in sp_journal_add(). A loss event that was refused is told again as it was. */
void sp_unwritten_add(struct sp_unwritten *unwritten, unsigned stream, const struct sp_event *event,
		      uint64_t now);
/* Hands out the losses and forgets them. */
void sp_unwritten_take(struct sp_unwritten *unwritten,
		       void (*cb)(void *arg, struct sp_ev_loss *gap), void *arg);
void sp_unwritten_free(struct sp_unwritten *unwritten);

#endif
