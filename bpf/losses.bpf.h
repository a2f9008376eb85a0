/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * losses.bpf.h - the ledger: whatever is not recorded is counted by lose() or lose_at().
 *
 * Invariant: the sum over both maps is exact. Where thread or region is known the count stands in
 * loss_places, a hash table by cause, CPU, thread and region; where they are not, or the table is
 * full there, in losses. Nothing is ever taken out, so the loader reads both without a lock, and
 * knows what is new by what it has seen. Two threads that come with one new key may take two places
 * for it: the loader adds them up. Everything here may be interrupted by a sample, which may lose
 * something, too.
 */
#ifndef SP_BPF_LOSSES_H
#define SP_BPF_LOSSES_H

/* By CPU, then cause. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sp_loss_count);
} losses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SP_LOSS_PLACES);
	__type(key, __u32);
	__type(value, struct sp_loss_place);
} loss_places SEC(".maps");

#define LOSS_TRIES 8

/* The count goes last: with it the loader takes the times for whole. */
sp_inline void add_loss(struct sp_loss_count *loss, __u64 count)
{
	__u64 now = bpf_ktime_get_ns();

	if (!loss->first)
		loss->first = now;
	if (loss->last < now)
		loss->last = now;
	__sync_fetch_and_add(&loss->count, count);
	control.losses = 1;
}

static __noinline int lose(__u32 cause, __u64 count)
{
	__u32 key = bpf_get_smp_processor_id() * SP_LOSS_MAX + cause;
	struct sp_loss_count *loss = bpf_map_lookup_elem(&losses, &key);

	if (loss)
		add_loss(loss, count);
	return 0;
}

static __noinline int lose_in(__u64 where, __u64 what, __u64 count)
{
	__u64 hash = (where ^ what * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	hash ^= hash >> 32;
	for (__u32 i = 0; i < LOSS_TRIES; i++) {
		__u32 key = (hash + i) & (SP_LOSS_PLACES - 1);
		struct sp_loss_place *place = bpf_map_lookup_elem(&loss_places, &key);

		if (!place)
			break;
		if (!*(volatile __u64 *)&place->what &&
		    __sync_val_compare_and_swap(&place->what, 0, SP_LOSS_CLAIMED) == 0) {
			place->where = where;
			/* A barrier on every machine, too. */
			__sync_lock_test_and_set(&place->what, what);
		}
		if (*(volatile __u64 *)&place->what == what && place->where == where) {
			add_loss(&place->loss, count);
			return 0;
		}
	}
	return lose(SP_LOSS_WHAT_CAUSE(what), count);
}

/* The same of a thread and of a region, where they are known (0: not). */
sp_inline void lose_at(__u32 cause, __u32 lane, __u32 site, __u64 count)
{
	if (lane || site)
		lose_in((__u64)lane << 32 | site, SP_LOSS_WHAT(cause, bpf_get_smp_processor_id()),
			count);
	else
		lose(cause, count);
}

#endif
