/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_info.h - from addresses in one ELF file to functions and source lines, by libdw.
 *
 * The file and its debug files are taken to be hostile. What is malformed in a way that libdw or
 * this code notices gives fewer answers, never wrong memory accesses here; but libdw itself maps
 * files (one that is truncated meanwhile kills its reader) and has had bugs. Hence symbols.c calls
 * this in a child process, where a crash costs the answers of one file.
 *
 * The network is never touched: callers unset DEBUGINFOD_URLS before.
 */
#ifndef SP_ANALYSIS_DEBUG_INFO_H
#define SP_ANALYSIS_DEBUG_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/analysis/debug_inflate.h"
#include "userspace/analysis/names.h"

#define SP_DEBUG_MAX_INLINED \
	64 /* frames at one address; the outermost is kept, of the others the inner ones */

/* A function at an address. Those of inlined calls lead to the function that they are in. */
struct sp_debug_link {
	const char *function;		   /* raw linker name; NULL unknown */
	const struct sp_name_hints *names; /* for its readable form; NULL none */
	const char *call_file; /* where it was called in the next one; as a place's; NULL unknown */
	const char *directory;
	uint32_t call_line;
	uint32_t depth;		      /* so many links there are from here on, this one included */
	uint32_t number;	      /* the user's, who finds 0 at first */
	uint32_t *function_number;    /* the same, of all links with this function; NULL: none */
	struct sp_debug_link *around; /* the function that it is inlined in; NULL: none */
};

/* What is known of an address. */
struct sp_debug_place {
	struct sp_debug_link *link; /* the innermost function; NULL unknown */
	const char *file;	    /* if relative, then to the directory; NULL unknown */
	const char *directory;	    /* where the compiler ran; may be NULL */
	uint32_t line;		    /* 0 unknown */
};

/* Memory, all zero at first, that processes share which look up the same addresses in the same
 * file. */
struct sp_debug_board {
	_Atomic uint32_t next; /* they take chunks as they get through with them */
	struct sp_inflated_file inflated;
};

struct sp_debug_share {
	unsigned int processes;
	struct sp_debug_board *board; /* NULL: there is but this process */
	int inflated_fd;	      /* as in debug_inflate.h */
	bool raw_names;		      /* nobody needs the hints for readable ones */
};

struct sp_debug_info;

#define SP_DEBUG_REASON 320

/* Opens @path. A file whose build-id is not @build_id (hexadecimal, or content_id.h's; NULL or "":
 * not known) is refused with -ESTALE: its lines would be wrong. Other failures: -ENOENT and its
 * like from opening, -ENOEXEC for what is not an ELF file that libdw takes. On failure @ret_reason
 * gets half a sentence ("is not an ELF file").
 * @debug_path: where to search separate debug files, in the syntax of libdwfl, NULL for the
 * default: beside the file, in .debug/ and under /usr/lib/debug. */
int sp_debug_info_open(const char *path, const char *build_id, const char *debug_path,
		       const struct sp_debug_share *share, struct sp_debug_info **ret_info,
		       char ret_reason[SP_DEBUG_REASON]);
/* NULL is fine. */
void sp_debug_info_free(struct sp_debug_info *info);

/* True if there is DWARF, in the file or in a separate one, which @ret_file then names (else NULL).
 */
bool sp_debug_info_has_lines(const struct sp_debug_info *info, const char **ret_file);

/* Units whose functions are in files of split DWARF (.dwo, .dwp) that were not found: nothing is
 * known of their inlined calls. */
size_t sp_debug_info_n_lost(const struct sp_debug_info *info);

/* The file of what several programs have in common (.gnu_debugaltlink, by dwz), where it was not
 * found: names are missing. NULL: nothing is. */
const char *sp_debug_info_lost_common(const struct sp_debug_info *info);

/* Why compressed sections are not read: a clause, perhaps in @buffer. NULL: nothing. */
const char *sp_debug_info_refused(const struct sp_debug_info *info, char buffer[SP_DEBUG_REASON]);

/* Called for addresses[index]. The links live, and keep their numbers, until addresses of another
 * unit are told. Nonzero stops, and is returned. */
typedef int (*sp_debug_found)(void *context, size_t index, const struct sp_debug_place *place);

/* Looks up @n link-time addresses, in ascending order, and calls @found once for each that falls to
 * this process, in an order of its own. Each compilation unit is read once, those with very many
 * addresses by several processes. */
int sp_debug_info_find(struct sp_debug_info *info, const uint64_t *addresses, uint32_t n,
		       const struct sp_debug_share *share, sp_debug_found found, void *context);

#endif
