/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sp_elf.c - sp-elf: reads ELF files that nobody vouches for, so that the recorder need not.
 *
 *   sp-elf COUNT FIRST
 *
 * The files are the COUNT descriptors from 3 on. For each of them in turn, stdout gets the events
 * of elf_scan.h as records (u32 length, then the event), numbered as image FIRST, FIRST + 1 …, and
 * then a record of length 0. It runs under the sandbox of loader/sandbox.h and locks itself in
 * before it looks at a file, so a file that takes it over gains a pipe whose reader trusts nothing
 * (loader/elfscan.c). Exit status 0 done, 2 used wrongly, 3 could not lock itself in, 4 pipe
 * broken.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/helpers/elf_scan.h"
#include "loader/helpers/seccomp.h"

#define FIRST_FD 3

struct pipe_out {
	size_t used;
	bool broken;
	uint8_t bytes[1 << 16];
};

static int flush(struct pipe_out *out)
{
	size_t at = 0;

	while (at < out->used && !out->broken) {
		ssize_t n = write(STDOUT_FILENO, out->bytes + at, out->used - at);

		if (n < 0 && errno != EINTR)
			out->broken = true;
		else if (n > 0)
			at += (size_t)n;
	}
	out->used = 0;
	return out->broken ? -EPIPE : 0;
}

static int add(struct pipe_out *out, const void *from, size_t bytes)
{
	if (bytes == 0)
		return 0;
	if (bytes > sizeof(out->bytes) - out->used && flush(out) < 0)
		return -EPIPE;
	memcpy(out->bytes + out->used, from, bytes);
	out->used += bytes;
	return 0;
}

static int put(void *arg, const void *event, size_t bytes, const void *tail, size_t tail_bytes)
{
	struct pipe_out *out = arg;
	uint32_t length = (uint32_t)(bytes + tail_bytes);
	int r = add(out, &length, sizeof(length));

	if (r == 0)
		r = add(out, event, bytes);
	if (r == 0)
		r = add(out, tail, tail_bytes);
	return r;
}

static bool number(const char *text, unsigned long most, unsigned long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoul(text, &end, 10);
	return errno == 0 && end != text && *end == 0 && *ret <= most;
}

int main(int argc, char **argv)
{
	static struct pipe_out out;
	const struct sp_elf_sink sink = {put, &out};
	unsigned long count, first;

	if (argc != 3 || !number(argv[1], INT_MAX - FIRST_FD, &count) ||
	    !number(argv[2], UINT32_MAX - count, &first))
		_exit(2);
	if (sp_seccomp_lock() < 0)
		_exit(3);
	for (unsigned long i = 0; i < count && !out.broken; i++) {
		/* What fails for another reason than the pipe shows as missing events. */
		sp_elf_scan(FIRST_FD + (int)i, (uint32_t)(first + i), &sink);
		add(&out, &(uint32_t){0}, sizeof(uint32_t));
		/* Each file for itself, so that one that kills us takes no other with it. */
		flush(&out);
	}
	_exit(out.broken ? 4 : 0);
}
