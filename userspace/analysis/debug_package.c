/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_package.c - see debug_package.h. Nothing in the index is believed before it was compared
 * with the sizes of the sections.
 */
#include "userspace/analysis/debug_package.h"

#include <errno.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/files.h"

#define MAX_COLUMNS 16

/* What a column of the index is of; the numbers are the formats'. */
enum column { INFO = 1, ABBREV = 3, LINE = 4, STR_OFFSETS = 6, RNGLISTS = 8 };

struct sp_debug_package {
	int fd;
	Elf *elf;
	struct sp_debug_sections sections;
	uint32_t version, n_columns, n_units, n_slots;
	uint32_t columns[MAX_COLUMNS];
	struct sp_bytes ids, rows, offsets, sizes; /* tables of the index */
};

static int open_file(const char *file)
{
	sp_cleanup(sp_freep) char *path = NULL;
	int fd;

	if (asprintf(&path, "%s.dwp", file) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	fd = sp_file_open(path, NULL);
	return fd < 0 ? -ENOENT : fd;
}

/* A table of the index: the next @n numbers of @size bytes. */
static struct sp_bytes take_table(struct sp_bytes *bytes, uint64_t n, unsigned int size)
{
	struct sp_bytes table = *bytes;

	if (!sp_bytes_skip(bytes, n * size))
		table.bad = true;
	table.end = bytes->at;
	return table;
}

static bool read_index(struct sp_debug_package *package)
{
	struct sp_bytes bytes = sp_bytes_from(package->sections.cu_index, 0);
	uint64_t n;

	package->version = (uint32_t)sp_bytes_number(&bytes, 4);
	if (package->version != 2)
		package->version &= 0xffff; /* DWARF 5: 16 bits, and padding */
	package->n_columns = (uint32_t)sp_bytes_number(&bytes, 4);
	package->n_units = (uint32_t)sp_bytes_number(&bytes, 4);
	package->n_slots = (uint32_t)sp_bytes_number(&bytes, 4);
	if (bytes.bad || (package->version != 2 && package->version != 5) ||
	    package->n_columns > MAX_COLUMNS || (package->n_slots & (package->n_slots - 1)) != 0 ||
	    !package->n_slots)
		return false;
	package->ids = take_table(&bytes, package->n_slots, 8);
	package->rows = take_table(&bytes, package->n_slots, 4);
	for (uint32_t i = 0; i < package->n_columns; i++)
		package->columns[i] = (uint32_t)sp_bytes_number(&bytes, 4);
	n = (uint64_t)package->n_units * package->n_columns;
	package->offsets = take_table(&bytes, n, 4);
	package->sizes = take_table(&bytes, n, 4);
	return !bytes.bad;
}

int sp_debug_package_open(const char *file, struct sp_debug_package **ret_package)
{
	struct sp_debug_package *package;
	int fd = open_file(file);

	if (fd < 0)
		return fd;
	package = calloc(1, sizeof(*package));
	if (!package) {
		close(fd);
		return -ENOMEM;
	}
	package->fd = fd;
	elf_version(EV_CURRENT);
	package->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!package->elf || !sp_debug_sections_find(package->elf, true, &package->sections) ||
	    !read_index(package)) {
		sp_debug_package_free(package);
		return -ENOENT;
	}
	*ret_package = package;
	return 0;
}

void sp_debug_package_free(struct sp_debug_package *package)
{
	if (!package)
		return;
	if (package->elf)
		elf_end(package->elf);
	close(package->fd);
	free(package);
}

/* A number of a table that was checked to be there. */
static uint64_t at(struct sp_bytes table, uint64_t index, unsigned int size)
{
	sp_bytes_skip(&table, index * size);
	return sp_bytes_number(&table, size);
}

/* The row of a unit, from 1; 0 if it has none. */
static uint64_t find_row(const struct sp_debug_package *package, uint64_t id)
{
	uint32_t mask = package->n_slots - 1;
	uint32_t slot = (uint32_t)id & mask, step = ((uint32_t)(id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < package->n_slots; i++) {
		uint64_t row = at(package->rows, slot, 4);

		if (!row)
			return 0;
		if (at(package->ids, slot, 8) == id)
			return row <= package->n_units ? row : 0;
		slot = (slot + step) & mask;
	}
	return 0;
}

static struct sp_debug_section *section_of(const struct sp_debug_package *package,
					   struct sp_debug_sections *sections, uint32_t column)
{
	switch (column) {
	case INFO:
		return &sections->info;
	case ABBREV:
		return &sections->abbrev;
	case LINE:
		return &sections->line;
	case STR_OFFSETS:
		return &sections->str_offsets;
	case RNGLISTS: /* in version 2, macros */
		return package->version == 5 ? &sections->rnglists : NULL;
	default:
		return NULL;
	}
}

bool sp_debug_package_find(const struct sp_debug_package *package, uint64_t id,
			   struct sp_debug_sections *ret_sections)
{
	uint64_t row = find_row(package, id);
	struct sp_debug_sections part = {.str = package->sections.str};
	struct sp_debug_sections whole = package->sections;

	if (!row)
		return false;
	for (uint32_t i = 0; i < package->n_columns; i++) {
		struct sp_debug_section *to = section_of(package, &part, package->columns[i]);
		struct sp_debug_section *from = section_of(package, &whole, package->columns[i]);
		uint64_t cell = (row - 1) * package->n_columns + i;
		uint64_t offset = at(package->offsets, cell, 4);
		uint64_t size = at(package->sizes, cell, 4);

		if (!to || offset > from->size || size > from->size - offset)
			continue;
		*to = (struct sp_debug_section){from->data + offset, size};
	}
	*ret_sections = part;
	return part.info.size != 0;
}
