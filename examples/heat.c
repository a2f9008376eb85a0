/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heat.c - heat spreading over a square plate, as a tour of usdt/sp_region.h.
 *
 *	./heat [-n CELLS] [-s STEPS] [-t THREADS]
 *	sudo sp-trace -- ./heat		# where does the time go?
 *
 * The plate has CELLS x CELLS cells; its left edge is kept hot, the others cold. Each thread owns a
 * slab of rows, with a copy of the nearest row of either neighbour above and below (the ghosts).
 * In every step the threads exchange ghosts and then compute their new rows, each from the old
 * ones.
 *
 * The checksum covers every bit of the result. It depends on the size and the number of steps
 * alone: not on the number of threads, and not on being traced.
 *
 * Regions, outermost first; the recording shows them for each thread:
 *	setup, step { exchange, stencil, residual }, write checkpoint
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All that a program needs: this header, copied into the project. No library. */
#include "usdt/sp_region.h"

#define RATE 0.2	     /* of heat flow between two cells, in a step */
#define RESIDUAL_EVERY 10    /* steps */
#define CHECKPOINT_EVERY 250 /* steps */

struct slab {
	double *old, *new; /* (rows + 2) rows of (cells + 2); the first and last row are ghosts */
	size_t rows;
	double residual;
	struct plate *plate;
	int index;
};

struct plate {
	size_t cells;
	int steps, threads;
	struct slab *slabs;
	pthread_barrier_t barrier;
};

static double *row(const struct slab *slab, double *grid, size_t i)
{
	return grid + i * (slab->plate->cells + 2);
}

static int slab_setup(struct slab *slab, struct plate *plate, int index)
{
	size_t width = plate->cells + 2;
	size_t first = plate->cells * (size_t)index / (size_t)plate->threads;
	size_t last = plate->cells * ((size_t)index + 1) / (size_t)plate->threads;

	/* Until this function is left, by whichever return: that is what SCOPE and FUNCTION do. */
	SP_REGION_SCOPE("setup");
	slab->plate = plate;
	slab->index = index;
	slab->rows = last - first;
	slab->old = calloc((slab->rows + 2) * width, sizeof(double));
	slab->new = calloc((slab->rows + 2) * width, sizeof(double));
	if (!slab->old || !slab->new)
		return -ENOMEM;
	for (size_t i = 1; i <= slab->rows; i++)
		slab->old[i * width] = slab->new[i * width] = 1.0;
	return 0;
}

/* The first and last row go to the neighbours' ghosts. Includes waiting for the slower ones. */
static void exchange(struct slab *slab)
{
	struct plate *plate = slab->plate;
	size_t bytes = (plate->cells + 2) * sizeof(double);

	SP_REGION_BEGIN("exchange");
	pthread_barrier_wait(&plate->barrier);
	if (slab->index > 0) {
		struct slab *above = slab - 1;

		memcpy(row(above, above->old, above->rows + 1), row(slab, slab->old, 1), bytes);
	}
	if (slab->index < plate->threads - 1) {
		struct slab *below = slab + 1;

		memcpy(row(below, below->old, 0), row(slab, slab->old, slab->rows), bytes);
	}
	pthread_barrier_wait(&plate->barrier);
	SP_REGION_END("exchange");
}

/* Nearly all the time goes here, into the one long line. */
static void stencil(struct slab *slab)
{
	size_t cells = slab->plate->cells;

	SP_REGION_BEGIN("stencil");
	for (size_t i = 1; i <= slab->rows; i++) {
		const double *up = row(slab, slab->old, i - 1);
		const double *at = row(slab, slab->old, i);
		const double *down = row(slab, slab->old, i + 1);
		double *restrict to = row(slab, slab->new, i);

		for (size_t j = 1; j <= cells; j++)
			to[j] = at[j] + RATE * (((at[j - 1] + at[j + 1]) + (up[j] + down[j])) -
						4.0 * at[j]);
	}
	SP_REGION_END("stencil");
}

/* The largest change of any cell in the last step: how far from the steady state this slab is. */
static void residual(struct slab *slab)
{
	double largest = 0.0;

	SP_REGION_BEGIN("residual");
	for (size_t i = 1; i <= slab->rows; i++) {
		const double *old = row(slab, slab->old, i), *new = row(slab, slab->new, i);

		for (size_t j = 1; j <= slab->plate->cells; j++)
			largest = fmax(largest, fabs(new[j] - old[j]));
	}
	slab->residual = largest;
	SP_REGION_END("residual");
}

/* Into a file that vanishes by itself. A tag lets a report gather all regions of one kind. */
static void write_checkpoint(struct slab *slab)
{
	size_t width = slab->plate->cells + 2;
	FILE *file;

	SP_REGION_BEGIN_TAGGED("write checkpoint", "io,checkpoint");
	file = tmpfile();
	if (!file ||
	    fwrite(row(slab, slab->new, 1), width * sizeof(double), slab->rows, file) != slab->rows)
		fprintf(stderr, "heat: cannot write a checkpoint: %s; going on without\n",
			strerror(errno));
	if (file)
		fclose(file);
	SP_REGION_END("write checkpoint");
}

static void *slab_run(void *arg)
{
	struct slab *slab = arg;

	for (int step = 1; step <= slab->plate->steps; step++) {
		double *old = slab->old;

		/* Regions nest, and every thread has its own. */
		SP_REGION_BEGIN("step");
		exchange(slab);
		stencil(slab);
		if (step % RESIDUAL_EVERY == 0 || step == slab->plate->steps)
			residual(slab);
		SP_REGION_END("step");

		if (step % CHECKPOINT_EVERY == 0)
			write_checkpoint(slab);
		slab->old = slab->new;
		slab->new = old;
	}
	return NULL;
}

static void print_result(const struct plate *plate)
{
	uint64_t checksum = 0, bits;
	double largest = 0.0;

	for (int k = 0; k < plate->threads; k++) {
		const struct slab *slab = &plate->slabs[k];

		largest = fmax(largest, slab->residual);
		for (size_t i = 1; i <= slab->rows; i++) {
			for (size_t j = 1; j <= plate->cells; j++) {
				memcpy(&bits, row(slab, slab->old, i) + j, sizeof(bits));
				checksum = (checksum << 1 | checksum >> 63) ^ bits;
			}
		}
	}
	printf("%zu x %zu cells, %d steps: residual %.6e, checksum %016llx\n", plate->cells,
	       plate->cells, plate->steps, largest, (unsigned long long)checksum);
}

/* Runs all slabs, the first one on this thread. */
static int plate_run(struct plate *plate)
{
	pthread_t *threads = calloc((size_t)plate->threads, sizeof(*threads));
	int r = 0;

	plate->slabs = calloc((size_t)plate->threads, sizeof(*plate->slabs));
	if (!threads || !plate->slabs)
		r = -ENOMEM;
	for (int k = 0; k < plate->threads && r == 0; k++)
		r = slab_setup(&plate->slabs[k], plate, k);
	if (r == 0)
		r = -pthread_barrier_init(&plate->barrier, NULL, (unsigned)plate->threads);
	for (int k = 1; k < plate->threads && r == 0; k++) {
		r = -pthread_create(&threads[k], NULL, slab_run, &plate->slabs[k]);
		if (r < 0) {
			/* The others wait for this one at the barrier, and would for ever. */
			fprintf(stderr, "heat: cannot start thread %d: %s; use fewer (-t)\n", k,
				strerror(-r));
			exit(1);
		}
	}
	if (r == 0) {
		slab_run(&plate->slabs[0]);
		for (int k = 1; k < plate->threads; k++)
			pthread_join(threads[k], NULL);
		print_result(plate);
		pthread_barrier_destroy(&plate->barrier);
	}
	for (int k = 0; plate->slabs && k < plate->threads; k++) {
		free(plate->slabs[k].old);
		free(plate->slabs[k].new);
	}
	free(plate->slabs);
	free(threads);
	return r;
}

/* 0 where the text is no number from 1 to @most. */
static int number(const char *text, int most)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	return errno || *end || end == text || value < 1 || value > most ? 0 : (int)value;
}

int main(int argc, char **argv)
{
	struct plate plate = {.steps = 3500, .threads = 2};
	int cells = 1000, option, r;

	while ((option = getopt(argc, argv, "n:s:t:")) != -1) {
		int *to = option == 'n' ? &cells : option == 's' ? &plate.steps : &plate.threads;
		int value = option == '?' ? 0 : number(optarg, option == 't' ? 1024 : 20000000);

		if (option == 'n' && value > 40000)
			value = 0;
		if (!value) {
			fprintf(stderr, "usage: heat [-n CELLS (to 40000)] [-s STEPS] [-t THREADS "
					"(to 1024)]\n");
			return 2;
		}
		*to = value;
	}
	if (optind < argc) {
		fprintf(stderr, "heat: '%s' is not an option; try heat -n 1000 -s 3500 -t 2\n",
			argv[optind]);
		return 2;
	}
	/* A slab has at least one row. */
	if (plate.threads > cells)
		plate.threads = cells;
	plate.cells = (size_t)cells;
	r = plate_run(&plate);
	if (r < 0) {
		fprintf(stderr, "heat: cannot set up %d x %d cells: %s; use fewer (-n)\n", cells,
			cells, strerror(-r));
		return 1;
	}
	return 0;
}
