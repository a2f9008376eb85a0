/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fuzz_file.h - gives fuzzed bytes a path, for readers that open files: a file in memory.
 */
#ifndef SP_TESTS_FUZZ_FILE_H
#define SP_TESTS_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
