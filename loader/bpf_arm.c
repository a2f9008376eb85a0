/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bpf_arm.c - which programs go on probes; the keeper (keep.h) puts them there.
 */
#include "loader/bpf_arm.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/libbpf.h>

#include "loader/keep.h"
#include "loader/links.h"

struct sp_armed {
	struct sp_keep *keep;
	uint32_t set;
};

void sp_bpf_prober_choose(struct sp_bpf_prober *p)
{
	p->multi = sp_links_have_multi();
	for (int multi = 0; multi < 2; multi++) {
		bpf_program__set_autoload(p->begin[multi], multi == p->multi);
		bpf_program__set_autoload(p->end[multi], multi == p->multi);
	}
	if (p->multi) {
		bpf_program__set_expected_attach_type(p->begin[1], SP_LINK_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(p->end[1], SP_LINK_UPROBE_MULTI);
	}
}

int sp_bpf_prober_arm(const struct sp_bpf_prober *p, int fd, const struct sp_bpf_probe *probes,
		      size_t count, struct sp_armed **ret_armed)
{
	struct sp_link_programs programs = {
		.begin = bpf_program__fd(p->begin[p->multi]),
		.end = bpf_program__fd(p->end[p->multi]),
		.multi = p->multi,
	};
	struct sp_armed *armed = calloc(1, sizeof(*armed));
	int r;

	if (!armed)
		return -ENOMEM;
	armed->keep = p->keep;
	r = sp_keep_arm(p->keep, &programs, fd, probes, count, &armed->set);
	if (r < 0) {
		free(armed);
		return r;
	}
	*ret_armed = armed;
	return 0;
}

void sp_bpf_disarm(struct sp_armed *armed)
{
	if (!armed)
		return;
	sp_keep_disarm(armed->keep, armed->set);
	free(armed);
}
