/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/loader/unwind_fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void fake_open(struct sp_bpf *bpf, size_t chunks)
{
	memset(bpf, 0, sizeof(*bpf));
	bpf->most_chunks = chunks;
	bpf->rules = calloc(SP_UNWIND_RULES, sizeof(*bpf->rules));
	bpf->ranges = calloc(SP_UNWIND_RANGES, sizeof(*bpf->ranges));
	if (!bpf->rules || !bpf->ranges)
		abort();
}

void fake_close(struct sp_bpf *bpf)
{
	for (size_t i = 0; i < bpf->chunk_count; i++)
		free(bpf->chunks[i]);
	free(bpf->rules);
	free(bpf->ranges);
}

struct sp_unwind_rule *sp_bpf_unwind_rules(const struct sp_bpf *bpf)
{
	return bpf->rules;
}

struct sp_unwind_range *sp_bpf_unwind_ranges(const struct sp_bpf *bpf)
{
	return bpf->ranges;
}

int sp_bpf_unwind_add_chunk(struct sp_bpf *bpf, struct sp_unwind_chunk **ret_chunk,
			    uint32_t *ret_number)
{
	struct sp_unwind_chunk *chunk;

	if (bpf->chunk_count == bpf->most_chunks)
		return -ENOSPC;
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		abort();
	*ret_number = (uint32_t)bpf->chunk_count;
	*ret_chunk = bpf->chunks[bpf->chunk_count++] = chunk;
	return 0;
}

int sp_bpf_unwind_set_space(struct sp_bpf *bpf, uint32_t process, struct sp_unwind_space space)
{
	bpf->spaces[process] = space;
	bpf->has_space[process] = true;
	bpf->updates++;
	return 0;
}

int sp_bpf_unwind_forget_space(struct sp_bpf *bpf, uint32_t process)
{
	bpf->has_space[process] = false;
	return 0;
}

void sp_bpf_unwind_set_file(struct sp_bpf *bpf, const struct sp_bpf_file_key *key,
			    const struct sp_bpf_file *file)
{
	size_t at = 0;

	while (at < bpf->file_count && memcmp(&bpf->files[at].key, key, sizeof(*key)))
		at++;
	if (at == bpf->file_count && (!file || bpf->file_count++ == FAKE_FILES))
		abort();
	bpf->files[at].key = *key;
	bpf->files[at].file = file ? *file : (struct sp_bpf_file){0};
}

const struct sp_unwind_range *fake_find(const struct sp_bpf *bpf, uint32_t process,
					uint64_t address, bool *ret_good)
{
	const struct sp_unwind_space space = bpf->spaces[process];
	const struct sp_unwind_range *found = NULL;
	uint64_t last = 0;

	if (!bpf->has_space[process])
		return NULL;
	if (space.first + (uint64_t)space.count > SP_UNWIND_RANGES)
		*ret_good = false;
	for (uint32_t i = space.first; *ret_good && i < space.first + space.count; i++) {
		const struct sp_unwind_range *r = &bpf->ranges[i];

		if (r->start < last || r->start >= r->end)
			*ret_good = false;
		if (r->count && (r->chunk >= bpf->chunk_count ||
				 r->first + (uint64_t)r->count > SP_UNWIND_CHUNK_ROWS))
			*ret_good = false;
		if (r->count && r->end - r->base > 1ull << 32)
			*ret_good = false;
		last = r->end;
		if (address >= r->start && address < r->end)
			found = r;
	}
	return *ret_good ? found : NULL;
}

int fake_rule(const struct sp_bpf *bpf, const struct sp_unwind_range *range, uint64_t address)
{
	const struct sp_unwind_chunk *chunk = bpf->chunks[range->chunk];
	int rule = -1;

	for (uint32_t i = range->first; i < range->first + range->count; i++)
		if (chunk->pc[i] <= address - range->base)
			rule = chunk->rule[i];
	return rule;
}
