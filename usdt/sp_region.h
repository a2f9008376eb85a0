/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sp_region.h - named regions for C and C++ programs, seen from outside the process.
 *
 * Version 1.0. Copy this one file into your project; there is nothing to link.
 *
 *	#include "sp_region.h"
 *
 *	void step(struct grid *g)
 *	{
 *		SP_REGION_FUNCTION();			// until the function returns
 *
 *		SP_REGION_BEGIN("stencil");
 *		apply_stencil(g);
 *		SP_REGION_END("stencil");
 *
 *		if (g->step % 100 == 0) {
 *			SP_REGION_SCOPE_TAGGED("checkpoint", "io");	// until the block ends
 *			write_checkpoint(g);
 *		}
 *	}
 *
 * Then `sp-trace -- ./program`, or any tool that knows USDT probes:
 *
 *	bpftrace -e 'usdt:./program:sp:begin { @[str(arg1)] = count(); }' -c ./program
 *
 * What it does. While nobody traces, a region costs a test of one 16-bit word at each edge: 0.3 to
 * 0.9 nanoseconds for a begin-end pair, 16 bytes of code an edge where the program runs, and that a
 * leaf function is none any more. No thread, no signal, no file, no environment variable, no
 * allocation (but for run-time names). While somebody traces, each edge calls a stub of nops on
 * which the kernel has put its probe. Recorded by sp-trace on a small virtual machine, a pair costs
 * about 1.2 microseconds where the kernel turns the probe into a call (x86-64, Linux 6.18), and 1.5
 * where it is a breakpoint; the kernel's part of it, measured with a probe that does nothing, is
 * 0.9 and 1.3. The program's results are the same with and without: the probe is never inline, and
 * can touch neither the registers nor the stack of your code.
 *
 * What a tracer sees: two probes in each program and shared library,
 *	sp:begin  descriptor, name, hash, skipped
 *	sp:end    descriptor, name, hash
 * On x86-64 each has two places (see "Forked children"): tracers that go by the name take both.
 * `name` points to the text of the name. `descriptor` is the address of a 32-byte record in section
 * sp_desc with name, file, line, function and tags of the call (hash is 0), or for names made at
 * run time of a struct sp_region_dyn_ (hash is then the FNV-1a hash of the name). `skipped` counts
 * the calls of this region that this thread made without firing since the last begin that fired; it
 * is 0 unless a recorder thins the region (see "Thinning" below).
 *
 * Rules
 * - Names and tags in the macros are string literals, of any text (UTF-8, quotes, %, braces);
 *   a name that is not a literal is a compile error: use sp_region_intern(). A literal ends at its
 *   first NUL byte, if it has one.
 * - Regions nest, and may recurse. A begin and its end run on the same thread and in the same
 *   program or library, but not necessarily in the same function or file. An end without a begin is
 *   harmless (the recorder counts it, by region). A begin whose end never comes is closed by the
 *   recorder, and marked: with the region around it, the thread, the program. A scope that longjmp
 *   left is closed at the first edge that lies above it on the thread's stack, or where the scope
 *   begins again; a begin that a return skipped cannot be told from a pair over two functions, and
 *   stays open until the region around it ends: prefer SP_REGION_SCOPE. What is open when a region
 *   ends ends with it; an end that comes later is counted as late.
 * - Equal names are one region, wherever they stand.
 * - Threads: everything here may be called from any thread at any time, also from signal handlers
 *   but for sp_region_intern*(), which allocate memory.
 * - fork: the child carries on as the parent would; regions open at the fork are open in the child.
 *   While a region is thinned, calls pending in the parent's count are counted in the child, too.
 *   See "Forked children" below, and "System calls" for programs that confine themselves.
 * - dlclose: do not unload a library inside one of its regions. Its literal regions go with it,
 *   handles stay readable, and a library loaded again gives new ones.
 * - C++: a constexpr function cannot contain a region: compilers refuse it, or the function is no
 *   longer constant. Exceptions end scopes as they end any object. SP_REGION_FUNCTION() in a lambda
 *   is called "operator()", and in a member function by the bare name of the function.
 *   A scope must not stay open while its coroutine is suspended, nor one while a fiber runs on memory
 *   of the stack that it is on: either looks like a scope that longjmp left, and is closed early.
 * - C: scopes end at return, break, goto and the end of the block; with -fexceptions also when a
 *   C++ exception passes; never by longjmp.
 * - One scope a line: two SP_REGION_SCOPE on one line of one block do not compile.
 * - Inlined and templated code has a descriptor for every copy. They are merged by what they say.
 * - Compilers: gcc and clang, C11 and C++11 or newer; tested with gcc 12 and clang 14, with the
 *   linkers bfd, gold and lld, LTO, ThinLTO and sanitizers. Symbols and records carry the version
 *   of their layout, so that files built with different versions of this header can be linked.
 * - x86-64 and aarch64 have the stubs and descriptors. Elsewhere the same macros make ordinary USDT
 *   probes with descriptor 0; they cannot be thinned.
 *
 * -DSP_REGION_DISABLE removes everything: no code, no section; arguments are not evaluated, handles
 * are NULL. It may differ from file to file; of an inline function that two files share, the linker
 * takes either.
 *
 * Thinning. A trap costs more than a short region. A recorder may raise the level of a region from
 * outside (a 16-bit cell in section sp_level, one for each SP_REGION_BEGIN or SCOPE): with level L
 * only every 2^L-th call of a thread fires, and says how many it stands for; the end of a call does
 * what its begin did. Bookkeeping is thread-local, for 32 regions at a time and 64 open calls of
 * each in each program or library. What does not fit fires. The count is exact: what has fired plus
 * what `skipped` says is what was called; up to 2^L - 1 calls a thread and region are unreported
 * when the thread ends.
 *
 * Forked children (x86-64). Linux 6.18 makes a probe on a 5-byte nop a call into a page that fork
 * does not copy, though it copies the call: a child that ran into it would crash. So the stub has a
 * second place without such a nop, with a note of its own, and takes it in every process that was
 * forked after its first traced region. A process knows itself by a page that fork empties
 * (MADV_WIPEONFORK), one for each program or library, mapped at the first region that is traced and
 * never before. Children pay for a breakpoint; vfork, threads and exec lose nothing. One case
 * is left to the kernel: a child that is forked inside a signal handler, and returns from it into a
 * probe that the signal has interrupted, crashes there; one that ends in the handler does not.
 *
 * Valgrind (x86-64) translates a program's code, and dies of a breakpoint in it. So a process that
 * runs in it calls no stub: it has no regions for tracers. What cannot be told (aarch64,
 * -DSP_REGION_NO_SYSCALLS) must not be traced there, nor while another process of the file is.
 *
 * System calls. Mapping that page is all that this file ever asks of the kernel: mmap and madvise
 * (and munmap, where it comes to nothing), once, when a first region is traced. If seccomp or an
 * old kernel answers with an error, everything takes the place of the children, and works. Only a
 * filter that kills for these calls would kill here, too: compile all files of such a program with
 * -DSP_REGION_NO_SYSCALLS. It costs a breakpoint at each edge while traced, and nothing else.
 */
#ifndef SP_REGION_H_
#define SP_REGION_H_

/*
 * gcc rejects the use of a static function by an inline function with external linkage (C11 6.7.4),
 * even by one that is never emitted. C has no other way to have a function that only users of the
 * header emit, so gcc is told not to look at this file when it compiles C. Other compilers do not
 * need it, and check the file with all of your warnings.
 */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)
#pragma GCC system_header
#endif

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SP_REGION_VERSION 0x010000 /* major, minor, patch; the major is the layout version, too */

/*
 * A region whose name was made at run time. Only the recorder looks inside: it reads this record
 * from the program's memory, so its layout never changes. 48 bytes where pointers have 8.
 */
struct sp_region_dyn_ {
	uint64_t hash;	      /* FNV-1a, 64 bit, of the name's bytes; 1 in place of 0 */
	const char *name;     /* never NULL */
	const char *file;     /* or NULL */
	const char *tags;     /* or NULL */
	uint32_t line;	      /* or 0 */
	uint32_t level_index; /* among the 64 level cells, or 0xffffffff: cannot be thinned */
	uint64_t reserved;    /* 0 */
};

/* Handle of such a region. Valid until the process ends, in all of its threads; never freed. */
typedef struct sp_region_dyn_ *sp_region_t;

/* ---- the interface: regions by literal name ---- */

#ifndef SP_REGION_DISABLE

/*
 * Begin and end a region. Statements. The end carries the name of the region it ends; ends come in
 * the reverse order of the begins. Cost: one test each while untraced.
 * The tagged form attaches a comma-separated list of words for the reports to group by ("io",
 * "mpi,halo"); the end needs no tags.
 */
#define SP_REGION_BEGIN(name) SP_BEGIN_("" name "", SP_NO_TAGS_, "" name "")
#define SP_REGION_BEGIN_TAGGED(name, tags) SP_BEGIN_("" name "", SP_TAGS_, "" tags "")
#define SP_REGION_END(name) SP_END_("" name "")

/*
 * Begin a region that ends where the enclosing block ends, however it is left. A declaration: it
 * stands where a variable could be declared.
 */
#define SP_REGION_SCOPE(name) SP_SCOPE_("" name "", SP_NO_TAGS_, "" name "", 1)
#define SP_REGION_SCOPE_TAGGED(name, tags) SP_SCOPE_("" name "", SP_TAGS_, "" tags "", 1)

/* The same for a whole function, under the function's name. Put it first in the function. */
#define SP_REGION_FUNCTION() SP_SCOPE_(__func__, SP_NO_TAGS_, __func__, 3)

/*
 * Non-zero while a tracer listens to this program's or library's begin probe. For work that only
 * makes sense then, such as composing a name. Cost: one load.
 */
#define SP_REGION_ENABLED() (sp_region_enabled_v1())

#else /* SP_REGION_DISABLE */

#define SP_REGION_BEGIN(name) ((void)0)
#define SP_REGION_BEGIN_TAGGED(name, tags) ((void)0)
#define SP_REGION_END(name) ((void)0)
#define SP_REGION_SCOPE(name) ((void)0)
#define SP_REGION_SCOPE_TAGGED(name, tags) ((void)0)
#define SP_REGION_FUNCTION() ((void)0)
#define SP_REGION_ENABLED() 0

#endif

/* ---- how functions in a header are made ---- */

/*
 * SP_INLINE_: always inlined, never emitted. SP_SHARED_: emitted only where used, once a link unit
 * (by gcc in C: once a file). SP_PUBLIC_: like SP_INLINE_, but its address can be taken.
 */
#define SP_HIDDEN_ __attribute__((__visibility__("hidden")))
#define SP_QUIET_ __attribute__((__nothrow__, __no_instrument_function__))
#if defined(__cplusplus)
#define SP_INLINE_ inline __attribute__((__always_inline__)) SP_HIDDEN_ SP_QUIET_
#define SP_NULL_ nullptr
#define SP_CAST_(type, value) (reinterpret_cast<type>(value))
#define SP_NUMBER_(type, value) (static_cast<type>(value))
#else
#define SP_INLINE_ extern __inline__ __attribute__((__gnu_inline__, __always_inline__)) SP_QUIET_
#define SP_NULL_ ((void *)0)
#define SP_CAST_(type, value) ((type)(value))
#define SP_NUMBER_(type, value) ((type)(value))
#endif
#define SP_PUBLIC_ static __inline__ __attribute__((__always_inline__, __unused__)) SP_QUIET_
#if defined(__clang__) && !defined(__cplusplus)
#define SP_SHARED_ inline __attribute__((__weak__, __noinline__, __cold__)) SP_HIDDEN_ SP_QUIET_
#elif defined(__clang__)
#define SP_SHARED_ inline __attribute__((__noinline__, __cold__)) SP_HIDDEN_ SP_QUIET_
#elif defined(__cplusplus)
#define SP_SHARED_ inline __attribute__((__noinline__, __noclone__, __cold__)) SP_HIDDEN_ SP_QUIET_
#else
#define SP_SHARED_ \
	static __inline__ __attribute__((__noinline__, __noclone__, __cold__, __unused__)) SP_QUIET_
#endif

#ifndef SP_REGION_DISABLE

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9
#define SP_ASM_ __asm__ __volatile__ __inline__ /* small, whatever the length of its text */
#else
#define SP_ASM_ __asm__ __volatile__
#endif
#define SP_UNLIKELY_(condition) (__builtin_expect(!!(condition), 0))
#define SP_CAT2_(a, b) a##b
#define SP_CAT_(a, b) SP_CAT2_(a, b)

/* ---- what the assembler makes ---- */

/* clang-format off */

#define SP_WEAK_(symbol, type) \
	".weak " symbol "\n\t.hidden " symbol "\n\t.type " symbol ",\"" type "\"\n" symbol ":\n\t"

#if defined(__x86_64__) && !defined(__ILP32__) && !defined(SP_REGION_PLAIN_PROBES)
#define SP_STUBS_ 1
#define SP_CHILDREN_ 1
/* nop, 5-byte nop, ret, kind. Sixteen-byte aligned, so that the long nop crosses no page. */
#define SP_CODE_(kind) \
	".byte 0x90,0x0f,0x1f,0x44,0x00,0x00,0xc3," kind "\n\t" \
	".4byte _.stapsdt.base-.\n\t.balign 16,0x90\n"
/*
 * Where a site's call arrives: in the process that made sp_home_v1's page it goes on to the code
 * above, in a forked child, which finds that page empty, to a place without a long nop. rax is the
 * stub's to use, as that of any function. First endbr64: with -mcmodel=large the call is indirect.
 */
#define SP_ENTRY_(place, child) \
	".byte 0xf3,0x0f,0x1e,0xfa\n\t" \
	"{movq sp_home_v1(%%rip),%%rax|mov rax,sp_home_v1[rip]}\n\t" \
	"{testq %%rax,%%rax|test rax,rax}\n\tje 985f\n\t" \
	"{cmpb $0,(%%rax)|cmp byte ptr [rax],0}\n\tjne " place "\n985:\n\t" \
	SP_WEAK_(child, "notype") ".byte 0x90,0xc3\n\t"
#define SP_NOPS_ ".fill 64,1,0x90\n\t"
#define SP_ARGS_BEGIN_ "8@%%rdi 8@%%rsi 8@%%rdx 8@%%rcx"
#define SP_ARGS_END_ "8@%%rdi 8@%%rsi 8@%%rdx"
#define SP_ADDRESS_ "{leaq 991b(%%rip),%[desc]|lea %[desc],991b[rip]}"
#define SP_SYMBOL_ "i"
#define SP_OFFSET_(operand) "%P[" operand "]-991b" /* %c fails in gcc, %p in clang */
#define SP_PAGE_ "4096"
#elif defined(__aarch64__) && defined(__LP64__) && !defined(__AARCH64EB__) && \
	!defined(SP_REGION_PLAIN_PROBES)
#define SP_STUBS_ 1
#define SP_CODE_(kind) \
	".inst 0xd503201f,0xd65f03c0\n\t.4byte _.stapsdt.base-.\n\t.byte " kind "\n\t.balign 16\n"
#define SP_NOPS_ ".rept 64\n\t.inst 0xd503201f\n\t.endr\n\t"
#define SP_ARGS_BEGIN_ "8@x0 8@x1 8@x2 8@x3"
#define SP_ARGS_END_ "8@x0 8@x1 8@x2"
#define SP_ADDRESS_ "adrp %[desc],991b\n\tadd %[desc],%[desc],:lo12:991b"
#define SP_SYMBOL_ "S"
#define SP_OFFSET_(operand) "%c[" operand "]-991b"
#define SP_PAGE_ "65536"
#endif

/* A probe's counter of tracers, which the kernel raises. It must be in section .probes for some. */
#define SP_SEMAPHORE_(group, symbol, align) \
	".pushsection .probes,\"awG\",\"progbits\"," group ",comdat\n\t.balign " align "\n\t" \
	SP_WEAK_(symbol, "object") ".2byte 0\n\t.size " symbol ",2\n\t.popsection\n\t"

/* What every stapsdt note is relative to. One byte a link unit. */
#define SP_NOTE_BASE_ \
	".ifndef _.stapsdt.base\n\t" \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n\t" \
	".weak _.stapsdt.base\n\t.hidden _.stapsdt.base\n_.stapsdt.base:\t.space 1\n\t" \
	".size _.stapsdt.base,1\n\t.popsection\n\t.endif\n\t"

#define SP_NOTE_(section_flags, word, place, semaphore, probe, args) \
	".pushsection .note.stapsdt," section_flags "\n\t.balign 4\n\t" \
	".4byte 982f-981f,984f-983f,3\n981:\t.asciz \"stapsdt\"\n982:\t.balign 4\n" \
	"983:\t" word " " place ",_.stapsdt.base," semaphore "\n\t" \
	".asciz \"sp\"\n\t.asciz \"" probe "\"\n\t.asciz \"" args "\"\n" \
	"984:\t.balign 4\n\t.popsection\n\t"

#ifdef SP_STUBS_

/*
 * One probe: its stub, 64 nops that are never executed (places for uprobes that raise levels), the
 * offset to the pool of level cells, semaphore and note - on x86-64 two notes, the second for
 * forked children ("_place" and "_child"; all in one section, so that linkers cannot fold the two
 * alike children's places). COMDAT: one a link unit, whatever the number of files. `.ifndef`: once a
 * file, whatever the number of copies of this text, also when LTO has joined files. The byte after
 * `ret` differs, or linkers would fold the stubs; the four bytes after it keep gold from dropping
 * the note's base.
 */
#define SP_POOL_(stub) \
	SP_WEAK_(stub "_pool", "object") SP_NOPS_ ".4byte sp_level_pool_v1-.\n\t" \
	".size " stub "_pool,.-" stub "_pool\n\t"
#define SP_STUB_NOTE_(stub, place, semaphore, probe, args) \
	SP_NOTE_("\"G\",\"note\"," stub ",comdat", ".8byte", place, semaphore, probe, args)
#ifdef SP_CHILDREN_
#define SP_STUB_BODY_(stub, semaphore, probe, args, kind) \
	SP_WEAK_(stub "_place", "notype") SP_CODE_(kind) SP_POOL_(stub) ".balign 16,0x90\n\t" \
	SP_WEAK_(stub, "function") SP_ENTRY_(stub "_place", stub "_child") \
	".size " stub ",.-" stub "\n\t.popsection\n\t" \
	SP_STUB_NOTE_(stub, stub "_place", semaphore, probe, args) \
	SP_STUB_NOTE_(stub, stub "_child", semaphore, probe, args)
#else
#define SP_STUB_BODY_(stub, semaphore, probe, args, kind) \
	SP_WEAK_(stub, "function") SP_CODE_(kind) "\t.size " stub ",.-" stub "\n\t" \
	SP_POOL_(stub) ".popsection\n\t" SP_STUB_NOTE_(stub, stub, semaphore, probe, args)
#endif
#define SP_STUB_(stub, semaphore, probe, args, align, kind) \
	".ifndef " stub "\n\t" \
	".pushsection .text." stub ",\"axG\",\"progbits\"," stub ",comdat\n\t.balign 16\n\t" \
	SP_STUB_BODY_(stub, semaphore, probe, args, kind) \
	SP_SEMAPHORE_(stub, semaphore, align) \
	".endif\n\t"

/*
 * The link unit's state for thinning: 64 level cells for run-time names, whether this link unit has
 * ever skipped a call, and each thread's bookkeeping. Semaphores and level cells start pages of
 * their own: lld puts what is read-only after relocation and data into one page of the file, and
 * the kernel would write its counters to the wrong mapping. sp_home_v1 is data, for the stub reaches
 * it relative to itself, and with -mcmodel=large there may be gigabytes of .bss in between.
 */
#define SP_STATE_MEMBER_(section, symbol, flags, type, align, kind, size) \
	".pushsection " section ",\"" flags "\",\"" type "\",sp_level_pool_v1,comdat\n\t" \
	".balign " align "\n\t" SP_WEAK_(symbol, kind) ".zero " size "\n\t" \
	".size " symbol "," size "\n\t.popsection\n\t"
#define SP_STATE_ \
	".ifndef sp_level_pool_v1\n\t" \
	SP_STATE_MEMBER_("sp_level", "sp_level_pool_v1", "awG", "progbits", SP_PAGE_, "object", "128") \
	SP_STATE_MEMBER_(".bss.sp_skipping_v1", "sp_skipping_v1", "awG", "nobits", "4", "object", "4") \
	SP_STATE_MEMBER_(".data.sp_home_v1", "sp_home_v1", "awG", "progbits", "8", "object", "16") \
	SP_STATE_MEMBER_(".tbss.sp_thread_v1", "sp_thread_v1", "awTG", "nobits", "8", "tls_object", \
			 "1288") \
	".endif\n\t"

/* Two texts, since strict compilers allow 4095 characters in one. */
#define SP_DEFINE_STUBS_() \
	SP_ASM_(SP_STUB_("sp_begin_stub_v1", "sp_begin_sema_v1", "begin", SP_ARGS_BEGIN_, SP_PAGE_, "1") \
		SP_NOTE_BASE_ : :); \
	SP_ASM_(SP_STUB_("sp_end_stub_v1", "sp_end_sema_v1", "end", SP_ARGS_END_, "2", "2") \
		SP_STATE_ : :)

/*
 * A descriptor: 32 bytes, offsets relative to its own start, so that nothing is relocated at run
 * time. Texts come as operands, never pasted into the assembler's text: any text is possible. The
 * sections join the COMDAT group of the function they stand in ("?"), and vanish with it.
 */
#define SP_TAGS_ SP_OFFSET_("tags")
#define SP_NO_TAGS_ "0"
#define SP_LAYOUT_ 0x01000000
#define SP_SITE_(desc_, name_, tags_offset_, tags_, flags_) \
	SP_ASM_(".pushsection sp_desc,\"a?\",\"progbits\"\n\t.balign 4\n" \
		"991:\t.4byte " SP_OFFSET_("name") "," SP_OFFSET_("file") "," tags_offset_ "," \
		SP_OFFSET_("func") "\n\t" \
		".4byte %c[line],992f-991b,%c[flags],0\n\t.popsection\n\t" \
		".pushsection sp_level,\"aw?\",\"progbits\"\n\t.balign 2\n" \
		"992:\t.2byte 0\n\t.popsection\n\t" \
		SP_ADDRESS_ \
		: [desc] "=r"(desc_) \
		: [name] SP_SYMBOL_(name_), [file] SP_SYMBOL_(__FILE__), [tags] SP_SYMBOL_(tags_), \
		  [func] SP_SYMBOL_(__func__), [line] "i"(__LINE__), [flags] "i"(SP_LAYOUT_ | (flags_)))

#else /* any other architecture: a site is its name */

#define SP_WORD_ SP_TEXT_(SP_CAT_(SP_WORD_, __SIZEOF_POINTER__))
#define SP_WORD_8 .8byte
#define SP_WORD_4 .4byte
#define SP_TEXT_(x) SP_TEXT2_(x)
#define SP_TEXT2_(x) #x
#define SP_ARG_(operand) SP_TEXT_(__SIZEOF_POINTER__) "@%[" operand "]"
#define SP_PAGE_ "65536"
#define SP_SEMAPHORES_ \
	".ifndef sp_begin_sema_v1\n\t" \
	SP_SEMAPHORE_("sp_begin_sema_v1", "sp_begin_sema_v1", SP_PAGE_) \
	SP_SEMAPHORE_("sp_end_sema_v1", "sp_end_sema_v1", "2") ".endif\n\t"
#define SP_PLAIN_(probe, semaphore, args) \
	"990:\tnop\n\t" SP_SEMAPHORES_ SP_NOTE_BASE_ \
	SP_NOTE_("\"?\",\"note\"", SP_WORD_, "990b", semaphore, probe, args)
#define SP_TAGS_ 0
#define SP_NO_TAGS_ 0
#define SP_SITE_(desc_, name_, tags_offset_, tags_, flags_) ((desc_) = (name_))

#endif

/* ---- what stands at a region's edges ---- */

#define SP_BEGIN_(name_, tags_offset_, tags_) \
	do { \
		if (SP_UNLIKELY_(sp_begin_sema_v1 != 0)) { \
			const void *sp_desc_; \
			SP_SITE_(sp_desc_, name_, tags_offset_, tags_, 0); \
			(void)sp_site_begin_v1(sp_desc_, SP_EDGE_BEGIN_); \
		} \
	} while (0)

#define SP_END_(name_) \
	do { \
		if (SP_UNLIKELY_(sp_end_sema_v1 != 0)) { \
			const void *sp_desc_; \
			SP_SITE_(sp_desc_, name_, SP_NO_TAGS_, name_, 4); \
			sp_site_end_v1(sp_desc_); \
		} \
	} while (0)

/*
 * A scope keeps its descriptor for its end. The compiler must not see that one way leads to NULL,
 * or it makes a second copy of what is in the scope, for the traced program, and optimizes it less.
 */
#define SP_SCOPE_(name_, tags_offset_, tags_, flags_) \
	struct sp_scope_v1 SP_CAT_(sp_scope_, __LINE__) SP_SCOPE_CLEANUP_ = {__extension__({ \
		const void *sp_desc_; \
		SP_SITE_(sp_desc_, name_, tags_offset_, tags_, flags_); \
		if (SP_UNLIKELY_(sp_begin_sema_v1 != 0)) { \
			sp_desc_ = sp_site_begin_v1(sp_desc_, SP_EDGE_SCOPE_); \
			__asm__("" : "+r"(sp_desc_)); \
		} \
		sp_desc_; \
	})}
/* clang-format on */

#ifdef __cplusplus
extern "C" {
#endif

extern SP_HIDDEN_ volatile uint16_t sp_begin_sema_v1, sp_end_sema_v1;

SP_SHARED_ uint64_t sp_name_hash_v1(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ SP_NUMBER_(unsigned char, *name)) * UINT64_C(0x100000001b3);
	return hash ? hash : 1;
}

#ifdef SP_STUBS_

/* ---- which calls fire: the skip level ---- */

/* Calls of one region by one thread, in one link unit. */
struct sp_slot_v1 {
	uint64_t key;	     /* hash of the name */
	const void *site[2]; /* where it was last begun, ended: saves computing the hash */
	uint64_t open;	     /* a bit for each open call, the outermost lowest: skipped? */
	uint32_t depth;	     /* open calls since thinning began; beyond 64 they fire */
	uint32_t skipped;    /* since the last begin that fired */
};

struct sp_calls_v1 {
	volatile uint32_t busy; /* a signal handler came in between: it just fires */
	uint32_t used;
	struct sp_slot_v1 slot[32];
};
#if defined(__cplusplus)
static_assert(sizeof(struct sp_calls_v1) == 1288, "SP_STATE_ reserves another size");
#else
_Static_assert(sizeof(struct sp_calls_v1) == 1288, "SP_STATE_ reserves another size");
#endif

extern SP_HIDDEN_ SP_QUIET_ void sp_begin_stub_v1(const void *, const char *, uint64_t, uint64_t,
						  uint64_t);
extern SP_HIDDEN_ SP_QUIET_ void sp_end_stub_v1(const void *, const char *, uint64_t, uint64_t);
extern SP_HIDDEN_ volatile uint16_t sp_level_pool_v1[64];
extern SP_HIDDEN_ uint32_t sp_skipping_v1;
extern SP_HIDDEN_ __thread struct sp_calls_v1 sp_thread_v1;

SP_SHARED_ struct sp_slot_v1 *sp_slot_find_v1(struct sp_calls_v1 *calls, const void *site,
					      const char *name, uint64_t key, int edge, int add)
{
	struct sp_slot_v1 *slot, *spare = SP_NULL_;
	uint32_t i;

	for (i = 0; i < calls->used; i++)
		if (calls->slot[i].site[edge] == site)
			return &calls->slot[i];
	if (!key)
		key = sp_name_hash_v1(name);
	for (i = 0; i < calls->used; i++) {
		slot = &calls->slot[i];
		if (slot->key == key) {
			slot->site[edge] = site;
			return slot;
		}
		if (!slot->depth && !slot->skipped)
			spare = slot;
	}
	if (!add)
		return SP_NULL_;
	if (calls->used < sizeof(calls->slot) / sizeof(calls->slot[0]))
		spare = &calls->slot[calls->used++];
	if (spare) {
		spare->key = key;
		spare->site[edge] = site;
		spare->site[!edge] = SP_NULL_;
		spare->open = 0;
		spare->depth = spare->skipped = 0;
	}
	return spare;
}

/* Returns the number of calls skipped before this one, which fires, or -1: skip this one. */
SP_SHARED_ int64_t sp_skip_begin_v1(const void *site, const char *name, uint64_t key,
				    uint32_t level, int lexical)
{
	struct sp_calls_v1 *calls = &sp_thread_v1;
	struct sp_slot_v1 *slot;
	int64_t skipped = 0;

	if (calls->busy)
		return 0;
	calls->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&sp_skipping_v1, __ATOMIC_RELAXED))
		__atomic_store_n(&sp_skipping_v1, 1, __ATOMIC_RELAXED);
	slot = sp_slot_find_v1(calls, site, name, key, 0, level != 0);
	if (slot && (level || slot->depth || slot->skipped)) {
		/* A scope remembers by itself what its begin did, and needs no bit. */
		int full = !lexical && slot->depth >= 64;
		uint32_t most = (UINT32_C(1) << (level < 31 ? level : 31)) - 1;

		if (full || slot->skipped >= most) {
			skipped = slot->skipped;
			slot->skipped = 0;
		} else {
			skipped = -1;
			slot->skipped++;
		}
		if (!lexical && !full) {
			uint64_t bit = UINT64_C(1) << slot->depth;

			slot->open = skipped < 0 ? slot->open | bit : slot->open & ~bit;
		}
		if (!lexical && slot->depth != UINT32_MAX)
			slot->depth++;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	calls->busy = 0;
	return skipped;
}

/* Returns 0 if this end fires, as the begin that it closes did, and when in doubt; else -1. */
SP_SHARED_ int64_t sp_skip_end_v1(const void *site, const char *name, uint64_t key)
{
	struct sp_calls_v1 *calls = &sp_thread_v1;
	struct sp_slot_v1 *slot;
	int64_t result = 0;

	if (calls->busy)
		return 0;
	calls->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot = sp_slot_find_v1(calls, site, name, key, 1, 0);
	if (slot && slot->depth) {
		slot->depth--;
		if (slot->depth < 64 && slot->open >> slot->depth & 1)
			result = -1;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	calls->busy = 0;
	return result;
}

#if defined(SP_CHILDREN_) && !defined(SP_REGION_NO_SYSCALLS)

/* ---- which process this is ---- */

/*
 * [0]: a byte that is 1 in this process and 0 in its forked children, or itself: nothing fires, for
 * valgrind runs this process, and dies of the breakpoints of probes. [1] stays 0.
 */
extern SP_HIDDEN_ const char *sp_home_v1[2];

/*
 * Valgrind answers instructions that do nothing elsewhere: rdi is rotated by 128 bits in all, rbx
 * exchanged with itself. Request 0x1001 asks for it; rdx, 0 before, is the answer (valgrind.h).
 */
SP_SHARED_ int sp_in_valgrind_v1(void)
{
	const uint64_t request[6] = {0x1001, 0, 0, 0, 0, 0};
	uint64_t answer = 0;

	__asm__ __volatile__("{rolq $3,%%rdi|rol rdi,3}\n\t{rolq $13,%%rdi|rol rdi,13}\n\t"
			     "{rolq $61,%%rdi|rol rdi,61}\n\t{rolq $51,%%rdi|rol rdi,51}\n\t"
			     "{xchgq %%rbx,%%rbx|xchg rbx,rbx}"
			     : "+d"(answer)
			     : "a"(request)
			     : "cc", "memory");
	return answer != 0;
}

/*
 * Maps a page that fork empties (MADV_WIPEONFORK, Linux 4.14) and writes a 1 to it; where that
 * cannot be had, all are treated as children. Without libc, whose names for this strict modes hide,
 * whose errno belongs to the program, and whose functions sanitizers look into: they know nothing
 * of this page. No fork can come in between: until sp_home_v1 is set, no thread has called a stub's
 * place, a child finds sp_home_v1 as it was and makes a page of its own. Signal handlers, too.
 */
SP_SHARED_ void sp_home_make_v1(void)
{
	const char *none = SP_NULL_, *home = SP_CAST_(const char *, &sp_home_v1[1]);
	int64_t page, wiped = -1;

	if (sp_in_valgrind_v1()) {
		__atomic_store_n(&sp_home_v1[0], SP_CAST_(const char *, &sp_home_v1[0]),
				 __ATOMIC_RELEASE);
		return;
	}
	/* mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) */
	__asm__ __volatile__("{movl $0x22,%%r10d|mov r10d,0x22}\n\t{movq $-1,%%r8|mov r8,-1}\n\t"
			     "{xorl %%r9d,%%r9d|xor r9d,r9d}\n\tsyscall"
			     : "=a"(page)
			     : "0"(INT64_C(9)), "D"(INT64_C(0)), "S"(INT64_C(4096)), "d"(INT64_C(3))
			     : "rcx", "r8", "r9", "r10", "r11", "memory");
	if (page > 0) {
		/* madvise(page, 4096, MADV_WIPEONFORK) */
		__asm__ __volatile__("syscall"
				     : "=a"(wiped)
				     : "0"(INT64_C(28)), "D"(page), "S"(INT64_C(4096)),
				       "d"(INT64_C(18))
				     : "rcx", "r11", "memory");
		if (!wiped) {
			__asm__ __volatile__("{movb $1,(%0)|mov byte ptr [%0],1}"
					     :
					     : "r"(page)
					     : "memory");
			home = SP_CAST_(const char *, page);
		}
	}
	/* Another thread may have been faster, and its page is as good. */
	if ((!__atomic_compare_exchange_n(&sp_home_v1[0], &none, home, 0, __ATOMIC_RELEASE,
					  __ATOMIC_RELAXED) ||
	     wiped) &&
	    page > 0)
		__asm__ __volatile__("syscall" /* munmap(page, 4096) */
				     : "=a"(wiped)
				     : "0"(INT64_C(11)), "D"(page), "S"(INT64_C(4096))
				     : "rcx", "r11", "memory");
}

#endif

/* ---- from a site to the stub ---- */

enum { SP_EDGE_BEGIN_, SP_EDGE_SCOPE_, SP_EDGE_HANDLE_, SP_EDGE_END_, SP_EDGE_NONE_ };

/*
 * The gate decides whether an edge fires: it returns -1, or how many calls were skipped before.
 * While nothing was ever skipped, that is one look at the level. The stub itself is called from the
 * function that holds the site, so that a tracer finds the region's function, and its stack
 * pointer, right above the return address. The gate touches the name, for a probe cannot read text
 * from a page that is not in memory. And it defines the stubs: every user of a stub calls the gate,
 * and a file that only includes this one has neither. It must be the only function that does, for
 * ThinLTO keeps one copy of each function, but not of the assembler's COMDATs.
 */
SP_SHARED_ int64_t sp_gate_v1(const void *desc, const char *name, uint64_t hash, int edge)
{
	const int32_t *word = SP_CAST_(const int32_t *, desc);
	uint32_t level = 0;

	SP_DEFINE_STUBS_();
	if (edge == SP_EDGE_NONE_)
		return 0;
#if defined(SP_CHILDREN_) && !defined(SP_REGION_NO_SYSCALLS)
	if (SP_UNLIKELY_(!__atomic_load_n(&sp_home_v1[0], __ATOMIC_RELAXED)))
		sp_home_make_v1();
	if (SP_UNLIKELY_(__atomic_load_n(&sp_home_v1[0], __ATOMIC_RELAXED) ==
			 SP_CAST_(const char *, &sp_home_v1[0])))
		return -1;
#endif
	(void)*SP_CAST_(const volatile char *, name);
	if (edge == SP_EDGE_HANDLE_) {
		uint32_t index = SP_CAST_(const struct sp_region_dyn_ *, desc)->level_index;

		level = index < 64 ? sp_level_pool_v1[index] : 0;
	} else if (edge != SP_EDGE_END_) {
		const void *cell = SP_CAST_(const char *, desc) + word[5];

		level = *SP_CAST_(const volatile uint16_t *, cell);
	}
	if (!level && !__atomic_load_n(&sp_skipping_v1, __ATOMIC_RELAXED))
		return 0;
	if (edge == SP_EDGE_END_)
		return sp_skip_end_v1(desc, name, hash);
	return sp_skip_begin_v1(desc, name, hash, level, edge == SP_EDGE_SCOPE_);
}

/* The empty asm keeps the call of a stub from becoming a jump, which would hide this frame. */
SP_INLINE_ void sp_fire_begin_v1(const void *desc, const char *name, uint64_t hash, int64_t skipped,
				 uint64_t caller)
{
	sp_begin_stub_v1(desc, name, hash, SP_NUMBER_(uint64_t, skipped), caller);
	__asm__ __volatile__("");
}

SP_INLINE_ void sp_fire_end_v1(const void *desc, const char *name, uint64_t hash, uint64_t caller)
{
	sp_end_stub_v1(desc, name, hash, caller);
	__asm__ __volatile__("");
}

SP_INLINE_ const char *sp_desc_name_v1(const void *desc)
{
	return SP_CAST_(const char *, desc) + *SP_CAST_(const int32_t *, desc);
}

/* Returns what the end of a scope is to fire: the same descriptor, or NULL. */
SP_INLINE_ const void *sp_site_begin_v1(const void *desc, int edge)
{
	const char *name = sp_desc_name_v1(desc);
	int64_t skipped = sp_gate_v1(desc, name, 0, edge);

	if (skipped < 0)
		return SP_NULL_;
	sp_fire_begin_v1(desc, name, 0, skipped, 0);
	return desc;
}

SP_INLINE_ void sp_site_end_v1(const void *desc)
{
	const char *name = sp_desc_name_v1(desc);

	if (sp_gate_v1(desc, name, 0, SP_EDGE_END_) >= 0)
		sp_fire_end_v1(desc, name, 0, 0);
}

/* In a child that was forked in the scope, nobody has touched the name yet: see sp_gate_v1(). */
SP_INLINE_ void sp_scope_end_v1(const void *desc)
{
	if (SP_UNLIKELY_(sp_end_sema_v1 != 0) && desc) {
		const char *name = sp_desc_name_v1(desc);

		(void)*SP_CAST_(const volatile char *, name);
		sp_fire_end_v1(desc, name, 0, 0);
	}
}

/*
 * Where the function that an edge stands in returns to, with a mark that tells it from what another
 * version of this file leaves in the register. A begin and an end with one answer and one stack
 * pointer are of one call of that function; those of two helpers never are, though one of them, if
 * called last, can have the stack pointer of the other. The recorder needs it only of names made at
 * run time, since descriptors say in which function they stand.
 */
#define SP_CALLER_() \
	(SP_NUMBER_(uint64_t, SP_CAST_(uintptr_t, __builtin_return_address(0))) << 32 | 0x53705331)

/* @placed, a constant: whether the function that this ends up in is the one that has the region. */
SP_INLINE_ void sp_handle_edge_begin_v1(sp_region_t region, int placed)
{
	if (SP_UNLIKELY_(sp_begin_sema_v1 != 0) && region) {
		int64_t skipped = sp_gate_v1(region, region->name, region->hash, SP_EDGE_HANDLE_);

		if (skipped >= 0)
			sp_fire_begin_v1(region, region->name, region->hash, skipped,
					 placed ? SP_CALLER_() : 0);
	}
}

SP_INLINE_ void sp_handle_edge_end_v1(sp_region_t region, int placed)
{
	if (SP_UNLIKELY_(sp_end_sema_v1 != 0) && region &&
	    sp_gate_v1(region, region->name, region->hash, SP_EDGE_END_) >= 0)
		sp_fire_end_v1(region, region->name, region->hash, placed ? SP_CALLER_() : 0);
}

#else /* !SP_STUBS_ */

/* clang-format off */

/* Out of line all the same: one note, and none of your operands in it. They touch the name, too. */
SP_SHARED_ void sp_plain_begin_v1(const void *desc, const char *name, uint64_t hash)
{
	uintptr_t none = 0;

	__asm__("" : "+r"(none)); /* in a register: tracers do not know riscv's name of a zero */
	(void)*SP_CAST_(const volatile char *, name);
	SP_ASM_(SP_PLAIN_("begin", "sp_begin_sema_v1", SP_ARG_("desc") " " SP_ARG_("name") " "
			  SP_ARG_("hash") " " SP_ARG_("skipped"))
		: : [desc] "r"(desc), [name] "r"(name), [hash] "r"(SP_NUMBER_(uintptr_t, hash)),
		    [skipped] "r"(none) : "memory");
}

SP_SHARED_ void sp_plain_end_v1(const void *desc, const char *name, uint64_t hash)
{
	(void)*SP_CAST_(const volatile char *, name);
	SP_ASM_(SP_PLAIN_("end", "sp_end_sema_v1", SP_ARG_("desc") " " SP_ARG_("name") " "
			  SP_ARG_("hash"))
		: : [desc] "r"(desc), [name] "r"(name), [hash] "r"(SP_NUMBER_(uintptr_t, hash))
		: "memory");
}

SP_SHARED_ int64_t sp_gate_v1(const void *desc, const char *name, uint64_t hash, int edge)
{
	(void)desc, (void)name, (void)hash, (void)edge;
	SP_ASM_(SP_SEMAPHORES_ : :);
	return 0;
}

/* clang-format on */

enum { SP_EDGE_BEGIN_, SP_EDGE_SCOPE_, SP_EDGE_NONE_ };

SP_INLINE_ const void *sp_site_begin_v1(const void *name, int edge)
{
	(void)edge;
	sp_plain_begin_v1(SP_NULL_, SP_CAST_(const char *, name), 0);
	return name;
}

SP_INLINE_ void sp_site_end_v1(const void *name)
{
	sp_plain_end_v1(SP_NULL_, SP_CAST_(const char *, name), 0);
}

SP_INLINE_ void sp_scope_end_v1(const void *name)
{
	if (SP_UNLIKELY_(sp_end_sema_v1 != 0))
		sp_site_end_v1(name);
}

SP_INLINE_ void sp_handle_edge_begin_v1(sp_region_t region, int placed)
{
	(void)placed;
	if (SP_UNLIKELY_(sp_begin_sema_v1 != 0) && region)
		sp_plain_begin_v1(region, region->name, region->hash);
}

SP_INLINE_ void sp_handle_edge_end_v1(sp_region_t region, int placed)
{
	(void)placed;
	if (SP_UNLIKELY_(sp_end_sema_v1 != 0) && region)
		sp_plain_end_v1(region, region->name, region->hash);
}

#endif /* SP_STUBS_ */

/* For functions that begin and end regions for others: the edges are taken in order. */
SP_INLINE_ void sp_handle_begin_v1(sp_region_t region)
{
	sp_handle_edge_begin_v1(region, 0);
}

SP_INLINE_ void sp_handle_end_v1(sp_region_t region)
{
	sp_handle_edge_end_v1(region, 0);
}

SP_INLINE_ int sp_region_enabled_v1(void)
{
	return SP_UNLIKELY_(sp_begin_sema_v1 != 0) &&
	       sp_gate_v1(SP_NULL_, SP_NULL_, 0, SP_EDGE_NONE_) >= 0;
}

/* What SP_REGION_SCOPE declares: the descriptor that its end fires, or NULL (begin skipped). */
#ifdef __cplusplus
#define SP_SCOPE_CLEANUP_
struct sp_scope_v1 {
	const void *desc;
	SP_INLINE_ ~sp_scope_v1()
	{
		sp_scope_end_v1(desc);
	}
};
#else
#define SP_SCOPE_CLEANUP_ __attribute__((__cleanup__(sp_scope_leave_v1), __unused__))
struct sp_scope_v1 {
	const void *desc;
};
SP_INLINE_ void sp_scope_leave_v1(struct sp_scope_v1 *scope)
{
	sp_scope_end_v1(scope->desc);
}
#endif

/* ---- names made at run time ---- */

/*
 * What sp_region_intern() makes. Its texts lie right in front of it, mostly on the same page. The
 * records are a tree by hash: 8 bits of it choose the root, each further pair of bits a child. So a
 * look-up stays short however many names there are, and a record once in the tree never moves.
 */
struct sp_name_v2 {
	struct sp_region_dyn_ region;
	struct sp_name_v2 *child[4];
};

extern SP_HIDDEN_ struct sp_name_v2 *sp_names_v2[256];
extern SP_HIDDEN_ uint32_t sp_name_count_v2;

/* clang-format off */
#define SP_DEFINE_NAMES_() \
	SP_ASM_(".ifndef sp_names_v2\n\t" \
		".pushsection .bss.sp_names_v2,\"awG\",\"nobits\",sp_names_v2,comdat\n\t" \
		".balign 8\n\t" \
		SP_WEAK_("sp_names_v2", "object") ".zero 2048\n\t.size sp_names_v2,2048\n\t" \
		SP_WEAK_("sp_name_count_v2", "object") ".zero 8\n\t.size sp_name_count_v2,4\n\t" \
		".popsection\n\t.endif\n\t" : :)
/* clang-format on */

/* Copies a text that may be NULL to *ret_end, and moves that on. */
SP_SHARED_ const char *sp_text_copy_v1(const char *text, char **ret_end)
{
	char *copy = *ret_end;

	if (!text)
		return SP_NULL_;
	*ret_end = copy + strlen(text) + 1;
	memcpy(copy, text, strlen(text) + 1);
	return copy;
}

/* Returns the block of memory, to be freed if another thread was first, and the record in it. */
SP_SHARED_ void *sp_name_new_v2(const char *name, uint64_t hash, const char *file, uint32_t line,
				const char *tags, struct sp_name_v2 **ret_record)
{
	size_t size = strlen(name) + (file ? strlen(file) + 1 : 0) + (tags ? strlen(tags) + 1 : 0);
	size_t texts = (size + 16) / 16 * 16;
	void *block = malloc(texts + sizeof(struct sp_name_v2)), *place;
	char *end = SP_CAST_(char *, block);
	struct sp_name_v2 *record;

	if (!block)
		return SP_NULL_;
	place = end + texts;
	record = SP_CAST_(struct sp_name_v2 *, place);
	memset(record, 0, sizeof(*record));
	record->region.file = sp_text_copy_v1(file, &end);
	record->region.tags = sp_text_copy_v1(tags, &end);
	record->region.name = sp_text_copy_v1(name, &end);
	record->region.hash = hash;
	record->region.line = line;
	record->region.level_index = UINT32_MAX;
#ifdef SP_STUBS_
	if (__atomic_load_n(&sp_name_count_v2, __ATOMIC_RELAXED) < 64)
		record->region.level_index =
			__atomic_fetch_add(&sp_name_count_v2, 1, __ATOMIC_RELAXED);
	if (record->region.level_index >= 64)
		record->region.level_index = UINT32_MAX;
#endif
	*ret_record = record;
	return block;
}

/* Who interns a name again may know what the first did not. */
SP_SHARED_ void sp_name_complete_v1(struct sp_region_dyn_ *region, const char *file, uint32_t line,
				    const char *tags)
{
	const char **field[2] = {&region->file, &region->tags};
	const char *text[2] = {SP_NULL_, SP_NULL_};
	int i;

	text[0] = file;
	text[1] = tags;
	for (i = 0; i < 2; i++) {
		const char *none = SP_NULL_;
		void *copy;

		if (!text[i] || __atomic_load_n(field[i], __ATOMIC_ACQUIRE))
			continue;
		copy = malloc(strlen(text[i]) + 1);
		if (!copy)
			continue;
		memcpy(copy, text[i], strlen(text[i]) + 1);
		if (!__atomic_compare_exchange_n(field[i], &none, SP_CAST_(const char *, copy), 0,
						 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			free(copy);
		else if (i == 0)
			__atomic_store_n(&region->line, line, __ATOMIC_RELEASE);
	}
}

/*
 * Lock-free: a place in the tree is filled once. Whoever loses the race for it goes on from the
 * record that is there now. FNV-1a hardly mixes the last characters upwards: the product does.
 */
SP_SHARED_ sp_region_t sp_region_intern_v2(const char *name, const char *file, uint32_t line,
					   const char *tags)
{
	uint64_t hash = name ? sp_name_hash_v1(name) : 0;
	uint64_t way = hash * UINT64_C(0x9e3779b97f4a7c15);
	struct sp_name_v2 **place = &sp_names_v2[way >> 56], *at, *record = SP_NULL_;
	void *block = SP_NULL_;

	SP_DEFINE_NAMES_();
	if (!name)
		return SP_NULL_;
	way <<= 8;
	for (;;) {
		at = __atomic_load_n(place, __ATOMIC_ACQUIRE);
		if (!at) {
			if (!block)
				block = sp_name_new_v2(name, hash, file, line, tags, &record);
			if (!block)
				return SP_NULL_;
			if (__atomic_compare_exchange_n(place, &at, record, 0, __ATOMIC_ACQ_REL,
							__ATOMIC_ACQUIRE))
				return &record->region;
		}
		if (at->region.hash == hash && !strcmp(at->region.name, name))
			break;
		place = &at->child[way >> 62];
		way <<= 2;
	}
	free(block);
	sp_name_complete_v1(&at->region, file, line, tags);
	return &at->region;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* !SP_REGION_DISABLE */

/* ---- the interface: regions whose names are made at run time ---- */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Make a handle for a name. Equal names give equal handles within a program or library. The name is
 * copied. Do it once and keep the handle; it costs a look-up in a hash tree, some 0.1 to 5
 * microseconds, and the first time an allocation that is never freed: names should be few
 * (thousands, not one for each iteration).
 * Returns NULL when out of memory or when the name is NULL, and that handle does nothing.
 *
 *	static sp_region_t region;
 *	if (!region)
 *		region = sp_region_intern(name);
 *
 * The second form says where the region is: file (or NULL), line (or 0), and tags, which are words
 * separated by commas (or NULL). What is given first for a name stays.
 */
SP_PUBLIC_ sp_region_t sp_region_intern_at(const char *name, const char *file, uint32_t line,
					   const char *tags);
SP_PUBLIC_ sp_region_t sp_region_intern(const char *name);

/* Begin and end such a region. NULL does nothing. Cost while untraced: one test. */
SP_PUBLIC_ void sp_region_begin(sp_region_t region);
SP_PUBLIC_ void sp_region_end(sp_region_t region);

#ifndef SP_REGION_DISABLE

SP_PUBLIC_ sp_region_t sp_region_intern_at(const char *name, const char *file, uint32_t line,
					   const char *tags)
{
	return sp_region_intern_v2(name, file, line, tags);
}

SP_PUBLIC_ sp_region_t sp_region_intern(const char *name)
{
	return sp_region_intern_v2(name, SP_NULL_, 0, SP_NULL_);
}

SP_PUBLIC_ void sp_region_begin(sp_region_t region)
{
	sp_handle_edge_begin_v1(region, 1);
}

SP_PUBLIC_ void sp_region_end(sp_region_t region)
{
	sp_handle_edge_end_v1(region, 1);
}

#ifndef __cplusplus /* these may be called by an inline function with external linkage, too */
SP_INLINE_ sp_region_t sp_intern_at_v1(const char *name, const char *file, uint32_t line,
				       const char *tags)
{
	return sp_region_intern_v2(name, file, line, tags);
}
#define sp_region_intern_at(name, file, line, tags) sp_intern_at_v1(name, file, line, tags)
#define sp_region_intern(name) sp_intern_at_v1(name, SP_NULL_, 0, SP_NULL_)
#define sp_region_begin(region) sp_handle_edge_begin_v1(region, 1)
#define sp_region_end(region) sp_handle_edge_end_v1(region, 1)
#endif

#else /* SP_REGION_DISABLE: functions for whoever takes their address, macros for the rest */

SP_PUBLIC_ sp_region_t sp_region_intern_at(const char *name, const char *file, uint32_t line,
					   const char *tags)
{
	(void)name, (void)file, (void)line, (void)tags;
	return SP_NULL_;
}

SP_PUBLIC_ sp_region_t sp_region_intern(const char *name)
{
	(void)name;
	return SP_NULL_;
}

SP_PUBLIC_ void sp_region_begin(sp_region_t region)
{
	(void)region;
}

SP_PUBLIC_ void sp_region_end(sp_region_t region)
{
	(void)region;
}

#define sp_region_intern_at(name, file, line, tags) \
	(0 ? ((void)(name), (void)(file), (void)(line), (void)(tags), SP_NO_REGION_) \
	   : SP_NO_REGION_)
#define sp_region_intern(name) (0 ? ((void)(name), SP_NO_REGION_) : SP_NO_REGION_)
#define sp_region_begin(region) (0 ? (void)(region) : (void)0)
#define sp_region_end(region) (0 ? (void)(region) : (void)0)
/* of scope_profiler.c */
#define sp_handle_begin_v1(region) sp_region_begin(region)
#define sp_handle_end_v1(region) sp_region_end(region)
#define SP_NO_REGION_ SP_CAST_(sp_region_t, SP_NUMBER_(void *, SP_NULL_))

#endif

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SP_REGION_H_ */
