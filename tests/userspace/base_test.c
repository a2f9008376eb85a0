/* SPDX-License-Identifier: BSD-2-Clause
 *
 * base_test.c - units, safe text, tables, JSON, maps, pools and the command-line parser.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tests/lib/check.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/idmap.h"
#include "userspace/base/json.h"
#include "userspace/base/pool.h"
#include "userspace/base/table.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"

static void test_parsing(void)
{
	uint64_t v = 7;

	CHECK_NUMBER(sp_parse_duration("10s", &v), 0);
	CHECK_NUMBER(v, 10000000000);
	CHECK_NUMBER(sp_parse_duration("1.5m", &v), 0);
	CHECK_NUMBER(v, 90000000000);
	CHECK_NUMBER(sp_parse_duration("250ms", &v), 0);
	CHECK_NUMBER(v, 250000000);
	CHECK_NUMBER(sp_parse_duration("2", &v), 0);
	CHECK_NUMBER(v, 2000000000);
	CHECK_NUMBER(sp_parse_size("64M", &v), 0);
	CHECK_NUMBER(v, 64 << 20);
	CHECK_NUMBER(sp_parse_size("1.5KiB", &v), 0);
	CHECK_NUMBER(v, 1536);
	CHECK_NUMBER(sp_parse_count("997", 0, 1000, &v), 0);
	CHECK_NUMBER(v, 997);
	/* What is refused leaves the result alone. */
	static const char *const bad[] = {"",	 "s",	 "-1s", "+1",	" 1", "1 ",
					  "1.s", "1..2", "1e3", "10 s", "1x", ".5"};
	for (size_t i = 0; i < sp_array_size(bad); i++) {
		v = 7;
		CHECK_NUMBER(sp_parse_duration(bad[i], &v), -EINVAL);
		CHECK_NUMBER(v, 7);
	}
	CHECK_NUMBER(sp_parse_size("99999999999999999999", &v), -ERANGE);
	CHECK_NUMBER(sp_parse_count("1001", 0, 1000, &v), -ERANGE);
	CHECK_NUMBER(sp_parse_count("99999999999999999999999", 0, UINT64_MAX, &v), -ERANGE);
	CHECK_NUMBER(sp_parse_count("1x", 0, 1000, &v), -EINVAL);
}

static void test_showing(void)
{
	static const struct {
		double ns;
		const char *text;
	} durations[] = {
		{0, "0 ns"},
		{1.5, "1.5 ns"},
		{999, "999 ns"},
		{999.96, "1.000 us"},
		{12345, "12.35 us"},
		{999960, "1.000 ms"},
		{1.2e9, "1.200 s"},
		{59.95e9, "59.95 s"},
		{725e9, "12 m 05 s"},
		{3599.6e9, "60 m 00 s"},
		{11520e9, "3 h 12 m"},
		{-1500, "-1.500 us"},
		{NAN, "-"},
	};

	for (size_t i = 0; i < sp_array_size(durations); i++)
		CHECK_TEXT(sp_show_duration(durations[i].ns).text, durations[i].text);
	CHECK_TEXT(sp_show_size(950).text, "950 B");
	CHECK_TEXT(sp_show_size(1023.6).text, "1.00 KiB");
	CHECK_TEXT(sp_show_size(1.5 * (1 << 30)).text, "1.50 GiB");
	CHECK_TEXT(sp_show_count(0).text, "0");
	CHECK_TEXT(sp_show_count(999).text, "999");
	CHECK_TEXT(sp_show_count(12345678).text, "12,345,678");
	CHECK_TEXT(sp_show_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
	CHECK_TEXT(sp_show_rough(4560000).text, "4.56 M");
	CHECK_TEXT(sp_show_share(0.1234).text, "12.3 %");
	CHECK_TEXT(sp_show_share(NAN).text, "-");
}

static void check_escape(const char *text, const char *wanted)
{
	sp_cleanup(sp_freep) char *safe = sp_text_escape(text);

	CHECK_TEXT(safe, wanted);
}

static void test_text(void)
{
	check_escape("plain gr\xc3\xbc\xc3\x9f", "plain gr\xc3\xbc\xc3\x9f");
	check_escape("\x1b[31mred", "\\x1b[31mred");
	check_escape("a\nb\tc", "a\\nb\\tc");
	check_escape("\xc2\x9b", "\\u009b");		 /* a C1 control, as UTF-8 */
	check_escape("\x9b", "\\x9b");			 /* and raw */
	check_escape("\xe2\x80\xae", "\\u202e");	 /* turns the direction of writing */
	check_escape("\xc0\xaf\xff", "\\xc0\\xaf\\xff"); /* overlong, and never valid */
	check_escape("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* a surrogate */
	check_escape("\xe2\x82", "\\xe2\\x82");		 /* cut off */
	CHECK_NUMBER(sp_text_width("abc"), 3);
	CHECK_NUMBER(sp_text_width("\xe6\xbc\xa2\xe5\xad\x97"), 4);
	CHECK_NUMBER(sp_text_width("e\xcc\x81"), 1);
	CHECK_NUMBER(sp_text_fit("\xe6\xbc\xa2\xe5\xad\x97", 3), 3);
	CHECK_NUMBER(sp_text_distance("summary", "sumary"), 1);
	CHECK_NUMBER(sp_text_distance("lines", "liens"), 1);
	CHECK_NUMBER(sp_text_distance("", "abc"), 3);
}

static void test_table(void)
{
	struct sp_table *table = sp_table_new();
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	FILE *file = tmpfile();
	char line[256];

	sp_table_column(table, "name", SP_TABLE_LEFT);
	sp_table_column(table, "n", SP_TABLE_RIGHT);
	sp_table_cell(table, "%s", "\xe6\xbc\xa2");
	sp_table_cell(table, "%d", 5);
	sp_table_cell(table, "%s", "a\x1b[2J");
	sp_table_cell(table, "%d", 12345);
	CHECK_NUMBER(sp_table_print(table, file), 0);
	rewind(file);
	CHECK(fgets(line, sizeof(line), file));
	CHECK_TEXT(line, "name          n\n");
	CHECK(fgets(line, sizeof(line), file));
	CHECK_TEXT(line, "\xe6\xbc\xa2            5\n");
	CHECK(fgets(line, sizeof(line), file));
	CHECK_TEXT(line, "a\\x1b[2J  12345\n");
	fclose(file);
	fclose(out);
	free(text);
	sp_table_free(table);
}

static void test_json(void)
{
	char *text = NULL;
	size_t bytes;
	struct sp_json json = {.out = open_memstream(&text, &bytes), .compact = true};

	sp_json_open_object(&json, NULL);
	sp_json_text(&json, "a\"b", "x\\y\n\x01\xff");
	sp_json_open_array(&json, "list");
	sp_json_signed(&json, NULL, INT64_MIN);
	sp_json_unsigned(&json, NULL, UINT64_MAX);
	sp_json_real(&json, NULL, 0.5);
	sp_json_real(&json, NULL, INFINITY);
	sp_json_bool(&json, NULL, true);
	sp_json_close_array(&json);
	sp_json_open_array(&json, "empty");
	sp_json_close_array(&json);
	sp_json_close_object(&json);
	fclose(json.out);
	CHECK_TEXT(
		text,
		"{\"a\\\"b\": \"x\\\\y\\n\\u0001\xef\xbf\xbd\", \"list\": [-9223372036854775808, "
		"18446744073709551615, 0.5, null, true], \"empty\": []}");
	free(text);
}

static void test_maps(void)
{
	struct sp_idmap map = {0};
	struct sp_pool *pool = sp_pool_new();
	char name[32];
	uint32_t number;

	CHECK_NUMBER(sp_idmap_get(&map, 5), SP_IDMAP_NONE);
	for (uint32_t i = 0; i < 10000; i++)
		CHECK_NUMBER(sp_idmap_set(&map, (uint64_t)i << 32, i), 0);
	for (uint32_t i = 0; i < 10000; i++)
		CHECK_NUMBER(sp_idmap_get(&map, (uint64_t)i << 32), i);
	CHECK_NUMBER(sp_idmap_get(&map, 1), SP_IDMAP_NONE);
	sp_idmap_free(&map);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 5000; i++) {
			snprintf(name, sizeof(name), "name %u", i);
			CHECK_NUMBER(sp_pool_number(pool, name, &number), 0);
			CHECK_NUMBER(number, i);
			CHECK_TEXT(sp_pool_at(pool, i), name);
		}
	CHECK(sp_pool_add(pool, "name 77") == sp_pool_at(pool, 77));
	/* Strings longer than a chunk. */
	char *large = malloc(200001);
	memset(large, 'x', 200000);
	large[200000] = 0;
	CHECK_TEXT(sp_pool_add(pool, large), large);
	CHECK_TEXT(sp_pool_add(pool, "after"), "after");
	CHECK_TEXT(sp_pool_at(pool, 4999), "name 4999");
	free(large);
	sp_pool_free(pool);
}

static void check_parse(unsigned flags, const char *const *words, const char *wanted)
{
	static const struct sp_option options[] = {{"output", 'o', "DIR", "where"},
						   {"json", 300, NULL, "JSON"},
						   {"verbose", 'v', NULL, "more"},
						   {0}};
	struct sp_cli cli = {"test", "", "", NULL, options, flags};
	char *argv[16] = {(char *)"test"}, seen[256] = "";
	const char *arg;
	int argc = 1, key;
	struct sp_cli_parser parser;

	for (; *words; words++)
		argv[argc++] = (char *)*words;
	parser = sp_cli_parse(&cli, argc, argv);
	while ((key = sp_cli_next(&parser, &arg)) > 0)
		snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%s%s%s ",
			 key == 'o'   ? "o"
			 : key == 300 ? "json"
			 : key == 'v' ? "v"
				      : "operand",
			 arg ? "=" : "", arg ? arg : "");
	snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%d", key);
	if (key == SP_CLI_END && !(flags & SP_CLI_PERMUTE))
		snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), " at %d", parser.next);
	CHECK_TEXT(seen, wanted);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Columns, not bytes, come before the help. */
static void test_cli_help(void)
{
	static const struct sp_option options[] = {{"pid", 'p', "PID[,PID…]", "attach"}, {0}};
	static const struct sp_cli cli = {"test", "", "", NULL, options, 0};
	sp_cleanup(sp_freep) char *text = NULL;
	size_t size;
	FILE *terminal = stdout;

	stdout = open_memstream(&text, &size);
	sp_cli_print_help(&cli);
	fclose(stdout);
	stdout = terminal;
	CHECK(strstr(text, "\n  -p, --pid PID[,PID…]    attach\n"));
}

static void test_cli(void)
{
	check_parse(0, WORDS("-o", "d", "--json", "prog", "-v"), "o=d json 0 at 4");
	check_parse(0, WORDS("-vvod", "--", "-v"), "v v o=d 0 at 3");
	check_parse(0, WORDS("--output=", "-v", "-"), "o= v 0 at 3");
	check_parse(SP_CLI_PERMUTE, WORDS("a", "--output=x=y", "b", "--", "--json"),
		    "operand=a o=x=y operand=b operand=--json 0");
	check_parse(0, WORDS("--jsn"), "-2");
	check_parse(0, WORDS("--json=1"), "-2");
	check_parse(0, WORDS("-x"), "-2");
	check_parse(0, WORDS("--output"), "-2");
	check_parse(0, WORDS("-o"), "-2");
	check_parse(0, WORDS("--js"), "-2"); /* no abbreviations */
	check_parse(0, WORDS("--help"), "-1");
	CHECK_TEXT(sp_cli_nearest("sumary", WORDS("info", "summary", "lines")), "summary");
	CHECK_TEXT(sp_cli_nearest("rec", WORDS("info", "recover")), "recover");
	CHECK(sp_cli_nearest("zzzzz", WORDS("info", "recover")) == NULL);
	CHECK(sp_cli_list_has("h5,sps", "sps"));
	CHECK(!sp_cli_list_has("h5,sps", "sp"));
}

int main(void)
{
	test_parsing();
	test_showing();
	test_text();
	test_table();
	test_json();
	test_maps();
	test_cli_help();
	test_cli();
	return check_result();
}
