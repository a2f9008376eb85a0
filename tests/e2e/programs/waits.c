/* SPDX-License-Identifier: BSD-2-Clause
 *
 * waits.c - does nothing, for ever: a helper that gets no time.
 */
#include <unistd.h>

int main(void)
{
	for (;;)
		pause();
}
