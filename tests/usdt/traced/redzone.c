/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that keep their data where a careless probe writes: in registers and below the stack
 * pointer. Waits for a tracer if told so ("traced"), then calls them ROUNDS times and prints a
 * digest of all results, to the last bit of every floating-point number.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "usdt/sp_region.h"

#define NOINLINE __attribute__((noinline))

/* A leaf: no call that is not in the region's cold part, an array of 112 bytes, all of it alive. */
static NOINLINE uint64_t array_leaf(uint64_t x)
{
	volatile uint64_t a[14];
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < 14; i++)
		a[i] = x * (i + 3) ^ x >> i;
	SP_REGION_BEGIN("array");
	for (i = 0; i < 14; i++)
		sum = sum * 31 + a[i];
	SP_REGION_END("array");
	for (i = 0; i < 14; i++)
		sum ^= a[i] << i;
	return sum;
}

/* A true leaf, entered between the edges: its red zone lies where the stub's frame lay. */
static NOINLINE uint64_t pure_leaf(uint64_t x)
{
	volatile uint64_t a[15];
	unsigned i;

	for (i = 0; i < 15; i++)
		a[i] = x + i * i;
	return a[x % 15] ^ a[(x + 7) % 15];
}

static NOINLINE uint64_t around_leaf(uint64_t x)
{
	SP_REGION_SCOPE("around");
	x = pure_leaf(x);
	SP_REGION_BEGIN("inner");
	x ^= pure_leaf(x + 1) << 7;
	SP_REGION_END("inner");
	return x;
}

/* More live values than there are registers, of every kind. */
static NOINLINE double many_values(double x, uint64_t y)
{
	double a = x + 1, b = x * 1.1, c = x / 3, d = x - 0.7, e = a * b, f = c * d, g = e - f,
	       h = g * a;
	uint64_t p = y + 1, q = y * 3, r = y ^ 77, s = y << 3, t = y >> 5, u = p * q, v = r - s,
		 w = t + u;
	unsigned i;

	for (i = 0; i < 4; i++) {
		SP_REGION_SCOPE("many");
		a = a * b + c, b = b - d * 0.5, c = c + e * 1e-3, d = d * 0.99 + f,
		e = e / (1 + a * a);
		f = f + g, g = g * 0.5 - h, h = h * 0.25 + a;
		p += q ^ r, q = q * 5 + s, r -= t, s ^= u, t += v, u = u * 7 ^ w, v += p,
			    w ^= v >> 3;
		SP_REGION_BEGIN("values");
		h += (double)(w & 1023);
		SP_REGION_END("values");
	}
	return a + b + c + d + e + f + g + h + (double)((p ^ q ^ r ^ s ^ t ^ u ^ v ^ w) & 0xffffff);
}

static inline uint64_t inlined(uint64_t x)
{
	SP_REGION_FUNCTION();
	return (x ^ x >> 11) * UINT64_C(0x9e3779b97f4a7c15);
}

static NOINLINE uint64_t vector(const float *values, unsigned n)
{
	float sum = 0;
	unsigned i;
	uint32_t bits;

	for (i = 0; i < n; i++) {
		SP_REGION_SCOPE("vector");
		sum = sum * 1.0001f + values[i] * values[n - 1 - i];
	}
	memcpy(&bits, &sum, sizeof(bits));
	return bits;
}

static void await_tracer(void)
{
	struct timespec pause = {0, 10000000}, settle = {0, 500000000};
	unsigned i;

	for (i = 0; i < 10000 && !(sp_begin_sema_v1 && sp_end_sema_v1); i++)
		nanosleep(&pause, NULL);
	if (i == 10000)
		exit(4);
	nanosleep(&settle, NULL);
}

int main(int argc, char **argv)
{
	uint64_t digest = 1, x = 1, bits;
	unsigned long rounds, i;
	float values[16];
	double d;

	if (argc > 2 && !strcmp(argv[2], "traced"))
		await_tracer();
	rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	for (i = 0; i < rounds; i++) {
		x = array_leaf(x + i);
		x ^= around_leaf(x);
		d = many_values((double)(x & 0xfff) / 7, x);
		memcpy(&bits, &d, sizeof(bits));
		x += inlined(bits);
		values[i % 16] = (float)(x & 0xffff) / 3;
		if (i >= 16)
			x ^= vector(values, 16);
		digest = (digest ^ x ^ bits) * UINT64_C(0x100000001b3);
	}
	printf("digest %016llx\n", (unsigned long long)digest);
	return 0;
}
