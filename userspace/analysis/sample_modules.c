/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_modules.c - the modules of a file with samples, and where their copies are, for the
 * symbols.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/analysis/sample_files.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/files.h"

int sp_sample_archived(const char *path, const char *archived, char **ret_copy)
{
	static const char *const places[] = {"", "../", "../../"};
	const char *slash = strrchr(path, '/');
	int length = slash ? (int)(slash + 1 - path) : 0;

	*ret_copy = NULL;
	/* A profile is not to point to files elsewhere. */
	if (!sp_path_stays_below(archived))
		return 0;
	for (size_t i = 0; i < sp_array_size(places); i++) {
		sp_cleanup(sp_freep) char *copy = NULL;

		if (asprintf(&copy, "%.*s%s%s", length, path, places[i], archived) < 0) {
			copy = NULL;
			return -ENOMEM;
		}
		if (access(copy, R_OK) == 0) {
			*ret_copy = sp_take(copy);
			return 0;
		}
	}
	return 0;
}

static int add_archived(struct sp_profile *profile, struct sp_symbols *symbols, uint32_t module,
			const char *archived)
{
	sp_cleanup(sp_freep) char *copy = NULL;
	int r = sp_sample_archived(sp_profile_path(profile), archived, &copy);

	return copy ? sp_symbols_add_copy(symbols, module, copy) : r;
}

int sp_sample_modules_read(struct sp_profile *profile, struct sp_symbols *symbols,
			   struct sp_sample_modules *ret_modules, struct sp_error *error)
{
	struct sp_sample_modules modules = {0};
	int r = sp_profile_modules(profile, &modules.rows, &modules.n, error);

	if (r < 0)
		return r;
	modules.numbers = calloc(modules.n + 1, sizeof(*modules.numbers));
	modules.biases = calloc(modules.n + 1, sizeof(*modules.biases));
	if (!modules.numbers || !modules.biases)
		r = -ENOMEM;
	for (size_t i = 0; i < modules.n && r == 0; i++) {
		r = sp_symbols_add_module(symbols, modules.rows[i].path, modules.rows[i].build_id,
					  &modules.numbers[i]);
		if (r == 0)
			sp_symbols_set_place(symbols, modules.numbers[i], modules.rows[i].place);
		if (r == 0 && modules.rows[i].archived && *modules.rows[i].archived)
			r = add_archived(profile, symbols, modules.numbers[i],
					 modules.rows[i].archived);
		if (r == 0 && !sp_symbols_module(symbols, modules.numbers[i])->fixed_address)
			modules.biases[i] = modules.rows[i].bias;
	}
	if (r < 0) {
		sp_sample_modules_done(&modules);
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	}
	*ret_modules = modules;
	return 0;
}

void sp_sample_modules_done(struct sp_sample_modules *modules)
{
	free(modules->numbers);
	free(modules->biases);
	*modules = (struct sp_sample_modules){0};
}
