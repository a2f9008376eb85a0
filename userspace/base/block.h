/* SPDX-License-Identifier: BSD-2-Clause
 *
 * block.h - large blocks of memory, given by the kernel at once or in huge pages, not page by page
 * at the price of a fault each. Only for what is going to be written anyway; where the kernel
 * cannot do it, nothing happens.
 */
#ifndef SP_BASE_BLOCK_H
#define SP_BASE_BLOCK_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

#define SP_BLOCK_PREFAULT (64u << 10) /* smaller ones are not worth a call */
#define SP_BLOCK_HUGE (2u << 20)

/* Makes the pages of a block that are not shared with a child (a fork takes them away again). */
static inline void sp_block_prefault(void *block, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)block + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t)block + size) & ~(page - 1);
	int error = errno;

	if (size >= SP_BLOCK_PREFAULT && from < to)
		madvise((void *)from, to - from, MADV_POPULATE_WRITE);
	errno = error;
}

/* Like malloc(), to free(); blocks of SP_BLOCK_HUGE bytes are one huge page where there are any. */
static inline void *sp_block_alloc(size_t size)
{
	void *block = size == SP_BLOCK_HUGE ? aligned_alloc(SP_BLOCK_HUGE, size) : malloc(size);
	int error = errno;

	if (block && size == SP_BLOCK_HUGE)
		madvise(block, size, MADV_HUGEPAGE);
	else if (block)
		sp_block_prefault(block, size);
	errno = error;
	return block;
}

#endif
