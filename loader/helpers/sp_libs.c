/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sp_libs.c - sp-libs: becomes the dynamic linker, listing the shared libraries of a program that
 * nobody vouches for.
 *
 *   sp-libs LINKER PROGRAM
 *
 * "Listing" runs nothing only of well-behaved programs: one can name an auditing library, whose
 * code the linker then calls, or map itself over the linker. So whatever comes to run here is taken
 * for hostile. Invariant: from the lock on, it can open files for reading, map memory and write to
 * the descriptors it has; it cannot make or change a file, a process or a socket, nor reach one.
 * Exit status 2 used wrongly, 3 could not lock itself in, else the linker's.
 */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stddef.h>
#include <unistd.h>

/* What the linkers of glibc and musl call, beside the ones with conditions below. */
static const int free_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(lseek),
	SCMP_SYS(fstat),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getcwd),
	SCMP_SYS(mmap),
	SCMP_SYS(mprotect),
	SCMP_SYS(munmap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(uname),
	SCMP_SYS(getrandom),
	SCMP_SYS(getpid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(arch_prctl),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(futex),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(execve), /* into the same lock, without rights to gain */
};

static int lock_in(void)
{
	/* Everything but what these name makes or changes something, or is unknown. */
	const scmp_datum_t not_reading = ~(scmp_datum_t)(O_CLOEXEC | O_LARGEFILE | O_NOFOLLOW |
							 O_DIRECTORY | O_PATH | 0100000) &
					 0xffffffffu;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = filter ? 0 : -ENOMEM;

	for (size_t i = 0; i < sizeof(free_calls) / sizeof(free_calls[0]) && r == 0; i++) {
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, free_calls[i], 0);
		if (r == -EDOM || r == -EINVAL)
			r = 0; /* not on this machine */
	}
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, not_reading, 0));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
				     SCMP_A1(SCMP_CMP_MASKED_EQ, not_reading, 0));
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		_exit(2);
	if (lock_in() < 0)
		_exit(3);
	execl(argv[1], argv[1], "--list", argv[2], (char *)NULL);
	_exit(127);
}
