/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elf_file.c - headers of a hostile ELF file, and bounded reads of its content.
 *
 * libelf reads the tables of headers and splits notes; names, strings and descriptors are read here
 * through a small cache. Invariant: all extents and segments lie inside the size taken at the
 * start.
 */
#include "loader/helpers/elf_file.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/error.h"

/* Direct-mapped: strings that are far apart do not push each other out, so that even the most
 * scattered table costs one read of a page a string. */
#define BLOCK_BYTES 4096u
#define BLOCKS 256u

struct sp_elf_cache {
	uint64_t tag[BLOCKS]; /* number of the block + 1, 0 for none */
	uint32_t bytes[BLOCKS];
	uint8_t data[BLOCKS][BLOCK_BYTES];
};

static bool inside(uint64_t offset, uint64_t bytes, uint64_t size)
{
	return offset <= size && bytes <= size - offset;
}

/* The bytes from @offset to the end of its block, or of the file. */
static int block_at(struct sp_elf_file *file, uint64_t offset, const uint8_t **ret_at,
		    size_t *ret_bytes)
{
	struct sp_elf_cache *cache = file->cache;
	uint64_t block = offset / BLOCK_BYTES;
	size_t slot = block % BLOCKS, skip = offset % BLOCK_BYTES;

	if (offset >= file->size)
		return -SP_E_TRUNCATED;
	if (cache->tag[slot] != block + 1) {
		uint64_t left = file->size - block * BLOCK_BYTES;
		size_t want = left < BLOCK_BYTES ? left : BLOCK_BYTES;
		ssize_t n;

		do
			n = pread(file->fd, cache->data[slot], want, (off_t)(block * BLOCK_BYTES));
		while (n < 0 && errno == EINTR);
		cache->tag[slot] = 0;
		if (n < 0)
			return -errno;
		cache->tag[slot] = block + 1;
		cache->bytes[slot] = (uint32_t)n;
	}
	if (cache->bytes[slot] <= skip)
		return -SP_E_TRUNCATED;
	*ret_at = cache->data[slot] + skip;
	*ret_bytes = cache->bytes[slot] - skip;
	return 0;
}

int sp_elf_file_read(struct sp_elf_file *file, uint64_t offset, void *out, size_t bytes)
{
	uint8_t *to = out;

	while (bytes) {
		const uint8_t *at;
		size_t n;
		int r = block_at(file, offset, &at, &n);

		if (r < 0)
			return r;
		if (n > bytes)
			n = bytes;
		memcpy(to, at, n);
		to += n;
		offset += n;
		bytes -= n;
	}
	return 0;
}

int sp_elf_file_offset(const struct sp_elf_file *file, uint64_t address, uint64_t bytes,
		       uint32_t flags, uint64_t *ret_offset)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct sp_elf_segment *s = &file->segments[i];

		if ((s->flags & flags) == flags && address >= s->address &&
		    inside(address - s->address, bytes, s->bytes)) {
			*ret_offset = s->offset + (address - s->address);
			return 0;
		}
	}
	return -EFAULT;
}

static uint64_t bytes_from(const struct sp_elf_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct sp_elf_segment *s = &file->segments[i];

		if (address >= s->address && address - s->address < s->bytes)
			return s->bytes - (address - s->address);
	}
	return 0;
}

ssize_t sp_elf_file_string(struct sp_elf_file *file, uint64_t address, char *out, size_t room,
			   bool *ret_cut)
{
	uint64_t left = bytes_from(file, address), offset;
	size_t length = 0;

	if (sp_elf_file_offset(file, address, 1, 0, &offset) < 0)
		return -EFAULT;
	while (length < room && left) {
		const uint8_t *at, *nul;
		size_t n;

		if (block_at(file, offset, &at, &n) < 0)
			return -EFAULT;
		if (n > left)
			n = left;
		if (n > room - length)
			n = room - length;
		nul = memchr(at, 0, n);
		if (nul)
			n = (size_t)(nul - at);
		memcpy(out + length, at, n);
		length += n;
		if (nul) {
			out[length] = 0;
			*ret_cut = false;
			return (ssize_t)length;
		}
		offset += n;
		left -= n;
	}
	if (length < room)
		return -EFAULT; /* the segment ends before the string does */
	length = room - 1;
	/* Cut before the character that does not fit as a whole. */
	while (length && ((uint8_t)out[length] & 0xc0) == 0x80)
		length--;
	out[length] = 0;
	*ret_cut = true;
	return (ssize_t)length;
}

static int add_extent(struct sp_elf_extents *extents, uint64_t address, uint64_t offset,
		      uint64_t bytes)
{
	if (extents->count == SP_ELF_MAX_EXTENTS)
		return -SP_E_COUNT;
	extents->at[extents->count++] =
		(struct sp_elf_extent){.address = address, .offset = offset, .bytes = bytes};
	return 0;
}

static int read_segments(struct sp_elf_file *file)
{
	size_t count;

	if (elf_getphdrnum(file->elf, &count) < 0)
		return -SP_E_DAMAGED;
	if (count > SP_ELF_MAX_HEADERS)
		return -SP_E_COUNT;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr ph;
		int r = 0;

		if (!gelf_getphdr(file->elf, (int)i, &ph))
			return -SP_E_TRUNCATED;
		if (ph.p_type == PT_NOTE && inside(ph.p_offset, ph.p_filesz, file->size))
			r = add_extent(&file->note_segments, ph.p_vaddr, ph.p_offset, ph.p_filesz);
		if (r < 0)
			return r;
		if (ph.p_type != PT_LOAD || ph.p_filesz == 0 || ph.p_offset >= file->size)
			continue;
		if (ph.p_filesz > UINT64_MAX - ph.p_vaddr)
			return -SP_E_DAMAGED;
		if (file->segment_count == SP_ELF_MAX_SEGMENTS)
			return -SP_E_COUNT;
		/* A file of debug information promises segments that it does not hold. */
		if (ph.p_filesz > file->size - ph.p_offset)
			ph.p_filesz = file->size - ph.p_offset;
		file->segments[file->segment_count++] =
			(struct sp_elf_segment){.address = ph.p_vaddr,
						.offset = ph.p_offset,
						.bytes = ph.p_filesz,
						.flags = ph.p_flags};
	}
	return 0;
}

static int take_section(struct sp_elf_file *file, const GElf_Shdr *sh, const char *name)
{
	struct sp_elf_extents *extents;

	if (!strcmp(name, ".stapsdt.base")) {
		if (!file->has_note_base)
			file->note_base = sh->sh_addr;
		file->has_note_base = true;
		return 0;
	}
	if (!strcmp(name, ".note.stapsdt"))
		extents = &file->probe_notes;
	else if (!strcmp(name, "sp_desc"))
		extents = &file->descriptors;
	else
		return 0;
	/* In a file of debug information they are there in name only. */
	if (sh->sh_type == SHT_NOBITS)
		return 0;
	if (sh->sh_flags & SHF_COMPRESSED)
		return -SP_E_DAMAGED;
	if (!inside(sh->sh_offset, sh->sh_size, file->size))
		return -SP_E_TRUNCATED;
	return add_extent(extents, sh->sh_addr, sh->sh_offset, sh->sh_size);
}

static int read_sections(struct sp_elf_file *file)
{
	Elf_Scn *scn = NULL, *names;
	GElf_Shdr strings, sh;
	size_t count, index;

	if (elf_getshdrnum(file->elf, &count) < 0)
		return -SP_E_DAMAGED;
	if (count > SP_ELF_MAX_SECTIONS)
		return -SP_E_COUNT;
	if (count == 0)
		return 0;
	if (elf_getshdrstrndx(file->elf, &index) < 0)
		return -SP_E_DAMAGED;
	if (index == SHN_UNDEF)
		return 0; /* sections without names are as good as none */
	names = elf_getscn(file->elf, index);
	if (!names || !gelf_getshdr(names, &strings))
		return -SP_E_TRUNCATED;
	if (strings.sh_type == SHT_NOBITS || (strings.sh_flags & SHF_COMPRESSED))
		return -SP_E_DAMAGED;
	if (!inside(strings.sh_offset, strings.sh_size, file->size))
		return -SP_E_TRUNCATED;
	while ((scn = elf_nextscn(file->elf, scn))) {
		char name[16] = "";
		size_t room;
		int r;

		if (!gelf_getshdr(scn, &sh))
			return -SP_E_TRUNCATED;
		if (sh.sh_name >= strings.sh_size)
			continue;
		room = strings.sh_size - sh.sh_name;
		if (room > sizeof(name) - 1)
			room = sizeof(name) - 1;
		r = sp_elf_file_read(file, strings.sh_offset + sh.sh_name, name, room);
		if (r == 0)
			r = take_section(file, &sh, name);
		if (r < 0)
			return r;
	}
	file->has_sections = true;
	return 0;
}

static int check_header(struct sp_elf_file *file)
{
	Elf64_Ehdr eh;
	Elf64_Shdr first;
	uint64_t sections;

	if (file->size < EI_NIDENT || sp_elf_file_read(file, 0, eh.e_ident, EI_NIDENT) < 0 ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_ident[EI_VERSION] != EV_CURRENT)
		return -ENOTSUP;
	if (sp_elf_file_read(file, 0, &eh, sizeof(eh)) < 0)
		return -SP_E_TRUNCATED;
	file->type = eh.e_type;
	file->machine = eh.e_machine;
	if (eh.e_machine != EM_X86_64 && eh.e_machine != EM_AARCH64)
		return -ENOTSUP;
	if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
		return -ENOTSUP;
	if (eh.e_phnum && (eh.e_phentsize != sizeof(Elf64_Phdr) || eh.e_phnum > SP_ELF_MAX_HEADERS))
		return eh.e_phentsize != sizeof(Elf64_Phdr) ? -SP_E_DAMAGED : -SP_E_COUNT;
	if (eh.e_shoff == 0)
		return 0;
	if (eh.e_shentsize != sizeof(first))
		return -SP_E_DAMAGED;
	/* Before libelf makes a table of them. */
	if (!inside(eh.e_shoff, sizeof(first), file->size) ||
	    sp_elf_file_read(file, eh.e_shoff, &first, sizeof(first)) < 0)
		return -SP_E_TRUNCATED;
	sections = eh.e_shnum ? eh.e_shnum : first.sh_size;
	if (sections > SP_ELF_MAX_SECTIONS)
		return -SP_E_COUNT;
	if (!inside(eh.e_shoff, sections * sizeof(first), file->size))
		return -SP_E_TRUNCATED;
	return 0;
}

int sp_elf_file_open(struct sp_elf_file *file, int fd)
{
	struct stat st;
	int r;

	file->fd = fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	file->size = (uint64_t)st.st_size;
	file->cache = calloc(1, sizeof(*file->cache));
	if (!file->cache || elf_version(EV_CURRENT) == EV_NONE)
		return -ENOMEM;
	r = check_header(file);
	if (r < 0)
		return r;
	file->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF)
		return -SP_E_DAMAGED;
	r = read_segments(file);
	if (r == 0)
		r = read_sections(file);
	return r;
}

void sp_elf_file_close(struct sp_elf_file *file)
{
	elf_end(file->elf);
	free(file->cache);
	file->elf = NULL;
	file->cache = NULL;
}

void sp_elf_file_build_id(struct sp_elf_file *file, char *out)
{
	static const char digits[] = "0123456789abcdef";

	*out = 0;
	for (size_t i = 0; i < file->note_segments.count; i++) {
		const struct sp_elf_extent *x = &file->note_segments.at[i];
		size_t at = 0, next, name, desc;
		Elf_Data *data;
		GElf_Nhdr nh;

		if (x->bytes == 0 || x->bytes > SP_ELF_MAX_NOTES)
			continue;
		/* Notes that are aligned to 8 bytes (GNU properties) have segments of their own. */
		data = elf_getdata_rawchunk(file->elf, (int64_t)x->offset, x->bytes, ELF_T_NHDR);
		while (data && (next = gelf_getnote(data, at, &nh, &name, &desc)) > 0) {
			const uint8_t *id = (const uint8_t *)data->d_buf + desc;

			at = next;
			if (nh.n_type != NT_GNU_BUILD_ID || nh.n_namesz != 4 ||
			    memcmp((const char *)data->d_buf + name, "GNU", 4) ||
			    nh.n_descsz > SP_ELF_MAX_BUILD_ID)
				continue;
			for (size_t k = 0; k < nh.n_descsz; k++) {
				*out++ = digits[id[k] >> 4];
				*out++ = digits[id[k] & 15];
			}
			*out = 0;
			return;
		}
	}
}
