/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elfscan_check.c - checks of the ELF helper's events.
 *
 * Invariant: nothing of an event is used before it was compared with what is known for sure: the
 * file's size, the number that was given out, and the limits.
 */
#include "loader/elfscan_check.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "formats/codec.h"
#include "loader/elf_limits.h"

#define MAX_ERRNO 4095

static bool inside(const struct sp_elfscan_check *check, uint64_t offset, uint64_t bytes)
{
	return offset <= check->file_size && bytes <= check->file_size - offset;
}

/* Splits a text tail; false unless it has exactly @count strings, none longer than its limit. */
static bool split(const struct sp_head *event, const size_t *limits, size_t count,
		  const char **ret_at, size_t *ret_bytes)
{
	size_t left;
	const char *at = sp_event_tail(event, &left);

	for (size_t i = 0; i < count; i++) {
		const char *nul = memchr(at, 0, left);
		size_t n = nul ? (size_t)(nul - at) : left;

		if (n > limits[i] || (nul != NULL) != (i + 1 < count))
			return false;
		ret_at[i] = at;
		ret_bytes[i] = n;
		at += n + 1;
		left -= nul ? n + 1 : n;
	}
	return true;
}

static bool text_is(const char *at, size_t bytes, const char *text)
{
	return bytes == strlen(text) && !memcmp(at, text, bytes);
}

static bool check_image(struct sp_elfscan_check *check, const struct sp_ev_image *ev)
{
	static const size_t limits[] = {0, 128};
	const char *at[2];
	size_t n[2];

	if (check->started || ev->image != check->image || ev->sites > SP_ELF_LIMIT_SITES ||
	    ev->elf_type > UINT16_MAX || ev->error > 0 || ev->error < -MAX_ERRNO ||
	    !split(&ev->head, limits, 2, at, n))
		return false;
	for (size_t i = 0; i < n[1]; i++)
		if (!memchr("0123456789abcdef", at[1][i], 16))
			return false;
	check->started = true;
	check->sites_promised = ev->sites;
	return true;
}

static bool check_segment(struct sp_elfscan_check *check, const struct sp_ev_segment *ev)
{
	return check->started && ev->image == check->image &&
	       ++check->segments <= SP_ELF_LIMIT_SEGMENTS && (ev->flags & PF_X) &&
	       inside(check, ev->file_offset, ev->file_size) &&
	       ev->file_size <= UINT64_MAX - ev->address;
}

static bool check_probe(struct sp_elfscan_check *check, const struct sp_ev_probe *ev)
{
	static const size_t limits[] = {2, 5, 63};
	const char *at[3];
	size_t n[3];

	return check->started && ev->image == check->image &&
	       ++check->probes <= SP_ELF_LIMIT_PROBES &&
	       (ev->kind == SP_PROBE_BEGIN || ev->kind == SP_PROBE_END) &&
	       (ev->flags & ~(uint32_t)SP_PROBE_F_STUB) == 0 &&
	       inside(check, ev->file_offset, 16) && inside(check, ev->semaphore_offset, 2) &&
	       (ev->semaphore == 0) == (ev->semaphore_offset == 0) &&
	       split(&ev->head, limits, 3, at, n) && text_is(at[0], n[0], "sp") &&
	       text_is(at[1], n[1], ev->kind == SP_PROBE_BEGIN ? "begin" : "end");
}

static bool check_site(struct sp_elfscan_check *check, const struct sp_ev_site *ev)
{
	static const size_t limits[] = {SP_ELF_LIMIT_NAME, SP_ELF_LIMIT_TEXT, SP_ELF_LIMIT_TEXT,
					SP_ELF_LIMIT_TEXT};
	const char *at[4];
	size_t n[4];

	return check->started && ev->image == check->image && ev->site == ++check->sites &&
	       check->sites <= check->sites_promised && ev->flags <= 0xffffff &&
	       split(&ev->head, limits, 4, at, n) && ev->hash == sp_name_hash(at[0], n[0]);
}

/* A sentence, which will be shown: plain characters only. */
static bool check_meta(struct sp_elfscan_check *check, const struct sp_ev_meta *ev)
{
	static const size_t limits[] = {4, SP_ELF_LIMIT_NOTE};
	const char *at[2];
	size_t n[2];

	if (!check->started || check->noted || !split(&ev->head, limits, 2, at, n) ||
	    !text_is(at[0], n[0], "note"))
		return false;
	for (size_t i = 0; i < n[1]; i++)
		if (at[1][i] < ' ' || at[1][i] > '~')
			return false;
	check->noted = true;
	return true;
}

int sp_elfscan_check_event(struct sp_elfscan_check *check, const struct sp_head *event,
			   size_t bytes)
{
	size_t tail;
	bool fine;

	if (sp_event_check(event, bytes) < 0)
		return -EBADMSG;
	sp_event_tail(event, &tail);
	if (bytes != sp_event_find(event->type)->bytes + tail || event->flags || event->lane)
		return -EBADMSG;
	switch (event->type) {
	case SP_EV_image:
		fine = check_image(check, (const struct sp_ev_image *)event);
		break;
	case SP_EV_segment:
		fine = check_segment(check, (const struct sp_ev_segment *)event);
		break;
	case SP_EV_probe:
		fine = check_probe(check, (const struct sp_ev_probe *)event);
		break;
	case SP_EV_site:
		fine = check_site(check, (const struct sp_ev_site *)event);
		break;
	case SP_EV_meta:
		fine = check_meta(check, (const struct sp_ev_meta *)event);
		break;
	default:
		fine = false;
	}
	return fine ? 0 : -EBADMSG;
}

int sp_elfscan_check_end(const struct sp_elfscan_check *check)
{
	return check->started && check->sites == check->sites_promised ? 0 : -EBADMSG;
}
