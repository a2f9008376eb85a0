/* SPDX-License-Identifier: BSD-2-Clause
 *
 * summary_view.h - how `sp-report summary` shows its numbers: for people, as JSON, as CSV.
 */
#ifndef SP_CMD_SUMMARY_VIEW_H
#define SP_CMD_SUMMARY_VIEW_H

#include "userspace/analysis/summary.h"

#define SP_SUMMARY_NO_REGION "(no region)"

struct sp_summary_view {
	const struct sp_inputs *inputs;
	const struct sp_summary *summary; /* its regions in the order shown */
	size_t rows;			  /* how many of them */
	bool by_rank;
};

void sp_summary_show(const struct sp_summary_view *view);
void sp_summary_write_json(const struct sp_summary_view *view);
void sp_summary_write_csv(const struct sp_summary_view *view);

#endif
