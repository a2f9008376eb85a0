/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_dwarf.c - asks a child for stacks, and gets on without it.
 *
 * A question is a struct and the words of a copy, an answer a struct and frames; both go through
 * one socket, one at a time. The child has the recording's tables from the fork. Invariant: what
 * comes out of a child is checked before anything is made of it.
 */
#include "userspace/analysis/unwind_dwarf.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "userspace/analysis/unwind_dwarf_worker.h"
#include "userspace/base/array.h"
#include "userspace/base/child.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/confine.h"

#define ANSWER_MS 10000 /* the largest files take a second to open */
#define MAX_DEATHS 16

struct question {
	uint64_t time;
	uint32_t process, n_registers, n_words, below;
};

struct answer {
	uint32_t frames, signal_frames, end, copy_ended, leaf_guessed;
};

struct sp_unwind_dwarf {
	struct sp_dwarf_job job;
	struct sp_dwarf_shared *shared;
	struct sp_idmap deadly;
	struct sp_idmap told; /* maps that stand in files */
	struct sp_dwarf_file *files;
	size_t n_files, files_room;
	struct sp_dwarf_stats stats;
	struct sp_dwarf_copy *copy;
	pid_t child; /* 0 none */
	int fd;
};

const char *sp_dwarf_refusal_text(enum sp_dwarf_refusal refusal)
{
	static const char *const texts[SP_DWARF_REFUSALS] = {
		[SP_DWARF_GONE] = "cannot be opened any more",
		[SP_DWARF_CHANGED] = "is not the file that ran: it was rebuilt or replaced",
		[SP_DWARF_NOT_ELF] = "is no ELF file that could have been mapped there",
		[SP_DWARF_OTHER_BOOT] = "is of another boot than this machine's",
		[SP_DWARF_DEADLY] = "is damaged: libdw crashed on it or did not come back",
	};

	return refusal < SP_DWARF_REFUSALS && texts[refusal] ? texts[refusal] : "cannot be used";
}

int sp_unwind_dwarf_new(const struct sp_recording *rec, const char *directory,
			struct sp_unwind_dwarf **ret_unwind)
{
	struct sp_unwind_dwarf *unwind = calloc(1, sizeof(*unwind));
	void *shared = MAP_FAILED;

	if (unwind)
		shared = mmap(NULL, sizeof(*unwind->shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		free(unwind);
		return -ENOMEM;
	}
	unwind->fd = -1;
	unwind->shared = shared;
	unwind->copy = malloc(sizeof(*unwind->copy));
	unwind->job = (struct sp_dwarf_job){
		.recording = rec,
		.directory = directory,
		.shared = shared,
		.deadly = &unwind->deadly,
		.same_boot = sp_recording_is_of_this_boot(rec),
	};
	if (!unwind->copy) {
		sp_unwind_dwarf_free(unwind);
		return -ENOMEM;
	}
	*ret_unwind = unwind;
	return 0;
}

/* ---- the socket ---- */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* @until: ms of now_ms(), or -1 for ever. */
static bool receive_all(int fd, void *bytes, size_t size, int64_t until)
{
	while (size) {
		int64_t left = until < 0 ? 0 : until - now_ms();
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		ssize_t n = recv(fd, bytes, size, until < 0 ? 0 : MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN) {
			if (left <= 0)
				return false;
			poll(&ready, 1, (int)left);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes = (char *)bytes + n;
		size -= (size_t)n;
	}
	return true;
}

/* ---- the child ---- */

static bool take_question(int fd, struct sp_dwarf_copy *copy)
{
	struct question question;

	if (!receive_all(fd, &question, sizeof(question), -1))
		return false;
	copy->time = question.time;
	copy->process = question.process;
	copy->n_registers = question.n_registers;
	copy->n_words = question.n_words;
	copy->below = question.below;
	return receive_all(fd, copy->registers, copy->n_registers * sizeof(uint64_t), -1) &&
	       receive_all(fd, copy->words, copy->n_words * sizeof(uint64_t), -1);
}

static void serve(struct sp_unwind_dwarf *unwind, int fd)
{
	struct sp_dwarf_walker *walker = sp_dwarf_walker_new(&unwind->job);
	struct sp_dwarf_stack stack;

	while (walker && take_question(fd, unwind->copy)) {
		struct answer answer;

		if (sp_dwarf_walk(walker, unwind->copy, &stack) < 0)
			break;
		unwind->shared->at = SP_NONE;
		answer = (struct answer){stack.frames, stack.signal_frames, stack.end,
					 stack.copy_ended, stack.leaf_guessed};
		if (!sp_child_send(fd, &answer, sizeof(answer)) ||
		    !sp_child_send(fd, stack.frame, stack.frames * sizeof(uint64_t)))
			break;
	}
	sp_dwarf_walker_free(walker);
}

static int start_child(struct sp_unwind_dwarf *unwind)
{
	pid_t parent = getpid(), child;
	int ends[2], size = 1 << 18;

	unwind->shared->at = SP_NONE;
	unwind->shared->notes = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	child = fork();
	if (child < 0) {
		int r = -errno;

		close(ends[0]);
		close(ends[1]);
		return r;
	}
	if (child == 0) {
		close(ends[0]);
		struct sp_user user;

		sp_recording_user(unwind->job.recording, &user);
		/* The files of several users: then it keeps the right to read them all. */
		user.known = true;
		sp_confine_child(parent, 1, &user);
		serve(unwind, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	unwind->child = child;
	unwind->fd = ends[0];
	return 0;
}

static void end_child(struct sp_unwind_dwarf *unwind)
{
	struct sp_child child = {.pid = unwind->child, .fd = unwind->fd};

	sp_child_end(&child, true);
	unwind->child = 0;
	unwind->fd = -1;
}

/* ---- what it says ---- */

static int tell_file(struct sp_unwind_dwarf *unwind, uint32_t index, uint32_t reason)
{
	const struct sp_recording *rec = unwind->job.recording;
	struct sp_dwarf_file *file;
	uint64_t key;

	if (index >= rec->n_maps || reason == SP_DWARF_USED || reason >= SP_DWARF_REFUSALS)
		return 0;
	key = sp_dwarf_map_key(&rec->maps[index]);
	if (sp_idmap_get(&unwind->told, key) != SP_NONE)
		return 0;
	file = sp_array_add(&unwind->files, &unwind->n_files, &unwind->files_room);
	if (!file || sp_idmap_set(&unwind->told, key, 1) < 0)
		return -ENOMEM;
	*file = (struct sp_dwarf_file){rec->maps[index].path, (enum sp_dwarf_refusal)reason};
	return 0;
}

static int take_notes(struct sp_unwind_dwarf *unwind)
{
	uint32_t n = unwind->shared->notes;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n && i < SP_DWARF_NOTES; i++)
		r = tell_file(unwind, unwind->shared->note[i].map, unwind->shared->note[i].reason);
	return r;
}

/* The child is dead, or as good as that: what it looked at is not looked at again. */
static int bury(struct sp_unwind_dwarf *unwind)
{
	const struct sp_recording *rec = unwind->job.recording;
	uint32_t at = unwind->shared->at;
	int r = take_notes(unwind);

	end_child(unwind);
	unwind->stats.deaths++;
	unwind->stats.gave_up = unwind->stats.deaths >= MAX_DEATHS;
	if (r == 0 && at < rec->n_maps) {
		r = sp_idmap_set(&unwind->deadly, sp_dwarf_map_key(&rec->maps[at]), 1);
		if (r == 0)
			r = tell_file(unwind, at, SP_DWARF_DEADLY);
	}
	return r;
}

static bool ask(struct sp_unwind_dwarf *unwind, const struct question *question, const void *words,
		struct sp_dwarf_stack *stack)
{
	size_t bytes = ((size_t)question->n_registers + question->n_words) * sizeof(uint64_t);
	int64_t until = now_ms() + ANSWER_MS;
	struct answer answer;

	if (!sp_child_send(unwind->fd, question, sizeof(*question)) ||
	    !sp_child_send(unwind->fd, words, bytes) ||
	    !receive_all(unwind->fd, &answer, sizeof(answer), until) ||
	    answer.frames > SP_MAX_FRAMES || answer.end >= SP_STACK_END_MAX ||
	    answer.copy_ended > 1 || answer.leaf_guessed > 1 ||
	    !receive_all(unwind->fd, stack->frame, answer.frames * sizeof(uint64_t), until))
		return false;
	stack->frames = answer.frames;
	stack->signal_frames = answer.signal_frames;
	stack->end = answer.end;
	stack->copy_ended = answer.copy_ended;
	stack->leaf_guessed = answer.leaf_guessed;
	return true;
}

/* Whether the event is one that can be asked about. */
static bool make_question(const struct sp_recording *rec, uint32_t process,
			  const struct sp_event *event, struct question *ret_question)
{
	const struct sp_ev_stack_copy *copy = (const struct sp_ev_stack_copy *)event->head;

	if (event->head->type != SP_EV_stack_copy || process >= rec->n_processes ||
	    sp_dwarf_stack_pointer(copy->registers) < 0 || copy->words > SP_DWARF_MAX_WORDS ||
	    copy->below > copy->words ||
	    event->tail_bytes / 8 < (uint64_t)copy->registers + copy->words)
		return false;
	*ret_question =
		(struct question){copy->time, process, copy->registers, copy->words, copy->below};
	return true;
}

int sp_unwind_dwarf_find(struct sp_unwind_dwarf *unwind, uint32_t process,
			 const struct sp_event *event, struct sp_dwarf_stack *ret_stack)
{
	struct question question;
	int r = 0;

	ret_stack->frames = ret_stack->signal_frames = 0;
	ret_stack->end = SP_STACK_UNKNOWN;
	ret_stack->copy_ended = ret_stack->leaf_guessed = false;
	if (unwind->stats.gave_up ||
	    !make_question(unwind->job.recording, process, event, &question)) {
		unwind->stats.not_tried++;
		return 0;
	}
	if (!unwind->child)
		r = start_child(unwind);
	if (r < 0)
		return r;
	if (!ask(unwind, &question, event->tail, ret_stack)) {
		ret_stack->frames = 0;
		unwind->stats.not_tried++;
		return bury(unwind);
	}
	unwind->stats.stacks++;
	unwind->stats.frames += ret_stack->frames;
	return 0;
}

void sp_unwind_dwarf_stats(struct sp_unwind_dwarf *unwind, struct sp_dwarf_stats *ret_stats)
{
	(void)take_notes(unwind); /* without memory, fewer files are named */
	*ret_stats = unwind->stats;
	ret_stats->files = unwind->files;
	ret_stats->n_files = unwind->n_files;
}

void sp_unwind_dwarf_free(struct sp_unwind_dwarf *unwind)
{
	if (!unwind)
		return;
	end_child(unwind);
	munmap(unwind->shared, sizeof(*unwind->shared));
	sp_idmap_free(&unwind->deadly);
	sp_idmap_free(&unwind->told);
	free(unwind->files);
	free(unwind->copy);
	free(unwind);
}
