/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_options.h - the options that the commands share which show samples: of which ranks, from
 * which share on, and how they are printed.
 */
#ifndef SP_CMD_SAMPLE_OPTIONS_H
#define SP_CMD_SAMPLE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/cli.h"

/* Both return 0, or the exit status after saying what is wrong. */

/* --rank 0,4-7. *@ret_ranks is to be freed in any case. */
int sp_take_ranks(const struct sp_cli *cli, const char *arg, uint32_t **ret_ranks, size_t *ret_n);
/* --min 0.5, in percent. */
int sp_take_least(const struct sp_cli *cli, const char *arg, double *ret_share);

enum sp_print_key {
	SP_KEY_WIDE = 0xa00,
	SP_KEY_JSON,
	SP_KEY_CSV,
};

#define SP_PRINT_OPTIONS \
	{"wide", SP_KEY_WIDE, NULL, \
	 "show names of C++ whole, with all arguments and parameters,\nand cut nothing (JSON and " \
	 "CSV: always)"}, \
		{"json", SP_KEY_JSON, NULL, "print JSON"}, \
	{ \
		"csv", SP_KEY_CSV, NULL, "print CSV" \
	}

/* How it is printed: for people if neither JSON nor CSV. */
struct sp_print_choice {
	bool wide, json, csv;
};

/* Leaves other options alone. */
void sp_print_choice_take(struct sp_print_choice *choice, int key);
/* After the last one. 0, or the exit status after saying what is wrong. */
int sp_print_choice_check(const struct sp_print_choice *choice, const struct sp_cli *cli);

#endif
