/* SPDX-License-Identifier: BSD-2-Clause
 *
 * mistakes.h - what the programs that lib/mistakes_program.py makes are built on: regions that are used
 * wrongly, and a log of what really happened, which survives whatever ends the program.
 *
 * The log is a file that is mapped shared: a head, then lanes, one for each thread in each process. An
 * entry is written before its edge and completed after it, so that a last one may be incomplete. It has
 * the function's stack pointer, by which the reader computes what a recorder could know.
 */
#ifndef MISTAKES_H
#define MISTAKES_H

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "usdt/sp_region.h"

#define LANES 64
#define ENTRIES 4000

enum op { NOTHING, SCOPE_BEGIN, SCOPE_END, FREE_BEGIN, FREE_END };
enum cause { MAIN, THREAD, FORK, EXEC };

struct entry {
	uint32_t op, name;
	uint64_t site; /* of a scope: its descriptor; of a free literal name: the function's name */
	uint64_t sp;
	uint64_t caller; /* of a run-time name: where the function returns to; else 0 */
	uint64_t before, after; /* ns; after is 0 if it never came back */
	uint32_t stack; /* 0 the thread's own, 1 the signal's, else a fiber's */
	uint32_t line;
};

struct lane {
	uint32_t tid, pid, cause, n;
	uint32_t parent, parent_n; /* lane and its entries at the fork */
	uint32_t ended;		   /* 1: all entries of this thread are written, it just ends */
	uint32_t unused;
	struct entry entries[ENTRIES];
};

struct log {
	uint32_t lanes, unused;
	struct lane lane[LANES];
};

static struct log *the_log;
static __thread struct lane *lane;
static __thread uint32_t on_stack, budget, level;
static __thread uint64_t chance;
static __thread jmp_buf *target;

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline, noclone))
#define TELL_SP(where) __asm__ volatile("movq %%rsp,%0" : "=r"(where))

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t dice(uint32_t sides)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(chance >> 33) % sides;
}

static NOINLINE struct entry *edge(uint32_t op, uint32_t name, uint64_t sp, uint32_t line)
{
	struct entry *e = &lane->entries[lane->n];

	if (lane->n + 1 >= ENTRIES)
		_exit(99);
	*e = (struct entry){op, name, 0, sp, 0, now(), 0, on_stack, line};
	__atomic_store_n(&lane->n, lane->n + 1, __ATOMIC_RELEASE);
	return e;
}

static NOINLINE void over(struct entry *e)
{
	if (e)
		e->after = now();
}

static void start_lane(uint32_t cause, uint64_t seed)
{
	struct lane *from = lane;

	lane = &the_log->lane[__atomic_fetch_add(&the_log->lanes, 1, __ATOMIC_RELAXED)];
	if (lane >= the_log->lane + LANES)
		_exit(98);
	lane->tid = (uint32_t)syscall(SYS_gettid);
	lane->pid = (uint32_t)getpid();
	lane->cause = cause;
	if (cause == FORK) {
		lane->parent = (uint32_t)(from - the_log->lane);
		lane->parent_n = from->n;
	}
	chance = seed;
}

static void open_log(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0644);

	if (fd < 0 || ftruncate(fd, sizeof(*the_log)) < 0)
		_exit(97);
	the_log = (struct log *)mmap(NULL, sizeof(*the_log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (the_log == MAP_FAILED)
		_exit(97);
	close(fd);
}

/* ---- edges ---- */

#define BEGIN(name, text) \
	do { \
		uint64_t sp_; \
		TELL_SP(sp_); \
		struct entry *e_ = edge(FREE_BEGIN, name, sp_, __LINE__); \
		e_->site = (uint64_t)(uintptr_t)__func__; \
		SP_REGION_BEGIN(text); \
		over(e_); \
	} while (0)
#define END(name, text) \
	do { \
		uint64_t sp_; \
		TELL_SP(sp_); \
		struct entry *e_ = edge(FREE_END, name, sp_, __LINE__); \
		e_->site = (uint64_t)(uintptr_t)__func__; \
		SP_REGION_END(text); \
		over(e_); \
	} while (0)
#define BEGIN_HANDLE(name, handle) \
	do { \
		uint64_t sp_; \
		TELL_SP(sp_); \
		struct entry *e_ = edge(FREE_BEGIN, name, sp_, __LINE__); \
		e_->caller = (uint64_t)(uintptr_t)__builtin_return_address(0); \
		sp_region_begin(handle); \
		over(e_); \
	} while (0)
#define END_HANDLE(name, handle) \
	do { \
		uint64_t sp_; \
		TELL_SP(sp_); \
		struct entry *e_ = edge(FREE_END, name, sp_, __LINE__); \
		e_->caller = (uint64_t)(uintptr_t)__builtin_return_address(0); \
		sp_region_end(handle); \
		over(e_); \
	} while (0)

/* Around a scope lie two objects: the outer one completes the entry of the scope's end that the inner one
 * has made. */
struct outer {
	struct entry *end;
#ifdef __cplusplus
	inline __attribute__((always_inline)) ~outer() { over(end); }
#endif
};
struct inner {
	struct outer *around;
	uint32_t name, line;
	uint64_t site;
#ifdef __cplusplus
	inline __attribute__((always_inline)) ~inner();
#endif
};
INLINE void end_inner(struct inner *in)
{
	uint64_t sp;

	TELL_SP(sp);
	in->around->end = edge(SCOPE_END, in->name, sp, in->line);
	in->around->end->site = in->site;
}
#ifdef __cplusplus
inline inner::~inner() { end_inner(this); }
#define CLEANUP(function)
#else
INLINE void end_outer(struct outer *out)
{
	over(out->end);
}
#define CLEANUP(function) __attribute__((cleanup(function)))
#endif

#define GLUE2(a, b) a##b
#define GLUE(a, b) GLUE2(a, b)
#define SCOPE(name, text) \
	struct outer GLUE(outer_, __LINE__) CLEANUP(end_outer) = {NULL}; \
	uint64_t GLUE(sp_, __LINE__); \
	TELL_SP(GLUE(sp_, __LINE__)); \
	struct entry *GLUE(e_, __LINE__) = edge(SCOPE_BEGIN, name, GLUE(sp_, __LINE__), __LINE__); \
	SP_REGION_SCOPE(text); \
	GLUE(e_, __LINE__)->site = (uint64_t)(uintptr_t)GLUE(sp_scope_, __LINE__).desc; \
	over(GLUE(e_, __LINE__)); \
	struct inner GLUE(inner_, __LINE__) CLEANUP(end_inner) = {&GLUE(outer_, __LINE__), name, __LINE__, \
		GLUE(e_, __LINE__)->site}; \
	(void)GLUE(inner_, __LINE__)

/* ---- other stacks ---- */

#define FIBER_BYTES 262144

struct fiber {
	ucontext_t back, own;
	void (*function)(void);
	char *memory;
	int done;
	uint32_t id, from;
	jmp_buf *target;
};
static __thread struct fiber *running;
static uint32_t fibers;

static NOINLINE void fiber_entry(void)
{
	running->function();
	running->done = 1;
}

/* Until it yields or ends. */
static NOINLINE void fiber_go(struct fiber *f)
{
	struct fiber *before = running;

	f->from = on_stack;
	f->target = target;
	target = NULL;
	running = f;
	on_stack = f->id;
	swapcontext(&f->back, &f->own);
	on_stack = f->from;
	running = before;
	target = f->target;
}

static NOINLINE void yield(void)
{
	if (running && on_stack == running->id)
		swapcontext(&running->own, &running->back);
}

static struct fiber *fiber_new(void (*function)(void))
{
	struct fiber *f = (struct fiber *)calloc(1, sizeof(*f));

	f->function = function;
	f->memory = (char *)malloc(FIBER_BYTES);
	f->id = 2 + __atomic_fetch_add(&fibers, 1, __ATOMIC_RELAXED);
	getcontext(&f->own);
	f->own.uc_stack.ss_sp = f->memory;
	f->own.uc_stack.ss_size = FIBER_BYTES;
	f->own.uc_link = &f->back;
	makecontext(&f->own, fiber_entry, 0);
	return f;
}

/* One at a time: a fiber that a handler resumes has its own mask of signals, and another handler would
 * begin where this one's frames are. */
static __thread int handling;

static void (*in_handler)(void);
static void handler(int number)
{
	uint32_t before = on_stack;
	jmp_buf *target_before = target;

	(void)number;
	on_stack = 1;
	target = NULL;
	handling = 1;
	in_handler();
	handling = 0;
	target = target_before;
	on_stack = before;
}

static void use_signal_stack(void)
{
	stack_t s = {0};

	s.ss_size = FIBER_BYTES;
	s.ss_sp = malloc(s.ss_size);
	sigaltstack(&s, NULL);
}

static void catch_signals(void (*function)(void))
{
	struct sigaction action;

	in_handler = function;
	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
}

#endif
