/* SPDX-License-Identifier: BSD-2-Clause
 *
 * session_symbols.c - the end of a recording, as far as symbols are concerned: what only this
 * machine knows, and only now, is written down.
 */
#include <errno.h>

#include "loader/session_state.h"
#include "userspace/base/log.h"
#include "userspace/base/units.h"

#define MOST_SAID 5 /* files that are not in the archive */

/* ---- the kernel ---- */

static void write_kernel_symbol(void *recorder, uint64_t address, uint64_t end, const char *name,
				const char *module)
{
	struct sp_ev_kernel_symbol ev = {
		.head = {.type = SP_EV_kernel_symbol}, .address = address, .end = end};

	sp_recorder_add_text(recorder, &ev.head, name, module, NULL);
}

/* Before anything of ours is unloaded: programs of BPF are functions of the kernel, too. */
static void name_kernel_functions(struct sp_session *s)
{
	struct sp_kallsyms_counts counts;
	struct sp_error err = {0};

	if (sp_kallsyms_resolve(s->kallsyms, write_kernel_symbol, s->recorder, &counts, &err) < 0) {
		sp_log_warning("functions of the kernel have no names: %s", err.text);
		return;
	}
	sp_log_verbose("kernel: %zu of %zu addresses have a name%s", counts.named, counts.addresses,
		       counts.dropped ? "; more were not looked up" : "");
}

/* ---- files ---- */

struct archiving {
	struct sp_session *session;
	size_t said;
};

static void write_archived(void *arg, uint32_t image, uint64_t size, int error, const char *path,
			   const char *name, const char *why)
{
	struct archiving *archiving = arg;
	struct sp_ev_archived ev = {
		.head = {.type = SP_EV_archived}, .size = size, .image = image, .error = error};

	sp_recorder_add_text(archiving->session->recorder, &ev.head, path, NULL);
	if (error && archiving->said++ < MOST_SAID)
		sp_log_warning("%s is not in the archive: %s", name, why);
}

/* A further Ctrl-C ends it, and so does the disk that is as full as it may get. */
static int go_on(void *arg)
{
	struct sp_session *s = ((struct archiving *)arg)->session;

	if (sp_session_take_signals(s))
		return -EINTR;
	return sp_output_disk_use(&s->output, sp_recorder_counts(s->recorder).in_hand) >=
			       s->options->max_disk
		       ? -ENOSPC
		       : 0;
}

static void archive_files(struct sp_session *s)
{
	static const struct sp_archive_ops ops = {write_archived, go_on};
	struct archiving archiving = {.session = s};
	struct sp_archive_counts counts;

	sp_archive_write(s->archive, &ops, &archiving, &counts);
	if (archiving.said > MOST_SAID)
		sp_log_hint("and %zu more", archiving.said - MOST_SAID);
	sp_log_info("archive: %zu file%s, %s, in %s/" SP_ARCHIVE_FOLDER, counts.copied,
		    sp_plural(counts.copied), sp_show_size((double)counts.bytes).text,
		    s->output.directory);
}

void sp_session_write_for_symbols(struct sp_session *s)
{
	if (s->kallsyms)
		name_kernel_functions(s);
	if (s->archive)
		archive_files(s);
}
