/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elfscan_dump.c - elfscan_dump HELPER FILE…: scans files and prints each event as a line of JSON.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/codec.h"
#include "loader/elfscan.h"

static void print_text(const struct sp_head *event)
{
	size_t left;
	const unsigned char *at = sp_event_tail(event, &left);

	printf(", \"text\": [\"");
	for (; left; left--, at++)
		if (*at == 0)
			printf("\", \"");
		else if (*at < ' ' || *at >= 0x7f || *at == '"' || *at == '\\')
			printf("\\u00%02x", *at); /* bytes as Latin-1 */
		else
			putchar(*at);
	printf("\"]");
}

static int on_event(size_t index, const struct sp_head *event, void *arg)
{
	const struct sp_event_desc *desc = sp_event_find(event->type);

	(void)arg;
	printf("{\"index\": %zu, \"event\": \"%s\"", index, desc->name);
	for (unsigned i = 0; i < desc->field_count; i++) {
		const struct sp_field_desc *f = &desc->fields[i];
		uint64_t v = sp_field_get(f, event);

		if (f->type == SP_T_s32 || f->type == SP_T_s64)
			printf(", \"%s\": %" PRId64, f->name, (int64_t)v);
		else
			printf(", \"%s\": %" PRIu64, f->name, v);
	}
	if (desc->tail == SP_TAIL_TEXT)
		print_text(event);
	printf("}\n");
	return 0;
}

int main(int argc, char **argv)
{
	size_t n = (size_t)argc - 2;
	int *fds = calloc(n ? n : 1, sizeof(*fds));
	struct sp_elfscan *scan;
	struct sp_error err = {0};

	if (argc < 3 || !fds || sp_elfscan_new(argv[1], &scan, &err) < 0) {
		fprintf(stderr, "elfscan_dump: %s\n", argc < 3 ? "HELPER FILE…" : err.text);
		return 2;
	}
	for (size_t i = 0; i < n; i++)
		fds[i] = open(argv[2 + i], O_RDONLY | O_CLOEXEC);
	if (sp_elfscan_run(scan, fds, n, on_event, NULL, &err) < 0) {
		fprintf(stderr, "elfscan_dump: %s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < n; i++) {
		const char *why;
		int error = sp_elfscan_result(scan, i, &why);

		printf("{\"index\": %zu, \"event\": \"result\", \"error\": %d, \"why\": \"%s\"}\n",
		       i, error, why ? why : "");
	}
	sp_elfscan_free(scan);
	free(fds);
	return 0;
}
