/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sandboxed.c - a program that gave up nearly all system calls before its first region.
 *
 *	sandboxed refuse	what is not allowed fails
 *	sandboxed kill		what is not allowed kills
 *	sandboxed strict	the strict mode: read, write, exit
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "usdt/sp_region.h"

#define ALLOW(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int restrict_to_few(unsigned otherwise)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K, otherwise),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int r = -1;

	if (!strcmp(how, "refuse"))
		r = restrict_to_few(SECCOMP_RET_ERRNO | EPERM);
	else if (!strcmp(how, "kill"))
		r = restrict_to_few(SECCOMP_RET_KILL_PROCESS);
	else if (!strcmp(how, "strict"))
		r = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (r)
		return 9;
	for (int i = 0; i < 1000; i++) {
		SP_REGION_BEGIN("sandboxed");
		SP_REGION_END("sandboxed");
	}
	if (write(1, "done\n", 5) != 5)
		syscall(SYS_exit, 8);
	syscall(SYS_exit, 0);
	return 7;
}
