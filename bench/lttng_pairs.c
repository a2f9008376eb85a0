/* SPDX-License-Identifier: BSD-2-Clause */
#define TRACEPOINT_CREATE_PROBES
#include "bench/lttng_pairs.h"
