/* SPDX-License-Identifier: BSD-2-Clause
 *
 * content_id.h - stands for the build-id of a file that was linked without one: its length and a
 * checksum of all of it. So a program that was built anew is known, and one that was only copied or
 * touched is not mistaken for another.
 *
 *	content-1c291ca3-70432
 *
 * No build-id looks like that, which is hexadecimal.
 */
#ifndef SP_ANALYSIS_CONTENT_ID_H
#define SP_ANALYSIS_CONTENT_ID_H

#include <stdbool.h>

#define SP_CONTENT_ID_BYTES 40

/* Of no file: it was replaced before it could be read. */
#define SP_CONTENT_ID_LOST "content-lost"

bool sp_content_id_is(const char *id);

/* Reads the file to its end, wherever it stands. 0 or -errno. */
int sp_content_id_read(int fd, char ret_id[SP_CONTENT_ID_BYTES]);

#endif
