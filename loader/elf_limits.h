/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elf_limits.h - how much of one ELF file the recorder takes.
 *
 * The helper that reads the file keeps to these limits, and the recorder checks that it did: a
 * helper that a hostile file has taken over can say nothing that a harmless file could not.
 */
#ifndef SP_LOADER_ELF_LIMITS_H
#define SP_LOADER_ELF_LIMITS_H

#define SP_ELF_LIMIT_SITES 262144u
#define SP_ELF_LIMIT_PROBES 64u
#define SP_ELF_LIMIT_SEGMENTS 128u
#define SP_ELF_LIMIT_NAME 1000u	       /* bytes of a region's name; longer ones are cut */
#define SP_ELF_LIMIT_TEXT 1000u	       /* of its file, tags and function */
#define SP_ELF_LIMIT_NOTE 240u	       /* of a sentence about the file */
#define SP_ELF_LIMIT_EVENT 5000u       /* bytes of one event */
#define SP_ELF_LIMIT_BYTES (64u << 20) /* of all events of a file */

#endif
