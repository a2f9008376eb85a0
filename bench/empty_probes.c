/* SPDX-License-Identifier: BSD-2-Clause
 *
 * empty_probes.c - puts the empty program on probes of a file, then runs a command.
 *
 *   empty_probes OBJECT FILE OFFSET:SEMAPHORE,OFFSET:SEMAPHORE -- COMMAND …
 *
 * Uses the same kind of link as sp-trace (uprobe_multi, else perf events). Prints the program's time and
 * runs by bpf_stats to stderr: "bpf NS RUNS".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define MOST 8
#define BPF_TRACE_UPROBE_MULTI_ 48 /* not in Debian 12's headers */

struct multi_attr {
	__u32 prog_fd, target_fd, attach_type, flags;
	__u64 path, offsets, ref_ctr_offsets, cookies;
	__u32 count, multi_flags, pid, reserved;
};

static unsigned long long offsets[MOST], semaphores[MOST];
static unsigned count;

static struct bpf_program *load(const char *path, int multi)
{
	struct bpf_object *object = bpf_object__open(path);
	struct bpf_program *program = object ? bpf_object__next_program(object, NULL) : NULL;

	if (!program)
		return NULL;
	if (multi)
		bpf_program__set_expected_attach_type(program, BPF_TRACE_UPROBE_MULTI_);
	return bpf_object__load(object) ? NULL : program;
}

static int attach_multi(struct bpf_program *program, const char *file)
{
	struct multi_attr attr = {
		.prog_fd = (__u32)bpf_program__fd(program),
		.attach_type = BPF_TRACE_UPROBE_MULTI_,
		.path = (__u64)(uintptr_t)file,
		.offsets = (__u64)(uintptr_t)offsets,
		.ref_ctr_offsets = (__u64)(uintptr_t)semaphores,
		.count = count,
	};

	return (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

static int attach(const char *object, const char *file, struct bpf_program **ret_program)
{
	struct bpf_program *program = load(object, 1);

	if (program && attach_multi(program, file) >= 0) {
		*ret_program = program;
		return 0;
	}
	program = load(object, 0);
	for (unsigned i = 0; program && i < count; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = semaphores[i]);

		if (!bpf_program__attach_uprobe_opts(program, -1, file, offsets[i], &opts))
			return -errno;
	}
	*ret_program = program;
	return program ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	struct bpf_prog_info info = {0};
	__u32 bytes = sizeof(info);
	struct bpf_program *program;
	int status = 1;
	pid_t pid;

	if (argc < 6 || strcmp(argv[4], "--"))
		return 2;
	for (char *at = argv[3]; at && count < MOST; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (sscanf(at, "%llx:%llx", &offsets[count], &semaphores[count]) == 2)
			count++;
	if (attach(argv[1], argv[2], &program) < 0) {
		perror("cannot attach the empty program");
		return 1;
	}
	pid = fork();
	if (pid == 0) {
		execv(argv[5], argv + 5);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes) == 0)
		fprintf(stderr, "bpf %llu %llu\n", (unsigned long long)info.run_time_ns,
			(unsigned long long)info.run_cnt);
	return status ? 1 : 0;
}
