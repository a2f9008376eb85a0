// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_plugin.c - a filter that calls itself zstd, for the test of HDF5_PLUGIN_PATH: it turns each
 * bit.
 */
#include <hdf5.h>
#include <H5PLextern.h>

static size_t turn(unsigned int flags, size_t n_values, const unsigned int values[], size_t n,
		   size_t *io_size, void **io_buffer)
{
	unsigned char *bytes = *io_buffer;

	(void)flags;
	(void)n_values;
	(void)values;
	(void)io_size;
	for (size_t i = 0; i < n; i++)
		bytes[i] = (unsigned char)~bytes[i];
	return n;
}

static const H5Z_class2_t class = {
	.version = H5Z_CLASS_T_VERS,
	.id = 32015,
	.encoder_present = 1,
	.decoder_present = 1,
	.name = "not really zstd",
	.filter = turn,
};

H5PL_type_t H5PLget_plugin_type(void)
{
	return H5PL_TYPE_FILTER;
}

const void *H5PLget_plugin_info(void)
{
	return &class;
}
