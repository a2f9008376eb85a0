/* SPDX-License-Identifier: BSD-2-Clause
 *
 * rings.c - draining: the queues of calls (bpf/config.h), and through libbpf the BPF rings, one
 * manager for each, so that one ring that never runs dry does not keep the others waiting.
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
	struct sp_bpf_queue *calls; /* of each CPU */
	struct ring control;
	struct ring samples[]; /* of each CPU */
};

#define STOPPED (-ECANCELED)
#define SLOT_WORDS 8 /* the word and the call */
_Static_assert(sizeof(struct sp_ev_call) == (SLOT_WORDS - 1) * 8, "a slot is a line of the cache");

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
	struct sp_rings *rings = calloc(1, sizeof(*rings) + cpus * sizeof(rings->samples[0]));
	int r;

	if (!rings)
		return -ENOMEM;
	rings->cb = cb;
	rings->arg = arg;
	rings->count = cpus;
	rings->calls = calloc(cpus, sizeof(*rings->calls));
	r = rings->calls ? 0 : -ENOMEM;
	if (r == 0)
		r = open_ring(rings, &rings->control, sp_bpf_control_ring(bpf), SP_RING_CONTROL);
	for (unsigned cpu = 0; cpu < cpus && r == 0; cpu++) {
		int fd = sp_bpf_sample_ring(bpf, cpu);

		rings->calls[cpu] = sp_bpf_call_queue(bpf, cpu);
		r = open_ring(rings, &rings->samples[cpu], fd, cpu);
		rings->samples[cpu].room = ring_room(fd);
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

/* Takes what is in a CPU's queue of calls, at most its size. Returns how many. */
static uint64_t drain_calls(struct sp_rings *rings, unsigned cpu)
{
	const struct sp_bpf_queue *q = &rings->calls[cpu];
	uint64_t n = q->ends->tail, first = n;

	for (; n - first < q->size; n++) {
		uint64_t *slot = q->slots + (n & (q->size - 1)) * SLOT_WORDS;
		uint64_t lap = n / q->size;

		if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) != 2 * lap + 1)
			break;
		if (sp_event_check(slot + 1, sizeof(struct sp_ev_call)) == 0)
			rings->cb(rings->arg, cpu, (const struct sp_head *)(slot + 1),
				  sizeof(struct sp_ev_call));
		__atomic_store_n(slot, 2 * (lap + 1), __ATOMIC_RELEASE);
	}
	q->ends->tail = n;
	return n - first;
}

int sp_rings_drain(struct sp_rings *rings, unsigned *ret_fill)
{
	uint64_t fullest = 0;
	int first = 0;

	for (unsigned cpu = 0; cpu < rings->count; cpu++) {
		struct ring *ring = &rings->samples[cpu];
		uint64_t fill = drain_calls(rings, cpu) * 256 / rings->calls[cpu].size;
		int r = drain_ring(ring);

		if (r < 0 && first == 0)
			first = r;
		if (ring->room && ring->taken * 256 / ring->room > fill)
			fill = ring->taken * 256 / ring->room;
		if (fill > fullest)
			fullest = fill;
	}
	*ret_fill = fullest > 256 ? 256 : (unsigned)fullest;
	return first;
}

uint64_t sp_rings_unread(const struct sp_rings *rings, unsigned cpu)
{
	const struct sp_queue_ends *ends = rings->calls[cpu].ends;

	return __atomic_load_n(&ends->head, __ATOMIC_ACQUIRE) - ends->tail;
}

void sp_rings_free(struct sp_rings *rings)
{
	if (!rings)
		return;
	ring_buffer__free(rings->control.buffer);
	for (unsigned i = 0; i < rings->count; i++)
		ring_buffer__free(rings->samples[i].buffer);
	free(rings->calls);
	free(rings);
}
