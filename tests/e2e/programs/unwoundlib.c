/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwoundlib.c - a library for unwound.c. ROOM: of its frames; builds with different ones are
 * loaded at one place in turn, where the table of the one would lead astray in the other.
 */
#define NOINLINE __attribute__((noinline, noclone))

NOINLINE double library_inner(double (*what)(double), double seconds)
{
	volatile char room[ROOM];

	room[0] = 1;
	return what(seconds) + room[0];
}

NOINLINE double library_outer(double (*what)(double), double seconds)
{
	volatile char room[3 * ROOM];

	room[0] = 1;
	return library_inner(what, seconds) + room[0];
}
