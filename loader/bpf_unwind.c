/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bpf_unwind.c - memory that the kernel side and the recorder share: rules, ranges and chunks of
 * tables. Chunks are taken when they are needed and kept until the end.
 */
#include "loader/bpf_unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "userspace/base/cleanup.h"

#define RANGES_BYTES (sizeof(struct sp_unwind_range) * SP_UNWIND_RANGES)
#define RULES_BYTES (sizeof(struct sp_unwind_rule) * SP_UNWIND_RULES)
#define CHUNK_BYTES sizeof(struct sp_unwind_chunk)

void sp_bpf_tables_size(struct sp_bpf_tables *t, bool wanted)
{
	if (wanted)
		return;
	(void)bpf_map__set_value_size(t->ranges, sizeof(struct sp_unwind_range));
	(void)bpf_map__set_value_size(t->rules, 16);
	(void)bpf_map__set_max_entries(t->chunks, 1);
	(void)bpf_map__set_max_entries(t->spaces, 1);
	(void)bpf_map__set_max_entries(t->files, 1);
	(void)bpf_map__set_max_entries(t->mapped, 1);
}

static int map_value(int fd, size_t bytes, void **ret_at)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	*ret_at = at;
	return 0;
}

int sp_bpf_tables_map(struct sp_bpf_tables *t)
{
	int r;

	t->chunk = calloc(SP_UNWIND_CHUNKS, sizeof(struct sp_unwind_chunk *));
	if (!t->chunk)
		return -ENOMEM;
	r = map_value(bpf_map__fd(t->ranges), RANGES_BYTES, (void **)&t->ranges_at);
	if (r == 0)
		r = map_value(bpf_map__fd(t->rules), RULES_BYTES, (void **)&t->rules_at);
	return r;
}

int sp_bpf_tables_add_chunk(struct sp_bpf_tables *t, struct sp_unwind_chunk **ret_chunk,
			    uint32_t *ret_number)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	uint32_t number = t->chunk_count;
	void *at = NULL;
	int r;

	if (!t->chunk)
		return -EINVAL;
	if (number >= SP_UNWIND_CHUNKS)
		return -ENOSPC;
	/* The outer map and our mapping keep it when the descriptor is closed. */
	sp_cleanup(sp_closep) int fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "sp_chunk", 4, CHUNK_BYTES, 1, &opts);
	if (fd < 0)
		return -errno;
	r = map_value(fd, CHUNK_BYTES, &at);
	if (r < 0)
		return r;
	if (bpf_map_update_elem(bpf_map__fd(t->chunks), &number, &fd, BPF_ANY)) {
		r = -errno;
		munmap(at, CHUNK_BYTES);
		return r;
	}
	t->chunk[t->chunk_count++] = at;
	*ret_chunk = at;
	*ret_number = number;
	return 0;
}

int sp_bpf_tables_set_space(struct sp_bpf_tables *t, uint32_t process, struct sp_unwind_space space)
{
	uint32_t generation = __atomic_add_fetch(&t->generation, 1, __ATOMIC_RELAXED);
	struct sp_bpf_space value = {space.first, space.count, generation};

	return bpf_map_update_elem(bpf_map__fd(t->spaces), &process, &value, BPF_ANY) ? -errno : 0;
}

int sp_bpf_tables_forget_space(struct sp_bpf_tables *t, uint32_t process)
{
	(void)bpf_map_delete_elem(bpf_map__fd(t->mapped), &process);
	return bpf_map_delete_elem(bpf_map__fd(t->spaces), &process) ? -errno : 0;
}

/* Where there is no room, mappings of it wait for the recorder. */
void sp_bpf_tables_set_file(struct sp_bpf_tables *t, const struct sp_bpf_file_key *key,
			    const struct sp_bpf_file *file)
{
	if (file)
		(void)bpf_map_update_elem(bpf_map__fd(t->files), key, file, BPF_ANY);
	else
		(void)bpf_map_delete_elem(bpf_map__fd(t->files), key);
}

void sp_bpf_tables_unmap(struct sp_bpf_tables *t)
{
	if (t->ranges_at)
		munmap(t->ranges_at, RANGES_BYTES);
	if (t->rules_at)
		munmap(t->rules_at, RULES_BYTES);
	for (uint32_t i = 0; i < t->chunk_count; i++)
		munmap(t->chunk[i], CHUNK_BYTES);
	free(t->chunk);
	*t = (struct sp_bpf_tables){0};
}
