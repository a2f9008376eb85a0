/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/without.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[SP_FEATURE_MAX] = {
	[SP_FEATURE_UPROBE_MULTI] = "uprobe_multi",
	[SP_FEATURE_FAST_PROBES] = "fast_probes",
	[SP_FEATURE_CYCLES] = "cycles",
	[SP_FEATURE_EXEC_HOLD] = "exec_hold",
	[SP_FEATURE_MAP_FILES] = "map_files",
	[SP_FEATURE_SHORT_SLICE] = "short_slice",
	[SP_FEATURE_KALLSYMS] = "kallsyms",
	[SP_FEATURE_CODE_FAULTS] = "code_faults",
};

const char *sp_feature_name(enum sp_feature feature)
{
	return names[feature];
}

bool sp_without(enum sp_feature feature)
{
	/* Nothing where the program has rights that its caller lacks. */
	const char *list = getuid() == 0 ? secure_getenv("SP_TRACE_WITHOUT") : NULL;
	size_t n = strlen(names[feature]);

	while (list && *list) {
		size_t word = strcspn(list, ",");

		if (word == n && !memcmp(list, names[feature], n))
			return true;
		list += word + (list[word] == ',');
	}
	return false;
}
