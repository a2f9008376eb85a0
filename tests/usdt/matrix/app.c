/*
 * The main file of the matrix program. Arguments: "raise" lifts the semaphores from inside, so that
 * the gates and stubs run without a tracer; a number repeats everything so often. Prints a line
 * `call COUNT NAME` for each region, and a checksum that no tracing may change.
 */
#include <stdio.h>

#include "unit.h"

static struct {
	const char *name;
	unsigned long calls;
} table[64];

void count_call(const char *name)
{
	unsigned i;

	for (i = 0; table[i].name && strcmp(table[i].name, name); i++)
		;
	table[i].name = name;
	table[i].calls++;
}

static unsigned recurse(unsigned depth)
{
	SP_REGION_FUNCTION();
	count_call("recurse");
	return depth ? recurse(depth - 1) * 2 + 1 : 1;
}

static unsigned leave_early(unsigned x)
{
	unsigned i;

	for (i = 0; i < 8; i++) {
		SP_REGION_SCOPE_TAGGED("early", "mpi,halo");
		count_call("early");
		if (i == 2)
			continue;
		if (i == 3 + (x & 1))
			break;
		if (i == x)
			return x;
	}
	return i;
}

static unsigned run(unsigned x)
{
	SP_REGION_BEGIN(ODD_NAME);
	count_call(ODD_NAME);
	x = static_inline(x) + extern_inline(x) + recurse(3) + leave_early(x);
	SP_REGION_END(ODD_NAME);
	if (x & 1)
		SP_REGION_BEGIN("ends elsewhere");
	else
		SP_REGION_BEGIN("ends elsewhere");
	count_call("ends elsewhere");
	part_end_elsewhere();
	return x;
}

int main(int argc, char **argv)
{
	unsigned long rounds = 1, round;
	unsigned x = 1;
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "raise")) {
			rounds = strtoul(argv[i], NULL, 10);
			continue;
		}
		sp_begin_sema_v1 = 1;
		sp_end_sema_v1 = 1;
		app_part_raise();
#ifdef WITH_LIBRARIES
		one_raise();
		two_raise();
#endif
		if (!SP_REGION_ENABLED())
			return 3;
	}
	for (round = 0; round < rounds; round++) {
		x += run(x) + part_run(x);
#ifdef WITH_CXX
		x += cxx_run(x);
#endif
#ifdef WITH_LIBRARIES
		x += one_run(x) + two_run(x);
#endif
	}
	for (i = 0; table[i].name; i++)
		printf("call %lu %s\n", table[i].calls, table[i].name);
	printf("sum %u\n", x);
	return 0;
}
