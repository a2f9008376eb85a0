/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_length.c - unwind_length FILE: instructions are as long as a disassembler says.
 *
 * Standard input has lines of an offset in the file (hexadecimal) and a length; says how many
 * lengths differ, and how many were refused.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "loader/helpers/unwind_x86.h"

int main(int argc, char **argv)
{
	size_t all = 0, wrong = 0, refused = 0;
	unsigned long offset, length;
	const uint8_t *bytes;
	struct stat st;
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 2;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return 1;
	while (scanf("%lx %lu", &offset, &length) == 2 && offset < (unsigned long)st.st_size) {
		struct sp_x86 x = {0};

		all++;
		if (!sp_x86_decode(bytes + offset, (size_t)st.st_size - offset, &x))
			refused++;
		else if (x.length != length)
			wrong++;
		else
			continue;
		fprintf(stderr, "%lx: %u, not %lu\n", offset, x.length, length);
	}
	printf("%zu instructions, %zu wrong, %zu refused\n", all, wrong, refused);
	return 0;
}
