/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_notes_modules.c - notes on modules whose samples lack names or lines.
 */
#include <stdlib.h>
#include <string.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"
#include "userspace/cmd/sample_notes.h"

#define WORTH_A_NOTE 0.005 /* of the samples */
#define MAX_LISTED 8	   /* modules in one note */

static bool changed_since(const struct sp_symbols_module *module,
			  const struct sp_sample_files *files)
{
	return !*module->build_id && files->written.tv_sec &&
	       module->changed.tv_sec > files->written.tv_sec;
}

/* What would have helped, if the file was out of reach already when it was recorded. */
static const char *remedy(const struct sp_symbols_module *module)
{
	if (module->place & SP_IMAGE_DELETED)
		return "; it was deleted while it ran: sp-trace --archive keeps a copy";
	if (module->place & SP_IMAGE_ELSEWHERE)
		return "; it was out of reach while it ran, as in a container: sp-trace --archive "
		       "keeps a copy";
	return module->status == SP_SYMBOLS_MISSING
		       ? ": put it back; sp-trace --archive keeps copies"
		       : "";
}

static void note_module(FILE *out, const struct sp_sample_modules_note *note,
			const struct sp_symbols_module *module, uint64_t samples)
{
	struct sp_shown share = sp_show_share((double)samples / (double)note->files->samples);

	switch (module->status) {
	case SP_SYMBOLS_CHANGED:
		sp_sample_note(out,
			       "%s is not the build that was recorded (%s), so its samples (%s) "
			       "have no %s: record again, or put the old build back%s",
			       module->path, module->reason, share.text, note->lacking,
			       remedy(module));
		break;
	case SP_SYMBOLS_MISSING:
		sp_sample_note(out, "%s cannot be read (%s), so its samples (%s) have no %s%s",
			       module->path, module->reason, share.text, note->lacking,
			       module->path[0] == '/'
				       ? remedy(module)
				       : ": its path is a relative one, so run sp-report in the "
					 "directory that the program was started in");
		break;
	case SP_SYMBOLS_DAMAGED:
		sp_sample_note(out, "%s: %s; its samples (%s) may lack %s", module->path,
			       module->reason, share.text, note->lacking);
		break;
	default:
		if (changed_since(module, note->files))
			sp_sample_note(out,
				       "%s was changed after the recording, which has no build-id "
				       "to compare: its %s (%s of the samples) may be wrong",
				       module->path, note->lacking, share.text);
	}
}

/* Samples of a module that is as it was recorded, and yet does not say what is wanted. */
static uint64_t count_lacking(const struct sp_sample_modules_note *note, uint32_t number)
{
	const struct sp_symbols_module *module = sp_symbols_module(note->symbols, number);

	if (module->path[0] == '[') /* no file */
		return 0;
	if (!note->lacking_of)
		return module->status == SP_SYMBOLS_NAMES ? note->samples_of(note->data, number)
							  : 0;
	return module->status == SP_SYMBOLS_NAMES || module->status == SP_SYMBOLS_LINES
		       ? note->lacking_of(note->data, number)
		       : 0;
}

struct lacking {
	uint32_t module;
	uint64_t samples;
};

static int by_samples(const void *a, const void *b)
{
	const struct lacking *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return (x->module > y->module) - (x->module < y->module);
}

/* One note for all modules without names or lines, and what helps. */
static void note_lacking(FILE *out, const struct sp_sample_modules_note *note)
{
	size_t n_modules = sp_symbols_n_modules(note->symbols), n = 0;
	sp_cleanup(sp_freep) struct lacking *all = calloc(n_modules + 1, sizeof(*all));
	sp_cleanup(sp_freep) char *list = NULL;
	size_t size;
	FILE *stream = open_memstream(&list, &size);

	for (uint32_t i = 0; all && i < n_modules; i++) {
		uint64_t samples = count_lacking(note, i);

		if ((double)samples >= WORTH_A_NOTE * (double)note->files->samples && samples)
			all[n++] = (struct lacking){i, samples};
	}
	if (n)
		qsort(all, n, sizeof(*all), by_samples);
	for (size_t i = 0; stream && i < n && i < MAX_LISTED; i++)
		fprintf(stream, "%s%s (%s of the samples)", i ? ", " : "",
			sp_base_name(sp_symbols_module(note->symbols, all[i].module)->path),
			sp_show_share((double)all[i].samples / (double)note->files->samples).text);
	if (stream && n > MAX_LISTED)
		fprintf(stream, " and %zu more", n - MAX_LISTED);
	if (stream && fclose(stream) == 0 && n)
		sp_sample_note(
			out,
			"no %s, shown as %s: %s. Build with -g what is yours, install the "
			"debug symbols of the rest (packages named -dbg, -dbgsym, -debuginfo; "
			"--debug-dir for other places), or let debuginfod find them "
			"(DEBUGINFOD_URLS)",
			note->lacking_of ? "symbols" : "debug information", note->shown, list);
}

/* Whether what is wrong with a module, though it could be read, is to be told: not where a handful
 * of samples has names alone. */
static bool has_trouble(const struct sp_sample_modules_note *note, uint32_t number)
{
	const struct sp_symbols_module *module = sp_symbols_module(note->symbols, number);
	uint64_t samples = *module->reason ? sp_sample_module_samples(note, number) : 0;

	if (!samples)
		return false;
	if (module->status == SP_SYMBOLS_LINES)
		return true;
	return module->status == SP_SYMBOLS_NAMES &&
	       (!strcmp(module->reason, SP_SYMBOLS_NO_ANSWER) ||
		(double)samples >= WORTH_A_NOTE * (double)note->files->samples);
}

/* The names of the modules with that reason, to free(); NULL: there are none. */
static char *list_by_reason(const struct sp_sample_modules_note *note, const char *reason)
{
	char *list = NULL;
	size_t size, n = 0;
	FILE *stream = open_memstream(&list, &size);

	for (uint32_t i = 0; stream && i < sp_symbols_n_modules(note->symbols); i++) {
		const struct sp_symbols_module *module = sp_symbols_module(note->symbols, i);

		if (strcmp(module->reason, reason) != 0 || !has_trouble(note, i))
			continue;
		if (n < MAX_LISTED)
			fprintf(stream, "%s%s", n ? ", " : "", sp_base_name(module->path));
		n++;
	}
	if (stream && n > MAX_LISTED)
		fprintf(stream, " and %zu more", n - MAX_LISTED);
	if (stream && fclose(stream) == 0 && n)
		return list;
	free(list);
	return NULL;
}

/* One note for all that servers were asked for in vain. */
static void note_no_answer(FILE *out, const struct sp_sample_modules_note *note)
{
	sp_cleanup(sp_freep) char *list = list_by_reason(note, SP_SYMBOLS_NO_ANSWER);

	if (list)
		sp_sample_note(
			out,
			"the servers of DEBUGINFOD_URLS did not answer within %u s, so debug "
			"information is missing for %s; --debuginfod-timeout waits longer, "
			"--no-debuginfod does not ask",
			sp_symbols_patience_s(note->symbols), list);
}

/* One note for all modules with the same trouble, at the first of them. */
static void note_trouble(FILE *out, const struct sp_sample_modules_note *note, uint32_t number)
{
	const char *reason = sp_symbols_module(note->symbols, number)->reason;
	sp_cleanup(sp_freep) char *list = NULL;

	if (!strcmp(reason, SP_SYMBOLS_NO_ANSWER) || !has_trouble(note, number))
		return;
	for (uint32_t i = 0; i < number; i++)
		if (!strcmp(sp_symbols_module(note->symbols, i)->reason, reason) &&
		    has_trouble(note, i))
			return;
	list = list_by_reason(note, reason);
	if (list)
		sp_sample_note(out, "%s: %s", list, reason);
}

uint64_t sp_sample_module_samples(const struct sp_sample_modules_note *note, uint32_t number)
{
	const struct sp_symbols_module *module = sp_symbols_module(note->symbols, number), *other;
	uint64_t all = note->samples_of(note->data, number), samples;

	if (!all || module->path[0] == '[') /* [vdso] and its like */
		return 0;
	for (uint32_t i = 0; i < sp_symbols_n_modules(note->symbols); i++) {
		other = sp_symbols_module(note->symbols, i);
		if (i == number || other->path != module->path || other->status != module->status)
			continue;
		samples = note->samples_of(note->data, i);
		if (i < number && samples)
			return 0;
		all += samples;
	}
	/* A stack can be in several of them. */
	return all < note->files->samples ? all : note->files->samples;
}

void sp_sample_note_modules(FILE *out, const struct sp_sample_modules_note *note)
{
	for (uint32_t i = 0; i < sp_symbols_n_modules(note->symbols); i++) {
		const struct sp_symbols_module *module = sp_symbols_module(note->symbols, i);
		uint64_t samples = sp_sample_module_samples(note, i);

		if (!samples)
			continue;
		note_module(out, note, module, samples);
		note_trouble(out, note, i);
	}
	note_no_answer(out, note);
	note_lacking(out, note);
}
