/* SPDX-License-Identifier: BSD-2-Clause
 *
 * family.c - processes and threads that come and go around regions. The first argument says what is
 * played; main() lists the plays. What a play calls is written down in launch.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "usdt/sp_region.h"

#define CALLS 1000
#define THREADS 50

static void fail(const char *what)
{
	perror(what);
	exit(9);
}

static int child_status(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fail("child");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void calls(int count, unsigned pause_us)
{
	for (int i = 0; i < count; i++) {
		SP_REGION_BEGIN("child");
		if (pause_us)
			usleep(pause_us);
		SP_REGION_END("child");
	}
}

static int play_exit(char **argv)
{
	SP_REGION_BEGIN("exit");
	SP_REGION_END("exit");
	return atoi(argv[0]);
}

static int play_signal(char **argv)
{
	SP_REGION_BEGIN("killed inside");
	raise(atoi(argv[0]));
	SP_REGION_END("killed inside");
	return 9;
}

static int play_cat(char **argv)
{
	char buffer[65536];
	ssize_t n;

	(void)argv;
	SP_REGION_SCOPE("copy");
	while ((n = read(0, buffer, sizeof(buffer))) > 0)
		if (write(1, buffer, (size_t)n) != n)
			fail("write");
	return n < 0;
}

/* The child carries the open region of its parent, and ends it, too. */
static int play_fork(char **argv)
{
	pid_t pid;
	int status;

	(void)argv;
	SP_REGION_BEGIN("around fork");
	pid = fork();
	if (pid == 0) {
		calls(CALLS, 0);
		SP_REGION_END("around fork");
		_exit(0);
	}
	status = child_status(pid);
	SP_REGION_END("around fork");
	calls(1, 0);
	return status;
}

static int play_exec(char **argv)
{
	pid_t pid;
	int status;

	SP_REGION_BEGIN("around exec");
	pid = fork();
	if (pid == 0) {
		calls(1, 0);
		execv(argv[0], argv);
		_exit(127);
	}
	status = child_status(pid);
	SP_REGION_END("around exec");
	return status;
}

/* The region ends with the image; the next one has regions of its own. */
static int play_exec_inside(char **argv)
{
	SP_REGION_BEGIN("lost by exec");
	execv(argv[0], argv);
	SP_REGION_END("lost by exec");
	return 127;
}

static void *thread_calls(void *inside)
{
	for (int i = 0; i < 10; i++) {
		SP_REGION_SCOPE("thread call");
	}
	if (inside) {
		SP_REGION_BEGIN("thread ends inside");
	}
	return NULL;
}

static int play_threads(char **argv)
{
	pthread_t threads[THREADS];

	(void)argv;
	for (int round = 0; round < 4; round++) {
		for (long i = 0; i < THREADS; i++)
			if (pthread_create(&threads[i], NULL, thread_calls,
					   round == 3 && i == 0 ? "" : NULL))
				fail("thread");
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}

static void outlive(const char *path)
{
	FILE *file;

	calls(100, 10000);
	file = fopen(path, "w");
	if (file) {
		fprintf(file, "%d\n", (int)getpid());
		fclose(file);
	}
	_exit(0);
}

static int play_orphan(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid == 0)
		outlive(argv[0]);
	return 4;
}

static int play_daemon(char **argv)
{
	pid_t pid = fork();
	char path[4096];

	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		if (!realpath(".", path) || strlen(path) + strlen(argv[0]) + 2 > sizeof(path))
			_exit(9);
		strcat(strcat(path, "/"), argv[0]);
		setsid();
		if (fork() != 0)
			_exit(0);
		if (chdir("/"))
			_exit(9);
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		outlive(path);
	}
	return child_status(pid);
}

static volatile sig_atomic_t got[65];

static void on_signal(int number)
{
	got[number]++;
}

/* Runs until SIGINT or SIGTERM, then waits for more of them and says how many came. */
static int play_loop(char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};

	(void)argv;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	printf("looping\n");
	fflush(stdout);
	while (!got[SIGINT] && !got[SIGTERM])
		calls(10, 1000);
	for (int i = 0; i < 20; i++)
		usleep(10000);
	printf("SIGINT %d SIGTERM %d\n", (int)got[SIGINT], (int)got[SIGTERM]);
	return 5;
}

static int play_sleep(char **argv)
{
	for (int i = 0; i < atoi(argv[0]); i++) {
		SP_REGION_BEGIN("sleep");
		usleep(10000);
		SP_REGION_END("sleep");
	}
	return 6;
}

/* What a program can see of how it was started. */
static int play_surroundings(char **argv)
{
	char line[256], path[64];
	FILE *status = fopen("/proc/self/status", "r");

	(void)argv;
	while (status && fgets(line, sizeof(line), status))
		if ((!strncmp(line, "Sig", 3) && line[3] != 'Q') || !strncmp(line, "Cap", 3) ||
		    !strncmp(line, "Umask", 5) || !strncmp(line, "NoNewPrivs", 10) ||
		    !strncmp(line, "Groups", 6) || !strncmp(line, "Uid", 3) ||
		    !strncmp(line, "Cpus_allowed:", 13) || !strncmp(line, "Seccomp", 7))
			printf("%s", line);
	if (status)
		fclose(status);
	printf("priority %d\n", getpriority(PRIO_PROCESS, 0));
	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("descriptor %d\n", fd);
	for (int i = 0; i < RLIMIT_NLIMITS; i++) {
		struct rlimit limit;

		if (getrlimit(i, &limit) == 0)
			printf("limit %d: %llx %llx\n", i, (unsigned long long)limit.rlim_cur,
			       (unsigned long long)limit.rlim_max);
	}
	printf("own session %d, own group %d\n", getsid(0) == getpid(), getpgrp() == getpid());
	for (char **e = environ; *e; e++)
		printf("%s\n", *e);
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)getpid());
	status = fopen(path, "r");
	if (status && fgets(line, sizeof(line), status))
		printf("oom %s", line);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int arguments;
		int (*play)(char **argv);
	} plays[] = {
		{"exit", 1, play_exit},	      {"signal", 1, play_signal},
		{"cat", 0, play_cat},	      {"fork", 0, play_fork},
		{"exec", 1, play_exec},	      {"exec-inside", 1, play_exec_inside},
		{"threads", 0, play_threads}, {"orphan", 1, play_orphan},
		{"daemon", 1, play_daemon},   {"loop", 0, play_loop},
		{"sleep", 1, play_sleep},     {"surroundings", 0, play_surroundings},
	};

	for (size_t i = 0; argc > 1 && i < sizeof(plays) / sizeof(plays[0]); i++)
		if (!strcmp(plays[i].name, argv[1]) && argc - 2 >= plays[i].arguments)
			return plays[i].play(argv + 2);
	fprintf(stderr, "usage: family PLAY [ARGUMENT]...\n");
	return 9;
}
