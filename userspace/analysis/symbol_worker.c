/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_worker.c - the worker: looks up, sends messages, dies alone.
 *
 * Every text is sent before the first message that names its number.
 */
#include "userspace/analysis/symbol_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/analysis/debug_info.h"
#include "userspace/analysis/names.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/confine.h"
#include "userspace/base/idmap.h"
#include "userspace/base/pool.h"

_Static_assert(SP_WORKER_MAX_FRAMES >= SP_DEBUG_MAX_INLINED, "every chain fits a message");

/* ---- the worker's end ---- */

struct readable {
	struct sp_name_hints hints;
	uint32_t number; /* of the text + 1; 0 none */
};

struct worker {
	struct sp_pool *made;	    /* texts that were put together here */
	struct sp_idmap by_pointer; /* numbers of texts, all of which stay where they are */
	const char **texts;	    /* by number */
	size_t n_texts, texts_capacity;
	struct readable *readable; /* by number of a linker name: the last one that was made */
	size_t readable_capacity;
	bool keep_clones, raw_names;
	bool dying; /* the process ends with the work: its memory need not be taken apart */
	struct sp_debug_info *info; /* then, what is left of it */
	unsigned char buffer[64 << 10];
	size_t used;
	int (*write)(void *context, const void *bytes, size_t size);
	void *context;
};

/* Of a process that ends with its work: so that nobody takes this for a leak. */
static struct worker *volatile left_alone;

static int flush(struct worker *worker)
{
	int r = worker->used ? worker->write(worker->context, worker->buffer, worker->used) : 0;

	worker->used = 0;
	return r;
}

static int put(struct worker *worker, const void *bytes, size_t size)
{
	const unsigned char *from = bytes;

	while (size) {
		size_t room = sizeof(worker->buffer) - worker->used;
		size_t part = size < room ? size : room;

		memcpy(worker->buffer + worker->used, from, part);
		worker->used += part;
		from += part;
		size -= part;
		if (worker->used == sizeof(worker->buffer)) {
			int r = flush(worker);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int send_message(struct worker *worker, enum sp_worker_kind kind, const void *first,
			size_t first_size, const void *second, size_t second_size)
{
	struct sp_worker_header header = {kind, (uint32_t)(first_size + second_size)};
	int r = put(worker, &header, sizeof(header));

	if (r == 0)
		r = put(worker, first, first_size);
	return r == 0 ? put(worker, second, second_size) : r;
}

/* Sends a text that lives as long as the worker, if it is new. Found by its address: it is looked
 * at once, not at each of the many addresses in a function. The same text at two addresses has two
 * numbers; the reader joins them. */
static int send_text(struct worker *worker, const char *text, uint32_t *ret_id)
{
	const char **kept;
	int r;

	*ret_id = SP_WORKER_NO_TEXT;
	if (!text || !*text)
		return 0;
	*ret_id = sp_idmap_get(&worker->by_pointer, (uintptr_t)text);
	if (*ret_id != SP_IDMAP_NONE)
		return 0;
	kept = sp_array_add(&worker->texts, &worker->n_texts, &worker->texts_capacity);
	if (!kept)
		return -ENOMEM;
	*kept = text;
	*ret_id = (uint32_t)(worker->n_texts - 1);
	r = sp_idmap_set(&worker->by_pointer, (uintptr_t)text, *ret_id);
	return r < 0 ? r
		     : send_message(worker, SP_WORKER_TEXT, text, strnlen(text, SP_WORKER_MAX_TEXT),
				    NULL, 0);
}

/* The same of a text that is about to be freed. */
static int send_made_text(struct worker *worker, const char *text, uint32_t *ret_id)
{
	const char *kept = sp_pool_add(worker->made, text);

	return kept ? send_text(worker, kept, ret_id) : -ENOMEM;
}

static bool same_hints(const struct sp_name_hints *a, const struct sp_name_hints *b)
{
	return a->fortran == b->fortran && a->name == b->name && a->module == b->module &&
	       a->parent == b->parent && a->parent_is_one_of == b->parent_is_one_of &&
	       a->construct == b->construct && a->whole == b->whole;
}

/* The readable form of a linker name that was sent as number @raw. */
static int send_readable(struct worker *worker, uint32_t raw, const struct sp_name_hints *found,
			 uint32_t *ret_id)
{
	struct sp_name_hints kept = *found, *hints = &kept;
	struct readable *known;
	sp_cleanup(sp_freep) char *name = NULL;
	int r;

	*ret_id = raw;
	if (raw == SP_WORKER_NO_TEXT || worker->raw_names)
		return 0;
	/* It goes away with its unit; what is made of it is known by it. */
	if (hints->whole)
		hints->whole = sp_pool_add(worker->made, hints->whole);
	if (raw >= worker->readable_capacity) {
		size_t capacity = (size_t)raw * 2 + 64;
		struct readable *grown = reallocarray(worker->readable, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + worker->readable_capacity, 0,
		       (capacity - worker->readable_capacity) * sizeof(*grown));
		worker->readable = grown;
		worker->readable_capacity = capacity;
	}
	known = &worker->readable[raw];
	if (!known->number || !same_hints(&known->hints, hints)) {
		known->hints = *hints;
		known->hints.keep_clones = worker->keep_clones;
		name = sp_name_readable(worker->texts[raw], &known->hints);
		if (name) {
			r = send_made_text(worker, name, ret_id);
			if (r < 0)
				return r;
		}
		known->number = *ret_id + 1;
	}
	*ret_id = known->number - 1;
	return 0;
}

/* Sends a frame's file, made absolute as addr2line does. libdw (split DWARF) joins the compiler's
 * directory only to some of the names; with one that is itself relative (reproducible builds) that
 * shows in the name. */
static int send_file(struct worker *worker, const struct sp_debug_frame *frame, uint32_t *ret_id)
{
	sp_cleanup(sp_freep) char *joined = NULL;
	size_t length = frame->directory ? strlen(frame->directory) : 0;

	if (!frame->file || frame->file[0] == '/' || !length ||
	    (!strncmp(frame->file, frame->directory, length) && frame->file[length] == '/'))
		return send_text(worker, frame->file, ret_id);
	if (asprintf(&joined, "%s/%s", frame->directory, frame->file) < 0) {
		joined = NULL;
		return -ENOMEM;
	}
	return send_made_text(worker, joined, ret_id);
}

static int send_place(void *context, size_t index, const struct sp_debug_frame *frames,
		      size_t n_frames)
{
	struct sp_worker_frame sent[SP_WORKER_MAX_FRAMES];
	struct worker *worker = context;
	uint32_t number = (uint32_t)index;

	for (size_t i = 0; i < n_frames; i++) {
		int r = send_text(worker, frames[i].function, &sent[i].raw);

		if (r == 0)
			r = send_readable(worker, sent[i].raw, &frames[i].names, &sent[i].function);
		if (r == 0)
			r = send_file(worker, &frames[i], &sent[i].file);
		if (r < 0)
			return r;
		sent[i].line = frames[i].line;
	}
	return send_message(worker, SP_WORKER_PLACE, &number, sizeof(number), sent,
			    n_frames * sizeof(sent[0]));
}

static int send_status(struct worker *worker, enum sp_symbols_status status, const char *reason)
{
	uint32_t number = status;

	return send_message(worker, SP_WORKER_STATUS, &number, sizeof(number), reason,
			    strlen(reason));
}

static enum sp_symbols_status status_of(int code)
{
	return code == -ESTALE	  ? SP_SYMBOLS_CHANGED
	       : code == -ENOEXEC ? SP_SYMBOLS_DAMAGED
				  : SP_SYMBOLS_MISSING;
}

/* "that of the first file; FILE: that of another". */
static void add_reason(char reason[SP_DEBUG_REASON], const char *path, const char *why, bool first)
{
	size_t used = strlen(reason), room = SP_DEBUG_REASON - used;
	int n;

	if (first)
		n = snprintf(reason + used, room, "%s", why);
	else
		n = snprintf(reason + used, room, "%s%s: %s", used ? "; " : "", path, why);
	if (n < 0)
		reason[used] = '\0';
}

/* The file to use, NULL if there is none; then, and where a file was passed over, *ret_code and
 * @reason say why. */
static int choose_file(const struct sp_symbol_job *job, struct sp_debug_info **ret_info,
		       int *ret_code, char reason[SP_DEBUG_REASON])
{
	struct sp_debug_info *first = NULL, *info;
	const char *debug_file;
	char why[SP_DEBUG_REASON];

	*ret_code = 0;
	for (size_t i = 0; i < job->n_paths; i++) {
		int r = sp_debug_info_open(job->paths[i], job->build_id, job->debug_path, &info,
					   why);

		if (r == -ENOMEM) {
			sp_debug_info_free(first);
			return r;
		}
		if (r < 0) {
			add_reason(reason, job->paths[i], why, i == 0);
			*ret_code = *ret_code ? *ret_code : r;
		} else if (sp_debug_info_has_lines(info, &debug_file)) {
			sp_debug_info_free(first);
			*ret_info = info;
			return 0;
		} else if (first) {
			sp_debug_info_free(info);
		} else {
			first = info;
		}
	}
	*ret_info = first;
	return 0;
}

static void say_lost(const struct sp_debug_info *info, char reason[SP_DEBUG_REASON])
{
	size_t lost = sp_debug_info_n_lost(info);

	reason[0] = '\0';
	if (lost)
		snprintf(reason, SP_DEBUG_REASON,
			 "%zu file%s of split debug information (.dwo, .dwp) cannot be found, so "
			 "its inlined calls are not known",
			 lost, lost == 1 ? "" : "s");
}

static int work(struct worker *worker, const struct sp_symbol_job *job)
{
	struct sp_debug_info *info = NULL;
	char reason[SP_DEBUG_REASON] = "";
	const char *debug_file = NULL;
	int code, r = choose_file(job, &info, &code, reason);

	if (r < 0)
		return r;
	if (!info) {
		r = send_status(worker, status_of(code), reason);
	} else {
		bool lines = sp_debug_info_has_lines(info, &debug_file);

		if (lines)
			say_lost(info, reason);
		r = send_status(worker, lines ? SP_SYMBOLS_LINES : SP_SYMBOLS_NAMES, reason);
		if (r == 0 && debug_file)
			r = send_message(worker, SP_WORKER_DEBUG_FILE, debug_file,
					 strnlen(debug_file, SP_WORKER_MAX_TEXT), NULL, 0);
		if (r == 0)
			r = flush(worker); /* known even if the rest goes wrong */
		if (r == 0)
			r = sp_debug_info_find(info, job->addresses, job->n, send_place, worker);
	}
	if (r == 0)
		r = send_message(worker, SP_WORKER_END, NULL, 0, NULL, 0);
	if (r == 0)
		r = flush(worker);
	if (worker->dying)
		worker->info = info;
	else
		sp_debug_info_free(info);
	return r;
}

static int run(const struct sp_symbol_job *job, int (*write)(void *, const void *, size_t),
	       void *context, bool dying)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	int r;

	if (!worker)
		return -ENOMEM;
	worker->write = write;
	worker->context = context;
	worker->keep_clones = job->keep_clones;
	worker->raw_names = job->raw_names;
	worker->dying = dying;
	worker->made = sp_pool_new();
	r = worker->made ? work(worker, job) : -ENOMEM;
	if (dying) {
		left_alone = worker;
		return r;
	}
	sp_pool_free(worker->made);
	free(worker->texts);
	sp_idmap_free(&worker->by_pointer);
	free(worker->readable);
	free(worker);
	return r;
}

/* ---- in a child ---- */

static int write_pipe(void *context, const void *bytes, size_t size)
{
	int fd = *(int *)context;

	while (size) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes = (const char *)bytes + n;
		size -= (size_t)n;
	}
	return 0;
}

int sp_worker_start(const struct sp_symbol_job *job, pid_t *ret_pid, int *ret_fd)
{
	pid_t parent = getpid(), pid;
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	pid = fork();
	if (pid < 0) {
		r = -errno;
		close(ends[0]);
		close(ends[1]);
		return r;
	}
	if (pid == 0) {
		close(ends[0]);
		sp_confine_child(parent, job->share);
		_exit(run(job, write_pipe, &ends[1], true) == 0 ? 0 : 1);
	}
	close(ends[1]);
	*ret_pid = pid;
	*ret_fd = ends[0];
	return 0;
}

/* ---- in this process ---- */

struct here {
	struct sp_worker_reader *reader;
	const struct sp_symbol_sink *sink;
};

static int write_here(void *context, const void *bytes, size_t size)
{
	struct here *here = context;

	return sp_worker_feed(here->reader, bytes, size, here->sink);
}

int sp_worker_run_here(const struct sp_symbol_job *job, struct sp_worker_reader *reader,
		       const struct sp_symbol_sink *sink)
{
	struct here here = {reader, sink};

	unsetenv("DEBUGINFOD_URLS");
	return run(job, write_here, &here, false);
}
