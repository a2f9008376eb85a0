/* SPDX-License-Identifier: BSD-2-Clause
 *
 * content_id.c - see content_id.h. Read, not mapped: a file that is cut meanwhile kills nobody.
 */
#include "userspace/analysis/content_id.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/crc32c.h"
#include "userspace/base/cleanup.h"

#define PIECE ((size_t)256 << 10)
#define PREFIX "content-"

bool sp_content_id_is(const char *id)
{
	return !strncmp(id, PREFIX, strlen(PREFIX));
}

int sp_content_id_read(int fd, char ret_id[SP_CONTENT_ID_BYTES])
{
	sp_cleanup(sp_freep) unsigned char *piece = malloc(PIECE);
	uint64_t size = 0;
	uint32_t crc = 0;
	ssize_t n;

	if (!piece)
		return -ENOMEM;
	while ((n = pread(fd, piece, PIECE, (off_t)size)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		crc = sp_crc32c(crc, piece, (size_t)n);
		size += (uint64_t)n;
	}
	snprintf(ret_id, SP_CONTENT_ID_BYTES, PREFIX "%08" PRIx32 "-%" PRIu64, crc, size);
	return 0;
}
