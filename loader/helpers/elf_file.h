/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elf_file.h - one ELF file that nobody vouches for, through its descriptor.
 *
 * Everything is read with pread(2), never mapped: a mapped file that somebody truncates kills its
 * reader. Nothing is trusted: every offset is checked against the size that the file had when it
 * was opened, every count against a limit, and a read beyond the end is an error. Accepted are
 * linked files (executables and shared objects), 64 bits, little-endian, x86-64 or aarch64.
 */
#ifndef SP_LOADER_HELPERS_ELF_FILE_H
#define SP_LOADER_HELPERS_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libelf.h>
#include <sys/types.h>

/* Far above anything that a linker makes, low enough to be done in a fraction of a second. */
#define SP_ELF_MAX_HEADERS 1024	     /* program headers */
#define SP_ELF_MAX_SECTIONS 100000   /* section headers */
#define SP_ELF_MAX_SEGMENTS 128	     /* PT_LOADs */
#define SP_ELF_MAX_EXTENTS 64	     /* sections of one name, note segments */
#define SP_ELF_MAX_NOTES (16u << 20) /* bytes of one note section */
#define SP_ELF_MAX_BUILD_ID 64	     /* bytes */

struct sp_elf_segment {
	uint64_t address, offset;
	uint64_t bytes; /* that are in the file */
	uint32_t flags; /* PF_* */
};

/* A piece of the file, all of it inside. */
struct sp_elf_extent {
	uint64_t address, offset, bytes;
};

struct sp_elf_extents {
	size_t count;
	struct sp_elf_extent at[SP_ELF_MAX_EXTENTS];
};

struct sp_elf_cache;

/* Read-only for all but elf_file.c. */
struct sp_elf_file {
	int fd;
	uint64_t size;
	Elf *elf;
	uint16_t type,
		machine; /* e_type, e_machine; type is set even where opening fails, if known */
	size_t segment_count;
	struct sp_elf_segment segments[SP_ELF_MAX_SEGMENTS];
	struct sp_elf_extents note_segments; /* PT_NOTE */
	struct sp_elf_extents probe_notes;   /* sections .note.stapsdt */
	struct sp_elf_extents descriptors;   /* sections sp_desc */
	bool has_sections;
	bool has_note_base;
	uint64_t note_base; /* address of .stapsdt.base */
	struct sp_elf_cache *cache;
};

/* Fills @file, which the caller zeroed, and which sp_elf_file_close() releases in any case.
 * -ENOEXEC: not ELF. -ENOTSUP: ELF, but of a kind that is not accepted. -SP_E_TRUNCATED: it ends
 * before what its headers promise. -SP_E_DAMAGED: headers that contradict themselves. -SP_E_COUNT:
 * above the limits. Else what read(2) said. A file without section headers opens (has_sections). */
int sp_elf_file_open(struct sp_elf_file *file, int fd);
void sp_elf_file_close(struct sp_elf_file *file);

/* Reads exactly @bytes; -SP_E_TRUNCATED where the file has fewer. */
int sp_elf_file_read(struct sp_elf_file *file, uint64_t offset, void *out, size_t bytes);

/* Offset of @bytes at a link-time address, which must lie in one PT_LOAD that has all of @flags,
 * and in the part of it that is in the file. -EFAULT where they do not. */
int sp_elf_file_offset(const struct sp_elf_file *file, uint64_t address, uint64_t bytes,
		       uint32_t flags, uint64_t *ret_offset);

/* Copies the NUL-terminated string at a link-time address, at most @room - 1 bytes of it, and
 * terminates it. Returns the length that was copied, with *ret_cut set where the string is longer;
 * -EFAULT where it starts or ends outside the file. */
ssize_t sp_elf_file_string(struct sp_elf_file *file, uint64_t address, char *out, size_t room,
			   bool *ret_cut);

/* The build-id in hexadecimal, "" if it has none. @out has 2 * SP_ELF_MAX_BUILD_ID + 1 bytes. */
void sp_elf_file_build_id(struct sp_elf_file *file, char *out);

#endif
