/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recording_stacks.c - takes what the recorder wrote for the sake of stacks: the kernel's
 * functions, copies of files, how files are unwound.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/search.h"
#include "userspace/analysis/recording_events.h"
#include "userspace/base/array.h"

int sp_recording_add_kernel_symbol(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_kernel_symbol *ev = (const struct sp_ev_kernel_symbol *)event->head;
	const char *name, *module;
	struct sp_kernel_symbol *symbol;
	int r = sp_recording_take_text(rec, event, 0, &name);

	if (r == 0)
		r = sp_recording_take_text(rec, event, 1, &module);
	if (r < 0)
		return r;
	symbol = sp_array_add(&rec->kernel_symbols, &rec->n_kernel_symbols,
			      &rec->kernel_symbols_room);
	if (!symbol)
		return -ENOMEM;
	*symbol = (struct sp_kernel_symbol){ev->address, ev->end, name, module};
	return 0;
}

/* The recorder writes an image before it says anything of it. */
int sp_recording_add_archived(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_archived *ev = (const struct sp_ev_archived *)event->head;
	uint32_t index = sp_idmap_get(&rec->image_by_number, ev->image);

	if (index == SP_NONE || ev->error)
		return 0;
	return sp_recording_take_raw(rec, event, 0, &rec->images[index].archived);
}

int sp_recording_add_unwind_table(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_unwind_table *ev = (const struct sp_ev_unwind_table *)event->head;
	struct sp_unwind_fact *fact;
	const char *why;
	int r = sp_recording_take_text(rec, event, 0, &why);

	if (r < 0)
		return r;
	fact = sp_array_add(&rec->unwind_facts, &rec->n_unwind_facts, &rec->unwind_facts_room);
	if (!fact)
		return -ENOMEM;
	*fact = (struct sp_unwind_fact){ev->image, ev->error, ev->rows, why};
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct sp_kernel_symbol *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

void sp_recording_sort_kernel_symbols(struct sp_recording *rec)
{
	if (rec->n_kernel_symbols)
		qsort(rec->kernel_symbols, rec->n_kernel_symbols, sizeof(*rec->kernel_symbols),
		      by_address);
}

uint32_t sp_recording_find_kernel_symbol(const struct sp_recording *rec, uint64_t address)
{
	size_t low = sp_search(rec->n_kernel_symbols, i, rec->kernel_symbols[i].address <= address);

	if (!low)
		return SP_NONE;
	low--;
	if (rec->kernel_symbols[low].end && rec->kernel_symbols[low].end <= address)
		return SP_NONE;
	return (uint32_t)low;
}
