/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/check.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

#define BTF "/sys/kernel/btf/vmlinux"

/* What each step needs; all of it is part of root. */
static const struct {
	int number;
	const char *name, *why;
} needed[] = {
	{CAP_BPF, "CAP_BPF", "to load BPF programs"},
	{CAP_PERFMON, "CAP_PERFMON", "to attach them to probes and to sample"},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "to see what other processes map"},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "to read their programs"},
};

static uint64_t effective_capabilities(void)
{
	sp_cleanup(sp_fclosep) FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	uint64_t caps = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %" SCNx64, &caps) == 1)
			break;
	return caps;
}

static bool in_lockdown(void)
{
	sp_cleanup(sp_fclosep) FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";

	return f && fgets(line, sizeof(line), f) && strstr(line, "[confidentiality]");
}

static int check_rights(void)
{
	uint64_t have = effective_capabilities();
	char missing[256] = "";
	size_t at = 0;

	for (size_t i = 0; i < sp_array_size(needed); i++)
		if (!(have >> needed[i].number & 1))
			at += (size_t)snprintf(missing + at, sizeof(missing) - at, "%s%s (%s)",
					       at ? ", " : "", needed[i].name, needed[i].why);
	if (!at)
		return 0;
	if (geteuid() != 0) {
		sp_log_error("recording needs root: run it with sudo");
		sp_log_hint("or give it these capabilities, which it lacks: %s", missing);
	} else {
		sp_log_error("this root user is restricted; it lacks %s", missing);
		sp_log_hint("in a container, run it with these capabilities, or on the host");
	}
	return -EPERM;
}

int sp_check_can_record(void)
{
	int r = check_rights(), fd;

	if (r < 0)
		return r;
	if (in_lockdown()) {
		sp_log_error("the kernel is locked down (confidentiality), so BPF programs may not "
			     "read memory");
		sp_log_hint("boot with lockdown=integrity or without lockdown");
		return -EPERM;
	}
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "sp_check", 4, 4, 1, NULL);
	if (fd < 0) {
		r = -errno;
		if (r == -ENOSYS)
			sp_log_error(
				"this kernel has no BPF (it was built without CONFIG_BPF_SYSCALL)");
		else
			sp_log_error("the kernel refuses BPF to this process: %s", strerror(-r));
		sp_log_hint(r == -ENOSYS ? "use a distribution's kernel, Linux 5.17 or newer"
					 : "a seccomp filter (a container's?) or a memory limit "
					   "may forbid it");
		return r;
	}
	close(fd);
	if (access(BTF, R_OK)) {
		r = -errno;
		sp_log_error("this kernel has no description of its types (BTF): %s: %s", BTF,
			     strerror(-r));
		sp_log_hint("use a kernel built with CONFIG_DEBUG_INFO_BTF=y; distributions' "
			    "kernels are");
		return r;
	}
	return 0;
}
