// SPDX-License-Identifier: BSD-2-Clause
/*
 * fuzz_sps.c - any bytes as an .sps sample file: refused with a sentence, or read to the last
 * sample.
 */
#include "formats/sps.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sp_error error = {0};
	struct sp_sps_reader *reader;
	int r = sp_sps_reader_open(fuzz_file(data, size), &reader, &error);

	if (r) {
		if (r != error.code || !error.text[0])
			abort();
		return 0;
	}
	if (sp_sps_reader_n_samples(reader) > size / 16)
		abort();
	for (uint64_t i = 0; i < sp_sps_reader_n_samples(reader); i++) {
		struct sp_sps_sample sample;

		r = sp_sps_reader_samples(reader, i, 1, &sample, &error);
		if (r && r != -SP_E_DAMAGED)
			abort();
		if (!r && (sample.region >= (int64_t)sp_sps_reader_n_regions(reader) ||
			   sample.module >= (int64_t)sp_sps_reader_n_modules(reader)))
			abort();
	}
	sp_sps_reader_free(reader);
	return 0;
}
