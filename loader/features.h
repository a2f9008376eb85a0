/* SPDX-License-Identifier: BSD-2-Clause
 *
 * features.h - sp-trace --check: what this kernel has, and what is done where it lacks something.
 */
#ifndef SP_LOADER_FEATURES_H
#define SP_LOADER_FEATURES_H

/* Tries each feature as a recording does, and prints a line for it. An exit status: 0 if programs
 * can be recorded here; else 1, and what is missing is logged. */
int sp_features_check(void);

#endif
