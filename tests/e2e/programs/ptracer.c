/* SPDX-License-Identifier: BSD-2-Clause
 *
 * ptracer.c - a debugger's hand: seizes all threads of a process, single-steps them in turn, and
 * leaves.
 *
 *	ptracer PID STEPS	prints how many steps it made; SIGTERM ends it
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 64
#define IN_A_ROW 500

static volatile sig_atomic_t over;

static void on_signal(int number)
{
	(void)number;
	over = 1;
}

static int wait_stop(pid_t tid, int *status)
{
	pid_t r;

	do
		r = waitpid(tid, status, __WALL);
	while (r < 0 && errno == EINTR);
	return r == tid && WIFSTOPPED(*status);
}

/* Stops a thread, steps it a while, and lets it run. Gives the steps. */
static long step(pid_t tid, long most)
{
	int status, pass = 0;
	long n = 0;

	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) || !wait_stop(tid, &status))
		return 0;
	while (n < most && !over && ptrace(PTRACE_SINGLESTEP, tid, 0, pass) == 0) {
		if (!wait_stop(tid, &status))
			return n;
		pass = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		n++;
	}
	(void)ptrace(PTRACE_CONT, tid, 0, pass);
	return n;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	pid_t tids[MOST];
	long made = 0, most = argc > 2 ? atol(argv[2]) : 0;
	char path[64];
	int count = 0, status;
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/task", argc > 1 ? argv[1] : "self");
	dir = opendir(path);
	if (!dir || argc < 3)
		return 2;
	sigaction(SIGTERM, &action, NULL);
	while ((e = readdir(dir)) && count < MOST)
		if (atoi(e->d_name) && !ptrace(PTRACE_SEIZE, atoi(e->d_name), 0, 0))
			tids[count++] = atoi(e->d_name);
	closedir(dir);
	/* A thread that sleeps in a system call steps only when it returns, so not the main thread,
	 * which waits for the others. */
	for (int i = 1; count > 1 && made < most && !over; i = i % (count - 1) + 1) {
		long n = step(tids[i], IN_A_ROW);

		if (!n)
			break;
		made += n;
		usleep(500);
	}
	for (int i = 0; i < count; i++)
		if (!ptrace(PTRACE_INTERRUPT, tids[i], 0, 0) && wait_stop(tids[i], &status))
			(void)ptrace(PTRACE_DETACH, tids[i], 0, 0);
	printf("%ld steps\n", made);
	return 0;
}
