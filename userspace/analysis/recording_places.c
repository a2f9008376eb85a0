/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recording_places.c - where in the source the calls and gaps of a recording are.
 *
 * A call that began before its recording is known by its end alone. Where its region begins at one
 * place, that is where it began; else nobody knows, and its end has to do.
 */
#include "userspace/analysis/recording.h"

uint32_t sp_recording_begin(const struct sp_recording *rec, uint32_t site)
{
	const struct sp_region *region;

	if (site == SP_NONE || !rec->sites[site].is_end)
		return site;
	if (rec->sites[site].region >= rec->n_regions)
		return SP_NONE;
	region = &rec->regions[rec->sites[site].region];
	return region->begins == 1 ? region->site : SP_NONE;
}

struct sp_place sp_recording_place(const struct sp_recording *rec, uint32_t site)
{
	uint32_t begin = sp_recording_begin(rec, site);
	const struct sp_site *is;

	if (site == SP_NONE)
		return (struct sp_place){"", -1};
	is = &rec->sites[begin == SP_NONE ? site : begin];
	return (struct sp_place){is->file ? is->file : "", is->line};
}

static const struct sp_site *site_of(const struct sp_recording *rec, const struct sp_loss *loss)
{
	uint32_t index = loss->site ? sp_recording_site(rec, loss->site) : SP_NONE;

	return index == SP_NONE ? NULL : &rec->sites[index];
}

const char *sp_recording_loss_region(const struct sp_recording *rec, const struct sp_loss *loss)
{
	const struct sp_site *site = site_of(rec, loss);

	if (!site)
		return "";
	if (site->region < rec->n_regions)
		return rec->regions[site->region].name;
	return site->name ? site->name : "";
}

struct sp_place sp_recording_loss_place(const struct sp_recording *rec, const struct sp_loss *loss)
{
	const struct sp_site *site = site_of(rec, loss);

	return site ? (struct sp_place){site->file ? site->file : "", site->line}
		    : (struct sp_place){"", -1};
}
