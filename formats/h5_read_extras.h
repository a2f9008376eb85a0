/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5_read_extras.h - what h5_read_extras.c and h5_read_likwid.c share. Not installed.
 */
#ifndef SP_FORMATS_H5_READ_EXTRAS_H
#define SP_FORMATS_H5_READ_EXTRAS_H

#include "formats/h5_read.h"
#include "formats/intern.h"

struct sp_h5_extras {
	hid_t file;
	uint32_t rank;
	struct sp_extras extras;
	size_t perf_events, line_profiles, likwid, environments; /* capacities */
	struct sp_intern regions, tags;				 /* of this rank, met so far */
	size_t visits;
	uint64_t bytes;
};

int sp_h5_extras_no_memory(struct sp_error *error);
/* Counts a group, and numbers that are kept: the same place may be linked many times. */
int sp_h5_extras_count(struct sp_h5_extras *reader, uint64_t numbers, const char *path,
		       struct sp_error *error);
/* -SP_E_DAMAGED if @name was met before. */
int sp_h5_extras_once(struct sp_intern *names, const char *name, const char *path,
		      struct sp_error *error);
/* Puts the object's name before what @error says of its attributes; returns @r. */
int sp_h5_extras_name(struct sp_error *error, int r, const char *path);
int sp_h5_extras_open(hid_t file, const char *path, hid_t *ret_group, struct sp_error *error);
/* A text attribute, to be freed, or @missing if there is none. */
int sp_h5_extras_text(hid_t group, const char *key, const char *missing, const char **ret_text,
		      struct sp_error *error);
/* Reads the integers at @path/@name; *@io_n is the length that it must have, or SP_H5_ANY_LENGTH,
 * and then becomes its length. @ret_values points to a pointer to them. */
int sp_h5_extras_integers(struct sp_h5_extras *reader, const char *path, const char *name,
			  enum sp_h5_type type, uint64_t *io_n, const void *ret_values,
			  struct sp_error *error);
int sp_h5_extras_reals(struct sp_h5_extras *reader, const char *path, const char *name, uint64_t n,
		       const double **ret_values, struct sp_error *error);

/* h5_read_likwid.c */
int sp_h5_extras_likwid_region(struct sp_h5_extras *reader, const char *path, const char *name,
			       struct sp_error *error);
int sp_h5_extras_likwid_environment(struct sp_h5_extras *reader, const char *path,
				    struct sp_error *error);

#endif
