/* SPDX-License-Identifier: BSD-2-Clause
 *
 * rings.c - draining the BPF rings through libbpf, one manager for each, so that one ring that
 * never runs dry does not keep the others waiting.
 */
#include "loader/rings.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "formats/codec.h"

struct ring {
	struct sp_rings *rings;
	struct ring_buffer *buffer;
	unsigned cpu;
	size_t room, taken; /* bytes: of the ring, and in this drain */
};

struct sp_rings {
	sp_rings_cb cb;
	void *arg;
	unsigned count;
	struct ring control;
	struct ring list[]; /* calls of each CPU, then samples of each */
};

#define STOPPED (-ECANCELED)

static int on_record(void *context, void *data, size_t bytes)
{
	struct ring *ring = context;

	if (sp_event_check(data, bytes) == 0)
		ring->rings->cb(ring->rings->arg, ring->cpu, data, bytes);
	ring->taken += bytes + 8;
	return ring->room && ring->taken >= ring->room ? STOPPED : 0;
}

static int open_ring(struct sp_rings *rings, struct ring *ring, int fd, unsigned cpu)
{
	ring->rings = rings;
	ring->cpu = cpu;
	ring->buffer = ring_buffer__new(fd, on_record, ring, NULL);
	return ring->buffer ? 0 : -errno;
}

static size_t ring_room(int fd)
{
	struct bpf_map_info info = {0};
	__u32 bytes = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &bytes) ? 0 : info.max_entries;
}

int sp_rings_new(const struct sp_bpf *bpf, sp_rings_cb cb, void *arg, struct sp_rings **ret_rings)
{
	unsigned cpus = sp_bpf_cpus(bpf);
	struct sp_rings *rings = calloc(1, sizeof(*rings) + 2 * cpus * sizeof(rings->list[0]));
	int r;

	if (!rings)
		return -ENOMEM;
	rings->cb = cb;
	rings->arg = arg;
	rings->count = 2 * cpus;
	r = open_ring(rings, &rings->control, sp_bpf_control_ring(bpf), SP_RING_CONTROL);
	for (unsigned i = 0; i < rings->count && r == 0; i++) {
		int fd = i < cpus ? sp_bpf_call_ring(bpf, i) : sp_bpf_sample_ring(bpf, i - cpus);

		r = open_ring(rings, &rings->list[i], fd, i % cpus);
		rings->list[i].room = ring_room(fd);
	}
	if (r < 0) {
		sp_rings_free(rings);
		return r;
	}
	*ret_rings = rings;
	return 0;
}

int sp_rings_fd(const struct sp_rings *rings)
{
	return ring_buffer__epoll_fd(rings->control.buffer);
}

static int drain_ring(struct ring *ring)
{
	int r;

	ring->taken = 0;
	r = ring_buffer__consume(ring->buffer);
	return r == STOPPED || r >= 0 ? 0 : r;
}

int sp_rings_drain_control(struct sp_rings *rings)
{
	/* The epoll readiness of a ring lasts until it is polled away. */
	rings->control.taken = 0;
	(void)ring_buffer__poll(rings->control.buffer, 0);
	return drain_ring(&rings->control);
}

int sp_rings_drain(struct sp_rings *rings, unsigned *ret_fill)
{
	unsigned fullest = 0;
	int first = 0;

	for (unsigned i = 0; i < rings->count; i++) {
		struct ring *ring = &rings->list[i];
		int r = drain_ring(ring);
		unsigned fill = ring->room ? (unsigned)(ring->taken * 256 / ring->room) : 0;

		if (r < 0 && first == 0)
			first = r;
		if (fill > fullest)
			fullest = fill;
	}
	*ret_fill = fullest > 256 ? 256 : fullest;
	return first;
}

void sp_rings_free(struct sp_rings *rings)
{
	if (!rings)
		return;
	ring_buffer__free(rings->control.buffer);
	for (unsigned i = 0; i < rings->count; i++)
		ring_buffer__free(rings->list[i].buffer);
	free(rings);
}
