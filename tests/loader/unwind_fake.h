/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_fake.h - the kernel's side of unwinding, in plain memory, for tests that link with no BPF.
 */
#ifndef SP_TESTS_LOADER_UNWIND_FAKE_H
#define SP_TESTS_LOADER_UNWIND_FAKE_H

#include "loader/bpf.h"

#define FAKE_PROCESSES 4096
#define FAKE_FILES 4096

struct sp_bpf {
	struct sp_unwind_rule *rules;
	struct sp_unwind_range *ranges;
	struct sp_unwind_chunk *chunks[SP_UNWIND_CHUNKS];
	size_t chunk_count, most_chunks;
	struct sp_unwind_space spaces[FAKE_PROCESSES];
	bool has_space[FAKE_PROCESSES];
	unsigned updates;
	struct {
		struct sp_bpf_file_key key;
		struct sp_bpf_file file; /* count 0: forgotten */
	} files[FAKE_FILES];
	size_t file_count;
};

/* @chunks: at most so many are given. */
void fake_open(struct sp_bpf *bpf, size_t chunks);
void fake_close(struct sp_bpf *bpf);

/* What the kernel would find for an address: the range, NULL for none. Also checks that the
 * process's ranges are sorted, without overlaps and within their arrays; *ret_good becomes false
 * where not. */
const struct sp_unwind_range *fake_find(const struct sp_bpf *bpf, uint32_t process,
					uint64_t address, bool *ret_good);
/* The rule that holds there; -1 before the first row. */
int fake_rule(const struct sp_bpf *bpf, const struct sp_unwind_range *range, uint64_t address);

#endif
