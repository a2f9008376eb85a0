// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_merge_facts.c - the facts of the part with the lowest rank, and where others differ.
 *
 * Invariant: every fact of a part can be found again: it is the merged profile's own, or it stands
 * in rank_facts with the part's lowest rank.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/profile_merge_internal.h"
#include "formats/util.h"

/* metadata, or meta */
struct section {
	const char *name;
	bool metadata;
};

static const struct section sections[] = {{"metadata", true}, {"meta", false}};

static const struct sp_fact *facts_of(const struct sp_merge_part *part,
				      const struct section *section, size_t *ret_n)
{
	*ret_n = section->metadata ? part->profile->metadata.n : part->n_meta;
	return section->metadata ? part->profile->metadata.facts : part->meta;
}

static int keep_text(struct sp_merge *merge, const char *text, const char **ret_text)
{
	uint32_t number;

	if (sp_intern_add(&merge->texts, text, &number, NULL))
		return -ENOMEM;
	*ret_text = sp_intern_text(&merge->texts, number);
	return 0;
}

static int make_number(struct sp_merge *merge, const char *key, int64_t number,
		       struct sp_fact *ret_fact)
{
	struct sp_fact fact = {
		.key = key, .number = number, .is_number = true, .kind = SP_FACT_NUMBER};
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	if (keep_text(merge, text, &fact.text))
		return -ENOMEM;
	*ret_fact = fact;
	return 0;
}

/* The rate and the ticks of a .sps file have no place in a profile but as facts. */
static int find_meta(struct sp_merge *merge, struct sp_merge_part *part)
{
	const struct sp_profile_info *info = &part->profile->info;

	part->meta = part->profile->meta.facts;
	part->n_meta = part->profile->meta.n;
	if (part->n_meta || info->format != SP_FORMAT_SPS)
		return 0;
	part->meta = part->header;
	part->n_meta = 2;
	return make_number(merge, "sample_hz", info->hz, &part->header[0]) ||
			       make_number(merge, "sample_ticks", info->ticks, &part->header[1])
		       ? -ENOMEM
		       : 0;
}

/* ---- comparing ---- */

static bool are_equal(const struct sp_fact *a, const struct sp_fact *b)
{
	if (a->kind != b->kind || a->n_items != b->n_items || strcmp(a->text, b->text) != 0)
		return false;
	for (size_t i = 0; i < a->n_items; i++)
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	return true;
}

/* True if a merged part says already what its lowest rank has for a key. */
static bool is_told(const struct sp_merge_part *part, const struct section *section,
		    const char *key)
{
	const struct sp_profile_table *table = &part->profile->tables[SP_H5_TABLE_rank_fact];
	const struct sp_rank_fact_row *rows = table->rows;

	for (size_t i = 0; i < table->n; i++)
		if (sp_merge_rank(part, rows[i].rank) == part->lowest &&
		    strcmp(rows[i].part, section->name) == 0 && strcmp(rows[i].key, key) == 0)
			return true;
	return false;
}

static void put_json(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

/* A list as JSON; a real one that JSON has no number for as a text. */
static char *list_text(const struct sp_fact *fact)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int failed;

	if (!out)
		return NULL;
	for (size_t i = 0; i < fact->n_items; i++) {
		const char *item = fact->items[i];
		bool bare = fact->kind != SP_FACT_TEXTS && item[strcspn(item, "nN")] == 0;

		fputs(i ? ", " : "[", out);
		if (bare)
			fputs(item, out);
		else
			put_json(out, item);
	}
	fputs(fact->n_items ? "]" : "[]", out);
	failed = ferror(out);
	if (fclose(out) || failed) {
		free(text);
		return NULL;
	}
	return text;
}

static int add_difference(struct sp_merge *merge, const struct sp_merge_part *part,
			  const struct section *section, const struct sp_fact *fact)
{
	struct sp_rank_fact_row row = {.rank = part->lowest,
				       .part = section->name,
				       .key = fact->key,
				       .kind = (sp_col_u8)fact->kind,
				       .text = fact->text};

	if (fact->kind >= SP_FACT_TEXTS) {
		char *text sp_cleanup_free = list_text(fact);

		if (!text || keep_text(merge, text, &row.text))
			return -ENOMEM;
	}
	if (sp_array_reserve((void **)&merge->differing, &merge->differing_capacity,
			     merge->n_differing, sizeof(row)))
		return -ENOMEM;
	merge->differing[merge->n_differing++] = row;
	return 0;
}

/* ---- joining ---- */

/* The part with the lowest rank that has facts; a .sps file's few count only if there are no
 * others.
 */
static const struct sp_merge_part *find_base(const struct sp_merge *merge,
					     const struct section *section)
{
	const struct sp_merge_part *base = NULL;

	for (int headers = 0; !base && headers < 2; headers++) {
		for (size_t i = 0; i < merge->n_parts; i++) {
			const struct sp_merge_part *part = &merge->parts[i];
			bool header = !section->metadata && part->meta == part->header;
			size_t n;

			facts_of(part, section, &n);
			if (n && header == (headers == 1) && (!base || part->lowest < base->lowest))
				base = part;
		}
	}
	return base;
}

static int compare_facts(const void *a, const void *b)
{
	const struct sp_fact *left = a, *right = b;

	return strcmp(left->key, right->key);
}

/* The greatest number that the metadata of any part have for a key; false: none has. */
static bool find_greatest(const struct sp_merge *merge, const char *key, int64_t *ret_number)
{
	bool found = false;

	for (size_t i = 0; i < merge->n_parts; i++) {
		const struct sp_profile_facts *facts = &merge->parts[i].profile->metadata;
		const struct sp_fact *fact = sp_fact_find(facts->facts, facts->n, key);

		if (!fact || !fact->is_number || (found && fact->number <= *ret_number))
			continue;
		*ret_number = fact->number;
		found = true;
	}
	return found;
}

/* Sets a fact; there is room for one more. */
static int set_number(struct sp_merge *merge, struct sp_profile_facts *facts, const char *key,
		      int64_t number)
{
	size_t at = 0;
	int r;

	while (at < facts->n && strcmp(facts->facts[at].key, key) != 0)
		at++;
	r = make_number(merge, key, number, &facts->facts[at]);
	facts->n += !r && at == facts->n;
	return r;
}

/* What is of the run and not of a rank: when the last one ended, and how many there are. */
static int set_run(struct sp_merge *merge, struct sp_profile_facts *facts)
{
	const struct sp_profile *profile = merge->profile;
	int64_t number, ranks = 0;
	int r = 0;

	if (merge->n_parts < 2)
		return 0;
	if (find_greatest(merge, "finalize_time_ns", &number))
		r = set_number(merge, facts, "finalize_time_ns", number);
	if (profile->info.n_ranks)
		ranks = (int64_t)profile->ranks[profile->info.n_ranks - 1] + 1;
	if (!r && find_greatest(merge, "mpi_size", &number))
		r = set_number(merge, facts, "mpi_size", number > ranks ? number : ranks);
	return r;
}

/* Facts of one section: the base's, with the origin if any part has one, and what is of the run. */
static int join_section(struct sp_merge *merge, const struct section *section, bool origin)
{
	struct sp_profile *profile = merge->profile;
	struct sp_profile_facts *joined = section->metadata ? &profile->metadata : &profile->meta;
	const struct sp_merge_part *base = find_base(merge, section);
	const struct sp_fact *facts, *same;
	size_t n = 0;
	int r = 0;

	joined->loaded = true;
	if (!base)
		return 0;
	facts = facts_of(base, section, &n);
	joined->facts = calloc(n + 3, sizeof(*joined->facts));
	if (!joined->facts)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!origin || strcmp(facts[i].key, "start_time_ns") != 0)
			joined->facts[joined->n++] = facts[i];
	if (origin) {
		r = make_number(merge, "start_time_ns", profile->info.start_time_ns,
				&joined->facts[joined->n]);
		joined->n += !r;
	}
	if (!r && section->metadata)
		r = set_run(merge, joined);
	qsort(joined->facts, joined->n, sizeof(*joined->facts), compare_facts);
	for (size_t i = 0; !r && i < merge->n_parts; i++) {
		const struct sp_merge_part *part = &merge->parts[i];

		facts = facts_of(part, section, &n);
		for (size_t k = 0; !r && k < n; k++) {
			same = sp_fact_find(joined->facts, joined->n, facts[k].key);
			if ((!same || !are_equal(same, &facts[k])) &&
			    !is_told(part, section, facts[k].key))
				r = add_difference(merge, part, section, &facts[k]);
		}
	}
	return r;
}

/* Where a part's time line begins: as its metadata says, else with its first call. INT64_MAX if
 * nobody knows. */
static int find_origin(const struct sp_merge_part *part, bool *told, int64_t *ret_origin,
		       struct sp_error *error)
{
	struct sp_profile *profile = part->profile;
	const struct sp_fact *start =
		sp_fact_find(profile->metadata.facts, profile->metadata.n, "start_time_ns");
	int64_t origin = INT64_MAX;
	int r = 0;

	if (start && start->is_number) {
		*told = true;
		*ret_origin = start->number;
		return 0;
	}
	for (uint32_t i = 0; !r && i < profile->info.n_rows; i++) {
		int64_t first = profile->rows[i].stats.start_minimum;

		if (!profile->rows[i].stats.calls || (first < 0 && profile->info.aggregate))
			continue;
		if (first < 0)
			r = sp_profile_read_calls(profile, i, 0, 1,
						  &(struct sp_calls){.start = &first}, error);
		if (!r && first < origin)
			origin = first;
	}
	if (!r)
		*ret_origin = origin;
	return r;
}

int sp_merge_join_facts(struct sp_merge *merge, struct sp_error *error)
{
	int64_t origin = INT64_MAX;
	bool told = false;
	int r = 0;

	for (size_t i = 0; i < merge->n_parts; i++) {
		int64_t own = INT64_MAX;

		r = find_origin(&merge->parts[i], &told, &own, error);
		if (r)
			return sp_merge_blame(merge, &merge->parts[i], r, error);
		origin = own < origin ? own : origin;
		r = find_meta(merge, &merge->parts[i]);
		if (r)
			return sp_error_set(error, r, 0, "no memory");
	}
	merge->profile->info.start_time_ns = origin == INT64_MAX ? 0 : origin;
	merge->profile->origin_known = true;
	for (size_t i = 0; !r && i < sizeof(sections) / sizeof(sections[0]); i++)
		r = join_section(merge, &sections[i], sections[i].metadata && told);
	return r ? sp_error_set(error, r, 0, "no memory") : 0;
}

int sp_merge_list_recordings(const struct sp_merge_part *part, const char ***ret_ids, size_t *ret_n)
{
	const struct sp_profile_table *table = &part->profile->tables[SP_H5_TABLE_rank_fact];
	const struct sp_rank_fact_row *rows = table->rows;
	const struct sp_fact *own =
		sp_fact_find(part->profile->meta.facts, part->profile->meta.n, "recording_id");
	const char **ids = calloc(table->n + 1, sizeof(*ids));
	size_t n = 0;

	if (!ids)
		return -ENOMEM;
	if (own && *own->text)
		ids[n++] = own->text;
	for (size_t i = 0; i < table->n; i++)
		if (strcmp(rows[i].part, "meta") == 0 && strcmp(rows[i].key, "recording_id") == 0)
			ids[n++] = rows[i].text;
	*ret_ids = ids;
	*ret_n = n;
	return 0;
}
