/* SPDX-License-Identifier: BSD-2-Clause
 *
 * cleanup.h - locals that clean up after themselves.
 *
 *   sp_cleanup(sp_freep) char *text = NULL;
 *
 * SP_DEFINE_CLEANUP(type, function) makes functionp(type *) for any destructor that takes NULL.
 */
#ifndef SP_BASE_CLEANUP_H
#define SP_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define sp_cleanup(function) __attribute__((cleanup(function)))

#define SP_DEFINE_CLEANUP(type, function) \
	static inline void function##p(type *object) \
	{ \
		if (*object) \
			function(*object); \
	} \
	struct sp_cleanup_##function##_needs_semicolon

static inline void sp_freep(void *pointer)
{
	free(*(void **)pointer);
}

static inline void sp_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void sp_fclosep(FILE **file)
{
	if (*file)
		fclose(*file);
}

/* Hands a pointer or descriptor out of the reach of its cleanup. */
#define sp_take(pointer) \
	({ \
		__typeof__(pointer) taken_ = (pointer); \
		(pointer) = NULL; \
		taken_; \
	})

static inline int sp_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define sp_array_size(array) (sizeof(array) / sizeof((array)[0]))

#endif
