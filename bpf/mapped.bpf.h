/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * mapped.bpf.h - what a process has mapped, asked of the kernel at the very moment of a sample.
 *
 * The recorder hears of a mapping a millisecond after it, or ten where the machine is busy. Until
 * it has put it among the ranges of the process, the rows of its file are found here, if they are
 * ready: so it is for all but the first process that maps a file, and for a command and its
 * libraries, which are read before it starts.
 */
#ifndef SP_BPF_MAPPED_H
#define SP_BPF_MAPPED_H

#include "bpf/tables.bpf.h"

/* A list begins with this. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sp_bpf_mapped);
} nothing_mapped SEC(".maps");

/* What is mapped at an address. */
struct mapping {
	__u64 start, end, offset;
	struct sp_bpf_file_key key;
	__u32 is_code, is_file;
};

sp_inline void read_file_key(const struct inode *inode, struct sp_bpf_file_key *key)
{
	const struct inode___6_10 *to_6_10 = (const void *)inode;
	const struct inode___6_5 *to_6_5 = (const void *)inode;

	key->inode = inode->i_ino;
	key->size = inode->i_size;
	key->device = inode->i_sb->s_dev;
	if (bpf_core_field_exists(inode->i_ctime_nsec)) {
		key->changed = inode->i_ctime_sec;
		key->changed_ns = inode->i_ctime_nsec & 0x7fffffff; /* above it, a flag */
	} else if (bpf_core_field_exists(to_6_10->__i_ctime)) {
		key->changed = to_6_10->__i_ctime.tv_sec;
		key->changed_ns = to_6_10->__i_ctime.tv_nsec;
	} else {
		key->changed = to_6_5->i_ctime.tv_sec;
		key->changed_ns = to_6_5->i_ctime.tv_nsec;
	}
}

/* The newest ones stand there. */
sp_inline void add_range(struct sp_bpf_mapped *m, const struct sp_unwind_range range)
{
	__u32 at = m->count % SP_MAPPED;

	barrier_var(at); /* or it is read again, behind the test */
	m->at[at] = range;
	m->count++;
}

sp_inline void add_slice(struct sp_bpf_mapped *m, const struct mapping *mapping,
			 const struct sp_bpf_slice *slice)
{
	__u64 offset = mapping->offset, bias = mapping->start - offset;
	__u64 last = offset + (mapping->end - mapping->start);
	__u64 from = offset > slice->from ? offset : slice->from;
	__u64 to = last < slice->to ? last : slice->to;

	if (from < to)
		add_range(m, (struct sp_unwind_range){
				     .start = bias + from,
				     .end = bias + to,
				     .base = bias + slice->base,
				     .chunk = slice->chunk,
				     .first = slice->first,
				     .count = slice->count,
			     });
}

static long take_mapping(struct task_struct *task, struct vm_area_struct *vma,
			 struct mapping *mapping)
{
	mapping->is_file = vma->vm_file != NULL;
	/* The vDSO is no file, and has its operations. */
	mapping->is_code = vma->vm_flags & VM_EXEC && (vma->vm_file || !vma->vm_ops);
	mapping->start = vma->vm_start;
	mapping->end = vma->vm_end;
	mapping->offset = (__u64)vma->vm_pgoff << (config.page_shift & 31);
	if (mapping->is_file)
		read_file_key(vma->vm_file->f_inode, &mapping->key);
	return 0;
}

/* The list of a process image, if it is of its address space of now. */
sp_inline struct sp_bpf_mapped *find_list(__u32 process, __u64 mm)
{
	struct sp_bpf_mapped *m = bpf_map_lookup_elem(&mapped, &process);

	return m && m->mm == mm ? m : NULL;
}

/* The range of the list that an address is in, or NULL. */
static __noinline struct sp_unwind_range *find_mapped(__u32 process, __u64 mm, __u64 address)
{
	struct sp_bpf_mapped *m = find_list(process, mm);

	for (__u32 i = 1; m && i <= SP_MAPPED && i <= m->count; i++) {
		struct sp_unwind_range *r = &m->at[(m->count - i) % SP_MAPPED];

		if (address >= r->start && address < r->end)
			return r;
	}
	return NULL;
}

sp_inline struct sp_bpf_mapped *make_list(__u32 process, __u64 mm)
{
	struct sp_bpf_mapped *m = bpf_map_lookup_elem(&mapped, &process), *nothing;
	__u32 zero = 0;

	if (!m) {
		nothing = bpf_map_lookup_elem(&nothing_mapped, &zero);
		if (!nothing || bpf_map_update_elem(&mapped, &process, nothing, BPF_NOEXIST))
			return NULL;
		m = bpf_map_lookup_elem(&mapped, &process);
	}
	if (m && m->mm != mm) {
		m->count = 0;
		m->mm = mm;
	}
	return m;
}

/* Asks what the process, which runs here, has mapped at an address. False if nothing that can be
 * run, or if the kernel cannot tell: its mappings are being changed, or it was asked in this
 * interrupt already. */
static __noinline int learn_mapping(struct task_struct *task, __u32 process, __u64 address)
{
	struct mapping mapping = {};
	struct sp_bpf_file *file;
	struct sp_bpf_mapped *m;

	if (!task || !control.tables_come ||
	    bpf_find_vma(task, address, take_mapping, &mapping, 0) || !mapping.is_code)
		return 0;
	m = make_list(process, (__u64)task->mm);
	if (!m)
		return 0;
	file = mapping.is_file ? bpf_map_lookup_elem(&files, &mapping.key) : NULL;
	if (!file)
		add_range(m,
			  (struct sp_unwind_range){
				  .start = mapping.start,
				  .end = mapping.end,
				  .base = mapping.start,
				  .flags = mapping.is_file ? SP_RANGE_PENDING : SP_RANGE_ANONYMOUS,
			  });
	for (__u32 i = 0; file && i < SP_FILE_SLICES && i < file->count; i++)
		add_slice(m, &mapping, &file->slices[i]);
	return 1;
}

#endif
