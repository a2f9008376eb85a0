/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bpf_log.h - in our log: what libbpf says, and what helps where the kernel refused something.
 */
#ifndef SP_LOADER_BPF_LOG_H
#define SP_LOADER_BPF_LOG_H

/* From now on, what libbpf and the verifier say is shown with -v. */
void sp_bpf_log_start(void);
/* Logs the remedy for what the kernel refused. @error: -errno. */
void sp_bpf_hint(int error);

#endif
