/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elfscan.h - what ELF files say about their regions, without believing or parsing them here.
 *
 * The files are read by sp-elf, a helper without rights (sandbox.h); this side checks every event
 * that comes back against the file's size and the limits of elf_limits.h, and hands it on. Costs
 * about 2 ms for a batch plus 50 µs a file, and 1 µs a region site. Memory: one file's events at a
 * time.
 *
 *   struct sp_elfscan *scan;
 *   r = sp_elfscan_new(NULL, &scan, &err);
 *   r = sp_elfscan_run(scan, fds, n, on_event, me);      as often as wanted
 *   for (i < n) if (sp_elfscan_result(scan, i, &why) < 0) …
 *   sp_elfscan_free(scan);
 */
#ifndef SP_LOADER_ELFSCAN_H
#define SP_LOADER_ELFSCAN_H

#include <linux/types.h>
#include <stddef.h>

#include "formats/error.h"
#include "formats/wire.h"

struct sp_elfscan;

/* Takes one checked event of the file fds[@index]. A file's events come together, image first, then
 * its segment, probe and site events:
 *   image    device … ctime are those of the descriptor, the path is empty (fill it in), `image` is
 *            @index + 1, `sites` says how many site events follow, `error` is as
 * sp_elfscan_result() segment  executable PT_LOADs: file_offset + file_size is within the file
 *   probe    at most 64: offsets within the file; semaphore and semaphore_offset both 0 or both not
 *   site     numbered 1 … sites within its file; the hash is the name's; flags are SP_SITE_*, among
 *            others that a newer sp_region.h may set
 * A NUL follows the tail in memory, so its strings are C strings. The event is gone after the call.
 * A negative return ends the run with it. */
typedef int (*sp_elfscan_cb)(size_t index, const struct sp_head *event, void *arg);

/* @helper is the path of sp-elf; NULL finds the installation's own. -ENOENT, -ENOMEM. */
int sp_elfscan_new(const char *helper, struct sp_elfscan **ret_scan, struct sp_error *err);
/* What is done every 20 ms of a wait for a file; NULL: nothing. */
void sp_elfscan_meanwhile(struct sp_elfscan *scan, void (*meanwhile)(void *arg), void *arg);
void sp_elfscan_free(struct sp_elfscan *scan);

/* Reads @n files (descriptors open for reading; their offsets do not matter and do not change).
 * Every file gets an image event. A file that kills its reader, or makes it hang (5 s), costs one
 * more helper and its own result; the others are read all the same. 0, the callback's return, or
 * -errno where no helper could be run (@err says why) - what is wrong with single files is their
 * result. */
int sp_elfscan_run(struct sp_elfscan *scan, const int *fds, size_t n, sp_elfscan_cb cb, void *arg,
		   struct sp_error *err);

/* How reading the @index-th file of the last run went: 0 or -errno, and a sentence about it, or
 * NULL if there is nothing to say. -ENOEXEC          not an ELF file -ENOTSUP          of another
 * machine or kind (32 bits, big-endian, object file, core) -SP_E_TRUNCATED   cut short, or changed
 * while it was read -SP_E_DAMAGED     its headers or descriptors contradict themselves -SP_E_COUNT
 * more sites, probes or sections than the limits -SP_E_VERSION     built with a sp_region.h that
 * this version does not know -SP_E_MISSING     its section headers were stripped, so its regions
 * cannot be found -EPROTO, -ETIME   its reader died, or hung With -SP_E_VERSION and -SP_E_DAMAGED,
 * what could be read was handed on. */
int sp_elfscan_result(const struct sp_elfscan *scan, size_t index, const char **ret_text);

/* The sentence for a code above, without the file's name; never NULL. */
const char *sp_elfscan_error_text(int code);

#endif
