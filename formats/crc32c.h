/* SPDX-License-Identifier: BSD-2-Clause
 *
 * crc32c.h - the Castagnoli CRC (RFC 3720, appendix B.4), with the processor's instruction where it has one.
 */
#ifndef SP_FORMATS_CRC32C_H
#define SP_FORMATS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC of @bytes, carried on from @crc (0 to begin). */
uint32_t sp_crc32c(uint32_t crc, const void *data, size_t bytes);

#endif
