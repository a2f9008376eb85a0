/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind.c - joins files, tables and address spaces, and says what became of a table.
 */
#include "loader/unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/sandbox.h"
#include "loader/unwind_cache.h"
#include "loader/unwind_known.h"
#include "loader/unwind_space.h"
#include "loader/unwind_worker.h"
#include "userspace/base/vdso.h"
#include "userspace/base/log.h"

#define HELPER "sp-unwind"
#define RETRY_NS 10000000000u

struct sp_unwind {
	struct sp_recorder *recorder;
	struct sp_unwind_cache *cache;
	struct sp_unwind_spaces *spaces;
	struct sp_unwind_worker *worker;
	struct sp_unwind_file *vdso, *trampoline; /* NULL: not known */
	bool said_helper, said_full, said_pieces;
};

/* ---- what is said ---- */

/* Once for each image; those that are no images of the recording are not written. */
static void tell(struct sp_unwind *u, struct sp_unwind_file *file)
{
	struct sp_ev_unwind_table ev = {
		.head = {.type = SP_EV_unwind_table},
		.rows = file->rows,
		.took = file->took,
		.image = file->image,
		.error = file->error,
	};

	if (!file->image || file->told || file->state == SP_UNWIND_WANTED ||
	    file->state == SP_UNWIND_ABSENT)
		return;
	file->told = true;
	sp_recorder_add_text(u->recorder, &ev.head, file->why ? file->why : "", NULL);
}

/* Once for each user, who could have any number of files. */
static void say_over_share(const struct sp_unwind_file *file)
{
	if (file->share->said)
		return;
	file->share->said = true;
	sp_log_warning(
		"no unwind table for %s: %s (user id %u); stacks may end in it, and in other "
		"files of this user, which are not named one by one",
		file->path, file->why ? file->why : strerror(-file->error),
		(unsigned)file->share->uid);
	sp_log_hint("room comes back as programs end; record those of this user apart, with -p");
}

static void say_table(struct sp_unwind *u, const struct sp_unwind_file *file)
{
	struct sp_unwind_cache_stats stats;

	sp_unwind_cache_stats(u->cache, &stats);
	if (file->state == SP_UNWIND_READY)
		sp_log_verbose(
			"unwind table of %s: %zu rows after %.1f ms (all: %zu rows, %zu rules)",
			file->path, file->rows, (double)file->took / 1e6, stats.rows, stats.rules);
	else if (file->state == SP_UNWIND_MISSING)
		sp_log_verbose("%s has no unwind table%s%s: frame pointers are tried in it",
			       file->path, file->why ? ": " : "", file->why ? file->why : "");
	else if (file->error == -EDQUOT)
		say_over_share(file);
	else if (!file->told)
		sp_log_warning("no unwind table for %s: %s; stacks may end in it", file->path,
			       file->why ? file->why : strerror(-file->error));
}

static void say_helper_failed(struct sp_unwind *u, const char *why)
{
	if (u->said_helper)
		return;
	u->said_helper = true;
	sp_log_warning("cannot make unwind tables: %s; stacks are followed by frame pointers "
		       "instead",
		       why);
	sp_log_hint("is sp-trace installed whole? %s belongs beside its other helpers", HELPER);
}

/* ---- tables ---- */

/* Asks for a table, unless there is one or was said to be none. Duplicates @fd. */
static void want(struct sp_unwind *u, struct sp_unwind_file *file, int fd, uint32_t process)
{
	int copy;

	/* What did not fit once may do so later. */
	if (file->state != SP_UNWIND_ABSENT &&
	    !(file->state == SP_UNWIND_REFUSED &&
	      (file->error == -ENOSPC || file->error == -EDQUOT) &&
	      file->used + RETRY_NS < sp_now()))
		return;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0 ||
	    sp_unwind_worker_add(u->worker, copy, file->share->uid, process, file) < 0) {
		sp_unwind_cache_fail(u->cache, file, copy < 0 ? -errno : -ENOMEM, NULL, sp_now());
		return;
	}
	file->state = SP_UNWIND_WANTED;
	file->seen = sp_now();
}

static struct sp_unwind_file *file_of(struct sp_unwind *u, int fd, long system, const char *path)
{
	struct sp_filekey key;
	struct stat status;
	uid_t owner;

	if (sp_filekey_stat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return NULL;
	key = sp_filekey_of(&status);
	owner = status.st_uid;
	/* A file system that is a program names whom it likes. */
	if (owner == 0 && system == FUSE_SUPER_MAGIC)
		owner = SP_SANDBOX_NOBODY;
	return sp_unwind_cache_file(u->cache, &key, owner, path, sp_now());
}

static void take_table(struct sp_unwind *u, struct sp_unwind_job *job)
{
	struct sp_unwind_file *file = job->what;
	uint64_t now = sp_now();

	for (size_t i = 0; i < job->chunks; i++)
		sp_unwind_cache_give(u->cache, job->chunk[i].at, job->chunk[i].number);
	if (job->helper_failed)
		say_helper_failed(u, job->why);
	if (job->error)
		sp_unwind_cache_fail(u->cache, file, job->error, job->why[0] ? job->why : NULL,
				     now);
	else
		(void)sp_unwind_cache_place(u->cache, file, &job->table, now);
	if (!job->helper_failed)
		say_table(u, file);
	sp_unwind_spaces_changed(u->spaces, file);
	tell(u, file);
}

/* A file that is none has a key of its own, and is never forgotten. */
static struct sp_unwind_file *make_known(struct sp_unwind *u, const char *name, uint64_t number)
{
	const struct sp_filekey key = {.inode = number};
	struct sp_unwind_file *file = sp_unwind_cache_file(u->cache, &key, 0, name, sp_now());

	if (file)
		sp_unwind_cache_hold(file);
	return file;
}

static void add_vdso(struct sp_unwind *u)
{
	int fd = sp_vdso_open();

	if (fd < 0)
		return;
	u->vdso = make_known(u, SP_VDSO_NAME, 1);
	if (u->vdso)
		want(u, u->vdso, fd, 0);
	close(fd);
}

void sp_unwind_set_trampoline(struct sp_unwind *u, const uint8_t *bytes)
{
	struct sp_unwind_table table;

	if (sp_unwind_known_trampoline(bytes, &table) < 0)
		return;
	u->trampoline = make_known(u, SP_UNWIND_TRAMPOLINE, 2);
	if (u->trampoline)
		(void)sp_unwind_cache_place(u->cache, u->trampoline, &table, sp_now());
	sp_unwind_table_clear(&table);
}

int sp_unwind_new(struct sp_bpf *bpf, struct sp_recorder *recorder, struct sp_unwind **ret_unwind)
{
	struct sp_unwind *u = calloc(1, sizeof(*u));
	struct sp_error err = {0};
	struct sp_unwind_chunk *chunk;
	uint32_t number;
	int helper = -1, r = u ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	u->recorder = recorder;
	r = sp_sandbox_open(HELPER, &helper, &err);
	if (r < 0)
		say_helper_failed(u, err.text);
	else
		close(helper);
	if (r == 0)
		r = sp_unwind_cache_new(bpf, &u->cache);
	if (r == 0)
		r = sp_unwind_spaces_new(bpf, &u->spaces);
	if (r == 0)
		r = sp_bpf_unwind_add_chunk(bpf, &chunk, &number);
	if (r == 0) {
		sp_unwind_cache_give(u->cache, chunk, number);
		sp_unwind_cache_limit(u->cache, sp_unwind_worker_most_chunks());
		r = sp_unwind_worker_new(bpf, 1, NULL, &u->worker);
	}
	if (r < 0) {
		if (!u->said_helper)
			sp_log_error("cannot keep unwind tables: %s", strerror(-r));
		sp_unwind_free(u);
		return r;
	}
	add_vdso(u);
	*ret_unwind = u;
	return 0;
}

/* ---- what happens ---- */

void sp_unwind_add_file(struct sp_unwind *u, int fd, long system, const char *path, uint32_t image)
{
	struct sp_unwind_file *file = file_of(u, fd, system, path);

	if (!file)
		return;
	if (image)
		file->image = image;
	want(u, file, fd, 0);
	tell(u, file);
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

void sp_unwind_map(struct sp_unwind *u, uint32_t process, const struct sp_unwind_map *map)
{
	struct sp_unwind_piece piece = {
		.start = map->start, .end = map->end, .offset = map->file_offset};
	int r;

	if (map->is_file && map->fd >= 0) {
		piece.file = file_of(u, map->fd, map->system, map->path);
		if (piece.file)
			want(u, piece.file, map->fd, process);
	} else if (!map->is_file && !strcmp(map->path, SP_VDSO_NAME)) {
		piece.file = u->vdso;
	} else if (!map->is_file && begins(map->path, SP_UNWIND_TRAMPOLINE)) {
		piece.file = u->trampoline;
	} else if (begins(map->path, "[vsyscall]")) {
		return;
	}
	if (!piece.file)
		piece.flags = map->is_file ? SP_RANGE_NO_TABLE : SP_RANGE_ANONYMOUS;
	else if (!map->is_file)
		piece.offset = 0;
	r = sp_unwind_spaces_map(u->spaces, process, &piece, map->time);
	if (r == -E2BIG && !u->said_pieces) {
		u->said_pieces = true;
		sp_log_warning("a process has more than %u executable mappings, which is more than "
			       "sp-trace follows: stacks in the newest may lack callers",
			       SP_UNWIND_MOST_PIECES);
	}
}

int sp_unwind_add_process(struct sp_unwind *u, uint32_t process, uint32_t parent, uint64_t time)
{
	return sp_unwind_spaces_add(u->spaces, process, parent, time);
}

void sp_unwind_remove_process(struct sp_unwind *u, uint32_t process)
{
	sp_unwind_spaces_remove(u->spaces, process, sp_now());
}

void sp_unwind_commit(struct sp_unwind *u)
{
	struct sp_unwind_spaces_stats stats;
	struct sp_unwind_job *job;

	while ((job = sp_unwind_worker_take(u->worker))) {
		take_table(u, job);
		sp_unwind_job_free(job);
	}
	sp_unwind_spaces_commit(u->spaces, sp_now());
	sp_unwind_spaces_stats(u->spaces, &stats);
	if (stats.unfit && !u->said_full) {
		u->said_full = true;
		sp_log_warning(
			"%zu processes have more mappings than the kernel's side has room for "
			"(%u): stacks of the newest may lack callers",
			stats.spaces, SP_UNWIND_RANGES);
	}
}

bool sp_unwind_is_busy(const struct sp_unwind *u)
{
	return sp_unwind_worker_pending(u->worker) > 0;
}

int sp_unwind_fd(const struct sp_unwind *u)
{
	return sp_unwind_worker_fd(u->worker);
}

/* ---- questions ---- */

void sp_unwind_blame(struct sp_unwind *u, uint32_t process, uint64_t address, unsigned end)
{
	const struct sp_unwind_piece *piece = sp_unwind_spaces_find(u->spaces, process, address);

	if (piece && piece->file && end < SP_STACK_END_MAX)
		piece->file->ended[end]++;
}

struct worst {
	unsigned end;
	const char **names;
	uint32_t counts[8];
	size_t count, most;
};

static void rank(void *arg, struct sp_unwind_file *file)
{
	struct worst *w = arg;
	uint32_t n = file->ended[w->end];
	size_t at = w->count;

	while (at && w->counts[at - 1] < n)
		at--;
	if (!n || at == w->most)
		return;
	if (w->count < w->most)
		w->count++;
	for (size_t i = w->count - 1; i > at; i--) {
		w->names[i] = w->names[i - 1];
		w->counts[i] = w->counts[i - 1];
	}
	w->names[at] = file->path;
	w->counts[at] = n;
}

size_t sp_unwind_worst(const struct sp_unwind *u, unsigned end, const char **ret_names, size_t most)
{
	struct worst w = {.end = end, .names = ret_names, .most = most < 8 ? most : 8};

	if (end < SP_STACK_END_MAX)
		sp_unwind_cache_each(u->cache, rank, &w);
	return w.count;
}

void sp_unwind_stats(const struct sp_unwind *u, struct sp_unwind_stats *ret_stats)
{
	struct sp_unwind_cache_stats cache;
	struct sp_unwind_spaces_stats spaces;

	sp_unwind_cache_stats(u->cache, &cache);
	sp_unwind_spaces_stats(u->spaces, &spaces);
	*ret_stats = (struct sp_unwind_stats){
		.tables = cache.tables,
		.rows = cache.rows,
		.rules = cache.rules,
		.chunks = cache.chunks,
		.ranges = spaces.ranges,
		.evicted = cache.evicted,
		.failed = cache.failed,
		.over_share = cache.over_share,
		.unfit = spaces.unfit,
	};
}

void sp_unwind_free(struct sp_unwind *u)
{
	if (!u)
		return;
	sp_unwind_worker_free(u->worker); /* its jobs name files */
	sp_unwind_spaces_free(u->spaces); /* its pieces, too */
	sp_unwind_cache_free(u->cache);
	free(u);
}
