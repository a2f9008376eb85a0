/* SPDX-License-Identifier: BSD-2-Clause
 *
 * procrank.c - the launchers' variables, and how to tell a rank from its launcher.
 *
 * Invariant: what comes out is in range and harmless, whatever the environment holds: 0 <= rank,
 * rank < size where both are known, names without a slash.
 */
#include "loader/procrank.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most specific first. */
static const struct launcher {
	const char *rank, *sizes[3]; /* first of the sizes that is there counts */
	const char *step;	     /* must hold a number, else the rank is inherited */
} launchers[] = {
	{"OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}, NULL}, /* Open MPI's mpirun */
	{"MV2_COMM_WORLD_RANK", {"MV2_COMM_WORLD_SIZE"}, NULL},	  /* MVAPICH2's mpirun_rsh */
	{"JSM_NAMESPACE_RANK", {"JSM_NAMESPACE_SIZE"}, NULL},	  /* IBM's jsrun */
	{"FLUX_TASK_RANK", {"FLUX_JOB_SIZE"}, NULL},
	/* PMIx itself tells the size by a call only. */
	{"PMIX_RANK", {"PMIX_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, NULL},
	{"PMI_RANK", {"PMI_SIZE"}, NULL}, /* MPICH, Intel MPI: Hydra, and Slurm's PMI-2 */
	{"PALS_RANKID", {"PALS_SIZE"}, NULL},
	{"SLURM_PROCID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, "SLURM_STEP_ID"},
};

static const char *const jobs[] = {"SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID",
				   "LSB_JOBID",	   "FLUX_JOB_ID", NULL};
static const char *const launches[] = {"PMIX_NAMESPACE", "SLURM_STEP_ID", "LSF_JS_STEPID", NULL};

/* They hold Slurm's variables, or those of a launch around theirs, and are not ranks of it. */
static const char *const programs[] = {"mpirun",
				       "mpiexec",
				       "mpiexec.hydra",
				       "mpirun_rsh",
				       "mpispawn",
				       "orterun",
				       "orted",
				       "prterun",
				       "prted",
				       "prte",
				       "srun",
				       "sbatch",
				       "salloc",
				       "slurmstepd",
				       "slurmd",
				       "jsrun",
				       "flux",
				       "palsd",
				       "hydra_pmi_prox" /* the kernel keeps 15 bytes */,
				       "hydra_bstrap_pr",
				       "hydra_pmi_proxy",
				       "hydra_bstrap_proxy",
				       NULL};

/* The first one of a name counts, as in getenv(3). */
static const char *find(const char *environ, size_t bytes, const char *name)
{
	size_t n = strlen(name);

	while (bytes) {
		const char *nul = memchr(environ, 0, bytes);
		size_t length = nul ? (size_t)(nul - environ) : bytes;

		if (!nul)
			return NULL; /* cut: its value cannot be trusted */
		if (length > n && environ[n] == '=' && !memcmp(environ, name, n))
			return environ + n + 1;
		environ += length + 1;
		bytes -= length + 1;
	}
	return NULL;
}

static const char *find_any(const char *environ, size_t bytes, const char *const *names)
{
	const char *value = NULL;

	for (; *names && !value; names++)
		value = find(environ, bytes, *names);
	return value;
}

/* A whole number without sign, spaces or anything else; -1 if it is not one. */
static int32_t number(const char *text)
{
	int64_t value = 0;

	if (!text || !*text)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		value = value * 10 + (*text - '0');
		if (value > INT32_MAX)
			return -1;
	}
	return (int32_t)value;
}

static bool is_launcher(const char *comm)
{
	for (size_t i = 0; programs[i]; i++)
		if (!strcmp(comm, programs[i]))
			return true;
	return false;
}

/* Becomes part of a path one day. */
static void copy_name(const char *value, char *out, size_t room)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-[]@+:";
	size_t n = 0;

	for (; value && value[n] && n + 1 < room; n++)
		out[n] = value[n] > 0 && strchr(plain, value[n]) ? value[n] : '_';
	out[n] = 0;
	if (out[0] == '.')
		out[0] = '_';
}

void sp_procrank_parse(const char *environ, size_t bytes, const char *comm,
		       struct sp_procrank *ret_rank)
{
	*ret_rank = (struct sp_procrank){.rank = -1, .size = -1, .source = ""};
	copy_name(find_any(environ, bytes, jobs), ret_rank->job, sizeof(ret_rank->job));
	copy_name(find_any(environ, bytes, launches), ret_rank->launch, sizeof(ret_rank->launch));
	if (is_launcher(comm))
		return;
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		const struct launcher *l = &launchers[i];
		int32_t rank = number(find(environ, bytes, l->rank));
		const char *const sizes[] = {l->sizes[0], l->sizes[1], l->sizes[2], NULL};

		/* Slurm numbers the batch script's own step beyond 2^31. */
		if (rank < 0 || (l->step && number(find(environ, bytes, l->step)) < 0))
			continue;
		ret_rank->rank = rank;
		ret_rank->size = number(find_any(environ, bytes, sizes));
		if (ret_rank->size <= rank)
			ret_rank->size = -1;
		ret_rank->source = l->rank;
		return;
	}
}
