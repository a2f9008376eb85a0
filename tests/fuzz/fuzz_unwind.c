/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fuzz_unwind.c - libFuzzer target for what sp-unwind does with a file
 * (loader/helpers/unwind_make.c).
 *
 * A bad access ends it through the sanitizers; a table that the recorder's checks would refuse ends
 * it here.
 *
 *   clang -fsanitize=fuzzer,address,undefined … ; ./fuzz_unwind CORPUS
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader/helpers/unwind_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct sp_unwind_table table = {0};
	struct sp_error err;

	if (fd < 0)
		fd = memfd_create("fuzz", 0);
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (sp_unwind_make(fd, &table, &err) == 0 && sp_unwind_table_check(&table, size) < 0)
		abort();
	sp_unwind_table_clear(&table);
	return 0;
}
