/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbols.h - from addresses to functions, inlined calls and source lines.
 *
 * Life cycle: new; name the modules; add addresses, duplicates welcome; resolve; find, as often as
 * wanted; free. Addresses may be added again after a resolve, for a further one.
 *
 * Addresses are link-time addresses (run-time address − load bias). For return addresses, found on
 * stacks, pass address − 1: the call, not what follows it.
 *
 * Cost: each distinct address is looked up once, each compilation unit is read once. Memory: about
 * 40 bytes an address and 40 for each distinct chain of inlined calls, and each distinct text once.
 * Each module is read in a child process of its own, several at a time; files are never trusted:
 * one that is damaged, changed, gone or hostile gives unknown addresses and a reason, never a
 * failure. A module with many addresses is read by several processes, which share out its units.
 *
 * Separate debug files are found by build-id (DIR/.build-id/xx/….debug) and by name
 * (.gnu_debuglink, whose checksum must fit). The network is used only if debuginfod is asked for;
 * what comes from there must have the module's build-id.
 */
#ifndef SP_ANALYSIS_SYMBOLS_H
#define SP_ANALYSIS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct sp_reach;
struct sp_symbols;

struct sp_symbols_options {
	const char *debug_path; /* where to search separate debug files, as libdwfl writes it:
				   "+:.debug:/usr/lib/debug", which NULL stands for */
	bool debuginfod; /* ask servers for what is not found, if DEBUGINFOD_URLS names any */
	unsigned int debuginfod_s; /* for all they are asked together; 0: 30 */
	unsigned int jobs;	   /* processes at a time; 0: one for each CPU, at most 8 */
	unsigned int patience_s;   /* a module without progress for so long is given up; 0: 60 */
	bool raw_names;		   /* linker names alone: saves time where nobody reads them */
	unsigned int limit_s;	   /* for all modules of a resolve together; 0: none */
	bool keep_clones;	   /* tell solve.constprop.0 from solve in readable names */
	bool in_process; /* no child processes: for tests; a crash of libdw is then one of ours */
	struct sp_reach *reach; /* what looks at files, and stays the caller's; NULL: an own one */
	/* Called now and then while resolving, or NULL. */
	void (*progress)(void *context, size_t done, size_t total);
	void *context;
};

/* How well a module is known. Everything but LINES and NAMES comes with a reason; NAMES has one if
 * debug information was found or asked for in vain, LINES if a part of it is not to be found. */
enum sp_symbols_status {
	SP_SYMBOLS_PENDING = 0, /* nothing was resolved yet */
	SP_SYMBOLS_LINES = 1,	/* has debug information */
	SP_SYMBOLS_NAMES = 2,	/* has at most a symbol table: build with -g */
	SP_SYMBOLS_CHANGED = 3, /* another build than the one recorded: not used */
	SP_SYMBOLS_MISSING = 4, /* cannot be read */
	SP_SYMBOLS_DAMAGED = 5, /* is not ELF, or reading it went wrong; may have answers */
};

/* The reason of a module whose debug information servers were asked for in vain, for want of time.
 */
#define SP_SYMBOLS_NO_ANSWER "debuginfod did not answer in time"

struct sp_symbols_module {
	const char *path;
	const char *build_id; /* as given; "" unknown */
	enum sp_symbols_status status;
	const char *reason; /* clause to stand after "path: "; "" none. CHANGED: names both ids */
	const char *debug_file;	 /* that the lines come from; "" none */
	bool fixed_address;	 /* linked for fixed addresses (ET_EXEC): its load bias is 0 */
	struct timespec changed; /* last modification of the file, 0 unknown */
	uint8_t place;		 /* as set: SP_IMAGE_* of wire.h */
};

/* A function, and if it was inlined, where it was called. All addresses in it share this. Texts
 * live as long as the symbols; equal texts are equal pointers. */
struct sp_call {
	const char *function; /* readable (demangled); "??" unknown */
	const char *raw;      /* linker name; the same pointer where nothing was to demangle */
	const char *call_file;
	const struct sp_call *around; /* the function that it was called in, NULL: not inlined */
	uint32_t call_line;
};

struct sp_symbol {
	const struct sp_call *innermost; /* function at the address */
	const char *file;  /* as the compiler recorded it, joined to its directory; "??" unknown */
	uint32_t line;	   /* 0 unknown */
	uint32_t n_frames; /* functions from the innermost to the one that is not inlined */
};

/* One function at an address: the line of the innermost is where the address itself belongs, the
 * line of every other one is where the one before it was called. */
struct sp_frame {
	const char *function, *raw, *file; /* as above */
	uint32_t line;
	const struct sp_call *call;
};

static inline struct sp_frame sp_symbol_innermost(const struct sp_symbol *symbol)
{
	return (struct sp_frame){symbol->innermost->function, symbol->innermost->raw, symbol->file,
				 symbol->line, symbol->innermost};
}

/* Goes on to the function around it; false, and nothing done, if there is none. */
static inline bool sp_frame_leave(struct sp_frame *frame)
{
	const struct sp_call *call = frame->call, *around = call->around;

	if (!around)
		return false;
	*frame = (struct sp_frame){around->function, around->raw, call->call_file, call->call_line,
				   around};
	return true;
}

/* @options may be NULL. */
int sp_symbols_new(const struct sp_symbols_options *options, struct sp_symbols **ret_symbols);
/* NULL is fine. */
void sp_symbols_free(struct sp_symbols *symbols);

/* The number of the module with this path and build-id (hexadecimal; NULL or "" unknown); the same
 * pair gives the same number. Reads the first bytes of the file, if there is one. */
int sp_symbols_add_module(struct sp_symbols *symbols, const char *path, const char *build_id,
			  uint32_t *ret_module);
size_t sp_symbols_n_modules(const struct sp_symbols *symbols);
const struct sp_symbols_module *sp_symbols_module(const struct sp_symbols *symbols,
						  uint32_t module);

/* Another file that may be the module, as a copy that was archived: taken if the file at the
 * module's path is gone or is another build; before it if no build-id can tell. */
int sp_symbols_add_copy(struct sp_symbols *symbols, uint32_t module, const char *path);

/* Where the file was when it was recorded: for those who say why it cannot be read. */
void sp_symbols_set_place(struct sp_symbols *symbols, uint32_t module, uint8_t place);

/* What it looks at files with; lives as long as the symbols, or longer. */
struct sp_reach *sp_symbols_reach(const struct sp_symbols *symbols);
/* How long servers are waited for, all together. */
unsigned int sp_symbols_patience_s(const struct sp_symbols *symbols);

int sp_symbols_add(struct sp_symbols *symbols, uint32_t module, uint64_t address);

/* Looks up all that was added. Fails only without memory or processes. */
int sp_symbols_resolve(struct sp_symbols *symbols);
/* Whether the last resolve reached its limit, so that some addresses are unknown that need not be.
 */
bool sp_symbols_ran_out_of_time(const struct sp_symbols *symbols);
/* Whether there were files that did not answer. */
bool sp_symbols_waited_in_vain(const struct sp_symbols *symbols);

/* Never NULL: what is not known, or was not resolved, has one frame, "??" at "??":0. */
const struct sp_symbol *sp_symbols_find(const struct sp_symbols *symbols, uint32_t module,
					uint64_t address);
/* The same for many, which is several times faster: ret_found[i] is of addresses[i]. */
void sp_symbols_find_all(const struct sp_symbols *symbols, uint32_t module,
			 const uint64_t *addresses, size_t n, const struct sp_symbol **ret_found);

#endif
