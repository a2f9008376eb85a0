/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bpf_arm.h - putting the region programs on probes: part of sp_bpf (bpf.h, which has
 * sp_bpf_disarm()), apart from the skeleton.
 */
#ifndef SP_LOADER_BPF_ARM_H
#define SP_LOADER_BPF_ARM_H

#include "loader/bpf.h"

struct bpf_program;
struct sp_keep;

/* The programs that run at the begin and at the end of a region: for perf events, and for multi
 * links. */
struct sp_bpf_prober {
	struct sp_keep *keep; /* who arms */
	struct bpf_program *begin[2], *end[2];
	bool multi; /* which of them are loaded */
};

/* Before the load: finds out what the kernel has, and has that loaded. */
void sp_bpf_prober_choose(struct sp_bpf_prober *prober);
/* As sp_bpf_arm(). */
int sp_bpf_prober_arm(const struct sp_bpf_prober *prober, int fd, const struct sp_bpf_probe *probes,
		      size_t count, struct sp_armed **ret_armed);

#endif
