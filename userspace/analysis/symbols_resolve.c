/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbols_resolve.c - runs a worker for each module with addresses to look up, and keeps the
 * answers.
 *
 * Whatever becomes of a worker, its addresses count as resolved afterwards, so nothing is tried
 * twice.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/analysis/symbol_worker.h"
#include "userspace/analysis/symbols_private.h"
#include "userspace/base/array.h"

#define MAX_JOBS SP_SYMBOLS_MAX_JOBS

/* ---- what a worker says ---- */

struct job {
	struct sp_symbols *symbols;
	struct sp_symbols_file *module;
	struct sp_symbol *places; /* one for each pending address */
	const char **texts;	  /* by the worker's numbers */
	size_t n_texts, texts_capacity;
	struct sp_worker_reader reader;
	pid_t pid;
	int fd;
	time_t heard; /* when it last said something, CLOCK_MONOTONIC */
};

static int set_text(char **text, const char **shown, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	*shown = copy;
	return 0;
}

static int take_status(void *context, enum sp_symbols_status status, const char *reason)
{
	struct sp_symbols_file *module = ((struct job *)context)->module;

	module->public.status = status;
	return set_text(&module->reason, &module->public.reason, reason);
}

static int take_debug_file(void *context, const char *path)
{
	struct sp_symbols_file *module = ((struct job *)context)->module;

	return set_text(&module->debug_file, &module->public.debug_file, path);
}

static int take_text(void *context, const char *text)
{
	struct job *job = context;
	const char **kept = sp_array_add(&job->texts, &job->n_texts, &job->texts_capacity);

	if (!kept)
		return -ENOMEM;
	*kept = sp_pool_add(job->symbols->texts, text);
	return *kept ? 0 : -ENOMEM;
}

static const char *text_of(const struct job *job, uint32_t number)
{
	return number == SP_WORKER_NO_TEXT ? job->symbols->unknown_text : job->texts[number];
}

static int take_place(void *context, uint32_t index, const struct sp_worker_frame *frames,
		      uint32_t n_frames)
{
	struct job *job = context;
	struct sp_symbol *place = &job->places[index];
	struct sp_frame *copy;

	job->symbols->done++;
	if (!n_frames || place->n_frames)
		return 0;
	copy = calloc(n_frames, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_frames; i++)
		copy[i] = (struct sp_frame){
			.function = text_of(job, frames[i].function),
			.raw = text_of(job, frames[i].raw),
			.file = text_of(job, frames[i].file),
			.line = frames[i].line,
		};
	*place = (struct sp_symbol){copy, n_frames};
	return 0;
}

static struct sp_symbol_sink job_sink(struct job *job)
{
	return (struct sp_symbol_sink){take_status, take_debug_file, take_text, take_place, job};
}

/* ---- running workers ---- */

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static int start_job(struct sp_symbols *symbols, struct sp_symbols_file *module, struct job *job)
{
	struct sp_symbol_job work = {module->public.path, module->public.build_id,
				     symbols->options.debug_path, module->pending,
				     module->n_pending, symbols->options.keep_clones};
	struct sp_symbol_sink sink = job_sink(job);

	*job = (struct job){.symbols = symbols, .module = module, .fd = -1, .heard = now_s()};
	job->reader.n_addresses = module->n_pending;
	job->places = calloc(module->n_pending, sizeof(*job->places));
	if (!job->places)
		return -ENOMEM;
	if (symbols->options.in_process)
		return sp_worker_run_here(&work, &job->reader, &sink);
	return sp_worker_start(&work, &job->pid, &job->fd);
}

/* Reads what there is. 1: there may be more later, 0: the worker closed its end. */
static int hear_job(struct job *job)
{
	struct sp_symbol_sink sink = job_sink(job);
	char bytes[64 << 10];
	ssize_t n = read(job->fd, bytes, sizeof(bytes));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	if (n == 0)
		return 0;
	job->heard = now_s();
	return sp_worker_feed(&job->reader, bytes, (size_t)n, &sink) < 0 ? -EBADMSG : 1;
}

/* Adds what the worker found to what is known; its addresses are known from now on, if only as
 * unknown. Takes the places. */
static int merge_places(struct job *job)
{
	struct sp_symbols_file *module = job->module;
	size_t total = module->n_entries + module->n_pending, at = total;
	size_t old = module->n_entries, new = module->n_pending;
	struct sp_symbols_entry *grown = reallocarray(module->entries, total, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	module->entries = grown;
	module->n_entries = total;
	while (new) {
		if (old && grown[old - 1].address > module->pending[new - 1]) {
			grown[--at] = grown[--old];
			continue;
		}
		new --;
		grown[--at] = (struct sp_symbols_entry){module->pending[new], job->places[new]};
		job->places[new] = (struct sp_symbol){0};
	}
	module->n_pending = 0;
	return 0;
}

static int finish_job(struct job *job, const char *trouble)
{
	struct sp_symbols_file *module = job->module;
	char reason[128];
	int status = 0, r = 0;

	if (job->fd >= 0)
		close(job->fd);
	if (job->pid > 0) {
		if (trouble)
			kill(job->pid, SIGKILL);
		while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (!job->reader.finished) {
		if (trouble)
			snprintf(reason, sizeof(reason), "%s", trouble);
		else if (WIFSIGNALED(status))
			snprintf(reason, sizeof(reason),
				 "reading its debug information failed (%s): is it damaged?",
				 strsignal(WTERMSIG(status)));
		else
			snprintf(reason, sizeof(reason),
				 "reading its debug information failed: not enough memory?");
		r = take_status(job, SP_SYMBOLS_DAMAGED, reason);
	}
	if (r == 0)
		r = merge_places(job);
	for (size_t i = 0; i < module->n_pending; i++)
		free((void *)job->places[i].frames);
	free(job->places);
	free(job->texts);
	sp_worker_reader_done(&job->reader);
	return r;
}

/* Waits for any of the running jobs; finished ones are taken out of the list. */
static int attend(struct sp_symbols *symbols, struct job *jobs, size_t *n_jobs)
{
	struct pollfd polled[MAX_JOBS];
	int result = 0;

	for (size_t i = 0; i < *n_jobs; i++)
		polled[i] = (struct pollfd){.fd = jobs[i].fd, .events = POLLIN};
	if (poll(polled, *n_jobs, 1000) < 0 && errno != EINTR)
		return -errno;
	for (size_t i = *n_jobs; i-- > 0;) {
		const char *trouble = NULL;
		int r = polled[i].revents ? hear_job(&jobs[i]) : 1;

		if (r == 1 && now_s() - jobs[i].heard > (time_t)symbols->options.patience_s)
			trouble = "given up: reading its debug information took too long";
		else if (r < 0)
			trouble = "reading its debug information went wrong";
		else if (r == 1)
			continue;
		r = finish_job(&jobs[i], trouble);
		if (r < 0)
			result = r;
		jobs[i] = jobs[--*n_jobs];
	}
	return result;
}

/* Leaves in pending, sorted, what is neither doubled nor known. */
static void sift_pending(struct sp_symbols_file *module)
{
	size_t kept = 0;

	if (module->n_pending)
		qsort(module->pending, module->n_pending, sizeof(*module->pending),
		      sp_symbols_compare_addresses);
	for (size_t i = 0; i < module->n_pending; i++) {
		if (kept && module->pending[kept - 1] == module->pending[i])
			continue;
		if (!sp_symbols_entry_find(module, module->pending[i]))
			module->pending[kept++] = module->pending[i];
	}
	module->n_pending = kept;
}

int sp_symbols_resolve(struct sp_symbols *symbols)
{
	struct job jobs[MAX_JOBS];
	size_t n_jobs = 0, next = 0;
	time_t started = now_s();
	int r = 0;

	symbols->ran_out_of_time = false;
	symbols->done = symbols->total = 0;
	for (size_t i = 0; i < symbols->n_modules; i++) {
		sift_pending(&symbols->modules[i]);
		symbols->total += symbols->modules[i].n_pending;
	}
	while (r == 0 && (n_jobs || next < symbols->n_modules)) {
		if (symbols->options.limit_s &&
		    now_s() - started >= (time_t)symbols->options.limit_s) {
			symbols->ran_out_of_time = true;
			break;
		}
		while (r == 0 && n_jobs < symbols->options.jobs && next < symbols->n_modules) {
			struct sp_symbols_file *module = &symbols->modules[next++];

			if (!module->n_pending)
				continue;
			r = start_job(symbols, module, &jobs[n_jobs]);
			if (r < 0 || symbols->options.in_process) {
				int finished = finish_job(&jobs[n_jobs], NULL);

				r = r < 0 ? r : finished;
			} else {
				n_jobs++;
			}
		}
		if (r == 0 && n_jobs)
			r = attend(symbols, jobs, &n_jobs);
		if (symbols->options.progress)
			symbols->options.progress(symbols->options.context, symbols->done,
						  symbols->total);
	}
	while (n_jobs)
		finish_job(&jobs[--n_jobs], "given up");
	return r;
}

bool sp_symbols_ran_out_of_time(const struct sp_symbols *symbols)
{
	return symbols->ran_out_of_time;
}
