/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_info.c - one ELF file: its units, and its symbol table where they know nothing.
 *
 * libdwfl finds and opens the files (separate debug files, compressed sections, .gnu_debugdata).
 */
#include "userspace/analysis/debug_info.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/content_id.h"
#include "userspace/analysis/debug_units.h"
#include "userspace/analysis/symbol_table.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/files.h"
#include "userspace/base/vdso.h"

#define DEFAULT_DEBUG_PATH "+:.debug:/usr/lib/debug"
#define MAX_BUILD_ID 64

struct sp_debug_info {
	Dwfl_Callbacks callbacks;
	char *debug_path;
	Dwfl *dwfl;
	Dwfl_Module *module;
	GElf_Addr elf_bias;
	Dwarf *dwarf;
	Dwarf_Addr dwarf_bias;
	const char *lines_file;
	struct sp_debug_sections sections;
	struct sp_pool *paths;		 /* of source files */
	struct sp_debug_units *units;	 /* NULL: without DWARF */
	struct sp_symbol_table *symbols; /* NULL until one is looked for */
	struct sp_debug_link plain;	 /* of a function that only the symbol table knows */
	int fd;				 /* the file */
	struct sp_inflate_share inflate;
	enum sp_inflate_refusal refusal; /* of what is compressed in the file or its debug file */
};

/* ---- opening ---- */

static void say(char reason[SP_DEBUG_REASON], const char *text)
{
	snprintf(reason, SP_DEBUG_REASON, "%s", text ? text : "unknown error");
}

/* The vDSO is a file that the kernel has in memory: ours, if its build-id tells that it is the
 * same.
 */
static int open_file(const char *path, const char *build_id, char reason[SP_DEBUG_REASON])
{
	bool vdso = build_id && *build_id && !strcmp(path, SP_VDSO_NAME);
	int fd = vdso ? sp_vdso_open() : sp_file_open(path, NULL);

	if (fd < 0)
		say(reason, fd == -ENOEXEC ? "not a regular file" : strerrordesc_np(-fd));
	return fd;
}

static int check_build_id(struct sp_debug_info *info, const char *expected,
			  char reason[SP_DEBUG_REASON])
{
	Elf *elf = dwfl_module_getelf(info->module, &info->elf_bias);
	char found[2 * MAX_BUILD_ID + 1] = "";
	const void *bits = NULL;
	ssize_t length;

	if (!elf) {
		say(reason, dwfl_errmsg(-1));
		return -ENOEXEC;
	}
	if (!expected || !*expected)
		return 0;
	length = dwelf_elf_gnu_build_id(elf, &bits);
	for (ssize_t i = 0; i < length && i < MAX_BUILD_ID; i++)
		snprintf(found + 2 * i, 3, "%02x", ((const unsigned char *)bits)[i]);
	if (length <= MAX_BUILD_ID && !strcasecmp(found, expected))
		return 0;
	snprintf(reason, SP_DEBUG_REASON, "its build-id is %s, that of the recording %.*s",
		 *found ? found : "missing", 2 * MAX_BUILD_ID, expected);
	return -ESTALE;
}

static const struct sp_inflate_share *share_of(const struct sp_debug_info *info)
{
	return info->inflate.file ? &info->inflate : NULL;
}

static Dwfl_Module *report(Dwfl *dwfl, const char *path, int fd)
{
	Dwfl_Module *module;

	dwfl_report_begin(dwfl);
	module = dwfl_report_elf(dwfl, path, path, fd, 0, true);
	dwfl_report_end(dwfl, NULL, NULL);
	return module;
}

/* libdwfl's own search for the separate debug file, but for another module of the same file: the
 * one that it searches for would keep the file that it has looked at, and not take the view of it.
 */
static int find_debug_file(Dwfl_Module *unused, void **user, const char *name, Dwarf_Addr base,
			   const char *path, const char *link, GElf_Word checksum, char **ret_path)
{
	struct sp_debug_info *info = *user;
	Dwfl *dwfl = dwfl_begin(&info->callbacks);
	int main_fd = fcntl(info->fd, F_DUPFD_CLOEXEC, 0), fd = -1, error = ENOMEM;
	Dwfl_Module *module = dwfl && main_fd >= 0 ? report(dwfl, path, main_fd) : NULL;

	(void)unused;
	if (module) {
		fd = dwfl_standard_find_debuginfo(module, user, name, base, path, link, checksum,
						  ret_path);
		error = errno;
	} else if (main_fd >= 0) {
		close(main_fd);
	}
	dwfl_end(dwfl);
	errno = error;
	if (fd < 0)
		return fd;
	info->refusal = SP_INFLATE_ALL; /* what the file itself has is not needed */
	return sp_debug_inflate(fd, share_of(info), &info->refusal);
}

static bool has_content(int fd, const char *expected)
{
	char found[SP_CONTENT_ID_BYTES];

	return sp_content_id_read(fd, found) == 0 && !strcmp(found, expected);
}

/* ---- life cycle ---- */

static int load(struct sp_debug_info *info)
{
	const char *main_file = NULL, *debug_file = NULL;

	info->dwarf = dwfl_module_getdwarf(info->module, &info->dwarf_bias);
	if (info->dwarf) {
		dwfl_module_info(info->module, NULL, NULL, NULL, NULL, NULL, &main_file,
				 &debug_file);
		info->lines_file = debug_file ? debug_file : main_file;
		if (!sp_debug_sections_find(dwarf_getelf(info->dwarf), false, &info->sections))
			return 0;
		return sp_debug_units_load(info->dwarf, &info->sections,
					   (const char *[]){main_file, info->lines_file == main_file
									       ? NULL
									       : info->lines_file},
					   &info->units);
	}
	return 0;
}

int sp_debug_info_open(const char *path, const char *build_id, const char *debug_path,
		       const struct sp_debug_share *share, struct sp_debug_info **ret_info,
		       char ret_reason[SP_DEBUG_REASON])
{
	struct sp_debug_info *info;
	void **user;
	int fd, r;

	fd = open_file(path, build_id, ret_reason);
	if (fd < 0)
		return fd;
	if (build_id && sp_content_id_is(build_id)) {
		if (!has_content(fd, build_id)) {
			close(fd);
			say(ret_reason,
			    "it has no build-id, and not the content that was recorded");
			return -ESTALE;
		}
		build_id = NULL;
	}
	info = calloc(1, sizeof(*info));
	if (info) {
		info->fd = -1;
		info->debug_path = strdup(debug_path ? debug_path : DEFAULT_DEBUG_PATH);
		info->paths = sp_pool_new();
	}
	if (!info || !info->debug_path || !info->paths) {
		close(fd);
		sp_debug_info_free(info);
		say(ret_reason, "out of memory");
		return -ENOMEM;
	}
	info->callbacks.find_elf = dwfl_build_id_find_elf;
	info->callbacks.find_debuginfo = find_debug_file;
	info->callbacks.section_address = dwfl_offline_section_address;
	info->callbacks.debuginfo_path = &info->debug_path;
	if (share->board)
		info->inflate =
			(struct sp_inflate_share){share->inflated_fd, &share->board->inflated};
	fd = sp_debug_inflate(fd, share_of(info), &info->refusal);
	info->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	info->dwfl = dwfl_begin(&info->callbacks);
	if (info->dwfl)
		info->module = report(info->dwfl, path, fd);
	if (!info->module) {
		close(fd);
		say(ret_reason, dwfl_errmsg(-1));
		sp_debug_info_free(info);
		return -ENOEXEC;
	}
	dwfl_module_info(info->module, &user, NULL, NULL, NULL, NULL, NULL, NULL);
	*user = info;
	r = check_build_id(info, build_id, ret_reason);
	if (r == 0) {
		r = load(info);
		if (r < 0)
			say(ret_reason, "out of memory");
	}
	if (r < 0) {
		sp_debug_info_free(info);
		return r;
	}
	*ret_info = info;
	return 0;
}

void sp_debug_info_free(struct sp_debug_info *info)
{
	if (!info)
		return;
	sp_debug_units_free(info->units);
	if (info->dwfl)
		dwfl_end(info->dwfl);
	if (info->fd >= 0)
		close(info->fd);
	free(info->debug_path);
	sp_symbol_table_free(info->symbols);
	sp_pool_free(info->paths);
	free(info);
}

const char *sp_debug_info_lost_common(const struct sp_debug_info *info)
{
	const char *name = NULL;
	const void *id = NULL;

	if (!info->dwarf || dwarf_getalt(info->dwarf))
		return NULL;
	return dwelf_dwarf_gnu_debugaltlink(info->dwarf, &name, &id) > 0 ? name : NULL;
}

size_t sp_debug_info_n_lost(const struct sp_debug_info *info)
{
	return info->units ? sp_debug_units_n_lost(info->units) : 0;
}

const char *sp_debug_info_refused(const struct sp_debug_info *info, char buffer[SP_DEBUG_REASON])
{
	return sp_debug_inflate_reason(info->refusal, buffer, SP_DEBUG_REASON);
}

bool sp_debug_info_has_lines(const struct sp_debug_info *info, const char **ret_file)
{
	*ret_file = info->lines_file;
	return info->dwarf != NULL;
}

/* ---- looking up ---- */

/* sp_debug_is_function */
static bool is_function(void *context, uint64_t address)
{
	struct sp_debug_info *info = context;

	return sp_symbol_table_is_empty(info->symbols) ||
	       sp_symbol_table_find(info->symbols, address + info->dwarf_bias);
}

/* A function of which nothing but its symbol is known. Addresses ascend, so one link will do. */
static struct sp_debug_link *plain_link(struct sp_debug_info *info, const char *symbol)
{
	if (info->plain.function != symbol)
		info->plain = (struct sp_debug_link){.function = symbol, .depth = 1};
	return &info->plain;
}

/* @all: of which the chunk has some. */
static int find_in_chunk(struct sp_debug_info *info, const uint64_t *all, const uint32_t *indices,
			 const struct sp_debug_chunk *chunk, bool raw_names, sp_debug_found found,
			 void *context)
{
	sp_cleanup(sp_freep) uint64_t *addresses = malloc((chunk->n + 1ul) * sizeof(*addresses));
	const struct sp_debug_unit_place *place = NULL;
	struct sp_debug_unit *unit = NULL;
	size_t at = 0;
	int r = 0;

	if (!addresses)
		return -ENOMEM;
	for (size_t i = 0; i < chunk->n; i++)
		addresses[i] = all[indices[i]] + info->elf_bias - info->dwarf_bias;
	if (chunk->unit != SP_DEBUG_NO_UNIT)
		place = sp_debug_units_place(info->units, chunk->unit);
	if (place)
		r = sp_debug_unit_read(place, &info->sections, addresses, chunk->n, info->paths,
				       is_function, info, &unit);
	if (unit && raw_names)
		sp_debug_unit_use_raw_names(unit);
	for (size_t i = 0; i < chunk->n && r == 0; i++) {
		struct sp_debug_place found_place = {0};
		const char *symbol =
			sp_symbol_table_next(info->symbols, addresses[i] + info->dwarf_bias, &at);

		if (unit)
			r = sp_debug_unit_find(unit, i, symbol, &found_place);
		if (!found_place.link && symbol)
			found_place.link = plain_link(info, symbol);
		if (r == 0)
			r = found(context, indices[i], &found_place);
	}
	sp_debug_unit_free(unit);
	return r;
}

int sp_debug_info_find(struct sp_debug_info *info, const uint64_t *addresses, uint32_t n,
		       const struct sp_debug_share *share, sp_debug_found found, void *context)
{
	struct sp_debug_division division;
	const struct sp_debug_chunk *chunk;
	int r = info->symbols ? 0 : sp_symbol_table_read(info->module, &info->symbols);

	if (r < 0)
		return r;
	r = sp_debug_units_divide(info->units, addresses, n, info->elf_bias - info->dwarf_bias,
				  share->board ? share->processes : 1, &division);
	for (size_t i = 0; r == 0; i++) {
		if (share->board)
			i = atomic_fetch_add(&share->board->next, 1);
		if (i >= division.n_chunks)
			break;
		chunk = &division.chunks[i];
		r = find_in_chunk(info, addresses, division.indices + chunk->first, chunk,
				  share->raw_names, found, context);
	}
	sp_debug_division_done(&division);
	return r;
}
