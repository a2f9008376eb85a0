/* SPDX-License-Identifier: BSD-2-Clause
 *
 * procrank_test.c - environments as launchers make them, and as nobody should.
 */
#include <string.h>

#include "loader/procrank.h"
#include "tests/loader/check.h"

#define ENV(text) text, sizeof(text)

static const struct {
	const char *what;
	const char *environ;
	size_t bytes;
	const char *comm;
	int rank, size;
	const char *source, *job, *launch;
} cases[] = {
	{"nothing", ENV("PATH=/bin\0HOME=/root"), "app", -1, -1, "", "", ""},
	{"empty", "", 0, "app", -1, -1, "", "", ""},
	{"Open MPI 4",
	 ENV("OMPI_COMM_WORLD_SIZE=4\0OMPI_COMM_WORLD_RANK=3\0PMIX_RANK=3\0PMIX_NAMESPACE=123.0"),
	 "app", 3, 4, "OMPI_COMM_WORLD_RANK", "", "123.0"},
	{"Open MPI inside a Slurm job: its ranks, not Slurm's",
	 ENV("SLURM_JOB_ID=77\0SLURM_STEP_ID=0\0SLURM_PROCID=0\0SLURM_NTASKS=2\0"
	     "OMPI_COMM_WORLD_RANK=5\0OMPI_COMM_WORLD_SIZE=8"),
	 "app", 5, 8, "OMPI_COMM_WORLD_RANK", "77", "0"},
	{"MPICH", ENV("PMI_RANK=1\0PMI_SIZE=2\0PMI_FD=7"), "app", 1, 2, "PMI_RANK", "", ""},
	{"MVAPICH2", ENV("MV2_COMM_WORLD_RANK=0\0MV2_COMM_WORLD_SIZE=2\0PMI_ID=0"), "app", 0, 2,
	 "MV2_COMM_WORLD_RANK", "", ""},
	{"PMIx alone", ENV("PMIX_RANK=2\0PMIX_NAMESPACE=ns"), "app", 2, -1, "PMIX_RANK", "", "ns"},
	{"srun --mpi=pmix",
	 ENV("SLURM_JOB_ID=77\0SLURM_STEP_ID=1\0SLURM_PROCID=6\0SLURM_STEP_NUM_TASKS=8\0PMIX_RANK="
	     "6\0PMIX_NAMESPACE=slurm.pmix.77.1"),
	 "app", 6, 8, "PMIX_RANK", "77", "slurm.pmix.77.1"},
	{"srun", ENV("SLURM_JOB_ID=9\0SLURM_STEP_ID=2\0SLURM_PROCID=1\0SLURM_NTASKS=3"), "app", 1,
	 3, "SLURM_PROCID", "9", "2"},
	{"a step's size is not the job's",
	 ENV("SLURM_STEP_ID=2\0SLURM_PROCID=1\0SLURM_NTASKS=64\0SLURM_STEP_NUM_TASKS=2"), "app", 1,
	 2, "SLURM_PROCID", "", "2"},
	{"a batch script is no rank", ENV("SLURM_JOB_ID=9\0SLURM_PROCID=0\0SLURM_NTASKS=3"), "bash",
	 -1, -1, "", "9", ""},
	{"nor is the batch step",
	 ENV("SLURM_JOB_ID=9\0SLURM_STEP_ID=4294967291\0SLURM_PROCID=0\0SLURM_NTASKS=3"), "bash",
	 -1, -1, "", "9", "4294967291"},
	{"nor an mpirun inside a step",
	 ENV("SLURM_JOB_ID=9\0SLURM_STEP_ID=0\0SLURM_PROCID=0\0SLURM_NTASKS=3"), "mpirun", -1, -1,
	 "", "9", "0"},
	{"nor Hydra's proxy, whose name the kernel cuts",
	 ENV("SLURM_STEP_ID=0\0SLURM_PROCID=0\0SLURM_NTASKS=3"), "hydra_pmi_proxy", -1, -1, "", "",
	 "0"},
	{"jsrun", ENV("LSB_JOBID=5\0JSM_NAMESPACE_RANK=11\0JSM_NAMESPACE_SIZE=12"), "app", 11, 12,
	 "JSM_NAMESPACE_RANK", "5", ""},
	{"PBS", ENV("PBS_JOBID=1234[5].head.example.org"), "app", -1, -1, "",
	 "1234[5].head.example.org", ""},
	/* Nonsense. */
	{"negative", ENV("OMPI_COMM_WORLD_RANK=-1\0OMPI_COMM_WORLD_SIZE=2"), "app", -1, -1, "", "",
	 ""},
	{"not a number", ENV("PMI_RANK=1x\0PMI_SIZE=2"), "app", -1, -1, "", "", ""},
	{"empty value", ENV("PMI_RANK=\0PMI_SIZE=2"), "app", -1, -1, "", "", ""},
	{"space", ENV("PMI_RANK= 1\0PMI_SIZE=2"), "app", -1, -1, "", "", ""},
	{"too large", ENV("PMI_RANK=99999999999999999999\0PMI_SIZE=2"), "app", -1, -1, "", "", ""},
	{"2^31", ENV("PMI_RANK=2147483648"), "app", -1, -1, "", "", ""},
	{"2^31 - 1", ENV("PMI_RANK=2147483647"), "app", 2147483647, -1, "PMI_RANK", "", ""},
	{"rank beyond the size", ENV("PMI_RANK=2\0PMI_SIZE=2"), "app", 2, -1, "PMI_RANK", "", ""},
	{"size 0", ENV("PMI_RANK=0\0PMI_SIZE=0"), "app", 0, -1, "PMI_RANK", "", ""},
	{"size is nonsense", ENV("PMI_RANK=0\0PMI_SIZE=many"), "app", 0, -1, "PMI_RANK", "", ""},
	{"a bad specific one falls through", ENV("OMPI_COMM_WORLD_RANK=x\0PMI_RANK=1\0PMI_SIZE=2"),
	 "app", 1, 2, "PMI_RANK", "", ""},
	{"longer and shorter names", ENV("XPMI_RANK=1\0PMI_RANKS=2\0PMI=3"), "app", -1, -1, "", "",
	 ""},
	{"first of a name counts", ENV("PMI_RANK=1\0PMI_RANK=2"), "app", 1, -1, "PMI_RANK", "", ""},
	{"a last string that is cut is not believed", "PMI_RANK=12", 11, "app", -1, -1, "", "", ""},
	{"job ids become names of directories", ENV("SLURM_JOB_ID=../../etc/x y"), "app", -1, -1,
	 "", "_._.._etc_x_y", ""},
	{"and are bounded",
	 ENV("PBS_JOBID="
	     "0123456789012345678901234567890123456789012345678901234567890123456789"),
	 "app", -1, -1, "", "012345678901234567890123456789012345678901234567890123456789012", ""},
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sp_procrank rank;
		const char *what = cases[i].what;

		memset(&rank, 0xee, sizeof(rank));
		sp_procrank_parse(cases[i].environ, cases[i].bytes, cases[i].comm, &rank);
		CHECK(rank.rank == cases[i].rank, "%s: %d", what, rank.rank);
		CHECK(rank.size == cases[i].size, "%s: %d", what, rank.size);
		CHECK(!strcmp(rank.source, cases[i].source), "%s: %s", what, rank.source);
		CHECK(!strcmp(rank.job, cases[i].job), "%s: %s", what, rank.job);
		CHECK(!strcmp(rank.launch, cases[i].launch), "%s: %s", what, rank.launch);
	}
	return check_done();
}
