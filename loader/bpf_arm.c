/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bpf_arm.c - putting the region programs on probes, and taking them off.
 *
 * Kernel features are tried, never guessed from a version: uprobe_multi links (Linux 6.6), which
 * attach and close many probes at once, else one perf event for each probe.
 */
#include "loader/bpf_arm.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "loader/elf_limits.h"
#include "loader/without.h"
#include "userspace/base/cleanup.h"

/* Not in the headers of Linux 6.1, which Debian 12 has; the values are the kernel's ABI. */
#define BPF_TRACE_UPROBE_MULTI_ 48

struct uprobe_multi_attr {
	__u32 prog_fd, target_fd, attach_type, flags;
	__u64 path, offsets, ref_ctr_offsets, cookies;
	__u32 count, multi_flags, pid, reserved;
};

struct sp_armed {
	int multi[2]; /* multi links of the begins and of the ends, or -1 */
	size_t count;
	struct bpf_link *links[];
};

/* A multi link on a path that is no file: kernels that have such links say EBADF, others EINVAL. */
static bool kernel_has_multi(void)
{
	struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_UPROBE_MULTI_);
	sp_cleanup(sp_closep) int prog =
		bpf_prog_load(BPF_PROG_TYPE_KPROBE, "sp_multi", "GPL", insns, 2, &opts);
	uint64_t offset = 0;
	struct uprobe_multi_attr attr = {
		.prog_fd = (__u32)prog,
		.attach_type = BPF_TRACE_UPROBE_MULTI_,
		.path = (uintptr_t) "/",
		.offsets = (uintptr_t)&offset,
		.count = 1,
	};
	int link;

	if (prog < 0 || sp_without(SP_FEATURE_UPROBE_MULTI))
		return false;
	link = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link >= 0)
		close(link);
	return link < 0 && errno == EBADF;
}

void sp_bpf_prober_choose(struct sp_bpf_prober *p)
{
	p->multi = kernel_has_multi();
	for (int multi = 0; multi < 2; multi++) {
		bpf_program__set_autoload(p->begin[multi], multi == p->multi);
		bpf_program__set_autoload(p->end[multi], multi == p->multi);
	}
	if (p->multi) {
		bpf_program__set_expected_attach_type(p->begin[1], BPF_TRACE_UPROBE_MULTI_);
		bpf_program__set_expected_attach_type(p->end[1], BPF_TRACE_UPROBE_MULTI_);
	}
}

/* One link for all probes of a kind. */
static int arm_multi(const char *path, const struct sp_bpf_probe *probes, size_t count, bool end,
		     struct bpf_program *program, int *ret_fd)
{
	uint64_t values[3][SP_ELF_LIMIT_PROBES]; /* offsets, semaphores, cookies */
	struct uprobe_multi_attr attr = {
		.prog_fd = (__u32)bpf_program__fd(program),
		.attach_type = BPF_TRACE_UPROBE_MULTI_,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)values[0],
		.ref_ctr_offsets = (uintptr_t)values[1],
		.cookies = (uintptr_t)values[2],
	};

	for (size_t i = 0; i < count && attr.count < SP_ELF_LIMIT_PROBES; i++) {
		if (probes[i].end != end)
			continue;
		values[0][attr.count] = probes[i].offset;
		values[1][attr.count] = probes[i].semaphore_offset;
		values[2][attr.count++] = probes[i].cookie;
	}
	if (!attr.count)
		return 0;
	*ret_fd = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return *ret_fd < 0 ? -errno : 0;
}

static int arm_single(const struct sp_bpf_prober *p, const char *path,
		      const struct sp_bpf_probe *probe, struct bpf_link **ret_link)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = probe->semaphore_offset,
		    .bpf_cookie = probe->cookie);

	*ret_link = bpf_program__attach_uprobe_opts((probe->end ? p->end : p->begin)[0], -1, path,
						    probe->offset, &opts);
	return *ret_link ? 0 : -errno;
}

int sp_bpf_prober_arm(const struct sp_bpf_prober *p, int fd, const struct sp_bpf_probe *probes,
		      size_t count, struct sp_armed **ret_armed)
{
	struct sp_armed *armed = calloc(1, sizeof(*armed) + count * sizeof(armed->links[0]));
	char path[64];
	int r = 0;

	if (!armed)
		return -ENOMEM;
	armed->multi[0] = armed->multi[1] = -1;
	/* The descriptor, not a path, says which file is meant, in whatever mount namespace it is.
	 * Ends first: an end without its begin is harmless. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (p->multi) {
		r = arm_multi(path, probes, count, true, p->end[1], &armed->multi[1]);
		if (r == 0)
			r = arm_multi(path, probes, count, false, p->begin[1], &armed->multi[0]);
	}
	for (size_t i = 0; i < 2 * count && !p->multi && r == 0; i++) {
		size_t k = i % count;

		armed->count = count;
		if (probes[k].end == (i < count))
			r = arm_single(p, path, &probes[k], &armed->links[k]);
	}
	if (r < 0) {
		sp_bpf_disarm(armed);
		return r;
	}
	*ret_armed = armed;
	return 0;
}

void sp_bpf_disarm(struct sp_armed *armed)
{
	if (!armed)
		return;
	for (int i = 0; i < 2; i++)
		if (armed->multi[i] >= 0)
			close(armed->multi[i]);
	for (size_t i = 0; i < armed->count; i++)
		bpf_link__destroy(armed->links[i]);
	free(armed);
}
