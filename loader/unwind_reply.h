/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_reply.h - what sp-unwind says of one file, through its pipe, to loader/unwind_scan.c.
 *
 * The struct, then @segments of struct sp_unwind_segment, @rules of struct sp_unwind_rule, @rows
 * addresses (u64), @rows numbers of rules (u16), @text bytes of a sentence. Between two programs of
 * one installation, so nothing is packed; but who reads it believes nothing.
 */
#ifndef SP_LOADER_UNWIND_REPLY_H
#define SP_LOADER_UNWIND_REPLY_H

#include <stdint.h>

#define SP_UNWIND_REPLY_MAGIC 0x57555053u /* "SPUW" */
#define SP_UNWIND_REPLY_TEXT 255u

struct sp_unwind_reply {
	uint32_t magic;
	int32_t error; /* -errno, and then there is nothing but text */
	uint32_t segments, rules, rows, text;
};

#endif
