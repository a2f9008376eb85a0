/* SPDX-License-Identifier: BSD-2-Clause
 *
 * probes.c - see probes.h.
 *
 * Names that scope-profiler's own library has, too (sp_begin), tell nothing: its programs are read
 * here as well. Only names of ours count, or the files that they are in.
 */
#include "userspace/analysis/probes.h"

#include <string.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/text.h"

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* "sp_gate_v1", "sp_begin_stub_v1.part.0", "sp_scope_v1::~sp_scope_v1()". A user may well have an
 * sp_solve_v2: the header's functions are known one by one. */
static bool is_of_header(const char *name)
{
	static const char *const functions[] = {
		"begin_stub",	   "desc_name",	    "end_stub",	     "fire_begin",
		"fire_end",	   "gate",	    "handle_begin",  "handle_edge_begin",
		"handle_edge_end", "handle_end",    "home",	     "home_make",
		"in_valgrind",	   "intern_at",	    "name_complete", "name_find",
		"name_hash",	   "name_new",	    "plain_begin",   "plain_end",
		"region_enabled",  "region_intern", "scope",	     "scope_end",
		"scope_leave",	   "site_begin",    "site_end",	     "skip_begin",
		"skip_end",	   "slot_find",	    "text_copy",
	};

	if (!begins(name, "sp_"))
		return false;
	name += strlen("sp_");
	for (size_t i = 0; i < sp_array_size(functions); i++) {
		size_t length = strlen(functions[i]);

		if (!strncmp(name, functions[i], length) && begins(name + length, "_v") &&
		    name[length + 2] >= '1' && name[length + 2] <= '9')
			return true;
	}
	return false;
}

bool sp_is_probe(const struct sp_frame *frame, const char *module)
{
	static const char *const names[] = {
		"sp_region_begin",     "sp_region_end",	    "sp_region_intern",
		"sp_region_intern_at", "sp_trace_begin",    "sp_trace_end",
		"sp_trace_find",       "sp_trace_finalize", "sp_trace_num_calls",
		"sp_trace_num_open",   "sp_trace_site_end", "sp_trace_site_begin",
	};
	static const char *const files[] = {"sp_region.h", "scope_profiler_impl.h"};

	if (module && begins(module, "[uprobes"))
		return true;
	if (is_of_header(frame->raw) || is_of_header(frame->function) ||
	    begins(frame->function, "sp_r_::"))
		return true;
	for (size_t i = 0; i < sp_array_size(names); i++)
		if (!strcmp(frame->function, names[i]))
			return true;
	for (size_t i = 0; i < sp_array_size(files) && begins(frame->function, "sp_"); i++)
		if (!strcmp(sp_base_name(frame->file), files[i]))
			return true;
	return false;
}
