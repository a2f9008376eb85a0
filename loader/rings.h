/* SPDX-License-Identifier: BSD-2-Clause
 *
 * rings.h - draining the BPF rings.
 */
#ifndef SP_LOADER_RINGS_H
#define SP_LOADER_RINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/wire.h"
#include "loader/bpf.h"

#define SP_RING_CONTROL 0xffffffffu

/* A record that passed sp_event_check(). @cpu is its ring's, SP_RING_CONTROL for the control ring.
 */
typedef void (*sp_rings_cb)(void *arg, unsigned cpu, const struct sp_head *event, size_t bytes);

struct sp_rings;

int sp_rings_new(const struct sp_bpf *bpf, sp_rings_cb cb, void *arg, struct sp_rings **ret_rings);

/* Readable when a control record wants attention; for poll(2). */
int sp_rings_fd(const struct sp_rings *rings);

/* Takes what is in the control ring. */
int sp_rings_drain_control(struct sp_rings *rings);
/* Takes what is in the rings of calls and samples. Sets how full the fullest was, in parts of 256.
 * A producer that keeps up does not hold it: each ring yields at most its size. */
int sp_rings_drain(struct sp_rings *rings, unsigned *ret_fill);

/* Calls of a CPU that a drain cannot take yet: a thread was preempted while it wrote one, and the others
 * stand behind it. Once recording has stopped, these come to be 0 when such threads have run again.
 */
uint64_t sp_rings_unread(const struct sp_rings *rings, unsigned cpu);

void sp_rings_free(struct sp_rings *rings);

#endif
