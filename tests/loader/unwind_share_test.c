/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_share_test.c - the room for unwind tables is shared out: rules go with the tables that
 * name them, and no user's files leave those of others without.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/unwind_rules.h"
#include "tests/loader/check.h"
#include "tests/loader/unwind_tables.h"
#include "userspace/base/cleanup.h"

/* Rules come and go: equal ones are one, and all that are there are found again. */
static void test_rules_come_and_go(void)
{
	enum { KINDS = 3000, STEPS = 200000 };
	static uint16_t number[KINDS];
	static unsigned users[KINDS];
	struct sp_unwind_shares shares = {.room[SP_UNWIND_SHARED_RULES] = SP_UNWIND_RULES};
	struct sp_unwind_share *share = sp_unwind_share_of(&shares, 1000);
	struct sp_unwind_rule *array = calloc(SP_UNWIND_RULES, sizeof(*array));
	struct sp_unwind_rules *rules;
	size_t there = 0;

	CHECK(share == sp_unwind_share_of(&shares, 1000), "one share a user");
	CHECK(array && sp_unwind_rules_new(array, &rules) == 0, "rules");
	for (int step = 0; step < STEPS; step++) {
		unsigned i = (unsigned)any(KINDS);
		struct sp_unwind_rule rule = rule_of(i + 1);
		uint16_t got = 0;

		if (any(step % 20000 < 10000 ? 3 : 2)) { /* more, then fewer */
			CHECK(sp_unwind_rules_take(rules, &rule, share, &got) == 0, "take");
			CHECK(got && (!users[i] || got == number[i]), "rule %u is another", i);
			CHECK(!memcmp(&array[got], &rule, sizeof(rule)), "rule %u is wrong", i);
			number[i] = got;
			there += !users[i]++;
		} else if (users[i]) {
			sp_unwind_rules_give(rules, number[i]);
			there -= !--users[i];
		}
		CHECK(sp_unwind_rules_used(rules) == there + 1, "%zu rules, not %zu",
		      sp_unwind_rules_used(rules), there + 1);
		CHECK(share->held[SP_UNWIND_SHARED_RULES] == there, "the share has another number");
	}
	for (unsigned i = 0; i < KINDS; i++)
		for (; users[i]; users[i]--)
			sp_unwind_rules_give(rules, number[i]);
	CHECK(sp_unwind_rules_used(rules) == 1 && !share->held[SP_UNWIND_SHARED_RULES], "all gone");
	sp_unwind_rules_free(rules);
	sp_unwind_shares_clear(&shares);
	free(array);
}

/* Nobody's made-up libraries leave the others without: tables of 8000 rules, all mapped. */
static void test_shares_of_rules(void)
{
	/* Who, and how many of his fit: half of all; seven eighths together; root what is left. */
	static const struct {
		uid_t uid;
		unsigned tries, fit;
	} users[] = {{1000, 7, 4}, {1001, 7, 3}, {0, 3, 1}, {1000, 1, 0}};
	struct sp_unwind_cache_stats stats;
	struct sp_unwind_file *first = NULL;
	struct sp_unwind_cache *cache;
	struct sp_bpf bpf;
	unsigned made = 0;

	cache = open_cache(&bpf, 8);
	for (size_t i = 0; i < sp_array_size(users); i++) {
		unsigned fit = 0;

		for (unsigned k = 0; k < users[i].tries; k++, made++) {
			struct sp_unwind_table t = make_table(8000, 0, 4, 8000, 1 + 8000 * made);
			struct sp_unwind_file *file;
			int r;

			file = add_file_of(cache, users[i].uid, made, SECOND);
			sp_unwind_cache_hold(file);
			first = made ? first : file;
			r = sp_unwind_cache_place(cache, file, &t, SECOND);
			fit += r == 0;
			CHECK(r == (r == 0	   ? 0
				    : users[i].uid ? -EDQUOT
						   : -ENOSPC) &&
				      (r == 0 || file->why),
			      "table %u of user %u: %d", k, (unsigned)users[i].uid, r);
			free_table(&t);
		}
		CHECK(fit == users[i].fit, "%u tables of user %u fit", fit, users[i].uid);
	}
	sp_unwind_cache_stats(cache, &stats);
	CHECK(stats.over_share == 3 + 4 + 1, "%zu for their share", stats.over_share);
	/* A user's own unused tables make room for his new ones, and those alone. */
	sp_unwind_cache_release(first, SECOND);
	for (int i = 0; i < 2; i++) {
		struct sp_unwind_table t = make_table(8000, 0, 4, 8000, 1 + 8000 * made);
		struct sp_unwind_file *file = add_file_of(cache, i ? 1000 : 1001, made++, SECOND);

		CHECK(sp_unwind_cache_place(cache, file, &t, 4 * SECOND) == (i ? 0 : -EDQUOT),
		      "in a place of user 1000");
		free_table(&t);
	}
	CHECK(first->state == SP_UNWIND_ABSENT, "it was thrown out");
	sp_unwind_cache_free(cache);
	fake_close(&bpf);
}

static void test_shares_of_the_rest(void)
{
	struct sp_unwind_table t = make_table(100000, 0, 4, 3, 1);
	struct sp_unwind_cache *cache;
	struct sp_unwind_file *file;
	struct sp_bpf bpf;
	unsigned fit = 0, files = 0;

	cache = open_cache(&bpf, 8);
	sp_unwind_cache_limit(cache, 8); /* a million rows */
	for (unsigned i = 0; i < 12; i++) {
		file = add_file_of(cache, 1000, i, SECOND);
		sp_unwind_cache_hold(file);
		fit += sp_unwind_cache_place(cache, file, &t, SECOND) == 0;
	}
	CHECK(fit == 5, "%u tables fit into half of it", fit);
	file = add_file(cache, 100, SECOND);
	CHECK(sp_unwind_cache_place(cache, file, &t, SECOND) == 0, "others have room");
	check_parts(&bpf, file, &t);
	for (unsigned i = 0; i < 70000; i++) {
		file = add_file_of(cache, 1000, 1000 + i, SECOND);
		if (file)
			sp_unwind_cache_hold(file);
		files += !!file;
	}
	CHECK(files > 30000 && files <= 32768, "%u files", files);
	CHECK(add_file_of(cache, 1001, 500, SECOND), "another user's");
	sp_unwind_cache_free(cache);
	fake_close(&bpf);
	free_table(&t);
}

int main(void)
{
	test_rules_come_and_go();
	test_shares_of_rules();
	test_shares_of_the_rest();
	return check_done();
}
