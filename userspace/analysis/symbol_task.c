/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_task.c - see symbol_task.h.
 */
#include "userspace/analysis/symbol_task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/block.h"

#define READ_BYTES (256u << 10) /* at a time, at most */

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
	return number == SP_WORKER_NONE ? task->symbols->unknown_text : task->texts[number];
}

static struct sp_call *call_of(const struct sp_symbol_task *task, uint32_t link)
{
	return &task->calls[link / SP_SYMBOLS_CALLS]->calls[link % SP_SYMBOLS_CALLS];
}

/* Room for more calls, which live as long as the module. */
static int add_calls(struct sp_symbol_task *task)
{
	struct sp_symbols_calls *calls = malloc(sizeof(*calls)), **kept;

	if (!calls)
		return -ENOMEM;
	kept = sp_array_add(&task->calls, &task->n_calls, &task->calls_capacity);
	if (!kept) {
		free(calls);
		return -ENOMEM;
	}
	*kept = calls;
	calls->next = task->module->calls;
	task->module->calls = calls;
	return 0;
}

static int take_link(void *context, const struct sp_worker_link *link)
{
	struct sp_symbol_task *task = context;

	if (task->n_links == task->n_calls * SP_SYMBOLS_CALLS && add_calls(task) < 0)
		return -ENOMEM;
	*call_of(task, (uint32_t)task->n_links++) = (struct sp_call){
		.function = text_of(task, link->function),
		.raw = text_of(task, link->raw),
		.call_file = text_of(task, link->call_file),
		.call_line = link->call_line,
		.around = link->around == SP_WORKER_NONE ? NULL : call_of(task, link->around),
	};
	return 0;
}

static int take_place(void *context, const struct sp_worker_place *sent)
{
	struct sp_symbol_task *task = context;
	struct sp_symbols_file *module = task->module;
	struct sp_symbol *place = &module->places[sent->index].symbol;
	bool linked = sent->link != SP_WORKER_NONE;

	task->symbols->done++;
	module->answered++;
	if (place->n_frames || (!linked && sent->file == SP_WORKER_NONE))
		return 0;
	*place = (struct sp_symbol){
		.innermost = linked ? call_of(task, sent->link) : &task->symbols->unknown_call,
		.file = text_of(task, sent->file),
		.line = sent->line,
		.n_frames = linked ? task->reader.depths[sent->link] : 1,
	};
	return 0;
}

static struct sp_symbol_sink sink_of(struct sp_symbol_task *task)
{
	return (struct sp_symbol_sink){take_status, take_debug_file, take_text,
				       take_link,   take_place,	     task};
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
	bool has_id = *module->public.build_id;
	size_t n = 0;

	if (!paths)
		return NULL;
	if (has_id && !module->silent)
		paths[n++] = module->public.path;
	for (size_t i = 0; i < module->n_copies; i++)
		paths[n++] = module->copies[i];
	if (!has_id && !module->silent)
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
		.addresses = task->module->pending,
		.n = (uint32_t)task->module->n_pending,
		.share = {task->module->parts, task->module->board, task->module->inflated_fd,
			  options->raw_names},
		.keep_clones = options->keep_clones,
		.raw_names = options->raw_names,
		.at_once = options->jobs,
	};
	struct sp_symbol_sink sink = sink_of(task);

	if (options->in_process)
		return sp_worker_run_here(&work, &task->reader, &sink);
	return sp_worker_start(&work, &task->child);
}

int sp_symbol_task_start(struct sp_symbols *symbols, struct sp_symbols_file *module,
			 struct sp_symbol_task *task)
{
	sp_cleanup(sp_freep) const char **paths = NULL;
	size_t n_paths;
	int r;

	*task = (struct sp_symbol_task){.symbols = symbols,
					.module = module,
					.child.fd = -1,
					.heard = (time_t)(sp_symbols_now_ns() / 1000000000u)};
	task->reader.n_addresses = module->n_pending;
	module->next_part++;
	module->running++;
	paths = paths_of(module, &n_paths);
	r = paths ? start_worker(task, paths, n_paths) : -ENOMEM;
	if (module->next_part == module->parts) /* no further worker shares the pages */
		sp_block_prefault(module->places, module->n_pending * sizeof(*module->places));
	return r;
}

int sp_symbol_task_hear(struct sp_symbol_task *task)
{
	struct sp_symbol_sink sink = sink_of(task);
	unsigned char *bytes = sp_worker_room(&task->reader, READ_BYTES);
	ssize_t n;

	if (!bytes)
		return -ENOMEM;
	n = read(task->child.fd, bytes, READ_BYTES);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	if (n == 0)
		return 0;
	task->heard = (time_t)(sp_symbols_now_ns() / 1000000000u);
	task->pulse = (struct sp_child_pulse){0};
	return sp_worker_take(&task->reader, (size_t)n, &sink) < 0 ? -EBADMSG : 1;
}

uint64_t sp_symbol_task_idle_ms(struct sp_symbol_task *task)
{
	/* Not asked for each time that another one says something. */
	if ((time_t)(sp_symbols_now_ns() / 1000000000u) - task->heard < 1)
		return 0;
	return sp_child_rest_ms(&task->child, &task->pulse);
}

int sp_symbol_task_end(struct sp_symbol_task *task, const char *trouble)
{
	char reason[192];
	int status = sp_child_end(&task->child, trouble != NULL), r = 0;

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
	free(task->calls);
	sp_worker_reader_done(&task->reader);
	task->module->running--;
	return r;
}
