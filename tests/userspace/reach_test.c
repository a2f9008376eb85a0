/* SPDX-License-Identifier: BSD-2-Clause
 *
 * reach_test.c - who asks for files that never answer gets through, and the others are answered for.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/check.h"
#include "userspace/base/child.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/reach.h"

#define LARGE (3u << 20) /* more than a socket holds */

static int echo(const void *question, struct sp_reach_answer *answer)
{
	return sp_reach_put(answer, question, strlen(question)) ? (int)strlen(question) : -ENOMEM;
}

static int answer_much(const void *question, struct sp_reach_answer *answer)
{
	static char bytes[LARGE / 2];

	memset(bytes, *(const char *)question, sizeof(bytes));
	return sp_reach_put(answer, bytes, sizeof(bytes)) &&
			       sp_reach_put(answer, bytes, sizeof(bytes))
		       ? 0
		       : -ENOMEM;
}

static int refuse(const void *question, struct sp_reach_answer *answer)
{
	(void)question;
	(void)answer;
	return -ENOENT;
}

static int hang(const void *question, struct sp_reach_answer *answer)
{
	(void)question;
	(void)answer;
	for (;;)
		pause();
	return 0;
}

static int die(const void *question, struct sp_reach_answer *answer)
{
	(void)question;
	(void)answer;
	raise(SIGKILL);
	return 0;
}

/* For longer than anything is waited for that sleeps, but at work. */
static int work(const void *question, struct sp_reach_answer *answer)
{
	struct timespec now;
	time_t until;

	(void)question;
	(void)answer;
	clock_gettime(CLOCK_MONOTONIC, &now);
	for (until = now.tv_sec + 3; now.tv_sec < until;)
		clock_gettime(CLOCK_MONOTONIC, &now);
	return 7;
}

static int ask(struct sp_reach *reach, const char *path, sp_reach_body body, const char *expected)
{
	void *bytes;
	size_t size;
	int r = sp_reach_ask(reach, path, body, path, strlen(path) + 1, &bytes, &size);

	CHECK_NUMBER(size, expected ? strlen(expected) : 0);
	CHECK(!expected || !memcmp(bytes, expected, size));
	free(bytes);
	return r;
}

static void test_answers(void)
{
	struct sp_reach *reach;
	void *bytes;
	size_t size;

	CHECK_NUMBER(sp_reach_new(&reach), 0);
	CHECK_NUMBER(ask(reach, "/a/b", echo, "/a/b"), 4);
	CHECK_NUMBER(ask(NULL, "/a/b", echo, "/a/b"), 4);
	CHECK_NUMBER(ask(reach, "/a/b", refuse, NULL), -ENOENT);
	CHECK_NUMBER(sp_reach_ask(reach, "/a/b", answer_much, "x", 2, &bytes, &size), 0);
	CHECK_NUMBER(size, LARGE);
	CHECK(((char *)bytes)[0] == 'x' && ((char *)bytes)[LARGE - 1] == 'x');
	free(bytes);
	CHECK_NUMBER(ask(reach, "/a/b", die, NULL), -EPIPE);
	CHECK_NUMBER(ask(reach, "/a/b", echo, "/a/b"), 4);
	sp_reach_free(reach);
	sp_reach_free(NULL);
}

static void test_silence(void)
{
	struct sp_reach *reach;

	CHECK_NUMBER(sp_reach_new(&reach), 0);
	CHECK_NUMBER(ask(reach, "/dead/a", hang, NULL), -ETIMEDOUT);
	/* What is beside it is not asked for, what is elsewhere is. */
	CHECK_NUMBER(ask(reach, "/dead/b", echo, NULL), -ETIMEDOUT);
	CHECK_NUMBER(ask(reach, "/dead/b/c", echo, "/dead/b/c"), 9);
	CHECK_NUMBER(ask(reach, "/dea", echo, "/dea"), 4);
	/* Who works is waited for, though it takes longer than one that sleeps has from now on. */
	CHECK_NUMBER(ask(reach, "/slow/a", work, NULL), 7);
	CHECK_NUMBER(ask(reach, "/other/a", hang, NULL), -ETIMEDOUT);
	CHECK_NUMBER(ask(reach, "/a/b", echo, "/a/b"), 4);
	sp_reach_free(reach);
}

static int stop(const void *context, int fd, pid_t parent)
{
	(void)context;
	(void)fd;
	(void)parent;
	for (;;)
		pause();
	return 0;
}

static void test_pulse(void)
{
	struct sp_child_pulse pulse = {0};
	struct sp_child child;

	CHECK_NUMBER(sp_child_start(stop, NULL, &child), 0);
	while (sp_child_rest_ms(&child, &pulse) < 300)
		usleep(50000);
	CHECK(WIFSIGNALED(sp_child_end(&child, true)));
	CHECK_NUMBER(sp_child_end(&child, true), 0);
}

int main(void)
{
	test_answers();
	test_silence();
	test_pulse();
	return check_result();
}
