/* SPDX-License-Identifier: BSD-2-Clause
 *
 * inputs_notes.h - for analysis/inputs.c only: what readers must know of the inputs.
 */
#ifndef SP_ANALYSIS_INPUTS_NOTES_H
#define SP_ANALYSIS_INPUTS_NOTES_H

#include "userspace/analysis/inputs.h"

/* Losses, largest first, and notes; of inputs whose recordings are known. */
int sp_inputs_gather(struct sp_inputs *inputs, struct sp_error *error);

#endif
