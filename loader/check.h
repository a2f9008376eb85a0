/* SPDX-License-Identifier: BSD-2-Clause
 *
 * check.h - can this process record on this kernel, and if not, what would mend it?
 */
#ifndef SP_LOADER_CHECK_H
#define SP_LOADER_CHECK_H

/* 0, or -errno after saying what is missing: rights, BTF, BPF. */
int sp_check_can_record(void);

#endif
