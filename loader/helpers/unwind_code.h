/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_code.h - call frame information for functions that have none, out of their code.
 *
 * Assembler kernels of numerical libraries (a third of OpenBLAS) are where programs spend their
 * time, and have no call frame information: stacks would end in them. They keep their stack in
 * simple ways, though, which can be read from their instructions. A function of which anything is
 * not understood, or that does not leave the stack as it found it at each return, is left alone.
 */
#ifndef SP_LOADER_HELPERS_UNWIND_CODE_H
#define SP_LOADER_HELPERS_UNWIND_CODE_H

#include <stddef.h>
#include <stdint.h>

#define SP_UNWIND_MAX_FUNCTION (1u << 20) /* bytes */

/* Reads the code of one function (x86-64), and writes the program of an FDE for it, for the CIE
 * that sp_unwind_extra_cie() gives; it may do with fewer than @size bytes of code. 0; -ENOTSUP
 * where it is not understood; -ENOMEM. Free *ret_program. Time is linear in its size. */
int sp_unwind_code_read(const uint8_t *code, size_t size, uint8_t **ret_program, size_t *ret_bytes);

#endif
