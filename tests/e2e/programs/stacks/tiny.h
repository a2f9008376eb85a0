/* SPDX-License-Identifier: BSD-2-Clause
 *
 * tiny.h - functions of a library that are so short that calls of them are mostly the linkage
 * table's stubs.
 */
#ifndef SP_TESTS_TINY_H
#define SP_TESTS_TINY_H

int tiny_one(int a);
int tiny_two(int a);
int tiny_three(int a, int b);
int tiny_back(int (*function)(int), int a);

/* 1024 functions, that there is something to look up: each(_00000), each(_00001) … each(_33333). */
#define TINY_4(each, n) each(n##0) each(n##1) each(n##2) each(n##3)
#define TINY_16(each, n) TINY_4(each, n##0) TINY_4(each, n##1) TINY_4(each, n##2) TINY_4(each, n##3)
#define TINY_64(each, n) \
	TINY_16(each, n##0) TINY_16(each, n##1) TINY_16(each, n##2) TINY_16(each, n##3)
#define TINY_256(each, n) \
	TINY_64(each, n##0) TINY_64(each, n##1) TINY_64(each, n##2) TINY_64(each, n##3)
#define TINY_1024(each) TINY_256(each, _0) TINY_256(each, _1) TINY_256(each, _2) TINY_256(each, _3)
#define TINY_DECLARE(n) int tiny_many##n(int a);
TINY_1024(TINY_DECLARE)

#endif
