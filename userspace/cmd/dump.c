/* SPDX-License-Identifier: BSD-2-Clause
 *
 * dump.c - sp-report dump: every record of a file, of any format.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/codec.h"
#include "formats/profile_guard.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/units.h"
#include "userspace/cmd/command.h"
#include "userspace/cmd/dump.h"

SP_DEFINE_CLEANUP(struct sp_profile *, sp_profile_free);

enum key {
	KEY_SECTION = 256,
	KEY_LIMIT,
	KEY_JSON,
};

static const struct sp_option options[] = {
	{"section", KEY_SECTION, "LIST",
	 "only these, with commas. Profiles: file, metadata, meta,\n"
	 "regions, rows, calls, event_metadata, samples, threads,\n"
	 "tasks, sites, modules, processes, losses, cut_calls,\n"
	 "clocks, rank_facts, kernel_symbols, perf_events,\n"
	 "line_profiles, lines, likwid, likwid_events,\n"
	 "likwid_metrics, likwid_environment. Journals: file,\n"
	 "schema, events (or single ones by name: call, sample,\n"
	 "task …), state"},
	{"limit", KEY_LIMIT, "N", "at most N records of each section"},
	{"json", KEY_JSON, NULL, "print JSON: one object with a list for each section"},
	{0},
};

static const struct sp_cli cli = {
	.program = "sp-report dump",
	.usage = "[OPTION]… FILE",
	.about = "Prints every record of a file: .h5, .spt, .sps, JSON profile or journal. As text "
		 "each\n"
		 "is one line of KEY=VALUE. Times are ns, '-' is what the file does not say.",
	.options = options,
	.flags = SP_CLI_PERMUTE,
};

/* Besides the events of journals. */
static const char *const known_sections[] = {
	"file",	      "metadata",      "meta",		 "regions",
	"rows",	      "calls",	       "event_metadata", "samples",
	"threads",    "tasks",	       "sites",		 "modules",
	"processes",  "losses",	       "cut_calls",	 "clocks",
	"rank_facts", "perf_events",   "lines",		 "line_profiles",
	"likwid",     "likwid_events", "likwid_metrics", "likwid_environment",
	"schema",     "events",	       "state",		 "kernel_symbols",
};

/* All names that --section takes, ended with NULL; to free(). */
static const char **all_sections(void)
{
	size_t n = 0;
	const char **all = calloc(sp_array_size(known_sections) + SP_EV_MAX + 1, sizeof(*all));

	for (; all && n < sp_array_size(known_sections); n++)
		all[n] = known_sections[n];
	for (size_t i = 0; all && sp_event_at(i); i++)
		all[n++] = sp_event_at(i)->name;
	return all;
}

static int check_sections(const char *list)
{
	sp_cleanup(sp_freep) char *words = strdup(list);
	sp_cleanup(sp_freep) const char **all = all_sections();
	char *rest = words;

	if (!words || !all) {
		sp_log_error("out of memory");
		return 1;
	}
	for (char *word; (word = strsep(&rest, ","));) {
		bool known = false;
		const char *near;

		for (size_t i = 0; all[i]; i++)
			known |= !strcmp(all[i], word);
		if (known)
			continue;
		near = sp_cli_nearest(word, all);
		if (near)
			return sp_cli_usage_error(&cli, "'%s' is no section; did you mean '%s'?",
						  word, near);
		return sp_cli_usage_error(&cli, "'%s' is no section", word);
	}
	return -1;
}

static int show(struct sp_dump *dump, const char *path)
{
	sp_cleanup(sp_profile_freep) struct sp_profile *profile = NULL;
	struct sp_error error = {0};
	enum sp_format format;
	int r = sp_format_detect(path, &format, &error);

	if (r == 0 && format != SP_FORMAT_JOURNAL)
		r = sp_profile_open_guarded(path, NULL, &profile, &error);
	if (r == 0)
		r = profile ? sp_dump_profile(dump, profile, &error)
			    : sp_dump_journal(dump, path, &error);
	if (r == 0)
		return 0;
	fflush(dump->out);
	sp_log_error("%s: %s", path, error.text);
	if (r == -EISDIR)
		sp_log_hint("Name a file in it; sp-report info %s tells what is there.", path);
	return 1;
}

int sp_cmd_dump(int argc, char **argv)
{
	struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv);
	struct sp_dump dump = {.out = stdout, .limit = UINT64_MAX};
	const char *arg, *path = NULL;
	int key, r;

	while ((key = sp_cli_next(&parser, &arg)) > 0) {
		switch (key) {
		case KEY_SECTION:
			r = check_sections(arg);
			if (r >= 0)
				return r;
			dump.sections = arg;
			break;
		case KEY_LIMIT:
			if (sp_parse_count(arg, 0, UINT64_MAX, &dump.limit) < 0)
				return sp_cli_usage_error(&cli, "'%s' is no number of records",
							  arg);
			break;
		case KEY_JSON:
			dump.as_json = true;
			break;
		case SP_CLI_OPERAND:
			if (path)
				return sp_cli_usage_error(
					&cli, "one file at a time; '%s' is one too many", arg);
			path = arg;
			break;
		}
	}
	if (key < 0)
		return sp_cli_status(key);
	if (!path)
		return sp_cli_usage_error(&cli, "no file is given");
	/* Whoever reads it may have seen enough: no reason for a word. */
	signal(SIGPIPE, SIG_DFL);
	return show(&dump, path);
}
