/* SPDX-License-Identifier: BSD-2-Clause
 *
 * vdso.c - see vdso.h. The kernel made it, so it is believed.
 */
#include "userspace/base/vdso.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

static const Elf64_Ehdr *find(void)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR);

	return header && !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
			       header->e_ident[EI_CLASS] == ELFCLASS64
		       ? header
		       : NULL;
}

static const Elf64_Phdr *segments(const Elf64_Ehdr *header)
{
	return (const void *)((const char *)header + header->e_phoff);
}

/* Its section headers are behind its segments, perhaps in a page of their own (Linux 6.1); all of
 * it is mapped, in whole pages. */
static size_t count_bytes(const Elf64_Ehdr *header)
{
	const Elf64_Phdr *p = segments(header);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;

	for (unsigned i = 0; i < header->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_offset + p[i].p_filesz > bytes)
			bytes = p[i].p_offset + p[i].p_filesz;
	return (bytes + page - 1) & ~(page - 1);
}

int sp_vdso_open(void)
{
	const Elf64_Ehdr *header = find();
	size_t bytes, done = 0;
	int fd;

	if (!header)
		return -ENOENT;
	bytes = count_bytes(header);
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
	return fd;
}

static void take_build_id(const char *notes, size_t size, char id[SP_VDSO_BUILD_ID])
{
	Elf64_Nhdr note;

	for (size_t at = 0; at + sizeof(note) <= size;) {
		size_t name = at + sizeof(note), bytes;

		memcpy(&note, notes + at, sizeof(note));
		bytes = name + ((note.n_namesz + 3ul) & ~3ul);
		at = bytes + ((note.n_descsz + 3ul) & ~3ul);
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0 ||
		    2 * (size_t)note.n_descsz >= SP_VDSO_BUILD_ID)
			continue;
		for (size_t i = 0; i < note.n_descsz; i++)
			snprintf(id + 2 * i, 3, "%02x", (unsigned char)notes[bytes + i]);
		return;
	}
}

void sp_vdso_build_id(char id[SP_VDSO_BUILD_ID])
{
	const Elf64_Ehdr *header = find();

	*id = '\0';
	for (unsigned i = 0; header && i < header->e_phnum; i++)
		if (segments(header)[i].p_type == PT_NOTE && !*id)
			take_build_id((const char *)header + segments(header)[i].p_offset,
				      segments(header)[i].p_filesz, id);
}
