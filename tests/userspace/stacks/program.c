/* SPDX-License-Identifier: BSD-2-Clause
 *
 * program.c - functions to be in. They are never run: what counts is where they are.
 */
#define APART __attribute__((noinline, noclone))

volatile int sink;

static inline __attribute__((always_inline)) int inner(int x)
{
	sink = x * 3;
	return sink + 7;
}

APART void stop(void)
{
	for (;;)
		sink++;
}

APART int leaf(int x)
{
	sink += x;
	return inner(x) * 2;
}

APART int recurse(int n)
{
	return n ? recurse(n - 1) + sink : leaf(n);
}

/* Its last instruction is the call: what it would return to is in no function of its own. */
APART void last_call(void)
{
	sink = 1;
	stop();
	__builtin_unreachable();
}

APART int solve(int x)
{
	return leaf(x) + sink;
}

APART int handler(int x)
{
	sink = x;
	return solve(x) + 1;
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 5)
		last_call();
	return solve(argc) + handler(argc) + recurse(argc);
}
