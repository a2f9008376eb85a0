/* SPDX-License-Identifier: BSD-2-Clause
 *
 * ledger.h - reads the kernel side's ledger of losses, bit by bit: each difference is a gap, with
 * the time from when it can be to its last event.
 */
#ifndef SP_LOADER_LEDGER_H
#define SP_LOADER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/wire.h"
#include "loader/bpf.h"

struct sp_ledger;

typedef void (*sp_ledger_cb)(void *arg, struct sp_ev_loss *gap);

int sp_ledger_new(unsigned cpus, struct sp_ledger **ret_ledger);
/* Hands out what was lost since the last time. @now: no earlier than that, and no later than any
 * loss that is not handed out; a gap begins no earlier than @now of the last time. Where much is
 * lost in many places, not each time, so that the account does not fill the disk; @all: this time,
 * too. */
void sp_ledger_read(struct sp_ledger *ledger, struct sp_bpf *bpf, uint64_t now, bool all,
		    sp_ledger_cb cb, void *arg);
void sp_ledger_free(struct sp_ledger *ledger);

/* All losses of a cause, which are forgotten. Only while nothing is recorded, and before the first
 * read. */
uint64_t sp_ledger_take(struct sp_bpf *bpf, unsigned cause);

#endif
