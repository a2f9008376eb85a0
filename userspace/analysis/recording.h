/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recording.h - what a journal says about everything but the single calls and samples.
 *
 * One pass over the journal collects threads (lanes), process images, sites, ELF images, mappings,
 * losses, clocks and facts; sp_recording_resolve() then settles what needs all of them: the rank of
 * each process, which processes share a file (a unit), which sites are one region. Memory grows
 * with threads, processes, sites and mappings (about 100 bytes each), never with calls or samples.
 *
 * Life cycle: new, add every event of the journal, resolve, look things up, free. Tables are read
 * directly; the arrays belong to the recording, and no element moves after resolve.
 *
 * Names that came from traced programs are repaired to UTF-8 here, before they are compared, so
 * that every file made from the recording has the same ones.
 */
#ifndef SP_ANALYSIS_RECORDING_H
#define SP_ANALYSIS_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/codec.h"
#include "userspace/analysis/stack_counts.h"
#include "userspace/base/idmap.h"
#include "userspace/base/pool.h"
#include "userspace/base/user.h"

#define SP_NONE UINT32_MAX

struct sp_lane {
	uint32_t id;
	uint32_t process; /* index; SP_NONE only before resolve */
	uint32_t tid;
	uint32_t thread;     /* index in its unit's thread table, SP_NONE if it is in none */
	uint64_t first, end; /* ns; end 0: still there, or unknown */
	int64_t cpu_time;    /* ns, -1 unknown */
	uint64_t calls, samples;
	const char *name;
	bool announced; /* by a task event; else it was made up from the records that name it */
};

struct sp_process {
	uint32_t number; /* 0 for the one that stands for all that are unknown */
	uint32_t pid, ppid;
	uint32_t parent;     /* number of the image that it came from, 0 unknown */
	bool from_exec;	     /* so it has none of the parent's mappings */
	bool described;	     /* by a process event of its own */
	bool lost;	     /* calls or samples of its threads were lost */
	uint64_t first, end; /* ns; end 0: still there */
	const char *exe, *command_line, *rank_source, *job, *comm;
	int32_t rank, size;   /* MPI; -1 none, unknown */
	uint32_t user, group; /* ids + 1, 0 unknown */
	uint64_t calls, samples;
	uint32_t threads;	     /* lanes in the thread table */
	uint32_t unit;		     /* index, SP_NONE: has neither call nor sample, nor lost any */
	uint32_t row;		     /* in the unit's process table */
	size_t first_map, map_count; /* in maps */
};

struct sp_site {
	uint32_t number;
	uint32_t region;			   /* index */
	uint32_t image;				   /* number, 0 none */
	int64_t line;				   /* -1 unknown */
	const char *name, *file, *tags, *function; /* name NULL: never described */
	uint64_t calls, samples;
	bool is_end; /* where a region ends: no call comes from it but those that began before */
};

/* A call that was open when its lane began (SP_CALL_BEGAN_BEFORE). */
struct sp_before {
	uint32_t lane, site; /* indices */
	uint64_t end, number;
};

struct sp_region {
	const char *name;
	uint32_t site;	 /* index of the one that stands for it: the lowest number */
	uint32_t begins; /* places where it is known to begin */
};

struct sp_image {
	uint32_t number;
	uint32_t elf_type;
	uint64_t device, inode, size;
	int64_t mtime; /* ns since 1970 */
	const char *path, *build_id;
	uint8_t place;	      /* SP_IMAGE_* */
	const char *archived; /* copy of the file, relative to the recording's directory, "" none */
	int32_t error;
};

struct sp_segment {
	uint32_t image; /* number */
	uint64_t address, file_offset, file_size;
};

struct sp_map {
	uint32_t process; /* index */
	uint32_t image;	  /* index, SP_NONE unknown */
	uint64_t time, start, end, file_offset, device, inode;
	uint64_t reach; /* highest end of the process's maps up to this one */
	uint64_t bias;	/* run-time address - link-time address */
	const char *path;
	bool no_answer; /* its file system did not answer when it was recorded */
};

/* A gap: losses of one cause, CPU, thread and region that lie close together in time. */
struct sp_loss {
	uint32_t cause; /* SP_LOSS_* */
	int32_t cpu;	/* -1 unknown */
	uint32_t lane;	/* its id, 0 unknown */
	uint32_t site;	/* its number, 0 unknown */
	uint64_t count, first, last; /* 0: time unknown */
};

struct sp_clock {
	int64_t monotonic, realtime, boottime, error;
};

/* A function of the kernel; after resolve in order of address. */
struct sp_kernel_symbol {
	uint64_t address, end; /* end 0: unknown */
	const char *name, *module;
};

/* How an image's stacks are unwound, as far as the recorder said so. */
struct sp_unwind_fact {
	uint32_t image; /* number */
	int32_t error;
	uint64_t rows;
	const char *why; /* there is no table, "" if there is one */
};

struct sp_meta {
	const char *key, *value;
};

/* What shares one set of files: a rank of a job. */
struct sp_unit {
	uint32_t rank;
	int32_t size;	 /* MPI size, -1 unknown */
	bool other;	 /* processes without a rank, beside ranked ones */
	const char *job; /* "" none */
	uint32_t processes, threads;
	uint64_t calls, samples; /* as recorded, before duplicates are dropped */
};

struct sp_recording {
	struct sp_pool *strings;
	struct sp_lane *lanes;
	struct sp_process *processes; /* the first is the unknown one */
	struct sp_site *sites;
	struct sp_region *regions; /* in order of their sites' numbers, static ones first */
	struct sp_image *images;
	struct sp_segment *segments;
	struct sp_map *maps; /* after resolve by process, start, time */
	struct sp_loss *losses;
	struct sp_clock *clocks;
	struct sp_meta *meta;
	struct sp_kernel_symbol *kernel_symbols;
	struct sp_unwind_fact *unwind_facts;
	struct sp_before *befores; /* after resolve by lane, end */
	struct sp_unit *units; /* in order of job, ranked before other, rank */
	size_t n_lanes, n_processes, n_sites, n_regions, n_images, n_segments, n_maps, n_losses,
		n_clocks, n_meta, n_kernel_symbols, n_unwind_facts, n_units,
		n_befores;
	uint64_t calls, samples, first_time, last_time;
	uint64_t made_up_lanes; /* lanes whose task event was lost */
	uint64_t unknown_sites, unknown_site_calls;
	struct sp_stack_counts stacks;
	uint64_t stack_copies;
	uint64_t open_calls; /* records of calls that were open at the end, duplicates included */
	bool ended;	     /* in good order */
	const char *end_reason; /* "" unknown */
	uint64_t end_time, end_calls, end_samples;
	bool several_jobs;

	/* Room and indices. */
	size_t lanes_room, processes_room, sites_room, regions_room, images_room, segments_room,
		maps_room, losses_room, clocks_room, meta_room, kernel_symbols_room,
		unwind_facts_room, units_room, befores_room;
	struct sp_idmap lane_by_id, process_by_number, site_by_number, image_by_number;
	struct sp_idmap loss_places, loss_by_key; /* recording_losses.c */
	uint64_t loss_slack;
};

/* NULL without memory. */
struct sp_recording *sp_recording_new(void);
void sp_recording_free(struct sp_recording *recording);

/* A place in the source: no file, line -1: unknown. */
struct sp_place {
	const char *file;
	int64_t line;
};

/* The site where calls of a site (an index, or SP_NONE) begin; SP_NONE unknown. */
uint32_t sp_recording_begin(const struct sp_recording *recording, uint32_t site);
/* Where calls of a site begin; of calls that are known by their end and may have begun at several
 * places, where they end. */
struct sp_place sp_recording_place(const struct sp_recording *recording, uint32_t site);

/* The name of the region of a gap, "" unknown. Ends name theirs, too, which may have no call. */
const char *sp_recording_loss_region(const struct sp_recording *recording, const struct sp_loss *loss);
/* Where it is in the source: of ends that were lost, where these are. */
struct sp_place sp_recording_loss_place(const struct sp_recording *recording,
					const struct sp_loss *loss);

/* Takes in one event. 0 or -ENOMEM; what an event claims is never trusted beyond its own values. */
int sp_recording_add(struct sp_recording *recording, const struct sp_event *event);

/* After the last event. -ENOMEM, or -E2BIG for more regions than a file can hold. */
int sp_recording_resolve(struct sp_recording *recording);

/* Index of a lane or a site, SP_NONE if no event named it. */
static inline uint32_t sp_recording_lane(const struct sp_recording *recording, uint32_t id)
{
	return sp_idmap_get(&recording->lane_by_id, id);
}

static inline uint32_t sp_recording_site(const struct sp_recording *recording, uint32_t number)
{
	return sp_idmap_get(&recording->site_by_number, number);
}

/* The innermost of the lane's calls from before that were open at @time, NULL none, and how many were. */
const struct sp_before *sp_recording_before(const struct sp_recording *recording, uint32_t lane,
					    uint64_t time, uint32_t *ret_depth);

/* The map that held an address of a process at a time, SP_NONE unknown. Maps of the process itself
 * come first, then those that it was forked with; the latest of several that cover the address; one
 * that was only seen later if there is none before. */
uint32_t sp_recording_find_map(const struct sp_recording *recording, uint32_t process, uint64_t ip,
			       uint64_t time);

/* Index of the kernel's function that an address is in, SP_NONE unknown. */
uint32_t sp_recording_find_kernel_symbol(const struct sp_recording *recording, uint64_t address);

/* The wall-clock time of a moment of CLOCK_MONOTONIC, ns since 1970; -1 unknown. */
int64_t sp_recording_realtime(const struct sp_recording *recording, int64_t monotonic);

/* The last value of a key, or NULL. */
const char *sp_recording_meta(const struct sp_recording *recording, const char *key);
/* Whether it was recorded by the kernel that runs now. */
bool sp_recording_is_of_this_boot(const struct sp_recording *recording);
/* Who ran the programs, all that have calls or samples; not known where they were several users, or
 * saw other files than the recorder does (containers). */
void sp_recording_user(const struct sp_recording *recording, struct sp_user *ret_user);
/* The same as a whole number; @otherwise where there is none. */
int64_t sp_recording_meta_number(const struct sp_recording *recording, const char *key,
				 int64_t otherwise);

#endif
