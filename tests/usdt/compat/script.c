/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * script.c - carries out a script of calls of scope_profiler.h and prints every answer.
 *
 * Compiled twice, with the header and library of scope-profiler and with ours; differential.py
 * compares what they print. So it uses nothing that only one of them has, and prints no time, no
 * path and no text of a message. Profiler 0 is the default one, used by its short functions.
 */
#include "scope_profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROFILERS 4
#define SCOPES 64

static sp_profiler *own[PROFILERS];
static sp_scope scopes[SCOPES];

static sp_profiler *profiler(int p)
{
	return p ? own[p] : sp_default_profiler();
}

static void renew(int p, const char *name)
{
	if (!p) {
		printf("%d", sp_init(name, 3));
		return;
	}
	sp_destroy(own[p]);
	own[p] = sp_create(strcmp(name, "-") ? name : NULL, 3);
	printf("%d", own[p] != NULL);
}

static void drop(int p)
{
	if (p) {
		sp_destroy(own[p]);
		own[p] = NULL;
	}
}

static void stats(int p, int region)
{
	sp_region_stats result = {-5, -5, -5, -5};
	int status = sp_profiler_get_region_stats(profiler(p), region, &result);

	/* The durations are not compared: only one of the two has any. */
	printf("%d %lld", status == SP_ERR_INACTIVE, (long long)result.calls);
	printf(" %d", sp_profiler_get_region_stats(profiler(p), region, NULL));
}

static void name(int p, int region)
{
	const char *text = sp_profiler_region_name(profiler(p), region);

	printf("%s", text ? text : "(null)");
}

static void format(int p, int value)
{
	sp_output_format wanted = (sp_output_format)value;

	printf("%d ",
	       p ? sp_profiler_set_output_format(own[p], wanted) : sp_set_output_format(wanted));
	printf("%d", p ? sp_profiler_output_format(own[p]) : sp_current_output_format());
}

/* Returns 0 for what is no operation. */
static int carry_out(const char *op, int p, int a, int b, const char *text, const char *file)
{
	if (!strcmp(op, "new"))
		renew(p, text);
	else if (!strcmp(op, "drop"))
		drop(p);
	else if (!strcmp(op, "region"))
		printf("%d", p ? sp_profiler_region(own[p], text) : sp_region(text));
	else if (!strcmp(op, "noname"))
		printf("%d", p ? sp_profiler_region(own[p], NULL) : sp_region(NULL));
	else if (!strcmp(op, "place"))
		printf("%d", p ? sp_profiler_region_at(own[p], text, file, a)
			       : sp_region_at(text, file, a));
	else if (!strcmp(op, "here"))
		printf("%d", p ? SP_PROFILER_REGION_AT(own[p], text) : SP_REGION_AT(text));
	else if (!strcmp(op, "begin"))
		p ? sp_profiler_begin(own[p], a) : sp_begin(a);
	else if (!strcmp(op, "end"))
		p ? sp_profiler_end(own[p], a) : sp_end(a);
	else if (!strcmp(op, "endlast"))
		printf("%d", sp_profiler_end_last(profiler(p)));
	else if (!strcmp(op, "scope"))
		printf("%d", (scopes[b] = sp_profiler_scope_begin(profiler(p), a)).slot < 0);
	else if (!strcmp(op, "leave"))
		printf("%d %d", sp_scope_end(&scopes[b]), scopes[b].slot < 0);
	else if (!strcmp(op, "noscope"))
		printf("%d", sp_scope_end(NULL));
	else if (!strcmp(op, "reset"))
		printf("%d", sp_profiler_reset(profiler(p)));
	else if (!strcmp(op, "flush"))
		printf("%d", sp_profiler_flush(profiler(p)));
	else if (!strcmp(op, "finalize"))
		printf("%d", p ? sp_profiler_finalize(own[p]) : sp_finalize());
	else if (!strcmp(op, "stats"))
		stats(p, a);
	else if (!strcmp(op, "name"))
		name(p, a);
	else if (!strcmp(op, "format"))
		format(p, a);
	else if (!strcmp(op, "path"))
		printf("%d", (p ? sp_profiler_output_path(own[p]) : sp_output_path()) != NULL);
	else if (!strcmp(op, "sample"))
		printf("%d", p ? sp_profiler_start_sampling(own[p], a) : sp_start_sampling(a));
	else if (!strcmp(op, "unsample"))
		printf("%d", p ? sp_profiler_stop_sampling(own[p]) : sp_stop_sampling());
	else
		return 0;
	return 1;
}

int main(void)
{
	char line[1024], op[32], text[400], file[400];
	int p, a, b, i;

	for (i = 0; i < SCOPES; i++)
		scopes[i].slot = -1;
	printf("constants %d %d %d %d\n", SP_FORMAT_VERSION, SP_INVALID_REGION, SP_OUTPUT_TRACE,
	       SP_ERR_UNSUPPORTED);
	printf("defaults %d %d %d\n", sp_hdf5_available(), (int)sp_default_output_format(),
	       sp_error_string((sp_status)99) != NULL);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%31s %d %d %d %399s %399s", op, &p, &a, &b, text, file) != 6 ||
		    p < 0 || p >= PROFILERS || b < 0 || b >= SCOPES) {
			fprintf(stderr, "script: cannot read: %s", line);
			return 2;
		}
		printf("%s ", op);
		if (!carry_out(op, p, a, b, strcmp(text, "''") ? text : "",
			       strcmp(file, "-") ? file : NULL)) {
			fprintf(stderr, "script: no such operation: %s\n", op);
			return 2;
		}
		printf(" | %d %d %d", sp_profiler_is_active(profiler(p)), sp_is_active(),
		       sp_profiler_last_error(profiler(p)));
		printf(" %d", sp_profiler_num_regions(profiler(p)));
		for (i = 0; i < sp_profiler_num_regions(sp_default_profiler()); i++)
			printf(" %lld", (long long)sp_num_calls(i));
		printf("\n");
	}
	printf("no region: %lld %lld\n", (long long)sp_num_calls(-1),
	       (long long)sp_num_calls(1 << 30));
	for (p = 1; p < PROFILERS; p++)
		sp_destroy(own[p]);
	return 0;
}
