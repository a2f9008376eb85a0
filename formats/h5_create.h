/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5_create.h - how groups and data sets of a new file are created. Not installed.
 */
#ifndef SP_FORMATS_H5_CREATE_H
#define SP_FORMATS_H5_CREATE_H

#include "formats/h5_util.h"

/* A list of properties of a class, for what has no time stamp: files are then the same whenever
 * they are written. To be closed. */
hid_t sp_h5_untimed(hid_t class);
/* The group at @path in @file, created with its parents if need be; to be closed. */
hid_t sp_h5_open_group(hid_t file, const char *path);

#endif
