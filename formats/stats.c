// SPDX-License-Identifier: BSD-2-Clause
/*
 * stats.c - running statistics of calls.
 *
 * Invariant: m2 and mean describe exactly the calls counted (Chan's pooling of blocks, whose error
 * does not grow with the number of calls); an unknown value never turns into a known one.
 *
 * A block is summed in integers, four calls at a time, and its squares about its own mean. Both
 * passes find it in the first-level cache. Encoding is done on the way, since it would read the
 * same numbers again.
 */
#include "formats/stats.h"

#include <string.h>

#include "formats/util.h"

enum { BLOCK = 1024, LANES = 4 };

typedef uint64_t lanes_u64 __attribute__((vector_size(8 * LANES)));
typedef int64_t lanes_s64 __attribute__((vector_size(8 * LANES)));
typedef double lanes_f64 __attribute__((vector_size(8 * LANES)));

struct sums {
	int64_t total;
	int64_t minimum, maximum;
	int64_t start_minimum, end_maximum;
};

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void add_to_sums(struct sums *sums, int64_t start, int64_t end)
{
	int64_t duration = sp_wrap_sub(end, start);

	sums->total = sp_wrap_add(sums->total, duration);
	sums->minimum = duration < sums->minimum ? duration : sums->minimum;
	sums->maximum = duration > sums->maximum ? duration : sums->maximum;
	sums->start_minimum = start < sums->start_minimum ? start : sums->start_minimum;
	sums->end_maximum = end > sums->end_maximum ? end : sums->end_maximum;
}

/* @to: the smaller (larger) of @to and @from, lane by lane. */
#define LOWER(to, from) \
	do { \
		lanes_s64 mask_ = (from) < (to); \
\
		(to) = ((from)&mask_) | ((to) & ~mask_); \
	} while (0)
#define RAISE(to, from) \
	do { \
		lanes_s64 mask_ = (from) > (to); \
\
		(to) = ((from)&mask_) | ((to) & ~mask_); \
	} while (0)

/* The sums of @n calls, n > 0. With @deltas, encodes them; the first start comes after @before. */
ALWAYS_INLINE void sum_calls(const int64_t *starts, const int64_t *ends, size_t n, int64_t before,
			     int64_t *deltas, int64_t *durations, struct sums *ret_sums)
{
	struct sums sums = {0, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN};
	lanes_u64 total = {0};
	lanes_s64 minimum, maximum, start_minimum, end_maximum;
	size_t i = 1;

	add_to_sums(&sums, starts[0], ends[0]);
	if (deltas) {
		deltas[0] = sp_wrap_sub(starts[0], before);
		durations[0] = sp_wrap_sub(ends[0], starts[0]);
	}
	minimum = start_minimum = (lanes_s64){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
	maximum = end_maximum = (lanes_s64){INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
	for (; i + LANES <= n; i += LANES) {
		lanes_s64 start, end, duration;
		lanes_u64 last;

		memcpy(&start, starts + i, sizeof(start));
		memcpy(&end, ends + i, sizeof(end));
		duration = (lanes_s64)((lanes_u64)end - (lanes_u64)start);
		if (deltas) {
			memcpy(&last, starts + i - 1, sizeof(last));
			last = (lanes_u64)start - last;
			memcpy(deltas + i, &last, sizeof(last));
			memcpy(durations + i, &duration, sizeof(duration));
		}
		total += (lanes_u64)duration;
		LOWER(minimum, duration);
		RAISE(maximum, duration);
		LOWER(start_minimum, start);
		RAISE(end_maximum, end);
	}
	for (size_t lane = 0; lane < LANES; lane++) {
		struct sums one = {(int64_t)total[lane], minimum[lane], maximum[lane],
				   start_minimum[lane], end_maximum[lane]};

		sums.total = sp_wrap_add(sums.total, one.total);
		sums.minimum = one.minimum < sums.minimum ? one.minimum : sums.minimum;
		sums.maximum = one.maximum > sums.maximum ? one.maximum : sums.maximum;
		sums.start_minimum = one.start_minimum < sums.start_minimum ? one.start_minimum
									    : sums.start_minimum;
		sums.end_maximum =
			one.end_maximum > sums.end_maximum ? one.end_maximum : sums.end_maximum;
	}
	for (; i < n; i++) {
		add_to_sums(&sums, starts[i], ends[i]);
		if (!deltas)
			continue;
		deltas[i] = sp_wrap_sub(starts[i], starts[i - 1]);
		durations[i] = sp_wrap_sub(ends[i], starts[i]);
	}
	*ret_sums = sums;
}

/* Sum of (duration − @pivot)², where no difference reaches 2^51. An integer that small becomes a
 * double by adding it to the bits of 1.5 · 2^52: no processor before AVX-512 converts four. */
ALWAYS_INLINE double sum_squares(const int64_t *starts, const int64_t *ends, size_t n,
				 int64_t pivot)
{
	const lanes_f64 magic = {0x1.8p52, 0x1.8p52, 0x1.8p52, 0x1.8p52};
	lanes_f64 squares = {0};
	double sum;
	size_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		lanes_u64 start, end;
		lanes_f64 difference;

		memcpy(&start, starts + i, sizeof(start));
		memcpy(&end, ends + i, sizeof(end));
		end = end - start - (uint64_t)pivot + (lanes_u64)magic;
		difference = (lanes_f64)end - magic;
		squares += difference * difference;
	}
	sum = squares[0] + squares[1] + squares[2] + squares[3];
	for (; i < n; i++) {
		double difference = (double)sp_wrap_sub(sp_wrap_sub(ends[i], starts[i]), pivot);

		sum += difference * difference;
	}
	return sum;
}

/* Each in two versions: comparing 64-bit integers is an instruction with AVX2. */
#define VERSION(suffix, target) \
	target static void sum_##suffix(const int64_t *starts, const int64_t *ends, size_t n, \
					struct sums *ret_sums) \
	{ \
		sum_calls(starts, ends, n, 0, NULL, NULL, ret_sums); \
	} \
	target static void encode_##suffix(const int64_t *starts, const int64_t *ends, size_t n, \
					   int64_t before, int64_t *deltas, int64_t *durations, \
					   struct sums *ret_sums) \
	{ \
		sum_calls(starts, ends, n, before, deltas, durations, ret_sums); \
	} \
	target static double squares_##suffix(const int64_t *starts, const int64_t *ends, \
					      size_t n, int64_t pivot) \
	{ \
		return sum_squares(starts, ends, n, pivot); \
	}

VERSION(anywhere, )
#ifdef __x86_64__
VERSION(avx2, __attribute__((target("avx2"))))
#define DISPATCH(function, ...) \
	(__builtin_cpu_supports("avx2") ? function##_avx2(__VA_ARGS__) \
					: function##_anywhere(__VA_ARGS__))
#else
#define DISPATCH(function, ...) function##_anywhere(__VA_ARGS__)
#endif

/* Durations that no program takes, but a file may hold. */
static void odd_moments(const int64_t *starts, const int64_t *ends, size_t n,
			struct sp_stats *block)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)sp_wrap_sub(ends[i], starts[i]);
	block->mean = sum / (double)n;
	block->m2 = 0;
	for (size_t i = 0; i < n; i++) {
		double difference = (double)sp_wrap_sub(ends[i], starts[i]) - block->mean;

		block->m2 += difference * difference;
	}
}

/* Where a block is encoded to, if it is. */
struct encoding {
	int64_t before;
	int64_t *deltas, *durations; /* NULL: not */
};

/* Statistics of one block of calls, 0 < n ≤ BLOCK. */
static void block_stats(struct sp_stats *block, const int64_t *starts, const int64_t *ends,
			size_t n, const struct encoding *encoding)
{
	struct sums sums;

	if (encoding->deltas)
		DISPATCH(encode, starts, ends, n, encoding->before, encoding->deltas,
			 encoding->durations, &sums);
	else
		DISPATCH(sum, starts, ends, n, &sums);
	*block = (struct sp_stats){.calls = n,
				   .total = sums.total,
				   .minimum = sums.minimum,
				   .maximum = sums.maximum,
				   .first = sp_wrap_sub(ends[0], starts[0]),
				   .last = sp_wrap_sub(ends[n - 1], starts[n - 1]),
				   .start_minimum = sums.start_minimum,
				   .end_maximum = sums.end_maximum};
	if ((uint64_t)sums.maximum - (uint64_t)sums.minimum < UINT64_C(1) << 51) {
		/* What all have beyond the shortest one is no more than 2^61, whatever wraps. */
		uint64_t more = (uint64_t)sums.total - (uint64_t)sums.minimum * n;
		int64_t pivot = sp_wrap_add(sums.minimum, (int64_t)(more / n));
		double rest = (double)(more % n);

		block->mean = (double)pivot + rest / (double)n;
		block->m2 = DISPATCH(squares, starts, ends, n, pivot) - rest * rest / (double)n;
		block->m2 = block->m2 < 0 ? 0 : block->m2;
	} else {
		odd_moments(starts, ends, n, block);
	}
}

static void add(struct sp_stats *stats, const int64_t *starts, const int64_t *ends,
		const int64_t *child_ns, const int64_t *gpu_ns, size_t n, struct encoding encoding)
{
	for (size_t at = 0; at < n; at += BLOCK) {
		size_t some = n - at < BLOCK ? n - at : BLOCK;
		struct sp_stats block;
		uint64_t children = 0, any = 0;

		block_stats(&block, starts + at, ends + at, some, &encoding);
		if (encoding.deltas) {
			encoding.deltas += some;
			encoding.durations += some;
			encoding.before = starts[at + some - 1];
		}
		for (size_t i = at; child_ns && i < at + some; i++) {
			any |= (uint64_t)child_ns[i];
			children += (uint64_t)child_ns[i];
		}
		block.self =
			child_ns && !(any >> 63) ? sp_wrap_sub(block.total, (int64_t)children) : -1;
		for (size_t i = at; gpu_ns && i < at + some; i++) {
			if (gpu_ns[i] < 0)
				continue;
			block.gpu_calls++;
			block.gpu_total = sp_wrap_add(block.gpu_total, gpu_ns[i]);
		}
		sp_stats_merge(stats, &block);
	}
}

void sp_stats_add(struct sp_stats *stats, const int64_t *starts, const int64_t *ends,
		  const int64_t *child_ns, const int64_t *gpu_ns, size_t n)
{
	add(stats, starts, ends, child_ns, gpu_ns, n, (struct encoding){0});
}

void sp_stats_add_encoding(struct sp_stats *stats, const int64_t *starts, const int64_t *ends,
			   const int64_t *child_ns, const int64_t *gpu_ns, size_t n, int64_t before,
			   int64_t *ret_deltas, int64_t *ret_durations)
{
	add(stats, starts, ends, child_ns, gpu_ns, n,
	    (struct encoding){before, ret_deltas, ret_durations});
}

void sp_stats_merge(struct sp_stats *stats, const struct sp_stats *other)
{
	double n, m, difference;

	if (!other->calls)
		return;
	if (!stats->calls) {
		*stats = *other;
		return;
	}
	n = (double)stats->calls;
	m = (double)other->calls;
	difference = other->mean - stats->mean;
	if (stats->m2 < 0 || other->m2 < 0)
		stats->m2 = -1;
	else
		stats->m2 += other->m2 + difference * difference * n * m / (n + m);
	stats->mean += difference * m / (n + m);
	stats->calls += other->calls;
	stats->total = sp_wrap_add(stats->total, other->total);
	stats->self =
		stats->self < 0 || other->self < 0 ? -1 : sp_wrap_add(stats->self, other->self);
	stats->minimum = other->minimum < stats->minimum ? other->minimum : stats->minimum;
	stats->maximum = other->maximum > stats->maximum ? other->maximum : stats->maximum;
	stats->last = other->last;
	if (stats->start_minimum < 0 || other->start_minimum < 0)
		stats->start_minimum = -1;
	else if (other->start_minimum < stats->start_minimum)
		stats->start_minimum = other->start_minimum;
	if (stats->end_maximum < 0 || other->end_maximum < 0)
		stats->end_maximum = -1;
	else if (other->end_maximum > stats->end_maximum)
		stats->end_maximum = other->end_maximum;
	stats->gpu_calls += other->gpu_calls;
	stats->gpu_total = sp_wrap_add(stats->gpu_total, other->gpu_total);
}
