/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * unwind.bpf.h - finding a thread's callers by tables (formats/unwind.h), without frame pointers.
 *
 * What the tables hold was checked by the recorder, and is checked again here wherever a wrong value
 * could do more than end a stack: every index is masked, every loop is bounded, memory is read by
 * helpers that fail. So the recorder may change the tables at any moment.
 */
#ifndef SP_BPF_UNWIND_H
#define SP_BPF_UNWIND_H

#include "bpf/core.bpf.h"
#include "formats/unwind.h"

/* Arrays of one large value each: once looked up, a search in them is plain loads. The loader makes
 * them small where no tables are used. */
struct ranges {
	struct sp_unwind_range at[SP_UNWIND_RANGES];
};

struct rules {
	struct sp_unwind_rule at[SP_UNWIND_RULES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct ranges));
} ranges SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct rules));
} rules SEC(".maps");

/* Not BPF_F_INNER_MAP, so that the kernel inlines the lookup in it. */
struct chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct sp_unwind_chunk));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SP_UNWIND_CHUNKS);
	__uint(key_size, sizeof(__u32));
	__array(values, struct chunk);
} chunks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32); /* of the process image */
	__type(value, struct sp_unwind_space);
} spaces SEC(".maps");

#endif
