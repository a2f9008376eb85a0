/* SPDX-License-Identifier: BSD-2-Clause
 *
 * export_left.h - what of a profile a format has no place for, in words.
 */
#ifndef SP_CMD_EXPORT_LEFT_H
#define SP_CMD_EXPORT_LEFT_H

#include "formats/profile_read.h"

enum sp_export_format {
	SP_EXPORT_H5,
	SP_EXPORT_H5_AGGREGATE,
	SP_EXPORT_SPT,
	SP_EXPORT_SPT_1, /* version 1 */
	SP_EXPORT_SPS,
	SP_EXPORT_JSON,
};

/* "120 samples, 3 threads, call ids", to be freed; "" if all arrives, NULL without memory. */
char *sp_export_left(struct sp_profile *profile, enum sp_export_format format);

#endif
