/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_sections.c - see debug_sections.h.
 */
#include "userspace/analysis/debug_sections.h"

#include <gelf.h>

#include "userspace/base/cleanup.h"

/* Of ".debug_info", ".debug_info.dwo" and ".zdebug_info" the middle, "info"; its length. */
static size_t middle_of(const char *name, bool split, const char **ret_middle)
{
	bool is_split;
	size_t length;

	if (!strncmp(name, ".debug_", 7))
		*ret_middle = name + 7;
	else if (!strncmp(name, ".zdebug_", 8))
		*ret_middle = name + 8;
	else
		return 0;
	length = strlen(*ret_middle);
	if (!strcmp(*ret_middle, "cu_index"))
		return length;
	is_split = length > 4 && !strcmp(*ret_middle + length - 4, ".dwo");
	return is_split != split ? 0 : length - (is_split ? 4 : 0);
}

bool sp_debug_sections_find(Elf *elf, bool split, struct sp_debug_sections *ret_sections)
{
	struct sp_debug_sections sections = {0};
	const struct {
		const char *name;
		struct sp_debug_section *section;
	} wanted[] = {
		{"info", &sections.info},	  {"abbrev", &sections.abbrev},
		{"line", &sections.line},	  {"line_str", &sections.line_str},
		{"str", &sections.str},		  {"str_offsets", &sections.str_offsets},
		{"addr", &sections.addr},	  {"ranges", &sections.ranges},
		{"rnglists", &sections.rnglists}, {"cu_index", &sections.cu_index},
	};
	const char *identity = elf ? elf_getident(elf, NULL) : NULL;
	size_t names;
	Elf_Scn *section = NULL;

	if (!identity || identity[EI_DATA] != ELFDATA2LSB || elf_getshdrstrndx(elf, &names) < 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name, *middle = NULL;
		size_t length;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		length = name ? middle_of(name, split, &middle) : 0;
		for (size_t i = 0; length && i < sp_array_size(wanted); i++) {
			if (strlen(wanted[i].name) != length ||
			    strncmp(wanted[i].name, middle, length) || wanted[i].section->data)
				continue;
			/* libdw has done this already for what it reads. */
			if (header.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
				break;
			data = elf_rawdata(section, NULL);
			if (data && data->d_buf)
				*wanted[i].section =
					(struct sp_debug_section){data->d_buf, data->d_size};
		}
	}
	*ret_sections = sections;
	return true;
}
