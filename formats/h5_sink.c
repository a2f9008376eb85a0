// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_sink.c - a libhdf5 driver that cannot fail; see h5_sink.h.
 *
 * Invariant: after the first failure nothing is written any more, and libhdf5 believes that all
 * went well.
 */
#include "formats/h5_sink.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include "formats/util.h"

/* As libhdf5 sees it: its own part first. */
struct sink_file {
	H5FD_t public;
	struct sp_h5_sink *sink;
	haddr_t allocated; /* end of what libhdf5 has allocated */
	haddr_t end;	   /* end of what was written */
};

/* Copied into the property list. */
struct sink_info {
	struct sp_h5_sink *sink;
};

static H5FD_t *sink_open(const char *name, unsigned int flags, hid_t access, haddr_t maximum)
{
	const struct sink_info *info = H5Pget_driver_info(access);
	struct sink_file *file = calloc(1, sizeof(*file));

	(void)name;
	(void)flags;
	(void)maximum;
	if (!info || !file) {
		free(file);
		return NULL;
	}
	file->sink = info->sink;
	return &file->public;
}

static herr_t sink_close(H5FD_t *public)
{
	free(public);
	return 0;
}

static int sink_compare(const H5FD_t *left, const H5FD_t *right)
{
	return (left > right) - (left < right);
}

static herr_t sink_query(const H5FD_t *public, unsigned long *flags)
{
	(void)public;
	*flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
		 H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA |
		 H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
	return 0;
}

static haddr_t sink_get_allocated(const H5FD_t *public, H5FD_mem_t type)
{
	(void)type;
	return ((const struct sink_file *)public)->allocated;
}

static herr_t sink_set_allocated(H5FD_t *public, H5FD_mem_t type, haddr_t address)
{
	(void)type;
	((struct sink_file *)public)->allocated = address;
	return 0;
}

static haddr_t sink_get_end(const H5FD_t *public, H5FD_mem_t type)
{
	(void)type;
	return ((const struct sink_file *)public)->end;
}

static void failed(struct sp_h5_sink *sink, int r)
{
	if (!sink->error)
		sink->error = r;
}

/* What was never written reads as zeros. */
static herr_t sink_read(H5FD_t *public, H5FD_mem_t type, hid_t transfer, haddr_t address,
			size_t size, void *buffer)
{
	struct sink_file *file = (struct sink_file *)public;
	size_t there = 0;
	int r;

	(void)type;
	(void)transfer;
	if (!file->sink->error && address < file->end)
		there = file->end - address < size ? (size_t)(file->end - address) : size;
	r = sp_pread_all(file->sink->fd, buffer, there, address);
	if (r) {
		failed(file->sink, r);
		there = 0;
	}
	memset((char *)buffer + there, 0, size - there);
	return 0;
}

static herr_t sink_write(H5FD_t *public, H5FD_mem_t type, hid_t transfer, haddr_t address,
			 size_t size, const void *buffer)
{
	struct sink_file *file = (struct sink_file *)public;
	int r;

	(void)type;
	(void)transfer;
	if (!file->sink->error) {
		r = sp_pwrite_all(file->sink->fd, buffer, size, address);
		if (r)
			failed(file->sink, r);
	}
	if (address + size > file->end)
		file->end = address + size;
	return 0;
}

/* The file's size is what libhdf5 allocated, also where the last of it was not written. */
static herr_t sink_truncate(H5FD_t *public, hid_t transfer, hbool_t closing)
{
	struct sink_file *file = (struct sink_file *)public;

	(void)transfer;
	(void)closing;
	if (file->end == file->allocated)
		return 0;
	if (!file->sink->error && ftruncate(file->sink->fd, (off_t)file->allocated))
		failed(file->sink, -errno);
	file->end = file->allocated;
	return 0;
}

static const H5FD_class_t sink_class = {
#if H5_VERSION_GE(1, 13, 0)
	.version = H5FD_CLASS_VERSION,
	.value = (H5FD_class_value_t)519,
#endif
	.name = "sp_sink",
	.maxaddr = INT64_MAX,
	.fc_degree = H5F_CLOSE_STRONG,
	.fapl_size = sizeof(struct sink_info),
	.open = sink_open,
	.close = sink_close,
	.cmp = sink_compare,
	.query = sink_query,
	.get_eoa = sink_get_allocated,
	.set_eoa = sink_set_allocated,
	.get_eof = sink_get_end,
	.read = sink_read,
	.write = sink_write,
	.truncate = sink_truncate,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

int sp_h5_sink_init(struct sp_h5_sink *sink, int fd, hid_t access, struct sp_error *error)
{
	struct sink_info info = {.sink = sink};

	*sink = (struct sp_h5_sink){.fd = fd, .driver = H5FDregister(&sink_class)};
	if (sink->driver < 0 || H5Pset_driver(access, sink->driver, &info) < 0)
		return sp_h5_write_failed(error, "cannot be created");
	return 0;
}

void sp_h5_sink_free(struct sp_h5_sink *sink)
{
	if (sink->driver > 0)
		H5FDunregister(sink->driver);
	sink->driver = -1;
}
