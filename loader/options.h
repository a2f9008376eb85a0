/* SPDX-License-Identifier: BSD-2-Clause
 *
 * options.h - the command line of sp-trace.
 */
#ifndef SP_LOADER_OPTIONS_H
#define SP_LOADER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sp_options {
	pid_t *pids; /* to attach to */
	size_t pid_count;
	char *const *command; /* to start, NULL for none */
	bool check;	      /* what this kernel has */
	const char *list;     /* file to list, or "" for the pids, or NULL */
	const char *output;   /* directory, or NULL */
	const char *formats;  /* as given */
	unsigned hz;	      /* 0: no sampling */
	uint64_t duration;    /* ns, 0 none */
	uint64_t max_size;    /* bytes of the journal, 0 none */
	double max_disk;      /* share of the file system in use, above 1 none */
	uint64_t ring_bytes;  /* per CPU, 0: by the machine's memory */
	uint64_t sample_ring_bytes; /* the same, 0: by the rate */
	unsigned stacks;    /* enum sp_stack_mode of bpf/config.h; --stacks, default SP_STACKS_EH */
	size_t copy_bytes;  /* of the stack, with SP_STACKS_DWARF (--stacks dwarf,BYTES) */
	bool kernel_stacks; /* -k */
	bool archive;	    /* --archive: copy the ELF files that were mapped into the recording */
	bool breakpoints;   /* never the fast way to a probe */
	bool as_root, keep_journal, no_line_profile, quiet, verbose;
};

/* 0: go on with @ret_options; else the status to exit with is in @ret_status, all is said. */
int sp_options_parse(int argc, char **argv, struct sp_options *ret_options, int *ret_status);
void sp_options_clear(struct sp_options *options);
/* How --stacks calls a mode. */
const char *sp_options_stacks_name(unsigned stacks);

#endif
