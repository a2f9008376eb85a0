// SPDX-License-Identifier: BSD-2-Clause
/*
 * fuzz_spt.c - any bytes as an .spt trace: refused with a sentence, or read to the last call.
 */
#include "formats/spt.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sp_error error = {0};
	struct sp_spt_reader *reader;
	uint64_t calls = 0;
	int r = sp_spt_reader_open(fuzz_file(data, size), &reader, &error);

	if (r) {
		if (r != error.code || !error.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < sp_spt_reader_n_regions(reader); i++) {
		const struct sp_spt_region *region = sp_spt_reader_region(reader, i);

		calls += region->calls;
		for (uint64_t at = 0; at < region->calls; at += 64) {
			size_t some = region->calls - at < 64 ? (size_t)(region->calls - at) : 64;
			int64_t starts[64], ends[64];

			if (sp_spt_reader_calls(reader, i, at, some, starts, ends, &error))
				abort(); /* open promised that they are there */
		}
	}
	if (calls > size / 16)
		abort();
	sp_spt_reader_free(reader);
	return 0;
}
