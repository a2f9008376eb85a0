/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fuzz_elf.c - libFuzzer target for what sp-elf does with a file (loader/helpers/elf_scan.c).
 *
 * A bad access ends it through the sanitizers; an event that the recorder's checks would refuse, or
 * fewer sites than were promised, ends it here.
 *
 *   clang -fsanitize=fuzzer,address,undefined … ; ./fuzz_elf CORPUS
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/codec.h"
#include "loader/elf_limits.h"
#include "loader/elfscan_check.h"
#include "loader/helpers/elf_scan.h"

union event {
	struct sp_head head;
	uint64_t align;
	char bytes[SP_ELF_LIMIT_EVENT + 8];
};

static int put(void *arg, const void *event, size_t bytes, const void *tail, size_t tail_bytes)
{
	union event copy;

	if (bytes + tail_bytes > SP_ELF_LIMIT_EVENT)
		abort();
	memcpy(copy.bytes, event, bytes);
	if (tail_bytes)
		memcpy(copy.bytes + bytes, tail, tail_bytes);
	if (sp_elfscan_check_event(arg, &copy.head, bytes + tail_bytes) < 0)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct sp_elfscan_check check = {.image = 1, .file_size = size};
	const struct sp_elf_sink sink = {put, &check};

	if (fd < 0)
		fd = memfd_create("fuzz", 0);
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	sp_elf_scan(fd, 1, &sink);
	if (sp_elfscan_check_end(&check) < 0)
		abort();
	return 0;
}
