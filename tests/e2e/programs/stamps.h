/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stamps.h - the log in which a program under test keeps its own truth: for each call of a region,
 * the time directly before and after its begin and before and after its end.
 *
 * The log is a shared mapping of a file, so that what the program did is known also when it was
 * killed. lib/stamps.py reads it. A slot is complete when its last stamp is not 0.
 */
#ifndef SP_TESTS_E2E_STAMPS_H
#define SP_TESTS_E2E_STAMPS_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STAMPS_MAGIC 0x31504d4154535053u /* "SPSTAMP1" */
#define STAMPS_THREADS 64

struct stamp_lane {
	uint32_t pid, tid;
	uint64_t used;	   /* slots, in order of entry */
	uint64_t checksum; /* of what the lane computed */
};

struct stamp_log {
	uint64_t magic;
	uint32_t stop;	   /* set from outside: end */
	uint32_t go;	   /* set from outside: begin, where the program waits for it */
	uint64_t capacity; /* slots a lane */
	uint64_t count;	   /* lanes */
	struct stamp_lane lanes[STAMPS_THREADS];
};

struct stamp {
	uint64_t before_begin, after_begin, before_end, after_end;
	uint32_t region, parent; /* parent: slot + 1, 0 none */
};

static inline uint64_t stamp_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline struct stamp_log *stamp_log_make(const char *path, uint64_t count, uint64_t capacity)
{
	size_t size = sizeof(struct stamp_log) + count * capacity * sizeof(struct stamp);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	struct stamp_log *log;

	if (fd < 0 || ftruncate(fd, (off_t)size)) {
		perror(path);
		exit(9);
	}
	log = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (log == MAP_FAILED) {
		perror("mmap");
		exit(9);
	}
	log->capacity = capacity;
	log->count = count;
	__atomic_store_n(&log->magic, STAMPS_MAGIC, __ATOMIC_RELEASE);
	return log;
}

static inline struct stamp *stamp_slots(struct stamp_log *log, unsigned lane)
{
	return (struct stamp *)(log + 1) + lane * log->capacity;
}

static inline void stamp_lane_open(struct stamp_log *log, unsigned lane)
{
	log->lanes[lane].pid = (uint32_t)getpid();
	log->lanes[lane].tid = (uint32_t)syscall(SYS_gettid);
}

#endif
