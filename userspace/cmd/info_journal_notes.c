/* SPDX-License-Identifier: BSD-2-Clause
 *
 * info_journal_notes.c - what is missing in a journal, and what else its reader must know.
 */
#include <errno.h>
#include <inttypes.h>

#include "formats/util.h"
#include "userspace/analysis/cuts.h"
#include "userspace/base/array.h"
#include "userspace/cmd/info_journal.h"

static int count_cut(struct sp_info_journal *info, uint32_t site, unsigned kind)
{
	uint64_t key = (uint64_t)site * SP_CUT_KINDS + kind;
	uint32_t index = sp_idmap_get(&info->cut_by_key, key);
	struct sp_info_cut *cut;

	if (index != SP_IDMAP_NONE) {
		info->cuts[index].count++;
		return 0;
	}
	cut = sp_array_add(&info->cuts, &info->n_cuts, &info->cuts_room);
	if (!cut)
		return -ENOMEM;
	*cut = (struct sp_info_cut){site, kind, 1};
	return sp_idmap_set(&info->cut_by_key, key, (uint32_t)(info->n_cuts - 1));
}

static uint64_t key_of(const struct sp_ev_call *call)
{
	return (uint64_t)call->head.lane << 40 | (call->number & (((uint64_t)1 << 40) - 1));
}

static int add_open(struct sp_info_journal *info, const struct sp_ev_call *call)
{
	uint64_t key = key_of(call);
	struct sp_info_open *open;

	if (sp_idmap_get(&info->open_by_key, key) != SP_IDMAP_NONE) {
		info->duplicates++;
		return 0;
	}
	open = sp_array_add(&info->opens, &info->n_opens, &info->opens_room);
	if (!open)
		return -ENOMEM;
	*open = (struct sp_info_open){.site = call->site};
	return sp_idmap_set(&info->open_by_key, key, (uint32_t)(info->n_opens - 1));
}

int sp_info_journal_see(struct sp_info_journal *info, const struct sp_event *event)
{
	const struct sp_ev_call *call = (const struct sp_ev_call *)event->head;
	int kind;

	if (event->head->type != SP_EV_call)
		return 0;
	if (call->head.flags & SP_CALL_OPEN_AT_END)
		return add_open(info, call);
	kind = sp_cut_kind(SP_CALL_FLAGS(call->head.flags));
	return kind < 0 ? 0 : count_cut(info, call->site, (unsigned)kind);
}

void sp_info_journal_see_again(struct sp_info_journal *info, const struct sp_event *event)
{
	const struct sp_ev_call *call = (const struct sp_ev_call *)event->head;
	uint32_t index;

	if (event->head->type != SP_EV_call || call->head.flags & SP_CALL_OPEN_AT_END)
		return;
	index = sp_idmap_get(&info->open_by_key, key_of(call));
	if (index == SP_IDMAP_NONE)
		return;
	info->opens[index].ended = true;
	info->duplicates++;
}

static int gather_cuts(struct sp_info_journal *info)
{
	const struct sp_recording *rec = info->recording;

	for (size_t i = 0; i < info->n_opens; i++)
		if (!info->opens[i].ended &&
		    count_cut(info, info->opens[i].site,
			      (unsigned)sp_cut_kind(SP_CALL_OPEN_AT_END)) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < info->n_cuts; i++) {
		uint32_t site = sp_recording_site(rec, info->cuts[i].site);
		const struct sp_site *is = &rec->sites[site]; /* the call made it */
		struct sp_place place = sp_recording_place(rec, site);
		struct sp_given_cut *cut = sp_array_add(&info->notes.cuts, &info->notes.n_cuts,
							&info->notes.cuts_room);

		if (!cut)
			return -ENOMEM;
		*cut = (struct sp_given_cut){
			.region = is->name ? is->name : "?",
			.rank = UINT32_MAX,
			.kind = info->cuts[i].kind,
			.count = info->cuts[i].count,
			.file = place.file,
			.line = place.line,
		};
	}
	return sp_inputs_note_cuts(&info->notes, 0);
}

static int gather_losses(struct sp_info_journal *info)
{
	const struct sp_recording *rec = info->recording;

	for (unsigned cause = 0; cause < SP_LOSS_MAX; cause++) {
		struct sp_given_loss sum = {.cause = sp_loss_name(cause),
					    .help = sp_loss_help(cause)};
		struct sp_given_loss *loss;

		for (size_t i = 0; i < rec->n_losses; i++) {
			if (rec->losses[i].cause != cause)
				continue;
			sp_add_capped(&sum.count, rec->losses[i].count);
			if (rec->losses[i].first &&
			    (!sum.first || rec->losses[i].first < sum.first))
				sum.first = rec->losses[i].first;
			if (rec->losses[i].last > sum.last)
				sum.last = rec->losses[i].last;
		}
		if (!sum.count)
			continue;
		loss = sp_array_add(&info->notes.losses, &info->notes.n_losses,
				    &info->notes.losses_room);
		if (!loss)
			return -ENOMEM;
		*loss = sum;
	}
	return 0;
}

static int gather_gaps(struct sp_info_journal *info)
{
	const struct sp_recording *rec = info->recording;

	for (size_t i = 0; i < rec->n_losses; i++) {
		const struct sp_loss *loss = &rec->losses[i];
		uint32_t lane = loss->lane ? sp_idmap_get(&rec->lane_by_id, loss->lane) : SP_NONE;
		const char *region = sp_recording_loss_region(rec, loss);
		struct sp_place place = sp_recording_loss_place(rec, loss);
		struct sp_gap *gap = sp_array_add(&info->notes.gaps.items, &info->notes.gaps.n,
						  &info->notes.gaps.room);

		if (!gap)
			return -ENOMEM;
		*gap = (struct sp_gap){
			.cause = loss->cause,
			.name = sp_loss_name(loss->cause),
			.thread = lane == SP_NONE ? NULL : rec->lanes[lane].name,
			.region = region[0] ? region : NULL,
			.source = place.file[0] && place.line > 0 ? place.file : NULL,
			.line = place.line,
			.cpu = loss->cpu,
			.tid = lane == SP_NONE ? -1 : (int64_t)rec->lanes[lane].tid,
			.index = -1,
			.rank = UINT32_MAX,
			.count = loss->count,
			.first = loss->first,
			.last = loss->last,
		};
	}
	return 0;
}

/* What is missing, besides what the recorder itself counted as lost. */
static int gather_notes(struct sp_info_journal *info)
{
	const struct sp_recording *rec = info->recording;
	int r = 0;

	if (!info->intact)
		r = sp_inputs_note(&info->notes, 0, true,
				   "%s: %" PRIu64 " of %" PRIu64 " bytes are whole", info->reason,
				   info->good_bytes, info->bytes);
	if (r == 0 && !rec->ended)
		r = sp_inputs_note(&info->notes, 0, true,
				   "the recorder died, or is still at it: what it had not written "
				   "yet is missing");
	else if (r == 0 && (rec->calls < rec->end_calls || rec->samples < rec->end_samples))
		r = sp_inputs_note(&info->notes, 0, true,
				   "its end says %" PRIu64 " calls and %" PRIu64
				   " samples, but only %" PRIu64 " and %" PRIu64 " are in it",
				   rec->end_calls, rec->end_samples, rec->calls, rec->samples);
	if (r == 0 && rec->unknown_site_calls)
		r = sp_inputs_note(&info->notes, 0, false,
				   "%" PRIu64 " calls of regions whose name is not known",
				   rec->unknown_site_calls);
	if (r == 0 && rec->made_up_lanes)
		r = sp_inputs_note(&info->notes, 0, false,
				   "%" PRIu64 " threads without a record of their own",
				   rec->made_up_lanes);
	if (r == 0 && info->state.unknown_events)
		r = sp_inputs_note(&info->notes, 0, false,
				   "%" PRIu64 " events of kinds that this version does not know",
				   info->state.unknown_events);
	return r;
}

int sp_info_journal_gather(struct sp_info_journal *info)
{
	int r = gather_losses(info);

	info->notes.start = sp_recording_meta_number(info->recording, "start_ns", 0);
	if (r == 0)
		r = gather_gaps(info);
	if (r == 0)
		r = gather_notes(info);
	return r == 0 ? gather_cuts(info) : r;
}
