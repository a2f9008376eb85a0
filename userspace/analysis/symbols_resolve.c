/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbols_resolve.c - runs workers for the modules with addresses to look up, and keeps the
 * answers.
 *
 * A module goes through steps: it is read, in one part or several at a time; if it turns out to
 * have no debug information, servers are asked for it, all modules at once; with what they send it
 * is read again. Whatever becomes of a worker, its addresses count as resolved afterwards, so
 * nothing is tried twice.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "userspace/analysis/content_id.h"
#include "userspace/analysis/symbol_fetch.h"
#include "userspace/analysis/symbol_task.h"
#include "userspace/analysis/symbols_private.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define MAX_TASKS SP_SYMBOLS_MAX_JOBS
#define MAX_FETCHES 32
#define IDLE_S 5
#define IDLE_AGAIN_S 1
#define PART_ADDRESSES 400     /* fewer are not worth another process */
#define GRACE_NS 1000000000ull /* after the deadline, for servers' processes to tidy up */

struct fetch {
	struct sp_symbols_file *module;
	struct sp_symbol_fetch process;
};

/* All that goes on at a time. */
struct work {
	struct sp_symbols *symbols;
	struct sp_symbol_task tasks[MAX_TASKS];
	size_t n_tasks;
	struct fetch fetches[MAX_FETCHES];
	size_t n_fetches;
};

/* ---- a module's steps ---- */

static void drop_places(struct sp_symbols_file *module)
{
	free(module->places);
	module->places = NULL;
	if (module->board) {
		munmap(module->board, sizeof(*module->board));
		close(module->inflated_fd);
	}
	module->board = NULL;
}

/* What several workers share. */
static int make_board(struct sp_symbols_file *module)
{
	int fd = memfd_create("debug", MFD_CLOEXEC);
	void *shared;

	if (fd < 0)
		return -errno;
	shared = mmap(NULL, sizeof(*module->board), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		close(fd);
		return -ENOMEM;
	}
	module->board = shared;
	module->inflated_fd = fd;
	return 0;
}

static int begin_reading(struct sp_symbols *symbols, struct sp_symbols_file *module)
{
	size_t parts = module->n_pending / PART_ADDRESSES;

	drop_places(module);
	if (module->n_pending >= UINT32_MAX)
		return -E2BIG;
	if (parts > symbols->options.jobs)
		parts = symbols->options.jobs;
	module->parts = parts && !symbols->options.in_process ? (unsigned int)parts : 1;
	module->next_part = module->running = 0;
	module->step = SP_STEP_READ;
	module->public.status = SP_SYMBOLS_PENDING;
	module->answered = 0;
	module->places = calloc(module->n_pending, sizeof(*module->places));
	if (!module->places)
		return -ENOMEM;
	return module->parts > 1 ? make_board(module) : 0;
}

/* Adds what the workers found to what is known; the addresses are known from now on, if only as
 * unknown. */
static int merge_places(struct sp_symbols_file *module)
{
	size_t total = module->n_entries + module->n_pending, at = total;
	size_t old = module->n_entries, new = module->n_pending;
	struct sp_symbols_entry *grown;

	module->step = SP_STEP_DONE;
	for (size_t i = 0; i < new; i++)
		module->places[i].address = module->pending[i];
	if (old) {
		grown = reallocarray(module->entries, total, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		while (new)
			grown[--at] =
				old && grown[old - 1].address > module->places[new - 1].address
					? grown[--old]
					: module->places[--new];
	} else {
		free(module->entries);
		grown = module->places;
		module->places = NULL;
	}
	module->entries = grown;
	module->n_entries = total;
	drop_places(module);
	module->n_pending = 0;
	return sp_symbols_index_entries(module);
}

/* All parts were read. */
static int finish_reading(struct sp_symbols *symbols, struct sp_symbols_file *module)
{
	bool known = module->public.status == SP_SYMBOLS_LINES ||
		     module->public.status == SP_SYMBOLS_NAMES;
	bool lacking = module->public.status == SP_SYMBOLS_NAMES ||
		       module->public.status == SP_SYMBOLS_CHANGED ||
		       module->public.status == SP_SYMBOLS_MISSING;
	int r = 0;

	if (lacking && symbols->options.debuginfod && !module->asked && *module->public.build_id &&
	    !sp_content_id_is(module->public.build_id) && module->public.path[0] != '[' &&
	    sp_symbol_fetch_possible()) {
		module->asked = true;
		module->step = SP_STEP_FETCH;
		return 0;
	}
	/* Workers who found different files under its name have shared out different work. */
	if (known && module->answered < module->n_pending)
		r = sp_symbols_set_status(module, SP_SYMBOLS_DAMAGED,
					  "was replaced while it was read: try again");
	return r < 0 ? r : merge_places(module);
}

/* Servers may have what the file that does not answer has. */
static int pass_over(struct sp_symbols *symbols, struct sp_symbols_file *module)
{
	int r = sp_symbols_set_status(module, SP_SYMBOLS_MISSING,
				      "its file system does not answer");

	symbols->waited_in_vain = true;
	symbols->done += module->n_pending;
	module->next_part = module->parts;
	return r < 0 ? r : finish_reading(symbols, module);
}

static int finish_task(struct sp_symbol_task *task, const char *trouble)
{
	struct sp_symbols_file *module = task->module;
	bool opened = module->public.status != SP_SYMBOLS_PENDING;
	int r = sp_symbol_task_end(task, trouble);

	/* What the first one could not open in all its time is not tried again. */
	if (!opened)
		module->next_part = module->parts;
	/* The first one may have done it all before another was begun. */
	if (module->answered == module->n_pending)
		module->next_part = module->parts;
	if (r == 0 && !module->running && module->next_part == module->parts)
		r = finish_reading(task->symbols, module);
	return r;
}

/* ---- servers ---- */

/* Nothing came, so what is known without servers holds. */
static int give_up_fetch(struct sp_symbols *symbols, struct sp_symbols_file *module,
			 const char *reason)
{
	sp_cleanup(sp_freep) char *both = NULL;
	int r;

	symbols->done += module->n_pending;
	if (asprintf(&both, "%s%s%s", module->public.reason, *module->public.reason ? "; " : "",
		     reason) < 0) {
		both = NULL;
		return -ENOMEM;
	}
	r = sp_symbols_set_text(&module->reason, &module->public.reason, both);
	return r < 0 ? r : merge_places(module);
}

static int start_fetch(struct work *work, struct sp_symbols_file *module)
{
	struct sp_symbols *symbols = work->symbols;
	struct fetch *fetch = &work->fetches[work->n_fetches];
	int r;

	/* The addresses are not done yet. */
	symbols->done -= module->n_pending < symbols->done ? module->n_pending : symbols->done;
	if (!symbols->fetch_until)
		symbols->fetch_until =
			sp_symbols_now_ns() + symbols->options.debuginfod_s * 1000000000ull;
	if (sp_symbols_now_ns() >= symbols->fetch_until)
		return give_up_fetch(symbols, module, SP_SYMBOLS_NO_ANSWER);
	r = sp_symbol_fetch_start(&fetch->process, module->public.build_id, symbols->fetch_until);
	if (r < 0)
		return r;
	fetch->module = module;
	module->step = SP_STEP_WAIT;
	work->n_fetches++;
	return 0;
}

static int finish_fetch(struct work *work, struct fetch *fetch)
{
	struct sp_symbols_file *module = fetch->module;
	const char *path, *reason;

	sp_symbol_fetch_end(&fetch->process, &path, &reason);
	if (!path)
		return give_up_fetch(work->symbols, module, reason);
	module->fetched = strdup(path);
	return module->fetched ? begin_reading(work->symbols, module) : -ENOMEM;
}

/* ---- all of it ---- */

static bool is_left(const struct sp_symbols *symbols)
{
	for (size_t i = 0; i < symbols->n_modules; i++)
		if (symbols->modules[i].step != SP_STEP_DONE)
			return true;
	return false;
}

/* The first worker of a module opens its files before the others do: what it inflates is theirs,
 * and they are not needed for one that cannot be opened. */
static bool may_start(const struct sp_symbols_file *module)
{
	return module->step == SP_STEP_READ && module->next_part < module->parts &&
	       (!module->next_part || module->public.status != SP_SYMBOLS_PENDING);
}

/* Starts what there is room for. */
static int start_more(struct work *work)
{
	struct sp_symbols *symbols = work->symbols;
	int r = 0;

	for (size_t i = 0; i < symbols->n_modules && r == 0; i++) {
		struct sp_symbols_file *module = &symbols->modules[i];

		while (r == 0 && may_start(module) && work->n_tasks < symbols->options.jobs) {
			struct sp_symbol_task *task = &work->tasks[work->n_tasks];

			r = sp_symbol_task_start(symbols, module, task);
			if (r < 0 || symbols->options.in_process) {
				int finished = finish_task(task, NULL);

				r = r < 0 ? r : finished;
			} else {
				work->n_tasks++;
			}
		}
		if (r == 0 && module->step == SP_STEP_FETCH && work->n_fetches < MAX_FETCHES)
			r = start_fetch(work, module);
	}
	return r;
}

/* Milliseconds that a worker may sleep. Many files that never answer cost little more than one. */
static uint64_t idle_limit_ms(const struct sp_symbols *symbols)
{
	unsigned int limit_s = symbols->waited_in_vain ? IDLE_AGAIN_S : IDLE_S;

	return 1000ull *
	       (limit_s < symbols->options.patience_s ? limit_s : symbols->options.patience_s);
}

static int attend_task(struct work *work, size_t i, bool ready)
{
	struct sp_symbol_task *task = &work->tasks[i];
	const char *trouble = NULL;
	int r = ready ? sp_symbol_task_hear(task) : 1;

	if (r == 1 && sp_symbol_task_idle_ms(task) >= idle_limit_ms(work->symbols)) {
		work->symbols->waited_in_vain = true;
		trouble = "given up: waiting for its debug information took too long; is its debug "
			  "file a FIFO, or on a server that does not answer?";
	} else if (r == 1 && (time_t)(sp_symbols_now_ns() / 1000000000u) - task->heard >
				     (time_t)work->symbols->options.patience_s)
		trouble = "given up: reading its debug information took too long";
	else if (r < 0)
		trouble = "reading its debug information went wrong";
	else if (r == 1)
		return 0;
	r = finish_task(task, trouble);
	work->tasks[i] = work->tasks[--work->n_tasks];
	return r;
}

static int attend_fetch(struct work *work, size_t i, bool ready)
{
	struct fetch *fetch = &work->fetches[i];
	int r = ready ? sp_symbol_fetch_hear(&fetch->process) : 1;

	if (r == 1 && sp_symbols_now_ns() < work->symbols->fetch_until + GRACE_NS)
		return 0;
	r = finish_fetch(work, fetch);
	work->fetches[i] = work->fetches[--work->n_fetches];
	return r;
}

/* Waits for any of the processes; finished ones are taken out of the lists. */
static int attend(struct work *work)
{
	struct pollfd polled[MAX_TASKS + MAX_FETCHES];
	size_t n_tasks = work->n_tasks, n = 0;
	int result = 0;

	for (size_t i = 0; i < work->n_tasks; i++)
		polled[n++] = (struct pollfd){.fd = work->tasks[i].child.fd, .events = POLLIN};
	for (size_t i = 0; i < work->n_fetches; i++)
		polled[n++] =
			(struct pollfd){.fd = work->fetches[i].process.child.fd, .events = POLLIN};
	if (poll(polled, n, work->n_fetches ? 200 : 1000) < 0) {
		if (errno != EINTR)
			return -errno;
		return 0;
	}
	/* Backwards: what is taken out of a list leaves the ones before it alone. */
	for (size_t i = n; i-- > 0;) {
		bool ready = polled[i].revents != 0;
		int r = i < n_tasks ? attend_task(work, i, ready)
				    : attend_fetch(work, i - n_tasks, ready);

		if (r < 0)
			result = r;
	}
	return result;
}

/* Ends what still runs, after a failure or at the limit of time. */
static void stop_all(struct work *work)
{
	const char *path, *reason;

	while (work->n_tasks)
		finish_task(&work->tasks[--work->n_tasks], "given up");
	while (work->n_fetches)
		sp_symbol_fetch_end(&work->fetches[--work->n_fetches].process, &path, &reason);
	for (size_t i = 0; i < work->symbols->n_modules; i++) {
		struct sp_symbols_file *module = &work->symbols->modules[i];

		/* Of those that servers were to be asked for more is known than nothing. */
		if (module->step == SP_STEP_FETCH || module->step == SP_STEP_WAIT)
			merge_places(module);
		drop_places(module);
		module->step = SP_STEP_DONE;
	}
}

int sp_symbols_resolve(struct sp_symbols *symbols)
{
	sp_cleanup(sp_freep) struct work *work = calloc(1, sizeof(*work));
	unsigned int limit_s = symbols->options.limit_s;
	time_t started = (time_t)(sp_symbols_now_ns() / 1000000000u);
	int r = 0;

	if (!work)
		return -ENOMEM;
	work->symbols = symbols;
	symbols->ran_out_of_time = false;
	symbols->done = symbols->total = 0;
	for (size_t i = 0; i < symbols->n_modules && r == 0; i++) {
		sp_symbols_sift_pending(&symbols->modules[i]);
		symbols->total += symbols->modules[i].n_pending;
		if (symbols->modules[i].n_pending)
			r = begin_reading(symbols, &symbols->modules[i]);
		if (r == 0 && symbols->modules[i].n_pending && symbols->modules[i].silent &&
		    !symbols->modules[i].n_copies)
			r = pass_over(symbols, &symbols->modules[i]);
	}
	do {
		if (limit_s &&
		    (time_t)(sp_symbols_now_ns() / 1000000000u) - started >= (time_t)limit_s) {
			symbols->ran_out_of_time = true;
			break;
		}
		if (r == 0)
			r = start_more(work);
		if (r == 0 && (work->n_tasks || work->n_fetches))
			r = attend(work);
		if (symbols->options.progress)
			symbols->options.progress(symbols->options.context, symbols->done,
						  symbols->total);
	} while (r == 0 && is_left(symbols));
	stop_all(work);
	return r;
}

bool sp_symbols_ran_out_of_time(const struct sp_symbols *symbols)
{
	return symbols->ran_out_of_time;
}

bool sp_symbols_waited_in_vain(const struct sp_symbols *symbols)
{
	return symbols->waited_in_vain;
}
