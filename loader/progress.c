/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/progress.h"

#include "userspace/base/log.h"
#include "userspace/base/units.h"

#define EVERY_NS 500000000u

void sp_progress_show(struct sp_progress *p, uint64_t elapsed, struct sp_recorder_counts counts)
{
	uint64_t events = counts.calls + counts.samples;

	if (elapsed < p->shown_at + EVERY_NS || !sp_log_has_status())
		return;
	p->rate = (double)(events - p->events) * 1e9 / (double)(elapsed - p->shown_at);
	p->shown_at = elapsed;
	p->events = events;
	sp_log_status("%s  %s call%s  %s sample%s  %s events/s  %s  %s lost",
		      sp_show_duration((double)elapsed).text, sp_show_count(counts.calls).text,
		      sp_plural(counts.calls), sp_show_count(counts.samples).text,
		      sp_plural(counts.samples), sp_show_rough(p->rate).text,
		      sp_show_size((double)counts.bytes).text, sp_show_count(counts.lost).text);
}
