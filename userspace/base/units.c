/* SPDX-License-Identifier: BSD-2-Clause
 *
 * units.c - see units.h. Numbers are read and written without regard to the locale.
 */
#include "userspace/base/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/cleanup.h"

struct unit {
	const char *name;
	double factor;
};

/* Digits with at most one point in between. */
static int parse_number(const char *text, double *ret, const char **ret_rest)
{
	double value = 0, place = 0;
	const char *at = text;

	for (; (*at >= '0' && *at <= '9') || (*at == '.' && place == 0 && at > text); at++) {
		if (*at == '.') {
			place = 1;
		} else if (place != 0) {
			place /= 10;
			value += place * (*at - '0');
		} else {
			value = value * 10 + (*at - '0');
		}
	}
	if (at == text || at[-1] == '.')
		return -EINVAL;
	*ret = value;
	*ret_rest = at;
	return 0;
}

static int parse_with_unit(const char *text, const struct unit *units, size_t n, uint64_t *ret)
{
	const char *rest;
	double value;
	int r = parse_number(text, &value, &rest);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (strcasecmp(rest, units[i].name))
			continue;
		value = nearbyint(value * units[i].factor);
		if (value >= 9.2e18)
			return -ERANGE;
		*ret = (uint64_t)value;
		return 0;
	}
	return -EINVAL;
}

int sp_parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{"", 1e9}, {"s", 1e9},	{"ms", 1e6},   {"us", 1e3},   {"\xc2\xb5s", 1e3},
		{"ns", 1}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9},
	};

	return parse_with_unit(text, units, sp_array_size(units), ret_ns);
}

int sp_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{"", 1},	 {"b", 1},	 {"k", 0x1p10},	  {"kb", 0x1p10},  {"kib", 0x1p10},
		{"m", 0x1p20},	 {"mb", 0x1p20}, {"mib", 0x1p20}, {"g", 0x1p30},   {"gb", 0x1p30},
		{"gib", 0x1p30}, {"t", 0x1p40},	 {"tb", 0x1p40},  {"tib", 0x1p40},
	};

	return parse_with_unit(text, units, sp_array_size(units), ret_bytes);
}

int sp_parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *ret_count)
{
	uint64_t value = 0;

	if (!*text)
		return -EINVAL;
	for (const char *at = text; *at; at++) {
		if (*at < '0' || *at > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return -ERANGE;
	}
	if (value < least || value > most)
		return -ERANGE;
	*ret_count = value;
	return 0;
}

/* @digits significant ones, for 0 <= value < 10000. */
static void put_significant(struct sp_shown *out, double value, int digits, const char *unit)
{
	int before = value < 9.9995 ? 1 : value < 99.995 ? 2 : value < 999.95 ? 3 : 4;
	int after = digits > before ? digits - before : 0;

	snprintf(out->text, sizeof(out->text), "%.*f %s", after, value, unit);
}

struct sp_shown sp_show_duration(double ns)
{
	struct sp_shown out = {{0}};
	double a = fabs(ns);

	if (!isfinite(ns))
		snprintf(out.text, sizeof(out.text), "-");
	else if (ns < 0) {
		struct sp_shown positive = sp_show_duration(-ns);

		snprintf(out.text, sizeof(out.text), "-%.30s", positive.text);
	} else if (a < 999.95)
		snprintf(out.text, sizeof(out.text), "%.*f ns", a == nearbyint(a) ? 0 : 1, ns);
	else if (a < 999.95e3)
		put_significant(&out, ns / 1e3, 4, "us");
	else if (a < 999.95e6)
		put_significant(&out, ns / 1e6, 4, "ms");
	else if (a < 599.95e9)
		put_significant(&out, ns / 1e9, 4, "s");
	else if (a < 7199.5e9)
		snprintf(out.text, sizeof(out.text), "%d m %02d s", (int)(nearbyint(a / 1e9) / 60),
			 (int)nearbyint(a / 1e9) % 60);
	else if (a < 1e15 * 3600)
		snprintf(out.text, sizeof(out.text), "%lld h %02lld m",
			 (long long)(nearbyint(a / 60e9) / 60),
			 (long long)nearbyint(a / 60e9) % 60);
	else
		snprintf(out.text, sizeof(out.text), "%.3g s", ns / 1e9);
	return out;
}

struct sp_shown sp_show_size(double bytes)
{
	static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	struct sp_shown out = {{0}};
	size_t i = 0;

	while (bytes >= 1023.5 && i + 1 < sp_array_size(names)) {
		bytes /= 1024;
		i++;
	}
	if (i == 0)
		snprintf(out.text, sizeof(out.text), "%.0f B", bytes);
	else
		put_significant(&out, bytes, 3, names[i]);
	return out;
}

struct sp_shown sp_show_count(uint64_t count)
{
	struct sp_shown out = {{0}};
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	char *to = out.text;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	return out;
}

struct sp_shown sp_show_rough(double count)
{
	static const char *const names[] = {"", "k", "M", "G", "T", "P", "E"};
	struct sp_shown out = {{0}};
	size_t i = 0;

	while (count >= 999.5 && i + 1 < sp_array_size(names)) {
		count /= 1000;
		i++;
	}
	if (i == 0)
		snprintf(out.text, sizeof(out.text), "%.0f", count);
	else
		put_significant(&out, count, 3, names[i]);
	return out;
}

struct sp_shown sp_show_share(double fraction)
{
	struct sp_shown out = {{0}};

	if (isfinite(fraction))
		snprintf(out.text, sizeof(out.text), "%.1f %%", fraction * 100);
	else
		snprintf(out.text, sizeof(out.text), "-");
	return out;
}
