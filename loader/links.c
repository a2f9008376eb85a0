/* SPDX-License-Identifier: BSD-2-Clause
 *
 * links.c - links of programs to probes.
 *
 * Kernel features are tried, never guessed from a version: uprobe_multi links (Linux 6.6), which
 * attach and close many probes at once, else one perf event for each probe.
 */
#include "loader/links.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "loader/without.h"
#include "userspace/base/cleanup.h"

#define PERF_TYPE_FILE "/sys/bus/event_source/devices/uprobe/type"
#define SEMAPHORE_SHIFT 32 /* in a uprobe event's config: format/ref_ctr_offset beside its type */

struct uprobe_multi_attr {
	__u32 prog_fd, target_fd, attach_type, flags;
	__u64 path, offsets, ref_ctr_offsets, cookies;
	__u32 count, multi_flags, pid, reserved;
};

/* A multi link on a path that is no file: kernels that have such links say EBADF, others EINVAL. */
bool sp_links_have_multi(void)
{
	struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = SP_LINK_UPROBE_MULTI);
	sp_cleanup(sp_closep) int prog =
		bpf_prog_load(BPF_PROG_TYPE_KPROBE, "sp_multi", "GPL", insns, 2, &opts);
	uint64_t offset = 0;
	struct uprobe_multi_attr attr = {
		.prog_fd = (__u32)prog,
		.attach_type = SP_LINK_UPROBE_MULTI,
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

/* One link for all probes of a kind. 1, or 0 if there are none. */
static int make_multi(int program, const char *path, const struct sp_bpf_probe *probes,
		      size_t count, bool end, int *ret_link)
{
	uint64_t values[3][SP_ELF_LIMIT_PROBES]; /* offsets, semaphores, cookies */
	struct uprobe_multi_attr attr = {
		.prog_fd = (__u32)program,
		.attach_type = SP_LINK_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)values[0],
		.ref_ctr_offsets = (uintptr_t)values[1],
		.cookies = (uintptr_t)values[2],
	};
	int link;

	for (size_t i = 0; i < count && attr.count < SP_ELF_LIMIT_PROBES; i++) {
		if (probes[i].end != end)
			continue;
		values[0][attr.count] = probes[i].offset;
		values[1][attr.count] = probes[i].semaphore_offset;
		values[2][attr.count++] = probes[i].cookie;
	}
	if (!attr.count)
		return 0;
	link = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link < 0)
		return -errno;
	*ret_link = link;
	return 1;
}

/* The kind of perf event that is a uprobe: a number of this boot. */
static int perf_type(void)
{
	sp_cleanup(sp_fclosep) FILE *f = fopen(PERF_TYPE_FILE, "re");
	int type;

	if (!f)
		return -errno;
	return fscanf(f, "%d", &type) == 1 && type >= 0 ? type : -EPROTO;
}

/* The event lives as long as the link. */
static int make_single(int type, int program, const char *path, const struct sp_bpf_probe *probe,
		       int *ret_link)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = probe->cookie);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (__u32)type,
		.config = probe->semaphore_offset << SEMAPHORE_SHIFT,
		.uprobe_path = (uintptr_t)path,
		.probe_offset = probe->offset,
	};
	sp_cleanup(sp_closep) int event = -1;
	int link;

	if (probe->semaphore_offset > UINT32_MAX)
		return -EINVAL;
	event = (int)syscall(__NR_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	link = bpf_link_create(program, event, BPF_PERF_EVENT, &opts);
	if (link < 0)
		return link;
	*ret_link = link;
	return 0;
}

int sp_links_make(const struct sp_link_programs *programs, int file,
		  const struct sp_bpf_probe *probes, size_t count, int *ret_links,
		  size_t *ret_link_count)
{
	int type = programs->multi ? 0 : perf_type();
	int r = type < 0 ? type : 0;
	size_t made = 0;
	char path[64];

	/* The descriptor, not a path, says which file is meant, in whatever mount namespace it is.
	 */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	/* Ends first: an end without its begin is harmless. */
	for (int end = 1; end >= 0 && r >= 0; end--) {
		int program = end ? programs->end : programs->begin;

		if (programs->multi) {
			r = make_multi(program, path, probes, count, end, &ret_links[made]);
			if (r > 0)
				made++;
		}
		for (size_t i = 0; i < count && !programs->multi && r >= 0; i++) {
			if (probes[i].end != end)
				continue;
			r = make_single(type, program, path, &probes[i], &ret_links[made]);
			if (r == 0)
				made++;
		}
	}
	if (r < 0) {
		sp_links_close(ret_links, made);
		return r;
	}
	*ret_link_count = made;
	return 0;
}

void sp_links_close(const int *links, size_t count)
{
	while (count-- > 0)
		close(links[count]);
}
