/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/crc32c.h"

#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* reflected */

static uint32_t table[256];

__attribute__((constructor)) static void fill_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t v = i;

		for (int bit = 0; bit < 8; bit++)
			v = (v >> 1) ^ ((v & 1) ? POLYNOMIAL : 0);
		table[i] = v;
	}
}

static uint32_t by_table(uint32_t crc, const uint8_t *p, size_t bytes)
{
	while (bytes--)
		crc = (crc >> 8) ^ table[(crc ^ *p++) & 0xff];
	return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *p,
								 size_t bytes)
{
	uint64_t c = crc, v;

	for (; bytes >= 8; bytes -= 8, p += 8) {
		memcpy(&v, p, 8);
		c = __builtin_ia32_crc32di(c, v);
	}
	while (bytes--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
	return (uint32_t)c;
}
#endif

uint32_t sp_crc32c(uint32_t crc, const void *data, size_t bytes)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~by_instruction(~crc, data, bytes);
#endif
	return ~by_table(~crc, data, bytes);
}
