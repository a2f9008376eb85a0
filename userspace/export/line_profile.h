/* SPDX-License-Identifier: BSD-2-Clause
 *
 * line_profile.h - samples as line profiles, which scope-profiler keeps in its HDF5 files.
 *
 * Life cycle: new; name the modules; see all addresses; resolve them; then for each rank count its
 * samples and emit its records; free.
 *
 * A record is a function in a region with its lines: hits are samples, times are nanoseconds at the
 * rate of sampling. Inlined code counts for the user's own line (analysis/own.h), as in sp-report
 * lines. Samples without a line are one record of the region, of the file "??", with the line 0, so
 * that shares are right; so are those of all functions but the hottest of a rank, since a record
 * takes some 10 KB of the file.
 *
 * Bounded: addresses beyond the first SP_LINE_PROFILE_ADDRESSES have no lines, nor has what is not
 * found in the time given. Both are told. Memory: about 1 KB an address where much is inlined, less
 * elsewhere.
 */
#ifndef SP_EXPORT_LINE_PROFILE_H
#define SP_EXPORT_LINE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"
#include "formats/profile.h"
#include "userspace/analysis/symbols.h"
#include "userspace/base/user.h"

#define SP_LINE_PROFILE_ADDRESSES 30000
#define SP_LINE_PROFILE_RECORDS 256 /* of a rank, besides those of unknown lines */
#define SP_LINE_PROFILE_NO_MODULE UINT32_MAX
#define SP_LINE_PROFILE_NO_REGION "(no region)"

struct sp_line_profiles;

/* @hz: rate of sampling, 0 unknown: then times are 0. @symbols: how to find lines; the time that it
 * may take is its limit. */
int sp_line_profiles_new(const struct sp_symbols_options *symbols, int64_t hz,
			 struct sp_line_profiles **ret_profiles);
/* Whose programs they are: source text is read on his behalf. Until then, on nobody's. */
void sp_line_profiles_set_user(struct sp_line_profiles *profiles, const struct sp_user *user);
/* NULL is fine. */
void sp_line_profiles_free(struct sp_line_profiles *profiles);

/* The number of a module, and where it was loaded: 0 if it is linked for fixed addresses. */
int sp_line_profiles_module(struct sp_line_profiles *profiles, const char *path,
			    const char *build_id, uint32_t *ret_module, bool *ret_fixed);

/* @address: at link time. */
int sp_line_profiles_see(struct sp_line_profiles *profiles, uint32_t module, uint64_t address);
int sp_line_profiles_resolve(struct sp_line_profiles *profiles);
/* False if no line was found at all: there is nothing to emit. */
bool sp_line_profiles_any(const struct sp_line_profiles *profiles);
/* What is to be told of lines that were not looked for, "" nothing. */
const char *sp_line_profiles_missing(const struct sp_line_profiles *profiles);

/* @region: NULL outside of all. */
int sp_line_profiles_count(struct sp_line_profiles *profiles, const char *region, uint32_t module,
			   uint64_t address);
/* Calls @emit for each record of the samples counted since the last time; hottest regions first,
 * functions by file and first line. What it is given is valid until it returns; its failure is
 * returned. */
int sp_line_profiles_emit(struct sp_line_profiles *profiles, uint32_t rank,
			  int (*emit)(void *context, const struct sp_line_profile *record,
				      struct sp_error *error),
			  void *context, struct sp_error *error);

#endif
