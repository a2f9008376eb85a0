/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_turns.c - see unwind_turns.h.
 *
 * Invariant: a user stands in the line if jobs of his wait and none of his were taken, once; so
 * does a process in its user's line.
 */
#include "loader/unwind_turns.h"

#include <errno.h>
#include <stdlib.h>

#define BUCKETS 256

struct process {
	struct process *next;
	uint32_t number;
	struct sp_unwind_job *first, **end;
};

struct user {
	struct user *next_known, *next; /* in its bucket; in the line */
	uid_t uid;
	bool busy;
	uint64_t spent, settled; /* ns: as it was at that time */
	struct process *first, **end;
};

struct sp_unwind_turns {
	struct user *buckets[BUCKETS];
	struct user *first, **end; /* the line */
};

struct sp_unwind_turns *sp_unwind_turns_new(void)
{
	struct sp_unwind_turns *turns = calloc(1, sizeof(*turns));

	if (turns)
		turns->end = &turns->first;
	return turns;
}

static struct user *find_user(struct sp_unwind_turns *turns, uid_t uid)
{
	struct user *user = turns->buckets[uid % BUCKETS];

	while (user && user->uid != uid)
		user = user->next_known;
	return user;
}

static struct user *add_user(struct sp_unwind_turns *turns, uid_t uid)
{
	struct user *user = calloc(1, sizeof(*user));

	if (!user)
		return NULL;
	user->uid = uid;
	user->end = &user->first;
	user->next_known = turns->buckets[uid % BUCKETS];
	turns->buckets[uid % BUCKETS] = user;
	return user;
}

static void stand_in_line(struct sp_unwind_turns *turns, struct user *user)
{
	user->next = NULL;
	*turns->end = user;
	turns->end = &user->next;
}

static void process_stand_in_line(struct user *user, struct process *process)
{
	process->next = NULL;
	*user->end = process;
	user->end = &process->next;
}

static struct process *find_process(struct user *user, uint32_t number)
{
	struct process *process = user->first;

	while (process && process->number != number)
		process = process->next;
	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->number = number;
	process->end = &process->first;
	process_stand_in_line(user, process);
	return process;
}

int sp_unwind_turns_put(struct sp_unwind_turns *turns, struct sp_unwind_job *job)
{
	struct user *user = find_user(turns, job->uid);
	struct process *process;
	bool waited;

	if (!user)
		user = add_user(turns, job->uid);
	if (!user)
		return -ENOMEM;
	waited = user->first || user->busy;
	process = find_process(user, job->process);
	if (!process)
		return -ENOMEM;
	job->next = NULL;
	*process->end = job;
	process->end = &job->next;
	if (!waited)
		stand_in_line(turns, user);
	return 0;
}

int sp_unwind_turns_put_back(struct sp_unwind_turns *turns, struct sp_unwind_job *job)
{
	struct process *process = find_process(find_user(turns, job->uid), job->process);

	if (!process)
		return -ENOMEM;
	job->next = process->first;
	process->first = job;
	if (!job->next)
		process->end = &job->next;
	return 0;
}

static uint64_t spent_of(const struct user *user, uint64_t now)
{
	uint64_t credit = now > user->settled ? (now - user->settled) / SP_UNWIND_CREDIT : 0;

	return user->spent > credit ? user->spent - credit : 0;
}

static bool is_urgent(const struct user *user, uint64_t now)
{
	return spent_of(user, now) < SP_UNWIND_URGENT_NS;
}

/* The next job; its process goes to the end of the line, or away. */
static struct sp_unwind_job *take_one(struct user *user)
{
	struct process *process = user->first;
	struct sp_unwind_job *job = process->first;

	user->first = process->next;
	if (!user->first)
		user->end = &user->first;
	process->first = job->next;
	if (process->first)
		process_stand_in_line(user, process);
	else
		free(process);
	return job;
}

size_t sp_unwind_turns_take(struct sp_unwind_turns *turns, bool urgent, uint64_t now,
			    struct sp_unwind_job **ret_jobs, size_t most)
{
	struct user **at = &turns->first, *user;
	size_t count = 0;

	while (*at && is_urgent(*at, now) != urgent)
		at = &(*at)->next;
	user = *at;
	if (!user)
		return 0;
	*at = user->next;
	if (!*at)
		turns->end = at;
	user->busy = true;
	while (count < most && user->first)
		ret_jobs[count++] = take_one(user);
	return count;
}

void sp_unwind_turns_end(struct sp_unwind_turns *turns, uid_t uid, uint64_t spent, uint64_t now)
{
	struct user *user = find_user(turns, uid);

	user->spent = spent_of(user, now) + spent;
	user->settled = now;
	user->busy = false;
	if (user->first)
		stand_in_line(turns, user);
}

bool sp_unwind_turns_wait(const struct sp_unwind_turns *turns, bool urgent, uint64_t now)
{
	for (const struct user *user = turns->first; user; user = user->next)
		if (is_urgent(user, now) == urgent)
			return true;
	return false;
}

void sp_unwind_turns_free(struct sp_unwind_turns *turns)
{
	if (!turns)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (turns->buckets[i]) {
			struct user *user = turns->buckets[i];

			turns->buckets[i] = user->next_known;
			while (user->first)
				sp_unwind_job_free(take_one(user));
			free(user);
		}
	free(turns);
}
