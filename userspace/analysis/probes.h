/* SPDX-License-Identifier: BSD-2-Clause
 *
 * probes.h - which code is of the probes: it runs only while sp-trace records, and says nothing
 * about the program.
 */
#ifndef SP_ANALYSIS_PROBES_H
#define SP_ANALYSIS_PROBES_H

#include <stdbool.h>

#include "userspace/analysis/symbols.h"

#define SP_PROBES_NAME "(probes of sp-trace)" /* what all of it is shown as */

/* Whether a frame is of the header, of the drop-in, or of where the kernel's part begins. @module:
 * path of its file, NULL unknown. */
bool sp_is_probe(const struct sp_frame *frame, const char *module);

#endif
