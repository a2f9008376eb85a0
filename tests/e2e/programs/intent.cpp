/* SPDX-License-Identifier: BSD-2-Clause
 *
 * intent.cpp - random uses of regions, right and wrong, with what was meant. `intent FILE SEED`
 *
 * Where lib/mistakes_truth.py knows what a recorder can make of the edges, this knows what the
 * program meant: which end was to end which begin, and which calls were left without one, by
 * return, exception or longjmp. Ends that end nothing are only of names that nobody has open, and
 * names of pairs over functions are never left, so nothing here is ambiguous: pairs that were meant
 * must be recorded as if all else were right.
 *
 * FILE is mapped: a count of lanes, then these. One that is not yet ended was left.
 */
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "usdt/sp_region.h"

#define NOINLINE __attribute__((noinline, noclone))
#define INLINE __attribute__((always_inline))

namespace
{

enum { NAMES = 8, CALLS = 8000, LANES = 8 };
enum Fate : uint32_t { OPEN, MEANT, LEFT };

struct Call {
	uint32_t name, line, fate, scope;
	uint64_t begin[2], end[2]; /* ns before and after the edge */
};

struct Lane {
	uint32_t tid, calls, ends_of_nothing, unused;
	Call call[CALLS];
};

struct Log {
	uint32_t lanes, unused;
	Lane lane[LANES];
};

Log *all;
sp_region_t handles[NAMES];
thread_local Lane *lane;
thread_local uint64_t chance;
thread_local int known[NAMES]; /* calls that are open, or were left and may be taken for it */
thread_local int budget, level;
thread_local bool catching;
thread_local jmp_buf *target;
thread_local std::vector<uint32_t> *stack;

uint64_t now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
}

uint32_t dice(uint32_t sides)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return uint32_t(chance >> 33) % sides;
}

NOINLINE uint32_t begins(uint32_t name, uint32_t line, bool scope)
{
	if (lane->calls == CALLS)
		_exit(99);
	lane->call[lane->calls] = Call{name, line, OPEN, scope, {now(), 0}, {0, 0}};
	known[name]++;
	stack->push_back(lane->calls);
	return lane->calls++;
}

NOINLINE void begun(uint32_t i)
{
	lane->call[i].begin[1] = now();
}

NOINLINE void ends(uint32_t i)
{
	lane->call[i].end[0] = now();
}

/* What is open inside was left by what led here. */
NOINLINE void ended(uint32_t i)
{
	uint32_t last;

	lane->call[i].end[1] = now();
	do {
		last = stack->back();
		stack->pop_back();
		known[lane->call[last].name]--;
		lane->call[last].fate = last == i ? MEANT : LEFT;
	} while (last != i);
}

void leave(uint32_t i)
{
	lane->call[i].fate = LEFT;
}

#define BEGIN(number, call) \
	uint32_t call = begins(number, __LINE__, false); \
	SP_REGION_BEGIN("n" #number); \
	begun(call)
#define END(number, call) \
	ends(call); \
	SP_REGION_END("n" #number); \
	ended(call)
#define BEGIN_HANDLE(number, call) \
	uint32_t call = begins(number, 0, false); \
	sp_region_begin(handles[number]); \
	begun(call)
#define END_HANDLE(number, call) \
	ends(call); \
	sp_region_end(handles[number]); \
	ended(call)
#define END_NOTHING(number) \
	do { \
		if (!known[number]) { \
			lane->ends_of_nothing++; \
			SP_REGION_END("n" #number); \
		} \
	} while (0)

/* Around a scope and inside of it, for its end is between. */
struct Outer {
	uint32_t call;
	INLINE ~Outer()
	{
		ended(call);
	}
};
struct Inner {
	uint32_t call;
	INLINE ~Inner()
	{
		ends(call);
	}
};
#define SCOPE(number, call) \
	uint32_t call = begins(number, __LINE__, true); \
	Outer outer_##call{call}; \
	SP_REGION_SCOPE("n" #number); \
	begun(call); \
	Inner inner_##call \
	{ \
		call \
	}

struct Thrown {
};

void body();

template <int BYTES> NOINLINE void in_frame()
{
	volatile char room[BYTES];

	room[0] = 0;
	__asm__ volatile("" : : "r"(room) : "memory");
	body();
	__asm__ volatile("" : : : "memory");
}

void go()
{
	static void (*const functions[])() = {in_frame<8>, in_frame<96>, in_frame<1000>, body};

	functions[dice(4)]();
}

/* Through all that is between. */
NOINLINE void leap()
{
	if (target)
		longjmp(*target, 1);
	if (catching)
		throw Thrown();
}

NOINLINE void catch_jump()
{
	jmp_buf here, *volatile before = target;
	volatile int at = level;
	volatile bool was = catching;

	target = &here;
	catching = false;
	if (!setjmp(here))
		go();
	target = before;
	level = at;
	catching = was;
}

NOINLINE void catch_exception()
{
	jmp_buf *before = target;
	int at = level;
	bool was = catching;

	target = nullptr;
	catching = true;
	try {
		go();
	} catch (const Thrown &) {
		level = at;
	}
	target = before;
	catching = was;
}

/* Pairs over functions whose frames differ. */
NOINLINE uint32_t open_6()
{
	char room[64];

	__asm__ volatile("" : : "r"(room) : "memory");
	BEGIN(6, call);
	return call;
}

NOINLINE void close_6(uint32_t call)
{
	END(6, call);
}

NOINLINE void returns_early()
{
	BEGIN(1, call);
	go();
	if (dice(2))
		return leave(call);
	END(1, call);
}

NOINLINE void by_handle()
{
	BEGIN_HANDLE(7, call);
	go();
	if (!dice(4))
		return leave(call);
	END_HANDLE(7, call);
}

NOINLINE void recursion_by_handle(uint32_t n)
{
	BEGIN_HANDLE(7, call);
	if (n)
		recursion_by_handle(n - 1);
	if (!dice(6))
		return leave(call);
	END_HANDLE(7, call);
}

NOINLINE void recursion(uint32_t n)
{
	BEGIN(4, call);
	if (n)
		recursion(n - 1);
	if (!dice(6))
		return leave(call);
	END(4, call);
}

NOINLINE void recursion_of_scopes(uint32_t n)
{
	SCOPE(5, call);
	if (n)
		recursion_of_scopes(n - 1);
	else if (dice(2))
		leap();
}

NOINLINE void many_scopes()
{
	SCOPE(2, one);
	{
		SCOPE(3, two);
		{
			SCOPE(3, three);
			go();
			if (!dice(4))
				leap();
		}
		go();
	}
}

void use()
{
	switch (dice(13)) {
	case 0: {
		BEGIN(0, call);
		go();
		END(0, call);
		END_NOTHING(0);
		break;
	}
	case 1: {
		SCOPE(0, call);
		go();
		go();
		break;
	}
	case 2: {
		BEGIN(2, call);
		go();
		END_NOTHING(3);
		leave(call);
		break;
	}
	case 3:
		if (!target && !catching) {
			uint32_t call = open_6();

			go();
			close_6(call);
		}
		break;
	case 4:
		return catch_jump();
	case 5:
		return catch_exception();
	case 6:
		return many_scopes();
	case 7:
		return returns_early();
	case 8:
		return by_handle();
	case 9:
		return recursion(dice(12));
	case 10:
		return recursion_of_scopes(dice(12));
	case 11:
		return recursion_by_handle(dice(12));
	default:
		return leap();
	}
}

void body()
{
	if (level > 8)
		return;
	level++;
	for (uint32_t n = 1 + dice(4); n && budget > 0; n--) {
		budget--;
		use();
	}
	level--;
}

void rounds(uint64_t seed, int n)
{
	lane = &all->lane[__atomic_fetch_add(&all->lanes, 1, __ATOMIC_RELAXED)];
	lane->tid = uint32_t(syscall(SYS_gettid));
	chance = seed;
	stack = new std::vector<uint32_t>;
	target = nullptr;
	catching = false;
	for (int &count : known)
		count = 0;
	while (n--) {
		SCOPE(5, call);
		budget = 40;
		level = 0;
		go();
	}
}

void *thread(void *seed)
{
	rounds(uint64_t(uintptr_t(seed)), 8);
	return nullptr;
}

} // namespace

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDWR | O_CREAT, 0644) : -1;
	uint64_t seed = argc == 3 ? strtoull(argv[2], nullptr, 0) : 0;
	pthread_t threads[3];
	pid_t child;

	if (fd < 0 || ftruncate(fd, sizeof(*all)) < 0)
		return 97;
	all = static_cast<Log *>(
		mmap(nullptr, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	if (all == MAP_FAILED)
		return 97;
	for (uint32_t i = 0; i < NAMES; i++)
		handles[i] = sp_region_intern(("n" + std::to_string(i)).c_str());
	for (pthread_t &t : threads)
		pthread_create(
			&t, nullptr, thread,
			reinterpret_cast<void *>(uintptr_t(seed * 7 + uint64_t(&t - threads))));
	rounds(seed, 8);
	for (pthread_t t : threads)
		pthread_join(t, nullptr);
	child = fork();
	if (child == 0) {
		rounds(seed + 1, 4);
		kill(getpid(), SIGKILL);
	}
	waitpid(child, nullptr, 0);
	puts("done");
	return 0;
}
