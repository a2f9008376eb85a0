/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * tables.bpf.h - the tables for unwinding (formats/unwind.h) and searching them.
 *
 * The recorder writes them at any moment, so every index is masked and every loop is bounded.
 */
#ifndef SP_BPF_TABLES_H
#define SP_BPF_TABLES_H

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
	__type(value, struct sp_bpf_space);
} spaces SEC(".maps");

/* Files whose tables are ready. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct sp_bpf_file_key);
	__type(value, struct sp_bpf_file);
} files SEC(".maps");

/* By process image (bpf/mapped.bpf.h). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct sp_bpf_mapped);
} mapped SEC(".maps");

/* Rules that were found on this CPU, by address. Samples are mostly of the same callers, and one line
 * of the CPU's cache is read here, where a search in a large table reads a dozen that are cold. */
#define FOUND_ORDER 10

struct found {
	__u64 address;
	__u32 generation; /* of its address space, 0 none */
	__u32 rule;
};

struct found_rules {
	struct found at[1 << FOUND_ORDER];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct found_rules);
} found_rules SEC(".maps");

/* Finds the address space of a process image, or while it has none its parent's. */
sp_inline struct sp_bpf_space *find_space(__u32 process, __u32 parent)
{
	struct sp_bpf_space *space = bpf_map_lookup_elem(&spaces, &process);

	return space || !parent ? space : bpf_map_lookup_elem(&spaces, &parent);
}

/* Both searches are for the last of n things, n at least 1, that begins at or before an address. */
#define SEARCH_STEPS 17
_Static_assert(1 << SEARCH_STEPS >= SP_UNWIND_CHUNK_ROWS && 1 << SEARCH_STEPS >= SP_UNWIND_RANGES,
	       "every row can be found");

/* The range of the @count ones from @first on that an address is in: its index, or NO_RANGE. */
#define NO_RANGE 0xffffffffu
sp_inline __u32 find_range(const struct ranges *ranges, __u32 first, __u32 count, __u64 address)
{
	const struct sp_unwind_range *r;
	__u32 index = first, n = count;

	for (int i = 0; i < SEARCH_STEPS && n > 1; i++) {
		__u32 half = n >> 1;

		if (ranges->at[(index + half) % SP_UNWIND_RANGES].start <= address)
			index += half;
		n -= half;
	}
	r = &ranges->at[index % SP_UNWIND_RANGES];
	return count && address >= r->start && address < r->end ? index : NO_RANGE;
}

/* Number of the rule that holds at an address of a range that has a table; 0, NONE, if none does. */
sp_inline __u32 find_rule(const struct sp_unwind_range *r, __u64 address)
{
	__u32 number = r->chunk, index = r->first, n = r->count, zero = 0;
	__u64 pc = address - r->base;
	const struct sp_unwind_chunk *c;
	void *map = bpf_map_lookup_elem(&chunks, &number);

	c = map ? bpf_map_lookup_elem(map, &zero) : NULL;
	if (!c)
		return 0;
	for (int i = 0; i < SEARCH_STEPS && n > 1; i++) {
		__u32 half = n >> 1;

		if (c->pc[(index + half) % SP_UNWIND_CHUNK_ROWS] <= pc)
			index += half;
		n -= half;
	}
	index %= SP_UNWIND_CHUNK_ROWS;
	return c->pc[index] <= pc ? c->rule[index] : 0;
}

#endif
