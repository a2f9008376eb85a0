/* SPDX-License-Identifier: BSD-2-Clause
 *
 * redzone.c - results that a careless probe would spoil: of functions that keep their variables
 *below the stack pointer, in floating-point and vector registers, and in the flags, around regions.
 *
 *	redzone CALLS
 */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "usdt/sp_region.h"

/* A leaf but for the regions, whose stubs are called out of line, while nothing of it is alive
 * below the stack pointer; before and after, its array may be there. */
__attribute__((noinline)) uint64_t red_zone_leaf(uint64_t seed)
{
	volatile uint64_t a[14];

	for (int i = 0; i < 14; i++)
		a[i] = seed * (uint64_t)(2 * i + 1);
	return a[0] ^ a[3] ^ a[6] ^ a[9] ^ a[13];
}

__attribute__((noinline)) static uint64_t leaf(uint64_t seed)
{
	volatile uint64_t a[14];

	for (int i = 0; i < 14; i++)
		a[i] = seed + (uint64_t)(3 * i);
	SP_REGION_BEGIN("leaf");
	for (int i = 1; i < 14; i++)
		a[i] = a[i] ^ (a[i - 1] << 1);
	SP_REGION_END("leaf");
	return a[2] ^ a[7] ^ a[13];
}

__attribute__((noinline)) static double floating(double x, double y)
{
	double a = x * 1.5, b = y / 3.0, c = x - y, d = x + 2.0 * y, e = x * y, f = a * b;

	SP_REGION_BEGIN("floating");
	a = a * c + d;
	b = b * e + f;
	SP_REGION_END("floating");
	return sqrt(fabs(a * d)) + sqrt(fabs(b * c)) - e + f;
}

__attribute__((noinline)) static uint64_t vector(const float *v, int n)
{
	float s[8] = {0};
	uint64_t bits = 0;

	SP_REGION_SCOPE("vector");
	for (int i = 0; i + 8 <= n; i += 8)
		for (int k = 0; k < 8; k++)
			s[k] = s[k] * 0.875f + v[i + k];
	for (int k = 0; k < 8; k++)
		bits = bits * 31 + (uint64_t)(int64_t)(s[k] * 4096.0f);
	return bits;
}

/* A carry and a comparison that live across the probes. */
__attribute__((noinline)) static uint64_t flags(uint64_t x, uint64_t y)
{
	uint64_t sum;
	int carry = __builtin_add_overflow(x, y, &sum), below = x < y;

	SP_REGION_BEGIN("flags");
	sum += (uint64_t)carry;
	SP_REGION_END("flags");
	return below ? sum ^ 0x5555 : sum + (uint64_t)carry;
}

int main(int argc, char **argv)
{
	uint64_t x = 0x9e3779b97f4a7c15u, sum = 0;
	float v[64];
	double d = 1.0;
	long n = argc > 1 ? atol(argv[1]) : 0;

	if (n <= 0)
		return 9;
	for (int i = 0; i < 64; i++)
		v[i] = (float)(i * 37 % 64) / 8.0f;
	for (long i = 0; i < n; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		v[i & 63] = (float)(x >> 48) / 65536.0f;
		sum = (sum << 7 | sum >> 57) ^ red_zone_leaf(x) ^ leaf(x) ^ vector(v, 64) ^
		      flags(x, sum);
		d = floating(d, (double)(x >> 40) / 1048576.0);
		d = fmod(d, 1000.0);
	}
	printf("%016" PRIx64 " %a\n", sum, d);
	return 0;
}
