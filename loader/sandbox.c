/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sandbox.c - fork, strip, exec.
 *
 * Invariant: between fork and exec only system calls are made (the recorder may have threads), and
 * a step that fails ends the child with a report, never with an exec that has more rights than
 * meant.
 */
#include "loader/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"

#ifndef SP_LIBEXEC_DIR
#define SP_LIBEXEC_DIR "/usr/local/libexec/sp-trace"
#endif

#define KILL_WAIT_MS 1000

/* What the child tells its parent where it could not become the helper. */
struct report {
	int code; /* -errno */
	int step;
};

enum step {
	STEP_DESCRIPTORS,
	STEP_RIGHTS,
	STEP_LIMITS,
	STEP_DIRECTORY,
	STEP_EXEC,
};

static const char *const step_names[] = {
	[STEP_DESCRIPTORS] = "hand over its descriptors",
	[STEP_RIGHTS] = "drop its rights",
	[STEP_LIMITS] = "set its limits",
	[STEP_DIRECTORY] = "enter its directory",
	[STEP_EXEC] = "execute it",
};

/* Everything that the child needs, made before the fork. */
struct plan {
	const struct sp_sandbox *box;
	int null, helper, report; /* descriptors */
	int *lifted;		  /* room for fd_count + 5 */
	pid_t parent;
	bool root;
};

int sp_sandbox_open_path(const char *path, int *ret_fd, struct sp_error *err)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return sp_error_set(err, -errno, 0, "%s: %s", path, strerror(errno));
	*ret_fd = fd;
	return 0;
}

static bool has_no_room(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

int sp_sandbox_open(const char *name, int *ret_fd, struct sp_error *err)
{
	/* A build tree has it beside us; an installed tree, wherever it was moved, in libexec. */
	static const char *const places[] = {"", "helpers/", "../libexec/sp-trace/"};
	char dir[3072], path[4096];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	int r = -ENOENT;

	dir[n > 0 ? n : 0] = 0;
	if (strrchr(dir, '/')) {
		*strrchr(dir, '/') = 0;
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			snprintf(path, sizeof(path), "%s/%s%s", dir, places[i], name);
			r = sp_sandbox_open_path(path, ret_fd, NULL);
			if (r == 0 || has_no_room(r))
				break;
		}
	}
	if (r < 0 && !has_no_room(r)) {
		snprintf(path, sizeof(path), "%s/%s", SP_LIBEXEC_DIR, name);
		r = sp_sandbox_open_path(path, ret_fd, NULL);
	}
	if (r == 0)
		return 0;
	if (has_no_room(r))
		return sp_error_set(err, r, 0, "cannot open the helper program %s: %s", name,
				    strerror(-r));
	return sp_error_set(err, -ENOENT, 0,
			    "the helper program %s is missing: it belongs into %s, or beside the "
			    "executable; install sp-trace again",
			    name, SP_LIBEXEC_DIR);
}

/* Lifts a descriptor out of the way of the final numbers. */
static int lift(int fd, int above)
{
	int up = fcntl(fd, F_DUPFD_CLOEXEC, above);

	return up < 0 ? -errno : up;
}

static int close_from(int first)
{
	struct rlimit limit;

	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return 0;
	if (errno != ENOSYS || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	for (rlim_t fd = (rlim_t)first; fd < limit.rlim_cur && fd < 1 << 20; fd++)
		close((int)fd);
	return 0;
}

/* 0, 1, 2, then those handed over, then the report and the helper, which exec closes. */
static int arrange_descriptors(struct plan *plan)
{
	const struct sp_sandbox *box = plan->box;
	const int standard[] = {box->in, box->out, box->err};
	size_t count = box->fd_count + 5;
	int above = (int)count;

	for (size_t i = 0; i < count; i++) {
		int from = i < 3		   ? standard[i]
			   : i < box->fd_count + 3 ? box->fds[i - 3]
			   : i == count - 2	   ? plan->report
						   : plan->helper;

		plan->lifted[i] = lift(from < 0 ? plan->null : from, above);
		if (plan->lifted[i] < 0)
			return plan->lifted[i];
	}
	for (size_t i = 0; i < count; i++)
		if (dup3(plan->lifted[i], (int)i, i >= count - 2 ? O_CLOEXEC : 0) < 0)
			return -errno;
	plan->report = (int)count - 2;
	plan->helper = (int)count - 1;
	return close_from((int)count);
}

/* What came to our group since the fork waits, if we have it blocked, and would kill: it is ignored
 * once. */
static void reset_signals(bool own_group)
{
	struct sigaction plain = {.sa_handler = SIG_DFL}, ignored = {.sa_handler = SIG_IGN};
	sigset_t none;

	if (own_group)
		setpgid(0, 0);
	for (int sig = 1; sig < NSIG; sig++) {
		if (own_group)
			sigaction(sig, &ignored, NULL);
		sigaction(sig, &plain, NULL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In a user namespace that does not know the id, root has no rights outside of it anyway. */
static int become(const struct sp_sandbox *box)
{
	if (syscall(SYS_setgroups, box->group_count, box->groups) < 0 && errno != EPERM)
		return -errno;
	if (syscall(SYS_setresgid, box->gid, box->gid, box->gid) < 0 && errno != EINVAL)
		return -errno;
	if (syscall(SYS_setresuid, box->uid, box->uid, box->uid) < 0 && errno != EINVAL)
		return -errno;
	return 0;
}

/* The capabilities that are left; all stand in the first word. */
static uint32_t kept_rights(const struct plan *plan)
{
	return plan->root && plan->box->uid == 0 && plan->box->root_files
		       ? 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH
		       : 0;
}

static int drop_rights(const struct plan *plan)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	uint32_t keep = kept_rights(plan), have = keep;
	struct __user_cap_data_struct left[2] = {{0}, {0}};
	int r;

	/* The bounding set first, since that takes a capability; without it there is none to lose.
	 */
	for (int cap = 0; cap < 64; cap++)
		if ((cap >= 32 || !(keep >> cap & 1)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 &&
		    errno != EPERM && errno != EINVAL)
			return -errno;
	r = plan->root ? become(plan->box) : 0;
	if (r < 0)
		return r;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return -errno;
	/* A root user that lacks one itself (in a container) has none to hand on. */
	if (keep && syscall(SYS_capget, &head, left) == 0)
		have = keep & left[0].permitted;
	left[0] = (struct __user_cap_data_struct){.effective = have, .permitted = have};
	left[1] = (struct __user_cap_data_struct){0};
	if (syscall(SYS_capset, &head, left) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

static int limit_to(int resource, uint64_t value, uint64_t hard)
{
	struct rlimit now, limit = {value, hard};

	if (getrlimit(resource, &now) < 0)
		return -errno;
	if (now.rlim_max < limit.rlim_max)
		limit.rlim_max = now.rlim_max;
	if (now.rlim_max < limit.rlim_cur)
		limit.rlim_cur = now.rlim_max;
	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

static int set_limits(const struct sp_sandbox *box)
{
	int r = 0;

	if (box->cpu_seconds) /* SIGXCPU says why; SIGKILL a second later would not */
		r = limit_to(RLIMIT_CPU, box->cpu_seconds, box->cpu_seconds + 1);
	if (r == 0 && box->memory_bytes)
		r = limit_to(RLIMIT_AS, box->memory_bytes, box->memory_bytes);
	if (r == 0 && box->no_files)
		r = limit_to(RLIMIT_FSIZE, 0, 0);
	if (r == 0 && box->no_files)
		r = limit_to(RLIMIT_CORE, 0, 0);
	if (r == 0 && box->no_files) /* the loader of shared libraries opens one at a time */
		r = limit_to(RLIMIT_NOFILE, box->fd_count + 16, box->fd_count + 16);
	return r;
}

static void run_child(struct plan *plan)
{
	static const char *const empty[] = {NULL};
	const struct sp_sandbox *box = plan->box;
	struct report report = {.step = STEP_DESCRIPTORS};

	reset_signals(box->own_group);
	report.code = arrange_descriptors(plan);
	if (report.code == 0) {
		report.step = STEP_DIRECTORY;
		report.code = box->directory && chdir(box->directory) < 0 ? -errno : 0;
	}
	if (report.code == 0) {
		report.step = STEP_RIGHTS;
		report.code = drop_rights(plan);
	}
	if (report.code == 0) {
		report.step = STEP_LIMITS;
		report.code = set_limits(box);
	}
	if (report.code == 0) {
		report.step = STEP_EXEC;
		/* Changing the user clears this, so it comes late; the parent may be gone by now.
		 */
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (getppid() != plan->parent)
			_exit(127);
		/* By descriptor: the new user may not be allowed to search the way to it. */
		syscall(SYS_execveat, plan->helper, "", box->argv, box->env ? box->env : empty,
			AT_EMPTY_PATH);
		report.code = -errno;
	}
	(void)!write(plan->report, &report, sizeof(report));
	_exit(127);
}

/* The end of the pipe without a report is the exec. */
static int read_report(int fd, struct sp_error *err, const char *name)
{
	struct report report;
	ssize_t n;

	do
		n = read(fd, &report, sizeof(report));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return 0;
	if (n != sizeof(report) || (unsigned)report.step >= sp_array_size(step_names))
		report = (struct report){.code = -EIO, .step = STEP_EXEC};
	return sp_error_set(err, report.code, 0, "cannot start the helper %s: cannot %s: %s%s",
			    name, step_names[report.step], strerror(-report.code),
			    report.step == STEP_EXEC && report.code == -EACCES
				    ? " (its file must be executable for everybody: chmod a+rx)"
				    : "");
}

int sp_sandbox_spawn(int helper_fd, const struct sp_sandbox *box, pid_t *ret_pid,
		     struct sp_error *err)
{
	sp_cleanup(sp_closep) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sp_cleanup(sp_closep) int report_in = -1, report_out = -1;
	sp_cleanup(sp_freep) int *lifted = calloc(box->fd_count + 5, sizeof(int));
	struct plan plan = {.box = box, .null = null, .helper = helper_fd, .lifted = lifted};
	int ends[2], r;
	pid_t pid;

	if (!lifted)
		return sp_error_set(err, -ENOMEM, 0, "out of memory");
	if (null < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return sp_error_set(err, -errno, 0, "cannot start the helper %s: %s", box->argv[0],
				    strerror(errno));
	report_in = ends[0];
	report_out = plan.report = ends[1];
	plan.parent = getpid();
	plan.root = geteuid() == 0;
	pid = fork();
	if (pid < 0)
		return sp_error_set(err, -errno, 0, "cannot start the helper %s: %s", box->argv[0],
				    strerror(errno));
	if (pid == 0)
		run_child(&plan);
	close(report_out);
	report_out = -1;
	r = read_report(report_in, err, box->argv[0]);
	if (r < 0) {
		int status;

		sp_sandbox_wait(pid, false, &status);
		return r;
	}
	*ret_pid = pid;
	return 0;
}

static _Thread_local uint64_t waited_for_ns;

uint64_t sp_sandbox_cpu_ns(void)
{
	return waited_for_ns;
}

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

int sp_sandbox_wait(pid_t pid, bool kill_it, int *ret_status)
{
	struct timespec pause = {.tv_nsec = 1000000};
	struct rusage usage;
	int status, tries = KILL_WAIT_MS;
	pid_t r;

	if (kill_it)
		kill(pid, SIGKILL);
	do {
		r = wait4(pid, &status, kill_it ? WNOHANG : 0, &usage);
		/* One that sits in the read of a file system that does not answer dies when it
		 * pleases, and must not take us with it. */
		if (r == 0 && tries-- == 0)
			return -ETIMEDOUT;
		if (r == 0)
			nanosleep(&pause, NULL);
	} while (r == 0 || (r < 0 && errno == EINTR));
	if (r < 0)
		return -errno;
	waited_for_ns += ns_of(usage.ru_utime) + ns_of(usage.ru_stime);
	*ret_status = status;
	return 0;
}

void sp_sandbox_status_text(int status, char *out, size_t room)
{
	if (WIFSIGNALED(status))
		snprintf(out, room, "was killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(out, room, "ended with status %d", WEXITSTATUS(status));
}
