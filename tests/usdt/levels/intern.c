/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sp_region_intern() from many threads at once, and of many names: equal names, equal handles, whole records.
 * The stand-ins for the stubs see what a handle fires.
 */
#include <pthread.h>
#include <stdio.h>

#include "regions.h"

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
			exit(1); \
		} \
	} while (0)
#define NAMES 700
#define THREADS 4

static sp_region_t seen[THREADS][NAMES];

static void *intern_all(void *argument)
{
	unsigned thread = (unsigned)(uintptr_t)argument, i;
	char name[64];

	for (i = 0; i < NAMES; i++) {
		unsigned k = thread & 1 ? NAMES - 1 - i : i;

		snprintf(name, sizeof(name), "name %u", k);
		seen[thread][k] = k % 3 ? sp_region_intern(name)
					: sp_region_intern_at(name, "file", k + 1, "t,u");
		memset(name, 'x', sizeof(name)); /* it is copied */
	}
	return NULL;
}

static void test_threads(void)
{
	unsigned i, k, used[64] = {0}, numbered = 0;
	pthread_t thread[THREADS];
	char name[64];

	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, intern_all, (void *)(uintptr_t)i));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	for (k = 0; k < NAMES; k++) {
		sp_region_t r = seen[0][k];

		for (i = 1; i < THREADS; i++)
			CHECK(seen[i][k] == r);
		snprintf(name, sizeof(name), "name %u", k);
		CHECK(!strcmp(r->name, name) && r->reserved == 0);
		CHECK(k % 3 ? !r->file && !r->tags && !r->line
			    : !strcmp(r->file, "file") && !strcmp(r->tags, "t,u") &&
				      r->line == k + 1);
		if (r->level_index != UINT32_MAX) {
			CHECK(r->level_index < 64 && !used[r->level_index]++);
			numbered++;
		}
	}
	/* A lost race costs a number, and there cannot be many. */
	CHECK(numbered > 32);
}

#define MANY 30000

/* The time of a look-up is the depth of its record, and that hardly grows with the number of names. */
static unsigned depth(const struct sp_name_v2 *at, unsigned *count)
{
	unsigned deepest = 0, i;

	if (!at)
		return 0;
	++*count;
	for (i = 0; i < 4; i++) {
		unsigned below = depth(at->child[i], count);

		deepest = below > deepest ? below : deepest;
	}
	return deepest + 1;
}

static void test_many(void)
{
	static sp_region_t handle[MANY];
	unsigned i, count = 0, deepest = 0;
	char name[64];

	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "solver: level %u", i);
		handle[i] = sp_region_intern(name);
		CHECK(handle[i] && !strcmp(handle[i]->name, name));
	}
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "solver: level %u", i);
		CHECK(sp_region_intern(name) == handle[i]);
	}
	for (i = 0; i < 256; i++) {
		unsigned below = depth(sp_names_v2[i], &count);

		deepest = below > deepest ? below : deepest;
	}
	CHECK(count >= MANY);
	CHECK(deepest <= 12); /* 117 names a root: 3.4 levels if all were full */
}

static void test_records(void)
{
	sp_region_t r;

	CHECK(sizeof(struct sp_region_dyn_) == 48);
	CHECK(sp_region_intern(NULL) == NULL);
	sp_region_begin(NULL);
	sp_region_end(NULL);
	CHECK(sp_region_intern("a")->hash == UINT64_C(0xaf63dc4c8601ec8c));
	CHECK(sp_region_intern("foobar")->hash == UINT64_C(0x85944171f73967e8));
	CHECK(sp_region_intern("")->hash == UINT64_C(0xcbf29ce484222325));
	CHECK(sp_region_intern("\xc3\xa4 \xff")->name[3] == '\xff');

	/* What is known later is added, what is known first stays. */
	r = sp_region_intern("late");
	CHECK(!r->file && !r->line && !r->tags);
	CHECK(sp_region_intern_at("late", "one.c", 11, NULL) == r);
	CHECK(!strcmp(r->file, "one.c") && r->line == 11 && !r->tags);
	CHECK(sp_region_intern_at("late", "two.c", 22, "io") == r);
	CHECK(!strcmp(r->file, "one.c") && r->line == 11 && !strcmp(r->tags, "io"));
}

static void test_fire(void)
{
	sp_region_t r = sp_region_intern("fires");

	sp_region_begin(r);
	sp_region_end(r);
	CHECK(!fired.begins && !fired.ends);
	sp_begin_sema_v1 = 1;
	sp_region_begin(r);
	CHECK(fired.begins == 1 && fired.desc == r && fired.name == r->name);
	CHECK(fired.hash == r->hash && fired.skipped == 0);
	sp_region_end(r);
	CHECK(!fired.ends);
	sp_end_sema_v1 = 1;
	sp_region_end(r);
	CHECK(fired.ends == 1 && fired.desc == r && fired.name == r->name && fired.hash == r->hash);
	sp_region_begin(NULL);
	sp_region_end(NULL);
	CHECK(fired.begins == 1 && fired.ends == 1);
}

int main(void)
{
	test_records();
	test_fire();
	test_threads();
	test_many();
	return 0;
}
