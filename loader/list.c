/* SPDX-License-Identifier: BSD-2-Clause
 *
 * list.c - prints the regions of binaries.
 *
 * Everything that is shown comes from the files or their paths and is escaped for the terminal.
 */
#include "loader/list.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/elfscan.h"
#include "loader/procinfo.h"
#include "loader/procmaps.h"
#include "loader/regions.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/files.h"
#include "userspace/base/log.h"
#include "userspace/base/text.h"

enum armed { ARMED_NOT_ASKED, ARMED_NO, ARMED_YES, ARMED_UNKNOWN };
static const char *const armed_names[] = {"", "no", "yes", "unknown"};

struct binary {
	char *path;
	uint64_t inode;
	uint32_t major, minor;
	uint64_t map_start, map_offset; /* of its first executable mapping */
	struct sp_regions regions;
	enum armed armed;
};

struct list {
	struct binary *at;
	size_t count, room;
	int *fds; /* one for each */
	size_t fd_count, fd_room;
	size_t unreadable; /* mapped files that could not be opened */
	pid_t pid;	   /* 0: a file */
};

static void list_clear(struct list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		sp_regions_clear(&list->at[i].regions);
		free(list->at[i].path);
	}
	for (size_t i = 0; i < list->fd_count; i++)
		close(list->fds[i]);
	free(list->at);
	free(list->fds);
}

/* Takes the descriptor. */
static struct binary *list_add(struct list *list, const char *path, int fd)
{
	int *slot = sp_array_add(&list->fds, &list->fd_count, &list->fd_room);
	struct binary *binary;

	if (!slot) {
		close(fd);
		return NULL;
	}
	*slot = fd;
	binary = sp_array_add(&list->at, &list->count, &list->room);
	if (!binary)
		return NULL;
	binary->path = strdup(path);
	return binary->path ? binary : NULL;
}

static int on_event(size_t index, const struct sp_head *event, void *arg)
{
	struct list *list = arg;

	return sp_regions_add(&list->at[index].regions, event);
}

/* The kernel has added the recorders that attached; without rights to the memory it stays unknown.
 */
static enum armed read_semaphore(int memory, const struct binary *binary, uint64_t semaphore)
{
	const struct sp_ev_segment *code = &binary->regions.code;
	uint64_t base, at;
	uint16_t value;

	if (!semaphore || !code->image || memory < 0)
		return ARMED_UNKNOWN;
	/* The segment's first byte stands at its place in the mapping that begins with its page. */
	base = binary->map_start + (code->file_offset - binary->map_offset) - code->address;
	at = base + semaphore;
	if (at > INT64_MAX || pread(memory, &value, sizeof(value), (off_t)at) != sizeof(value))
		return ARMED_UNKNOWN;
	return value ? ARMED_YES : ARMED_NO;
}

static void find_armed(struct list *list)
{
	sp_cleanup(sp_closep) int memory = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)list->pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < list->count; i++) {
		struct binary *binary = &list->at[i];
		const struct sp_regions *regions = &binary->regions;

		if (!regions->has_begin)
			continue;
		binary->armed = read_semaphore(memory, binary, regions->begin_semaphore);
		if (binary->armed == ARMED_NO && regions->has_end)
			binary->armed = read_semaphore(memory, binary, regions->end_semaphore);
	}
}

struct row {
	char *name, *place, *tags;
};

static void row_clear(struct row *row)
{
	free(row->name);
	free(row->place);
	free(row->tags);
}

static bool row_make(const struct sp_region *region, struct row *row)
{
	sp_cleanup(sp_freep) char *file = sp_text_escape(region->file);

	row->name = sp_text_escape(region->name);
	row->tags = sp_text_escape(region->tags);
	row->place = NULL;
	if (file && asprintf(&row->place, "%s:%" PRIu32, *file ? file : "?", region->line) < 0)
		row->place = NULL;
	return row->name && row->tags && row->place;
}

static void print_cell(const char *text, size_t width)
{
	size_t have = sp_text_width(text);

	fputs(text, stdout);
	printf("%*s", have < width ? (int)(width - have) + 2 : 2, "");
}

/* A column is as wide as its widest text, within reason: one monster must not push all others away.
 */
static size_t widen(size_t width, const char *text)
{
	size_t have = sp_text_width(text);

	return have > width && have <= 60 ? have : width;
}

static int print_rows(const struct binary *binary)
{
	const struct sp_regions *regions = &binary->regions;
	struct row *rows = calloc(regions->count + 1, sizeof(*rows));
	size_t name = strlen("REGION"), place = strlen("WHERE"), n = 0;
	bool tags = false, fine = rows != NULL, armed = binary->armed != ARMED_NOT_ASKED;

	for (; fine && n < regions->count; n++) {
		fine = row_make(&regions->at[n], &rows[n]);
		if (!fine)
			continue;
		name = widen(name, rows[n].name);
		place = widen(place, rows[n].place);
		tags |= *rows[n].tags;
	}
	for (size_t i = 0; fine && i <= regions->count; i++) {
		const struct row *row = i ? &rows[i - 1] : NULL;

		printf("  ");
		print_cell(row ? row->name : "REGION", name);
		print_cell(row ? sp_region_kind(&regions->at[i - 1]) : "KIND", 8);
		if (armed)
			print_cell(row ? armed_names[binary->armed] : "ARMED", 7);
		if (tags && (!row || *row->tags))
			print_cell(row ? row->place : "WHERE", place);
		else
			fputs(row ? row->place : "WHERE", stdout);
		puts(!tags ? "" : row ? row->tags : "TAGS");
	}
	for (size_t i = 0; rows && i < n; i++)
		row_clear(&rows[i]);
	free(rows);
	return fine ? 0 : -ENOMEM;
}

static int print_binary(const struct binary *binary)
{
	const struct sp_regions *regions = &binary->regions;

	sp_text_print(stdout, binary->path);
	printf(": %zu %s", regions->count, regions->count == 1 ? "region" : "regions");
	if (binary->armed == ARMED_YES)
		printf(", armed: a recorder is attached");
	else if (binary->armed == ARMED_NO)
		printf(", not armed");
	else if (binary->armed == ARMED_UNKNOWN)
		printf(", armed or not is unknown: the memory of the process may not be read");
	putchar('\n');
	if (!regions->count) {
		puts("  It has probes, but no names in its file: those of Fortran programs, and of "
		     "scope-profiler's\n  interface, come up when the program runs, and are "
		     "recorded "
		     "then.");
		return 0;
	}
	return print_rows(binary);
}

static void print_how_to_add(const struct list *list)
{
	if (list->pid)
		printf("Process %d has no regions: neither its program nor its %zu libraries have "
		       "the probes of\nsp_region.h.\n",
		       (int)list->pid, list->count ? list->count - 1 : 0);
	else
		puts("No regions: the file has no probes of sp_region.h. (Only the file itself was "
		     "looked at; use\n--list -p PID to look into the libraries of a running "
		     "program.)");
	puts("To add regions, copy sp_region.h into the project and put into C or C++ code:\n"
	     "\n"
	     "    #include \"sp_region.h\"\n"
	     "\n"
	     "    SP_REGION_BEGIN(\"solve\");\n"
	     "    ...\n"
	     "    SP_REGION_END(\"solve\");\n"
	     "\n"
	     "Nothing is to be linked. A program without regions can be sampled all the same.");
}

/* Whether something was wrong that the user should know of. Mapped files that are no programs of
 * ours (data, code made at run time) are not worth a line. */
static bool is_worth_telling(const struct list *list, int error)
{
	return !list->pid || (error != -ENOEXEC && error != -ENOTSUP);
}

static int print_list(const struct list *list, const struct sp_elfscan *scan)
{
	size_t shown = 0, failed = 0;
	int r = 0;

	for (size_t i = 0; i < list->count && r == 0; i++) {
		const struct binary *binary = &list->at[i];
		const char *why = NULL;
		int error = sp_elfscan_result(scan, i, &why);

		if (why && is_worth_telling(list, error)) {
			if (error && !list->pid)
				sp_log_error("%s: %s", binary->path, why);
			else
				sp_log_warning("%s: %s", binary->path, why);
			failed += error && !list->pid;
		}
		if (!binary->regions.has_begin && !binary->regions.count)
			continue;
		if (shown++)
			putchar('\n');
		r = print_binary(binary);
	}
	if (r < 0)
		return r;
	if (list->unreadable)
		sp_log_warning("%zu mapped files could not be opened, so their regions are "
			       "missing here",
			       list->unreadable);
	if (shown)
		puts("\nNames that the program makes at run time are not in its files and so not "
		     "listed.");
	else if (!failed)
		print_how_to_add(list);
	return failed ? -EIO : 0;
}

static int scan_and_print(struct list *list)
{
	struct sp_elfscan *scan = NULL;
	struct sp_error err = {0};
	int r = sp_elfscan_new(NULL, &scan, &err);

	if (r == 0)
		r = sp_elfscan_run(scan, list->fds, list->count, on_event, list, &err);
	if (r < 0) {
		sp_log_error("%s", err.text[0] ? err.text : strerror(-r));
		sp_elfscan_free(scan);
		return 1;
	}
	for (size_t i = 0; i < list->count; i++)
		sp_regions_merge(&list->at[i].regions);
	if (list->pid)
		find_armed(list);
	r = print_list(list, scan);
	sp_elfscan_free(scan);
	if (r == -ENOMEM)
		sp_log_error("out of memory");
	if (fflush(stdout) == EOF) {
		sp_log_error("cannot write the list: %s", strerror(errno));
		return 1;
	}
	return r < 0;
}

int sp_list_file(const char *path)
{
	sp_cleanup(list_clear) struct list list = {0};
	int fd = sp_file_open(path, NULL);

	if (fd < 0) {
		sp_log_error("cannot read %s: %s", path,
			     fd == -ENOEXEC ? "not an ELF file" : strerror(-fd));
		return 1;
	}
	if (!list_add(&list, path, fd)) {
		sp_log_error("out of memory");
		return 1;
	}
	return scan_and_print(&list);
}

static int on_map(const struct sp_procmap *map, void *arg)
{
	struct list *list = arg;
	struct binary *binary;
	int fd;

	if (!(map->flags & SP_MAP_EXEC) || !map->inode)
		return 0;
	for (size_t i = 0; i < list->count; i++)
		if (list->at[i].inode == map->inode && list->at[i].major == map->major &&
		    list->at[i].minor == map->minor)
			return 0;
	if (sp_procmaps_open(list->pid, map, &fd) < 0) {
		list->unreadable++;
		return 0;
	}
	binary = list_add(list, map->path, fd);
	if (!binary)
		return -ENOMEM;
	binary->inode = map->inode;
	binary->major = map->major;
	binary->minor = map->minor;
	binary->map_start = map->start;
	binary->map_offset = map->offset;
	return 0;
}

int sp_list_pid(pid_t pid)
{
	sp_cleanup(list_clear) struct list list = {.pid = pid};
	int r = sp_procmaps_read(pid, on_map, &list);

	if (r == -ESRCH) {
		sp_log_error("there is no process %d", (int)pid);
	} else if (r == -EACCES || r == -EPERM) {
		sp_log_error("process %d belongs to somebody else: use sudo", (int)pid);
	} else if (r < 0) {
		sp_log_error("cannot read the mappings of process %d: %s", (int)pid, strerror(-r));
	} else if (!list.count) {
		sp_log_error("process %d has no program that could be read (a kernel thread, or "
			     "use sudo)",
			     (int)pid);
		r = -ENOENT;
	}
	return r < 0 ? 1 : scan_and_print(&list);
}
