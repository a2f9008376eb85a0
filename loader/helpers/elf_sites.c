/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elf_sites.c - region descriptors and their texts.
 *
 * Invariant: everything that a site refers to lies in the file, and is what the program itself
 * would see at that address; whatever does not is skipped and counted, never guessed.
 */
#include "loader/helpers/elf_sites.h"

#include <errno.h>
#include <string.h>

#include "formats/error.h"

/* As it stands in the file (usdt/sp_region.h). Offsets count from the record's own start. */
struct record {
	int32_t name, file, tags, function;
	uint32_t line;
	int32_t level;
	uint32_t flags, reserved;
};
_Static_assert(sizeof(struct record) == SP_ELF_DESC_BYTES, "layout of usdt/sp_region.h");

struct text {
	char *out;
	size_t *bytes;
	size_t room;
	int32_t offset;
};

static int read_texts(struct sp_elf_file *file, const struct record *record,
		      struct sp_elf_site *site, bool *ret_cut)
{
	const struct text texts[] = {
		{site->name, &site->name_bytes, sizeof(site->name), record->name},
		{site->file, &site->file_bytes, sizeof(site->file), record->file},
		{site->tags, &site->tags_bytes, sizeof(site->tags), record->tags},
		{site->function, &site->function_bytes, sizeof(site->function), record->function},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct text *t = &texts[i];
		bool cut = false;
		ssize_t n = 0;

		t->out[0] = 0;
		if (t->offset)
			n = sp_elf_file_string(file, site->address + (uint64_t)(int64_t)t->offset,
					       t->out, t->room, &cut);
		else if (i == 0)
			n = -EFAULT; /* only the name must be there */
		if (n < 0)
			return (int)n;
		*t->bytes = (size_t)n;
		*ret_cut |= cut;
	}
	return 0;
}

static int read_site(struct sp_elf_file *file, const struct record *record,
		     struct sp_elf_site *site, bool *ret_cut)
{
	uint64_t level = site->address + (uint64_t)(int64_t)record->level, offset;

	site->line = record->line;
	site->flags = record->flags & 0xffffffu;
	/* Raised one day by the kernel, so it must be where the kernel can write. */
	if (level % 2 || sp_elf_file_offset(file, level, 2, PF_W, &offset) < 0)
		return -EFAULT;
	return read_texts(file, record, site, ret_cut);
}

static int walk_section(struct sp_elf_file *file, const struct sp_elf_extent *x, sp_elf_site_cb cb,
			void *arg, struct sp_elf_sites *sites)
{
	struct sp_elf_site site;
	uint64_t offset, count = x->bytes / SP_ELF_DESC_BYTES;

	if (x->bytes % SP_ELF_DESC_BYTES)
		return -SP_E_DAMAGED;
	if (count > SP_ELF_LIMIT_SITES - sites->valid - sites->skipped - sites->unknown)
		return -SP_E_COUNT;
	if (count &&
	    (sp_elf_file_offset(file, x->address, x->bytes, 0, &offset) < 0 || offset != x->offset))
		return -SP_E_DAMAGED;
	for (uint64_t i = 0; i < count; i++) {
		struct record record;
		bool cut = false;
		int r = sp_elf_file_read(file, x->offset + i * SP_ELF_DESC_BYTES, &record,
					 sizeof(record));

		if (r < 0)
			return r;
		if (record.flags >> 24 != SP_ELF_DESC_VERSION) {
			sites->unknown++;
			continue;
		}
		site.address = x->address + i * SP_ELF_DESC_BYTES;
		if (read_site(file, &record, &site, &cut) < 0) {
			sites->skipped++;
			continue;
		}
		sites->cut += cut;
		sites->valid++;
		r = cb ? cb(arg, sites->valid, &site) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

int sp_elf_sites_walk(struct sp_elf_file *file, sp_elf_site_cb cb, void *arg,
		      struct sp_elf_sites *ret_sites)
{
	struct sp_elf_sites sites = {0};
	int r = 0;

	for (size_t i = 0; i < file->descriptors.count && r == 0; i++)
		r = walk_section(file, &file->descriptors.at[i], cb, arg, &sites);
	*ret_sites = sites;
	return r;
}
