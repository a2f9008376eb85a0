/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * unwind.bpf.h - finding a thread's callers by tables (formats/unwind.h), without frame pointers.
 *
 * What the tables hold was checked by the recorder, and is checked again here wherever a wrong value
 * could do more than end a stack: every index is masked, every loop is bounded, memory is read by
 * helpers that fail. So the recorder may change the tables at any moment.
 *
 * What it costs is cold memory, so little is read: the stack in pieces of several frames, and a search
 * only for an address that was not found before.
 *
 * Where the walk stands is kept in a map's memory, not on the stack: the verifier of Linux 6.1 takes
 * what bpf_loop() finds on the stack for what it was before the loop.
 */
#ifndef SP_BPF_UNWIND_H
#define SP_BPF_UNWIND_H

#include <linux/bpf_perf_event.h>

#include "bpf/core.bpf.h"
#include "bpf/mapped.bpf.h"
#include "bpf/tables.bpf.h"

#ifdef __TARGET_ARCH_x86
#define REG_BX 3
#define REG_FP 6
#define REG_SP 7
#define REG_COUNT 16
#define REGS_KEPT (REG_BIT(REG_SP) | REG_BIT(REG_FP) | REG_BIT(REG_BX))
#define RETURN_ADDRESS(word) (word)
#else
#define REG_FP 29
#define REG_LR 30
#define REG_SP 31
#define REG_COUNT 32
#define REGS_KEPT (REG_BIT(REG_SP) | REG_BIT(REG_FP))
/* Without the bits that pointer authentication puts on top. */
#define RETURN_ADDRESS(word) ((word) & ((1ull << 48) - 1))
#endif
#define ALL_KNOWN ((1ull << REG_COUNT) - 1)
#define REG_BIT(reg) (1ull << ((reg) & (SP_UNWIND_REGS - 1)))

#define WINDOW_WORDS 64 /* of the stack, that one read takes; a power of two */
#ifdef __TARGET_ARCH_x86
#define SIGNAL_WORDS 17 /* of registers in a signal frame, as in sigcontext of <asm/sigcontext.h> */
#define SIGNAL_FP 10	/* which of them is the frame pointer; the address is the last */
#else
#define SIGNAL_WORDS 33
#define SIGNAL_FP 29
#endif

#define NO_WINDOW (1ull << 63) /* an address of no program */

/* A walk in progress: the frame whose caller is to be found. */
struct unwinder {
	__u64 regs[SP_UNWIND_REGS]; /* by DWARF number */
	__u64 known;		    /* a bit for each register whose value is known */
	__u64 ip;
	__u64 words[SIGNAL_WORDS];
	__u64 window_at; /* address of what is in `window`, NO_WINDOW for nothing … */
	__u64 window[WINDOW_WORDS];
	__u32 single;	    /* … and nothing will be: the stack's memory ends near here */
	__u32 generation;   /* of the address space */
	__u32 exact;	    /* ip is of the next instruction, not one after a call */
	__u32 first, count; /* ranges of the address space */
	__u32 last;	    /* the range that the last address was in */
	__u32 process;
	__u32 answer; /* see walk_by_tables() */
	__u64 mm;
	__u32 at;	    /* where in `stack` the user's frames begin */
	__u32 frames;	    /* so far */
	__u32 signal_frames;
	__u32 end; /* SP_STACK_* */
};

#define STACK_ROOM 256 /* a power of two, for masks */
_Static_assert(SP_MAX_KERNEL_FRAMES + SP_MAX_FRAMES < STACK_ROOM &&
		       SP_MAX_KERNEL_FRAMES < STACK_ROOM / 2,
	       "the deepest stacks fit");

/* A sample while it is made. perf_event programs neither nest nor move, so there is one on each CPU. */
struct sample {
	struct unwinder unwinder;
	__u64 regs[SP_UNWIND_REGS]; /* as the walk began, for the copy of the stack */
	bpf_user_pt_regs_t saved;   /* those with which the thread entered the kernel */
	__u32 second, copies;	    /* stacks that were copied in that second, as eh has a limit */
	struct sp_ev_sample ev; /* what is sent, from here on */
	__u64 stack[STACK_ROOM];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample);
} samples SEC(".maps");

/* What the steps of a walk are given. */
struct walk {
	struct sample *sample;
	struct found_rules *found;
	const struct ranges *ranges;
	const struct rules *rules;
};

/* The range that an address is in, or NULL. Mostly it is the one of the frame before. */
sp_inline const struct sp_unwind_range *range_of(const struct walk *w, __u64 address)
{
	struct unwinder *u = &w->sample->unwinder;
	const struct sp_unwind_range *r = &w->ranges->at[u->last % SP_UNWIND_RANGES];
	__u32 index;

	if (u->count && address >= r->start && address < r->end)
		return r;
	index = find_range(w->ranges, u->first, u->count, address);
	if (index == NO_RANGE)
		return find_mapped(u->process, u->mm, address);
	u->last = index;
	return &w->ranges->at[index % SP_UNWIND_RANGES];
}

sp_inline long stop(struct unwinder *u, __u32 end)
{
	u->end = end;
	return 1;
}

/* Goes on with the caller, whose registers are in @u, at @ip. */
sp_inline long go_on(const struct walk *w, __u64 ip, __u32 exact)
{
	struct unwinder *u = &w->sample->unwinder;
	__u32 n = u->frames;

	if (!ip)
		return stop(u, SP_STACK_COMPLETE);
	if (n >= SP_MAX_FRAMES)
		return stop(u, SP_STACK_TRUNCATED);
	w->sample->stack[(u->at + n) % STACK_ROOM] = ip;
	if (exact && n < 32)
		u->signal_frames |= 1u << n;
	u->frames = n + 1;
	u->ip = ip;
	u->exact = exact;
	return 0;
}

/* One step where tables say nothing. @end: why, if it leads nowhere. */
sp_inline long step_by_frame_pointer(const struct walk *w, __u32 end)
{
	struct unwinder *u = &w->sample->unwinder;
	__u64 fp = u->regs[REG_FP], ip;

	if (!(u->known & REG_BIT(REG_FP)) || fp < u->regs[REG_SP] || fp & 7)
		return stop(u, end);
	if (bpf_probe_read_user(u->words, 16, (void *)fp))
		return stop(u, end);
	ip = RETURN_ADDRESS(u->words[1]);
	if (ip && !range_of(w, ip - 1))
		return stop(u, end);
	u->regs[REG_SP] = fp + 16;
	u->regs[REG_FP] = u->words[0];
	u->known = REG_BIT(REG_SP) | REG_BIT(REG_FP);
	return go_on(w, ip, 0);
}

/* In code that stands on the stack: the trampolines that compilers make for nested functions (and
 * Fortran's internal procedures), which leave stack and frame pointer as they came. */
sp_inline long step_from_trampoline(const struct walk *w)
{
	struct unwinder *u = &w->sample->unwinder;
	__u64 ip;

#ifdef REG_LR
	ip = u->regs[REG_LR];
#else
	if (bpf_probe_read_user(u->words, 8, (void *)u->regs[REG_SP]))
		return stop(u, SP_STACK_UNREADABLE);
	ip = u->words[0];
	u->regs[REG_SP] += 8;
#endif
	u->known &= REGS_KEPT;
	return go_on(w, RETURN_ADDRESS(ip), 0);
}

/* The word at @address, which is put into words[@i]. Those above it will be wanted soon. */
sp_inline long read_word(struct unwinder *u, __u32 i, __u64 address)
{
	__u64 distance = address - u->window_at;

	/* A program may well have registers that point to where NO_WINDOW is. */
	if (u->window_at == NO_WINDOW || distance > (WINDOW_WORDS - 1) * 8 || distance & 7) {
		if (u->single)
			return bpf_probe_read_user(&u->words[i], 8, (void *)address);
		if (bpf_probe_read_user(u->window, sizeof(u->window), (void *)address)) {
			u->window_at = NO_WINDOW;
			u->single = 1;
			return bpf_probe_read_user(&u->words[i], 8, (void *)address);
		}
		u->window_at = address;
		distance = 0;
	}
	u->words[i] = u->window[distance / 8 % WINDOW_WORDS];
	return 0;
}

/* Reads the caller's frame pointer into words[0], and its address into words[1], as far as they are
 * in memory. */
sp_inline long read_caller(struct unwinder *u, const struct sp_unwind_rule *rule, __u64 fp_at,
			   __u64 ra_at)
{
	if (rule->fp > SP_UNWIND_UNDEFINED && read_word(u, 0, fp_at))
		return -1;
	return rule->ra > SP_UNWIND_UNDEFINED ? read_word(u, 1, ra_at) : 0;
}

/* Finds the caller's rbx, if it can be had: its bit. It stands below what read_caller() reads. */
sp_inline __u64 read_bx(struct unwinder *u, const struct sp_unwind_rule *rule, __u64 base)
{
#ifdef REG_BX
	if (rule->bx == SP_UNWIND_SAME)
		return u->known & REG_BIT(REG_BX);
	if (rule->bx == SP_UNWIND_UNDEFINED || read_word(u, 2, base + rule->bx * 8ll))
		return 0;
	u->regs[REG_BX] = u->words[2];
	return REG_BIT(REG_BX);
#else
	return 0;
#endif
}

/* All registers of what a signal interrupted, if they stand as the kernel puts them; @base: where the
 * rule counts from. False if not. */
sp_inline bool read_interrupted(struct unwinder *u, const struct sp_unwind_rule *rule, __u64 base)
{
	__u64 from = base + (rule->ra - (SIGNAL_WORDS - 1)) * 8ll;

	if (rule->ra - rule->fp != SIGNAL_WORDS - 1 - SIGNAL_FP ||
	    bpf_probe_read_user(u->words, SIGNAL_WORDS * 8, (void *)from))
		return false;
#ifdef __TARGET_ARCH_x86
	for (int i = 0; i < 8; i++)
		u->regs[8 + i] = u->words[i];
	u->regs[5] = u->words[8];
	u->regs[4] = u->words[9];
	u->regs[6] = u->words[10];
	u->regs[3] = u->words[11];
	u->regs[1] = u->words[12];
	u->regs[0] = u->words[13];
	u->regs[2] = u->words[14];
#else
	for (int i = 0; i < 31; i++)
		u->regs[i] = u->words[i];
#endif
	u->words[1] = u->words[SIGNAL_WORDS - 1];
	return true;
}

/* Finds the caller by a rule of a table. */
sp_inline long step_by_rule(const struct walk *w, const struct sp_unwind_rule *rule)
{
	struct unwinder *u = &w->sample->unwinder;
	__u32 number = rule->reg % SP_UNWIND_REGS, kind = rule->kind;
	__u64 reg = u->regs[number], sp = u->regs[REG_SP], cfa, base, fp_base, known, link;
	bool in_register;

	if (!(u->known & REG_BIT(number)) && kind != SP_UNWIND_PLT)
		return stop(u, SP_STACK_UNSUPPORTED);
	/* Only there, or where a signal interrupted it: no call leads into it. */
	if (rule->flags & SP_UNWIND_UNLESS_0 && u->known == ALL_KNOWN && !u->regs[0])
		return stop(u, SP_STACK_COMPLETE);
	if (kind == SP_UNWIND_PLT) {
		cfa = sp + 8 + ((u->ip & 15) >= rule->offset ? 8 : 0);
	} else {
		cfa = reg + rule->offset;
		if (kind != SP_UNWIND_REG) {
			if (read_word(u, 0, cfa))
				return stop(u, SP_STACK_UNREADABLE);
			cfa = u->words[0];
			if (kind == SP_UNWIND_DEREF)
				cfa += rule->addend;
		}
	}
	/* A handler may have a stack of its own, anywhere. A leaf function may have nothing on it. */
	in_register = rule->ra == SP_UNWIND_SAME && u->known == ALL_KNOWN;
	if (kind == SP_UNWIND_SIGNAL ? !cfa
				     : cfa < sp || (cfa == sp && !u->exact && !in_register))
		return stop(u, SP_STACK_NO_PROGRESS);
	base = rule->flags & SP_UNWIND_BY_REG ? reg : cfa;
	fp_base = base;
	if (rule->flags & SP_UNWIND_FP_BY_FP) {
		if (!(u->known & REG_BIT(REG_FP)))
			return stop(u, SP_STACK_UNSUPPORTED);
		fp_base = u->regs[REG_FP];
	}
	if (kind == SP_UNWIND_SIGNAL && read_interrupted(u, rule, base)) {
		u->regs[REG_SP] = cfa;
		u->known = ALL_KNOWN;
		return go_on(w, u->words[1], 1);
	}
	link = u->regs[rule->link % SP_UNWIND_REGS];
	known = REG_BIT(REG_SP) | read_bx(u, rule, fp_base);
	if (read_caller(u, rule, fp_base + rule->fp * 8ll, base + rule->ra * 8ll))
		return stop(u, SP_STACK_UNREADABLE);
	if (rule->fp > SP_UNWIND_UNDEFINED) {
		u->regs[REG_FP] = u->words[0];
		known |= REG_BIT(REG_FP);
	} else if (rule->fp == SP_UNWIND_SAME) {
		known |= u->known & REG_BIT(REG_FP);
	}
	if (rule->ra <= SP_UNWIND_UNDEFINED) {
		if (!in_register)
			return stop(u, SP_STACK_UNSUPPORTED);
		u->words[1] = link;
	}
	u->regs[REG_SP] = cfa;
	u->known = known;
	return go_on(w, RETURN_ADDRESS(u->words[1]), kind == SP_UNWIND_SIGNAL);
}

/* Where there is no table. */
sp_inline long step_without_rule(const struct walk *w, const struct sp_unwind_range *r)
{
	struct unwinder *u = &w->sample->unwinder;

	if (!r)
		return stop(u, SP_STACK_NO_MAPPING);
	if (r->flags & SP_RANGE_PENDING)
		return stop(u, SP_STACK_PENDING);
	if (u->known == ALL_KNOWN && u->regs[REG_SP] >= r->start && u->regs[REG_SP] < r->end)
		return step_from_trampoline(w);
	return step_by_frame_pointer(w, SP_STACK_NO_TABLE);
}

/* Whether the address, of which nothing is known one byte before, is a function's first: no call leaves
 * that behind. Who made the stack put it there, as makecontext() does (and the kernel, for a signal). */
sp_inline bool is_planted(const struct walk *w)
{
	struct unwinder *u = &w->sample->unwinder;
	const struct sp_unwind_range *r = u->exact ? NULL : range_of(w, u->ip);
	__u32 kind = SP_UNWIND_NONE;

	if (r && r->count)
		kind = w->rules->at[find_rule(r, u->ip) % SP_UNWIND_RULES].kind;
	return kind != SP_UNWIND_NONE && kind != SP_UNWIND_SIGNAL;
}

static long step(__u32 index, struct walk *w)
{
	struct unwinder *u = &w->sample->unwinder;
	__u64 address = u->ip - !u->exact;
	__u32 slot = address * 0x9e3779b97f4a7c15ull >> (64 - FOUND_ORDER);
	struct found *found = &w->found->at[slot % (1 << FOUND_ORDER)];
	const struct sp_unwind_rule *rule;

	if (found->address != address || found->generation != u->generation || !u->generation) {
		const struct sp_unwind_range *r = range_of(w, address);

		if (!r || !r->count)
			return step_without_rule(w, r);
		found->rule = find_rule(r, address);
		found->address = address;
		found->generation = u->generation;
	}
	rule = &w->rules->at[found->rule % SP_UNWIND_RULES];
	switch (rule->kind) {
	case SP_UNWIND_NONE:
		return is_planted(w) ? stop(u, SP_STACK_COMPLETE)
				     : step_by_frame_pointer(w, SP_STACK_NO_RULE);
	case SP_UNWIND_OUTERMOST:
		return stop(u, SP_STACK_COMPLETE);
	case SP_UNWIND_REG:
	case SP_UNWIND_DEREF:
	case SP_UNWIND_PLT:
	case SP_UNWIND_SIGNAL:
		return step_by_rule(w, rule);
	default:
		return stop(u, SP_STACK_UNSUPPORTED);
	}
}

/* The registers that a walk begins with. */
sp_inline void set_registers(struct unwinder *u, const bpf_user_pt_regs_t *regs)
{
#ifdef __TARGET_ARCH_x86
	u->regs[0] = regs->rax;
	u->regs[1] = regs->rdx;
	u->regs[2] = regs->rcx;
	u->regs[3] = regs->rbx;
	u->regs[4] = regs->rsi;
	u->regs[5] = regs->rdi;
	u->regs[6] = regs->rbp;
	u->regs[7] = regs->rsp;
	u->regs[8] = regs->r8;
	u->regs[9] = regs->r9;
	u->regs[10] = regs->r10;
	u->regs[11] = regs->r11;
	u->regs[12] = regs->r12;
	u->regs[13] = regs->r13;
	u->regs[14] = regs->r14;
	u->regs[15] = regs->r15;
#else
#pragma unroll
	for (int i = 0; i < 31; i++)
		u->regs[i] = regs->regs[i];
	u->regs[31] = regs->sp;
#endif
	u->ip = PT_REGS_IP(regs);
}

/* Where callers of the thread are looked for; false if there is nothing yet. */
static __noinline int find_tables(struct sample *s, struct task_struct *task, struct lane *lane)
{
	struct sp_bpf_space *space;
	struct unwinder *u;

	if (!s || !task || !lane)
		return 0;
	u = &s->unwinder;
	space = find_space(lane->process, lane->parent);
	u->generation = space ? space->generation : 0;
	u->first = space ? space->first : 0;
	u->count = space ? space->count : 0;
	u->process = lane->process;
	u->mm = (__u64)task->mm;
	return space || find_list(u->process, u->mm);
}

/* Walks from the registers in @sample; its frames are put behind the @at frames that are there. */
static __noinline int unwind(struct sample *sample, __u32 at)
{
	struct walk w = {.sample = sample};
	struct unwinder *u;
	__u32 zero = 0;

	w.ranges = bpf_map_lookup_elem(&ranges, &zero);
	w.rules = bpf_map_lookup_elem(&rules, &zero);
	w.found = bpf_map_lookup_elem(&found_rules, &zero);
	if (!sample || !w.ranges || !w.rules || !w.found)
		return 0;
	u = &sample->unwinder;
	u->known = ALL_KNOWN;
	u->window_at = NO_WINDOW;
	u->single = 0;
	u->last = u->first;
	u->at = at;
	u->frames = 1;
	u->signal_frames = 0;
	u->end = SP_STACK_UNKNOWN;
	sample->stack[at % STACK_ROOM] = u->ip;
	bpf_loop(SP_MAX_FRAMES, step, &w, 0);
	return 0;
}

#endif
