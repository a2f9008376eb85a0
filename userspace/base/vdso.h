/* SPDX-License-Identifier: BSD-2-Clause
 *
 * vdso.h - the code that the running kernel maps into every process: an ELF file without a name.
 */
#ifndef SP_BASE_VDSO_H
#define SP_BASE_VDSO_H

#define SP_VDSO_NAME "[vdso]" /* of its mapping */
#define SP_VDSO_BUILD_ID 129  /* bytes: hexadecimal, and a 0 */

/* Opens a copy of our own. -ENOENT if there is none of 64 bits, -errno. */
int sp_vdso_open(void);
/* "" if it has none. */
void sp_vdso_build_id(char id[SP_VDSO_BUILD_ID]);

#endif
