/* SPDX-License-Identifier: BSD-2-Clause
 *
 * mappings.c - see mappings.h.
 */
#include "loader/mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "loader/clock.h"
#include "loader/filekey.h"
#include "loader/procinfo.h"
#include "loader/procmaps.h"
#include "userspace/base/log.h"

#define BATCH 64 /* files scanned together */

struct sp_mappings {
	struct sp_recorder *recorder;
	struct sp_images *images;
	struct sp_unwind *unwind;
	struct sp_look *look;
	struct sp_images_file files[BATCH];
	char *paths[BATCH]; /* of these */
	uint64_t since[BATCH];
	struct sp_user users[BATCH];
	size_t batch;
	struct sp_look_file found; /* the last one */
};

int sp_mappings_new(struct sp_recorder *recorder, struct sp_images *images,
		    struct sp_unwind *unwind, struct sp_look *look,
		    struct sp_mappings **ret_mappings)
{
	struct sp_mappings *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	all->recorder = recorder;
	all->images = images;
	all->unwind = unwind;
	all->look = look;
	*ret_mappings = all;
	return 0;
}

int sp_mappings_commit(struct sp_mappings *all)
{
	size_t count = all->batch;
	int r;

	if (!count)
		return 0;
	all->batch = 0;
	r = sp_images_add(all->images, all->files, all->since, all->users, count);
	for (size_t i = 0; i < count; i++)
		free(all->paths[i]);
	return r;
}

/* It is in no image, so its regions are missing from when it was mapped, or from now on. */
static void say_no_answer(struct sp_mappings *all, const struct sp_mapping *m, bool first,
			  bool found)
{
	if (first)
		sp_log_warning("%s: its file system does not answer, or the machine is too busy to "
			       "ask it: regions in it, and in whatever else is mapped from there, "
			       "are not recorded, and have no names",
			       m->path);
	sp_recorder_lost_since(all->recorder, SP_LOSS_ARMED_LATE, -1, found ? sp_now() : m->time);
}

/* The file behind a mapping, while its process lives; later by its path, if it is still that file.
 * @found: as below. */
static int open_mapped(struct sp_mappings *all, const struct sp_mapping *m, bool found)
{
	struct sp_procmap map = {.start = m->start,
				 .end = m->end,
				 .offset = m->file_offset,
				 .inode = m->inode,
				 .major = major(m->device),
				 .minor = minor(m->device),
				 .flags = SP_MAP_EXEC,
				 .path = m->path};
	int r = sp_look_map(all->look, m->pid, &map, &all->found);

	if (r == -ETIMEDOUT || r == -EHOSTDOWN)
		say_no_answer(all, m, r == -ETIMEDOUT, found);
	return r;
}

/* Takes over the descriptor, which is that of the file that was found last. */
static void add_file(struct sp_mappings *all, const struct sp_mapping *m, int fd, const char *path,
		     bool found)
{
	size_t i;

	if (all->batch == BATCH)
		(void)sp_mappings_commit(all);
	i = all->batch;
	all->paths[i] = strdup(path);
	if (!all->paths[i]) {
		close(fd);
		return;
	}
	all->files[i] = (struct sp_images_file){.fd = fd,
						.system = all->found.system,
						.place = all->found.place,
						.path = all->paths[i]};
	all->since[i] = found ? 0 : m->time;
	if (sp_images_has_archive(all->images))
		sp_procinfo_user(m->pid, &all->users[i]);
	all->batch++;
}

void sp_mappings_add(struct sp_mappings *all, const struct sp_mapping *m, uint32_t number,
		     bool found)
{
	struct sp_ev_map ev = {
		.head = {.type = SP_EV_map},
		.time = m->time,
		.start = m->start,
		.end = m->end,
		.file_offset = m->file_offset,
		.device = m->device,
		.inode = m->inode,
		.process = number,
		.pid = (uint32_t)m->pid,
	};
	struct stat st;
	int r = m->inode ? open_mapped(all, m, found) : -ENOENT;
	bool is_open = r == 0;
	int fd = is_open ? all->found.fd : -1;
	const char *path = is_open ? all->found.path : m->path;

	if (r == -ETIMEDOUT || r == -EHOSTDOWN)
		ev.head.flags = SP_MAP_NO_ANSWER;
	/* On some file systems (overlayfs, btrfs) the mapping's numbers are not those of stat(2).
	 */
	if (fd >= 0 && sp_filekey_stat(fd, &st) == 0) {
		ev.device = st.st_dev;
		ev.inode = st.st_ino;
	}
	sp_recorder_add_text(all->recorder, &ev.head, path, NULL);
	if (all->unwind)
		sp_unwind_map(all->unwind, number,
			      &(struct sp_unwind_map){
				      .time = m->time,
				      .start = m->start,
				      .end = m->end,
				      .file_offset = m->file_offset,
				      .fd = fd,
				      .system = is_open ? all->found.system : 0,
				      .is_file = m->inode,
				      .path = m->path,
			      });
	if (fd >= 0)
		add_file(all, m, fd, path, found);
}

void sp_mappings_free(struct sp_mappings *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->batch; i++) {
		close(all->files[i].fd);
		free(all->paths[i]);
	}
	free(all);
}
