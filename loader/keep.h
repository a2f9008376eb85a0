/* SPDX-License-Identifier: BSD-2-Clause
 *
 * keep.h - the keeper: a process of its own that puts probes on and takes them off.
 *
 * To arm a probe, and to disarm it, the kernel writes into every process that maps the file: a
 * breakpoint, and the semaphore. When the process that does this has got SIGKILL, or another signal
 * that ends it, it gives up at the next such write, and the probes of the rest stay as they are,
 * for good, with their semaphores raised ("failed to unregister, leaking uprobe", says its log). So
 * the recorder, which somebody may well kill, never does it. The keeper does; it is deaf to the
 * terminal and to all signals but SIGKILL and SIGSTOP, and where it may, it tells the kernel not to
 * choose it when memory runs out. It takes all probes off by ending: what a process closes while it
 * ends, no signal disturbs. Killed while it arms a file, it would leave probes behind as well.
 */
#ifndef SP_LOADER_KEEP_H
#define SP_LOADER_KEEP_H

#include <stddef.h>
#include <stdint.h>

#include "loader/links.h"

struct sp_keep;

/* Forks it. Before there is much to fork: no threads, little memory. */
int sp_keep_start(struct sp_keep **ret_keep);
/* Becomes readable when the keeper dies, which takes all probes off; for poll(2). Negative once it
 * was ended. */
int sp_keep_fd(const struct sp_keep *keep);
/* What is done every 20 ms of a wait: not with this object. */
void sp_keep_meanwhile(struct sp_keep *keep, void (*meanwhile)(void *arg), void *arg);
/* As sp_links_make(), there. @ret_set names the links. -ESHUTDOWN: the keeper is dead. */
int sp_keep_arm(struct sp_keep *keep, const struct sp_link_programs *programs, int file,
		const struct sp_bpf_probe *probes, size_t count, uint32_t *ret_set);
/* Takes some off, before it arms any others; does not wait for that. */
void sp_keep_disarm(struct sp_keep *keep, uint32_t set);
/* Takes all off, and returns when they are; after that there is no keeper. */
void sp_keep_end(struct sp_keep *keep);
/* The same, and frees. NULL is fine. */
void sp_keep_free(struct sp_keep *keep);

#endif
