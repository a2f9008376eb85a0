/* SPDX-License-Identifier: BSD-2-Clause
 *
 * reach.h - files that may never answer, looked at by a process that can be given up.
 *
 * A recording names files, and their file systems may be programs (FUSE) or servers that are gone:
 * whoever opens or reads such a file waits until it answers, and then cannot even be killed. So a
 * child looks at them. It is given up when it has done nothing for some seconds; what is in the
 * same directory is not asked for again, and others are waited for less, so that all the files of a
 * dead file system cost little more than one.
 *
 * Life cycle: new; ask, as often as wanted; free. The child begins with the first question.
 */
#ifndef SP_BASE_REACH_H
#define SP_BASE_REACH_H

#include <stdbool.h>
#include <stddef.h>

struct sp_reach;
struct sp_reach_answer;

int sp_reach_new(struct sp_reach **ret_reach);
/* NULL is fine. */
void sp_reach_free(struct sp_reach *reach);

/* What is done in the child, of which nothing but its answer comes back. */
typedef int (*sp_reach_body)(const void *question, struct sp_reach_answer *answer);
/* Adds to the answer. False without memory. */
bool sp_reach_put(struct sp_reach_answer *answer, const void *bytes, size_t size);

/* What @body returns for the @size bytes of @question, in the child; *ret_bytes, to free(), is what
 * it put, NULL for nothing. Other results: -ETIMEDOUT, the file system of @path, which is what
 * @question is about, does not answer; -ENOMEM; -EPIPE, the child died of it. @reach: NULL does it
 * here. */
int sp_reach_ask(struct sp_reach *reach, const char *path, sp_reach_body body, const void *question,
		 size_t size, void **ret_bytes, size_t *ret_size);

#endif
