/* SPDX-License-Identifier: BSD-2-Clause
 *
 * tiny.c - see tiny.h.
 */
#include "tiny.h"

int tiny_one(int a)
{
	return a + 1;
}

int tiny_two(int a)
{
	return a * 3;
}

/* Through the library's own table. */
int tiny_three(int a, int b)
{
	return tiny_one(a) + tiny_two(b);
}

#define TINY_DEFINE(n) \
	int tiny_many##n(int a) \
	{ \
		return a ^ 1; \
	}
TINY_1024(TINY_DEFINE)

int tiny_back(int (*function)(int), int a)
{
	return function(a) + 1;
}
