/* SPDX-License-Identifier: BSD-2-Clause
 *
 * odd.c - regions used wrongly, deeply, strangely named, or from strange places. The first argument
 * says what is played; odd.py knows what comes of each.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usdt/sp_region.h"

static void after(int count)
{
	for (int i = 0; i < count; i++) {
		SP_REGION_BEGIN("after");
		SP_REGION_BEGIN("inside after");
		SP_REGION_END("inside after");
		SP_REGION_END("after");
	}
}

/* Ends without begins, begins without ends, and both crossed. */
static int play_mismatched(void)
{
	for (int i = 0; i < 10; i++) {
		SP_REGION_END("never begun");
		SP_REGION_BEGIN("outer");
		SP_REGION_BEGIN("crossed");
		SP_REGION_END("outer");
		SP_REGION_END("crossed");
	}
	after(10);
	return 0;
}

static jmp_buf back;

__attribute__((noinline)) static void jump(int depth)
{
	volatile char frame[64];

	frame[0] = (char)depth;
	SP_REGION_BEGIN("jumped");
	if (depth == 0)
		longjmp(back, 1);
	if (depth > 0)
		jump(depth - 1);
	SP_REGION_END("jumped");
	frame[1] = frame[0];
}

/* Left by longjmp, three at a time, inside of a region that ends. */
static int play_longjmp(void)
{
	for (volatile int i = 0; i < 500; i++) {
		SP_REGION_BEGIN("around");
		if (setjmp(back) == 0)
			jump(2);
		SP_REGION_END("around");
	}
	after(10);
	return 0;
}

/* The same with nothing around that would show that they are over. */
static int play_abandoned(void)
{
	for (volatile int i = 0; i < 500; i++)
		if (setjmp(back) == 0)
			jump(0);
	after(100);
	return 0;
}

static void dive(int depth)
{
	SP_REGION_BEGIN("deep");
	if (depth > 1)
		dive(depth - 1);
	SP_REGION_END("deep");
}

/* Deeper than is recorded, and back. */
static int play_deep(void)
{
	for (int i = 0; i < 10; i++)
		dive(200);
	after(10);
	return 0;
}

static void use(const char *name, int count)
{
	sp_region_t region = sp_region_intern(name);

	for (int i = 0; i < count; i++) {
		sp_region_begin(region);
		sp_region_end(region);
	}
}

/* Names that somebody will use some day. */
static int play_names(void)
{
	static const char *const names[] = {
		"",
		" ",
		"a/b/c",
		"line\nbreak\ttab",
		"\033[31mred\033[0m",
		"quotes \" ' \\ %s %n {} <b>&",
		"bytes \xff\xfe that are no UTF-8",
		"\xe2\x82\xac \xf0\x9f\x94\xa5",
		"../../etc/passwd",
		"(no region)",
	};
	char *name = malloc(3001);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		use(names[i], (int)i + 1);
	memset(name, 'n', 3000);
	name[3000] = 0;
	use(name, 20); /* longer than a record can carry */
	name[1000] = 0;
	use(name, 30);
	free(name);
	SP_REGION_BEGIN("literal\nwith \"everything\" %d \\ {a|b} \xc3\xa4");
	SP_REGION_END("literal\nwith \"everything\" %d \\ {a|b} \xc3\xa4");
	SP_REGION_BEGIN("same"); /* a literal and a run-time name: one region */
	SP_REGION_END("same");
	use("same", 2);
	return 0;
}

/* More names than the table in the kernel holds at a time. */
/* Names in pages that are there, but not mapped when they are first used: an empty one, too. */
static int play_paged(void)
{
	static const char *const names[] = {"", "paged out"};
	int fd = memfd_create("names", MFD_CLOEXEC);

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct sp_region_dyn_ region = {.hash = 1000 + i, .level_index = 0xffffffff};
		char *page;

		if (ftruncate(fd, 4096 * (i + 1)))
			return 1;
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096 * i);
		if (page == MAP_FAILED)
			return 1;
		strcpy(page, names[i]);
		if (madvise(page, 4096, MADV_DONTNEED))
			return 1;
		region.name = page;
		for (int k = 0; k < 10; k++) {
			sp_region_begin(&region);
			sp_region_end(&region);
		}
		usleep(500000); /* until it was read: this process's memory goes with it */
	}
	return 0;
}

static int play_many_names(void)
{
	for (int i = 0; i < 70000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "name %d", i);
		use(name, 1);
	}
	after(10);
	return 0;
}

static int wait_for(pid_t pid)
{
	int status = -1;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 99;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Three generations by fork; children by the bare system call, which no library sees. */
static int play_generations(void)
{
	int status = 0;

	after(1);
	for (int i = 0; i < 3; i++) {
		pid_t pid = i == 2 ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();

		if (pid == 0) {
			pid_t grandchild;

			after(100);
			grandchild = fork();
			if (grandchild == 0) {
				after(1000);
				_exit(0);
			}
			status = wait_for(grandchild);
			after(100);
			_exit(status);
		}
		status |= wait_for(pid);
		after(1);
	}
	return status;
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	SP_REGION_BEGIN("in handler");
	signals++;
	SP_REGION_END("in handler");
}

/* A handler's region may come between any two instructions, also between begin and stub. */
static int play_signals(void)
{
	struct itimerval often = {{0, 500}, {0, 500}};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	long count = 0;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (signals < 1000) {
		after(1);
		count++;
	}
	often = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &often, NULL);
	printf("%ld %d\n", count, (int)signals);
	return 0;
}

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

/* A program that means harm: it calls the probes' stubs with whatever it likes. What it says about
 * itself is its own affair, but the recorder must live on, and so must other threads' calls. */
static int play_hostile(void)
{
	static struct sp_region_dyn_ fakes[64];
	static char text[4096];

	after(1); /* makes the stubs' state */
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 64; i++)
		fakes[i] = (struct sp_region_dyn_){
			.hash = next_random(),
			.name = i % 4 == 0 ? (const char *)next_random()
					   : text + next_random() % 4096,
			.file = i % 3 == 0 ? (const char *)(next_random() & 0xffff) : text,
			.tags = i % 5 == 0 ? (const char *)~0ul : NULL,
			.line = (uint32_t)next_random(),
		};
	for (int i = 0; i < 200000 && SP_REGION_ENABLED(); i++) {
		uint64_t r = next_random();
		const void *desc = r % 3 == 0 ? (const void *)next_random() : &fakes[r % 64];
		uint64_t hash = r % 5 == 0 ? 0 : r % 7 == 0 ? next_random() : fakes[r % 64].hash;

		if (r & 1024)
			sp_begin_stub_v1(desc, text, hash, next_random(), next_random());
		else
			sp_end_stub_v1(desc, (const char *)next_random(), hash, next_random());
	}
	return 0;
}

/* Runs for some seconds, a call each millisecond; for who attaches to it. */
/* Until it is killed, or ten minutes. */
static int play_run(void)
{
	for (int i = 0; i < 600000; i++) {
		SP_REGION_BEGIN("run");
		usleep(1000);
		SP_REGION_END("run");
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*play)(void);
	} plays[] = {
		{"mismatched", play_mismatched},
		{"longjmp", play_longjmp},
		{"abandoned", play_abandoned},
		{"deep", play_deep},
		{"names", play_names},
		{"paged", play_paged},
		{"many-names", play_many_names},
		{"generations", play_generations},
		{"signals", play_signals},
		{"run", play_run},
		{"hostile", play_hostile},
	};

	for (size_t i = 0; argc > 1 && i < sizeof(plays) / sizeof(plays[0]); i++)
		if (!strcmp(plays[i].name, argv[1]))
			return plays[i].play();
	fprintf(stderr, "usage: odd PLAY\n");
	return 9;
}
