/* SPDX-License-Identifier: BSD-2-Clause
 *
 * session_state.h - a session's parts, for the files that make it up: session_open.c (what is
 * made before the program runs), session_start.c (up to its first region), session_round.c (one round
 * of reading), session_symbols.c (what symbols will need) and session.c (the loop and the end).
 */
#ifndef SP_LOADER_SESSION_STATE_H
#define SP_LOADER_SESSION_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "loader/archive.h"
#include "loader/bpf.h"
#include "loader/command.h"
#include "loader/hold.h"
#include "loader/identity.h"
#include "loader/images.h"
#include "loader/kallsyms.h"
#include "loader/look.h"
#include "loader/options.h"
#include "loader/output.h"
#include "loader/processes.h"
#include "loader/progress.h"
#include "loader/recorder.h"
#include "loader/rings.h"
#include "loader/sampler.h"
#include "loader/selftest.h"
#include "loader/sideband.h"
#include "loader/stacks.h"
#include "loader/throttle.h"
#include "loader/unwind.h"

struct sp_session {
	const struct sp_options *options;
	struct sp_identity identity;
	const struct sp_command_given *given;
	char *program;
	struct sp_output output;
	struct sp_bpf *bpf;
	struct sp_selftest selftest;
	struct sp_look *look;
	struct sp_recorder *recorder;
	struct sp_unwind *unwind; /* NULL: stacks are not followed by tables */
	struct sp_stacks stacks;
	struct sp_kallsyms *kallsyms; /* NULL: no kernel stacks */
	struct sp_archive *archive;   /* NULL: files are not kept */
	struct sp_images *images;
	struct sp_processes *processes;
	struct sp_sideband *sideband;
	struct sp_rings *rings;
	struct sp_sampler *sampler;   /* NULL: no samples */
	struct sp_throttle *throttle; /* the same */
	struct sp_hold *hold; /* NULL where the kernel has no such thing */
	struct sp_command *command;
	struct sp_bpf_options sizes;
	const char *sample_event;
	int signals, priority; /* as it was when we started */
	uint64_t start, began; /* ns: of the recording, and since when its targets run in it */
	uint64_t next_check, next_second, next_minute;
	uint64_t round; /* ns: when the last one began */
	bool heard_of_ours, heard_of_others; /* in the last round, from the side band */
	struct sp_progress progress;
	bool asked;	  /* a signal asked for the end */
	char reason[160]; /* why the recording ends; "" while it goes on */
	bool failed;	  /* ends for a fault */
};

/* Ends the recording for a reason; the first one holds. */
void sp_session_finish(struct sp_session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* session_signals.c */

/* From here on signals that ask for the end wait until they are taken. 0 or -errno. */
int sp_session_listen(struct sp_session *session);
/* Where nothing has begun yet: -EINTR if one waits, else 0. */
int sp_session_go_on(void);
/* Takes them; the first ones are passed on to the command, if it has not got them. 0 if there are
 * none, else one of them. */
int sp_session_take_signals(struct sp_session *session);

/* session_open.c */

/* Rights, output, BPF, the self-test, rings and streams: nothing touches the program yet. 0 or
 * -errno, logged. */
int sp_session_open(struct sp_session *session);
void sp_session_write_facts(struct sp_session *session);

/* session_start.c */

/* Finds or starts the program, with its probes armed. From then on we hurry. 0 or -errno, logged. */
int sp_session_start_targets(struct sp_session *session);
/* Rings fill, and stacks have no tables yet, while we wait for a CPU: so we are served before
 * others. Not before the command is forked, nor beyond the recording: what we start is to run as it
 * would without us. */
void sp_session_hurry(struct sp_session *session, bool on);
void sp_session_say_without_probes(const char *what);

/* session_symbols.c: at the end, what symbols will need of this machine: names of kernel functions,
 * copies of files. */
void sp_session_write_for_symbols(struct sp_session *session);

/* session_round.c */

/* Opens the rings and the side band, and joins them. */
int sp_session_join(struct sp_session *session);
/* One round: takes what all rings hold and hands it to the journal. Sets how full the fullest was,
 * of 256. */
void sp_session_drain(struct sp_session *session, unsigned *ret_fill);
/* At the end: notes what was still throttled then. */
void sp_session_note_throttled(struct sp_session *session);
/* Drains on until the tables that are being made are there, but not longer than that. */
void sp_session_await_tables(struct sp_session *session, uint64_t most_ns);
/* Answers the execs that wait. */
void sp_session_on_hold(struct sp_session *session);

#endif
