/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/unwind_known.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "userspace/base/known_code.h"

/* The kernel made it, so it is believed. Its section headers, which the helper wants, are behind
 * its segments, perhaps in a page of their own (Linux 6.1); all of it is mapped, in whole pages. */
static size_t vdso_bytes(const Elf64_Ehdr *header)
{
	const Elf64_Phdr *p = (const void *)((const char *)header + header->e_phoff);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;

	for (unsigned i = 0; i < header->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_offset + p[i].p_filesz > bytes)
			bytes = p[i].p_offset + p[i].p_filesz;
	return (bytes + page - 1) & ~(page - 1);
}

int sp_unwind_known_vdso(int *ret_fd)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t bytes, done = 0;
	int fd;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_ident[EI_CLASS] != ELFCLASS64)
		return -ENOENT;
	bytes = vdso_bytes(header);
	fd = memfd_create("vdso", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	while (done < bytes) {
		ssize_t n = write(fd, (const char *)header + done, bytes - done);

		if (n <= 0) {
			close(fd);
			return -EIO;
		}
		done += (size_t)n;
	}
	*ret_fd = fd;
	return 0;
}

/* As known_code.h has it. */
static const uint8_t trampoline[SP_UNWIND_TRAMPOLINE_BYTES] = {
	0x51, 0x41, 0x53, 0x50, 0x48, 0xc7, 0xc0, 0x50, 0x01,
	0x00, 0x00, 0x0f, 0x05, 0x58, 0x41, 0x5b, 0x59, 0xc3,
};

#define DEPTHS (SP_TRAMPOLINE_DEPTHS + 1) /* and where it ends: without a rule */

int sp_unwind_known_trampoline(const uint8_t bytes[SP_UNWIND_TRAMPOLINE_BYTES],
			       struct sp_unwind_table *ret_table)
{
	struct sp_unwind_table t = {.rows = DEPTHS, .rules = 5, .segments = 1};

	if (memcmp(bytes, trampoline, SP_TRAMPOLINE_END))
		return -ENODATA;
	t.pc = calloc(DEPTHS, sizeof(*t.pc));
	t.rule = calloc(DEPTHS, sizeof(*t.rule));
	t.rules_at = calloc(t.rules, sizeof(*t.rules_at));
	if (!t.pc || !t.rule || !t.rules_at) {
		free(t.pc);
		free(t.rule);
		free(t.rules_at);
		return -ENOMEM;
	}
	for (unsigned i = 1; i < t.rules; i++)
		t.rules_at[i] = (struct sp_unwind_rule){
			.kind = SP_UNWIND_REG,
			.reg = 7, /* rsp */
			.offset = 8 * (int)i,
			.fp = SP_UNWIND_SAME,
			.ra = -1,
		};
	for (unsigned i = 0; i < SP_TRAMPOLINE_DEPTHS; i++) {
		t.pc[i] = sp_trampoline_depths[i].at;
		t.rule[i] = (uint16_t)(sp_trampoline_depths[i].depth / 8 + 1);
	}
	t.pc[SP_TRAMPOLINE_DEPTHS] = SP_TRAMPOLINE_END;
	t.segment[0] = (struct sp_unwind_segment){.file_size = 4096};
	*ret_table = t;
	return 0;
}
