/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_sender.h - turns what is known of addresses into the messages of a symbol worker.
 *
 * Texts and functions are sent once each, and by number from then on; an address takes 16 bytes.
 */
#ifndef SP_ANALYSIS_SYMBOL_SENDER_H
#define SP_ANALYSIS_SYMBOL_SENDER_H

#include "userspace/analysis/debug_info.h"
#include "userspace/analysis/symbol_worker.h"

struct sp_symbol_sender;

typedef int (*sp_sender_write)(void *context, const void *bytes, size_t size);

int sp_sender_new(sp_sender_write write, void *context, bool raw_names, bool keep_clones,
		  struct sp_symbol_sender **ret_sender);
void sp_sender_free(struct sp_symbol_sender *sender); /* NULL is fine */

/* A message of any kind: two pieces of bytes. */
int sp_sender_message(struct sp_symbol_sender *sender, enum sp_worker_kind kind, const void *first,
		      size_t first_size, const void *second, size_t second_size);
/* sp_debug_found, with a sender as its context. */
int sp_sender_place(void *context, size_t index, const struct sp_debug_place *place);
/* Sends what waits. */
int sp_sender_flush(struct sp_symbol_sender *sender);

#endif
