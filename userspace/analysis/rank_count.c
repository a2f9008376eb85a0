/* SPDX-License-Identifier: BSD-2-Clause
 *
 * rank_count.c - see rank_count.h.
 */
#include "userspace/analysis/rank_count.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/util.h"
#include "userspace/base/cleanup.h"

int sp_rank_count(struct sp_profile *profile, const uint32_t *more, size_t n, uint32_t *ret_count)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	sp_cleanup(sp_freep) uint32_t *ranks = NULL;
	const struct sp_thread_row *threads;
	const struct sp_process_row *processes;
	size_t n_threads, n_processes, all = 0;
	uint32_t count = 0;
	int r = sp_profile_threads(profile, &threads, &n_threads, NULL);

	if (r == 0)
		r = sp_profile_processes(profile, &processes, &n_processes, NULL);
	if (r < 0)
		return r;
	ranks = calloc(info->n_ranks + n_threads + n_processes + n + 1, sizeof(*ranks));
	if (!ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < info->n_ranks; i++)
		ranks[all++] = sp_profile_rank(profile, i);
	for (size_t i = 0; i < n_threads; i++)
		ranks[all++] = threads[i].rank;
	for (size_t i = 0; i < n_processes; i++)
		ranks[all++] = processes[i].rank;
	for (size_t i = 0; i < n; i++)
		ranks[all++] = more[i];
	qsort(ranks, all, sizeof(*ranks), sp_compare_u32);
	for (size_t i = 0; i < all; i++)
		count += !i || ranks[i] != ranks[i - 1];
	*ret_count = count;
	return 0;
}
