/* SPDX-License-Identifier: BSD-2-Clause
 *
 * procinfo_test.c - real processes with awkward names, environments, mappings and families.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/procinfo.h"
#include "loader/procmaps.h"
#include "loader/proctree.h"
#include "tests/loader/check.h"

static char dir[] = "/tmp/sp-procinfo-XXXXXX";

static void copy_self(const char *to)
{
	static char buffer[1 << 16];
	int in = open("/proc/self/exe", O_RDONLY),
	    out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	ssize_t n;

	while ((n = read(in, buffer, sizeof(buffer))) > 0)
		if (write(out, buffer, (size_t)n) != n)
			abort();
	close(in);
	close(out);
}

/* Runs a program that waits, and returns once its exec is done. */
static pid_t start(const char *path, char *const *argv, char *const *env)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execve(path, argv, env);
		_exit(1);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 0)
		abort();
	close(ends[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_info(void)
{
	char path[256], gone[300];
	char *argv[] = {"my app", "--wait", "it's", "", "plain-1", "a\nb", NULL};
	char *env[] = {"PMI_RANK=1", "PMI_SIZE=2", "SLURM_JOB_ID=5", NULL};
	struct sp_procinfo info;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/an app (x) 1", dir);
	copy_self(path);
	pid = start(path, argv, env);
	CHECK(sp_procinfo_read(pid, &info) == 0, "cannot read it");
	CHECK(info.pid == pid && info.ppid == getpid(), "%d %d", info.pid, info.ppid);
	CHECK(info.uid == getuid() && info.gid == getgid(), "%u %u", info.uid, info.gid);
	CHECK(!strcmp(info.exe, path) && !info.exe_deleted, "%s", info.exe);
	CHECK(!strcmp(info.comm, "an app (x) 1"), "%s", info.comm);
	CHECK(!strcmp(info.command, "'my app' --wait 'it'\\''s' '' plain-1 'a\nb'"), "%s",
	      info.command);
	CHECK(info.rank.rank == 1 && info.rank.size == 2 && !strcmp(info.rank.job, "5"), "%d",
	      info.rank.rank);
	CHECK(!info.environ_unreadable, "no environment");
	unlink(path);
	CHECK(sp_procinfo_read(pid, &info) == 0 && !strcmp(info.exe, path) && info.exe_deleted,
	      "deleted: %s", info.exe);
	copy_self(path); /* another file of that name */
	CHECK(sp_procinfo_read(pid, &info) == 0 && info.exe_deleted, "replaced: %s", info.exe);
	stop(pid);
	unlink(path);
	CHECK(sp_procinfo_read(pid, &info) == -ESRCH, "it is gone");

	/* A file that is only called as if it had been deleted. */
	snprintf(gone, sizeof(gone), "%s/app (deleted)", dir);
	copy_self(gone);
	pid = start(gone, argv, env);
	CHECK(sp_procinfo_read(pid, &info) == 0 && !info.exe_deleted && !strcmp(info.exe, gone),
	      "%s", info.exe);
	stop(pid);
	unlink(gone);
}

static void test_groups(void)
{
	gid_t groups[SP_USER_GROUPS + 9], ours[SP_USER_GROUPS];
	int count = getgroups(SP_USER_GROUPS, ours), ends[2];
	struct sp_procinfo info;
	struct sp_user user;
	char byte;
	pid_t pid;

	CHECK(count >= 0 && sp_procinfo_read(getpid(), &info) == 0, "cannot read it");
	CHECK(info.group_count == (unsigned)count &&
		      !memcmp(info.groups, ours, (size_t)count * sizeof(gid_t)),
	      "%u groups, not %d", info.group_count, count);
	if (geteuid() != 0)
		return;
	/* More than are made use of, and more than the text has room for. */
	for (unsigned i = 0; i < SP_USER_GROUPS + 9; i++)
		groups[i] = 4000000000u + i;
	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		if (setgroups(SP_USER_GROUPS + 9, groups) || write(ends[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	CHECK(read(ends[0], &byte, 1) == 1, "setgroups");
	sp_procinfo_user(pid, &user);
	CHECK(user.known && user.group_count == SP_USER_GROUPS &&
		      !memcmp(user.groups, groups, sizeof(user.groups)),
	      "%d %u", user.known, user.group_count);
	stop(pid);
}

static void test_long_command(void)
{
	static char word[6000];
	char path[256];
	char *argv[] = {"x", "--wait", word, NULL};
	char *env[] = {NULL};
	struct sp_procinfo info;
	pid_t pid;

	for (size_t i = 0; i + 3 < sizeof(word); i += 2)
		memcpy(word + i, "\xc3\xbc", 3);
	snprintf(path, sizeof(path), "%s/long", dir);
	copy_self(path);
	pid = start(path, argv, env);
	CHECK(sp_procinfo_read(pid, &info) == 0, "cannot read it");
	CHECK(strlen(info.command) < sizeof(info.command), "%zu", strlen(info.command));
	CHECK(!strcmp(info.command + strlen(info.command) - 4, " \xe2\x80\xa6"), "no end: …%s",
	      info.command + strlen(info.command) - 4);
	CHECK(info.rank.rank == -1, "%d", info.rank.rank);
	stop(pid);
	unlink(path);
}

static void test_kernel_thread(void)
{
	struct sp_procinfo info;

	/* kthreadd, where this process namespace shows it. */
	if (sp_procinfo_read(2, &info) == 0 && !strcmp(info.comm, "kthreadd"))
		CHECK(!strcmp(info.command, "[kthreadd]") && !*info.exe, "%s", info.command);
}

struct wanted {
	uint64_t address;
	const char *path;
	bool found, deleted;
	struct sp_procmap map;
	char copy[4096];
};

static int on_map(const struct sp_procmap *map, void *arg)
{
	struct wanted *want = arg;

	if (map->start != want->address)
		return 0;
	want->found = true;
	want->map = *map;
	snprintf(want->copy, sizeof(want->copy), "%s", map->path);
	want->map.path = want->copy;
	return 0;
}

static int same_file(int fd, const struct stat *want)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == want->st_dev && st.st_ino == want->st_ino;
}

static void test_maps(void)
{
	char path[256], other[300];
	struct wanted want = {0};
	struct stat st;
	int fd, got = -1;
	void *at;

	snprintf(path, sizeof(path), "%s/a new\nline \\ file", dir);
	fd = open(path, O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, 16384) < 0 || fstat(fd, &st) < 0)
		abort();
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 8192);
	want.address = (uint64_t)at;
	CHECK(sp_procmaps_read(getpid(), on_map, &want) == 0 && want.found, "mapping not found");
	CHECK(!strcmp(want.copy, path), "path: %s", want.copy);
	CHECK(want.map.offset == 8192 && want.map.end - want.map.start == 4096, "offset");
	CHECK(want.map.inode == st.st_ino, "inode");
	CHECK(want.map.flags == (SP_MAP_READ | SP_MAP_EXEC) && want.map.shared, "flags %u",
	      want.map.flags);
	CHECK(!want.map.deleted, "not deleted");
	CHECK(sp_procmaps_open(getpid(), &want.map, &got) == 0 && same_file(got, &st), "opened");
	close(got);

	/* Replaced by another file: by name it would be the wrong one. */
	snprintf(other, sizeof(other), "%s/other", dir);
	close(open(other, O_RDWR | O_CREAT, 0644));
	rename(other, path);
	want.found = false;
	CHECK(sp_procmaps_read(getpid(), on_map, &want) == 0 && want.found, "mapping not found");
	CHECK(want.map.deleted && !strcmp(want.copy, path), "deleted: %s", want.copy);
	got = -1;
	if (sp_procmaps_open(getpid(), &want.map, &got) == 0)
		CHECK(same_file(got, &st), "the wrong file");
	else
		CHECK(geteuid() != 0 && got == -1, "root can follow map_files");
	close(got);
	unlink(path);
	munmap(at, 4096);
	close(fd);

	want.map.path = "/dev/null";
	want.map.start = 1;
	CHECK(sp_procmaps_open(getpid(), &want.map, &got) == -ENOENT, "opened a device");
	CHECK(sp_procmaps_read(999999999, on_map, &want) == -ESRCH, "no such process");
}

static pthread_barrier_t barrier;

static void *thread(void *arg)
{
	pthread_barrier_wait(&barrier);
	pause();
	return arg;
}

static void family(int to)
{
	char byte = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, ") R 1 1 ("); /* as bad as a name can be */
	for (int i = 0; i < 2; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (i == 0 && fork() == 0)
				prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (write(to, &byte, 1) != 1)
				abort();
			for (;;)
				pause();
		}
	for (;;)
		pause();
}

static void test_tree(void)
{
	pid_t *ids = NULL, pid;
	size_t count = 0;
	pthread_t t[3];
	int ends[2];
	char byte;

	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	pthread_barrier_wait(&barrier);
	if (pipe(ends) < 0)
		abort();
	pid = fork();
	if (pid == 0)
		family(ends[1]);
	for (int i = 0; i < 3; i++)
		CHECK(read(ends[0], &byte, 1) == 1, "child %d", i);
	CHECK(sp_proctree_descendants(pid, &ids, &count) == 0 && count == 3, "%zu descendants",
	      count);
	free(ids);
	CHECK(sp_proctree_descendants(getpid(), &ids, &count) == 0 && count == 4 && ids[0] == pid,
	      "%zu descendants, first %d", count, (int)ids[0]);
	free(ids);
	stop(pid);
	CHECK(sp_proctree_descendants(999999999, &ids, &count) == -ESRCH, "no such process");
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--wait")) {
		pause();
		return 0;
	}
	if (!mkdtemp(dir))
		return 2;
	test_info();
	test_groups();
	test_long_command();
	test_kernel_thread();
	test_maps();
	test_tree();
	rmdir(dir);
	return check_done();
}
