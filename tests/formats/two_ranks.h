/* SPDX-License-Identifier: BSD-2-Clause
 *
 * two_ranks.h - a profile with two ranks and something in every table.
 */
#ifndef TESTS_FORMATS_TWO_RANKS_H
#define TESTS_FORMATS_TWO_RANKS_H

/* Writes it as HDF5. */
void write_two_ranks(const char *path, unsigned int gzip);

#endif
