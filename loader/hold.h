/* SPDX-License-Identifier: BSD-2-Clause
 *
 * hold.h - holding the exec of a file that was not seen before until its probes are armed, so that
 * a child's first region is not lost.
 *
 * The kernel asks (fanotify, FAN_OPEN_EXEC_PERM) a process of its own, the doorkeeper. It lets pass
 * at once what is not recorded, which costs such an exec some 20 to 50 µs; about the others it asks
 * us, and opens after 200 ms, or after a second where we have said that we have begun with it, which
 * a machine with much else to do may need. A recorder that is busy delays an exec by no more than
 * that second, even where many come at once; one that is stopped delays two execs by 200 ms each,
 * besides the one that it had begun with, and after these none until it is back. When either of the
 * two dies, the kernel lets everything pass.
 * Files that were looked at once are not asked about again.
 */
#ifndef SP_LOADER_HOLD_H
#define SP_LOADER_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sp_hold;

/* Starts the doorkeeper. @lanes: the BPF map that has a value for each recorded thread. @look marks
 * the file systems, NULL: that may be waited for. -errno where the kernel has no such events or
 * refuses them: the recording goes on without. */
struct sp_look;
int sp_hold_start(int lanes, struct sp_look *look, struct sp_hold **ret_hold);
/* From now on the kernel asks about execs on all file systems that are mounted here, but for those
 * that are programs: it opens the file for the doorkeeper, and while such a one does not answer, no
 * exec on the machine would go on. -errno where there are none. May wait for ever. */
int sp_hold_mark(int fan);
/* Readable when an exec waits; for poll(2). Negative once the doorkeeper is gone, so ask each time. */
int sp_hold_fd(const struct sp_hold *hold);
/* The next exec that waits: who, the file, open for reading (close it), and until when it waits at
 * most (ns; perhaps that has passed). 1, or 0 if there is none. Answer it before the next. -ESHUTDOWN
 * where the doorkeeper has died: nothing is held any more. */
int sp_hold_next(struct sp_hold *hold, pid_t *ret_pid, int *ret_fd, uint64_t *ret_until);
/* Lets it go. @known: do not ask about this file again until it changes. */
void sp_hold_answer(struct sp_hold *hold, bool known);
/* Ends it; nothing waits any more. NULL is fine. */
void sp_hold_stop(struct sp_hold *hold);

#endif
