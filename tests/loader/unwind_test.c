/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_test.c - the recorder's side of unwinding without a kernel: places, tables in chunks, and
 * address spaces, by random operations against models that are too simple to be wrong.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/unwind_known.h"
#include "loader/unwind_runs.h"
#include "loader/unwind_space.h"
#include "tests/loader/check.h"
#include "tests/loader/unwind_fake.h"
#include "tests/loader/unwind_tables.h"

/* ---- places ---- */

#define PLACES 512

/* Model: for each place who has it (0 nobody), and from when on it is free. */
static void test_runs(uint64_t boundary)
{
	struct sp_unwind_runs *runs;
	struct {
		uint64_t first, count;
	} taken[PLACES];
	uint64_t open[PLACES] = {0}, now = 1;
	bool used[PLACES] = {false};
	size_t count = 0;

	CHECK(sp_unwind_runs_new(boundary, &runs) == 0, "runs");
	for (uint64_t at = 0, n = boundary ? boundary : PLACES; at < PLACES; at += n)
		sp_unwind_runs_give(runs, at, n, 0);
	for (int step = 0; step < 20000; step++) {
		uint64_t n = 1 + any(40), first = 0;

		now += any(10);
		if (any(2) && count < PLACES) {
			bool fits = false, later = false;
			int r = sp_unwind_runs_take(runs, n, now, &first);

			for (uint64_t at = 0; at + n <= PLACES; at++) {
				bool can = true, soon = true;

				if (boundary && at / boundary != (at + n - 1) / boundary)
					continue;
				for (uint64_t k = at; k < at + n; k++) {
					soon &= !used[k];
					can &= !used[k] && open[k] <= now;
				}
				fits |= can;
				later |= soon;
			}
			CHECK((r == 0) == fits, "%llu places at step %d: %d", (unsigned long long)n,
			      step, r);
			CHECK(r != -ENOSPC || !later, "there will be room, but it says no");
			if (r)
				continue;
			for (uint64_t k = first; k < first + n; k++) {
				CHECK(k < PLACES && !used[k] && open[k] <= now,
				      "place %llu is not free", (unsigned long long)k);
				used[k] = true;
			}
			taken[count].first = first;
			taken[count++].count = n;
		} else if (count) {
			size_t at = (size_t)any(count);
			uint64_t until = any(2) ? now + any(100) : 0;

			for (uint64_t k = 0; k < taken[at].count; k++) {
				used[taken[at].first + k] = false;
				open[taken[at].first + k] = until;
			}
			sp_unwind_runs_give(runs, taken[at].first, taken[at].count, until);
			taken[at] = taken[--count];
		}
	}
	sp_unwind_runs_free(runs);
}

/* ---- tables ---- */

static void test_cache(void)
{
	struct sp_bpf bpf;
	struct sp_unwind_cache *cache;
	struct sp_unwind_cache_stats stats;
	struct sp_unwind_table small = make_table(1000, 0x1000, 4, 7, 1);
	struct sp_unwind_table large = make_table(300000, 0x1000, 4, 9, 1);
	struct sp_unwind_table wide = make_table(64, 0x400000, 1ull << 28, 3, 1);
	struct sp_unwind_file *a, *b, *c;
	uint64_t now = 10 * SECOND;

	cache = open_cache(&bpf, 3);
	a = add_file(cache, 1, now);
	CHECK(a == add_file(cache, 1, now) && a != add_file(cache, 2, now), "one key, one file");
	CHECK(sp_unwind_cache_place(cache, a, &small, now) == 0 && a->state == SP_UNWIND_READY,
	      "a table");
	check_parts(&bpf, a, &small);
	b = add_file(cache, 2, now);
	CHECK(sp_unwind_cache_place(cache, b, &large, now) == 0, "one over several chunks");
	CHECK(b->part_count >= 3, "%zu parts", b->part_count);
	check_parts(&bpf, b, &large);
	check_parts(&bpf, a, &small);
	sp_unwind_cache_stats(cache, &stats);
	CHECK(stats.rules == 10, "equal rules are one: %zu", stats.rules);
	CHECK(stats.tables == 2 && stats.rows == 301000, "%zu rows", stats.rows);

	c = add_file(cache, 3, now);
	CHECK(sp_unwind_cache_place(cache, c, &wide, now) == 0, "one of 16 GiB");
	CHECK(c->part_count >= 4, "%zu parts", c->part_count);
	check_parts(&bpf, c, &wide);

	/* Full: nothing can be thrown out that is mapped, or was a moment ago. */
	c = add_file(cache, 4, now);
	sp_unwind_cache_hold(b);
	CHECK(sp_unwind_cache_place(cache, c, &large, now + 9 * SECOND) == -ENOSPC, "it is full");
	CHECK(c->state == SP_UNWIND_REFUSED && c->why && !c->part_count, "and says so");
	CHECK(a->state == SP_UNWIND_ABSENT, "what was unused is gone");
	check_parts(&bpf, b, &large);
	sp_unwind_cache_release(b, now + 10 * SECOND);
	CHECK(sp_unwind_cache_place(cache, c, &large, now + 10 * SECOND) == -ENOSPC, "too early");
	CHECK(sp_unwind_cache_place(cache, c, &large, now + 12 * SECOND) == 0, "now there is room");
	CHECK(b->state == SP_UNWIND_ABSENT && !b->part_count, "of the one that was thrown out");
	check_parts(&bpf, c, &large);
	sp_unwind_cache_stats(cache, &stats);
	CHECK(stats.evicted >= 2 && stats.failed == 2, "%zu thrown out, %zu failed", stats.evicted,
	      stats.failed);
	sp_unwind_cache_fail(cache, b, -SP_E_MISSING, "none", now);
	CHECK(b->state == SP_UNWIND_MISSING, "no table is no failure");
	sp_unwind_cache_fail(cache, b, -SP_E_DAMAGED, "bad", now);
	CHECK(b->state == SP_UNWIND_REFUSED && !strcmp(b->why, "bad"), "a damaged one is");
	sp_unwind_cache_free(cache);
	fake_close(&bpf);
	free_table(&small);
	free_table(&large);
	free_table(&wide);
}

static void test_rules(void)
{
	struct sp_bpf bpf;
	struct sp_unwind_cache *cache;
	struct sp_unwind_cache_stats stats;
	struct sp_unwind_table t[9];
	struct sp_unwind_file *file[9];
	unsigned placed = 0;

	cache = open_cache(&bpf, 8);
	for (unsigned i = 0; i < 9; i++) {
		t[i] = make_table(8000, 0, 4, 8000, 1 + 8000 * i);
		file[i] = add_file(cache, i, SECOND);
		sp_unwind_cache_hold(file[i]);
		if (sp_unwind_cache_place(cache, file[i], &t[i], SECOND) == 0) {
			placed++;
			check_parts(&bpf, file[i], &t[i]);
		}
	}
	CHECK(placed == 8, "%u tables of 8000 rules each fit", placed);
	CHECK(file[8]->state == SP_UNWIND_REFUSED && strstr(file[8]->why, "rules"),
	      "the ninth does not");
	sp_unwind_cache_stats(cache, &stats);
	CHECK(stats.rules == 64001, "%zu rules: what did not fit took none", stats.rules);
	/* The rules of what is mapped no longer are free for others. */
	sp_unwind_cache_release(file[3], 2 * SECOND);
	CHECK(sp_unwind_cache_place(cache, file[8], &t[8], 5 * SECOND / 2) == -ENOSPC, "too early");
	CHECK(sp_unwind_cache_place(cache, file[8], &t[8], 4 * SECOND) == 0, "now it fits");
	CHECK(file[3]->state == SP_UNWIND_ABSENT, "in another's place");
	sp_unwind_cache_stats(cache, &stats);
	CHECK(stats.rules == 64001, "%zu rules", stats.rules);
	for (unsigned i = 0; i < 9; i++) {
		if (i != 3)
			check_parts(&bpf, file[i], &t[i]);
		free_table(&t[i]);
	}
	sp_unwind_cache_free(cache);
	fake_close(&bpf);
}

/* What the kernel side is told of a file: where in it which rows hold, until they are thrown out.
 */
static void test_shown(void)
{
	struct sp_bpf bpf;
	struct sp_unwind_table table = make_table(1000, 0x401000, 4, 7, 1);
	struct sp_unwind_table large = make_table(131000, 0x1000, 4, 7, 1);
	struct sp_unwind_cache *cache = open_cache(&bpf, 1);
	struct sp_unwind_file *a = add_file(cache, 1, SECOND), *b = add_file(cache, 2, SECOND);
	const struct sp_bpf_file *shown = &bpf.files[0].file;

	/* The code before the rows, and that of the last one, behind them. */
	table.segment[0] = (struct sp_unwind_segment){0x400800, 0x1800, 0x2000};
	CHECK(sp_unwind_cache_place(cache, a, &table, SECOND) == 0, "a table");
	CHECK(bpf.file_count == 1 && bpf.files[0].key.inode == 1, "%zu files", bpf.file_count);
	CHECK(bpf.files[0].key.device == 1, "device %x", bpf.files[0].key.device);
	CHECK(shown->count == 1 && shown->slices[0].count == 1000, "%u slices", shown->count);
	CHECK(shown->slices[0].from == 0x1800 && shown->slices[0].to == 0x3800, "from %llx to %llx",
	      (unsigned long long)shown->slices[0].from, (unsigned long long)shown->slices[0].to);
	CHECK(shown->slices[0].base == 0x1800, "base %llx",
	      (unsigned long long)shown->slices[0].base);
	CHECK(sp_unwind_cache_place(cache, b, &large, 9 * SECOND) == 0, "another one");
	CHECK(a->state == SP_UNWIND_ABSENT && !shown->count, "it is shown though it is gone");
	sp_unwind_cache_free(cache);
	fake_close(&bpf);
	free_table(&table);
	free_table(&large);
}

/* ---- address spaces ---- */

#define PAGE 0x1000ull
#define PAGES 200
#define BASE 0x7f0000000000ull
#define FILES 6
#define FILE_PAGES 40
#define MOST 24 /* processes at a time */

struct model {
	uint32_t process, parent; /* 0: free */
	uint64_t born;
	struct {
		int file; /* -1 none, FILES: made at run time */
		uint64_t offset;
	} pages[PAGES];
};

struct world {
	struct sp_bpf bpf;
	struct sp_unwind_cache *cache;
	struct sp_unwind_spaces *spaces;
	struct sp_unwind_file *files[FILES];
	struct sp_unwind_table tables[FILES];
	struct model models[MOST];
	uint32_t last;
	uint64_t now;
};

static void model_map(struct world *w, struct model *m, size_t first, size_t count, int file,
		      uint64_t offset, uint64_t time)
{
	for (size_t i = 0; i < count; i++) {
		m->pages[first + i].file = file;
		m->pages[first + i].offset = file < FILES ? offset + i * PAGE : 0;
	}
	for (size_t i = 0; i < MOST; i++)
		if (w->models[i].process && w->models[i].parent == m->process &&
		    w->models[i].born > time)
			model_map(w, &w->models[i], first, count, file, offset, time);
}

static void check_page(struct world *w, const struct model *m, size_t page, bool committed)
{
	uint64_t address = BASE + page * PAGE + any(PAGE);
	int file = m->pages[page].file;
	const struct sp_unwind_piece *piece = sp_unwind_spaces_find(w->spaces, m->process, address);
	const struct sp_unwind_range *range;
	const struct sp_unwind_file *f = file >= 0 && file < FILES ? w->files[file] : NULL;
	bool good = true;
	uint64_t at;

	CHECK(!!piece == (file >= 0), "process %u, page %zu: piece %p, file %d", m->process, page,
	      (void *)piece, file);
	if (!piece || file < 0)
		return;
	CHECK(piece->file == f, "process %u, page %zu: another file", m->process, page);
	at = piece->offset + (address - piece->start);
	CHECK(!f || at / PAGE * PAGE == m->pages[page].offset, "page %zu: offset %llx", page,
	      (unsigned long long)at);
	if (!committed)
		return;
	range = fake_find(&w->bpf, m->process, address, &good);
	CHECK(good, "the ranges of process %u are bad", m->process);
	if (!f) {
		CHECK(range && range->flags == SP_RANGE_ANONYMOUS && !range->count, "anonymous");
	} else if (f->state != SP_UNWIND_READY) {
		CHECK(range && range->flags == SP_RANGE_PENDING && !range->count, "pending");
	} else {
		const struct sp_unwind_table *t = &w->tables[file];
		const struct sp_unwind_segment *s = &t->segment[0];
		uint64_t link = at - s->file_offset + s->address;
		ptrdiff_t row = -1;

		if (at < s->file_offset || at >= s->file_offset + s->file_size) {
			CHECK(!range, "there is no code at %llx", (unsigned long long)at);
			return;
		}
		for (size_t i = 0; i < t->rows && t->pc[i] <= link; i++)
			row = (ptrdiff_t)i;
		if (row < 0) {
			CHECK(range && fake_rule(&w->bpf, range, address) < 0,
			      "no row holds at %llx", (unsigned long long)link);
			return;
		}
		CHECK(range && range->count, "page %zu of process %u has no rows", page,
		      m->process);
		if (range && range->count) {
			int rule = fake_rule(&w->bpf, range, address);

			CHECK(rule > 0 && !memcmp(&w->bpf.rules[rule], &t->rules_at[t->rule[row]],
						  sizeof(struct sp_unwind_rule)),
			      "page %zu of process %u: rule %d", page, m->process, rule);
		}
	}
}

static struct model *any_process(struct world *w)
{
	struct model *m = &w->models[any(MOST)];

	return m->process ? m : NULL;
}

static void do_fork(struct world *w)
{
	struct model *from = any_process(w), *to = &w->models[any(MOST)];

	if (to->process)
		return;
	if (from)
		*to = *from;
	else
		for (size_t i = 0; i < PAGES; i++)
			to->pages[i].file = -1;
	to->parent = from ? from->process : 0;
	to->process = ++w->last;
	to->born = w->now;
	CHECK(sp_unwind_spaces_add(w->spaces, to->process, to->parent, w->now) == 0, "fork");
}

/* Now and then it is told of late, after a fork that came behind it. */
static void do_map(struct world *w)
{
	struct model *m = any_process(w);
	uint64_t time = any(4) ? w->now : w->now - any(SECOND / 100);
	int file = (int)any(FILES + 1);
	size_t first = (size_t)any(PAGES), count = 1 + (size_t)any(any(8) ? 8 : 60);
	uint64_t offset = any(FILE_PAGES) * PAGE;
	struct sp_unwind_piece piece = {.flags = file == FILES ? SP_RANGE_ANONYMOUS : 0};

	if (!m || time < m->born)
		return;
	if (count > PAGES - first)
		count = PAGES - first;
	piece.start = BASE + first * PAGE;
	piece.end = piece.start + count * PAGE;
	piece.offset = offset;
	piece.file = file < FILES ? w->files[file] : NULL;
	CHECK(sp_unwind_spaces_map(w->spaces, m->process, &piece, time) == 0, "map");
	model_map(w, m, first, count, file, offset, time);
}

static void do_exit(struct world *w)
{
	struct model *m = any_process(w);

	if (!m)
		return;
	sp_unwind_spaces_remove(w->spaces, m->process, w->now);
	CHECK(!w->bpf.has_space[m->process], "the kernel still has process %u", m->process);
	m->process = 0;
}

static void do_table(struct world *w)
{
	size_t i = (size_t)any(FILES);

	if (w->files[i]->state != SP_UNWIND_WANTED)
		return;
	CHECK(sp_unwind_cache_place(w->cache, w->files[i], &w->tables[i], w->now) == 0, "place");
	sp_unwind_spaces_changed(w->spaces, w->files[i]);
}

static void test_spaces(uint64_t number)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sp_unwind_spaces_stats stats;

	seed = number * 0x9e3779b97f4a7c15u + 1;
	if (!w)
		abort();
	w->cache = open_cache(&w->bpf, 4);
	CHECK(sp_unwind_spaces_new(&w->bpf, &w->spaces) == 0, "spaces");
	w->now = SECOND;
	for (size_t i = 0; i < FILES; i++) {
		w->files[i] = add_file(w->cache, i + 1, w->now);
		w->files[i]->state = SP_UNWIND_WANTED;
		/* The first rows are behind the segment's begin. */
		w->tables[i] = make_table(200 + i * 50, 0x400000 * i + 0x40, 1 + 256 * i, 5,
					  (unsigned)(1 + 3 * i));
		w->tables[i].segment[0].address -= 0x40;
	}
	for (int step = 0; step < 4000; step++) {
		w->now += any(SECOND / 100);
		switch (any(16)) {
		case 0:
			do_fork(w);
			break;
		case 1:
			if (!any(3))
				do_exit(w);
			break;
		case 2:
			if (!any(50))
				do_table(w);
			break;
		case 3:
			sp_unwind_spaces_commit(w->spaces, w->now);
			break;
		default:
			do_map(w);
		}
		if (step % 200)
			continue;
		/* Twice: changes of a space wait for each other. */
		sp_unwind_spaces_commit(w->spaces, w->now += SECOND);
		sp_unwind_spaces_commit(w->spaces, w->now += SECOND);
		for (size_t i = 0; i < MOST; i++)
			for (size_t page = 0; page < PAGES && w->models[i].process; page++)
				check_page(w, &w->models[i], page, true);
	}
	for (size_t i = 0; i < MOST; i++)
		if (w->models[i].process)
			sp_unwind_spaces_remove(w->spaces, w->models[i].process, w->now);
	sp_unwind_spaces_stats(w->spaces, &stats);
	CHECK(stats.spaces == 0 && stats.ranges == 0 && stats.unfit == 0,
	      "left: %zu spaces, %zu ranges", stats.spaces, stats.ranges);
	for (size_t i = 0; i < FILES; i++)
		CHECK(w->files[i]->users == 0, "file %zu has %zu users", i, w->files[i]->users);
	sp_unwind_spaces_free(w->spaces);
	sp_unwind_cache_free(w->cache);
	fake_close(&w->bpf);
	for (size_t i = 0; i < FILES; i++)
		free_table(&w->tables[i]);
	free(w);
}

/* More than there is room for: counted, and tried again when there is room. */
static void test_full(void)
{
	struct sp_bpf bpf;
	struct sp_unwind_spaces *spaces;
	struct sp_unwind_spaces_stats stats;
	struct sp_unwind_piece piece = {.flags = SP_RANGE_NO_TABLE};
	uint64_t now = SECOND;
	bool good = true;
	int r = 0;

	fake_open(&bpf, 1);
	CHECK(sp_unwind_spaces_new(&bpf, &spaces) == 0, "spaces");
	for (uint32_t p = 1; p <= 17; p++) {
		CHECK(sp_unwind_spaces_add(spaces, p, 0, now) == 0, "add");
		for (uint64_t i = 0; i <= SP_UNWIND_MOST_PIECES; i++) {
			piece.start = BASE + 2 * i * PAGE;
			piece.end = piece.start + PAGE;
			r = sp_unwind_spaces_map(spaces, p, &piece, now);
			CHECK((r == 0) == (i < SP_UNWIND_MOST_PIECES), "mapping %llu: %d",
			      (unsigned long long)i, r);
		}
	}
	CHECK(r == -E2BIG, "too many mappings: %d", r);
	sp_unwind_spaces_commit(spaces, now);
	sp_unwind_spaces_stats(spaces, &stats);
	CHECK(stats.ranges == SP_UNWIND_RANGES && stats.unfit == 1, "%zu ranges, %llu unfit",
	      stats.ranges, (unsigned long long)stats.unfit);
	sp_unwind_spaces_remove(spaces, 1, now);
	sp_unwind_spaces_remove(spaces, 2, now);
	now += 3 * SECOND;
	sp_unwind_spaces_commit(spaces, now);
	sp_unwind_spaces_stats(spaces, &stats);
	CHECK(stats.ranges == 15 * SP_UNWIND_MOST_PIECES, "%zu ranges", stats.ranges);
	for (uint32_t p = 3; p <= 17; p++)
		CHECK(fake_find(&bpf, p, BASE + 4000 * PAGE, &good) && good, "process %u", p);
	CHECK(sp_unwind_spaces_add(spaces, 3, 0, now) == -EEXIST, "twice");
	CHECK(sp_unwind_spaces_add(spaces, 99, 98, now) == -ENOENT, "an unknown parent");
	CHECK(sp_unwind_spaces_map(spaces, 98, &piece, now) == -ENOENT, "an unknown process");
	CHECK(!sp_unwind_spaces_find(spaces, 98, BASE), "nothing there");
	sp_unwind_spaces_free(spaces);
	fake_close(&bpf);
}

/* Sharing: a fork costs no ranges, and what is told again changes nothing. */
static void test_sharing(void)
{
	struct sp_bpf bpf;
	struct sp_unwind_spaces *spaces;
	struct sp_unwind_spaces_stats stats;
	struct sp_unwind_piece piece = {
		.start = BASE, .end = BASE + PAGE, .flags = SP_RANGE_ANONYMOUS};
	unsigned updates;

	fake_open(&bpf, 1);
	CHECK(sp_unwind_spaces_new(&bpf, &spaces) == 0, "spaces");
	(void)sp_unwind_spaces_add(spaces, 1, 0, 1);
	(void)sp_unwind_spaces_map(spaces, 1, &piece, 1);
	sp_unwind_spaces_commit(spaces, SECOND);
	for (uint32_t p = 2; p < 1000; p++)
		CHECK(sp_unwind_spaces_add(spaces, p, p - 1, p) == 0, "fork");
	sp_unwind_spaces_commit(spaces, 2 * SECOND);
	sp_unwind_spaces_stats(spaces, &stats);
	CHECK(stats.ranges == 1, "%zu ranges", stats.ranges);
	CHECK(bpf.has_space[999] && bpf.spaces[999].count == 1, "all have them");
	updates = bpf.updates;
	(void)sp_unwind_spaces_map(spaces, 5, &piece, 2 * SECOND);
	sp_unwind_spaces_commit(spaces, 3 * SECOND);
	CHECK(bpf.updates == updates, "a mapping that was there");
	piece.start = BASE + 2 * PAGE;
	piece.end = BASE + 3 * PAGE;
	(void)sp_unwind_spaces_map(spaces, 5, &piece, 3 * SECOND);
	sp_unwind_spaces_commit(spaces, 4 * SECOND);
	sp_unwind_spaces_stats(spaces, &stats);
	CHECK(stats.ranges == 3 && bpf.updates == updates + 1, "%zu ranges", stats.ranges);
	sp_unwind_spaces_free(spaces);
	fake_close(&bpf);
}

/* What the kernel may still be reading is left alone. */
static void test_grace(void)
{
	struct sp_bpf bpf;
	struct sp_unwind_spaces *spaces;
	struct sp_unwind_piece piece = {.flags = SP_RANGE_ANONYMOUS};
	struct sp_unwind_range
		last[100]; /* the last range of the space, after each step of 20 ms */
	uint32_t place[100];

	fake_open(&bpf, 1);
	CHECK(sp_unwind_spaces_new(&bpf, &spaces) == 0, "spaces");
	(void)sp_unwind_spaces_add(spaces, 1, 0, 1);
	for (uint64_t i = 0; i < 100; i++) {
		piece.start = BASE + 2 * i * PAGE;
		piece.end = piece.start + PAGE;
		(void)sp_unwind_spaces_map(spaces, 1, &piece, 1);
		sp_unwind_spaces_commit(spaces, SECOND + i * SECOND / 50);
		CHECK(bpf.spaces[1].count == i + 1, "%u ranges", bpf.spaces[1].count);
		place[i] = bpf.spaces[1].first + (uint32_t)i;
		last[i] = bpf.ranges[place[i]];
		for (uint64_t k = i > 49 ? i - 49 : 0; k < i; k++)
			CHECK(!memcmp(&last[k], &bpf.ranges[place[k]], sizeof(last[k])),
			      "what was used %llu ms ago is written over",
			      (unsigned long long)(20 * (i - k)));
	}
	CHECK(place[99] < 5000, "places are not used again");
	sp_unwind_spaces_free(spaces);
	fake_close(&bpf);
}

/* Segments that lie over each other in the file, as no linker makes them. */
static void test_hostile_segments(void)
{
	struct sp_bpf bpf;
	struct sp_unwind_cache *cache = open_cache(&bpf, 1);
	struct sp_unwind_spaces *spaces;
	struct sp_unwind_table t = make_table(100, 0x1000, 16, 3, 1);
	struct sp_unwind_file *file = add_file(cache, 1, SECOND);
	struct sp_unwind_piece piece = {BASE, BASE + 16 * PAGE, 0x800, file, 0};
	bool good = true;

	CHECK(sp_unwind_spaces_new(&bpf, &spaces) == 0, "spaces");
	t.segments = 4;
	t.segment[1] = (struct sp_unwind_segment){0x1200, 0x1000, 0x400};
	t.segment[2] = (struct sp_unwind_segment){UINT64_MAX - 0x800, 0x1100, 0x700};
	t.segment[3] = (struct sp_unwind_segment){0x1100, 0x900, 0x100000};
	CHECK(sp_unwind_cache_place(cache, file, &t, SECOND) == 0, "place");
	for (uint32_t p = 1; p < 20; p++) {
		(void)sp_unwind_spaces_add(spaces, p, 0, 1);
		(void)sp_unwind_spaces_map(spaces, p, &piece, 1);
		sp_unwind_spaces_commit(spaces, SECOND * p);
		(void)fake_find(&bpf, p, BASE + 0x800, &good);
		CHECK(good, "the ranges of process %u are bad", p);
		piece.offset = any(1u << 14);
		for (size_t i = 0; i < 4; i++)
			file->segments[i] = (struct sp_unwind_segment){any(1u << 14), any(1u << 14),
								       any(1u << 14)};
	}
	sp_unwind_spaces_free(spaces);
	sp_unwind_cache_free(cache);
	fake_close(&bpf);
	free_table(&t);
}

static void test_known(void)
{
	static const uint8_t code[SP_UNWIND_TRAMPOLINE_BYTES] = {
		0x51, 0x41, 0x53, 0x50, 0x48, 0xc7, 0xc0, 0x50, 0x01,
		0x00, 0x00, 0x0f, 0x05, 0x58, 0x41, 0x5b, 0x59, 0xc3};
	uint8_t other[SP_UNWIND_TRAMPOLINE_BYTES] = {0};
	struct sp_unwind_table t;

	CHECK(sp_unwind_known_trampoline(other, &t) < 0, "unknown code has no table");
	CHECK(sp_unwind_known_trampoline(code, &t) == 0, "known code has");
	CHECK(sp_unwind_table_check(&t, 4096) == 0, "a good one");
	CHECK(t.rules_at[t.rule[sp_unwind_table_find(&t, 13)]].offset == 32, "three are pushed");
	CHECK(t.rules_at[t.rule[sp_unwind_table_find(&t, 17)]].offset == 8, "at ret");
	sp_unwind_table_clear(&t);
}

int main(void)
{
	test_runs(0);
	test_runs(64);
	test_cache();
	test_shown();
	test_rules();
	for (uint64_t i = 0; i < 10; i++)
		test_spaces(i);
	test_full();
	test_sharing();
	test_grace();
	test_hostile_segments();
	test_known();
	return check_done();
}
