# SPDX-License-Identifier: BSD-2-Clause
"""mistakes_program.py - makes random programs that use regions wrongly, in every way that is known.

A program is a handful of functions of random statements, with what programs/mistakes.h gives them. What
it does at run time hangs on dice with the same seed, so a seed is a program and its run. What really
happens stands in its log, not here.
"""
import random

NAMES = ["alpha", "beta", "gamma", "delta", "eps", "zeta"]
FUNCTIONS = 7


class Program:
    def __init__(self, seed, cxx):
        self.r = random.Random(seed)
        self.seed, self.cxx = seed, cxx
        self.lines = []

    def put(self, depth, text):
        self.lines.append("\t" * depth + text)

    def name(self):
        index = self.r.randrange(len(NAMES))
        return index, f'{index}, "{NAMES[index]}"'

    def call(self):
        return f"f{self.r.randrange(FUNCTIONS)}();"

    def statements(self, depth, most=4):
        for _ in range(self.r.randint(1, most)):
            self.statement(depth)

    def statement(self, depth):
        r = self.r
        simple = ["call", "call", "pair", "scope", "begin", "end", "handle", "leave", "across", "die"]
        kinds = simple + ["loop", "catch", "catch", "catch", "scope", "leave", "leave", "fiber", "signal", "yield", "fork", "deep"]
        kind = r.choice(kinds if depth < 4 else ["call", "end", "leave", "across", "handle", "yield", "signal"])
        index, name = self.name()
        if kind == "call":
            self.put(depth, f"if (budget) {self.call()}")
        elif kind == "scope":
            self.put(depth, "if (budget) {")
            self.put(depth + 1, f"SCOPE({name});")
            self.statements(depth + 1)
            self.put(depth, "}")
        elif kind == "pair":
            self.put(depth, f"BEGIN({name});")
            self.statements(depth, 2)
            if r.random() < 0.4:
                self.put(depth, f"if (!dice({r.randint(2, 4)})) return;")
            wrong = self.name()[1] if r.random() < 0.1 else name
            self.put(depth, f"END({wrong});")
            if r.random() < 0.1:
                self.put(depth, f"END({wrong});")
        elif kind == "begin":
            self.put(depth, f"if (!dice(3)) BEGIN({name});")
        elif kind == "end":
            self.put(depth, f"if (!dice(3)) END({name});")
        elif kind == "handle":
            self.put(depth, f"if (dice(2)) BEGIN_HANDLE({index}, handles[{index}]); else END_HANDLE({index}, handles[{index}]);")
        elif kind == "across":
            self.put(depth, f"if (dice(2)) open_{index}(); else close_{index}();")
        elif kind == "leave":
            self.put(depth, f"if (!dice({r.randint(3, 6)})) leave();")
        elif kind == "loop":
            self.put(depth, f"for (int i{depth} = 0; i{depth} < {r.randint(2, 4)} && budget; i{depth}++) {{")
            self.statements(depth + 1, 3)
            if r.random() < 0.3:
                self.put(depth + 1, "if (!dice(3)) break;")
            self.put(depth, "}")
        elif kind == "catch":
            if self.cxx:
                self.put(depth, "tries++;")
                self.put(depth, f"try {{ if (budget) {self.call()} }} catch (int) {{}}")
                self.put(depth, "tries--;")
            else:
                self.put(depth, f"catching(f{r.randrange(FUNCTIONS)});")
            if r.random() < 0.5:
                self.statement(depth)
        elif kind == "fiber":
            self.put(depth, f"if (!dice(3)) start_fiber(f{r.randrange(FUNCTIONS)}); else resume_fiber();")
        elif kind == "signal":
            self.put(depth, "if (budget && !handling && !dice(3)) raise(SIGUSR1);")
        elif kind == "yield":
            self.put(depth, "yield();")
        elif kind == "fork":
            self.put(depth, "if (!dice(4)) split();")
        elif kind == "die":
            self.put(depth, "if (!dice(12)) die();")
        elif kind == "deep":
            self.put(depth, f"if (!dice(30)) deep_{r.choice(['scope', 'free'])}({r.randint(60, 100)});")

    def text(self):
        r = self.r
        self.lines = [
            "/* made by lib/mistakes_program.py */",
            '#include "tests/e2e/programs/mistakes.h"', "",
            f"static sp_region_t handles[{len(NAMES)}];",
            "static __thread int tries, forked, is_thread;",
            "static __thread struct fiber *suspended[8];",
            "static char **arguments;", ""]
        self.lines += [f"static NOINLINE void f{i}(void);" for i in range(FUNCTIONS)]
        self.lines += ["", LEAVE_CXX if self.cxx else LEAVE_C, COMMON]
        for i, name in enumerate(NAMES):
            pad = r.choice([0, 0, 24, 200])
            self.put(0, f"static NOINLINE void open_{i}(void)\n{{")
            if pad:
                self.put(1, f"char room[{pad}]; __asm__ volatile(\"\" : : \"r\"(room) : \"memory\");")
            self.put(1, f'BEGIN({i}, "{name}");\n}}\n')
            self.put(0, f"static NOINLINE void close_{i}(void)\n{{")
            self.put(1, f'END({i}, "{name}");\n}}\n')
        for i in range(FUNCTIONS):
            self.put(0, f"static NOINLINE void f{i}(void)\n{{")
            pad = r.choice([0, 0, 0, 16, 100, 1000])
            if pad:
                self.put(1, f"char room[{pad}]; __asm__ volatile(\"\" : : \"r\"(room) : \"memory\");")
            self.put(1, "if (!budget || level > 12)\n\t\treturn;")
            self.put(1, "budget--;\n\tlevel++;")
            self.put(1, "struct level_guard guard_ LEVEL_CLEANUP = {level};\n\t(void)guard_;")
            if r.random() < 0.5:
                self.put(1, f"SCOPE({self.name()[1]});")
            self.statements(1, 6)
            self.put(0, "}\n")
        self.lines.append(MAIN % {"seed": self.seed, "names": ", ".join(f'"{n}"' for n in NAMES)})
        return "\n".join(self.lines) + "\n"


LEAVE_C = r'''
struct level_guard { uint32_t level; };
static inline void level_end(struct level_guard *g) { level = g->level - 1; }
#define LEVEL_CLEANUP __attribute__((cleanup(level_end)))

/* Over as many scopes as there are. */
static NOINLINE void leave(void)
{
	if (target)
		longjmp(*target, 1);
}

static NOINLINE void catching(void (*function)(void))
{
	jmp_buf *volatile before = target;
	volatile uint32_t at = level;
	jmp_buf here;

	target = &here;
	if (!setjmp(here) && budget)
		function();
	level = at;
	target = before;
}
'''

LEAVE_CXX = r'''
struct level_guard {
	uint32_t was;
	~level_guard() { level = was - 1; }
};
#define LEVEL_CLEANUP

static NOINLINE void leave(void)
{
	if (tries && !on_stack)
		throw 1;
}
'''

COMMON = r'''
static NOINLINE void start_fiber(void (*function)(void))
{
	for (int i = 0; i < 8 && budget; i++)
		if (!suspended[i]) {
			uint32_t at = level;
			int tries_before = tries;

			suspended[i] = fiber_new(function);
			tries = 0;
			level = 0;
			fiber_go(suspended[i]);
			tries = tries_before;
			level = at;
			if (suspended[i]->done)
				suspended[i] = NULL;
			return;
		}
}

/* But not one that waits for one that it has resumed. */
static NOINLINE void resume_fiber(void)
{
	int i = (int)dice(8);
	struct fiber *f = suspended[i];
	uint32_t at = level;
	int tries_before = tries;

	if (!f || running)
		return;
	level = 0;
	tries = 0;
	fiber_go(f);
	tries = tries_before;
	level = at;
	if (f->done)
		suspended[i] = NULL;
}

/* Once in the main thread: a child that carries on where its parent is. */
static NOINLINE void split(void)
{
	uint64_t seed = chance + 1;
	int status;
	pid_t child;

	if (forked || is_thread)
		return;
	forked = 1;
	child = fork();
	if (child == 0) {
		forked = 2;
		start_lane(FORK, seed);
	} else if (child > 0) {
		waitpid(child, &status, 0);
	}
}

static NOINLINE void die(void)
{
	if (is_thread) {
		lane->ended = 1;
		if (on_stack)
			return;
		if (is_thread == 1)
			syscall(SYS_exit, 0); /* neither cleanup nor unwinding */
		return;
	}
	if (forked != 2)
		return;
	switch (dice(4)) {
	case 0:
		_exit(0);
	case 1:
		abort();
	case 2:
		kill(getpid(), SIGKILL);
		break;
	default:
		execl(arguments[0], arguments[0], arguments[1], "again", (char *)NULL);
	}
}

static NOINLINE void deep_scope(int n)
{
	if (!n || lane->n > ENTRIES / 2)
		return;
	SCOPE(0, "alpha");
	deep_scope(n - 1);
	if (n == 3 && !dice(2))
		leave();
}

static NOINLINE void deep_free(int n)
{
	if (!n || lane->n > ENTRIES / 2)
		return;
	BEGIN(1, "beta");
	deep_free(n - 1);
	END(1, "beta");
}
'''

MAIN = r'''
static void run(uint32_t edges)
{
	budget = edges;
	for (int i = 0; i < 40 && budget; i++)
		f0();
}

static void from_handler(void)
{
	uint32_t at = level;
	int tries_before = tries;

	level = 10;
	tries = 0;
	f1();
	tries = tries_before;
	level = at;
}

static void *thread(void *number)
{
	is_thread = number == (void *)1 ? 1 : 2;
	start_lane(THREAD, %(seed)du * 3 + (uint64_t)(uintptr_t)number);
	use_signal_stack();
	run(60);
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {%(names)s};
	pthread_t threads[2];

	arguments = argv;
	open_log(argv[1]);
	for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++)
		handles[i] = sp_region_intern(names[i]);
	start_lane(argc > 2 ? EXEC : MAIN, %(seed)du);
	use_signal_stack();
	catch_signals(from_handler);
	if (argc > 2) {
		forked = 1;
		run(20);
		return 0;
	}
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, thread, (void *)(i + 1));
	run(80);
	if (forked != 2)
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
	puts("done");
	return 0;
}
'''
