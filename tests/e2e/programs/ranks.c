/* SPDX-License-Identifier: BSD-2-Clause
 *
 * ranks.c - an MPI program with regions from before MPI_Init to after MPI_Finalize. Rank 0 prints
 * the sum that all computed.
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "usdt/sp_region.h"

#define STEPS 200

int main(int argc, char **argv)
{
	double mine = 0, sum = 0;
	int rank, size;

	SP_REGION_BEGIN("before init");
	SP_REGION_END("before init");
	SP_REGION_BEGIN("init");
	MPI_Init(&argc, &argv);
	SP_REGION_END("init");
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int step = 0; step < STEPS; step++) {
		SP_REGION_BEGIN("step");
		SP_REGION_BEGIN("compute");
		for (int i = 0; i < 2000 * (rank + 1); i++)
			mine += (double)(i % 7) / (double)(step + 1);
		SP_REGION_END("compute");
		SP_REGION_BEGIN("reduce");
		MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		SP_REGION_END("reduce");
		SP_REGION_END("step");
	}
	if (rank == 0) {
		SP_REGION_BEGIN("only rank 0");
		printf("%d ranks, sum %.17g\n", size, sum);
		SP_REGION_END("only rank 0");
	}
	printf("pid %d rank %d\n", (int)getpid(), rank);
	fflush(stdout);
	MPI_Finalize();
	SP_REGION_BEGIN("after finalize");
	SP_REGION_END("after finalize");
	return 0;
}
