/* SPDX-License-Identifier: BSD-2-Clause
 *
 * injected.c - a library to be preloaded into the recorder, and into nothing that it starts, which
 * makes the kernel look worse than it is (what the recorder forks takes part, and counts with it):
 *
 *	INJECT_BPF=COMMAND:N:ERRNO  the Nth bpf(2) call of that command fails (-1: of all)
 *	INJECT_BPF_LOG=FILE         each bpf(2) call's command is appended, a line each
 *	INJECT_BPF_SHRINK=MAP:N,…   these maps are made with N entries
 *	INJECT_BPF_REFUSE=MAP       no memory for a new value of this task storage
 *	INJECT_BPF_OCCUPY=ARRAY     its values begin with a 1 after the self-test
 *	INJECT_HOUR=FILE            CLOCK_REALTIME is an hour ahead while FILE exists
 *	INJECT_EXEC_STOPS=1         the command stops itself (SIGSTOP) just before it is exec'd
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int command = -2, nth, error;
static int *seen; /* of all processes */
static const char *log_path, *hour, *shrunk, *refused, *occupied;
static uint32_t entries, value_bytes; /* of what is occupied */
static int occupied_fd = -1, iterators;

static __attribute__((constructor)) void begin(void)
{
	const char *bpf = getenv("INJECT_BPF");

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bpf && sscanf(bpf, "%d:%d:%d", &command, &nth, &error) != 3)
		_exit(99);
	if (seen == MAP_FAILED)
		_exit(97);
	log_path = getenv("INJECT_BPF_LOG");
	hour = getenv("INJECT_HOUR");
	shrunk = getenv("INJECT_BPF_SHRINK");
	refused = getenv("INJECT_BPF_REFUSE");
	occupied = getenv("INJECT_BPF_OCCUPY");
	unsetenv("LD_PRELOAD");
}

static long (*next)(long, ...);

/* No descriptor is kept: a process that closes all it does not know has others under its number. */
static void note(long what)
{
	int fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (fd >= 0) {
		dprintf(fd, "%ld\n", what);
		close(fd);
	}
}

static void shrink(union bpf_attr *attr)
{
	char name[sizeof(attr->map_name) + 1] = "";
	size_t length;

	memcpy(name, attr->map_name, sizeof(attr->map_name));
	length = strlen(name);
	for (const char *at = shrunk; length && at && *at;
	     at = strchr(at, ',') ? strchr(at, ',') + 1 : "")
		if (!strncmp(at, name, length) && at[length] == ':')
			attr->max_entries = (uint32_t)atoi(at + length + 1);
}

static void occupy(void)
{
	uint32_t *value = calloc(1, value_bytes);

	for (uint32_t key = 0; value && key < entries; key++) {
		union bpf_attr attr;

		memset(&attr, 0, sizeof(attr));
		value[0] = 1;
		attr.map_fd = (uint32_t)occupied_fd;
		attr.key = (uint64_t)(uintptr_t)&key;
		attr.value = (uint64_t)(uintptr_t)value;
		if (next(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)))
			_exit(98);
	}
	free(value);
}

static int is_refused(int fd)
{
	struct bpf_map_info info;
	union bpf_attr attr;

	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uint64_t)(uintptr_t)&info;
	return next(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0 &&
	       !strcmp(info.name, refused);
}

/* Takes the flag "create" out of the calls that get a value of the map: they find none then, as if
 * there were no memory for it. */
static void refuse(const union bpf_attr *attr)
{
	struct bpf_insn *insns = (struct bpf_insn *)(uintptr_t)attr->insns;

	for (uint32_t i = 0; i < attr->insn_cnt; i++) {
		int map = -1, flags = -1;

		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg ||
		    insns[i].imm != BPF_FUNC_task_storage_get)
			continue;
		for (uint32_t k = i; k-- > 0 && i - k < 12 && (map < 0 || flags < 0);) {
			if (map < 0 && insns[k].code == (BPF_LD | BPF_IMM | BPF_DW) &&
			    insns[k].dst_reg == 1)
				map = insns[k].imm;
			if (flags < 0 && insns[k].code == (BPF_ALU64 | BPF_MOV | BPF_K) &&
			    insns[k].dst_reg == 4)
				flags = (int)k;
		}
		if (map >= 0 && flags >= 0 && is_refused(map))
			insns[flags].imm = 0;
	}
}

long syscall(long number, ...)
{
	long a[6];
	va_list ap;

	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_bpf) {
		if (log_path)
			note(a[0]);
		if (shrunk && a[0] == BPF_MAP_CREATE)
			shrink((union bpf_attr *)a[1]);
		if (refused && a[0] == BPF_PROG_LOAD)
			refuse((union bpf_attr *)a[1]);
		if (occupied && a[0] == BPF_MAP_CREATE &&
		    !strncmp(((union bpf_attr *)a[1])->map_name, occupied, BPF_OBJ_NAME_LEN)) {
			const union bpf_attr *attr = (const union bpf_attr *)a[1];

			entries = attr->max_entries;
			value_bytes = attr->value_size;
			a[0] = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
			occupied_fd = a[0] >= 0 ? fcntl((int)a[0], F_DUPFD_CLOEXEC, 100) : -1;
			return a[0];
		}
		/* The first finds the self-test's thread. */
		if (occupied_fd >= 0 && a[0] == BPF_ITER_CREATE && ++iterators == 2)
			occupy();
		if ((a[0] == command || command == -1) &&
		    __atomic_add_fetch(seen, 1, __ATOMIC_RELAXED) == nth) {
			errno = error;
			return -1;
		}
	}
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static int (*next)(clockid_t, struct timespec *);
	int r;

	if (!next)
		next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	r = next(clock, t);
	if (r == 0 && clock == CLOCK_REALTIME && hour && access(hour, F_OK) == 0)
		t->tv_sec += 3600;
	return r;
}

int execvp(const char *file, char *const argv[])
{
	static int (*next)(const char *, char *const[]);

	if (!next)
		next = (int (*)(const char *, char *const[]))dlsym(RTLD_NEXT, "execvp");
	if (getenv("INJECT_EXEC_STOPS"))
		raise(SIGSTOP);
	return next(file, argv);
}
