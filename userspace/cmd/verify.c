/* SPDX-License-Identifier: BSD-2-Clause
 *
 * verify.c - sp-report verify: whether files are whole and do not contradict themselves.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/profile_guard.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/json.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"
#include "userspace/cmd/command.h"
#include "userspace/cmd/verify.h"

SP_DEFINE_CLEANUP(struct sp_profile *, sp_profile_free);

enum key {
	KEY_JSON = 256,
	KEY_STACKS,
	KEY_LEAST,
};

#define LEAST_SHARE 0.995 /* of stacks that are identical */

static const struct sp_option options[] = {
	{"stacks", KEY_STACKS, NULL,
	 "of journals recorded with --stacks dwarf: compare each stack with\n"
	 "the one that libdw finds in the copy of the same moment"},
	{"least", KEY_LEAST, "PERCENT", "of these stacks that must be identical (99.5)"},
	{"quiet", 'q', NULL, "only errors and warnings"},
	{"json", KEY_JSON, NULL, "print JSON"},
	{0},
};

static const struct sp_cli cli = {
	.program = "sp-report verify",
	.usage = "[OPTION]… FILE|DIR…",
	.about = "Reads files to their last byte, and says of each whether it is good: .h5, .spt, "
		 ".sps,\n"
		 "JSON profiles and journals. DIR stands for such files in it and in its folders.",
	.more = "Exit status: 0 if all are good and whole, 1 if one is bad, 2 for wrong usage, 3 "
		"if all\n"
		"are good, but one says that events were lost when it was recorded.",
	.options = options,
	.flags = SP_CLI_PERMUTE,
};

struct request {
	char **paths;
	size_t n, room;
	bool quiet, as_json, stacks;
	double least;
	struct sp_json json;
	uint64_t bad, incomplete, journals;
};

#define EXIT_INCOMPLETE 3

/* ---- which files ---- */

static int add_path(struct request *request, const char *path)
{
	char **slot = sp_array_add(&request->paths, &request->n, &request->room);

	if (slot)
		*slot = strdup(path);
	return slot && *slot ? 0 : -ENOMEM;
}

static int is_ours(const struct dirent *entry)
{
	static const char *const suffixes[] = {".h5", ".spt", ".sps", ".spj", ".json", ".json.gz"};
	size_t n = strlen(entry->d_name);

	if (entry->d_name[0] == '.')
		return 0;
	for (size_t i = 0; i < sp_array_size(suffixes); i++) {
		size_t m = strlen(suffixes[i]);

		if (n > m && !strcmp(entry->d_name + n - m, suffixes[i]))
			return 1;
	}
	return entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
}

/* Folders are entered up to a depth that no recording has; links to folders are not. */
static int add_directory(struct request *request, const char *directory, unsigned depth)
{
	struct dirent **entries = NULL;
	int n = scandir(directory, &entries, is_ours, alphasort), r = 0;

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		sp_cleanup(sp_freep) char *path = NULL;
		struct stat st;

		if (r == 0 && asprintf(&path, "%s/%s", directory, entries[i]->d_name) < 0) {
			path = NULL;
			r = -ENOMEM;
		}
		if (r == 0 && lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
			r = depth < 8 ? add_directory(request, path, depth + 1) : 0;
		else if (r == 0)
			r = add_path(request, path);
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int add_operand(struct request *request, const char *given)
{
	sp_cleanup(sp_freep) char *path = strdup(given);
	size_t before = request->n;
	struct stat st;
	int r;

	if (!path)
		return -ENOMEM;
	if (stat(given, &st) < 0 || !S_ISDIR(st.st_mode))
		return add_path(request, given); /* what is wrong with it is told in its turn */
	while (strlen(path) > 1 && path[strlen(path) - 1] == '/')
		path[strlen(path) - 1] = 0;
	r = add_directory(request, path, 0);
	if (r == 0 && request->n == before)
		sp_log_error("%s: has no file to verify: no .h5, .spt, .sps, .json or .spj", path);
	else if (r < 0 && r != -ENOMEM)
		sp_log_error("%s: cannot be listed: %s", path, strerror(-r));
	request->bad += r < 0 || request->n == before;
	return r == -ENOMEM ? r : 0;
}

/* ---- what is said ---- */

static void append(FILE *out, const char **between, uint64_t n, const char *one, const char *many)
{
	if (!n)
		return;
	fprintf(out, "%s%s %s", *between, sp_show_count(n).text, n == 1 ? one : many);
	*between = ", ";
}

/* "hdf5 version 3: 2 regions, 280 calls, …"; to free(). */
static char *what_was_checked(const struct sp_verdict *verdict)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *between = ": ";

	if (!out)
		return NULL;
	fprintf(out, "%s %s %d", sp_format_name(verdict->format),
		verdict->format == SP_FORMAT_HDF5 ? "schema" : "version", verdict->version);
	append(out, &between, verdict->regions, "region", "regions");
	append(out, &between, verdict->calls, "call", "calls");
	append(out, &between, verdict->samples, "sample", "samples");
	append(out, &between, verdict->events, "event", "events");
	append(out, &between, verdict->blocks, "block", "blocks");
	append(out, &between, verdict->objects, "object", "objects");
	fprintf(out, "%s%s", between, sp_show_size((double)verdict->bytes).text);
	if (verdict->dangling)
		fprintf(out, "; parents of %s call%s are not in the file",
			sp_show_count(verdict->dangling).text, sp_plural(verdict->dangling));
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static void write_json(struct sp_json *json, const char *path, const struct sp_verdict *verdict)
{
	bool known = verdict->format != SP_FORMAT_NONE;

	sp_json_open_object(json, NULL);
	sp_json_text(json, "path", path);
	sp_json_bool(json, "ok", !verdict->error.code);
	sp_json_unsigned(json, "lost", verdict->lost);
	sp_json_text(json, "format", known ? sp_format_name(verdict->format) : NULL);
	if (verdict->error.code) {
		sp_json_open_object(json, "error");
		sp_json_signed(json, "errno", -verdict->error.code);
		sp_json_text(json, "name", strerrorname_np(-verdict->error.code));
		sp_json_unsigned(json, "offset", verdict->error.offset);
		sp_json_text(json, "text", verdict->error.text);
		sp_json_close_object(json);
	}
	sp_json_open_array(json, "warnings");
	for (int i = 1; i < SP_FIND_N; i++) {
		sp_cleanup(sp_freep) char *text = sp_verdict_tell(verdict, (enum sp_finding)i);

		if (!verdict->findings[i].count)
			continue;
		sp_json_open_object(json, NULL);
		sp_json_unsigned(json, "count", verdict->findings[i].count);
		sp_json_text(json, "text", text);
		sp_json_close_object(json);
	}
	sp_json_close_array(json);
	if (verdict->stacks && verdict->stacks->unwind)
		sp_verify_stacks_json(json, verdict->stacks);
	sp_json_open_object(json, "checked");
	sp_json_signed(json, "version", verdict->version);
	sp_json_unsigned(json, "regions", verdict->regions);
	sp_json_unsigned(json, "rows", verdict->rows);
	sp_json_unsigned(json, "calls", verdict->calls);
	sp_json_unsigned(json, "samples", verdict->samples);
	sp_json_unsigned(json, "frames", verdict->frames);
	sp_json_unsigned(json, "events", verdict->events);
	sp_json_unsigned(json, "blocks", verdict->blocks);
	sp_json_unsigned(json, "objects", verdict->objects);
	sp_json_unsigned(json, "attributes", verdict->attributes);
	sp_json_unsigned(json, "bytes", verdict->bytes);
	sp_json_unsigned(json, "dangling_parents", verdict->dangling);
	sp_json_close_object(json);
	sp_json_close_object(json);
}

static void say(const struct request *request, const char *path, const struct sp_verdict *verdict)
{
	sp_cleanup(sp_freep) char *checked = what_was_checked(verdict);
	unsigned warnings = 0;

	sp_log_status_clear();
	fflush(stdout); /* lines of both streams stand in the order of the files */
	for (int i = 1; i < SP_FIND_N; i++) {
		sp_cleanup(sp_freep) char *text = NULL;

		if (!verdict->findings[i].count)
			continue;
		text = sp_verdict_tell(verdict, (enum sp_finding)i);
		sp_log_warning("%s: %s", path, text ? text : "(out of memory)");
		warnings++;
	}
	if (verdict->error.code)
		sp_log_error("%s: %s", path, verdict->error.text);
	if (verdict->too_different)
		sp_log_hint(
			"The differences are listed with their places. A short run has few stacks, "
			"so a "
			"handful weighs much: record a longer one, or ask for less with --least "
			"PERCENT.");
	if (request->quiet || request->as_json)
		return;
	if (verdict->error.code && verdict->stacks && verdict->stacks->unwind)
		sp_verify_show_stacks(verdict->stacks);
	if (verdict->error.code)
		return;
	sp_text_print(stdout, path);
	printf(": ok");
	if (warnings)
		printf(", with %u warning%s", warnings, sp_plural(warnings));
	if (verdict->lost)
		printf(", but incomplete: %s event%s lost when it was recorded",
		       sp_show_count(verdict->lost).text, verdict->lost == 1 ? " was" : "s were");
	printf(" (%s)\n", checked ? checked : "");
	if (verdict->stacks)
		sp_verify_show_stacks(verdict->stacks);
}

/* ---- one by one ---- */

static int check(struct request *request, struct sp_verdict *verdict, const char *path)
{
	sp_cleanup(sp_profile_freep) struct sp_profile *profile = NULL;
	struct sp_error *error = &verdict->error;
	struct stat st;
	int r = sp_format_detect(path, &verdict->format, error);

	if (r < 0)
		return r;
	if (stat(path, &st) == 0)
		verdict->bytes = (uint64_t)st.st_size;
	if (verdict->format == SP_FORMAT_JOURNAL) {
		request->journals++;
		r = sp_verify_journal(verdict, path);
		return r < 0 || !request->stacks ? r
						 : sp_verify_stacks(verdict, path, request->least);
	}
	r = sp_profile_open_guarded(path, NULL, &profile, error);
	return r < 0 ? r : sp_verify_profile(verdict, profile);
}

static void verify(struct request *request, const char *path)
{
	struct sp_verdict verdict = {.path = path};
	int r = check(request, &verdict, path);

	if (r < 0 && !verdict.error.code)
		sp_error_set(&verdict.error, r, 0, "%s", strerror(-r));
	request->bad += r < 0;
	request->incomplete += r == 0 && verdict.lost;
	say(request, path, &verdict);
	if (request->as_json)
		write_json(&request->json, path, &verdict);
	if (verdict.stacks)
		sp_stack_compare_free(verdict.stacks);
	free(verdict.stacks);
}

static int run(struct request *request)
{
	if (request->as_json) {
		request->json.out = stdout;
		sp_json_open_object(&request->json, NULL);
		sp_json_open_array(&request->json, "files");
	}
	for (size_t i = 0; i < request->n; i++)
		verify(request, request->paths[i]);
	if (request->stacks && !request->journals) {
		fflush(stdout);
		sp_log_error("no stacks were compared: there is no journal among these files");
		sp_log_hint(
			"It has the copies: record with sp-trace --stacks dwarf --keep-journal");
		request->bad++;
	}
	if (request->as_json) {
		sp_json_close_array(&request->json);
		sp_json_bool(&request->json, "ok", !request->bad);
		sp_json_bool(&request->json, "complete", !request->bad && !request->incomplete);
		sp_json_close_object(&request->json);
		sp_json_end(&request->json);
	}
	return request->bad ? 1 : request->incomplete ? EXIT_INCOMPLETE : 0;
}

static int parse_percent(const char *text, double *ret_share)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0 && value <= 100))
		return -EINVAL;
	*ret_share = value / 100;
	return 0;
}

static int parse(int argc, char **argv, struct request *request)
{
	struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv);
	const char *arg;
	bool any = false;
	int key;

	while ((key = sp_cli_next(&parser, &arg)) > 0) {
		if (key == KEY_JSON) {
			request->as_json = true;
		} else if (key == 'q') {
			request->quiet = true;
		} else if (key == KEY_STACKS) {
			request->stacks = true;
		} else if (key == KEY_LEAST) {
			request->stacks = true;
			if (parse_percent(arg, &request->least) < 0)
				return sp_cli_usage_error(
					&cli, "--least takes a percentage, 0 to 100, not '%s'",
					arg);
		} else {
			any = true;
			if (add_operand(request, arg) < 0) {
				sp_log_error("out of memory");
				return 1;
			}
		}
	}
	if (key < 0)
		return sp_cli_status(key);
	return any ? -1 : sp_cli_usage_error(&cli, "no file or directory is given");
}

int sp_cmd_verify(int argc, char **argv)
{
	struct request request = {.least = LEAST_SHARE};
	int r = parse(argc, argv, &request);

	if (r < 0)
		r = run(&request);
	for (size_t i = 0; i < request.n; i++)
		free(request.paths[i]);
	free(request.paths);
	return r;
}
