/* SPDX-License-Identifier: BSD-2-Clause
 *
 * procrank.h - which rank of which job a process is, by what its launcher put into its environment.
 *
 * Every variable is inherited by whatever the process starts, so the question is not only what is
 * set but what set it last. MPI launchers' own variables come first: they are given to ranks alone.
 * Slurm's are given to everything in a step, also to the mpirun that was started in it and to the
 * daemons that this starts on the other nodes, and to the batch script; so they count only inside a
 * real step, only if nothing more specific is there, and not for programs known as launchers.
 */
#ifndef SP_LOADER_PROCRANK_H
#define SP_LOADER_PROCRANK_H

#include <stddef.h>
#include <stdint.h>

struct sp_procrank {
	int32_t rank;	    /* -1: none */
	int32_t size;	    /* -1: unknown */
	const char *source; /* the variable that the rank came from; "" if none */
	char job[64];	    /* of the batch system, "" if none; safe as a file name */
	char launch[64];    /* tells several launches of a job apart (a step, a namespace), "" if
			     * unknown;    safe as a file name */
};

/* @environ: @bytes of NUL-terminated NAME=VALUE, as in /proc/PID/environ. @comm: the program's
 * name. Values that are not whole numbers in range are as good as absent; a size that does not hold
 * the rank is unknown. */
void sp_procrank_parse(const char *environ, size_t bytes, const char *comm,
		       struct sp_procrank *ret_rank);

#endif
