/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_dwarf_file.c - the file that was mapped, or nothing: stacks unwound by another build's
 * rules would be wrong without looking so.
 */
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/analysis/unwind_dwarf_worker.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/files.h"
#include "userspace/base/vdso.h"

SP_DEFINE_CLEANUP(Elf *, elf_end);

/* The running kernel's own, as a file. */
static int open_vdso(const struct sp_dwarf_job *job)
{
	int fd = job->same_boot ? sp_vdso_open() : -1;

	if (fd >= 0)
		return fd;
	return job->same_boot ? -SP_DWARF_GONE : -SP_DWARF_OTHER_BOOT;
}

static int open_archived(const struct sp_dwarf_job *job, const struct sp_image *image,
			 struct stat *ret_status)
{
	if (!job->directory || !image || !image->archived[0])
		return -ENOENT;
	return sp_file_open_below(job->directory, image->archived, ret_status);
}

static bool has_build_id(Elf *elf, const char *expected)
{
	const void *bits = NULL;
	ssize_t length = dwelf_elf_gnu_build_id(elf, &bits);

	if (length <= 0 || strlen(expected) != 2 * (size_t)length)
		return false;
	for (ssize_t i = 0; i < length; i++) {
		char byte[3];

		snprintf(byte, sizeof(byte), "%02x", ((const unsigned char *)bits)[i]);
		if (strncasecmp(byte, expected + 2 * i, 2))
			return false;
	}
	return true;
}

/* Without a build-id: the same file, and not written to since. */
static bool is_untouched(const struct sp_map *map, const struct sp_image *image,
			 const struct stat *status)
{
	if (status->st_dev != map->device || status->st_ino != map->inode)
		return false;
	return !image || !image->size ||
	       (image->size == (uint64_t)status->st_size &&
		image->mtime ==
			status->st_mtim.tv_sec * (int64_t)1000000000 + status->st_mtim.tv_nsec);
}

static bool find_bias(Elf *elf, const struct sp_map *map, uint64_t *ret_bias)
{
	uint64_t length = map->end - map->start;
	GElf_Ehdr header;
	size_t n;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) ||
	    elf_getphdrnum(elf, &n) < 0 || (header.e_type != ET_DYN && header.e_type != ET_EXEC))
		return false;
	*ret_bias = 0;
	if (header.e_type == ET_EXEC)
		return true;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD)
			continue;
		/* A mapping is whole pages, so it may begin before its segment does. */
		if (segment.p_offset < map->file_offset + length &&
		    map->file_offset < segment.p_offset + segment.p_filesz) {
			*ret_bias = map->start - map->file_offset -
				    (segment.p_vaddr - segment.p_offset);
			return true;
		}
	}
	return false;
}

int sp_dwarf_file_open(const struct sp_dwarf_job *job, const struct sp_map *map, uint64_t *ret_bias)
{
	const struct sp_recording *rec = job->recording;
	const struct sp_image *image = map->image == SP_NONE ? NULL : &rec->images[map->image];
	bool vdso = !map->inode && !strcmp(map->path, SP_VDSO_NAME);
	const char *id = image && !vdso ? image->build_id : "";
	sp_cleanup(sp_closep) int fd = -1;
	sp_cleanup(elf_endp) Elf *elf = NULL;
	struct stat status = {0};
	bool archived = false;

	if (vdso) {
		fd = open_vdso(job);
		if (fd < 0) {
			int r = fd;

			fd = -1;
			return r;
		}
	} else {
		fd = open_archived(job, image, &status);
		archived = fd >= 0;
		if (fd < 0)
			fd = sp_file_open(map->path, &status);
		if (fd < 0)
			return -SP_DWARF_GONE;
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (!elf || !find_bias(elf, map, ret_bias))
		return -SP_DWARF_NOT_ELF;
	if (id[0] ? !has_build_id(elf, id)
		  : !vdso && !archived && !is_untouched(map, image, &status))
		return -SP_DWARF_CHANGED;
	return sp_take_fd(&fd);
}
