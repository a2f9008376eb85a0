/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_dwarf_space.c - which files libdw knows of in a process, and where.
 *
 * Files are opened when a stack first goes through them. Invariant: libdw's modules do not overlap
 * and are those that the recording's maps say for the time that was asked for last, at the
 * addresses that were asked for; one that was mapped over since (dlclose, dlopen) is taken out.
 */
#include <errno.h>
#include <inttypes.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/unwind_dwarf_worker.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/known_code.h"

struct module {
	uint64_t start, end;
	uint64_t key, bias; /* of the map: by these, its other maps are known */
	char *name;
};

struct sp_dwarf_space {
	const struct sp_dwarf_job *job;
	uint32_t process;
	Dwfl_Callbacks callbacks;
	Dwfl *dwfl;
	struct module *modules;
	size_t n_modules, room, last; /* found last */
	struct sp_idmap refused;      /* indices of maps whose files cannot be used */
};

/* Only the file itself: a separate one holds no call frame information that the file lacks, and
 * libdw would ask servers for it. */
static int find_nothing(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **ret_name)
{
	(void)module, (void)userdata, (void)name, (void)base;
	(void)file, (void)link, (void)crc, (void)ret_name;
	return -1;
}

static int find_no_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			char **ret_name, Elf **ret_elf)
{
	(void)module, (void)userdata, (void)name, (void)base, (void)ret_name, (void)ret_elf;
	return -1;
}

struct sp_dwarf_space *sp_dwarf_space_new(const struct sp_dwarf_job *job, uint32_t process)
{
	struct sp_dwarf_space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->job = job;
	space->process = process;
	space->callbacks.find_elf = find_no_file;
	space->callbacks.find_debuginfo = find_nothing;
	space->callbacks.section_address = dwfl_offline_section_address;
	space->dwfl = dwfl_begin(&space->callbacks);
	if (!space->dwfl) {
		free(space);
		return NULL;
	}
	return space;
}

void sp_dwarf_space_free(struct sp_dwarf_space *space)
{
	if (!space)
		return;
	dwfl_end(space->dwfl);
	for (size_t i = 0; i < space->n_modules; i++)
		free(space->modules[i].name);
	free(space->modules);
	sp_idmap_free(&space->refused);
	free(space);
}

Dwfl *sp_dwarf_space_dwfl(const struct sp_dwarf_space *space)
{
	return space->dwfl;
}

static void note(struct sp_dwarf_space *space, uint32_t map, enum sp_dwarf_refusal reason)
{
	struct sp_dwarf_shared *shared = space->job->shared;
	uint32_t n = shared->notes;

	sp_idmap_set(&space->refused, map, 1);
	if (n >= SP_DWARF_NOTES)
		return;
	shared->note[n] = (struct sp_dwarf_note){map, reason};
	shared->notes = n + 1;
}

/* Takes the modules out that overlap a range. */
static void clear_range(struct sp_dwarf_space *space, uint64_t start, uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < space->n_modules; i++)
		kept += space->modules[i].end <= start || space->modules[i].start >= end;
	if (kept == space->n_modules)
		return;
	/* libdw forgets those that are not reported again. */
	dwfl_report_begin(space->dwfl);
	kept = 0;
	for (size_t i = 0; i < space->n_modules; i++) {
		struct module *module = &space->modules[i];

		if (module->end > start && module->start < end) {
			free(module->name);
			continue;
		}
		dwfl_report_module(space->dwfl, module->name, module->start, module->end);
		space->modules[kept++] = *module;
	}
	dwfl_report_end(space->dwfl, NULL, NULL);
	space->n_modules = kept;
}

/* The addresses that a file takes, from its program headers. */
static bool find_extent(int fd, uint64_t bias, uint64_t *ret_start, uint64_t *ret_end)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	bool any = false;
	size_t n;

	if (!elf || elf_getphdrnum(elf, &n) < 0)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD)
			continue;
		if (!any)
			*ret_start = bias + segment.p_vaddr;
		*ret_end = bias + segment.p_vaddr + segment.p_memsz;
		any = true;
	}
	elf_end(elf);
	*ret_start &= ~(uint64_t)4095;
	return any && *ret_start < *ret_end;
}

static enum sp_stack_end add_module(struct sp_dwarf_space *space, uint32_t index)
{
	const struct sp_map *map = &space->job->recording->maps[index];
	struct module module = {.key = sp_dwarf_map_key(map), .bias = map->bias};
	struct module *slot;
	Dwfl_Module *known;
	uint64_t bias = 0;
	GElf_Addr low, high;
	int fd;

	if (sp_idmap_get(space->job->deadly, sp_dwarf_map_key(map)) != SP_NONE) {
		note(space, index, SP_DWARF_DEADLY);
		return SP_STACK_NO_TABLE;
	}
	fd = sp_dwarf_file_open(space->job, map, &bias);
	if (fd < 0) {
		note(space, index, (enum sp_dwarf_refusal) - fd);
		return SP_STACK_NO_TABLE;
	}
	if (!find_extent(fd, bias, &module.start, &module.end) ||
	    asprintf(&module.name, "%" PRIu32 "@%" PRIx64, index, module.start) < 0) {
		close(fd);
		note(space, index, SP_DWARF_NOT_ELF);
		return SP_STACK_NO_TABLE;
	}
	clear_range(space, module.start, module.end);
	dwfl_report_begin_add(space->dwfl);
	known = dwfl_report_elf(space->dwfl, module.name, map->path, fd, bias, true);
	dwfl_report_end(space->dwfl, NULL, NULL);
	slot = known ? sp_array_add(&space->modules, &space->n_modules, &space->room) : NULL;
	if (!slot) {
		if (!known)
			close(fd);
		free(module.name);
		note(space, index, SP_DWARF_NOT_ELF);
		return SP_STACK_NO_TABLE;
	}
	/* libdw rounds by the segments' alignment. */
	dwfl_module_info(known, NULL, &low, &high, NULL, NULL, NULL, NULL);
	module.start = low;
	module.end = high;
	*slot = module;
	space->last = space->n_modules - 1;
	return SP_STACK_UNKNOWN;
}

static bool covers(const struct module *module, uint64_t address)
{
	return module->start <= address && address < module->end;
}

enum sp_stack_end sp_dwarf_space_need(struct sp_dwarf_space *space, uint64_t address, uint64_t time)
{
	const struct sp_recording *rec = space->job->recording;
	uint32_t index = sp_recording_find_map(rec, space->process, address, time);
	const struct sp_map *map = &rec->maps[index];
	size_t i = space->last;

	if (index == SP_NONE)
		return SP_STACK_NO_MAPPING;
	space->job->shared->at = index;
	if (i >= space->n_modules || !covers(&space->modules[i], address))
		for (i = 0; i < space->n_modules && !covers(&space->modules[i], address); i++)
			;
	if (i < space->n_modules && space->modules[i].key == sp_dwarf_map_key(map) &&
	    space->modules[i].bias == map->bias) {
		space->last = i;
		return SP_STACK_UNKNOWN;
	}
	if ((map->inode || !strcmp(map->path, "[vdso]")) &&
	    sp_idmap_get(&space->refused, index) == SP_NONE)
		return add_module(space, index);
	clear_range(space, map->start, map->end);
	return SP_STACK_NO_TABLE;
}

bool sp_dwarf_space_read(const struct sp_dwarf_space *space, uint64_t address, uint64_t *ret_word)
{
	Dwfl_Module *module = dwfl_addrmodule(space->dwfl, address);
	GElf_Addr bias;
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	size_t n, size;
	const char *bytes;

	if (!elf || elf_getphdrnum(elf, &n) < 0)
		return false;
	address -= bias;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    segment.p_flags & PF_W || segment.p_filesz < sizeof(*ret_word) ||
		    address - segment.p_vaddr > segment.p_filesz - sizeof(*ret_word))
			continue;
		bytes = elf_rawfile(elf, &size);
		address += segment.p_offset - segment.p_vaddr;
		if (!bytes || size < sizeof(*ret_word) || address > size - sizeof(*ret_word))
			return false;
		memcpy(ret_word, bytes + address, sizeof(*ret_word));
		return true;
	}
	return false;
}

Dwarf_Frame *sp_dwarf_space_rule(const struct sp_dwarf_space *space, uint64_t address)
{
	Dwfl_Module *module = dwfl_addrmodule(space->dwfl, address);
	Dwarf_Addr bias = 0;

	for (int debug = 0; module && debug < 2; debug++) {
		Dwarf_CFI *cfi = debug ? dwfl_module_dwarf_cfi(module, &bias)
				       : dwfl_module_eh_cfi(module, &bias);
		Dwarf_Frame *frame = NULL;

		if (cfi && dwarf_cfi_addrframe(cfi, address - bias, &frame) == 0)
			return frame;
	}
	return NULL;
}

/* Two words: what it takes to know code. */
static bool read_code(const struct sp_dwarf_space *space, uint64_t address, uint8_t code[16])
{
	uint64_t words[2];

	if (!sp_dwarf_space_read(space, address, &words[0]) ||
	    !sp_dwarf_space_read(space, address + 8, &words[1]))
		return false;
	memcpy(code, words, sizeof(words));
	return true;
}

static bool is_described(const struct sp_dwarf_space *space, uint64_t address)
{
	Dwarf_Frame *frame = sp_dwarf_space_rule(space, address);
	bool described = frame;

	free(frame);
	return described;
}

bool sp_dwarf_space_is_entry(const struct sp_dwarf_space *space, uint64_t address)
{
	Dwfl_Module *module = dwfl_addrmodule(space->dwfl, address);
	GElf_Addr bias;
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	uint8_t code[SP_ENTRY_BYTES];
	GElf_Ehdr header;

	return elf && gelf_getehdr(elf, &header) &&
	       address - (header.e_entry + bias) < SP_ENTRY_EXTENT &&
	       read_code(space, header.e_entry + bias, code) &&
	       sp_code_is_entry(header.e_machine, code) && !is_described(space, address);
}

bool sp_dwarf_space_is_clone(const struct sp_dwarf_space *space, uint64_t address)
{
	uint8_t code[16];

	for (size_t back = 0; back < SP_CLONE_MOST; back++)
		if (read_code(space, address - back, code) &&
		    sp_code_is_clone(EM_X86_64, code, sizeof(code)) > back)
			return !is_described(space, address);
	return false;
}

bool sp_dwarf_space_is_stub(const struct sp_dwarf_space *space, uint64_t address)
{
	uint8_t code[32];

	for (size_t back = 0; back < SP_STUB_ENTRY; back++)
		if (read_code(space, address - back, code) &&
		    read_code(space, address - back + 16, code + 16) &&
		    sp_code_is_stub(code) > back)
			return true;
	return false;
}
