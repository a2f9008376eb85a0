/* SPDX-License-Identifier: BSD-2-Clause
 *
 * files_test.c DIR - what is no regular file is refused without being opened, and nothing outside
 * of a directory is reached from within it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/check.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/files.h"

static void make_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static bool holds(int fd, const char *text)
{
	char bytes[64] = "";
	bool same = fd >= 0 && read(fd, bytes, sizeof(bytes) - 1) >= 0 && !strcmp(bytes, text);

	if (fd >= 0)
		close(fd);
	return same;
}

static void test_regular(void)
{
	struct stat status = {0};

	make_file("plain", "words");
	CHECK(!symlink("plain", "link") || errno == EEXIST);
	CHECK(holds(sp_file_open("plain", &status), "words"));
	CHECK_NUMBER(status.st_size, 5);
	CHECK(holds(sp_file_open("link", NULL), "words"));
	CHECK_NUMBER(sp_file_open("missing", NULL), -ENOENT);
	if (geteuid()) {
		CHECK(!chmod("plain", 0));
		CHECK_NUMBER(sp_file_open("plain", NULL), -EACCES);
		CHECK(!chmod("plain", 0644));
	}
}

/* Somebody waits for a reader of the FIFO: he must not meet one. */
static void test_fifo(void)
{
	struct timespec pause = {.tv_nsec = 20000000};
	pid_t child;
	int status;

	CHECK(!mkfifo("fifo", 0644) || errno == EEXIST);
	child = fork();
	if (child == 0) {
		int fd = open("fifo", O_WRONLY | O_CLOEXEC);

		_exit(fd < 0);
	}
	nanosleep(&pause, NULL);
	for (int i = 0; i < 100; i++)
		CHECK_NUMBER(sp_file_open("fifo", NULL), -ENOEXEC);
	nanosleep(&pause, NULL);
	CHECK_NUMBER(waitpid(child, &status, WNOHANG), 0);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

static void test_others(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	unlink("socket");
	CHECK(!bind(fd, (struct sockaddr *)&name, sizeof(name)));
	CHECK_NUMBER(sp_file_open("socket", NULL), -ENOEXEC);
	close(fd);
	CHECK_NUMBER(sp_file_open(".", NULL), -ENOEXEC);
	CHECK_NUMBER(sp_file_open("/dev/zero", NULL), -ENOEXEC);
	/* Opening the terminal's other end would make one. */
	CHECK_NUMBER(sp_file_open("/dev/ptmx", NULL), -ENOEXEC);
	CHECK_NUMBER(sp_file_open("/dev/stdin/x", NULL) < 0, 1);
}

static void test_words(void)
{
	static const char *const below[] = {"", "a", "a/b", "a..b/..c/d..", ".", "a/./b", "..."};
	static const char *const outside[] = {"/", "/a", "..", "../a", "a/..", "a/../b", "a//../b"};

	for (size_t i = 0; i < sp_array_size(below); i++)
		CHECK(sp_path_stays_below(below[i]));
	for (size_t i = 0; i < sp_array_size(outside); i++)
		CHECK(!sp_path_stays_below(outside[i]));
}

static void test_below(void)
{
	make_file("secret", "secret");
	CHECK(!mkdir("inside", 0755) || errno == EEXIST);
	CHECK(!mkdir("inside/deep", 0755) || errno == EEXIST);
	make_file("inside/deep/file", "within");
	CHECK(!symlink("deep/file", "inside/near") || errno == EEXIST);
	CHECK(!symlink("../secret", "inside/far") || errno == EEXIST);
	CHECK(!symlink("/", "inside/root") || errno == EEXIST);
	CHECK(holds(sp_file_open_below("inside", "deep/file", NULL), "within"));
	CHECK(holds(sp_file_open_below("inside", "near", NULL), "within"));
	CHECK_NUMBER(sp_file_open_below("inside", "../secret", NULL), -EXDEV);
	CHECK_NUMBER(sp_file_open_below("inside", "deep/../../secret", NULL), -EXDEV);
	CHECK_NUMBER(sp_file_open_below("inside", "/etc/passwd", NULL), -EXDEV);
	CHECK_NUMBER(sp_file_open_below("inside", "far", NULL), -EXDEV);
	CHECK_NUMBER(sp_file_open_below("inside", "root/etc/passwd", NULL), -EXDEV);
	CHECK_NUMBER(sp_file_open_below("inside", "deep", NULL), -ENOEXEC);
	CHECK_NUMBER(sp_file_open_below("inside/none", "file", NULL), -ENOENT);
}

int main(int argc, char **argv)
{
	if (argc != 2 || (mkdir(argv[1], 0755) && errno != EEXIST) || chdir(argv[1]))
		return 2;
	alarm(60); /* the open of a FIFO would hang */
	test_regular();
	test_fifo();
	test_others();
	test_words();
	test_below();
	return check_result();
}
