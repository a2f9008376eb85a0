/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bpf_maps.c - see bpf_maps.h.
 */
#include "loader/bpf_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "formats/wire.h"
#include "loader/bpf_log.h"
#include "userspace/base/log.h"

#define SLOT 64ull /* bytes of a call in its queue */

void sp_bpf_maps_size(struct sp_bpf_maps *m, const struct sp_bpf_options *o)
{
	while ((SLOT << (m->queue_order + 1)) <= o->call_ring_bytes)
		m->queue_order++;
	m->max_sites = o->max_sites;
	bpf_map__set_max_entries(m->calls, m->cpus << m->queue_order);
	bpf_map__set_max_entries(m->call_ends, m->cpus);
	bpf_map__set_max_entries(m->sample_rings, m->cpus);
	bpf_map__set_max_entries(m->control_ring, (__u32)o->control_ring_bytes);
	bpf_map__set_max_entries(m->sites, o->max_sites);
	bpf_map__set_max_entries(m->losses, m->cpus * SP_LOSS_MAX);
}

static size_t sites_bytes(const struct sp_bpf_maps *m)
{
	return m->max_sites * sizeof(*m->sites_at);
}

static size_t calls_bytes(const struct sp_bpf_maps *m)
{
	return (SLOT * m->cpus) << m->queue_order;
}

static size_t call_ends_bytes(const struct sp_bpf_maps *m)
{
	return m->cpus * sizeof(*m->call_ends_at);
}

static size_t causes_bytes(const struct sp_bpf_maps *m)
{
	return (size_t)m->cpus * SP_LOSS_MAX * sizeof(*m->ledger.causes);
}

static const size_t places_bytes = SP_LOSS_PLACES * sizeof(struct sp_loss_place);

static size_t whole_pages(size_t bytes)
{
	return (bytes + 4095) & ~(size_t)4095;
}

static int map_array(const struct bpf_map *map, size_t bytes, void **ret_at)
{
	void *at = mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return -errno;
	*ret_at = at;
	return 0;
}

static void unmap_array(void *at, size_t bytes)
{
	if (at)
		munmap(at, whole_pages(bytes));
}

int sp_bpf_maps_map(struct sp_bpf_maps *m)
{
	int r = map_array(m->sites, sites_bytes(m), (void **)&m->sites_at);

	if (r == 0)
		r = map_array(m->calls, calls_bytes(m), (void **)&m->calls_at);
	if (r == 0)
		r = map_array(m->call_ends, call_ends_bytes(m), (void **)&m->call_ends_at);
	if (r == 0)
		r = map_array(m->losses, causes_bytes(m), (void **)&m->ledger.causes);
	if (r == 0)
		r = map_array(m->loss_places, places_bytes, (void **)&m->ledger.places);
	return r;
}

int sp_bpf_maps_make_rings(struct sp_bpf_maps *m, size_t bytes)
{
	m->rings = malloc(m->cpus * sizeof(*m->rings));
	if (!m->rings)
		return -ENOMEM;
	for (unsigned cpu = 0; cpu < m->cpus; cpu++)
		m->rings[cpu] = -1;
	for (__u32 cpu = 0; cpu < m->cpus; cpu++) {
		m->rings[cpu] =
			bpf_map_create(BPF_MAP_TYPE_RINGBUF, "sp_ring", 0, 0, (__u32)bytes, NULL);
		if (m->rings[cpu] < 0 || bpf_map_update_elem(bpf_map__fd(m->sample_rings), &cpu,
							     &m->rings[cpu], BPF_ANY)) {
			int r = -errno;

			sp_log_error("the kernel refused a ring of %zu KiB for CPU %u: %s",
				     bytes >> 10, cpu, strerror(-r));
			sp_bpf_hint(r);
			return r;
		}
	}
	return 0;
}

void sp_bpf_maps_done(struct sp_bpf_maps *m)
{
	unmap_array(m->sites_at, sites_bytes(m));
	unmap_array(m->calls_at, calls_bytes(m));
	unmap_array(m->call_ends_at, call_ends_bytes(m));
	unmap_array(m->ledger.causes, causes_bytes(m));
	unmap_array(m->ledger.places, places_bytes);
	for (unsigned cpu = 0; m->rings && cpu < m->cpus; cpu++)
		if (m->rings[cpu] >= 0)
			close(m->rings[cpu]);
	free(m->rings);
	*m = (struct sp_bpf_maps){0};
}
