/* SPDX-License-Identifier: BSD-2-Clause
 *
 * session_open.c - what comes before a recording. Everything that can fail for want of a right, a
 * file or a kernel feature is tried before the program starts.
 */
#include "loader/session_state.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "loader/bpf_log.h"
#include "loader/check.h"
#include "loader/facts.h"
#include "loader/without.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"
#include "userspace/base/units.h"

#define MAX_SITES (1u << 18)

static int check_pids(const struct sp_options *o)
{
	for (size_t i = 0; i < o->pid_count; i++)
		if (kill(o->pids[i], 0) && errno == ESRCH) {
			sp_log_error("there is no process %d", (int)o->pids[i]);
			sp_log_hint("pgrep -l NAME finds the process id of a program");
			return -ESRCH;
		}
	return 0;
}

static size_t ring_bytes(uint64_t wanted, unsigned cpus)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t each = wanted ? wanted : memory / 64 / cpus, bytes = 4096;

	if (!wanted && each > 16u << 20)
		each = 16u << 20;
	while (bytes * 2 <= each || bytes < 4096)
		bytes *= 2;
	if (wanted && bytes < wanted)
		bytes *= 2;
	return bytes;
}

/* A fifth of a second of samples that all are as deep as can be, if the memory allows. */
static size_t sample_ring_bytes(const struct sp_options *o, unsigned cpus)
{
	size_t each = sizeof(struct sp_ev_sample) + SP_MAX_FRAMES * 8;
	size_t bytes = 512u << 10, most = ring_bytes(0, cpus);

	if (o->sample_ring_bytes)
		return ring_bytes(o->sample_ring_bytes, cpus);
	if (o->kernel_stacks)
		each += SP_MAX_KERNEL_FRAMES * 8;
	if (o->stacks == SP_STACKS_DWARF)
		each += sizeof(struct sp_ev_stack_copy) + 40 * 8 + o->copy_bytes;
	/* Copies of stacks that come before their tables: a burst of them when a program starts. */
	if (o->stacks == SP_STACKS_EH && most >= 2u << 20)
		bytes = 2u << 20;
	while (bytes < o->hz * each / 5 && bytes < most)
		bytes *= 2;
	return bytes;
}

static int open_bpf(struct sp_session *s)
{
	unsigned cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	int r;

	s->sizes = (struct sp_bpf_options){
		.call_ring_bytes = ring_bytes(s->options->ring_bytes, cpus ? cpus : 1),
		.sample_ring_bytes = sample_ring_bytes(s->options, cpus ? cpus : 1),
		.control_ring_bytes = 4u << 20,
		.max_sites = MAX_SITES,
		.stacks = s->options->hz ? s->options->stacks : SP_STACKS_NONE,
		.kernel_stacks = s->options->kernel_stacks,
		.copy_bytes = s->options->copy_bytes,
	};
	r = sp_bpf_new(&s->sizes, &s->bpf);
	if (r == 0)
		r = sp_bpf_attach_tasks(s->bpf);
	if (r == 0) {
		sp_bpf_enable(s->bpf);
		r = sp_selftest_run(s->bpf,
				    !s->options->breakpoints && !sp_without(SP_FEATURE_FAST_PROBES),
				    &s->selftest);
	}
	if (r < 0)
		return r;
	sp_log_verbose("rings: %s a CPU for calls, %s for samples, %u CPUs",
		       sp_show_size((double)s->sizes.call_ring_bytes).text,
		       sp_show_size((double)s->sizes.sample_ring_bytes).text, sp_bpf_cpus(s->bpf));
	sp_log_verbose("a recorded begin-end pair costs %.0f ns here%s%s", s->selftest.pair_ns,
		       s->selftest.fast ? ", on the fast path" : "; not on the fast path: ",
		       s->selftest.reason);
	return 0;
}

/* Without tables, which is said, stacks are followed by frame pointers. */
static void open_unwind(struct sp_session *s)
{
	if (s->sizes.stacks != SP_STACKS_EH && s->sizes.stacks != SP_STACKS_DWARF)
		return;
	if (sp_unwind_new(s->bpf, s->recorder, &s->unwind) < 0)
		return;
	sp_unwind_set_trampoline(s->unwind, s->selftest.trampoline);
	sp_bpf_expect_tables(s->bpf);
}

static int open_streams(struct sp_session *s)
{
	int fd, r = sp_output_make(s->options->output, s->program, &s->identity, &s->output, &fd);

	if (r < 0)
		return r;
	if (sp_output_disk_use(&s->output, 0) >= s->options->max_disk) {
		sp_log_error("the disk is already %.0f %% full, and recording ends at %.0f %%",
			     sp_output_disk_use(&s->output, 0) * 100, s->options->max_disk * 100);
		sp_log_hint("write elsewhere with -o DIR, or say --max-disk-use 100");
		close(fd);
		return -ENOSPC;
	}
	r = sp_recorder_new(fd, sp_bpf_cpus(s->bpf), &s->recorder);
	if (r < 0) {
		sp_log_error("cannot write to %s: %s", s->output.directory, strerror(-r));
		sp_log_hint("make room there, or choose another directory with -o DIR");
		return r;
	}
	open_unwind(s);
	if (r == 0 && s->sizes.kernel_stacks && s->sizes.stacks != SP_STACKS_NONE)
		r = sp_kallsyms_new(NULL, &s->kallsyms);
	if (r == 0 && s->options->archive)
		r = sp_archive_new(s->output.directory_fd, &s->identity, &s->archive);
	if (r == 0)
		r = sp_images_new(s->bpf, s->recorder, &s->images);
	if (r == 0)
		r = sp_processes_new(s->recorder, s->images, s->unwind, s->look, &s->processes);
	if (r == 0)
		r = sp_session_join(s);
	if (r < 0) {
		sp_log_error("cannot start recording: %s", strerror(-r));
		sp_bpf_hint(r);
	}
	if (r == 0) {
		sp_images_set_fast(s->images, s->selftest.fast);
		sp_images_set_unwind(s->images, s->unwind);
		sp_images_set_archive(s->images, s->archive);
		if (s->archive)
			sp_archive_set_judge(s->archive, sp_look_judge, s->look);
	}
	return r;
}

void sp_session_write_facts(struct sp_session *s)
{
	struct sp_recorder *r = s->recorder;

	sp_facts_write(r, &s->identity, s->options->command);
	sp_recorder_meta(r, "program", "%s", s->program);
	sp_recorder_meta(r, "start_ns", "%llu", (unsigned long long)s->start);
	sp_recorder_meta(r, "sample_hz", "%u", s->options->hz);
	sp_recorder_meta(r, "sample_event", "%s", s->options->hz ? s->sample_event : "none");
	sp_recorder_meta(r, "stacks", "%s", sp_options_stacks_name(s->sizes.stacks));
	sp_recorder_meta(r, "kernel_stacks", "%d", s->sizes.kernel_stacks);
	sp_recorder_meta(r, "probe_ns", "%.1f", s->selftest.pair_ns);
	sp_recorder_meta(r, "probe_place", "%s", s->selftest.fast ? "5-byte nop" : "1-byte nop");
	if (!s->selftest.fast)
		sp_recorder_meta(r, "probe_place_reason", "%s", s->selftest.reason);
	sp_recorder_meta(r, "attach_mode", "%s",
			 sp_bpf_has_multi(s->bpf) ? "uprobe_multi" : "perf event");
	sp_recorder_meta(r, "ring_bytes", "%zu", s->sizes.call_ring_bytes);
}

static int start_look(struct sp_session *s)
{
	int r = sp_look_start(&s->identity, &s->look);

	if (r < 0) {
		sp_log_error("cannot start the process that opens files: %s", strerror(-r));
		sp_bpf_hint(r);
	}
	return r;
}

int sp_session_open(struct sp_session *s)
{
	int r = sp_check_can_record();

	if (r == 0)
		r = check_pids(s->options);
	if (r == 0)
		r = sp_session_listen(s);
	if (r == 0)
		r = sp_identity_find(s->options->as_root, &s->identity);
	if (r == 0)
		r = start_look(s);
	if (r == 0)
		s->program = sp_facts_program(s->options);
	if (r == 0 && !s->program)
		r = -ENOMEM;
	if (r == 0)
		r = open_bpf(s);
	if (r == 0)
		r = sp_session_go_on();
	if (r == 0)
		r = open_streams(s);
	return r;
}
