/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_worker.c - the worker: looks up, sends messages, dies alone.
 */
#include "userspace/analysis/symbol_worker.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/analysis/debug_info.h"
#include "userspace/analysis/symbol_sender.h"
#include "userspace/base/confine.h"

/* ---- the worker's end ---- */

/* Of a process that ends with its work: so that nobody takes this for a leak. */
static volatile struct {
	struct sp_symbol_sender *sender;
	struct sp_debug_info *info;
} left_alone;

static int send_status(struct sp_symbol_sender *sender, enum sp_symbols_status status,
		       const char *reason)
{
	uint32_t number = status;

	return sp_sender_message(sender, SP_WORKER_STATUS, &number, sizeof(number), reason,
				 strlen(reason));
}

static enum sp_symbols_status status_of(int code)
{
	return code == -ESTALE	  ? SP_SYMBOLS_CHANGED
	       : code == -ENOEXEC ? SP_SYMBOLS_DAMAGED
				  : SP_SYMBOLS_MISSING;
}

/* "that of the first file; FILE: that of another". */
static void add_reason(char reason[SP_DEBUG_REASON], const char *path, const char *why, bool first)
{
	size_t used = strlen(reason), room = SP_DEBUG_REASON - used;
	int n;

	if (first)
		n = snprintf(reason + used, room, "%s", why);
	else
		n = snprintf(reason + used, room, "%s%s: %s", used ? "; " : "", path, why);
	if (n < 0)
		reason[used] = '\0';
}

/* The file to use, NULL if there is none; then, and where a file was passed over, *ret_code and
 * @reason say why. */
static int choose_file(const struct sp_symbol_job *job, struct sp_debug_info **ret_info,
		       int *ret_code, char reason[SP_DEBUG_REASON])
{
	struct sp_debug_info *first = NULL, *info;
	const char *debug_file;
	char why[SP_DEBUG_REASON];

	*ret_code = 0;
	for (size_t i = 0; i < job->n_paths; i++) {
		int r = sp_debug_info_open(job->paths[i], job->build_id, job->debug_path,
					   &job->share, &info, why);

		if (r == -ENOMEM) {
			sp_debug_info_free(first);
			return r;
		}
		if (r < 0) {
			add_reason(reason, job->paths[i], why, i == 0);
			*ret_code = *ret_code ? *ret_code : r;
		} else if (sp_debug_info_has_lines(info, &debug_file)) {
			sp_debug_info_free(first);
			*ret_info = info;
			return 0;
		} else if (first) {
			sp_debug_info_free(info);
		} else {
			first = info;
		}
	}
	*ret_info = first;
	return 0;
}

static void say_lost(const struct sp_debug_info *info, char reason[SP_DEBUG_REASON])
{
	size_t lost = sp_debug_info_n_lost(info);
	const char *common = sp_debug_info_lost_common(info);
	const char *refused = sp_debug_info_refused(info, reason);

	if (!refused)
		reason[0] = '\0';
	else if (refused != reason)
		snprintf(reason, SP_DEBUG_REASON, "%s", refused);
	if (common)
		snprintf(
			reason, SP_DEBUG_REASON,
			"%.200s, where dwz put what it has in common with others, cannot be found, "
			"so some of its names are not known",
			common);
	if (lost)
		snprintf(reason, SP_DEBUG_REASON,
			 "%zu file%s of split debug information (.dwo, .dwp) cannot be found, so "
			 "its inlined calls are not known",
			 lost, lost == 1 ? "" : "s");
}

static int work(struct sp_symbol_sender *sender, const struct sp_symbol_job *job, bool dying)
{
	struct sp_debug_info *info = NULL;
	char reason[SP_DEBUG_REASON] = "";
	const char *debug_file = NULL;
	int code, r = choose_file(job, &info, &code, reason);

	if (r < 0)
		return r;
	if (!info) {
		r = send_status(sender, status_of(code), reason);
	} else {
		bool lines = sp_debug_info_has_lines(info, &debug_file);

		if (lines || !*reason)
			say_lost(info, reason);
		r = send_status(sender, lines ? SP_SYMBOLS_LINES : SP_SYMBOLS_NAMES, reason);
		if (r == 0 && debug_file)
			r = sp_sender_message(sender, SP_WORKER_DEBUG_FILE, debug_file,
					      strnlen(debug_file, SP_WORKER_MAX_TEXT), NULL, 0);
		if (r == 0)
			r = sp_sender_flush(sender); /* known even if the rest goes wrong */
		if (r == 0)
			r = sp_debug_info_find(info, job->addresses, job->n, &job->share,
					       sp_sender_place, sender);
	}
	if (r == 0)
		r = sp_sender_flush(sender); /* places, before the end */
	if (r == 0)
		r = sp_sender_message(sender, SP_WORKER_END, NULL, 0, NULL, 0);
	if (r == 0)
		r = sp_sender_flush(sender);
	if (dying)
		left_alone.info = info;
	else
		sp_debug_info_free(info);
	return r;
}

/* @dying: the process ends with the work, and its memory need not be taken apart. */
static int run(const struct sp_symbol_job *job, sp_sender_write write, void *context, bool dying)
{
	struct sp_symbol_sender *sender;
	int r = sp_sender_new(write, context, job->raw_names, job->keep_clones, &sender);

	if (r < 0)
		return r;
	r = work(sender, job, dying);
	if (dying)
		left_alone.sender = sender;
	else
		sp_sender_free(sender);
	return r;
}

/* ---- in a child ---- */

static int write_pipe(void *context, const void *bytes, size_t size)
{
	int fd = *(int *)context;

	while (size) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes = (const char *)bytes + n;
		size -= (size_t)n;
	}
	return 0;
}

/* For root: on whose behalf files are read that the owner of the module made up, so that they can
 * lead to nothing that he could not read himself. Of several owners, nobody's. */
static struct sp_user owner_of(const struct sp_symbol_job *job)
{
	struct sp_user user = {0};

	for (size_t i = 0; i < job->n_paths; i++) {
		struct stat status;

		if (stat(job->paths[i], &status) < 0)
			continue;
		if (user.known && user.uid != status.st_uid)
			return (struct sp_user){0};
		user = (struct sp_user){.uid = status.st_uid, .gid = status.st_gid, .known = true};
	}
	/* Root keeps its own groups, and to ask takes longer than many a file. */
	if (geteuid() == 0 && user.uid != 0)
		sp_user_find_groups(&user);
	return user;
}

static int run_in_child(const void *context, int fd, pid_t parent)
{
	const struct sp_symbol_job *job = context;
	struct sp_user user;

	/* Before a file is asked for that may not answer: nobody waits for what this process has
	 * open. */
	sp_confine_mute();
	user = owner_of(job);
	sp_confine_child(parent, job->at_once, &user);
	/* Units come one after the other, and need the same memory again. */
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	mallopt(M_TOP_PAD, 1 << 20);
	return run(job, write_pipe, &fd, true) == 0 ? 0 : 1;
}

int sp_worker_start(const struct sp_symbol_job *job, struct sp_child *ret_child)
{
	return sp_child_start(run_in_child, job, ret_child);
}

/* ---- in this process ---- */

struct here {
	struct sp_worker_reader *reader;
	const struct sp_symbol_sink *sink;
};

static int write_here(void *context, const void *bytes, size_t size)
{
	struct here *here = context;

	return sp_worker_feed(here->reader, bytes, size, here->sink);
}

int sp_worker_run_here(const struct sp_symbol_job *job, struct sp_worker_reader *reader,
		       const struct sp_symbol_sink *sink)
{
	struct here here = {reader, sink};

	unsetenv("DEBUGINFOD_URLS");
	return run(job, write_here, &here, false);
}
