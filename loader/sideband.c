/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sideband.c - perf's dummy events: one small ring on each CPU, merged by time.
 *
 * A round takes everything out of the rings into a queue, sorts it, and hands out only what is
 * older than the round's begin: what a process did on one CPU before it moved to another is then in
 * order.
 */
#include "loader/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "loader/clock.h"
#include "loader/perf.h"

#define PAGES 64 /* of a ring, a power of two */
#define QUEUE_MAX 65536

struct record {
	uint64_t time;
	bool exec;
	struct sp_mapping map; /* its path is allocated; exec uses only pid */
};

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *page; /* NULL for a CPU that is not online */
	uint64_t enabled;		   /* ns, when it was looked at last */
	uint64_t taken;			   /* ns, when it was emptied last */
	uint64_t since; /* ns: the time before that of the last one that found something */
};

struct sp_sideband {
	const struct sp_sideband_ops *ops;
	void *arg;
	int epoll;
	size_t page_bytes, queued, room;
	struct record *queue;
	unsigned cpus;
	struct cpu_ring rings[];
};

static int open_ring(struct sp_sideband *s, unsigned cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.watermark = 1, /* of bytes: a number of events counts samples alone */
		.wakeup_watermark = 1,
	};
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = cpu};
	int fd = sp_perf_open(&attr, -1, (int)cpu);
	void *page;

	s->rings[cpu].fd = -1;
	s->rings[cpu].taken = s->rings[cpu].since = sp_now();
	if (fd < 0)
		return fd == -ENODEV ? 0 : fd;
	s->rings[cpu].fd = fd;
	page = mmap(NULL, (PAGES + 1) * s->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	s->rings[cpu].page = page;
	s->rings[cpu].enabled = 0;
	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int sp_sideband_start(unsigned cpus, const struct sp_sideband_ops *ops, void *arg,
		      struct sp_sideband **ret_sideband)
{
	struct sp_sideband *s = calloc(1, sizeof(*s) + cpus * sizeof(s->rings[0]));
	int r = 0;

	if (!s)
		return -ENOMEM;
	s->ops = ops;
	s->arg = arg;
	s->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		r = -errno;
	for (unsigned cpu = 0; cpu < cpus && r == 0; cpu++) {
		r = open_ring(s, cpu);
		s->cpus = cpu + 1;
	}
	if (r < 0) {
		sp_sideband_free(s);
		return r;
	}
	*ret_sideband = s;
	return 0;
}

int sp_sideband_redirect(const struct sp_sideband *s, unsigned cpu, int fd)
{
	if (cpu >= s->cpus || !s->rings[cpu].page)
		return -ENODEV;
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->rings[cpu].fd) ? -errno : 0;
}

int sp_sideband_fd(const struct sp_sideband *s)
{
	return s->epoll;
}

static struct record *queue_slot(struct sp_sideband *s)
{
	if (s->queued == s->room) {
		size_t room = s->room ? 2 * s->room : 256;
		struct record *more =
			room > QUEUE_MAX ? NULL : realloc(s->queue, room * sizeof(*more));

		if (!more)
			return NULL;
		s->queue = more;
		s->room = room;
	}
	memset(&s->queue[s->queued], 0, sizeof(s->queue[0]));
	return &s->queue[s->queued];
}

/* Bodies of PERF_RECORD_MMAP2 and PERF_RECORD_COMM up to their texts; the sample id (pid, tid,
 * time) stands at the end of each record. Source: perf_event_open(2). */
struct mmap2_body {
	__u32 pid, tid;
	__u64 addr, len, pgoff;
	__u32 maj, min;
	__u64 ino, ino_generation;
	__u32 prot, flags;
};

#define SAMPLE_ID_BYTES 16

/* What needs no order among the CPUs. Of redirected events no record has a sample id. */
static bool hand_out(struct sp_sideband *s, unsigned cpu, const uint8_t *data, size_t bytes)
{
	struct perf_event_header h;
	uint64_t words[2] = {0};

	memcpy(&h, data, sizeof(h));
	bytes -= sizeof(h);
	memcpy(words, data + sizeof(h), bytes < sizeof(words) ? bytes : sizeof(words));
	switch (h.type) {
	case PERF_RECORD_LOST: /* id, count */
		s->ops->lost(s->arg, cpu, s->rings[cpu].since, words[1]);
		return true;
	case PERF_RECORD_THROTTLE: /* time, id, stream id */
	case PERF_RECORD_UNTHROTTLE:
		s->ops->throttled(s->arg, cpu, words[0], h.type == PERF_RECORD_THROTTLE);
		return true;
	case PERF_RECORD_LOST_SAMPLES: /* count */
		s->ops->lost_samples(s->arg, cpu, s->rings[cpu].since, words[0]);
		return true;
	default:
		return false;
	}
}

static void queue_record(struct sp_sideband *s, unsigned cpu, const uint8_t *data, size_t bytes)
{
	struct perf_event_header h;
	struct mmap2_body body;
	struct record *slot;
	const uint8_t *text;

	memcpy(&h, data, sizeof(h));
	if (hand_out(s, cpu, data, bytes))
		return;
	if (h.type != PERF_RECORD_MMAP2 &&
	    !(h.type == PERF_RECORD_COMM && h.misc & PERF_RECORD_MISC_COMM_EXEC))
		return;
	if (bytes < sizeof(h) + 8 + SAMPLE_ID_BYTES)
		return;
	slot = queue_slot(s);
	if (!slot) {
		s->ops->lost(s->arg, cpu, s->rings[cpu].since, 1);
		return;
	}
	memcpy(&slot->time, data + bytes - 8, 8);
	slot->exec = h.type == PERF_RECORD_COMM;
	if (slot->exec) {
		__u32 pid;

		memcpy(&pid, data + sizeof(h), 4);
		slot->map.pid = (pid_t)pid;
		s->queued++;
		return;
	}
	if (bytes < sizeof(h) + sizeof(body) + SAMPLE_ID_BYTES)
		return;
	memcpy(&body, data + sizeof(h), sizeof(body));
	text = data + sizeof(h) + sizeof(body);
	slot->map = (struct sp_mapping){
		.time = slot->time,
		.start = body.addr,
		.end = body.addr + body.len,
		.file_offset = body.pgoff,
		.device = makedev(body.maj, body.min),
		.inode = body.ino,
		.pid = (pid_t)body.pid,
		.path = strndup((const char *)text,
				bytes - sizeof(h) - sizeof(body) - SAMPLE_ID_BYTES),
	};
	if (slot->map.path)
		s->queued++;
}

/* What did not fit is told of with the first that does: after the ring was found full, and emptied.
 * So it was lost after the time before that one. */
static void take_ring(struct sp_sideband *s, unsigned cpu)
{
	struct cpu_ring *ring = &s->rings[cpu];
	struct perf_event_mmap_page *page = ring->page;
	size_t room = PAGES * s->page_bytes;
	const uint8_t *base = (const uint8_t *)page + s->page_bytes;
	uint8_t copy[65536];
	uint64_t head, tail, now = sp_now();
	bool found;

	if (!page)
		return;
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	tail = page->data_tail;
	found = head != tail;
	while (head - tail >= sizeof(struct perf_event_header)) {
		size_t at = tail % room, first;
		struct perf_event_header h;

		memcpy(&h, base + at,
		       sizeof(h)); /* records are 8-byte aligned: the header is whole */
		if (h.size < sizeof(h) || h.size > head - tail)
			break;
		first = room - at < h.size ? room - at : h.size;
		memcpy(copy, base + at, first);
		memcpy(copy + first, base, h.size - first);
		queue_record(s, cpu, copy, h.size);
		tail += h.size;
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	if (found)
		ring->since = ring->taken;
	ring->taken = now;
}

static int by_time(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

void sp_sideband_take(struct sp_sideband *s)
{
	for (unsigned cpu = 0; cpu < s->cpus; cpu++)
		take_ring(s, cpu);
}

int sp_sideband_drain(struct sp_sideband *s, uint64_t until)
{
	struct epoll_event events[8];
	size_t done = 0;

	(void)epoll_wait(s->epoll, events, 8, 0);
	sp_sideband_take(s);
	if (s->queued > 1)
		qsort(s->queue, s->queued, sizeof(s->queue[0]), by_time);
	for (; done < s->queued && s->queue[done].time < until; done++) {
		struct record r = s->queue[done]; /* the queue may grow meanwhile, and move */

		if (r.exec)
			s->ops->exec(s->arg, r.map.pid, r.time);
		else
			s->ops->map(s->arg, &r.map);
		free((char *)r.map.path);
	}
	if (done)
		memmove(s->queue, s->queue + done, (s->queued - done) * sizeof(s->queue[0]));
	s->queued -= done;
	return 0;
}

bool sp_sideband_has_more(const struct sp_sideband *s)
{
	return s->queued;
}

static void close_ring(struct sp_sideband *s, unsigned cpu)
{
	if (s->rings[cpu].page)
		munmap(s->rings[cpu].page, (PAGES + 1) * s->page_bytes);
	if (s->rings[cpu].fd >= 0)
		close(s->rings[cpu].fd);
	s->rings[cpu].page = NULL;
	s->rings[cpu].fd = -1;
}

/* The event of a CPU that was taken off does not run any more, also when the CPU has come back. */
static bool runs(struct cpu_ring *ring)
{
	uint64_t now[2]; /* count, time enabled */
	bool runs = read(ring->fd, now, sizeof(now)) == sizeof(now) && now[1] > ring->enabled;

	if (runs)
		ring->enabled = now[1];
	return runs;
}

void sp_sideband_check(struct sp_sideband *s, void (*on_back)(void *arg, unsigned cpu))
{
	for (unsigned cpu = 0; cpu < s->cpus; cpu++) {
		if (s->rings[cpu].page && runs(&s->rings[cpu]))
			continue;
		take_ring(s, cpu);
		close_ring(s, cpu);
		if (open_ring(s, cpu) < 0)
			close_ring(s, cpu);
		if (s->rings[cpu].page)
			on_back(s->arg, cpu);
	}
}

void sp_sideband_free(struct sp_sideband *s)
{
	if (!s)
		return;
	for (unsigned cpu = 0; cpu < s->cpus; cpu++)
		close_ring(s, cpu);
	for (size_t i = 0; i < s->queued; i++)
		free((char *)s->queue[i].map.path);
	free(s->queue);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}
