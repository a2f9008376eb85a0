/* SPDX-License-Identifier: BSD-2-Clause
 *
 * session_signals.c - the signals that ask for the end, and who else must get them. Invariant: the
 * command gets each once, whether it was sent to us, to our process group or by a terminal.
 */
#include "loader/session_state.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

#define GROUP_TRIES 10 /* of 2 ms: timeout(1) sends to its child first, then to the group */

int sp_session_listen(struct sp_session *s)
{
	static const int unless_ignored[] = {SIGINT, SIGHUP};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	/* What was ignored (nohup, an & in a script) stays so: blocked, it would come all the same.
	 */
	for (size_t i = 0; i < sp_array_size(unless_ignored); i++)
		if (!sigismember(&s->given->ignored, unless_ignored[i]))
			sigaddset(&set, unless_ignored[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return s->signals < 0 ? -errno : 0;
}

int sp_session_go_on(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t pending;

	sigemptyset(&pending);
	(void)sigpending(&pending);
	for (size_t i = 0; i < sp_array_size(ends); i++)
		if (sigismember(&pending, ends[i]))
			return -EINTR;
	return 0;
}

/* Whether a signal waits at a process that has blocked all of them. */
static bool has_pending(pid_t pid, int number)
{
	sp_cleanup(sp_fclosep) FILE *f = NULL;
	char path[64], line[256];
	unsigned long long set = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "ShdPnd: %llx", &set) == 1)
			break;
	return set >> (number - 1) & 1;
}

/* Whether the command got a signal that we have: if it is in our process group, and all of that got
 * it. What says so is sp-look, which is in it and takes no signal. */
static bool group_has(struct sp_session *s, int number)
{
	if (getpgid(sp_command_pid(s->command)) != getpgrp())
		return false;
	for (int i = 0; i < GROUP_TRIES; i++) {
		if (has_pending(sp_look_pid(s->look), number))
			return true;
		usleep(2000);
	}
	return false;
}

/* The terminal gives Ctrl-C to the command, too. That it is gone, it tells all in the foreground,
 * or only the leader of the session, if that lives. What we got alone is passed on. */
static void pass_on(struct sp_session *s, const struct signalfd_siginfo *info)
{
	bool from_kernel = info->ssi_code == SI_KERNEL;

	if (from_kernel && info->ssi_signo == SIGHUP && getsid(0) == getpid())
		sp_command_hang_up(s->command);
	else if (!from_kernel && !group_has(s, (int)info->ssi_signo))
		sp_command_signal(s->command, (int)info->ssi_signo);
}

int sp_session_take_signals(struct sp_session *s)
{
	bool first = !s->asked;
	struct signalfd_siginfo info;
	int number = 0;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD || info.ssi_pid == (uint32_t)getpid())
			continue;
		number = (int)info.ssi_signo;
		if (first && s->command)
			pass_on(s, &info);
		s->asked = true;
	}
	return number;
}
