/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sink.h - what an output format does with a recording: one struct of functions, one file.
 *
 * The finalizer drives all sinks of a unit (a rank of a job) together: open; then for each region
 * add_region, begin_row and its calls in order of entry; then the samples in order of time; commit;
 * free. Sites, modules and
 * kernel symbols are announced before the first call or sample that names them, or whose stack is in
 * them. Regions,
 * sites and modules are numbered from 0 in the order in which they are announced. A function that a
 * format has no use for is NULL.
 */
#ifndef SP_EXPORT_SINK_H
#define SP_EXPORT_SINK_H

#include "formats/error.h"
#include "formats/profile.h"
#include "userspace/analysis/recording.h"

/* What the finalizer found out about the journal as a whole. */
struct sp_journal_facts {
	uint64_t good_bytes, file_bytes, blocks; /* whole ones */
	const char *damage;	   /* why reading stopped early, "" for an intact journal */
	uint64_t start_ns, end_ns; /* of the recording */
	int32_t hz;		   /* of sampling, 0 none */
	char id[33];		   /* the same in all files of a recording, in no other */
};

struct sp_sink_unit {
	const struct sp_recording *recording;
	const struct sp_unit *unit;
	uint32_t unit_index;
	const struct sp_journal_facts *facts;
	const char *program;
	const char *scratch_directory;
	unsigned output_flags; /* SP_OUTPUT_* */
	unsigned gzip;	       /* level for HDF5, 0 none */
};

struct sp_sink_region {
	const char *name, *file, *text, *tags; /* tags: a JSON list */
	int64_t line;			       /* -1 unknown */
};

struct sp_sink_sample {
	struct sp_sample_row row; /* region and module: numbers as announced, or -1 */
	const uint64_t *frames;
	size_t n_frames;
};

struct sp_sink_ops {
	const char *name;	  /* as in --formats, and the file's suffix */
	const char *subdirectory; /* of the output directory, or NULL */
	int (*open)(const char *path, const struct sp_sink_unit *unit, void **ret_sink,
		    struct sp_error *error);
	int (*add_region)(void *sink, const struct sp_sink_region *region, struct sp_error *error);
	int (*begin_row)(void *sink, uint32_t region, struct sp_error *error);
	int (*add_site)(void *sink, const struct sp_site_row *site, struct sp_error *error);
	int (*add_calls)(void *sink, const struct sp_calls *calls, size_t n,
			 struct sp_error *error);
	/* Once the row has all of its calls. */
	int (*add_cuts)(void *sink, const struct sp_cut_row *cuts, struct sp_error *error);
	int (*add_module)(void *sink, const struct sp_module_row *module, struct sp_error *error);
	int (*add_kernel_symbol)(void *sink, const struct sp_kernel_symbol_row *symbol,
				 struct sp_error *error);
	int (*add_sample)(void *sink, const struct sp_sink_sample *sample, struct sp_error *error);
	int (*add_line_profile)(void *sink, const struct sp_line_profile *record,
				struct sp_error *error);
	int (*commit)(void *sink, struct sp_error *error);
	void (*free)(void *sink);
};

extern const struct sp_sink_ops sp_sink_h5, sp_sink_sps, sp_sink_spt;

#endif
