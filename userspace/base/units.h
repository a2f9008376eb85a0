/* SPDX-License-Identifier: BSD-2-Clause
 *
 * units.h - quantities as people write and read them.
 *
 * Parsers take the whole string or refuse it: -EINVAL for what is not such a quantity, -ERANGE for
 * one outside the limits; no sign, no blanks, decimal point only.
 */
#ifndef SP_BASE_UNITS_H
#define SP_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* "10s", "1.5m", "250ms", "20us", "100ns", "2h"; a bare number is seconds. In nanoseconds. */
int sp_parse_duration(const char *text, uint64_t *ret_ns);
/* "64M", "1.5G", "8KiB", "100000", "2GB": powers of 1024, with or without "iB" or "B". In bytes. */
int sp_parse_size(const char *text, uint64_t *ret_bytes);
/* A plain decimal integer in [@least, @most]. */
int sp_parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *ret_count);

/* Printed quantities are returned by value: printf("%s", sp_show_duration(ns).text). */
struct sp_shown {
	char text[32];
};

/* Four significant digits: "0 ns", "950 ns", "12.35 us", "1.204 s", "12 m 05 s", "3 h 12 m". */
struct sp_shown sp_show_duration(double ns);
/* "950 B", "12.3 KiB", "1.50 GiB". */
struct sp_shown sp_show_size(double bytes);
/* With separators: "12,345,678". */
struct sp_shown sp_show_count(uint64_t count);
/* Short: "950", "12.3 k", "4.56 M", "1.20 G". */
struct sp_shown sp_show_rough(double count);
/* "0.0 %" to "100.0 %"; "-" for what is not a number. */
struct sp_shown sp_show_share(double fraction);

/* What a noun has behind a number: "1 call", "2 calls". */
static inline const char *sp_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
