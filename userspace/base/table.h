/* SPDX-License-Identifier: BSD-2-Clause
 *
 * table.h - aligned columns of text.
 *
 * Cells are made safe for terminals (text.h) as they are added, and are measured in columns of the
 * terminal, so wide and combining characters keep the columns straight. On a terminal the heading
 * is bold and the widest left-aligned column is cut where the line would be too long; elsewhere
 * nothing is cut and there is no escape sequence. NO_COLOR and TERM=dumb are honoured.
 */
#ifndef SP_BASE_TABLE_H
#define SP_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "userspace/base/log.h"

struct sp_table;

enum sp_table_align { SP_TABLE_LEFT, SP_TABLE_RIGHT };

/* NULL without memory. */
struct sp_table *sp_table_new(void);
void sp_table_free(struct sp_table *table); /* NULL is fine */
/* All columns first, then cells row by row. @title must outlive the table. */
void sp_table_column(struct sp_table *table, const char *title, enum sp_table_align align);
void sp_table_cell(struct sp_table *table, const char *format, ...) SP_PRINTF(2, 3);
/* -ENOMEM if something could not be added, else 0. */
int sp_table_print(const struct sp_table *table, FILE *out);

/* True if @out is a terminal that takes colours. */
bool sp_has_colours(FILE *out);
/* Columns of the terminal, 0 if @out is none. */
size_t sp_terminal_width(FILE *out);

#endif
