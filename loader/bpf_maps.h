/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bpf_maps.h - the memory that the kernel side and the recorder share: queues of calls, rings of
 * samples, sites and the ledger. For bpf.c, which knows the maps.
 */
#ifndef SP_LOADER_BPF_MAPS_H
#define SP_LOADER_BPF_MAPS_H

#include "loader/bpf.h"

struct bpf_map;

struct sp_bpf_maps {
	/* Set before. */
	struct bpf_map *sites, *calls, *call_ends, *losses, *loss_places, *sample_rings,
		*control_ring;
	unsigned cpus;

	unsigned queue_order, max_sites;
	int *rings; /* of samples, by CPU */
	/* Mapped. */
	struct sp_site_known *sites_at;
	uint64_t *calls_at;
	struct sp_queue_ends *call_ends_at;
	struct sp_bpf_ledger ledger;
};

/* Before they are loaded. */
void sp_bpf_maps_size(struct sp_bpf_maps *maps, const struct sp_bpf_options *options);
/* Afterwards. -errno, without a word. */
int sp_bpf_maps_map(struct sp_bpf_maps *maps);
/* -errno, after saying so. */
int sp_bpf_maps_make_rings(struct sp_bpf_maps *maps, size_t bytes);
void sp_bpf_maps_done(struct sp_bpf_maps *maps);

#endif
