/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_turns.h - who comes next: users take turns, and the processes of each user.
 *
 * A user, by whom files are owned, is urgent until the helpers have worked so much for him that
 * others would feel it; then he waits among those who are not. Credit comes back with time.
 * Files of one user are never handed out to two takers at once, so that he finds no advantage in
 * having many. Locks nothing.
 */
#ifndef SP_LOADER_UNWIND_TURNS_H
#define SP_LOADER_UNWIND_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loader/unwind_worker.h"

#define SP_UNWIND_URGENT_NS 200000000ull /* of the helpers' CPU time, for one user */
#define SP_UNWIND_CREDIT 50		 /* a 50th of the time that passes comes back */

struct sp_unwind_turns;

struct sp_unwind_turns *sp_unwind_turns_new(void);
/* -ENOMEM. */
int sp_unwind_turns_put(struct sp_unwind_turns *turns, struct sp_unwind_job *job);
/* The next jobs, all of one user, at most @most; 0: nobody waits who is urgent (or, who is not).
 * Each non-zero take is followed by a sp_unwind_turns_end(). */
size_t sp_unwind_turns_take(struct sp_unwind_turns *turns, bool urgent, uint64_t now,
			    struct sp_unwind_job **ret_jobs, size_t most);
/* A job that was not begun comes first again among those of its process. -ENOMEM: it is still the
 * caller's. */
int sp_unwind_turns_put_back(struct sp_unwind_turns *turns, struct sp_unwind_job *job);
/* @spent: ns, that what was taken has cost. */
void sp_unwind_turns_end(struct sp_unwind_turns *turns, uid_t uid, uint64_t spent, uint64_t now);
/* Whether a take would give anything. */
bool sp_unwind_turns_wait(const struct sp_unwind_turns *turns, bool urgent, uint64_t now);
/* With what waits. */
void sp_unwind_turns_free(struct sp_unwind_turns *turns);

#endif
