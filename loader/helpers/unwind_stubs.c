/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_stubs.c - a stub is two pieces: the place of the probe, which its note names and
 * elf_probes.c compares, and the entry, which jumps there, and which is looked for nearby.
 */
#include "loader/helpers/unwind_stubs.h"

#include <elf.h>
#include <string.h>

#include "formats/wire.h"

#define PLACE_BYTES 7
#define NEARBY 512

/* endbr64; mov …(%rip),%rax; test %rax,%rax; je +9; cmpb $0,(%rax); jne …; nop; ret */
static const uint8_t entry[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x05, 0,	0,
				0,    0,    0x48, 0x85, 0xc0, 0x74, 0x09, 0x80, 0x38,
				0x00, 0x0f, 0x85, 0,	0,    0,    0,	  0x90, 0xc3};
#define HOME 7	/* where in it the distance of the variable stands */
#define JUMP 21 /* … and that of the probe */

static bool is_entry(const uint8_t *code, uint64_t address, uint64_t place)
{
	int32_t distance;

	memcpy(&distance, code + JUMP, sizeof(distance));
	return !memcmp(code, entry, HOME) &&
	       !memcmp(code + HOME + 4, entry + HOME + 4, JUMP - HOME - 4) &&
	       !memcmp(code + JUMP + 4, entry + JUMP + 4, sizeof(entry) - JUMP - 4) &&
	       address + JUMP + 4 + (uint64_t)(int64_t)distance == place;
}

static bool find_entry(struct sp_elf_file *file, uint64_t place, struct sp_unwind_stub *ret_stub)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct sp_elf_segment *s = &file->segments[i];
		uint8_t code[2 * NEARBY];
		uint64_t first, last;

		if (!(s->flags & PF_X) || place < s->address || place - s->address >= s->bytes)
			continue;
		first = place - s->address > NEARBY ? place - NEARBY : s->address;
		last = s->address + s->bytes - place > NEARBY ? place + NEARBY
							      : s->address + s->bytes;
		if (sp_elf_file_read(file, s->offset + (first - s->address), code, last - first) <
		    0)
			return false;
		for (uint64_t at = first; last - at >= sizeof(entry); at++)
			if (is_entry(code + (at - first), at, place)) {
				*ret_stub = (struct sp_unwind_stub){at, at + sizeof(entry)};
				return true;
			}
	}
	return false;
}

/* nop; ret: all of a stub for aarch64 */
static bool is_arm_stub(struct sp_elf_file *file, uint64_t place)
{
	static const uint8_t stub[] = {0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6};
	uint8_t code[sizeof(stub)];
	uint64_t offset;

	return file->machine == EM_AARCH64 &&
	       sp_elf_file_offset(file, place, sizeof(code), PF_X, &offset) == 0 &&
	       sp_elf_file_read(file, offset, code, sizeof(code)) == 0 &&
	       !memcmp(code, stub, sizeof(stub));
}

size_t sp_unwind_stubs_find(struct sp_elf_file *file,
			    struct sp_unwind_stub ret_stubs[2 * SP_ELF_LIMIT_PROBES])
{
	struct sp_elf_probes probes = {0};
	size_t count = 0;

	(void)sp_elf_probes_read(file, &probes);
	for (size_t i = 0; i < probes.count; i++) {
		uint64_t place = probes.at[i].address;

		if (is_arm_stub(file, place))
			ret_stubs[count++] = (struct sp_unwind_stub){place, place + 8};
		if (!(probes.at[i].flags & SP_PROBE_F_STUB))
			continue;
		ret_stubs[count++] = (struct sp_unwind_stub){place, place + PLACE_BYTES};
		count += find_entry(file, place, &ret_stubs[count]);
	}
	return count;
}
