/* SPDX-License-Identifier: BSD-2-Clause
 *
 * own.h - which source files are the user's own, and which the system's.
 *
 * Of a chain of inlined calls, people want to see the line in their own code that led to
 * std::vector, not the line of the C++ library that does the work. Of the system are files that are
 * installed with compilers, libraries and toolkits:
 *
 *	under /usr/include, /usr/lib and its like, /usr/local/include, /usr/local/lib,
 *	/usr/local/cuda…, /usr/src/debug, and vendors' trees in /opt (intel, nvidia, cray, rocm, …)
 *	anywhere in a directory lib/gcc, lib/clang, include/c++ or lib/rustlib
 *
 * and what compilers make up, which is in no file; and whatever the code of a library was made of
 * that lies in /lib, /usr/lib and their like. Everything else is the user's own, headers too.
 * Directories can be named to be so or not; the longest that fits a file counts.
 */
#ifndef SP_ANALYSIS_OWN_H
#define SP_ANALYSIS_OWN_H

#include <stdbool.h>

#include "userspace/analysis/symbols.h"

struct sp_own;

int sp_own_new(struct sp_own **ret_own);
/* NULL is fine. */
void sp_own_free(struct sp_own *own);

/* Files in @directory, and the file of that path, are the user's own, or not. A relative path is
 * one that file names may have anywhere ("vendor/fmt"). */
int sp_own_add(struct sp_own *own, const char *directory, bool is_own);

/* The path without "//", "/./" and "/x/../", to free(); NULL without memory. */
char *sp_own_plain(const char *path);

/* The innermost of its frames with a line in an own file; the outermost where there is none.
 * @module: path of the file that the code is in, NULL unknown. */
struct sp_frame sp_own_frame(struct sp_own *own, const struct sp_symbol *symbol,
			     const char *module);

#endif
