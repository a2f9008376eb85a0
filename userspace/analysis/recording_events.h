/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recording_events.h - what the takers of events share; for recording*.c only.
 *
 * recording.c takes what the kernel side sends, recording_facts.c what the recorder wrote,
 * recording_stacks.c what it wrote for the sake of stacks.
 */
#ifndef SP_ANALYSIS_RECORDING_EVENTS_H
#define SP_ANALYSIS_RECORDING_EVENTS_H

#include "userspace/analysis/recording.h"

typedef int sp_recording_taker(struct sp_recording *recording, const struct sp_event *event);

sp_recording_taker sp_recording_add_site, sp_recording_add_dynamic_site, sp_recording_add_image,
	sp_recording_add_segment, sp_recording_add_process, sp_recording_add_loss,
	sp_recording_add_clock, sp_recording_add_meta, sp_recording_add_end,
	sp_recording_add_kernel_symbol, sp_recording_add_archived, sp_recording_add_unwind_table;

/* Notes a call that began before its lane did; puts them in order, for sp_recording_before(). */
int sp_recording_add_before(struct sp_recording *recording, const struct sp_ev_call *call);
void sp_recording_sort_befores(struct sp_recording *recording);

/* Puts the kernel's symbols in order, for sp_recording_find_kernel_symbol(). */
void sp_recording_sort_kernel_symbols(struct sp_recording *recording);

/* The entry of a process or a site, made if it is not there. */
int sp_recording_ensure_process(struct sp_recording *recording, uint32_t number,
				uint32_t *ret_index);
int sp_recording_ensure_site(struct sp_recording *recording, uint32_t number,
			     struct sp_site **ret_site);

/* The @index-th string of an event's tail: as it is (paths must stay what the kernel knows), or
 * made UTF-8. */
int sp_recording_take_raw(struct sp_recording *recording, const struct sp_event *event,
			  unsigned index, const char **ret_text);
int sp_recording_take_text(struct sp_recording *recording, const struct sp_event *event,
			   unsigned index, const char **ret_text);

/* Widens the span of times that was seen. */
void sp_recording_note_time(struct sp_recording *recording, uint64_t first, uint64_t last);

#endif
