/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * region.bpf.c - begin and end of a region, from the probes of usdt/sp_region.h.
 *
 * Arguments of both: descriptor's address, name, hash (0: the descriptor is static and its site number
 * follows from its address and the cookie); begin also has the calls skipped before it.
 * A begin takes its time as late as it can, an end as early: what is between is the region's.
 */
#include "bpf/probes/region.bpf.h"

#define NAME_ROOM 1024
#define TAGS_ROOM 256

/* Makes the number of a run-time name and tells the recorder its text. If the text cannot be read
 * here (a page that is not resident), it goes without, and the recorder reads it by its address. */
static __noinline int new_name(__u32 process, __u64 hash, __u64 address)
{
	struct {
		struct sp_ev_dynamic_site ev;
		char text[2 * NAME_ROOM + TAGS_ROOM + 8];
	} *rec;
	struct name_key key = {.hash = hash, .process = process};
	struct sp_dynamic_descriptor d = {};
	__u32 site = __sync_fetch_and_add(&control.names, 1) + 1;
	__u32 *known;
	__u32 at = 0;
	long n;

	site |= SP_SITE_DYNAMIC;
	if (bpf_map_update_elem(&names, &key, &site, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&names, &key);
		if (known)
			return *known;
		lose(SP_LOSS_TABLE_FULL, 1);
		return 0;
	}
	rec = bpf_ringbuf_reserve(&control_ring, sizeof(*rec), 0);
	if (!rec) {
		bpf_map_delete_elem(&names, &key); /* so that the next use tries again */
		lose(SP_LOSS_CONTROL_RING_FULL, 1);
		return site;
	}
	rec->ev.head.type = SP_EV_dynamic_site;
	rec->ev.head.flags = 0;
	rec->ev.head.lane = 0;
	rec->ev.time = bpf_ktime_get_ns();
	rec->ev.hash = hash;
	rec->ev.address = address;
	rec->ev.site = site;
	rec->ev.process = process;
	rec->ev.pid = bpf_get_current_pid_tgid() >> 32;
	rec->ev.line = 0;
	rec->ev.tail_bytes = 0;
	if (bpf_probe_read_user(&d, sizeof(d), (void *)address))
		goto submit;
	rec->ev.line = d.line;
	n = bpf_probe_read_user_str(rec->text, NAME_ROOM, (void *)d.name);
	if (n <= 0 || n > NAME_ROOM)
		goto submit;
	at = n;
	rec->text[at & (NAME_ROOM * 2 - 1)] = 0;
	n = d.file ? bpf_probe_read_user_str(rec->text + at, NAME_ROOM, (void *)d.file) : 0;
	if (n <= 0 || n > NAME_ROOM) {
		rec->text[at & (NAME_ROOM * 2 - 1)] = 0;
		n = 1;
	}
	at += n;
	if (at > 2 * NAME_ROOM)
		goto submit;
	n = d.tags ? bpf_probe_read_user_str(rec->text + at, TAGS_ROOM, (void *)d.tags) : 0;
	if (n > 0 && n <= TAGS_ROOM)
		at += n;
	rec->ev.tail_bytes = at;
submit:
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
	return site;
}

/* The stack of a thread that has none yet; NULL for a thread that is not traced. */
static __noinline struct stack *first_region(struct task_struct *task)
{
	struct lane *lane = bpf_task_storage_get(&lanes, task, 0, 0);

	return lane ? make_stack(task, lane) : NULL;
}

/* Number of a static descriptor's site. Cheap, since it looks nothing up: a number that the recorder
 * does not know is found out when the recording is converted. */
sp_inline __u32 static_site(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 distance = (__u32)(PT_REGS_PARM1(ctx) - PT_REGS_IP(ctx)) - (__u32)(cookie >> 32);

	return (__u32)cookie + distance / SP_DESCRIPTOR_BYTES;
}

sp_inline __u64 site_hash(__u32 site)
{
	__u64 *hash = bpf_map_lookup_elem(&sites, &site);

	return hash ? *hash : 0;
}

struct abandoned {
	struct stack *st;
	__u64 sp, now;
};

static long drop_one(__u32 index, struct abandoned *a)
{
	struct frame *outer = outer_frame(a->st);

	if (!outer || outer[1].sp > a->sp)
		return 1;
	close_innermost(a->st, outer, a->now, SP_CALL_CLOSED_BY_UNWINDING);
	return 0;
}

/* A full stack: the innermost calls that began no deeper on the program's stack than where it is now
 * have been left without an end (by longjmp, or by a continue in a loop). Real recursion begins ever
 * deeper, so it loses nothing here. */
static __noinline int drop_abandoned(struct stack *st, __u64 sp)
{
	struct abandoned a = {.st = st, .sp = sp, .now = bpf_ktime_get_ns()};

	if (!st)
		return 0;
	bpf_loop(SP_MAX_DEPTH, drop_one, &a, 0);
	if (st->depth < SP_MAX_DEPTH)
		st->overflow = 0; /* what was deeper is gone as well */
	return 0;
}

sp_inline int on_begin(struct pt_regs *ctx)
{
	struct task_struct *task;
	struct stack *st;
	struct frame *f;
	__u32 depth, site;
	__u64 hash;

	if (!control.enabled)
		return 0;
	task = bpf_get_current_task_btf();
	st = stack_of(task, task->pid);
	if (!st) {
		st = first_region(task);
		if (!st)
			return 0;
	}
	if (st->depth >= SP_MAX_DEPTH)
		drop_abandoned(st, PT_REGS_SP(ctx));
	depth = st->depth;
	if (depth >= SP_MAX_DEPTH) {
		st->overflow++;
		lose_at(SP_LOSS_DEPTH, st->lane, 0, 1);
		return 0;
	}
	hash = PT_REGS_PARM3(ctx);
	if (hash) {
		struct name_key key = {.hash = hash, .process = st->process};
		__u32 *known = bpf_map_lookup_elem(&names, &key);

		site = known ? *known : (__u32)new_name(st->process, hash, PT_REGS_PARM1(ctx));
	} else {
		site = static_site(ctx);
	}
	barrier_var(depth);
	f = &st->frames[depth + 1];
	f->child = 0;
	f->number = ++st->next;
	f->id = hash ? hash : PT_REGS_PARM2(ctx);
	f->sp = PT_REGS_SP(ctx);
	f->site = site;
	f->skipped = PT_REGS_PARM4(ctx);
	f->start = bpf_ktime_get_ns();
	barrier(); /* a sample that interrupts must find the frame whole */
	st->depth = depth + 1;
	return 0;
}

struct search {
	struct stack *st;
	__u64 hash;
	__u32 depth; /* of the frame that is found, 0 none */
};

static long search_one(__u32 index, struct search *s)
{
	__u32 depth = s->st->depth - index;
	struct frame *f;

	if (index >= s->st->depth || depth > SP_MAX_DEPTH)
		return 1;
	barrier_var(depth);
	f = &s->st->frames[depth];
	if ((f->site & SP_SITE_DYNAMIC ? f->id : site_hash(f->site)) != s->hash)
		return 0;
	s->depth = depth;
	return 1;
}

/* An end whose name does not stand where the innermost begin's does: the same text elsewhere in memory
 * (another file's literal, a run-time name), or the end of an outer call, whose inner ones have then
 * lost their ends. The texts' hashes tell. */
static __noinline int end_by_hash(struct stack *st, __u64 hash, __u64 now)
{
	struct search s = {.st = st, .hash = hash};

	if (!st)
		return 0;
	if (hash)
		bpf_loop(SP_MAX_DEPTH, search_one, &s, 0);
	if (!s.depth) {
		lose_at(SP_LOSS_UNMATCHED_END, st->lane, 0, 1);
		return 0;
	}
	close_calls(st, s.depth, now, SP_CALL_CLOSED_BY_OUTER);
	close_calls(st, s.depth - 1, now, 0);
	return 0;
}

sp_inline int on_end(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	struct frame *outer;
	struct stack *st;
	__u64 hash;

	if (!control.enabled)
		return 0;
	st = stack_of(task, task->pid);
	if (!st) {
		st = first_region(task); /* to count the end */
		if (!st)
			return 0;
	}
	hash = PT_REGS_PARM3(ctx);
	outer = outer_frame(st);
	if (st->overflow)
		st->overflow--;
	else if (outer && outer[1].id == (hash ? hash : PT_REGS_PARM2(ctx)))
		close_innermost(st, outer, now, 0);
	else
		end_by_hash(st, hash ? hash : site_hash(static_site(ctx)), now);
	return 0;
}

/* Each twice, for the two ways to attach; the loader loads what the kernel has. */
SEC("uprobe")
int sp_begin(struct pt_regs *ctx)
{
	return on_begin(ctx);
}

SEC("uprobe")
int sp_end(struct pt_regs *ctx)
{
	return on_end(ctx);
}

SEC("uprobe")
int sp_begin_multi(struct pt_regs *ctx)
{
	return on_begin(ctx);
}

SEC("uprobe")
int sp_end_multi(struct pt_regs *ctx)
{
	return on_end(ctx);
}
