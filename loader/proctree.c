/* SPDX-License-Identifier: BSD-2-Clause
 *
 * proctree.c - walks /proc for children.
 *
 * Invariant: a process is taken as a descendant only if its parent was one when it was looked at.
 */
#include "loader/proctree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/search.h"
#include "userspace/base/cleanup.h"

#define LOOKS 8 /* a fork bomb would keep us here for ever */

struct ids {
	pid_t *at;
	size_t count, room;
};

static int ids_add(struct ids *ids, pid_t id)
{
	if (ids->count == ids->room) {
		size_t room = ids->room ? ids->room * 2 : 64;
		pid_t *at = realloc(ids->at, room * sizeof(*at));

		if (!at)
			return -ENOMEM;
		ids->at = at;
		ids->room = room;
	}
	ids->at[ids->count++] = id;
	return 0;
}

static int compare(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

/* The numbers among the entries of a directory. */
static int list_numbers(const char *path, struct ids *ids)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int r = 0;

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (r == 0 && (entry = readdir(dir))) {
		char *end;
		long id = strtol(entry->d_name, &end, 10);

		if (*end == 0 && id > 0)
			r = ids_add(ids, (pid_t)id);
	}
	closedir(dir);
	if (r == 0)
		qsort(ids->at, ids->count, sizeof(*ids->at), compare);
	return r;
}

/* The parent's id, 0 where the process is gone. A process's name may hold anything, but what
 * follows the last parenthesis is ours to parse. */
static pid_t parent_of(pid_t pid)
{
	char path[32], text[512];
	sp_cleanup(sp_closep) int fd = -1;
	const char *at;
	ssize_t n;
	int ppid;
	char state;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = 0;
	at = strrchr(text, ')');
	return at && sscanf(at + 1, " %c %d", &state, &ppid) == 2 ? (pid_t)ppid : 0;
}

struct node {
	pid_t pid, parent;
};

static int compare_parents(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->parent != y->parent)
		return (x->parent > y->parent) - (x->parent < y->parent);
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool has(const struct ids *sorted, pid_t pid)
{
	return sorted->count && bsearch(&pid, sorted->at, sorted->count, sizeof(pid), compare);
}

/* First node of a parent, or count. */
static size_t lower_bound(const struct node *nodes, size_t count, pid_t parent)
{
	return sp_search(count, i, nodes[i].parent < parent);
}

/* Adds to @found what one look at /proc shows below @pid and below what was found before. @known is
 * the same set, sorted. */
static int look(pid_t pid, struct ids *found, const struct ids *known)
{
	sp_cleanup(sp_freep) struct node *nodes = NULL;
	struct ids all = {0};
	size_t count = 0, roots = found->count;
	int r = list_numbers("/proc", &all);

	nodes = calloc(all.count + 1, sizeof(*nodes));
	if (r == 0 && !nodes)
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < all.count; i++) {
		pid_t parent = parent_of(all.at[i]);

		if (parent > 0)
			nodes[count++] = (struct node){.pid = all.at[i], .parent = parent};
	}
	free(all.at);
	if (r < 0)
		return r;
	qsort(nodes, count, sizeof(*nodes), compare_parents);
	/* Breadth first: @found is the queue, too. Index -1 stands for the process itself. */
	for (ssize_t i = -1; i < (ssize_t)found->count && r == 0; i++) {
		pid_t parent = i < 0 ? pid : found->at[i];
		size_t k = lower_bound(nodes, count, parent);

		for (; k < count && nodes[k].parent == parent && r == 0; k++)
			if (nodes[k].pid != pid && !has(known, nodes[k].pid))
				r = ids_add(found, nodes[k].pid);
	}
	if (r < 0)
		return r;
	return found->count > roots;
}

static int copy_sorted(const struct ids *found, struct ids *known)
{
	known->count = 0;
	for (size_t i = 0; i < found->count; i++) {
		int r = ids_add(known, found->at[i]);

		if (r < 0)
			return r;
	}
	if (known->count)
		qsort(known->at, known->count, sizeof(*known->at), compare);
	return 0;
}

int sp_proctree_descendants(pid_t pid, pid_t **ret_pids, size_t *ret_count)
{
	struct ids found = {0}, known = {0};
	int r = parent_of(pid) == 0 && pid != 1 ? -ESRCH : 1;

	for (int i = 0; i < LOOKS && r > 0; i++) {
		r = copy_sorted(&found, &known);
		if (r == 0)
			r = look(pid, &found, &known);
	}
	free(known.at);
	if (r < 0) {
		free(found.at);
		return r;
	}
	*ret_pids = found.at;
	*ret_count = found.count;
	return 0;
}
