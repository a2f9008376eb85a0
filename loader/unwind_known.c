/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/unwind_known.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/known_code.h"

/* As known_code.h has it. */
static const uint8_t trampoline[SP_UNWIND_TRAMPOLINE_BYTES] = {
	0x51, 0x41, 0x53, 0x50, 0x48, 0xc7, 0xc0, 0x50, 0x01,
	0x00, 0x00, 0x0f, 0x05, 0x58, 0x41, 0x5b, 0x59, 0xc3,
};

#define DEPTHS (SP_TRAMPOLINE_DEPTHS + 1) /* and where it ends: without a rule */

int sp_unwind_known_trampoline(const uint8_t bytes[SP_UNWIND_TRAMPOLINE_BYTES],
			       struct sp_unwind_table *ret_table)
{
	struct sp_unwind_table t = {.rows = DEPTHS, .rules = 5, .segments = 1};

	if (memcmp(bytes, trampoline, SP_TRAMPOLINE_END))
		return -ENODATA;
	t.pc = calloc(DEPTHS, sizeof(*t.pc));
	t.rule = calloc(DEPTHS, sizeof(*t.rule));
	t.rules_at = calloc(t.rules, sizeof(*t.rules_at));
	if (!t.pc || !t.rule || !t.rules_at) {
		free(t.pc);
		free(t.rule);
		free(t.rules_at);
		return -ENOMEM;
	}
	for (unsigned i = 1; i < t.rules; i++)
		t.rules_at[i] = (struct sp_unwind_rule){
			.kind = SP_UNWIND_REG,
			.reg = 7, /* rsp */
			.offset = 8 * (int)i,
			.fp = SP_UNWIND_SAME,
			.ra = -1,
			.bx = SP_UNWIND_SAME,
		};
	for (unsigned i = 0; i < SP_TRAMPOLINE_DEPTHS; i++) {
		t.pc[i] = sp_trampoline_depths[i].at;
		t.rule[i] = (uint16_t)(sp_trampoline_depths[i].depth / 8 + 1);
	}
	t.pc[SP_TRAMPOLINE_DEPTHS] = SP_TRAMPOLINE_END;
	t.segment[0] = (struct sp_unwind_segment){.file_size = 4096};
	*ret_table = t;
	return 0;
}
