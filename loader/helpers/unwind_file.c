/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_file.c - where a file keeps its call frame information.
 *
 * Invariant: no more than SP_UNWIND_MAX_SECTION is taken for a section, whatever its header says.
 */
#include "loader/helpers/unwind_file.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "formats/util.h"
#include "loader/helpers/unwind_cfi.h"

static int read_bytes(struct sp_elf_file *file, uint64_t offset, uint64_t size, const char *name,
		      struct sp_unwind_section *section, struct sp_error *err)
{
	uint8_t *bytes;
	int r;

	if (size > SP_UNWIND_MAX_SECTION)
		return sp_error_set(err, -SP_E_COUNT, 0,
				    "its %s has %llu MiB; sp-trace takes %u MiB at most", name,
				    (unsigned long long)(size >> 20), SP_UNWIND_MAX_SECTION >> 20);
	if (offset > file->size || size > file->size - offset)
		return sp_error_set(err, -SP_E_TRUNCATED, offset, "the file ends within its %s",
				    name);
	bytes = malloc(size ? size : 1);
	if (!bytes)
		return sp_error_set(err, -ENOMEM, 0, "no memory for its %s of %llu MiB", name,
				    (unsigned long long)(size >> 20));
	r = sp_pread_all(file->fd, bytes, size, offset);
	if (r < 0) {
		free(bytes);
		return sp_error_set(err, r == -ENODATA ? -SP_E_TRUNCATED : r, offset,
				    "its %s cannot be read: %s", name,
				    r == -ENODATA ? "the file ends within it" : strerror(-r));
	}
	section->bytes = bytes;
	section->size = size;
	return 0;
}

/* libelf unpacks it; what comes out was announced in its head, and is believed only within limits.
 */
static int read_packed(Elf_Scn *scn, const GElf_Shdr *sh, const char *name,
		       struct sp_unwind_section *section, struct sp_error *err)
{
	bool gnu = !(sh->sh_flags & SHF_COMPRESSED);
	GElf_Chdr ch;
	Elf_Data *data;

	if (!gnu && (!gelf_getchdr(scn, &ch) || ch.ch_size > SP_UNWIND_MAX_SECTION))
		return sp_error_set(err, -SP_E_DAMAGED, sh->sh_offset,
				    "its compressed %s is damaged or too large", name);
	if ((gnu ? elf_compress_gnu(scn, 0, 0) : elf_compress(scn, 0, 0)) < 0)
		return sp_error_set(err, -SP_E_DAMAGED, sh->sh_offset,
				    "its compressed %s cannot be unpacked: %s", name,
				    elf_errmsg(-1));
	data = elf_rawdata(scn, NULL);
	if (!data || data->d_size > SP_UNWIND_MAX_SECTION)
		return sp_error_set(err, -SP_E_DAMAGED, sh->sh_offset,
				    "its compressed %s is damaged or too large", name);
	section->bytes = malloc(data->d_size ? data->d_size : 1);
	if (!section->bytes)
		return sp_error_set(err, -ENOMEM, 0, "no memory for its %s", name);
	if (data->d_size)
		memcpy(section->bytes, data->d_buf, data->d_size);
	section->size = data->d_size;
	return 0;
}

static int read_section(struct sp_elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh,
			const char *name, struct sp_unwind_section *section, struct sp_error *err)
{
	if (section->bytes || sh->sh_type == SHT_NOBITS || sh->sh_size == 0)
		return 0;
	section->address = sh->sh_addr;
	if ((sh->sh_flags & SHF_COMPRESSED) || !strcmp(name, ".zdebug_frame"))
		return sh->sh_size > SP_UNWIND_MAX_SECTION || sh->sh_offset > file->size ||
				       sh->sh_size > file->size - sh->sh_offset
			       ? sp_error_set(err, -SP_E_TRUNCATED, sh->sh_offset,
					      "the file ends within its %s", name)
			       : read_packed(scn, sh, name, section, err);
	return read_bytes(file, sh->sh_offset, sh->sh_size, name, section, err);
}

/* By PT_GNU_EH_FRAME, whose target begins with where .eh_frame is. How long that is, nobody says: a
 * zero word ends it, as a rule. */
static int read_by_header(struct sp_elf_file *file, struct sp_unwind_section *section,
			  struct sp_error *err)
{
	uint64_t address, offset, bytes = 0;
	uint8_t head[16] = {0};
	struct sp_bytes in = {head + 4, head + sizeof(head), false};
	GElf_Phdr ph = {0};
	size_t count;

	if (elf_getphdrnum(file->elf, &count) < 0)
		return 0;
	for (size_t i = 0; i < count && ph.p_type != PT_GNU_EH_FRAME; i++)
		if (!gelf_getphdr(file->elf, (int)i, &ph))
			return 0;
	if (ph.p_type != PT_GNU_EH_FRAME)
		return 0;
	if (ph.p_filesz < 8 || sp_elf_file_read(file, ph.p_offset, head, 12) < 0 || head[0] != 1 ||
	    !sp_cfi_read_address(&in, head[1], ph.p_vaddr + 4, &address) ||
	    sp_elf_file_offset(file, address, 4, 0, &offset) < 0)
		return sp_error_set(err, -SP_E_DAMAGED, ph.p_offset,
				    "its .eh_frame_hdr is damaged, and it has no section headers");
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct sp_elf_segment *s = &file->segments[i];

		if (address >= s->address && address - s->address < s->bytes && !bytes)
			bytes = s->bytes - (address - s->address);
	}
	if (bytes > SP_UNWIND_MAX_SECTION)
		bytes = SP_UNWIND_MAX_SECTION;
	section->address = address;
	section->open_end = true;
	return read_bytes(file, offset, bytes, ".eh_frame", section, err);
}

int sp_unwind_sections_read(struct sp_elf_file *file, struct sp_unwind_section *ret_eh_frame,
			    struct sp_unwind_section *ret_debug_frame, struct sp_error *err)
{
	Elf_Scn *scn = NULL;
	size_t names;
	int r = 0;

	*ret_eh_frame = (struct sp_unwind_section){.eh_frame = true};
	*ret_debug_frame = (struct sp_unwind_section){0};
	if (!file->has_sections || elf_getshdrstrndx(file->elf, &names) < 0)
		return read_by_header(file, ret_eh_frame, err);
	while (r == 0 && (scn = elf_nextscn(file->elf, scn))) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh) || !(name = elf_strptr(file->elf, names, sh.sh_name)))
			continue;
		if (!strcmp(name, ".eh_frame"))
			r = read_section(file, scn, &sh, name, ret_eh_frame, err);
		else if (!strcmp(name, ".debug_frame") || !strcmp(name, ".zdebug_frame"))
			/* .eh_frame can do without, and a table is better than none: @err says it.
			 */
			(void)read_section(file, scn, &sh, name, ret_debug_frame, err);
	}
	ret_debug_frame->address = 0;
	if (r == 0 && !ret_eh_frame->bytes)
		r = read_by_header(file, ret_eh_frame, err);
	return r;
}
