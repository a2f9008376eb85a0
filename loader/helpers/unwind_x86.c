/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_x86.c - the encoding of x86-64, from its manual.
 *
 * Invariant: an encoding that is not in the tables here is refused, so that nothing is read out of
 * step.
 */
#include "loader/helpers/unwind_x86.h"

#include <string.h>

/* What follows an opcode: one letter each, by 16 in a row.
 *   -  nothing          m  ModRM             b  ModRM, 8 bits      d  ModRM, 32 bits
 *   1  8 bits           4  32 bits           2  16 bits            3  24 bits
 *   v  as wide as the operand (mov)          8  64 bits            t  as the digit says (test)
 *   x  not valid, or handled before */
static const char one_byte[] = "mmmm14xxmmmm14xx" /* 00: 0f is the other map */
			       "mmmm14xxmmmm14xx"
			       "mmmm14xxmmmm14xx"
			       "mmmm14xxmmmm14xx"
			       "xxxxxxxxxxxxxxxx" /* 40: REX */
			       "----------------"
			       "xxxmxxxx4d1b----" /* 60 */
			       "1111111111111111"
			       "bdxbmmmmmmmmmmmm" /* 80 */
			       "----------x-----"
			       "8888----14------" /* a0 */
			       "11111111vvvvvvvv"
			       "bb2-xxbd3-2--1x-" /* c0 */
			       "mmmmxxx-mmmmmmmm"
			       "1111111144x1----" /* e0 */
			       "x-xx--tt------mm";
static const char two_bytes[] = "mmmmx---" /* 0f 00 */
				"--x-xm-b"
				"mmmmmmmmmmmmmmmm"
				"mmmmxxxxmmmmmmmm" /* 20 */
				"------x-xxxxxxxx"
				"mmmmmmmmmmmmmmmm" /* 40 */
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm" /* 60 */
				"bbbbmmm-mmxxmmmm"
				"4444444444444444" /* 80 */
				"mmmmmmmmmmmmmmmm"
				"---mbmxx---mbmmm" /* a0 */
				"mmmmmmmmmmbmmmmm"
				"mmbmbbbm--------" /* c0 */
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm" /* e0 */
				"mmmmmmmmmmmmmmmm";

struct in {
	const uint8_t *at, *end;
	bool broken;
};

static uint8_t byte(struct in *in)
{
	if (in->at == in->end) {
		in->broken = true;
		return 0;
	}
	return *in->at++;
}

static int64_t number(struct in *in, size_t bytes)
{
	uint64_t value = 0;
	unsigned unused = (unsigned)(64 - 8 * bytes);

	if (bytes == 0 || (size_t)(in->end - in->at) < bytes) {
		in->broken |= bytes != 0;
		return 0;
	}
	memcpy(&value, in->at, bytes);
	in->at += bytes;
	return (int64_t)(value << unused) >> unused;
}

/* Extension bits of register numbers, as REX has them. */
#define REX_W 8
#define REX_R 4
#define REX_X 2
#define REX_B 1

static void read_modrm(struct in *in, struct sp_x86 *x, uint8_t rex)
{
	uint8_t modrm = byte(in), mod = modrm >> 6, rm = modrm & 7, sib;

	x->modrm = true;
	x->digit = modrm >> 3 & 7;
	x->reg = x->digit | (rex & REX_R ? 8 : 0);
	x->rm = rm | (rex & REX_B ? 8 : 0);
	x->in_memory = mod != 3;
	if (!x->in_memory)
		return;
	x->base = true;
	if (rm == 4) {
		sib = byte(in);
		x->index = (sib >> 3 & 7) != 4 || (rex & REX_X);
		x->rm = (sib & 7) | (rex & REX_B ? 8 : 0);
		rm = sib & 7;
		x->base = mod != 0 || rm != 5;
	} else if (mod == 0 && rm == 5) {
		x->base = false;
	}
	if (mod == 1)
		x->displacement = (int32_t)number(in, 1);
	else if (mod == 2 || (mod == 0 && rm == 5))
		x->displacement = (int32_t)number(in, 4);
}

static bool read_operands(struct in *in, struct sp_x86 *x, uint8_t rex, char form)
{
	size_t full = x->word && !x->wide ? 2 : 4;

	if (strchr("mbdt", form))
		read_modrm(in, x, rex);
	switch (form) {
	case 'b':
	case '1':
		x->immediate = number(in, 1);
		break;
	case 'd':
	case '4':
		/* Distances of jumps stay at 32 bits. */
		x->immediate = number(in, x->map == 1 || (x->opcode & 0xfe) == 0xe8 ? 4 : full);
		break;
	case '2':
		x->immediate = number(in, 2);
		break;
	case '3':
		x->immediate = number(in, 3);
		break;
	case '8':
		x->immediate = number(in, 8);
		break;
	case 'v':
		x->immediate = number(in, x->wide ? 8 : full);
		break;
	case 't':
		if (x->digit < 2)
			x->immediate = number(in, x->opcode == 0xf6 ? 1 : full);
		break;
	case 'x':
		return false;
	default:
		break;
	}
	return !in->broken;
}

/* VEX (c4, c5), EVEX (62), XOP (8f) */
static bool read_vector(struct in *in, struct sp_x86 *x, uint8_t lead)
{
	uint8_t first = byte(in), second, rex;
	bool immediate;

	x->vector = true;
	rex = (uint8_t)((first & 0x80 ? 0 : REX_R) | (first & 0x40 ? 0 : REX_X) |
			(first & 0x20 ? 0 : REX_B));
	if (lead == 0xc5) {
		rex &= REX_R;
		x->map = 1;
	} else {
		x->map = first & (lead == 0x62 ? 7 : 31);
		second = byte(in);
		x->wide = second & 0x80;
		if (lead == 0x62)
			byte(in);
	}
	x->opcode = byte(in);
	if (lead == 0x8f) {
		if (x->map < 8 || x->map > 10)
			return false;
		read_modrm(in, x, rex);
		number(in, x->map == 8 ? 1 : x->map == 10 ? 4 : 0);
		return !in->broken;
	}
	if (x->map < 1 || x->map > 3)
		return false;
	/* vzeroupper, vzeroall */
	if (x->map == 1 && x->opcode == 0x77)
		return !in->broken;
	immediate = x->map == 3 || (x->map == 1 && two_bytes[x->opcode] == 'b');
	read_modrm(in, x, rex);
	number(in, immediate ? 1 : 0);
	return !in->broken;
}

static bool is_prefix(uint8_t b)
{
	return b == 0x66 || b == 0x67 || b == 0xf0 || b == 0xf2 || b == 0xf3 || b == 0x2e ||
	       b == 0x36 || b == 0x3e || b == 0x26 || b == 0x64 || b == 0x65;
}

static bool decode(struct in *in, struct sp_x86 *x)
{
	uint8_t b = byte(in), rex = 0;

	while (is_prefix(b) && !in->broken) {
		x->word |= b == 0x66;
		b = byte(in);
	}
	if ((b & 0xf0) == 0x40) {
		rex = b & 15;
		x->wide = rex & REX_W;
		b = byte(in);
	}
	if (b == 0xc4 || b == 0xc5 || b == 0x62 ||
	    (b == 0x8f && in->at < in->end && (*in->at & 31) >= 8))
		return !rex && read_vector(in, x, b);
	if (b != 0x0f) {
		x->opcode = b;
		if ((b & 0xf0) == 0x50 || (b & 0xf0) == 0xb0)
			x->rm = (b & 7) | (rex & REX_B ? 8 : 0);
		return read_operands(in, x, rex, one_byte[b]);
	}
	b = byte(in);
	x->map = b == 0x38 ? 2 : b == 0x3a ? 3 : 1;
	x->opcode = x->map == 1 ? b : byte(in);
	return read_operands(in, x, rex, x->map == 1 ? two_bytes[b] : x->map == 2 ? 'm' : 'b');
}

bool sp_x86_decode(const uint8_t *code, size_t bytes, struct sp_x86 *ret_x)
{
	struct in in = {code, code + (bytes < 15 ? bytes : 15), false};
	struct sp_x86 x = {0};

	if (!decode(&in, &x) || in.broken)
		return false;
	x.length = (uint8_t)(in.at - code);
	*ret_x = x;
	return true;
}

/* Which operand an instruction of the first map changes. */
static bool writes_rm(const struct sp_x86 *x)
{
	uint8_t op = x->opcode;

	if (op < 0x40)
		return (op & 7) < 2 && (op & 0x38) != 0x38;
	switch (op) {
	case 0x80:
	case 0x81:
	case 0x83:
		return x->digit != 7;
	case 0xf6:
	case 0xf7:
		return x->digit == 2 || x->digit == 3;
	case 0xfe:
	case 0xff:
		return x->digit < 2;
	case 0x86:
	case 0x87:
	case 0x88:
	case 0x89:
	case 0x8c:
	case 0x8f:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
		return true;
	default:
		return op >= 0xd0 && op <= 0xd3;
	}
}

static bool writes_reg(const struct sp_x86 *x)
{
	uint8_t op = x->opcode;

	if (x->map == 1)
		return (op & 0xf0) == 0x40 || op == 0xaf || (op >= 0xb6 && op <= 0xb8) ||
		       (op >= 0xbc && op <= 0xbf) || op == 0xc0 || op == 0xc1 || op == 0x2c ||
		       op == 0x2d || op == 0x50 || op == 0xc5 || op == 0xd7;
	if (op < 0x40)
		return (op & 7) >= 2 && (op & 7) < 4 && (op & 0x38) != 0x38;
	return op == 0x63 || op == 0x69 || op == 0x6b || op == 0x86 || op == 0x87 || op == 0x8a ||
	       op == 0x8b || op == 0x8d;
}

/* The same of the map 0f. */
static bool writes_rm_two(const struct sp_x86 *x)
{
	uint8_t op = x->opcode;

	return op == 0x7e || (op & 0xf0) == 0x90 || op == 0xa4 || op == 0xa5 || op == 0xab ||
	       op == 0xac || op == 0xad || op == 0xb0 || op == 0xb1 || op == 0xb3 || op == 0xbb ||
	       op == 0xc0 || op == 0xc1 || (op == 0xba && x->digit > 4);
}

bool sp_x86_writes(const struct sp_x86 *x, uint8_t reg)
{
	uint8_t op = x->opcode;

	/* pextr, mulx, rorx …: there are too many to tell them apart from those for vectors. */
	if (x->vector || x->map > 1)
		return false;
	if (x->map == 1 && (op & 0xf8) == 0xc8)
		return (op & 7) == (reg & 7); /* bswap */
	if (x->map == 0 && (op & 0xf0) == 0xb0)
		return x->rm == reg;
	if (x->map == 0 && op >= 0x91 && op <= 0x97)
		return true;
	if (!x->modrm)
		return false;
	if (writes_reg(x) && x->reg == reg)
		return true;
	return !x->in_memory && x->rm == reg && (x->map ? writes_rm_two(x) : writes_rm(x));
}
