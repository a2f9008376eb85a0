/* SPDX-License-Identifier: BSD-2-Clause
 *
 * look.h - what may wait for ever, done by a process that can be given up.
 *
 * A file system can be a program (FUSE), or a server that is gone: whoever comes to a file by its
 * path, opens or reads it, or asks for the state of its file system, waits until it answers. The
 * same holds for a process's memory, its command line and environment included, which can be such a
 * file. The recorder must not wait: a child that it has forked does these things for it, and is
 * killed where it does not answer. Of a descriptor the recorder itself asks nothing but what
 * sp_filekey_stat() tells.
 */
#ifndef SP_LOADER_LOOK_H
#define SP_LOADER_LOOK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "loader/identity.h"
#include "loader/procinfo.h"
#include "loader/procmaps.h"

struct sp_look;

/* Forks it. @identity: for whom files of a command are opened; stays the caller's. */
int sp_look_start(const struct sp_identity *identity, struct sp_look **ret_look);
/* What is done in the meantime, every 20 ms of a wait: not with this object. */
void sp_look_meanwhile(struct sp_look *look, void (*meanwhile)(void *arg), void *arg);
void sp_look_free(struct sp_look *look); /* NULL is fine */
/* The child: in our process group, with all signals blocked. 0: there is none. */
pid_t sp_look_pid(const struct sp_look *look);

/* An open file, and what goes with it. */
struct sp_look_file {
	int fd;
	long system;	     /* f_type of statfs(2), 0 unknown */
	uint16_t place;	     /* SP_IMAGE_* */
	bool is_elf;	     /* it says so; not asked of mapped files */
	char path[PATH_MAX]; /* that leads to it, if any does */
};

/* All: -ETIMEDOUT where there is no answer within a second, or within five where the child only
 * lacks a processor; less, once that has happened often. */

/* As sp_procmaps_open(). -EHOSTDOWN: its file system did not answer before. */
int sp_look_map(struct sp_look *look, pid_t pid, const struct sp_procmap *map,
		struct sp_look_file *ret_file);
/* A program's file, as a shell finds it, or one with that path, opened with the user's rights. */
int sp_look_program(struct sp_look *look, const char *name, struct sp_look_file *ret_file);
/* A file that is open. ret_file->fd is the same. */
int sp_look_open_file(struct sp_look *look, int fd, const char *path,
		      struct sp_look_file *ret_file);

/* As sp_procinfo_read(). */
int sp_look_process(struct sp_look *look, pid_t pid, struct sp_procinfo *ret_info);

/* A run-time name, of a descriptor in a process's memory: its texts, "" unknown. */
struct sp_look_name {
	bool is_read; /* the name, which may be an empty one */
	char name[1024], file[1024], tags[1024];
	int32_t line;
};
int sp_look_name(struct sp_look *look, pid_t pid, uint64_t address, struct sp_look_name *ret_name);

/* As sp_archive_judge(), for sp_archive_set_judge(); @look is one of these. */
int sp_look_judge(void *look, int fd, const char *path, const struct sp_user *user,
		  bool *ret_private);
/* As sp_hold_mark(). */
int sp_look_mark(struct sp_look *look, int fan);

#endif
