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

#endif
