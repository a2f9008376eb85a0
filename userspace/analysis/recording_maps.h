/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recording_maps.h - the part of resolving a recording that is about mappings; for recording_*.c
 * only.
 */
#ifndef SP_ANALYSIS_RECORDING_MAPS_H
#define SP_ANALYSIS_RECORDING_MAPS_H

#include "userspace/analysis/recording.h"

/* Sorts the maps, ties them to images and computes their load biases. -ENOMEM. */
int sp_recording_sort_maps(struct sp_recording *recording);

#endif
