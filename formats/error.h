/* SPDX-License-Identifier: BSD-2-Clause
 *
 * error.h - the one way in which formats/ reports a failure.
 *
 * A function that fails returns -errno, leaves its ret_x parameters untouched and fills the
 * caller's struct sp_error with a sentence that names the file, where in it, and the reason; the
 * command that asked prints that sentence, once. Every function takes NULL for the error, if only
 * the code matters. Nothing in formats/ prints. What a sentence quotes from a file or a name has
 * its control characters replaced, so printing it to a terminal is safe.
 */
#ifndef SP_FORMATS_ERROR_H
#define SP_FORMATS_ERROR_H

#include <errno.h>
#include <stdint.h>

#include "formats/api.h"

SP_API_BEGIN

/* What is wrong with a file's content has a code of its own, so that tests and tools can tell.
 * Every other code is what the system call said (ENOENT, ENOSPC, ENOMEM …). */
#define SP_E_FORMAT EMEDIUMTYPE	     /* not a file of this format */
#define SP_E_TRUNCATED ENODATA	     /* ends before its content does */
#define SP_E_VERSION EPROTONOSUPPORT /* a version this code does not know */
#define SP_E_TRAILING EMSGSIZE	     /* bytes after its end */
#define SP_E_COUNT EOVERFLOW	     /* a count or length that is negative or that it cannot hold */
#define SP_E_UTF8 EILSEQ	     /* text that is not UTF-8, or has a NUL inside */
#define SP_E_DAMAGED EBADMSG	     /* contradicts itself in another way */
#define SP_E_MISSING ENOMSG	     /* a part that must be there is not */

struct sp_error {
	int code;	 /* -errno, 0 when nothing failed */
	uint64_t offset; /* byte in the file that the text is about, 0 its beginning or no place in
			    particular */
	char text[256];	 /* the reason, without a newline, to be printed as "PATH: TEXT" */
};

/* Fills @error (which may be NULL) and returns @code, so that a failure is one line:
 *	return sp_error_set(error, -SP_E_COUNT, at, "region \"%s\" claims %lld calls", name, calls);
 * The text starts with what is wrong, not with the file; " (at byte N)" is appended for an @offset
 * other than 0. Control characters become '?'. */
int sp_error_set(struct sp_error *error, int code, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

SP_API_END

#endif
