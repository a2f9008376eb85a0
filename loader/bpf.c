/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bpf.c - loading, attaching and controlling the BPF programs. What needs no skeleton stands in
 * bpf_arm.c and keep.c (probes), bpf_log.c (words), bpf_maps.c (shared memory) and bpf_unwind.c
 * (tables).
 */
#include "loader/bpf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "formats/wire.h"
#include "loader/bpf_arm.h"
#include "loader/bpf_log.h"
#include "loader/bpf_maps.h"
#include "loader/bpf_unwind.h"
#include "loader/clock.h"
#include "loader/keep.h"
#include "loader/without.h"
#include "sp_trace.skel.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

#define FIND_TRIES 20

struct sp_bpf {
	struct sp_trace_bpf *skel;
	struct sp_keep *keep;
	struct sp_bpf_prober prober;
	struct sp_bpf_maps maps;
	struct bpf_link *fork, *exec, *exit, *iter, *fault; /* the last one: NULL without */
	struct sp_bpf_tables tables;
	bool has_tables;
};

/* Not every architecture tells of them. */
static bool can_see_code_faults(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool can = btf && !sp_without(SP_FEATURE_CODE_FAULTS) &&
		   btf__find_by_name_kind(btf, "btf_trace_page_fault_user", BTF_KIND_TYPEDEF) > 0;

	btf__free(btf);
	return can;
}

static int load(struct sp_bpf *b, const struct sp_bpf_options *o)
{
	struct sp_trace_bpf *s = b->skel;
	int r;

	b->maps.sites = s->maps.sites;
	b->maps.calls = s->maps.calls;
	b->maps.call_ends = s->maps.call_ends;
	b->maps.losses = s->maps.losses;
	b->maps.loss_places = s->maps.loss_places;
	b->maps.sample_rings = s->maps.sample_rings;
	b->maps.control_ring = s->maps.control_ring;
	sp_bpf_maps_size(&b->maps, o);
	s->rodata->config.queue_order = b->maps.queue_order;
	s->rodata->config.stacks = o->stacks;
	s->rodata->config.kernel_stacks = o->kernel_stacks;
	s->rodata->config.page_shift = (__u32)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	s->rodata->config.copy_bytes = o->copy_bytes ? (__u32)o->copy_bytes : SP_COPY_DEFAULT;
	b->has_tables = o->stacks == SP_STACKS_EH || o->stacks == SP_STACKS_DWARF;
	b->tables = (struct sp_bpf_tables){
		.ranges = s->maps.ranges,
		.rules = s->maps.rules,
		.chunks = s->maps.chunks,
		.spaces = s->maps.spaces,
		.files = s->maps.files,
		.mapped = s->maps.mapped,
	};
	sp_bpf_tables_size(&b->tables, b->has_tables);
	(void)bpf_program__set_autoload(s->progs.sp_fault, b->has_tables && can_see_code_faults());
	b->prober = (struct sp_bpf_prober){
		.keep = b->keep,
		.begin = {s->progs.sp_begin, s->progs.sp_begin_multi},
		.end = {s->progs.sp_end, s->progs.sp_end_multi},
	};
	sp_bpf_prober_choose(&b->prober);
	r = sp_trace_bpf__load(s);
	if (r == 0 && !s->bss) /* libbpf thinks that this kernel has no such variables */
		r = -EOPNOTSUPP;
	if (r < 0) {
		/* libbpf says so of the kernel's types, which are there (check.c). */
		if (r == -ESRCH) {
			sp_log_error("cannot read the description of the kernel's types (BTF)");
			r = -ENOMEM;
		} else {
			sp_log_error("the kernel refused the BPF programs: %s", strerror(-r));
		}
		sp_bpf_hint(r);
		return r;
	}
	r = sp_bpf_maps_map(&b->maps);
	if (r == 0 && b->has_tables)
		r = sp_bpf_tables_map(&b->tables);
	if (r < 0) {
		sp_log_error("cannot map the tables of the BPF programs: %s", strerror(-r));
		sp_bpf_hint(r);
		return r;
	}
	sp_bpf_set_next_base(b, 1);
	return 0;
}

int sp_bpf_new(const struct sp_bpf_options *options, struct sp_bpf **ret_bpf)
{
	struct sp_bpf *b = calloc(1, sizeof(*b));
	int r = -ENOMEM;

	if (!b)
		return r;
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	sp_bpf_log_start();
	r = sp_keep_start(&b->keep);
	if (r < 0) {
		sp_log_error("cannot start the process that keeps the probes: %s", strerror(-r));
		sp_bpf_hint(r);
	}
	if (r == 0)
		r = libbpf_num_possible_cpus();
	if (r > 0) {
		b->maps.cpus = (unsigned)r;
		b->skel = sp_trace_bpf__open();
		r = b->skel ? load(b, options) : -errno;
	}
	if (r == 0)
		r = sp_bpf_maps_make_rings(&b->maps, options->sample_ring_bytes);
	if (r < 0) {
		sp_bpf_free(b);
		return r;
	}
	*ret_bpf = b;
	return 0;
}

static int attach(struct bpf_program *program, struct bpf_link **ret_link)
{
	int r;

	*ret_link = bpf_program__attach(program);
	if (*ret_link)
		return 0;
	r = -errno;
	sp_log_error("cannot attach %s: %s", bpf_program__name(program), strerror(-r));
	sp_bpf_hint(r);
	return r;
}

int sp_bpf_attach_tasks(struct sp_bpf *b)
{
	int r = attach(b->skel->progs.sp_exit, &b->exit);

	if (r == 0)
		r = attach(b->skel->progs.sp_exec, &b->exec);
	if (r == 0)
		r = attach(b->skel->progs.sp_fork, &b->fork);
	if (r == 0)
		r = attach(b->skel->progs.sp_tasks, &b->iter);
	if (r == 0 && bpf_program__autoload(b->skel->progs.sp_fault))
		b->fault = bpf_program__attach(b->skel->progs.sp_fault);
	return r;
}

unsigned sp_bpf_cpus(const struct sp_bpf *b)
{
	return b->maps.cpus;
}

struct sp_bpf_queue sp_bpf_call_queue(const struct sp_bpf *b, unsigned cpu)
{
	uint64_t size = 1ull << b->maps.queue_order;

	return (struct sp_bpf_queue){
		.slots = b->maps.calls_at + cpu * size * 8,
		.size = size,
		.ends = &b->maps.call_ends_at[cpu],
	};
}

int sp_bpf_sample_ring(const struct sp_bpf *b, unsigned cpu)
{
	return b->maps.rings[cpu];
}

int sp_bpf_control_ring(const struct sp_bpf *b)
{
	return bpf_map__fd(b->skel->maps.control_ring);
}

int sp_bpf_lanes(const struct sp_bpf *b)
{
	return bpf_map__fd(b->skel->maps.lanes);
}

bool sp_bpf_has_multi(const struct sp_bpf *b)
{
	return b->prober.multi;
}

bool sp_bpf_sees_code_faults(const struct sp_bpf *b)
{
	return b->fault != NULL;
}

int sp_bpf_set_site(struct sp_bpf *b, unsigned site, uint64_t hash, bool scope, uint64_t function)
{
	if (site == 0 || site >= b->maps.max_sites)
		return -ENOSPC;
	b->maps.sites_at[site] = (struct sp_site_known){
		.word = SP_SITE_WORD(hash, scope ? SP_SCOPE : 0), .function = function};
	return 0;
}

int sp_bpf_add_target(struct sp_bpf *b, pid_t pid, bool hidden)
{
	__u32 key = (__u32)pid, value = hidden ? SP_TARGET_HIDDEN : SP_TARGET_SHOWN;

	return bpf_map_update_elem(bpf_map__fd(b->skel->maps.targets), &key, &value, BPF_ANY)
		       ? -errno
		       : 0;
}

void sp_bpf_forget_target(struct sp_bpf *b, pid_t pid)
{
	__u32 key = (__u32)pid;

	(void)bpf_map_delete_elem(bpf_map__fd(b->skel->maps.targets), &key);
}

static int iterate(struct sp_bpf *b, unsigned what)
{
	sp_cleanup(sp_closep) int fd = bpf_iter_create(bpf_link__fd(b->iter));
	char nothing[64];
	ssize_t n;

	if (fd < 0)
		return -errno;
	b->skel->bss->control.iterate = what;
	do
		n = read(fd, nothing, sizeof(nothing));
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	return n < 0 ? -errno : 0;
}

/* Again where the mappings of a thread, which tell where its stack is, were just being changed. */
int sp_bpf_find_tasks(struct sp_bpf *b)
{
	struct sp_control *control = (struct sp_control *)&b->skel->bss->control;
	int r = 0;

	for (int tries = 0; tries < FIND_TRIES && r == 0; tries++) {
		__atomic_store_n(&control->busy, 0, __ATOMIC_RELAXED);
		r = iterate(b, SP_ITERATE_FIND);
		if (!__atomic_load_n(&control->busy, __ATOMIC_RELAXED))
			break;
		usleep(500);
	}
	return r;
}

int sp_bpf_live(const struct sp_bpf *b)
{
	return __atomic_load_n(&b->skel->bss->control.live, __ATOMIC_RELAXED);
}

int sp_bpf_arm(struct sp_bpf *b, int fd, const struct sp_bpf_probe *probes, size_t count,
	       struct sp_armed **ret_armed)
{
	return sp_bpf_prober_arm(&b->prober, fd, probes, count, ret_armed);
}

int sp_bpf_keeper_fd(const struct sp_bpf *b)
{
	return sp_keep_fd(b->keep);
}

void sp_bpf_meanwhile(struct sp_bpf *b, void (*meanwhile)(void *arg), void *arg)
{
	sp_keep_meanwhile(b->keep, meanwhile, arg);
}

void sp_bpf_disarm_all(struct sp_bpf *b)
{
	if (b)
		sp_keep_end(b->keep);
}

struct sp_unwind_rule *sp_bpf_unwind_rules(const struct sp_bpf *b)
{
	return b->tables.rules_at;
}

struct sp_unwind_range *sp_bpf_unwind_ranges(const struct sp_bpf *b)
{
	return b->tables.ranges_at;
}

int sp_bpf_unwind_add_chunk(struct sp_bpf *b, struct sp_unwind_chunk **ret_chunk,
			    uint32_t *ret_number)
{
	return sp_bpf_tables_add_chunk(&b->tables, ret_chunk, ret_number);
}

int sp_bpf_unwind_set_space(struct sp_bpf *b, uint32_t process, struct sp_unwind_space space)
{
	return sp_bpf_tables_set_space(&b->tables, process, space);
}

int sp_bpf_unwind_forget_space(struct sp_bpf *b, uint32_t process)
{
	return sp_bpf_tables_forget_space(&b->tables, process);
}

void sp_bpf_unwind_set_file(struct sp_bpf *b, const struct sp_bpf_file_key *key,
			    const struct sp_bpf_file *file)
{
	sp_bpf_tables_set_file(&b->tables, key, file);
}

void sp_bpf_expect_tables(struct sp_bpf *b)
{
	b->skel->bss->control.tables_come = 1;
}

int sp_bpf_attach_sampler(struct sp_bpf *b, int perf_fd)
{
	int prog = bpf_program__fd(b->skel->progs.sp_sample);

	return ioctl(perf_fd, PERF_EVENT_IOC_SET_BPF, prog) ? -errno : 0;
}

void sp_bpf_enable(struct sp_bpf *b)
{
	__atomic_store_n(&b->skel->bss->control.enabled, 1, __ATOMIC_SEQ_CST);
}

void sp_bpf_enable_regions(struct sp_bpf *b, bool on)
{
	struct sp_control *control = (struct sp_control *)&b->skel->bss->control;

	control->since_base = control->next_base;
	__atomic_store_n(&control->since, on ? sp_now() : 0, __ATOMIC_SEQ_CST);
}

uint32_t sp_bpf_next_base(const struct sp_bpf *b)
{
	return b->skel->bss->control.next_base;
}

void sp_bpf_set_next_base(struct sp_bpf *b, uint32_t base)
{
	b->skel->bss->control.next_base = base;
}

int sp_bpf_stop(struct sp_bpf *b, uint64_t *ret_time)
{
	struct sp_control *control = (struct sp_control *)&b->skel->bss->control;

	__atomic_store_n(&control->enabled, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&control->since, 0, __ATOMIC_SEQ_CST);
	/* What ends a call takes its time before it tests for this, so no end is later. A begin may
	 * be: its call is left out. */
	*ret_time = sp_now();
	__atomic_store_n(&control->stopped, *ret_time, __ATOMIC_SEQ_CST);
	/* Programs that passed the test before are through in microseconds; the calls of one that
	 * was preempted for longer may be emitted twice, which the conversion mends. */
	usleep(2000);
	return iterate(b, SP_ITERATE_FLUSH);
}

struct sp_bpf_ledger sp_bpf_ledger(const struct sp_bpf *b)
{
	return b->maps.ledger;
}

bool sp_bpf_has_lost(struct sp_bpf *b)
{
	__u32 *lost = &b->skel->bss->control.losses;

	return __atomic_load_n(lost, __ATOMIC_RELAXED) &&
	       __atomic_exchange_n(lost, 0, __ATOMIC_SEQ_CST);
}

struct sp_bpf_skipped sp_bpf_skipped(const struct sp_bpf *b)
{
	struct sp_bpf_skipped sum = {0};
	struct bpf_program *program;

	bpf_object__for_each_program(program, b->skel->obj)
	{
		struct bpf_prog_info info = {0};
		__u32 bytes = sizeof(info);
		int fd = bpf_program__fd(program);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &bytes))
			continue;
		if (program == b->skel->progs.sp_sample)
			sum.samples += info.recursion_misses;
		else
			sum.others += info.recursion_misses;
	}
	return sum;
}

void sp_bpf_free(struct sp_bpf *b)
{
	if (!b)
		return;
	sp_keep_free(b->keep);
	bpf_link__destroy(b->fork);
	bpf_link__destroy(b->exec);
	bpf_link__destroy(b->exit);
	bpf_link__destroy(b->iter);
	bpf_link__destroy(b->fault);
	sp_bpf_maps_done(&b->maps);
	sp_bpf_tables_unmap(&b->tables);
	sp_trace_bpf__destroy(b->skel);
	free(b);
}
