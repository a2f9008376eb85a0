/* SPDX-License-Identifier: BSD-2-Clause
 *
 * features.c - each feature is tried, never guessed from the kernel's version.
 */
#include "loader/features.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "loader/bpf.h"
#include "loader/check.h"
#include "loader/hold.h"
#include "loader/images.h"
#include "loader/sampler.h"
#include "loader/selftest.h"
#include "loader/slice.h"
#include "loader/without.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"
#include "userspace/base/table.h"

static const struct {
	const char *present, *missing;
} texts[SP_FEATURE_MAX] = {
	[SP_FEATURE_UPROBE_MULTI] = {"the probes of a program are armed all at once",
				     "one perf event for each probe: arming and disarming take "
				     "longer"},
	[SP_FEATURE_FAST_PROBES] = {"a probe is a call", "a probe is a breakpoint"},
	[SP_FEATURE_CYCLES] = {"samples are taken by the CPU's cycles",
			       "samples are taken by the CPU clock"},
	[SP_FEATURE_EXEC_HOLD] = {"programs that recorded ones start are armed before they run",
				  "the first regions of programs that recorded ones start may be "
				  "lost"},
	[SP_FEATURE_MAP_FILES] = {"files are opened as they are mapped, deleted ones, too",
				  "files are opened by their paths; deleted ones are not found"},
	[SP_FEATURE_SHORT_SLICE] = {"the recorder runs at once when it is needed",
				    "the recorder runs before others by its nice value alone"},
	[SP_FEATURE_KALLSYMS] = {"functions of the kernel (-k) have names",
				 "functions of the kernel (-k) have no names: sysctl "
				 "kernel.kptr_restrict=1 shows them"},
	[SP_FEATURE_CODE_FAULTS] = {"stacks in code that was just mapped are walked at once",
				    "the first samples in code that was just mapped need a copy of "
				    "their stack"},
};

struct findings {
	bool has[SP_FEATURE_MAX];
	char remark[SP_FEATURE_MAX][200];
};

static bool has_map_files(void)
{
	DIR *dir = sp_without(SP_FEATURE_MAP_FILES) ? NULL : opendir("/proc/self/map_files");
	struct dirent *entry;
	bool can = false;

	while (dir && !can && (entry = readdir(dir))) {
		sp_cleanup(sp_closep) int fd =
			entry->d_name[0] == '.'
				? -1
				: openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);

		can = fd >= 0;
	}
	if (dir)
		closedir(dir);
	return can;
}

static bool has_kallsyms(void)
{
	sp_cleanup(sp_fclosep) FILE *f = fopen("/proc/kallsyms", "re");
	char line[512];
	bool shown = false;

	/* The first symbols are offsets, and may be 0. */
	while (f && !shown && fgets(line, sizeof(line), f))
		shown = strtoull(line, NULL, 16) != 0;
	return shown && !sp_without(SP_FEATURE_KALLSYMS);
}

static void find_hold(struct findings *f, struct sp_bpf *bpf)
{
	struct sp_hold *hold = NULL;
	int r = sp_hold_start(sp_bpf_lanes(bpf), NULL, &hold);

	f->has[SP_FEATURE_EXEC_HOLD] = r == 0;
	if (r < 0)
		snprintf(f->remark[SP_FEATURE_EXEC_HOLD], sizeof(f->remark[0]), "fanotify: %s",
			 strerror(-r));
	sp_hold_stop(hold);
}

static int find_sampler(struct findings *f, struct sp_bpf *bpf)
{
	struct sp_sampler *sampler = NULL;
	const char *event;
	int r = sp_sampler_start(bpf, NULL, 99, &sampler, &event);

	if (r < 0)
		sp_log_error("cannot sample: %s", strerror(-r));
	else
		f->has[SP_FEATURE_CYCLES] = !strcmp(event, "cycles");
	sp_sampler_free(sampler);
	return r;
}

static int find_all(struct findings *f, struct sp_bpf *bpf)
{
	struct sp_selftest test = {0};
	int r = sp_bpf_attach_tasks(bpf);

	if (r == 0) {
		sp_bpf_enable(bpf);
		r = sp_selftest_run(bpf, !sp_without(SP_FEATURE_FAST_PROBES), &test);
	}
	if (r < 0)
		return r;
	f->has[SP_FEATURE_UPROBE_MULTI] = sp_bpf_has_multi(bpf);
	f->has[SP_FEATURE_FAST_PROBES] = test.fast;
	snprintf(f->remark[SP_FEATURE_FAST_PROBES], sizeof(f->remark[0]),
		 "%.0f ns a begin and its end%s%s", test.pair_ns, test.fast ? "" : "; ",
		 test.reason);
	r = find_sampler(f, bpf);
	find_hold(f, bpf);
	f->has[SP_FEATURE_MAP_FILES] = has_map_files();
	f->has[SP_FEATURE_SHORT_SLICE] = sp_slice_is_known();
	f->has[SP_FEATURE_KALLSYMS] = has_kallsyms();
	f->has[SP_FEATURE_CODE_FAULTS] = sp_bpf_sees_code_faults(bpf);
	return r;
}

static int print(const struct findings *f)
{
	struct sp_table *table = sp_table_new();
	struct utsname u;
	int r;

	if (!table)
		return -ENOMEM;
	sp_table_column(table, "FEATURE", SP_TABLE_LEFT);
	sp_table_column(table, "HERE", SP_TABLE_LEFT);
	sp_table_column(table, "SO", SP_TABLE_LEFT);
	for (unsigned i = 0; i < SP_FEATURE_MAX; i++) {
		sp_table_cell(table, "%s", sp_feature_name(i));
		sp_table_cell(table, "%s", f->has[i] ? "yes" : "no");
		sp_table_cell(table, "%s%s%s%s", f->has[i] ? texts[i].present : texts[i].missing,
			      f->remark[i][0] ? " (" : "", f->remark[i],
			      f->remark[i][0] ? ")" : "");
	}
	r = sp_table_print(table, stdout);
	sp_table_free(table);
	if (r == 0 && uname(&u) == 0)
		printf("\nPrograms can be recorded here: %s %s, %s.\n", u.sysname, u.release,
		       u.machine);
	return r;
}

int sp_features_check(void)
{
	struct sp_bpf_options options = {
		.call_ring_bytes = 256u << 10,
		.sample_ring_bytes = 512u << 10,
		.control_ring_bytes = 256u << 10,
		.max_sites = 64,
		.stacks = SP_STACKS_EH,
	};
	struct sp_bpf *bpf = NULL;
	struct findings f = {0};
	int r = sp_check_can_record();

	if (r == 0)
		r = sp_bpf_new(&options, &bpf);
	if (r == 0)
		r = find_all(&f, bpf);
	sp_bpf_free(bpf);
	if (r == 0)
		r = print(&f);
	return r < 0;
}
