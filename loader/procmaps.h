/* SPDX-License-Identifier: BSD-2-Clause
 *
 * procmaps.h - what a process has mapped, and the very files behind it.
 */
#ifndef SP_LOADER_PROCMAPS_H
#define SP_LOADER_PROCMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SP_MAP_READ 4u /* the same bits as in an ELF segment */
#define SP_MAP_WRITE 2u
#define SP_MAP_EXEC 1u

struct sp_procmap {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	uint64_t inode;	 /* 0: of no file */
	uint32_t major,
		minor;	/* of the file system. On some (btrfs) stat(2) gives another device */
	uint32_t flags; /* SP_MAP_* */
	bool shared;
	bool deleted;	  /* the file is gone, or has been replaced */
	const char *path; /* "" for none; "[heap]" and the like; a newline in it is a newline */
};

/* A negative return ends the walk. The mapping is gone after the call. */
typedef int (*sp_procmap_cb)(const struct sp_procmap *map, void *arg);

/* Every mapping in order of address. The process runs on meanwhile: each page of the answer is true
 * at its time. 0, what @cb said, -ESRCH, -EACCES. */
int sp_procmaps_read(pid_t pid, sp_procmap_cb cb, void *arg);

/* Opens the file behind a mapping for reading, and makes sure that it is that file: by the kernel's
 * own link where we may follow it, which works for deleted files and in every mount namespace, else
 * by its path inside the process's root. Only regular files. May wait for ever (look.h). -ENOENT: it is not to be had (deleted,
 * replaced, without the rights). Nothing is opened that could have a side effect, like a device. */
int sp_procmaps_open(pid_t pid, const struct sp_procmap *map, int *ret_fd);

/* Whether @path leads us to the open file @fd: there its size and time are, since overlayfs gives a
 * file other numbers. */
bool sp_procmaps_is_at(int fd, const char *path);

/* A path that leads us to the open file @fd, which its process knows as @path: in a chroot another
 * one. @path if there is none, or if it does. @buffer: where another one may be put. */
const char *sp_procmaps_reach(int fd, const char *path, char *buffer, size_t size);

/* Opens a file by its path in the same way. */
int sp_procmaps_open_path(const char *path, int *ret_fd);

#endif
