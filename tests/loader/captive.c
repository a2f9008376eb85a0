/* SPDX-License-Identifier: BSD-2-Clause
 *
 * captive.c - a helper program that was taken over: does what its first argument says.
 *
 * "state" tells who and where it is, before locking itself in. Everything else happens behind the
 * lock; what must be impossible ends with status 42 if it was possible.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader/helpers/seccomp.h"

extern char **environ;

static void print_status_lines(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Uid", 3) || !strncmp(line, "Gid", 3) ||
		    !strncmp(line, "Cap", 3) || !strncmp(line, "Groups", 6) ||
		    !strncmp(line, "NoNewPrivs", 10) || !strncmp(line, "SigBlk", 6) ||
		    !strncmp(line, "SigIgn", 6))
			fputs(line, stdout);
	if (f)
		fclose(f);
}

static int state(void)
{
	DIR *dir;
	struct dirent *entry;
	struct rlimit limit;
	char cwd[256];
	int death = 0;

	print_status_lines();
	getrlimit(RLIMIT_AS, &limit);
	printf("memory %lu\n", (unsigned long)limit.rlim_max);
	getrlimit(RLIMIT_CPU, &limit);
	printf("cpu %lu\n", (unsigned long)limit.rlim_cur);
	getrlimit(RLIMIT_CORE, &limit);
	printf("core %lu\n", (unsigned long)limit.rlim_max);
	getrlimit(RLIMIT_FSIZE, &limit);
	printf("fsize %lu\n", (unsigned long)limit.rlim_max);
	printf("environment %s\n", environ[0] ? environ[0] : "empty");
	printf("directory %s\n", getcwd(cwd, sizeof(cwd)));
	printf("own group %d\n", getpgrp() == getpid());
	prctl(PR_GET_PDEATHSIG, &death);
	printf("death signal %d\n", death);
	dir = opendir("/proc/self/fd");
	while (dir && (entry = readdir(dir)))
		if (atoi(entry->d_name) > 2 && atoi(entry->d_name) != dirfd(dir))
			printf("descriptor %s\n", entry->d_name);
	fflush(stdout);
	return 0;
}

static int attempt(const char *what)
{
	char byte;

	if (!strcmp(what, "open"))
		return open("/etc/passwd", O_RDONLY) >= 0;
	if (!strcmp(what, "create"))
		return open("/tmp/sp-captive", O_WRONLY | O_CREAT, 0600) >= 0;
	if (!strcmp(what, "socket"))
		return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
	if (!strcmp(what, "fork"))
		return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) >= 0;
	if (!strcmp(what, "exec"))
		return execl("/bin/true", "true", NULL);
	if (!strcmp(what, "kill"))
		return kill(getppid(), 0) == 0;
	if (!strcmp(what, "ptrace"))
		return ptrace(PTRACE_TRACEME, 0, 0, 0) == 0;
	if (!strcmp(what, "mmap-exec"))
		return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0) != MAP_FAILED;
	if (!strcmp(what, "mmap-file"))
		return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) != MAP_FAILED;
	if (!strcmp(what, "mprotect"))
		return mprotect((void *)((unsigned long)&byte & ~4095ul), 4096,
				PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
	if (!strcmp(what, "write-file"))
		return write(3, "x", 1) == 1;
	if (!strcmp(what, "stat"))
		return syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", &(struct stat){0}, 0) == 0;
	if (!strcmp(what, "dup"))
		return dup(0) >= 0;
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char byte = 0;

	if (!strcmp(what, "state"))
		return state();
	if (!strcmp(what, "sleep"))
		return (int)sleep(100);
	if (!strcmp(what, "spin"))
		for (;;)
			__asm__ volatile("");
	if (!strcmp(what, "memory"))
		return malloc(300u << 20) ? 42 : 0;
	if (sp_seccomp_lock() < 0)
		_exit(3);
	if (!strcmp(what, "allowed")) {
		/* What a helper lives on: reading what it was given, memory, its pipe. */
		struct stat st;
		char *memory = malloc(1 << 20);

		if (pread(3, &byte, 1, 0) != 1 || fstat(3, &st) < 0 || !memory ||
		    write(1, &byte, 1) != 1)
			_exit(1);
		free(memory);
		_exit(0);
	}
	_exit(attempt(what) ? 42 : 43);
}
