/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5_sink.h - where a file being written goes: a libhdf5 driver over a descriptor of ours. Not
 * installed.
 *
 * libhdf5 (1.10.8) crashes when a write fails while it closes a file, as on a full disk. So this
 * driver never fails: it keeps the first error, drops everything from then on, and the writer asks
 * for it. It also writes to the very descriptor that was created exclusively, so no name is opened
 * twice.
 */
#ifndef SP_FORMATS_H5_SINK_H
#define SP_FORMATS_H5_SINK_H

#include <stdint.h>

#include "formats/h5_util.h"

struct sp_h5_sink {
	int fd;	      /* borrowed; open for reading and writing */
	int error;    /* first failure, -errno; 0 none */
	hid_t driver; /* -1 until init */
};

/* Sets @access, a file access property list, to the driver. The sink must outlive the file. */
int sp_h5_sink_init(struct sp_h5_sink *sink, int fd, hid_t access, struct sp_error *error);
/* After the file was closed. */
void sp_h5_sink_free(struct sp_h5_sink *sink);

#endif
