/* SPDX-License-Identifier: BSD-2-Clause
 *
 * streams.h - the three standard streams at the start of a program.
 */
#ifndef SP_BASE_STREAMS_H
#define SP_BASE_STREAMS_H

/* Call it first in main(). A program may be started with closed streams; the files that it opens
 * would then take their numbers, and what is printed would end up in them. Puts a descriptor there
 * that fails like a closed one when used, and that a program which is exec'd does not see. Also
 * makes a limit of the size of files (ulimit -f) an error of write(2) instead of a sudden death. */
void sp_streams_secure(void);

#endif
