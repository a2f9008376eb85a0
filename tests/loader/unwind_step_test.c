/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_step_test.c - unwind_step_test HELPER [LIBRARY CALL]: tables against what really happens.
 *
 * A child is stepped from instruction to instruction, with a list of its calls and returns. At each
 * instruction of the file in question, its table must give the caller that the list has: the CFA,
 * the return address and the frame pointer. So what sp-unwind reads out of code that nobody
 * describes (unwind_code.c) is judged by the processor; and what linkers and compilers describe,
 * too.
 *
 * Without LIBRARY: the functions below, then libgmp (assembler), libm, and libc making threads,
 * where they are there. CALL is one of gmp, libm, threads, blas.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/unwind_scan.h"
#include "tests/loader/check.h"

#if !defined(__x86_64__)
int main(void)
{
	return 77;
}
#else

#define MAX_STEPS 150000
#define MAX_DEPTH 256

/* ---- functions that nobody describes, as assembler programmers write them ---- */

#define FUNCTION(name, body) \
	asm(".text\n.balign 16\n.type " #name ",@function\n" #name ":\n" body ".size " #name \
	    ",.-" #name "\n"); \
	extern long name(long a, long b) __attribute__((visibility("hidden")))

FUNCTION(pushes, "push %rbp\npush %rbx\npush %r12\nmov %rdi,%rbp\nxor %eax,%eax\n"
		 "1: add %rsi,%rax\ndec %rbp\njg 1b\npop %r12\npop %rbx\npop %rbp\nret\n");
/* Frame, saved registers by mov, a copy of the stack pointer, and a stack aligned for a buffer. */
FUNCTION(kernel, "sub $96,%rsp\nmovq %rbx,(%rsp)\nmovq %rbp,8(%rsp)\nmovq %r12,16(%rsp)\n"
		 "vzeroupper\nmov %rsp,%rbx\nsub $4224,%rsp\nand $-4096,%rsp\n"
		 "test %rdi,%rdi\njle 3f\nmov %rdi,%rbp\nxor %eax,%eax\n.balign 16\n"
		 "1: vpxor %xmm0,%xmm0,%xmm0\nvmovups %ymm0,32(%rsp)\nvfmadd231pd "
		 "8(%rsp,%rax,1),%ymm0,%ymm1\n"
		 "prefetcht0 512(%rsp)\nadd $1,%rax\ncmp %rsi,%rax\njl 2f\nxor %eax,%eax\n"
		 "2: dec %rbp\njnz 1b\njmp 4f\n.balign 16\n3: mov $-1,%rax\n"
		 "4: mov %rbx,%rsp\nmovq (%rsp),%rbx\nmovq 8(%rsp),%rbp\nmovq 16(%rsp),%r12\n"
		 "vzeroupper\nadd $96,%rsp\nret\n");
/* A way out in the middle, with the body behind it. */
FUNCTION(exits, "push %rbp\nsub $40,%rsp\nmov %rdi,8(%rsp)\nlea (%rdi,%rsi),%rax\ntest %rax,%rax\n"
		"jz 2f\n1: cmp $9,%rax\njg 3f\nadd $40,%rsp\npop %rbp\nret\n.balign 16\n"
		"2: mov $1,%eax\njmp 1b\n3: shr $1,%rax\nmov %rax,%rbp\njmp 1b\n");
FUNCTION(renamed,
	 "mov %rbp,%r11\nxor %ebp,%ebp\nadd %rdi,%rbp\nlea (%rbp,%rsi),%rax\nmov %r11,%rbp\nret\n");
FUNCTION(tail, "push %rbx\nmov %rdi,%rbx\nlea 1(%rbx),%rdi\npop %rbx\njmp pushes\n");
/* The frame pointer is changed for good in a branch that is never taken; no state is sure behind.
 */
FUNCTION(copied, "push %rbp\nmov %rsp,%rbp\nand $-64,%rsp\nsub $128,%rsp\nmov %rdi,(%rsp)\n"
		 "mov (%rsp),%rax\nadd %rsi,%rax\nmov %rbp,%rsp\npop %rbp\nret\n");
/* What must be left alone. */
FUNCTION(elsewhere, "mov %rsp,8(%rdi)\nmov 16(%rdi),%rsp\nret\n");
FUNCTION(unbalanced, "push %rbx\nret\n");
FUNCTION(contradiction, "test %rdi,%rdi\njz 1f\npush %rbx\n1: nop\npop %rbx\nret\n");
FUNCTION(sized, "sub %rdi,%rsp\nadd %rdi,%rsp\nret\n");
FUNCTION(garbage, "ret\n.byte 0x06,0x06\nret\n");

static void call_own(void *library)
{
	(void)library;
	for (long n = 0; n < 4; n++) {
		pushes(n, 3);
		kernel(20 * n, 7);
		exits(n, 8 * n);
		renamed(n, 2);
		tail(n, 5);
		copied(n, 5);
	}
}

/* ---- libraries ---- */

static void call_gmp(void *library)
{
	typedef struct {
		int alloc, size;
		void *limbs;
	} mpz[1];
	void (*init)(mpz) = dlsym(library, "__gmpz_init");
	void (*power)(mpz, unsigned long, unsigned long) = dlsym(library, "__gmpz_ui_pow_ui");
	void (*multiply)(mpz, mpz, mpz) = dlsym(library, "__gmpz_mul");
	void (*divide)(mpz, mpz, mpz, mpz) = dlsym(library, "__gmpz_tdiv_qr");
	void (*gcd)(mpz, mpz, mpz) = dlsym(library, "__gmpz_gcd");
	void (*power_mod)(mpz, mpz, mpz, mpz) = dlsym(library, "__gmpz_powm");
	void (*add)(mpz, mpz, mpz) = dlsym(library, "__gmpz_add");
	mpz a, b, c, d;

	init(a);
	init(b);
	init(c);
	init(d);
	for (unsigned long i = 1; i < 4; i++) {
		power(a, 3 + 2 * i, 40 * i * i);
		power(b, 7, 25 * i * i);
		multiply(c, a, b);
		multiply(c, c, c);
		add(c, c, a);
		divide(c, d, c, b);
		gcd(d, a, d);
		power_mod(d, a, b, c);
	}
}

static void call_libm(void *library)
{
	static const char *const names[] = {"sin",  "cos",  "exp",  "log",    "tan",
					    "atan", "sinh", "cbrt", "tgamma", "j0"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		double (*f)(double) = dlsym(library, names[i]);

		for (double x = 0.1; f && x < 1e6; x *= 31)
			f(x);
	}
}

static void *do_nothing(void *arg)
{
	return arg;
}

static void call_threads(void *library)
{
	pthread_t thread;

	(void)library;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, do_nothing, NULL) == 0)
			pthread_join(thread, NULL);
}

static void call_blas(void *library)
{
	void (*dgemm)(int, int, int, int, int, int, double, double *, int, double *, int, double,
		      double *, int) = dlsym(library, "cblas_dgemm");
	double (*dot)(int, double *, int, double *, int) = dlsym(library, "cblas_ddot");
	void (*dtrsm)(int, int, int, int, int, int, int, double, double *, int, double *, int) =
		dlsym(library, "cblas_dtrsm");
	static double a[40 * 40], b[40 * 40], c[40 * 40];

	for (int i = 0; i < 40 * 40; i++)
		a[i] = b[i] = 1 + i % 7;
	for (int n = 1; n < 40; n += 13) {
		dgemm(101, 111, 112, n, n, n, 1, a, 40, b, 40, 0, c, 40);
		dot(n, a, 1, b, 1);
		dtrsm(101, 141, 121, 111, 131, n, n, 1, a, 40, b, 40);
	}
}

static const struct {
	const char *name, *file;
	void (*call)(void *library);
} calls[] = {
	{"gmp", "libgmp.so.10", call_gmp},
	{"libm", "libm.so.6", call_libm},
	{"threads", "libc.so.6", call_threads},
	{"blas", "libopenblas.so.0", call_blas},
};

/* ---- steps ---- */

struct frame {
	uint64_t cfa, ra, fp, bx;
};

struct walk {
	const char *what;
	pid_t pid;
	const struct sp_unwind_table *table;
	uint64_t base, start, end; /* of the file's code, in memory */
	struct frame frames[MAX_DEPTH];
	size_t depth;
	size_t seen, known, lost, wrong, clones;
};

static uint64_t peek(const struct walk *w, uint64_t address)
{
	return (uint64_t)ptrace(PTRACE_PEEKDATA, w->pid, (void *)address, NULL);
}

static uint64_t value_of(const struct user_regs_struct *r, unsigned number)
{
	const unsigned long long values[] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
					     r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
					     r->r12, r->r13, r->r14, r->r15};

	return number < 16 ? values[number] : 0;
}

static void judge(struct walk *w, const struct user_regs_struct *regs)
{
	ptrdiff_t row = sp_unwind_table_find(w->table, regs->rip - w->base);
	const struct sp_unwind_rule *r = row < 0 ? NULL : &w->table->rules_at[w->table->rule[row]];
	const struct frame *wanted = &w->frames[w->depth - 1];
	uint64_t reg, cfa, ra, fp, bx, base;
	bool same;

	w->seen++;
	if (!r || r->kind == SP_UNWIND_NONE || r->kind == SP_UNWIND_UNSUPPORTED)
		return;
	w->known++;
	w->clones += !!(r->flags & SP_UNWIND_UNLESS_0);
	reg = value_of(regs, r->reg);
	cfa = reg + (uint64_t)(int64_t)r->offset;
	if (r->kind == SP_UNWIND_DEREF)
		cfa = peek(w, cfa) + (uint64_t)(int64_t)r->addend;
	if (r->kind == SP_UNWIND_PLT)
		cfa = reg + 8 + ((regs->rip & 15) >= (uint64_t)r->offset ? 8 : 0);
	base = r->flags & SP_UNWIND_FP_BY_FP ? regs->rbp : cfa;
	fp = r->fp == SP_UNWIND_SAME ? regs->rbp : peek(w, base + (uint64_t)(r->fp * 8l));
	bx = r->bx == SP_UNWIND_SAME ? regs->rbx : peek(w, base + (uint64_t)(r->bx * 8l));
	ra = r->ra == SP_UNWIND_SAME ? value_of(regs, r->link)
				     : peek(w, cfa + (uint64_t)(r->ra * 8l));
	w->lost += r->fp == SP_UNWIND_UNDEFINED;
	same = cfa == wanted->cfa && ra == wanted->ra &&
	       (r->fp == SP_UNWIND_UNDEFINED || fp == wanted->fp) &&
	       (r->bx == SP_UNWIND_UNDEFINED || bx == wanted->bx);
	if (!same && w->wrong++ < 5)
		fprintf(stderr,
			"%s+%llx: CFA %llx, not %llx; frame pointer %llx, not %llx; rbx %llx, not "
			"%llx\n",
			w->what, (unsigned long long)(regs->rip - w->base), (unsigned long long)cfa,
			(unsigned long long)wanted->cfa, (unsigned long long)fp,
			(unsigned long long)wanted->fp, (unsigned long long)bx,
			(unsigned long long)wanted->bx);
}

/* Calls and returns, by what the last instruction did. */
static void follow(struct walk *w, const struct user_regs_struct *was,
		   const struct user_regs_struct *is)
{
	uint64_t top;

	if (w->depth && is->rip == w->frames[w->depth - 1].ra &&
	    is->rsp == w->frames[w->depth - 1].cfa) {
		w->depth--;
		return;
	}
	if (is->rsp != was->rsp - 8)
		return;
	top = peek(w, is->rsp);
	if (top > was->rip && top <= was->rip + 8 && is->rip != top && w->depth < MAX_DEPTH)
		w->frames[w->depth++] = (struct frame){is->rsp + 8, top, is->rbp, is->rbx};
}

static void step_all(struct walk *w)
{
	struct user_regs_struct was, is;
	int status;

	if (waitpid(w->pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return;
	ptrace(PTRACE_GETREGS, w->pid, NULL, &was);
	for (size_t i = 0; i < MAX_STEPS; i++) {
		if (ptrace(PTRACE_SINGLESTEP, w->pid, NULL, NULL) < 0 ||
		    waitpid(w->pid, &status, 0) < 0 || !WIFSTOPPED(status) ||
		    ptrace(PTRACE_GETREGS, w->pid, NULL, &is) < 0)
			break;
		follow(w, &was, &is);
		if (w->depth && is.rip >= w->start && is.rip < w->end)
			judge(w, &is);
		was = is;
	}
	kill(w->pid, SIGKILL);
	waitpid(w->pid, &status, 0);
}

static int keep(size_t index, struct sp_unwind_table *table, int error, const char *why, void *arg)
{
	(void)index;
	CHECK(!error, "%d: %s", error, why ? why : "-");
	if (table) {
		*(struct sp_unwind_table *)arg = *table;
		memset(table, 0, sizeof(*table));
	}
	return 0;
}

static bool make_table(const char *helper, const char *path, struct sp_unwind_table *table)
{
	struct sp_error err = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	memset(table, 0, sizeof(*table));
	CHECK(fd >= 0 && sp_unwind_scan(helper, &fd, 1, keep, table, &err) == 0, "%s: %s", path,
	      err.text);
	close(fd);
	return table->rows > 0;
}

/* Returns the share of instructions whose caller is known. */
static double test(const char *what, const struct sp_unwind_table *table, uint64_t base,
		   void (*call)(void *), void *library)
{
	struct walk w = {.what = what, .table = table, .base = base, .start = UINT64_MAX};

	for (size_t i = 0; i < table->segments; i++) {
		uint64_t start = base + table->segment[i].address;

		w.start = start < w.start ? start : w.start;
		w.end = start + table->segment[i].file_size > w.end
				? start + table->segment[i].file_size
				: w.end;
	}
	w.pid = fork();
	if (w.pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		call(library);
		_exit(0);
	}
	step_all(&w);
	printf("%s: %zu instructions, %zu known, %zu without frame pointer, %zu wrong\n", what,
	       w.seen, w.known, w.lost, w.wrong);
	/* syscall, test, jl, je, ret: of each thread that was made */
	for (size_t i = 0; i < table->rules; i++)
		CHECK(!(table->rules_at[i].flags & SP_UNWIND_UNLESS_0) || call != call_threads ||
			      w.clones >= 15,
		      "%s: %zu instructions where clone() returns", what, w.clones);
	CHECK(w.seen > 100, "%s: %zu instructions", what, w.seen);
	CHECK(w.wrong == 0, "%s: %zu of %zu are wrong", what, w.wrong, w.known);
	return (double)w.known / (double)(w.seen + !w.seen);
}

static void check_left_alone(const struct sp_unwind_table *table, uint64_t base)
{
	static const struct {
		const char *name;
		long (*function)(long, long);
		bool known;
	} wanted[] = {{"pushes", pushes, true},
		      {"kernel", kernel, true},
		      {"exits", exits, true},
		      {"renamed", renamed, true},
		      {"tail", tail, true},
		      {"copied", copied, true},
		      {"elsewhere", elsewhere, false},
		      {"unbalanced", unbalanced, false},
		      {"contradiction", contradiction, false},
		      {"sized", sized, false},
		      {"garbage", garbage, false}};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		ptrdiff_t row = sp_unwind_table_find(table, (uint64_t)wanted[i].function - base);

		CHECK((row >= 0 && table->rule[row]) == wanted[i].known, "%s is %s", wanted[i].name,
		      wanted[i].known ? "left alone" : "believed");
	}
}

static int test_library(const char *helper, const char *path, const char *name)
{
	struct sp_unwind_table table;
	struct link_map *map;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *library;

		if (strcmp(name, calls[i].name))
			continue;
		library = dlopen(path ? path : calls[i].file, RTLD_NOW);
		if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) < 0) {
			printf("%s is not here\n", calls[i].file);
			return 0;
		}
		if (make_table(helper, map->l_name, &table))
			CHECK(test(name, &table, map->l_addr, calls[i].call, library) > 0.95,
			      "%s: too little is known", name);
		sp_unwind_table_clear(&table);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sp_unwind_table table;
	struct link_map *map;
	Dl_info info;

	if (argc == 4) {
		test_library(argv[1], argv[2], argv[3]);
		return check_done();
	}
	if (argc != 2)
		return 2;
	if (make_table(argv[1], "/proc/self/exe", &table) &&
	    dladdr1((void *)main, &info, (void **)&map, RTLD_DL_LINKMAP)) {
		check_left_alone(&table, map->l_addr);
		if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
			CHECK(test("own", &table, map->l_addr, call_own, NULL) > 0.95,
			      "own: too little is known");
	}
	sp_unwind_table_clear(&table);
	test_library(argv[1], NULL, "gmp");
	test_library(argv[1], NULL, "libm");
	test_library(argv[1], NULL, "threads");
	return check_done();
}
#endif
