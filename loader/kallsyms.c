/* SPDX-License-Identifier: BSD-2-Clause
 *
 * kallsyms.c - see kallsyms.h.
 *
 * The list is not in order, and long. So it is not kept: each symbol is offered to the first
 * address that is not below it, as a better start, and to the last one below it, as a nearer end.
 * One pass up and one down then hand starts to the addresses after them and ends to those before.
 *
 * Invariant: an address gets a name only from a symbol that is not farther from it than any
 * function is long, and, of a module, within what the module takes: addresses of a module that is
 * gone must not go to its neighbour.
 */
#include "loader/kallsyms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/search.h"
#include "loader/without.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define SLOTS (2 * SP_KALLSYMS_ADDRESSES) /* a power of two */
#define LONGEST (256u << 10) /* bytes of a function; the longest known have some 50 KiB */
#define NAME_ROOM 128	     /* the kernel's KSYM_NAME_LEN was that for decades; cut beyond */
#define MODULE_ROOM 56	     /* its MODULE_NAME_LEN */
#define MOST_LINES (8u << 20)
#define MOST_KEPT (1u << 18) /* symbols of modules that are kept from the start */

struct symbol {
	uint64_t address;
	char type;
	char name[NAME_ROOM], module[MODULE_ROOM];
};

struct hit {
	uint64_t address;
	uint64_t next;	     /* first address of a symbol behind it, UINT64_MAX none */
	struct symbol start; /* nearest at or below it; its name is "" while there is none */
};

struct module {
	char name[MODULE_ROOM];
	uint64_t start, size;
};

struct sp_kallsyms {
	char *symbols_path, *modules_path;
	uint64_t *slots; /* the set: 0 free */
	size_t addresses, dropped;
	struct symbol *kept; /* of modules, at the start */
	size_t n_kept, kept_room;
	struct module *modules; /* at the end, and those of the start that are gone */
	size_t n_modules, modules_room;
};

/* ---- reading ---- */

typedef int take_symbol(void *arg, const struct symbol *symbol);

static bool is_function(char type)
{
	return strchr("tTwWiI", type) != NULL;
}

/* "ffffffff81000000 T name [module]" */
static bool parse_symbol(char *line, struct symbol *ret)
{
	char *at, *name, *module;

	ret->address = strtoull(line, &at, 16);
	if (at == line || at[0] != ' ' || !at[1] || at[2] != ' ')
		return false;
	ret->type = at[1];
	name = at + 3;
	at = name + strcspn(name, " \t\n");
	module = *at == '\t' || *at == ' ' ? strchr(at, '[') : NULL;
	*at = 0;
	if (module)
		module[strcspn(module, "]\n")] = 0;
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	snprintf(ret->module, sizeof(ret->module), "%s", module ? module + 1 : "");
	return name[0] != 0;
}

/* Calls @take for each function; -EACCES if no symbol at all has an address. */
static int read_symbols(const char *path, take_symbol *take, void *arg, struct sp_error *err)
{
	sp_cleanup(sp_fclosep) FILE *file = fopen(path, "re");
	sp_cleanup(sp_freep) char *line = NULL;
	size_t room = 0, lines = 0;
	bool shown = false;

	if (!file)
		return sp_error_set(err, -errno, 0, "%s cannot be read: %s", path, strerror(errno));
	while (lines++ < MOST_LINES && getline(&line, &room, file) > 0) {
		struct symbol symbol;
		int r;

		if (!parse_symbol(line, &symbol) || !symbol.address)
			continue;
		shown = true;
		if (!is_function(symbol.type))
			continue;
		r = take(arg, &symbol);
		if (r < 0)
			return sp_error_set(err, r, 0, "out of memory");
	}
	if (ferror(file))
		return sp_error_set(err, -EIO, 0, "%s cannot be read", path);
	return shown && !sp_without(SP_FEATURE_KALLSYMS)
		       ? 0
		       : sp_error_set(
				 err, -EACCES, 0,
				 "%s shows no addresses: sysctl kernel.kptr_restrict=1 shows them "
				 "to root",
				 path);
}

/* "name size references users state 0xaddress". A kernel without modules has no such file. */
static int read_modules(struct sp_kallsyms *k)
{
	sp_cleanup(sp_fclosep) FILE *file = fopen(k->modules_path, "re");
	sp_cleanup(sp_freep) char *line = NULL;
	size_t room = 0;

	while (file && k->n_modules < MOST_KEPT && getline(&line, &room, file) > 0) {
		struct module module, *added;
		const char *address = strstr(line, " 0x");

		if (!address || sscanf(line, "%55s %" SCNu64, module.name, &module.size) != 2)
			continue;
		module.start = strtoull(address + 1, NULL, 16);
		added = sp_array_add(&k->modules, &k->n_modules, &k->modules_room);
		if (!added)
			return -ENOMEM;
		*added = module;
	}
	return 0;
}

/* ---- life ---- */

static int keep_symbol(void *arg, const struct symbol *symbol)
{
	struct sp_kallsyms *k = arg;
	struct symbol *kept;

	if (!symbol->module[0] || k->n_kept == MOST_KEPT)
		return 0;
	kept = sp_array_add(&k->kept, &k->n_kept, &k->kept_room);
	if (!kept)
		return -ENOMEM;
	*kept = *symbol;
	return 0;
}

int sp_kallsyms_new(const struct sp_kallsyms_paths *paths, struct sp_kallsyms **ret_kallsyms)
{
	struct sp_kallsyms *k = calloc(1, sizeof(*k));
	struct sp_error ignored;

	if (!k)
		return -ENOMEM;
	k->symbols_path = strdup(paths && paths->symbols ? paths->symbols : "/proc/kallsyms");
	k->modules_path = strdup(paths && paths->modules ? paths->modules : "/proc/modules");
	k->slots = calloc(SLOTS, sizeof(*k->slots));
	if (!k->symbols_path || !k->modules_path || !k->slots ||
	    read_symbols(k->symbols_path, keep_symbol, k, &ignored) == -ENOMEM ||
	    read_modules(k) < 0) { /* that it cannot be read is told at the end */
		sp_kallsyms_free(k);
		return -ENOMEM;
	}
	*ret_kallsyms = k;
	return 0;
}

void sp_kallsyms_free(struct sp_kallsyms *k)
{
	if (!k)
		return;
	free(k->symbols_path);
	free(k->modules_path);
	free(k->slots);
	free(k->kept);
	free(k->modules);
	free(k);
}

static void add_address(struct sp_kallsyms *k, uint64_t address)
{
	size_t i = (size_t)((address * 0x9e3779b97f4a7c15u) >> 32) & (SLOTS - 1);

	while (k->slots[i] && k->slots[i] != address)
		i = (i + 1) & (SLOTS - 1);
	if (k->slots[i] || !address)
		return;
	if (k->addresses == SP_KALLSYMS_ADDRESSES) {
		k->dropped++;
		return;
	}
	k->slots[i] = address;
	k->addresses++;
}

void sp_kallsyms_add(struct sp_kallsyms *k, const struct sp_ev_sample *sample)
{
	const uint8_t *tail = (const uint8_t *)(sample + 1);
	uint64_t n = sample->tail_bytes / 8;

	if (n > sample->kernel_frames)
		n = sample->kernel_frames;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t address;

		memcpy(&address, tail + 8 * i, sizeof(address));
		/* A caller's address is the one after the call, perhaps behind its function. */
		add_address(k, i ? address - 1 : address);
	}
}

/* ---- looking up ---- */

struct search {
	struct hit *hits; /* ascending */
	size_t n;
};

static int by_address(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static int make_hits(const struct sp_kallsyms *k, struct search *search)
{
	search->hits = calloc(k->addresses + 1, sizeof(*search->hits));
	if (!search->hits)
		return -ENOMEM;
	for (size_t i = 0; i < SLOTS; i++)
		if (k->slots[i])
			search->hits[search->n++] =
				(struct hit){.address = k->slots[i], .next = UINT64_MAX};
	qsort(search->hits, search->n, sizeof(*search->hits), by_address);
	return 0;
}

/* Of several names of one address: a global one before a local one, then the first. */
static bool is_better(const struct symbol *symbol, const struct symbol *than)
{
	if (!than->name[0] || symbol->address != than->address)
		return !than->name[0] || symbol->address > than->address;
	return symbol->type == 'T' && than->type != 'T';
}

static int offer_symbol(void *arg, const struct symbol *symbol)
{
	struct search *search = arg;
	/* The first address that is not below it. */
	size_t low = sp_search(search->n, i, search->hits[i].address < symbol->address);

	if (low < search->n && is_better(symbol, &search->hits[low].start))
		search->hits[low].start = *symbol;
	if (low && symbol->address < search->hits[low - 1].next)
		search->hits[low - 1].next = symbol->address;
	return 0;
}

static void spread(struct search *search)
{
	for (size_t i = 1; i < search->n; i++)
		if (search->hits[i - 1].start.name[0] &&
		    is_better(&search->hits[i - 1].start, &search->hits[i].start))
			search->hits[i].start = search->hits[i - 1].start;
	for (size_t i = search->n; i-- > 1;)
		if (search->hits[i].next < search->hits[i - 1].next)
			search->hits[i - 1].next = search->hits[i].next;
}

/* Of a module's symbol: the address behind the module, 0 unknown. */
static uint64_t module_end(const struct sp_kallsyms *k, const struct symbol *symbol)
{
	for (size_t i = k->n_modules; symbol->module[0] && i-- > 0;) {
		const struct module *module = &k->modules[i];

		if (symbol->address >= module->start &&
		    symbol->address - module->start < module->size &&
		    !strcmp(module->name, symbol->module))
			return module->start + module->size;
	}
	return 0;
}

/* Whether the address is in the function; @ret_end is where that ends then. */
static bool is_inside(const struct sp_kallsyms *k, const struct hit *hit, uint64_t *ret_end)
{
	uint64_t limit = module_end(k, &hit->start);

	if (!hit->start.name[0] || hit->address - hit->start.address >= LONGEST ||
	    (limit && hit->address >= limit))
		return false;
	*ret_end = hit->next == UINT64_MAX ? limit : hit->next;
	if (limit && limit < *ret_end)
		*ret_end = limit;
	if (*ret_end - hit->start.address > LONGEST) /* the next one is far away */
		*ret_end = 0;
	return true;
}

static int look_up(struct sp_kallsyms *k, struct search *now, struct search *before,
		   struct sp_error *err)
{
	int r = make_hits(k, now);

	if (r == 0)
		r = make_hits(k, before);
	if (r == 0)
		r = read_modules(k);
	if (r < 0)
		return sp_error_set(err, r, 0, "out of memory");
	r = read_symbols(k->symbols_path, offer_symbol, now, err);
	for (size_t i = 0; r == 0 && i < k->n_kept; i++)
		offer_symbol(before, &k->kept[i]);
	spread(now);
	spread(before);
	return r;
}

int sp_kallsyms_resolve(struct sp_kallsyms *k, sp_kallsyms_found *found, void *arg,
			struct sp_kallsyms_counts *ret_counts, struct sp_error *err)
{
	struct search now = {0}, before = {0};
	uint64_t last = 0, end;
	int r = 0;

	*ret_counts = (struct sp_kallsyms_counts){k->addresses, 0, k->dropped};
	if (k->addresses)
		r = look_up(k, &now, &before, err);
	for (size_t i = 0; r == 0 && i < now.n; i++) {
		const struct hit *hit = is_inside(k, &now.hits[i], &end)      ? &now.hits[i]
					: is_inside(k, &before.hits[i], &end) ? &before.hits[i]
									      : NULL;

		if (!hit)
			continue;
		ret_counts->named++;
		if (hit->start.address != last)
			found(arg, hit->start.address, end, hit->start.name, hit->start.module);
		last = hit->start.address;
	}
	free(now.hits);
	free(before.hits);
	return r;
}
