/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5_facts.h - for export/h5.c only: the facts of a recording in its HDF5 files.
 */
#ifndef SP_EXPORT_H5_FACTS_H
#define SP_EXPORT_H5_FACTS_H

#include "formats/h5_write.h"
#include "userspace/export/sink.h"

/* /metadata, with scope-profiler's keys, and /sp_trace/meta. */
int sp_h5_facts_set(struct sp_h5_writer *writer, const struct sp_sink_unit *unit,
		    struct sp_error *error);

#endif
