/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks_load.c - see stacks_load.h.
 */
#include "userspace/cmd/stacks_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/stack_end.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"
#include "userspace/base/units.h"
#include "userspace/cmd/sample_losses.h"
#include "userspace/cmd/sample_notes.h"

#define ENOUGH_COMPLETE 0.99 /* of the stacks: fewer are worth a note */

void sp_stacks_load_free(struct sp_stacks_load *load)
{
	sp_calltree_free(load->tree);
	sp_stacks_free(load->stacks);
	sp_sample_files_done(&load->files);
	sp_symbols_free(load->symbols);
	sp_symbol_choice_done(&load->symbol_choice);
	free(load->ranks);
	free(load->regions);
	*load = (struct sp_stacks_load){0};
}

int sp_stacks_load_want(struct sp_stacks_load *load, const char *region)
{
	const char **added = sp_array_add(&load->regions, &load->n_regions, &load->regions_room);

	if (!added)
		return -ENOMEM;
	*added = region;
	return 0;
}

/* ---- reading ---- */

static void show_reading(void *context, uint64_t done, uint64_t total)
{
	(void)context;
	if (done < total)
		sp_log_status("reading samples: %s of %s", sp_show_count(done).text,
			      sp_show_count(total).text);
}

static void show_resolving(void *context, size_t done, size_t total)
{
	(void)context;
	if (done < total)
		sp_log_status("reading debug information: %s of %s addresses",
			      sp_show_count(done).text, sp_show_count(total).text);
}

static int say(int code, const char *what)
{
	sp_log_error("cannot %s: %s", what, strerrordesc_np(-code));
	return -1;
}

int sp_stacks_load_read(struct sp_stacks_load *load, char *const *paths, size_t n)
{
	struct sp_stacks_options options = {.progress = show_reading};
	struct sp_error error = {0};
	int r;

	sp_sample_files_init(&load->files);
	load->files.ranks = load->ranks;
	load->files.n_ranks = load->n_ranks;
	load->symbol_options.progress = show_resolving;
	sp_symbol_choice_apply(&load->symbol_choice, &load->symbol_options);
	r = sp_symbols_new(&load->symbol_options, &load->symbols);
	if (r == 0)
		r = sp_stacks_new(&options, load->symbols, &load->stacks);
	if (r < 0)
		return say(r, "begin");
	for (size_t i = 0; i < n && r == 0; i++)
		r = sp_sample_files_add(&load->files, paths[i], &error);
	if (r == 0)
		r = sp_stacks_read(load->stacks, &load->files, &error);
	sp_log_status_clear();
	if (r < 0) {
		sp_sample_say_failure(&load->files, paths[0], &error);
		return -1;
	}
	if (sp_sample_check_any(&load->files, paths[0]) < 0)
		return -1;
	r = sp_stacks_resolve(load->stacks);
	sp_log_status_clear();
	return r < 0 ? say(r, "look up the functions") : 0;
}

/* ---- the tree ---- */

static bool knows_region(const struct sp_stacks *stacks, const char *name)
{
	for (uint32_t i = 0; i < sp_stacks_n_regions(stacks); i++)
		if (!strcmp(sp_stacks_region_name(stacks, i), name))
			return true;
	return !strcmp(name, SP_CALLTREE_NO_REGION);
}

static void say_unknown_region(const struct sp_stacks *stacks, const char *name)
{
	uint32_t n = sp_stacks_n_regions(stacks);
	sp_cleanup(sp_freep) const char **names = calloc((size_t)n + 1, sizeof(*names));

	for (uint32_t i = 0; names && i < n; i++)
		names[i] = sp_stacks_region_name(stacks, i);
	if (names)
		sp_sample_say_no_region(name, names, n);
}

int sp_stacks_load_tree(struct sp_stacks_load *load, struct sp_calltree_options *options)
{
	int r;

	for (size_t i = 0; i < load->n_regions; i++)
		if (!knows_region(load->stacks, load->regions[i])) {
			if (!sp_sample_say_region_lost(&load->files, load->regions[i]))
				say_unknown_region(load->stacks, load->regions[i]);
			return -1;
		}
	load->by_region = options->regions || load->n_regions;
	options->only = load->regions;
	options->n_only = load->n_regions;
	r = sp_calltree_new(load->stacks, options, &load->tree);
	if (r < 0)
		return say(r, "make the tree");
	if (!sp_calltree_node(load->tree, 0)->samples) {
		if (sp_sample_say_region_lost(&load->files, load->regions[0]))
			return -1;
		sp_log_error("no sample fell into region \"%s\", though it was recorded",
			     load->regions[0]);
		sp_log_hint("It was too short for the rate (-F of sp-trace): sp-report summary has "
			    "its calls.");
		return -1;
	}
	return 0;
}

/* ---- notes ---- */

static uint64_t module_samples(const void *data, uint32_t module)
{
	return sp_stacks_module_samples(data, module);
}

static uint64_t module_nameless(const void *data, uint32_t module)
{
	return sp_stacks_module_nameless(data, module);
}

static void note_regions(const struct sp_stacks_load *load, FILE *out)
{
	uint64_t samples = sp_stacks_regions_cut(load->stacks);

	if (samples && load->by_region)
		sp_sample_note(out,
			       "%s sample%s: the regions around theirs are not known, since calls "
			       "were lost",
			       sp_show_count(samples).text, sp_plural(samples));
}

/* How many stacks lack callers, and the usual reason. */
static void note_stacks(const struct sp_stacks_load *load, FILE *out)
{
	uint64_t whole = sp_stacks_ends(load->stacks, SP_STACK_COMPLETE), cut = 0, most = 0;
	uint64_t pointers = sp_stacks_ends(load->stacks, SP_STACK_FRAME_POINTERS);
	uint64_t leaf = sp_stacks_ends(load->stacks, SP_STACK_LEAF);
	uint64_t left_out = sp_stacks_ends(load->stacks, SP_STACKS_LEFT_OUT);
	unsigned reason = SP_STACK_UNKNOWN;

	for (unsigned end = 0; end < SP_STACK_END_MAX; end++) {
		uint64_t samples = sp_stacks_ends(load->stacks, end);

		if (!sp_stack_end_is_short(end) || end == SP_STACK_FRAME_POINTERS ||
		    end == SP_STACK_BUSY) /* there was no user stack */
			continue;
		cut += samples;
		if (samples > most) {
			most = samples;
			reason = end;
		}
	}
	if (cut && (double)whole < ENOUGH_COMPLETE * (double)(whole + pointers + cut)) {
		const char *help = sp_stack_end_help(reason);

		sp_sample_note(out, "%s of the stacks lack callers; %s of them %s%s%s",
			       sp_show_share((double)cut / (double)(whole + pointers + cut)).text,
			       sp_show_share((double)most / (double)cut).text,
			       sp_stack_end_text(reason), *help ? ": " : "", help);
	}
	if (pointers)
		sp_sample_note(out, "%s of the stacks were %s",
			       sp_show_share((double)pointers / (double)load->files.samples).text,
			       sp_stack_end_text(SP_STACK_FRAME_POINTERS));
	if (leaf && leaf == load->files.samples)
		sp_sample_note(out, "no callers were recorded (--stacks leaf or none): record "
				    "with --stacks eh for whole stacks");
	if (left_out)
		sp_sample_note(out,
			       "the callers of %s sample%s are left out: there are too many "
			       "different stacks for the memory",
			       sp_show_count(left_out).text, sp_plural(left_out));
}

/* Names are looked up anew; lines were, too, when the recording was made, and are kept. sp-report
 * lines shows these where they are more than can be found now. */
static void note_stored_lines(const struct sp_stacks_load *load,
			      const struct sp_sample_modules_note *modules, FILE *out)
{
	for (uint32_t i = 0; i < sp_symbols_n_modules(modules->symbols); i++) {
		const struct sp_symbols_module *module = sp_symbols_module(modules->symbols, i);

		if ((module->status != SP_SYMBOLS_CHANGED &&
		     module->status != SP_SYMBOLS_MISSING) ||
		    !sp_sample_module_samples(modules, i))
			continue;
		if (sp_sample_files_stored_lines(modules->files) +
			    sp_stacks_lineless(load->stacks) >
		    modules->files->samples)
			sp_sample_note(out, "sp-report lines has the functions and lines of these "
					    "samples, without callers, as they were found when the "
					    "recording was made");
		return;
	}
}

void sp_stacks_load_notes(const struct sp_stacks_load *load, FILE *out)
{
	struct sp_sample_modules_note modules = {
		.files = &load->files,
		.symbols = load->symbols,
		.samples_of = module_samples,
		.data = load->stacks,
		.lacking = "names",
		.lacking_of = module_nameless,
		.shown = "[FILE]",
	};

	sp_sample_note_losses(out, &load->files);
	sp_sample_note_outside(out, &load->files);
	sp_sample_note_other(out, &load->files, load->command);
	note_regions(load, out);
	note_stacks(load, out);
	sp_sample_note_modules(out, &modules);
	note_stored_lines(load, &modules, out);
}

void sp_stacks_load_warn(const struct sp_stacks_load *load)
{
	if (sp_log_level() > SP_LOG_QUIET)
		sp_stacks_load_notes(load, stderr);
}
