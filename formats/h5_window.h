/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5_window.h - a column of numbers that is read piece by piece, mostly forward. Not installed.
 *
 * A call of libhdf5 costs as much as copying thousands of numbers. So a small read that goes on
 * where the one before ended reads ahead, and the next ones are copies. A read from elsewhere reads
 * what was asked for, and no more. Memory: 128 KiB for a column that is read forward in small
 * pieces.
 */
#ifndef SP_FORMATS_H5_WINDOW_H
#define SP_FORMATS_H5_WINDOW_H

#include "formats/h5_util.h"

struct sp_h5_window {
	hid_t dataset; /* -1: there is no such column */
	char *path;
	enum sp_h5_type type; /* of the values in memory */
	uint64_t length;      /* values in the column */
	char *values;	      /* those that are held */
	uint64_t at;	      /* number of the first of them */
	size_t n;
	uint64_t next; /* after what was last asked for */
};

void sp_h5_window_init(struct sp_h5_window *window);
/* Opens the integers at @path; see sp_h5_open_numbers(). A required column must also be plausible
 * in its size. */
int sp_h5_window_open(struct sp_h5_window *window, hid_t file, const char *path,
		      enum sp_h5_type type, bool required, uint64_t length, struct sp_error *error);
/* Reads values @at … @at + @n − 1, which must be there. */
int sp_h5_window_read(struct sp_h5_window *window, uint64_t at, size_t n, void *ret_values,
		      struct sp_error *error);
/* Closes it, ready for another open. */
void sp_h5_window_close(struct sp_h5_window *window);

#endif
