/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

#include "bpf/config.h"
#include "userspace/base/cli.h"
#include "userspace/base/units.h"

#define MAX_SIZE_LEAST (64u << 10) /* what tells of a small program takes some 6K */

enum key {
	KEY_DURATION = 256,
	KEY_FORMATS,
	KEY_MAX_SIZE,
	KEY_MAX_DISK,
	KEY_RING_SIZE,
	KEY_SAMPLE_RING_SIZE,
	KEY_AS_ROOT,
	KEY_KEEP_JOURNAL,
	KEY_NO_LINE_PROFILE,
	KEY_BREAKPOINTS,
	KEY_LIST,
	KEY_CHECK,
	KEY_STACKS,
	KEY_ARCHIVE,
};

static const struct sp_option table[] = {
	{"pid", 'p', "PID[,PID…]", "attach to running processes, and follow their children"},
	{"output", 'o', "DIR", "write the recording into DIR (default: <program>.sp here)"},
	{"frequency", 'F', "HZ", "stack samples a second and CPU (default 99; 0: none)"},
	{"stacks", KEY_STACKS, "HOW",
	 "how stacks are walked: eh (unwinding tables; default), fp (frame pointers),\n"
	 "dwarf[,BYTES] (a copy of the stack), leaf (the address alone), none"},
	{"kernel-stacks", 'k', NULL, "record the kernel's part of stacks, too"},
	{"archive", KEY_ARCHIVE, NULL,
	 "keep a copy of the programs and libraries that are sampled"},
	{"duration", KEY_DURATION, "TIME", "end after TIME, such as 10s, 500ms, 2m"},
	{"formats", KEY_FORMATS, "LIST", "files to write: h5, sps, spt (default h5,sps)"},
	{"max-size", KEY_MAX_SIZE, "SIZE", "end when the journal has grown to SIZE, such as 2G"},
	{"max-disk-use", KEY_MAX_DISK, "PERCENT",
	 "end when the disk is that full (default 90; 100: never)"},
	{"ring-size", KEY_RING_SIZE, "SIZE",
	 "buffer in the kernel for each CPU (default: by memory)"},
	{"sample-ring-size", KEY_SAMPLE_RING_SIZE, "SIZE",
	 "the same for samples (default: by -F and the kind of stacks)"},
	{"breakpoints", KEY_BREAKPOINTS, NULL,
	 "never use the fast way to probes of Linux 6.18 (see the manual page)"},
	{"as-root", KEY_AS_ROOT, NULL,
	 "under sudo: run COMMAND and write files as root, not as you"},
	{"no-line-profile", KEY_NO_LINE_PROFILE, NULL,
	 "do not store the source lines of samples in HDF5 files"},
	{"keep-journal", KEY_KEEP_JOURNAL, NULL,
	 "do not delete the journal when the files are complete"},
	{"list", KEY_LIST, NULL,
	 "print the regions of FILE, or of -p PID, and whether they are armed"},
	{"check", KEY_CHECK, NULL,
	 "record nothing; say what this kernel has, and what is done where it lacks something"},
	{"quiet", 'q', NULL, "say only what went wrong"},
	{"verbose", 'v', NULL, "say what is done, and the kernel's own words where it refuses"},
	{0},
};

static const struct sp_cli cli = {
	.program = "sp-trace",
	.usage = "[OPTION]… -p PID[,PID…]\n       sp-trace [OPTION]… [--] COMMAND [ARGUMENT]…\n"
		 "       sp-trace --list FILE | --list -p PID\n       sp-trace --check",
	.about = "Records the regions of programs that carry probes of sp_region.h (C, C++) or of "
		 "the Fortran\n"
		 "module, and stack samples of any program. Needs root: sudo sp-trace -- ./app",
	.more = "Ends when the programs end, at Ctrl-C or SIGTERM, or after --duration; then "
		"writes, for each MPI\n"
		"rank, <program>_rank<NNNNN>.h5 and .sps. Read them with sp-report, without root, "
		"or with\n"
		"scope-profiler. With COMMAND, its exit status is returned.",
	.options = table,
};

static int add_pids(struct sp_options *o, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, ",");
		char one[32];
		uint64_t pid;
		pid_t *more;

		if (n == 0 || n >= sizeof(one))
			return sp_cli_usage_error(&cli, "-p wants process ids, not '%s'", text);
		memcpy(one, text, n);
		one[n] = 0;
		if (sp_parse_count(one, 1, INT_MAX, &pid) < 0)
			return sp_cli_usage_error(&cli, "'%s' is not a process id", one);
		more = realloc(o->pids, (o->pid_count + 1) * sizeof(*more));
		if (!more)
			return sp_cli_usage_error(&cli, "out of memory");
		o->pids = more;
		o->pids[o->pid_count++] = (pid_t)pid;
		text += n + (text[n] == ',');
	}
	return o->pid_count ? 0 : sp_cli_usage_error(&cli, "-p wants process ids");
}

static int check_formats(const char *list)
{
	static const char *const known[] = {"h5", "sps", "spt", NULL};
	const char *at = list;

	if (!*list)
		return sp_cli_usage_error(&cli, "--formats wants some of h5, sps, spt");
	for (;;) {
		size_t n = strcspn(at, ",");
		bool ok = false;

		for (size_t i = 0; known[i]; i++)
			ok |= strlen(known[i]) == n && !memcmp(known[i], at, n);
		if (!ok)
			return sp_cli_usage_error(&cli, "'%.*s' is not a format: h5, sps, spt are",
						  (int)n, at);
		if (!at[n])
			return 0;
		at += n + 1;
	}
}

static const char *const stack_modes[] = {
	[SP_STACKS_NONE] = "none", [SP_STACKS_LEAF] = "leaf",	[SP_STACKS_FP] = "fp",
	[SP_STACKS_EH] = "eh",	   [SP_STACKS_DWARF] = "dwarf",
};

const char *sp_options_stacks_name(unsigned stacks)
{
	return stacks < sizeof(stack_modes) / sizeof(stack_modes[0]) ? stack_modes[stacks] : "?";
}

/* --stacks HOW. */
static int take_stacks(struct sp_options *o, const char *arg)
{
	size_t n = strcspn(arg, ",");
	uint64_t bytes;

	for (unsigned i = 0; i < sizeof(stack_modes) / sizeof(stack_modes[0]); i++) {
		if (strlen(stack_modes[i]) != n || memcmp(stack_modes[i], arg, n))
			continue;
		o->stacks = i;
		if (!arg[n])
			return 0;
		if (i != SP_STACKS_DWARF)
			return sp_cli_usage_error(
				&cli, "only --stacks dwarf takes a size, not '%s'", arg);
		if (sp_parse_size(arg + n + 1, &bytes) < 0 || bytes < SP_COPY_LEAST ||
		    bytes > SP_COPY_MOST || bytes & (bytes - 1))
			return sp_cli_usage_error(&cli,
						  "--stacks dwarf,BYTES wants a power of two from "
						  "512 to 64K, not '%s'",
						  arg + n + 1);
		o->copy_bytes = bytes;
		return 0;
	}
	return sp_cli_usage_error(
		&cli, "--stacks wants eh, fp, dwarf[,BYTES], leaf or none, not '%s'", arg);
}

static int take(struct sp_options *o, int key, const char *arg)
{
	uint64_t n;

	switch (key) {
	case 'p':
		return add_pids(o, arg);
	case 'o':
		o->output = arg;
		return *arg ? 0 : sp_cli_usage_error(&cli, "-o wants a directory");
	case 'F':
		if (sp_parse_count(arg, 0, 100000, &n) < 0)
			return sp_cli_usage_error(
				&cli, "-F wants 0 to 100000 samples a second, not '%s'", arg);
		o->hz = (unsigned)n;
		return 0;
	case KEY_DURATION:
		if (sp_parse_duration(arg, &o->duration) < 0 || !o->duration)
			return sp_cli_usage_error(
				&cli, "--duration wants a time such as 10s, not '%s'", arg);
		return 0;
	case KEY_FORMATS:
		o->formats = arg;
		return check_formats(arg);
	case KEY_MAX_SIZE:
		if (sp_parse_size(arg, &o->max_size) < 0)
			return sp_cli_usage_error(
				&cli, "--max-size wants a size such as 2G, not '%s'", arg);
		if (o->max_size < MAX_SIZE_LEAST)
			return sp_cli_usage_error(
				&cli,
				"--max-size wants 64K at least, not '%s': less is "
				"full before the first call",
				arg);
		return 0;
	case KEY_MAX_DISK:
		if (sp_parse_count(arg, 1, 100, &n) < 0)
			return sp_cli_usage_error(&cli, "--max-disk-use wants 1 to 100, not '%s'",
						  arg);
		o->max_disk = n == 100 ? 2 : (double)n / 100;
		return 0;
	case KEY_RING_SIZE:
		if (sp_parse_size(arg, &o->ring_bytes) < 0 || o->ring_bytes < 4096 ||
		    o->ring_bytes > 1u << 30)
			return sp_cli_usage_error(&cli, "--ring-size wants 4K to 1G, not '%s'",
						  arg);
		return 0;
	case KEY_SAMPLE_RING_SIZE:
		if (sp_parse_size(arg, &o->sample_ring_bytes) < 0 || o->sample_ring_bytes < 4096 ||
		    o->sample_ring_bytes > 1u << 30)
			return sp_cli_usage_error(
				&cli, "--sample-ring-size wants 4K to 1G, not '%s'", arg);
		return 0;
	case KEY_AS_ROOT:
		o->as_root = true;
		return 0;
	case KEY_BREAKPOINTS:
		o->breakpoints = true;
		return 0;
	case KEY_NO_LINE_PROFILE:
		o->no_line_profile = true;
		return 0;
	case KEY_KEEP_JOURNAL:
		o->keep_journal = true;
		return 0;
	case KEY_STACKS:
		return take_stacks(o, arg);
	case 'k':
		o->kernel_stacks = true;
		return 0;
	case KEY_ARCHIVE:
		o->archive = true;
		return 0;
	case KEY_CHECK:
		o->check = true;
		return 0;
	case KEY_LIST:
		o->list = "";
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	default:
		o->verbose = true;
		return 0;
	}
}

static int check(struct sp_options *o, int argc, char **argv, int next)
{
	if (o->check)
		return next == argc && !o->pid_count && !o->list
			       ? 0
			       : sp_cli_usage_error(&cli, "--check stands alone");
	if (o->list) {
		if (o->pid_count && next < argc)
			return sp_cli_usage_error(&cli, "--list wants a file or -p PID, not both");
		if (!o->pid_count && next != argc - 1)
			return sp_cli_usage_error(&cli, "--list wants one file, or -p PID");
		if (!o->pid_count)
			o->list = argv[next];
		return 0;
	}
	if (next < argc)
		o->command = argv + next;
	if (o->command && o->pid_count)
		return sp_cli_usage_error(&cli, "either -p PID or a command, not both");
	if (!o->command && !o->pid_count)
		return sp_cli_usage_error(&cli, "say what to record: -p PID, or -- COMMAND");
	return 0;
}

int sp_options_parse(int argc, char **argv, struct sp_options *ret_options, int *ret_status)
{
	struct sp_options o = {
		.formats = "h5,sps",
		.hz = 99,
		.max_disk = 0.9,
		.stacks = SP_STACKS_EH,
		.copy_bytes = SP_COPY_DEFAULT,
	};
	struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv);
	const char *arg;
	int key, status = 0;

	if (argc == 1) {
		sp_cli_print_help(&cli);
		*ret_status = SP_EXIT_USAGE;
		return -1;
	}
	while (status == 0 && (key = sp_cli_next(&parser, &arg)) != SP_CLI_END) {
		if (key < 0) {
			*ret_status = sp_cli_status(key);
			sp_options_clear(&o);
			return -1;
		}
		status = take(&o, key, arg);
	}
	if (status == 0)
		status = check(&o, argc, argv, parser.next);
	if (status) {
		*ret_status = status;
		sp_options_clear(&o);
		return -1;
	}
	*ret_options = o;
	return 0;
}

void sp_options_clear(struct sp_options *o)
{
	free(o->pids);
	o->pids = NULL;
	o->pid_count = 0;
}
