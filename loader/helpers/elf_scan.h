/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elf_scan.h - what one ELF file says about its regions, as events.
 *
 * In this order: image (always, with the error and what was found), then segment, probe and site
 * events, then, if there is something to say about the file, a meta event "note" NUL sentence.
 * Texts are as in events.def, without a NUL after the last string; the image's path is empty.
 * Sites are numbered from 1 in each file, and `image` is what the caller gave.
 */
#ifndef SP_LOADER_HELPERS_ELF_SCAN_H
#define SP_LOADER_HELPERS_ELF_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* Takes one event: a struct of wire.h (with tail_bytes set) and its tail. Negative stops the scan.
 */
struct sp_elf_sink {
	int (*put)(void *arg, const void *event, size_t bytes, const void *tail, size_t tail_bytes);
	void *arg;
};

/* 0, or what the sink said. What is wrong with the file is in the image event. */
int sp_elf_scan(int fd, uint32_t image, const struct sp_elf_sink *sink);

#endif
