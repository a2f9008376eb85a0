// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_guard_child.c - the process in which libhdf5 meets a file that may be damaged.
 *
 * Invariant: it has its socket, the window and the profile's file, and nothing else; it cannot
 * write a file, leave a core or outlive its parent, and it never runs the parent's exit handlers,
 * which would write what the parent's copy of libhdf5 has not written yet.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "formats/profile_guard_internal.h"
#include "formats/profile_h5.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#ifdef SP_GUARD_TEST_HOOK
/* Only in what the tests are built of: lets them crash, hang and grow. */
__attribute__((weak)) void sp_guard_test_hook(const struct sp_guard_request *request);
#endif

struct child {
	const struct sp_guard_child_setup *setup;
	struct sp_profile *profile;
	struct sp_pipe out;
};

/* ---- confinement ---- */

static void lower(int resource, rlim_t soft)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit))
		return;
	if (limit.rlim_max == RLIM_INFINITY || soft < limit.rlim_max)
		limit.rlim_cur = soft;
	else
		limit.rlim_cur = limit.rlim_max;
	setrlimit((__rlimit_resource_t)resource, &limit);
}

/* What it has, and what it may add. Sanitizers map terabytes. */
static void limit_memory(uint64_t memory)
{
	char text[64] = "";
	int fd = SANITIZED ? -1 : open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n > 0)
		lower(RLIMIT_AS, strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) + memory);
}

static void limit_cpu(unsigned int seconds)
{
	struct timespec used = {0};

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	lower(RLIMIT_CPU, (rlim_t)used.tv_sec + 1 + seconds);
}

static void reset_signals(void)
{
	/* The terminal's are for the parent, which knows what to do. */
	static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP};
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Leaves 0 to 2, which print into nothing, and the socket as 3. */
static int keep_one(int fd)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct rlimit limit = {.rlim_cur = 1024};

	for (int i = 0; nothing >= 0 && i < (SANITIZED ? 2 : 3); i++)
		if (i != fd)
			dup2(nothing, i);
	if (fd != 3)
		dup2(fd, 3);
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, 4u, UINT_MAX, 0u))
		return 3;
#endif
	getrlimit(RLIMIT_NOFILE, &limit);
	for (rlim_t i = 4; i < limit.rlim_cur && i < 1 << 20; i++)
		close((int)i);
	return 3;
}

static int confine(const struct sp_guard_child_setup *setup)
{
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != setup->parent)
		_exit(0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	reset_signals();
	fd = keep_one(setup->fd);
	limit_memory(setup->limits.memory);
	lower(RLIMIT_CORE, 0);
	lower(RLIMIT_FSIZE, 0);
	/* A pattern that pipes cores into a program ignores that limit. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return fd;
}

/* ---- answers ---- */

static void reply(struct child *child, int code, const struct sp_error *error)
{
	struct sp_guard_reply reply = {.code = code, .error = *error};

	sp_pipe_value(&child->out, reply);
	if (code)
		sp_pipe_end(&child->out);
}

static int open_profile(struct child *child, struct sp_error *error)
{
	int r = sp_profile_open(child->setup->path, &child->profile, error);

	if (!r && child->profile->info.format != SP_FORMAT_HDF5)
		r = sp_error_set(error, -ESTALE, 0, "has changed while it was opened");
	return r;
}

static void answer_open(struct child *child, bool rows)
{
	struct sp_error error = {0};
	int r = open_profile(child, &error);
	struct sp_guard_opened opened = {0};
	const struct sp_profile_info *info;

	reply(child, r, &error);
	if (r)
		return;
	info = &child->profile->info;
	opened = (struct sp_guard_opened){
		.version = info->version,
		.trace_version = info->trace_version,
		.aggregate = info->aggregate,
		.has_event_metadata = info->has_event_metadata,
		.compressed = info->compressed,
		.origin_known = child->profile->origin_known,
		.columns = info->columns,
		.n_regions = info->n_regions,
		.n_rows = info->n_rows,
		.n_calls = info->n_calls,
		.n_samples = info->n_samples,
		.n_frames = ((struct sp_h5_profile *)child->profile->implementation)->n_frames,
		.start_time_ns = info->start_time_ns,
	};
	sp_pipe_value(&child->out, opened);
	for (uint32_t i = 0; rows && i < info->n_regions; i++)
		sp_pipe_text(&child->out, (const char **)&child->profile->regions[i]);
	for (uint32_t i = 0; rows && i < info->n_rows; i++)
		sp_pipe_row(&child->out, &child->profile->rows[i]);
	sp_pipe_end(&child->out);
}

/* Calls of a row and of those after it. */
static int read_calls(struct child *child, const struct sp_guard_request *request, void *half,
		      struct sp_error *error)
{
	const struct sp_profile *profile = child->profile;
	uint64_t first = request->first, left = request->n;
	int r = 0;

	for (uint32_t row = request->row; !r && left && row < profile->info.n_rows; row++) {
		uint64_t n = profile->rows[row].stats.calls - first;
		struct sp_calls view = sp_guard_view(half, request->columns, (size_t)request->n,
						     (size_t)(request->n - left));

		n = n < left ? n : left;
		if (n)
			r = sp_profile_read_calls(child->profile, row, first, (size_t)n, &view,
						  error);
		left -= n;
		first = 0;
	}
	return r;
}

/* Numbers into the window. */
static void answer_numbers(struct child *child, const struct sp_guard_request *request)
{
	void *half = sp_guard_half(child->setup->window, request->op, request->half);
	struct sp_error error = {0};
	size_t n = (size_t)request->n;
	int r;

	switch (request->op) {
	case SP_GUARD_CALLS:
		r = read_calls(child, request, half, &error);
		break;
	case SP_GUARD_SAMPLES:
		r = sp_profile_read_samples(child->profile, request->first, n, half, &error);
		break;
	case SP_GUARD_OFFSETS: /* one more than samples */
		r = sp_profile_read_stack_offsets(child->profile, request->first, n - 1, half,
						  &error);
		break;
	default:
		r = sp_profile_read_frames(child->profile, request->first, n, half, &error);
	}
	reply(child, r, &error);
	if (!r)
		sp_pipe_end(&child->out);
}

static void answer_table(struct child *child, enum sp_h5_table which)
{
	const struct sp_profile_ops *ops = child->profile->ops;
	struct sp_error error = {0};
	void *rows = NULL;
	size_t n = 0;
	int r = ops->read_table ? ops->read_table(child->profile, which, &rows, &n, &error) : 0;

	reply(child, r, &error);
	if (r)
		return;
	sp_pipe_table(&child->out, which, &rows, &n);
	sp_pipe_end(&child->out);
	sp_h5_free_table(which, rows, n);
}

static void answer_facts(struct child *child, const char *group)
{
	const struct sp_profile_ops *ops = child->profile->ops;
	struct sp_error error = {0};
	struct sp_fact *facts = NULL;
	size_t n = 0;
	int r = ops->read_facts ? ops->read_facts(child->profile, group, &facts, &n, &error) : 0;

	reply(child, r, &error);
	if (r)
		return;
	sp_pipe_facts(&child->out, &facts, &n);
	sp_pipe_end(&child->out);
	sp_facts_free(facts, n);
}

static void answer_extras(struct child *child)
{
	const struct sp_profile_ops *ops = child->profile->ops;
	struct sp_error error = {0};
	struct sp_extras extras = {0};
	int r = ops->read_extras ? ops->read_extras(child->profile, &extras, &error) : 0;

	reply(child, r, &error);
	if (r)
		return;
	sp_pipe_extras(&child->out, &extras);
	sp_pipe_end(&child->out);
	sp_extras_free(&extras);
}

static void answer_event_metadata(struct child *child, uint32_t row)
{
	const struct sp_profile_ops *ops = child->profile->ops;
	struct sp_error error = {0};
	char *json = NULL;
	int r = ops->read_event_metadata
			? ops->read_event_metadata(child->profile, row, &json, &error)
			: 0;

	reply(child, r, &error);
	if (r)
		return;
	sp_pipe_text_or_null(&child->out, (const char **)&json);
	sp_pipe_end(&child->out);
	free(json);
}

static void answer_check(struct child *child, const struct sp_guard_request *request)
{
	const struct sp_profile_ops *ops = child->profile->ops;
	struct sp_profile_check check = request->check;
	struct sp_error error = {0};
	int r = ops->check ? ops->check(child->profile, &check, &error) : 0;

	check.done |= !ops->check;
	reply(child, r, &error);
	if (r)
		return;
	sp_pipe_check(&child->out, &check);
	sp_pipe_end(&child->out);
}

static void answer(struct child *child, const struct sp_guard_request *request)
{
	switch (request->op) {
	case SP_GUARD_OPEN:
	case SP_GUARD_REOPEN:
		answer_open(child, request->op == SP_GUARD_OPEN);
		break;
	case SP_GUARD_TABLE:
		answer_table(child, (enum sp_h5_table)request->row);
		break;
	case SP_GUARD_METADATA:
		answer_facts(child, "/metadata");
		break;
	case SP_GUARD_META:
		answer_facts(child, "/sp_trace/meta");
		break;
	case SP_GUARD_EXTRAS:
		answer_extras(child);
		break;
	case SP_GUARD_EVENT_METADATA:
		answer_event_metadata(child, request->row);
		break;
	case SP_GUARD_CHECK:
		answer_check(child, request);
		break;
	default:
		answer_numbers(child, request);
	}
}

static bool next_request(int fd, struct sp_guard_request *ret_request)
{
	ssize_t n;

	do
		n = recv(fd, ret_request, sizeof(*ret_request), MSG_WAITALL);
	while (n < 0 && errno == EINTR);
	return n == sizeof(*ret_request);
}

void sp_guard_child_run(const struct sp_guard_child_setup *setup)
{
	static struct child child;
	struct sp_guard_request request;

	child.setup = setup;
	child.out.fd = confine(setup);
	while (next_request(child.out.fd, &request)) {
		limit_cpu(setup->limits.cpu_seconds);
#ifdef SP_GUARD_TEST_HOOK
		if (sp_guard_test_hook)
			sp_guard_test_hook(&request);
#endif
		if (!child.profile && request.op != SP_GUARD_OPEN && request.op != SP_GUARD_REOPEN)
			_exit(1);
		answer(&child, &request);
		if (child.out.failed)
			break;
	}
	_exit(0);
}
