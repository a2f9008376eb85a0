/* SPDX-License-Identifier: BSD-2-Clause
 *
 * images.c - numbering region sites and arming probes.
 *
 * Site numbers of an image are consecutive in the order of the descriptors in the file, so that the
 * kernel gets from a descriptor's address to its number by one subtraction (bpf/config.h).
 */
#include "loader/images.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/archive.h"
#include "loader/bpf_log.h"
#include "loader/elf_limits.h"
#include "loader/elfscan.h"
#include "loader/filekey.h"
#include "loader/image_found.h"
#include "loader/procmaps.h"
#include "loader/unwind.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

struct image {
	struct sp_filekey key;
	uint64_t build_id; /* its hash, 0 none */
	bool overlay;	   /* seen through overlayfs, which gives a file other numbers */
	struct sp_armed *armed;
	const struct sp_user *user; /* who mapped it, while it is new */
};

struct sp_images {
	struct sp_bpf *bpf;
	struct sp_recorder *recorder;
	struct sp_unwind *unwind;   /* NULL: stacks need no tables */
	struct sp_archive *archive; /* NULL: files are not kept */
	struct sp_elfscan *scan;
	struct image *list;
	size_t count, room, armed;
	int arm_error, read_error; /* the last ones */
	bool fast;
};

int sp_images_new(struct sp_bpf *bpf, struct sp_recorder *recorder, struct sp_images **ret_images)
{
	struct sp_images *images = calloc(1, sizeof(*images));
	struct sp_error err = {0};
	int r;

	if (!images)
		return -ENOMEM;
	images->bpf = bpf;
	images->recorder = recorder;
	r = sp_elfscan_new(NULL, &images->scan, &err);
	if (r < 0) {
		sp_log_error("cannot find the helper that reads ELF files: %s", err.text);
		free(images);
		return r;
	}
	*ret_images = images;
	return 0;
}

void sp_images_set_fast(struct sp_images *images, bool fast)
{
	images->fast = fast;
}

void sp_images_meanwhile(struct sp_images *images, void (*meanwhile)(void *arg), void *arg)
{
	sp_elfscan_meanwhile(images->scan, meanwhile, arg);
}

void sp_images_set_unwind(struct sp_images *images, struct sp_unwind *unwind)
{
	images->unwind = unwind;
}

bool sp_images_has_archive(const struct sp_images *images)
{
	return images->archive;
}

void sp_images_set_archive(struct sp_images *images, struct sp_archive *archive)
{
	images->archive = archive;
}

/* Its number in the recording, 0 for a new one. */
static uint32_t number_of(const struct sp_images *images, const struct sp_filekey *key)
{
	for (size_t i = images->count; i-- > 0;)
		if (sp_filekey_equal(&images->list[i].key, key))
			return (uint32_t)i + 1;
	return 0;
}

/* A file on overlayfs is also one on the file system below, under other numbers, and the kernel
 * tells us now the one, now the other. Its probes are the same: armed twice, each call would count
 * twice. What overlayfs hands through is compared, and the build-id. */
static bool is_armed_below(const struct sp_images *images, const struct image *key)
{
	for (size_t i = 0; i < images->count; i++) {
		const struct image *have = &images->list[i];

		if (have->armed && have->overlay != key->overlay &&
		    have->key.size == key->key.size && have->key.mtime == key->key.mtime &&
		    have->key.ctime == key->key.ctime &&
		    (key->build_id ? have->build_id == key->build_id
				   : have->key.inode == key->key.inode))
			return true;
	}
	return false;
}

/* A hash of a site's file and function, 0 if it does not say in which it stands. */
static uint64_t function_of(const struct sp_ev_site *site)
{
	enum { FILE_TEXT = 1, FUNCTION_TEXT = 3, TEXTS };
	uint64_t hash[TEXTS];
	size_t left, n;
	const char *at = sp_event_tail(&site->head, &left);

	for (int i = 0; i < TEXTS; i++) {
		n = strnlen(at, left);
		hash[i] = sp_name_hash(at, n);
		if (i == FUNCTION_TEXT && n == 0)
			return 0;
		n += n < left;
		at += n;
		left -= n;
	}
	return hash[FUNCTION_TEXT] ^ hash[FILE_TEXT] << 1;
}

/* Gives the image's sites their numbers, in the kernel's table and in the events. */
static int number_sites(struct sp_images *images, struct sp_image_found *f, uint32_t *ret_base,
			uint32_t *ret_next)
{
	uint64_t range = f->first ? (f->last - f->first) / SP_DESCRIPTOR_BYTES + 1 : 0;
	uint32_t base = sp_bpf_next_base(images->bpf);
	int r = 0;

	if (range > SP_ELF_LIMIT_SITES)
		return -ERANGE;
	if (range) /* where there is room for the last one, there is for all */
		r = sp_bpf_set_site(images->bpf, base + (uint32_t)range - 1, 0, false, 0);
	if (r < 0)
		return r;
	for (size_t i = 0; i < f->event_count; i++) {
		struct sp_ev_site *site = (struct sp_ev_site *)f->events[i];
		uint64_t distance;

		if (site->head.type != SP_EV_site)
			continue;
		distance = site->address - f->first;
		site->site = base + (uint32_t)(distance / SP_DESCRIPTOR_BYTES);
		if (distance % SP_DESCRIPTOR_BYTES)
			continue; /* not one of ours: the kernel will not find it either */
		r = sp_bpf_set_site(images->bpf, site->site, site->hash,
				    site->flags & SP_SITE_LEXICAL, function_of(site));
		if (r < 0)
			return r;
	}
	/* At least one, so that each image has a base of its own. */
	*ret_next = base + (range ? (uint32_t)range : 1);
	*ret_base = base;
	return 0;
}

static int arm(struct sp_images *images, struct sp_image_found *f, int fd, uint32_t base,
	       struct sp_armed **ret_armed)
{
	struct sp_bpf_probe probes[SP_ELF_LIMIT_PROBES];

	for (size_t i = 0; i < f->probe_count; i++) {
		const struct sp_ev_probe *p = &f->probes[i];
		unsigned ahead = images->fast && p->flags & SP_PROBE_F_STUB ? 1 : 0;

		probes[i] = (struct sp_bpf_probe){
			.offset = p->file_offset + ahead,
			.semaphore_offset = p->semaphore_offset,
			.cookie = SP_COOKIE(f->first - (p->address + ahead), base),
			.end = p->kind == SP_PROBE_END,
		};
	}
	return sp_bpf_arm(images->bpf, fd, probes, f->probe_count, ret_armed);
}

static void write_events(struct sp_images *images, struct sp_image_found *f,
			 const struct sp_images_file *file, uint32_t number)
{
	if (!images->recorder)
		return;
	f->image.image = number;
	f->image.head.flags = file->place;
	sp_recorder_add_text(images->recorder, &f->image.head, file->path, f->build_id, NULL);
	for (size_t i = 0; i < f->event_count; i++) {
		struct sp_head *ev = f->events[i];

		if (ev->type == SP_EV_segment)
			((struct sp_ev_segment *)ev)->image = number;
		else if (ev->type == SP_EV_site)
			((struct sp_ev_site *)ev)->image = number;
		else if (ev->type == SP_EV_probe)
			((struct sp_ev_probe *)ev)->image = number;
		sp_recorder_add(images->recorder, SP_STREAM_RECORDER, ev);
	}
}

/* Its regions up to now are not recorded, and nobody can tell how many there were. */
static void say_late(struct sp_images *images, const char *path, uint64_t since)
{
	uint64_t now = sp_now();

	if (!since || since >= now)
		return;
	sp_log_warning(
		"%s was mapped %.1f ms before its probes were armed: its regions until then are "
		"missing",
		path, (double)(now - since) / 1e6);
	if (images->recorder)
		sp_recorder_lost_since(images->recorder, SP_LOSS_ARMED_LATE, -1, since);
}

static void say_unarmed(struct sp_images *images, const char *path, uint64_t since, int error)
{
	sp_log_error("cannot arm the probes of %s: %s", path, strerror(-error));
	sp_bpf_hint(error);
	sp_recorder_lost_since(images->recorder, SP_LOSS_ARMED_LATE, -1,
			       since ? since : sp_now());
}

static int take_image(struct sp_images *images, struct sp_image_found *f, size_t index,
		      struct image *key, const struct sp_images_file *file, uint64_t since)
{
	const char *why = NULL, *path = file->path;
	int fd = file->fd;
	uint32_t base, next;
	int r = sp_elfscan_result(images->scan, index, &why);

	if (r < 0 && r != -ENOEXEC)
		sp_log_warning("%s: %s; its regions may be missing", path,
			       why ? why : strerror(-r));
	f->image.error = r;
	if (r < 0)
		images->read_error = r;
	key->build_id = f->build_id[0] ? sp_name_hash(f->build_id, strlen(f->build_id)) : 0;
	if (f->probe_count && is_armed_below(images, key)) {
		sp_log_verbose("%s is armed already, under its other name on overlayfs", path);
		sp_image_found_drop_probes(f);
	}
	if (f->probe_count) {
		r = number_sites(images, f, &base, &next);
		if (r == 0) {
			r = arm(images, f, fd, base, &key->armed);
			sp_bpf_set_next_base(images->bpf, next);
		}
		if (r < 0) {
			/* The self-test has its own words, and another place to try. */
			if (images->recorder)
				say_unarmed(images, path, since, r);
			f->image.error = images->arm_error = r;
		} else {
			images->armed++;
			for (size_t i = 0; i < f->event_count; i++)
				if (f->events[i]->type == SP_EV_probe)
					((struct sp_ev_probe *)f->events[i])->flags |=
						SP_PROBE_F_ARMED;
			say_late(images, path, since);
			sp_log_verbose("armed %s: %zu region sites%s", path, (size_t)f->image.sites,
				       images->fast ? ", fast probes" : "");
		}
	}
	if (images->count == images->room) {
		size_t room = images->room ? 2 * images->room : 64;
		struct image *more = realloc(images->list, room * sizeof(*more));

		if (!more) {
			sp_bpf_disarm(key->armed);
			return -ENOMEM;
		}
		images->list = more;
		images->room = room;
	}
	images->list[images->count++] = *key;
	write_events(images, f, file, (uint32_t)images->count);
	if (images->unwind)
		sp_unwind_add_file(images->unwind, fd, file->system, path, (uint32_t)images->count);
	if (images->archive && sp_archive_add(images->archive, fd, path, f->build_id,
					      (uint32_t)images->count, key->user) < 0)
		sp_log_warning("%s will not be in the archive: out of memory", path);
	return 0;
}

static int scan_new(struct sp_images *images, const struct sp_images_file *files,
		    const uint64_t *since, struct image *keys, size_t count)
{
	struct sp_image_found *found = calloc(count, sizeof(*found));
	sp_cleanup(sp_freep) int *fds = calloc(count, sizeof(*fds));
	struct sp_error err = {0};
	int r;

	if (!found || !fds) {
		free(found);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		fds[i] = files[i].fd;
	r = sp_elfscan_run(images->scan, fds, count, sp_image_found_take, found, &err);
	if (r < 0) {
		sp_log_error("cannot read the program's ELF files: %s",
			     err.text[0] ? err.text : strerror(-r));
		sp_bpf_hint(r);
	}
	for (size_t i = 0; i < count && r == 0; i++)
		r = take_image(images, &found[i], i, &keys[i], &files[i], since[i]);
	sp_image_found_free(found, count);
	return r;
}

int sp_images_add(struct sp_images *images, const struct sp_images_file *files,
		  const uint64_t *since, const struct sp_user *users, size_t count)
{
	sp_cleanup(sp_freep) struct sp_images_file *new_files =
		calloc(count + 1, sizeof(*new_files));
	sp_cleanup(sp_freep) struct image *keys = calloc(count + 1, sizeof(*keys));
	sp_cleanup(sp_freep) uint64_t *new_since = calloc(count + 1, sizeof(*new_since));
	size_t fresh = 0;
	int r = new_files && keys && new_since ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct sp_images_file *file = &files[i];
		struct image key = {.overlay = file->system == OVERLAYFS_SUPER_MAGIC,
				    .user = users ? &users[i] : NULL};
		bool known = false;
		uint32_t number;

		if (sp_filekey_read(file->fd, &key.key) < 0)
			continue;
		for (size_t k = 0; k < fresh && !known; k++)
			known = keys[k].key.inode == key.key.inode &&
				keys[k].key.device == key.key.device;
		number = number_of(images, &key.key);
		if (number && images->unwind)
			sp_unwind_add_file(images->unwind, file->fd, file->system, file->path,
					   number);
		if (known || number)
			continue;
		if (images->unwind) /* its table is made while its regions are looked for */
			sp_unwind_add_file(images->unwind, file->fd, file->system, file->path, 0);
		new_files[fresh] = *file;
		new_since[fresh] = since ? since[i] : 0;
		keys[fresh++] = key;
	}
	if (r == 0 && fresh)
		r = scan_new(images, new_files, new_since, keys, fresh);
	for (size_t i = 0; i < count; i++)
		close(files[i].fd);
	return r;
}

size_t sp_images_armed(const struct sp_images *images)
{
	return images->armed;
}

int sp_images_arm_error(const struct sp_images *images)
{
	return images->arm_error;
}

int sp_images_read_error(const struct sp_images *images)
{
	return images->read_error;
}

void sp_images_free(struct sp_images *images)
{
	if (!images)
		return;
	for (size_t i = 0; i < images->count; i++)
		sp_bpf_disarm(images->list[i].armed);
	sp_elfscan_free(images->scan);
	free(images->list);
	free(images);
}
