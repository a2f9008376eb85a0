/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lttng_pairs.h - the two events of pairs.c for LTTng-UST.
 */
#undef TRACEPOINT_PROVIDER
#define TRACEPOINT_PROVIDER sp_bench

#undef TRACEPOINT_INCLUDE
#define TRACEPOINT_INCLUDE "bench/lttng_pairs.h"

#if !defined(SP_BENCH_LTTNG_PAIRS_H) || defined(TRACEPOINT_HEADER_MULTI_READ)
#define SP_BENCH_LTTNG_PAIRS_H

#include <lttng/tracepoint.h>

TRACEPOINT_EVENT(sp_bench, begin, TP_ARGS(const char *, name), TP_FIELDS(ctf_string(name, name)))
TRACEPOINT_EVENT(sp_bench, end, TP_ARGS(const char *, name), TP_FIELDS(ctf_string(name, name)))

#endif

#include <lttng/tracepoint-event.h>
