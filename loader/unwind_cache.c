/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_cache.c - places rows and rules, and throws out what is not used.
 *
 * Invariant: rows of a chunk that a mapped file has are not written; the ranges of processes name
 * no other.
 */
#include "loader/unwind_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/unwind_ranges.h"
#include "loader/unwind_rules.h"
#include "loader/unwind_runs.h"

#define BUCKETS 4096
#define MOST_FILES 65536
#define LEAST_ROWS 1024u /* of a part that is not a table's last */

struct sp_unwind_cache {
	struct sp_bpf *bpf;
	struct sp_unwind_rules *rules;
	struct sp_unwind_shares shares;
	struct sp_unwind_chunk *chunks[SP_UNWIND_CHUNKS];
	struct sp_unwind_runs *runs;
	struct sp_unwind_cache_stats stats;
	uint64_t next_forget; /* ns */
	struct sp_unwind_file *buckets[BUCKETS];
};

int sp_unwind_cache_new(struct sp_bpf *bpf, struct sp_unwind_cache **ret_cache)
{
	struct sp_unwind_cache *c = calloc(1, sizeof(*c));
	int r = c ? 0 : -ENOMEM;

	if (r == 0) {
		c->bpf = bpf;
		c->shares.room[SP_UNWIND_SHARED_FILES] = MOST_FILES;
		c->shares.room[SP_UNWIND_SHARED_RULES] = SP_UNWIND_RULES;
		sp_unwind_cache_limit(c, SP_UNWIND_CHUNKS);
		r = sp_unwind_rules_new(sp_bpf_unwind_rules(bpf), &c->rules);
	}
	if (r == 0)
		r = sp_unwind_runs_new(SP_UNWIND_CHUNK_ROWS, &c->runs);
	if (r < 0) {
		sp_unwind_cache_free(c);
		return r;
	}
	*ret_cache = c;
	return 0;
}

void sp_unwind_cache_limit(struct sp_unwind_cache *c, size_t chunks)
{
	c->shares.room[SP_UNWIND_SHARED_ROWS] = (uint64_t)chunks * SP_UNWIND_CHUNK_ROWS;
}

/* ---- files ---- */

static size_t bucket_of(const struct sp_filekey *key)
{
	return (size_t)((key->inode * 0x9e3779b97f4a7c15u) ^ key->device) % BUCKETS;
}

static void free_file(struct sp_unwind_file *file)
{
	sp_unwind_share_give(file->share, SP_UNWIND_SHARED_FILES, 1);
	free(file->rules);
	free(file->path);
	free(file->why);
	free(file->parts);
	free(file);
}

/* Programs that make and map one file after the other must not fill our memory with their names. */
static void forget_some(struct sp_unwind_cache *c, uint64_t now)
{
	if (now < c->next_forget)
		return;
	c->next_forget = now + SP_UNWIND_GRACE_NS; /* it takes a while */
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct sp_unwind_file **at = &c->buckets[i]; *at;) {
			struct sp_unwind_file *file = *at;

			if (file->users || file->state == SP_UNWIND_WANTED ||
			    file->state == SP_UNWIND_READY) {
				at = &file->next;
				continue;
			}
			*at = file->next;
			free_file(file);
			c->stats.files--;
		}
}

static struct sp_unwind_file *new_file(struct sp_unwind_cache *c, uid_t uid, const char *path,
				       uint64_t now)
{
	struct sp_unwind_share *share = sp_unwind_share_of(&c->shares, uid);
	struct sp_unwind_file *file;
	int r;

	if (!share)
		return NULL;
	r = sp_unwind_share_take(share, SP_UNWIND_SHARED_FILES, 1);
	if (r == 0 && c->stats.files >= MOST_FILES) {
		sp_unwind_share_give(share, SP_UNWIND_SHARED_FILES, 1);
		r = -ENOSPC;
	}
	if (r < 0) {
		forget_some(c, now);
		if (c->stats.files >= MOST_FILES ||
		    sp_unwind_share_take(share, SP_UNWIND_SHARED_FILES, 1) < 0)
			return NULL;
	}
	file = calloc(1, sizeof(*file));
	if (file)
		file->path = strdup(path);
	if (!file || !file->path) {
		sp_unwind_share_give(share, SP_UNWIND_SHARED_FILES, 1);
		free(file);
		return NULL;
	}
	file->share = share;
	return file;
}

struct sp_unwind_file *sp_unwind_cache_file(struct sp_unwind_cache *c, const struct sp_filekey *key,
					    uid_t uid, const char *path, uint64_t now)
{
	struct sp_unwind_file **bucket = &c->buckets[bucket_of(key)], *file;

	for (file = *bucket; file; file = file->next)
		if (sp_filekey_equal(&file->key, key))
			return file;
	file = new_file(c, uid, path, now);
	if (!file)
		return NULL;
	file->key = *key;
	file->seen = file->used = now;
	file->next = *bucket;
	*bucket = file;
	c->stats.files++;
	return file;
}

void sp_unwind_cache_hold(struct sp_unwind_file *file)
{
	file->users++;
}

void sp_unwind_cache_release(struct sp_unwind_file *file, uint64_t now)
{
	file->users--;
	file->used = now;
}

/* ---- rules ---- */

static void give_rules(struct sp_unwind_cache *c, uint16_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sp_unwind_rules_give(c->rules, numbers[i]);
	free(numbers);
}

/* ---- rows ---- */

/* @open: when the kernel has stopped reading them. */
static void free_parts(struct sp_unwind_cache *c, struct sp_unwind_file *file, uint64_t open)
{
	for (size_t i = 0; i < file->part_count; i++) {
		const struct sp_unwind_part *p = &file->parts[i];

		sp_unwind_runs_give(c->runs, (uint64_t)p->chunk * SP_UNWIND_CHUNK_ROWS + p->first,
				    p->count, open);
	}
	c->stats.rows -= file->rows;
	sp_unwind_share_give(file->share, SP_UNWIND_SHARED_ROWS, file->rows_held);
	give_rules(c, file->rules, file->rule_count);
	file->rules = NULL;
	file->rule_count = file->rows_held = 0;
	free(file->parts);
	file->parts = NULL;
	file->part_count = file->rows = 0;
}

/* Throws out the table, of @share (NULL: of all), that was not used for the longest time. False if
 * there is none. */
static bool evict(struct sp_unwind_cache *c, const struct sp_unwind_share *share, uint64_t now)
{
	struct sp_unwind_file *oldest = NULL;

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct sp_unwind_file *f = c->buckets[i]; f; f = f->next)
			if (f->state == SP_UNWIND_READY && !f->users && f->part_count &&
			    (!share || f->share == share) && f->used + SP_UNWIND_GRACE_NS <= now &&
			    (!oldest || f->used < oldest->used))
				oldest = f;
	if (!oldest)
		return false;
	sp_unwind_ranges_show(c->bpf, oldest, false);
	free_parts(c, oldest, 0);
	oldest->state = SP_UNWIND_ABSENT;
	c->stats.tables--;
	c->stats.evicted++;
	return true;
}

void sp_unwind_cache_give(struct sp_unwind_cache *c, struct sp_unwind_chunk *chunk, uint32_t number)
{
	if (number >= SP_UNWIND_CHUNKS)
		return;
	c->chunks[number] = chunk;
	c->stats.chunks++;
	sp_unwind_runs_give(c->runs, (uint64_t)number * SP_UNWIND_CHUNK_ROWS, SP_UNWIND_CHUNK_ROWS,
			    0);
}

/* Room for @wanted rows in a row, or, if there is none, for as many as possible. */
static int take_rows(struct sp_unwind_cache *c, size_t wanted, uint64_t now, uint64_t *ret_first,
		     size_t *ret_count)
{
	size_t count = wanted < SP_UNWIND_CHUNK_ROWS ? wanted : SP_UNWIND_CHUNK_ROWS;

	for (;;) {
		if (sp_unwind_runs_take(c->runs, count, now, ret_first) == 0) {
			*ret_count = count;
			return 0;
		}
		if (sp_unwind_runs_free_places(c->runs) < wanted && evict(c, NULL, now))
			continue;
		if (count <= LEAST_ROWS)
			return -ENOSPC;
		count = count / 2 > LEAST_ROWS ? count / 2 : LEAST_ROWS;
	}
}

/* Where a table's first part begins: code before its first row is this table's, too. */
static uint64_t first_address(const struct sp_unwind_table *table)
{
	uint64_t first = table->pc[0];

	for (size_t i = 0; i < table->segments; i++) {
		uint64_t address = table->segment[i].address;

		if (address < first && table->pc[0] - address <= UINT32_MAX)
			first = address;
	}
	return first;
}

/* One part from row @at on. Ends before the address that is too far for its 32 bits. */
static int place_part(struct sp_unwind_cache *c, struct sp_unwind_file *file,
		      const struct sp_unwind_table *table, size_t at, uint64_t now,
		      size_t *ret_next)
{
	struct sp_unwind_part *more = realloc(file->parts, (file->part_count + 1) * sizeof(*more));
	struct sp_unwind_part *part;
	struct sp_unwind_chunk *chunk;
	uint64_t first;
	size_t count, fit = 0;
	int r;

	if (!more)
		return -ENOMEM;
	file->parts = more;
	part = &more[file->part_count];
	r = take_rows(c, table->rows - at, now, &first, &count);
	if (r < 0)
		return r;
	*part = (struct sp_unwind_part){
		.start = at ? table->pc[at] : first_address(table),
		.base = at ? table->pc[at] : first_address(table),
		.chunk = (uint32_t)(first / SP_UNWIND_CHUNK_ROWS),
		.first = (uint32_t)(first % SP_UNWIND_CHUNK_ROWS),
	};
	chunk = c->chunks[part->chunk];
	while (fit < count && table->pc[at + fit] - part->base <= UINT32_MAX) {
		chunk->pc[part->first + fit] = (uint32_t)(table->pc[at + fit] - part->base);
		chunk->rule[part->first + fit] = file->rules[table->rule[at + fit]];
		fit++;
	}
	sp_unwind_runs_give(c->runs, first + fit, count - fit, 0);
	part->count = (uint32_t)fit;
	part->end = at + fit < table->rows ? table->pc[at + fit] : UINT64_MAX;
	if (part->end - part->base > 1ull << 32)
		part->end = part->base + (1ull << 32);
	file->part_count++;
	file->rows += fit;
	c->stats.rows += fit;
	*ret_next = at + fit;
	return 0;
}

static void set_state(struct sp_unwind_file *file, enum sp_unwind_state state, int error,
		      const char *why, uint64_t now)
{
	file->state = state;
	file->error = error;
	free(file->why);
	file->why = why ? strdup(why) : NULL;
	file->took = now - file->seen;
	file->used = now;
}

static int take_share(struct sp_unwind_cache *c, struct sp_unwind_file *file, size_t rows,
		      uint64_t now)
{
	int r;

	do
		r = sp_unwind_share_take(file->share, SP_UNWIND_SHARED_ROWS, rows);
	while (r < 0 && evict(c, file->share, now));
	file->rows_held = r == 0 ? rows : 0;
	return r;
}

/* Numbers for all rules of a table, which the file holds from now on. */
static int take_rules(struct sp_unwind_cache *c, struct sp_unwind_file *file,
		      const struct sp_unwind_table *table, uint64_t now)
{
	file->rules = calloc(table->rules + 1, sizeof(*file->rules));
	if (!file->rules)
		return -ENOMEM;
	for (size_t i = 0; i < table->rules; i++) {
		int r;

		do
			r = sp_unwind_rules_take(c->rules, &table->rules_at[i], file->share,
						 &file->rules[i]);
		while (r < 0 && evict(c, r == -EDQUOT ? file->share : NULL, now));
		if (r < 0)
			return r;
		file->rule_count++;
	}
	return 0;
}

int sp_unwind_cache_place(struct sp_unwind_cache *c, struct sp_unwind_file *file,
			  const struct sp_unwind_table *table, uint64_t now)
{
	static const char why_empty[] = "its call frame information is of no code";
	static const char why_rows[] = "its table does not fit beside those of the other files";
	static const char why_rules[] = "its table has more rules than there is room for beside "
					"those of the other files";
	static const char why_share[] = "its owner's files have all of a user's share of the room "
					"for unwind tables";
	const char *why = why_rows;
	int r;

	if (!table->rows) {
		sp_unwind_cache_fail(c, file, -SP_E_MISSING, why_empty, now);
		return 0;
	}
	r = take_share(c, file, table->rows, now);
	if (r == 0) {
		r = take_rules(c, file, table, now);
		why = r < 0 ? why_rules : why;
	}
	for (size_t at = 0; at < table->rows && r == 0;)
		r = place_part(c, file, table, at, now, &at);
	if (r < 0) {
		free_parts(c, file, 0);
		c->stats.failed++;
		c->stats.over_share += r == -EDQUOT;
		why = r == -EDQUOT ? why_share : r == -ENOSPC ? why : NULL;
		set_state(file, SP_UNWIND_REFUSED, r, why, now);
		return r;
	}
	file->segment_count = table->segments;
	memcpy(file->segments, table->segment, table->segments * sizeof(table->segment[0]));
	c->stats.tables++;
	set_state(file, SP_UNWIND_READY, 0, NULL, now);
	sp_unwind_ranges_show(c->bpf, file, true);
	return 0;
}

void sp_unwind_cache_fail(struct sp_unwind_cache *c, struct sp_unwind_file *file, int error,
			  const char *why, uint64_t now)
{
	bool none = error == -SP_E_MISSING || error == -ENOEXEC || error == -ENOTSUP;

	c->stats.failed += !none;
	set_state(file, none ? SP_UNWIND_MISSING : SP_UNWIND_REFUSED, error, why, now);
}

void sp_unwind_cache_stats(const struct sp_unwind_cache *c, struct sp_unwind_cache_stats *ret_stats)
{
	*ret_stats = c->stats;
	ret_stats->rules = sp_unwind_rules_used(c->rules);
}

void sp_unwind_cache_each(const struct sp_unwind_cache *c,
			  void (*cb)(void *arg, struct sp_unwind_file *file), void *arg)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct sp_unwind_file *f = c->buckets[i]; f; f = f->next)
			cb(arg, f);
}

void sp_unwind_cache_free(struct sp_unwind_cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (c->buckets[i]) {
			struct sp_unwind_file *file = c->buckets[i];

			c->buckets[i] = file->next;
			free_file(file);
		}
	sp_unwind_runs_free(c->runs);
	sp_unwind_rules_free(c->rules);
	sp_unwind_shares_clear(&c->shares);
	free(c);
}
