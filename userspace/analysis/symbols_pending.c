/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbols_pending.c - addresses that are to be looked up, put in order.
 */
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/symbols_private.h"
#include "userspace/base/cleanup.h"

/* Byte by byte from the lowest; bytes that are the same in all, which most are, cost one look.
 * Nobody works yet while this is done. */
static void sort_addresses(uint64_t *addresses, size_t n)
{
	sp_cleanup(sp_freep) uint64_t *other = malloc(n * sizeof(*other));
	uint64_t *from = addresses, *to = other, differ = 0;

	if (n < 256 || !other) {
		qsort(addresses, n, sizeof(*addresses), sp_symbols_compare_addresses);
		return;
	}
	for (size_t i = 0; i < n; i++)
		differ |= addresses[i] ^ addresses[0];
	for (unsigned int shift = 0; shift < 64; shift += 8) {
		size_t starts[257] = {0};
		uint64_t *swapped = to;

		if (!(differ >> shift & 0xff))
			continue;
		for (size_t i = 0; i < n; i++)
			starts[(from[i] >> shift & 0xff) + 1]++;
		for (size_t i = 1; i < 257; i++)
			starts[i] += starts[i - 1];
		for (size_t i = 0; i < n; i++)
			to[starts[from[i] >> shift & 0xff]++] = from[i];
		to = from;
		from = swapped;
	}
	if (from != addresses)
		memcpy(addresses, from, n * sizeof(*addresses));
}

void sp_symbols_sift_pending(struct sp_symbols_file *module)
{
	size_t kept = 0;

	if (module->n_pending)
		sort_addresses(module->pending, module->n_pending);
	for (size_t i = 0; i < module->n_pending; i++) {
		if (kept && module->pending[kept - 1] == module->pending[i])
			continue;
		if (!sp_symbols_entry_find(module, module->pending[i]))
			module->pending[kept++] = module->pending[i];
	}
	module->n_pending = kept;
}
