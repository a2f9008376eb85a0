/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_inflate.c - see debug_inflate.h.
 *
 * In the view everything stands where it does in the file, but for the inflated sections, which
 * come behind its end; what is left out is a hole. That is also what becomes of all that is
 * compressed where it would take too much memory, or is not read here: libdw would try for minutes.
 * Whatever else is unusual (other classes and byte orders, sizes that cannot be, streams that are
 * damaged) leaves the file to libdw, as it is.
 */
#include "userspace/analysis/debug_inflate.h"

#include <elf.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"

#define MOST_INFLATED 1032 /* bytes that DEFLATE makes of one, at most */
#define ALIGNMENT 64
#define ENOUGH_MEMORY ((uint64_t)4 << 30)
#define METHOD_ZSTD 2 /* ELFCOMPRESS_ZSTD, which older headers lack */

/* What is to be inflated, in the file. */
struct compressed {
	uint64_t offset, size; /* 0: nothing */
};

struct view {
	const unsigned char *file;
	uint64_t file_size, size; /* of the view */
	bool has_compressed;
	Elf64_Ehdr header;
	enum sp_inflate_refusal refusal; /* if any, nothing is inflated */
	uint64_t memory;	       /* that it takes: holes take none */
	uint64_t old_size;	       /* of .zdebug_* sections, which libdw inflates */
	Elf64_Shdr *sections;	       /* as the view has them */
	struct compressed *compressed; /* of each section */
};

/* ---- what is to be done ---- */

static bool is_within(const struct view *view, uint64_t offset, uint64_t size)
{
	return offset <= view->file_size && size <= view->file_size - offset;
}

static bool read_headers(struct view *view)
{
	Elf64_Ehdr *header = &view->header;
	uint64_t bytes;

	if (view->file_size < sizeof(*header))
		return false;
	memcpy(header, view->file, sizeof(*header));
	bytes = (uint64_t)header->e_shnum * sizeof(*view->sections);
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    (header->e_type != ET_EXEC && header->e_type != ET_DYN) || !header->e_shnum ||
	    header->e_shentsize != sizeof(*view->sections) ||
	    header->e_shstrndx >= header->e_shnum || !is_within(view, header->e_shoff, bytes) ||
	    (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr)) ||
	    !is_within(view, header->e_phoff, (uint64_t)header->e_phnum * header->e_phentsize))
		return false;
	view->sections = malloc(bytes);
	view->compressed = malloc(header->e_shnum * sizeof(*view->compressed));
	return view->sections && view->compressed;
}

/* Its name behind @prefix; NULL if it has another. */
static const char *name_behind(const struct view *view, const Elf64_Shdr *section,
			       const char *prefix)
{
	const Elf64_Shdr *names = &view->sections[view->header.e_shstrndx];
	const char *name;
	uint64_t room;

	if (names->sh_type == SHT_NOBITS || !is_within(view, names->sh_offset, names->sh_size) ||
	    section->sh_name >= names->sh_size)
		return NULL;
	name = (const char *)view->file + names->sh_offset + section->sh_name;
	room = names->sh_size - section->sh_name;
	return memchr(name, '\0', room) && !strncmp(name, prefix, strlen(prefix))
		       ? name + strlen(prefix)
		       : NULL;
}

static bool is_needed(const char *name)
{
	static const char *const needed[] = {
		"info", "types", "abbrev",	"line",	  "line_str",
		"str",	"addr",	 "str_offsets", "ranges", "rnglists",
	};

	for (size_t i = 0; i < sp_array_size(needed); i++)
		if (!strcmp(name, needed[i]))
			return true;
	return false;
}

/* Gives a compressed section its place. */
static bool place_section(struct view *view, size_t i)
{
	Elf64_Shdr *section = &view->sections[i];
	Elf64_Chdr header;
	const char *name = name_behind(view, section, ".debug_");

	if (!name || !is_within(view, section->sh_offset, section->sh_size) ||
	    section->sh_size < sizeof(header))
		return false;
	memcpy(&header, view->file + section->sh_offset, sizeof(header));
	section->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	view->has_compressed = true;
	if (!is_needed(name) || view->refusal) {
		section->sh_type = SHT_NOBITS;
		return true;
	}
	if (header.ch_type == METHOD_ZSTD) {
		view->refusal = SP_INFLATE_ZSTD;
		return false;
	}
	if (header.ch_type != ELFCOMPRESS_ZLIB ||
	    header.ch_size / MOST_INFLATED > section->sh_size || header.ch_addralign > ALIGNMENT)
		return false;
	view->compressed[i] = (struct compressed){section->sh_offset + sizeof(header),
						  section->sh_size - sizeof(header)};
	section->sh_offset = view->size;
	section->sh_size = header.ch_size;
	section->sh_addralign = header.ch_addralign;
	view->size += (header.ch_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	return true;
}

/* The older way to compress: ".zdebug_info", and before the stream "ZLIB" and the size. */
static void count_old(struct view *view, Elf64_Shdr *section)
{
	const unsigned char *head = view->file + section->sh_offset;
	uint64_t size = 0;

	if (!name_behind(view, section, ".zdebug_") || section->sh_size < 12 ||
	    memcmp(head, "ZLIB", 4))
		return;
	if (view->refusal) {
		section->sh_type = SHT_NOBITS;
		return;
	}
	for (int i = 4; i < 12; i++)
		size = size << 8 | head[i];
	/* What says more than it can be is not inflated by libdw either. */
	if (size / MOST_INFLATED <= section->sh_size)
		view->old_size += size;
}

static uint64_t most_memory(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
		       ? limit.rlim_cur
		       : ENOUGH_MEMORY;
}

/* Files in memory are no data to the kernel: so that all together takes no more than the limit. */
static void take_memory(uint64_t size)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return;
	limit.rlim_cur -= size < limit.rlim_cur ? size : limit.rlim_cur;
	setrlimit(RLIMIT_DATA, &limit);
}

/* False: libdw is to do it, or there is a new refusal. */
static bool place_all(struct view *view)
{
	const Elf64_Ehdr *header = &view->header;
	uint64_t most = most_memory(), copied = 0;

	memcpy(view->sections, view->file + header->e_shoff,
	       header->e_shnum * sizeof(*view->sections));
	memset(view->compressed, 0, header->e_shnum * sizeof(*view->compressed));
	view->size = (view->file_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	view->old_size = 0;
	for (size_t i = 0; i < header->e_shnum; i++) {
		Elf64_Shdr *section = &view->sections[i];

		if (section->sh_flags & SHF_COMPRESSED) {
			if (!place_section(view, i))
				return false;
		} else if (section->sh_type != SHT_NOBITS) {
			/* Of sections that overlap, not each is copied. */
			copied += section->sh_size;
			if (!is_within(view, section->sh_offset, section->sh_size) ||
			    copied > view->file_size)
				return false;
			count_old(view, section);
		}
		view->memory = view->size - view->file_size + copied;
		if (view->memory > most || view->old_size > most - view->memory) {
			if (!view->refusal)
				view->refusal = SP_INFLATE_TOO_LARGE;
			return false;
		}
	}
	return true;
}

/* False: nothing is to be done, or libdw is to do it. */
static bool plan(struct view *view)
{
	bool placed;

	if (!read_headers(view))
		return false;
	placed = place_all(view);
	if (!placed && view->refusal)
		placed = place_all(view);
	if (!placed)
		view->refusal = SP_INFLATE_ALL;
	return placed && (view->has_compressed || view->refusal);
}

/* ---- making the view ---- */

static void copy(const struct view *view, unsigned char *to, uint64_t offset, uint64_t size)
{
	memcpy(to + offset, view->file + offset, size);
}

static bool inflate(struct libdeflate_decompressor *inflater, const struct view *view,
		    const struct compressed *from, unsigned char *to, uint64_t size)
{
	size_t taken = 0;

	return libdeflate_zlib_decompress_ex(inflater, view->file + from->offset, from->size, to,
					     size, &taken, NULL) == LIBDEFLATE_SUCCESS &&
	       taken == from->size;
}

static bool fill(const struct view *view, unsigned char *to)
{
	const Elf64_Ehdr *header = &view->header;
	struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
	bool good = inflater != NULL;

	copy(view, to, 0, sizeof(*header));
	copy(view, to, header->e_phoff, (uint64_t)header->e_phnum * header->e_phentsize);
	for (size_t i = 0; i < header->e_shnum && good; i++) {
		const Elf64_Shdr *section = &view->sections[i];
		const struct compressed *from = &view->compressed[i];

		if (from->offset)
			good = inflate(inflater, view, from, to + section->sh_offset,
				       section->sh_size);
		else if (section->sh_type != SHT_NOBITS)
			copy(view, to, section->sh_offset, section->sh_size);
	}
	/* Last: nothing that a hostile file has there may change it. */
	memcpy(to + header->e_shoff, view->sections, header->e_shnum * sizeof(*view->sections));
	libdeflate_free_decompressor(inflater);
	return good;
}

/* Fills the empty file @fd. */
static bool make_file(const struct view *view, int fd)
{
	unsigned char *to;
	bool good;

	/* As long as it is to be, without ftruncate(), which confined processes do not have. */
	if (lseek(fd, (off_t)view->size, SEEK_SET) < 0 || write(fd, "", 1) != 1)
		return false;
	to = mmap(NULL, view->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (to == MAP_FAILED)
		return false;
	good = fill(view, to);
	munmap(to, view->size);
	return good;
}

/* ---- sharing it ---- */

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int find_shared(const struct stat *status, const struct sp_inflate_share *share)
{
	return share && share->file->ready && is_same(&share->file->status, status)
		       ? fcntl(share->fd, F_DUPFD_CLOEXEC, 0)
		       : -1;
}

/* Makes the view: in the shared file, if there is one that is not in use. -1 without. */
static int make_view(const struct view *view, const struct stat *status,
		     const struct sp_inflate_share *share)
{
	bool shared = share && !share->file->taken;
	int fd;

	if (shared)
		share->file->taken = true;
	fd = shared ? fcntl(share->fd, F_DUPFD_CLOEXEC, 0) : memfd_create("debug", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	take_memory(view->memory);
	if (!make_file(view, fd)) {
		close(fd);
		return -1;
	}
	if (shared) {
		share->file->status = *status;
		share->file->refusal = view->refusal;
		share->file->ready = true;
	}
	return fd;
}

const char *sp_debug_inflate_reason(enum sp_inflate_refusal refusal, char *buffer, size_t size)
{
	switch (refusal) {
	case SP_INFLATE_TOO_LARGE:
		snprintf(buffer, size,
			 "its compressed debug information would take more than the %.1f GB of "
			 "memory that there are for it",
			 (double)most_memory() / 1e9);
		return buffer;
	case SP_INFLATE_ZSTD:
		return "its debug information is compressed with zstd, which is not read; objcopy "
		       "--decompress-debug-sections makes a file whose is";
	default:
		return NULL;
	}
}

int sp_debug_inflate(int fd, const struct sp_inflate_share *share,
		     enum sp_inflate_refusal *ret_refusal)
{
	sp_cleanup(sp_freep) Elf64_Shdr *sections = NULL;
	sp_cleanup(sp_freep) struct compressed *compressed = NULL;
	struct view view = {0};
	struct stat status;
	void *file;
	int made;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || !status.st_size)
		return fd;
	made = find_shared(&status, share);
	if (made >= 0 && share->file->refusal)
		*ret_refusal = share->file->refusal;
	if (made < 0) {
		view.file_size = (uint64_t)status.st_size;
		file = mmap(NULL, view.file_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file == MAP_FAILED)
			return fd;
		view.file = file;
		if (plan(&view))
			made = make_view(&view, &status, share);
		munmap(file, view.file_size);
		if (made >= 0 && view.refusal)
			*ret_refusal = view.refusal;
		sections = view.sections;
		compressed = view.compressed;
	}
	if (made < 0)
		return fd;
	close(fd);
	return made;
}
