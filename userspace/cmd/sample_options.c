/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_options.c - see sample_options.h.
 */
#include "userspace/cmd/sample_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/units.h"

#define MAX_RANKS 65536

/* "0,4-7" */
static int parse_ranks(const char *list, uint32_t **ret_ranks, size_t *ret_n)
{
	sp_cleanup(sp_freep) char *copy = strdup(list);
	size_t room = *ret_n;
	char *rest = copy, *part;

	if (!copy)
		return -ENOMEM;
	while ((part = strsep(&rest, ","))) {
		char *to = strchr(part, '-');
		uint64_t first, last;

		if (to)
			*to++ = '\0';
		if (sp_parse_count(part, 0, INT32_MAX, &first) < 0 ||
		    sp_parse_count(to ? to : part, first, INT32_MAX, &last) < 0 ||
		    last - first >= MAX_RANKS)
			return -EINVAL;
		for (; first <= last; first++) {
			uint32_t *rank = sp_array_add(ret_ranks, ret_n, &room);

			if (!rank)
				return -ENOMEM;
			*rank = (uint32_t)first;
		}
	}
	return 0;
}

int sp_take_ranks(const struct sp_cli *cli, const char *arg, uint32_t **ret_ranks, size_t *ret_n)
{
	int r = parse_ranks(arg, ret_ranks, ret_n);

	if (r == -EINVAL)
		return sp_cli_usage_error(cli, "--rank takes ranks such as 0,4-7, not \"%s\"", arg);
	if (r < 0) {
		sp_log_error("out of memory");
		return EXIT_FAILURE;
	}
	return 0;
}

/* "0.5", of 0 to 100 */
static int parse_percent(const char *text, double *ret_share)
{
	char *end;
	double percent;

	if (!*text || strspn(text, "0123456789.") != strlen(text))
		return -EINVAL;
	percent = strtod(text, &end);
	if (*end || !(percent >= 0 && percent <= 100))
		return -EINVAL;
	*ret_share = percent / 100;
	return 0;
}

int sp_take_least(const struct sp_cli *cli, const char *arg, double *ret_share)
{
	if (parse_percent(arg, ret_share) < 0)
		return sp_cli_usage_error(cli, "--min takes a share in percent, not \"%s\"", arg);
	return 0;
}

void sp_print_choice_take(struct sp_print_choice *choice, int key)
{
	choice->wide |= key == SP_KEY_WIDE;
	choice->json |= key == SP_KEY_JSON;
	choice->csv |= key == SP_KEY_CSV;
}

int sp_print_choice_check(const struct sp_print_choice *choice, const struct sp_cli *cli)
{
	if (choice->json && choice->csv)
		return sp_cli_usage_error(cli, "--json and --csv exclude each other");
	return 0;
}
