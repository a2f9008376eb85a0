/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elf_probes.c - stapsdt notes of provider `sp`, and the stubs that they point at.
 *
 * Invariant: a probe that is handed out is a nop in executable bytes of the file, its semaphore in
 * writable ones, and SP_PROBE_F_STUB stands only where the very bytes of our stub were read.
 */
#include "loader/helpers/elf_probes.h"

#include <errno.h>
#include <gelf.h>
#include <linux/types.h>
#include <string.h>

#include "formats/error.h"
#include "formats/wire.h"

#define NOTE_TYPE 3 /* stapsdt notes of the version that everybody reads */

static const struct {
	const char *name;
	uint32_t kind;
	const char *x86_64, *aarch64; /* how the arguments begin: later versions may add some */
} kinds[] = {
	{"begin", SP_PROBE_BEGIN, "8@%rdi 8@%rsi 8@%rdx 8@%rcx", "8@x0 8@x1 8@x2 8@x3"},
	{"end", SP_PROBE_END, "8@%rdi 8@%rsi 8@%rdx", "8@x0 8@x1 8@x2"},
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/* nop, 5-byte nop, ret, kind: see usdt/sp_region.h. Aligned, so that no nop straddles a page. */
static bool is_stub(struct sp_elf_file *file, const struct sp_elf_probe *probe)
{
	static const uint8_t code[] = {0x90, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3};
	uint8_t bytes[sizeof(code) + 1];

	return file->machine == EM_X86_64 && probe->address % 16 == 0 && probe->offset % 16 == 0 &&
	       sp_elf_file_read(file, probe->offset, bytes, sizeof(bytes)) == 0 &&
	       !memcmp(bytes, code, sizeof(code)) && bytes[sizeof(code)] == probe->kind;
}

/* A probe is a nop. Anything else, of a note that is forged or that a tool forgot when it moved the
 * code, may be the middle of an instruction, where a breakpoint would ruin the program. */
static bool is_nop(struct sp_elf_file *file, uint64_t offset)
{
	static const uint8_t x86_64[] = {0x90}, aarch64[] = {0x1f, 0x20, 0x03, 0xd5};
	size_t size = file->machine == EM_X86_64 ? sizeof(x86_64) : sizeof(aarch64);
	uint8_t bytes[sizeof(aarch64)];

	return sp_elf_file_read(file, offset, bytes, size) == 0 &&
	       !memcmp(bytes, file->machine == EM_X86_64 ? x86_64 : aarch64, size);
}

/* Two texts of a note in a row; false where they are not terminated. */
static bool next_text(const char **at, const char *end, const char **ret_text)
{
	const char *nul = *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;

	if (!nul)
		return false;
	*ret_text = *at;
	*at = nul + 1;
	return true;
}

static bool find_kind(const struct sp_elf_file *file, const char *name, const char *arguments,
		      struct sp_elf_probe *probe)
{
	for (size_t i = 0; i < KIND_COUNT; i++) {
		const char *want = file->machine == EM_X86_64 ? kinds[i].x86_64 : kinds[i].aarch64;

		if (strcmp(name, kinds[i].name))
			continue;
		if (strncmp(arguments, want, strlen(want)) ||
		    strlen(arguments) >= sizeof(probe->arguments))
			return false;
		probe->kind = kinds[i].kind;
		memcpy(probe->arguments, arguments, strlen(arguments) + 1);
		return true;
	}
	return false;
}

static int locate(struct sp_elf_file *file, struct sp_elf_probe *probe)
{
	if (sp_elf_file_offset(file, probe->address, 1, PF_X, &probe->offset) < 0 ||
	    !is_nop(file, probe->offset))
		return -EFAULT;
	if (probe->semaphore &&
	    (probe->semaphore % 2 ||
	     sp_elf_file_offset(file, probe->semaphore, 2, PF_W, &probe->semaphore_offset) < 0 ||
	     probe->semaphore_offset == 0))
		return -EFAULT;
	return 0;
}

static int take_note(struct sp_elf_file *file, const uint8_t *desc, size_t bytes,
		     struct sp_elf_probes *probes)
{
	const char *at = (const char *)desc + 24, *end = (const char *)desc + bytes;
	const char *provider, *name, *arguments;
	struct sp_elf_probe probe = {0};
	uint64_t base, adjust;

	if (bytes < 24 || !next_text(&at, end, &provider) || strcmp(provider, "sp"))
		return 0;
	memcpy(&probe.address, desc, 8);
	memcpy(&base, desc + 8, 8);
	memcpy(&probe.semaphore, desc + 16, 8);
	if (probe.address == 0)
		return 0;
	if (!next_text(&at, end, &name) || !next_text(&at, end, &arguments) ||
	    !find_kind(file, name, arguments, &probe)) {
		probes->unknown++;
		return 0;
	}
	/* What has moved a linked file (prelink) moved all of it, but did not edit the note. */
	adjust = file->has_note_base ? file->note_base - base : 0;
	probe.address += adjust;
	if (probe.semaphore)
		probe.semaphore += adjust;
	if (locate(file, &probe) < 0) {
		probes->invalid++;
		return 0;
	}
	for (size_t i = 0; i < probes->count; i++)
		if (probes->at[i].address == probe.address && probes->at[i].kind == probe.kind)
			return 0;
	if (probes->count == SP_ELF_LIMIT_PROBES)
		return -SP_E_COUNT;
	if (is_stub(file, &probe))
		probe.flags |= SP_PROBE_F_STUB;
	probes->at[probes->count++] = probe;
	return 0;
}

int sp_elf_probes_read(struct sp_elf_file *file, struct sp_elf_probes *probes)
{
	for (size_t i = 0; i < file->probe_notes.count; i++) {
		const struct sp_elf_extent *x = &file->probe_notes.at[i];
		size_t at = 0, next, name, desc;
		Elf_Data *data;
		GElf_Nhdr nh;

		if (x->bytes == 0)
			continue;
		if (x->bytes > SP_ELF_MAX_NOTES)
			return -SP_E_COUNT;
		data = elf_getdata_rawchunk(file->elf, (int64_t)x->offset, x->bytes, ELF_T_NHDR);
		if (!data)
			return -SP_E_DAMAGED;
		while ((next = gelf_getnote(data, at, &nh, &name, &desc)) > 0) {
			int r = 0;

			at = next;
			if (nh.n_type == NOTE_TYPE && nh.n_namesz == 8 &&
			    !memcmp((const char *)data->d_buf + name, "stapsdt", 8))
				r = take_note(file, (const uint8_t *)data->d_buf + desc,
					      nh.n_descsz, probes);
			if (r < 0)
				return r;
		}
	}
	return 0;
}
