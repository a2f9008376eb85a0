/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bpf_unwind.h - the memory of the kernel's tables for unwinding: part of sp_bpf (bpf.h, which says
 * what its parts are for), apart from the skeleton.
 */
#ifndef SP_LOADER_BPF_UNWIND_H
#define SP_LOADER_BPF_UNWIND_H

#include <stdbool.h>

#include "loader/bpf.h"

struct bpf_map;

/* The maps of bpf/unwind.bpf.h. */
struct sp_bpf_tables {
	struct bpf_map *ranges, *rules, *chunks, *spaces, *files, *mapped;
	struct sp_unwind_range *ranges_at; /* mapped, or NULL */
	struct sp_unwind_rule *rules_at;
	struct sp_unwind_chunk **chunk; /* mapped, SP_UNWIND_CHUNKS of them */
	uint32_t chunk_count;
	uint32_t generation; /* of the last address space that was set */
};

/* Before the load: room for tables if they are @wanted, else as little as the kernel takes. */
void sp_bpf_tables_size(struct sp_bpf_tables *tables, bool wanted);
/* After it. -errno. */
int sp_bpf_tables_map(struct sp_bpf_tables *tables);
int sp_bpf_tables_add_chunk(struct sp_bpf_tables *tables, struct sp_unwind_chunk **ret_chunk,
			    uint32_t *ret_number);
/* The number is never used twice, so that the kernel side may remember what it found in it. */
int sp_bpf_tables_set_space(struct sp_bpf_tables *tables, uint32_t process,
			    struct sp_unwind_space space);
int sp_bpf_tables_forget_space(struct sp_bpf_tables *tables, uint32_t process);
void sp_bpf_tables_set_file(struct sp_bpf_tables *tables, const struct sp_bpf_file_key *key,
			    const struct sp_bpf_file *file);
void sp_bpf_tables_unmap(struct sp_bpf_tables *tables);

#endif
