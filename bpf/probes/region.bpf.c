/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * region.bpf.c - begin and end of a region, from the probes of usdt/sp_region.h.
 *
 * Arguments of both: descriptor's address, name, hash (0: the descriptor is static and its site
 * number follows from its address and the cookie); begin also has the calls skipped before it. A
 * begin takes its time as late as it can, an end as early: what is between is the region's.
 */
#include "bpf/probes/abandoned.bpf.h"

#define NAME_ROOM 1024
#define TAGS_ROOM 256
#define LEARN_TRIES 4096 /* begins of a thread at which its stack is looked for */

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
static __noinline struct stack *first_region(struct task_struct *task, __u64 sp, __u32 cause,
					     __u32 site)
{
	struct lane *lane = bpf_task_storage_get(&lanes, task, 0, 0);
	struct stack *st = lane ? make_stack(task, lane, cause, site) : NULL;

	/* Not when it is needed: another thread may be changing the mappings then. */
	if (st && !st->own.low)
		learn_stack(&st->own, sp);
	return st;
}

/* Number of a static descriptor's site. Cheap, since it looks nothing up: a number that the
 * recorder does not know is found out when the recording is converted. */
sp_inline __u32 static_site(struct pt_regs *ctx, __u64 cookie)
{
	__u32 distance = (__u32)(PT_REGS_PARM1(ctx) - PT_REGS_IP(ctx)) - (__u32)(cookie >> 32);

	return SP_COOKIE_BASE(cookie) + distance / SP_DESCRIPTOR_BYTES;
}

/* SP_CALLER_BITS from what an edge of a run-time name passes; 0 from one that passes nothing, as those
 * of old headers. */
sp_inline __u64 caller_bits(__u64 passed)
{
	return (__u32)passed == SP_CALLER_MARK
		       ? ((passed ^ passed << 16) & SP_CALLER_BITS) | SP_CALLER
		       : 0;
}

/* SP_SITE_WORD() of a site, 0 if it is not known. */
sp_inline __u64 site_word(__u32 site)
{
	struct sp_site_known *known = bpf_map_lookup_elem(&sites, &site);

	return known ? known->word : 0;
}

sp_inline __u32 dynamic_site(struct pt_regs *ctx, struct stack *st, __u64 hash)
{
	struct name_key key = {.hash = hash, .process = st->process};
	__u32 *known = bpf_map_lookup_elem(&names, &key);

	return known ? *known : (__u32)new_name(st->process, hash, PT_REGS_PARM1(ctx));
}

sp_inline int on_begin(struct pt_regs *ctx)
{
	__u64 hash, id, place = PT_REGS_SP(ctx), caller = 0;
	struct task_struct *task;
	struct frame *outer, *f;
	struct stack *st;
	__u32 depth, site;

	if (!control.since)
		return 0;
	task = bpf_get_current_task_btf();
	st = stack_of(task, task->pid);
	if (!st) {
		site = PT_REGS_PARM3(ctx) ? 0 : static_site(ctx, bpf_get_attach_cookie(ctx));
		st = first_region(task, place, SP_LOSS_STORAGE, site);
		if (!st)
			return 0;
	} else if (!st->own.low && st->tries < LEARN_TRIES) {
		st->tries++;
		learn_stack(&st->own, place);
	}
	hash = PT_REGS_PARM3(ctx);
	if (hash) {
		site = dynamic_site(ctx, st, hash);
		id = SP_NAME_ID(hash);
		caller = caller_bits(PT_REGS_PARM5(ctx));
	} else {
		site = static_site(ctx, bpf_get_attach_cookie(ctx));
		id = site_word(site);
		place |= id & SP_SCOPE;
		id = id ? SP_NAME_ID(id) : PT_REGS_PARM2(ctx);
	}
	outer = outer_frame(st);
	if (outer && PLACE_SP(outer[1].place) < place)
		repair_begin(st, place, site);
	depth = st->depth;
	if (depth >= SP_MAX_DEPTH) {
		drop_abandoned(st, place);
		depth = st->depth;
	}
	if (depth >= SP_MAX_DEPTH) {
		if (!st->overflow++)
			TOO_DEEP_PLACE(st) = place;
		lose_at(SP_LOSS_DEPTH, st->lane, site, 1);
		return 0;
	}
	if (st->before)
		*seen_word(st, id) |= seen_bit(id);
	barrier_var(depth);
	f = &st->frames[depth + 1];
	f->child = 0;
	f->number = ++st->next;
	f->id = id;
	f->place = place | caller;
	f->site = site;
	f->skipped = PT_REGS_PARM4(ctx);
	f->start = bpf_ktime_get_ns();
	barrier(); /* a sample that interrupts must find the frame whole */
	st->depth = depth + 1;
	return 0;
}

/* What an end says. */
struct end {
	__u64 id;
	__u64 place; /* as in a frame */
	__u32 site;
};

/* Of a static site, with the cookie of its probe. */
sp_inline struct end static_end(struct pt_regs *ctx, __u64 cookie)
{
	__u32 site = static_site(ctx, cookie);
	__u64 word = site_word(site);

	return (struct end){.id = word ? SP_NAME_ID(word) : PT_REGS_PARM2(ctx),
			    .place = PT_REGS_SP(ctx) | (word & SP_SCOPE),
			    .site = site};
}

/* Whether it is simply that of the innermost call: in its place, or of a run-time name that is taken in
 * order: see may_end_outer(). */
sp_inline bool ends_innermost(struct stack *st, struct frame *outer, struct end *end)
{
	if (!outer || outer[1].id != end->id || st->overflow)
		return false;
	return outer[1].place == end->place ||
	       !(end->site || outer[1].place & SP_SCOPE || have_callers(&outer[1], end->place));
}

sp_inline void on_odd_end(struct pt_regs *ctx, struct stack *st, struct end *end, __u64 hash,
			  __u64 now)
{
	struct edge e = {.st = st,
			 .now = now,
			 .id = end->id,
			 .place = end->place,
			 .site = end->site,
			 .base = SP_COOKIE_BASE(bpf_get_attach_cookie(ctx))};

	if (!repair_end(&e))
		return;
	if (hash)
		e.site = dynamic_site(ctx, st, hash);
	end_nothing(&e);
}

sp_inline int on_end(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns(), hash;
	struct task_struct *task = bpf_get_current_task_btf();
	struct frame *outer;
	struct stack *st;
	struct end end = {};
	bool simple;

	if (!control.since)
		return 0;
	st = stack_of(task, task->pid);
	if (!st) {
		/* To count the end. Its call was counted at the begin, if there was no memory for
		 * it. */
		st = first_region(task, PT_REGS_SP(ctx), SP_LOSS_UNMATCHED_END, 0);
		if (!st)
			return 0;
	}
	outer = outer_frame(st);
	hash = PT_REGS_PARM3(ctx);
	if (hash) {
		end.id = SP_NAME_ID(hash);
		end.place = PT_REGS_SP(ctx) | caller_bits(PT_REGS_PARM4(ctx));
		simple = ends_innermost(st, outer, &end);
	} else {
		/* What was remembered saves the call of a helper, and proves that the end is the
		 * one that had to come. It proves nothing else: another library may be there now.
		 */
		simple = false;
		if (st->end_ip == PT_REGS_IP(ctx)) {
			end = static_end(ctx, st->end_cookie);
			simple = ends_innermost(st, outer, &end);
		}
		if (!simple) {
			st->end_ip = PT_REGS_IP(ctx);
			st->end_cookie = bpf_get_attach_cookie(ctx);
			end = static_end(ctx, st->end_cookie);
			simple = ends_innermost(st, outer, &end);
		}
	}
	if (simple)
		close_innermost(st, outer, now, 0);
	else
		on_odd_end(ctx, st, &end, hash, now);
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
