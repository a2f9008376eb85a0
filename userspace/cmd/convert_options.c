/* SPDX-License-Identifier: BSD-2-Clause
 *
 * convert_options.c - the options and operands that import and export have in common.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/h5_write.h"
#include "userspace/base/array.h"
#include "userspace/base/units.h"
#include "userspace/cmd/convert.h"

int sp_convert_parse_compress(const struct sp_cli *cli, const char *text, unsigned int *ret_gzip)
{
	uint64_t level;

	if (!strcmp(text, "none"))
		level = 0;
	else if (!strcmp(text, "auto"))
		level = SP_H5_GZIP_AUTO;
	else if (sp_parse_count(text, 1, 9, &level) < 0)
		return sp_cli_usage_error(cli, "'%s' is neither none, auto nor a level from 1 to 9",
					  text);
	*ret_gzip = (unsigned int)level;
	return 0;
}

static int add_input(struct sp_convert *convert, const char *path)
{
	if (sp_array_add_text(&convert->inputs, &convert->n_inputs, &convert->inputs_room, path))
		return 0;
	sp_log_error("out of memory");
	return EXIT_FAILURE;
}

int sp_convert_take(struct sp_convert *convert, const struct sp_cli *cli, int key, const char *arg)
{
	struct sp_write_options *write = &convert->write;
	uint64_t number;

	switch (key) {
	case SP_CLI_OPERAND:
		return add_input(convert, arg);
	case 'o':
		convert->output = arg;
		break;
	case SP_KEY_LABEL:
		write->label = arg;
		break;
	case SP_KEY_RENUMBER:
		convert->found.renumber = true;
		break;
	case SP_KEY_COMPRESS:
		return sp_convert_parse_compress(cli, arg, &write->gzip);
	case SP_KEY_SCHEMA:
		if (sp_parse_count(arg, 2, 3, &number) < 0)
			return sp_cli_usage_error(cli, "'%s' is no schema: 2 or 3", arg);
		write->schema = (int)number;
		break;
	case SP_KEY_FORCE:
		convert->force = true;
		write->output_flags |= SP_OUTPUT_REPLACE;
		break;
	case SP_KEY_NO_SYNC:
		write->output_flags |= SP_OUTPUT_NO_SYNC;
		break;
	case 'q':
		sp_log_init("sp-report", SP_LOG_QUIET);
		break;
	case 'v':
		sp_log_init("sp-report", SP_LOG_VERBOSE);
		break;
	}
	return 0;
}
