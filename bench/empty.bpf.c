/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * empty.bpf.c - the floor: a program that does nothing, on the same probes.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("uprobe")
int empty(void *ctx)
{
	(void)ctx;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
