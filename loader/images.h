/* SPDX-License-Identifier: BSD-2-Clause
 *
 * images.h - the ELF files that traced processes run: scanned once, their sites numbered, their
 * probes armed.
 *
 * Files are told apart by device, inode, size, modification and change time, never by name or
 * build-id.
 */
#ifndef SP_LOADER_IMAGES_H
#define SP_LOADER_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/bpf.h"
#include "loader/recorder.h"
#include "userspace/base/user.h"

struct sp_images;

/* @recorder NULL: what is found is not written (the self-test). Where @fast is set, probes go on
 * the 5-byte nop of verified stubs. */
int sp_images_new(struct sp_bpf *bpf, struct sp_recorder *recorder, struct sp_images **ret_images);
void sp_images_set_fast(struct sp_images *images, bool fast);
/* What is done every 20 ms while a file is waited for. */
void sp_images_meanwhile(struct sp_images *images, void (*meanwhile)(void *arg), void *arg);
/* Each file is also handed to @unwind, as often as it is added. */
struct sp_unwind;
void sp_images_set_unwind(struct sp_images *images, struct sp_unwind *unwind);
/* Each file is also held for @archive; NULL: none is. */
struct sp_archive;
void sp_images_set_archive(struct sp_images *images, struct sp_archive *archive);

/* A file, open, and what is known of it (look.h). */
struct sp_images_file {
	int fd;
	long system;	/* f_type of statfs(2), 0 unknown */
	uint16_t place; /* SP_IMAGE_* */
	const char *path;
};

/* Looks at files, known or new; scans and arms the new ones together. Takes over the descriptors.
 * @since, if not NULL: when they began to run (ns; 0 for one that is held
 * until it is armed, or ran before the recording; a time to come where that is the latest): what it costs in
 * missing regions is said and noted; @users who mapped them, NULL: he for whom we record. A file that cannot
 * be read or armed is noted and logged, and does not fail the call; -errno is for want of memory or of the
 * helper. */
int sp_images_add(struct sp_images *images, const struct sp_images_file *files,
		  const uint64_t *since, const struct sp_user *users, size_t count);
/* Whether there is an archive, so that users matter. */
bool sp_images_has_archive(const struct sp_images *images);

/* Images with probes of ours that are armed; region sites that begin a region; whether any image's
 * probes could not be armed. */
size_t sp_images_armed(const struct sp_images *images);
/* Why the last image that could not be armed was not: -errno, 0 if all were. */
int sp_images_arm_error(const struct sp_images *images);
/* Why the last file that could not be read was not, the same way. */
int sp_images_read_error(const struct sp_images *images);

/* Takes their probes off, if they are on. Slow: up to 0.2 s for each image. */
void sp_images_free(struct sp_images *images);

#endif
