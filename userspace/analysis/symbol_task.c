/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_task.c - see symbol_task.h.
 */
#include "userspace/analysis/symbol_task.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

/* ---- what a worker says ---- */

int sp_symbols_set_text(char **text, const char **shown, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	*shown = copy;
	return 0;
}

int sp_symbols_set_status(struct sp_symbols_file *module, enum sp_symbols_status status,
			  const char *reason)
{
	/* If reading one part went wrong, that of another does not make it right. */
	if (module->public.status == SP_SYMBOLS_DAMAGED)
		return 0;
	module->public.status = status;
	return sp_symbols_set_text(&module->reason, &module->public.reason, reason);
}

static int take_status(void *context, enum sp_symbols_status status, const char *reason)
{
	return sp_symbols_set_status(((struct sp_symbol_task *)context)->module, status, reason);
}

static int take_debug_file(void *context, const char *path)
{
	struct sp_symbols_file *module = ((struct sp_symbol_task *)context)->module;

	return sp_symbols_set_text(&module->debug_file, &module->public.debug_file, path);
}

static int take_text(void *context, const char *text)
{
	struct sp_symbol_task *task = context;
	const char **kept = sp_array_add(&task->texts, &task->n_texts, &task->texts_capacity);

	if (!kept)
		return -ENOMEM;
	*kept = sp_pool_add(task->symbols->texts, text);
	return *kept ? 0 : -ENOMEM;
}

static const char *text_of(const struct sp_symbol_task *task, uint32_t number)
{
	return number == SP_WORKER_NO_TEXT ? task->symbols->unknown_text : task->texts[number];
}

static int take_place(void *context, uint32_t index, const struct sp_worker_frame *frames,
		      uint32_t n_frames)
{
	struct sp_symbol_task *task = context;
	struct sp_symbol *place = &task->module->places[task->first + index];
	struct sp_frame *copy;

	task->symbols->done++;
	if (!n_frames || place->n_frames)
		return 0;
	copy = calloc(n_frames, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_frames; i++)
		copy[i] = (struct sp_frame){
			.function = text_of(task, frames[i].function),
			.raw = text_of(task, frames[i].raw),
			.file = text_of(task, frames[i].file),
			.line = frames[i].line,
		};
	*place = (struct sp_symbol){copy, n_frames};
	return 0;
}

static struct sp_symbol_sink sink_of(struct sp_symbol_task *task)
{
	return (struct sp_symbol_sink){take_status, take_debug_file, take_text, take_place, task};
}

/* ---- running workers ---- */

uint64_t sp_symbols_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The files that may be the module. Without a build-id nothing but the time of recording tells that
 * the one at the path is: a copy is surer. NULL without memory. */
static const char **paths_of(const struct sp_symbols_file *module, size_t *ret_n)
{
	const char **paths = calloc(module->n_copies + 2, sizeof(*paths));
	size_t n = 0;

	if (!paths)
		return NULL;
	if (*module->public.build_id)
		paths[n++] = module->public.path;
	for (size_t i = 0; i < module->n_copies; i++)
		paths[n++] = module->copies[i];
	if (!*module->public.build_id)
		paths[n++] = module->public.path;
	if (module->fetched)
		paths[n++] = module->fetched;
	*ret_n = n;
	return paths;
}

static int start_worker(struct sp_symbol_task *task, const char *const *paths, size_t n_paths)
{
	const struct sp_symbols_options *options = &task->symbols->options;
	struct sp_symbol_job work = {
		.paths = paths,
		.n_paths = n_paths,
		.build_id = task->module->public.build_id,
		.debug_path = options->debug_path,
		.addresses = task->module->pending + task->first,
		.n = task->n,
		.keep_clones = options->keep_clones,
		.raw_names = options->raw_names,
		.share = options->jobs,
	};
	struct sp_symbol_sink sink = sink_of(task);

	if (options->in_process)
		return sp_worker_run_here(&work, &task->reader, &sink);
	return sp_worker_start(&work, &task->pid, &task->fd);
}

int sp_symbol_task_start(struct sp_symbols *symbols, struct sp_symbols_file *module,
			 struct sp_symbol_task *task)
{
	size_t n = module->n_pending, part = module->next_part++, n_paths;
	sp_cleanup(sp_freep) const char **paths = paths_of(module, &n_paths);

	*task = (struct sp_symbol_task){.symbols = symbols,
					.module = module,
					.fd = -1,
					.heard = (time_t)(sp_symbols_now_ns() / 1000000000u)};
	task->first = n / module->parts * part;
	task->n = (part + 1 == module->parts ? n : n / module->parts * (part + 1)) - task->first;
	task->reader.n_addresses = task->n;
	module->running++;
	return paths ? start_worker(task, paths, n_paths) : -ENOMEM;
}

int sp_symbol_task_hear(struct sp_symbol_task *task)
{
	struct sp_symbol_sink sink = sink_of(task);
	char bytes[64 << 10];
	ssize_t n = read(task->fd, bytes, sizeof(bytes));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	if (n == 0)
		return 0;
	task->heard = (time_t)(sp_symbols_now_ns() / 1000000000u);
	return sp_worker_feed(&task->reader, bytes, (size_t)n, &sink) < 0 ? -EBADMSG : 1;
}

int sp_symbol_task_end(struct sp_symbol_task *task, const char *trouble)
{
	char reason[128];
	int status = 0, r = 0;

	if (task->fd >= 0)
		close(task->fd);
	if (task->pid > 0) {
		if (trouble)
			kill(task->pid, SIGKILL);
		while (waitpid(task->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (!task->reader.finished) {
		if (trouble)
			snprintf(reason, sizeof(reason), "%s", trouble);
		else if (WIFSIGNALED(status))
			snprintf(reason, sizeof(reason),
				 "reading its debug information failed (%s): is it damaged?",
				 strsignal(WTERMSIG(status)));
		else
			snprintf(reason, sizeof(reason),
				 "reading its debug information failed: not enough memory?");
		r = sp_symbols_set_status(task->module, SP_SYMBOLS_DAMAGED, reason);
	}
	free(task->texts);
	sp_worker_reader_done(&task->reader);
	task->module->running--;
	return r;
}
