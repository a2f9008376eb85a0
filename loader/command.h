/* SPDX-License-Identifier: BSD-2-Clause
 *
 * command.h - starting the program to record, and holding it until its probes are armed.
 */
#ifndef SP_LOADER_COMMAND_H
#define SP_LOADER_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "loader/identity.h"

struct sp_command;

/* What we were started with, and change for ourselves: the command is to find it as it was. */
struct sp_command_given {
	struct rlimit files, stack;
	sigset_t blocked, ignored;
};

/* Before anything of it is changed. */
void sp_command_take_given(struct sp_command_given *ret_given);

/* Forks a child that waits, as the user, to exec @argv. -errno, logged. */
int sp_command_prepare(char *const *argv, const struct sp_identity *identity,
		       const struct sp_command_given *given, struct sp_command **ret_command);
pid_t sp_command_pid(const struct sp_command *command);
/* Lets it exec. -errno. */
int sp_command_release(struct sp_command *command);
/* Readable when it has exec'd or failed to; for poll(2). */
int sp_command_fd(const struct sp_command *command);
/* 1 once it has exec'd, 0 not yet, -errno of the exec, logged: not found, not executable. */
int sp_command_started(struct sp_command *command);
/* Takes its status if it has ended; true once it has. */
bool sp_command_ended(struct sp_command *command);
void sp_command_signal(struct sp_command *command, int signal);
/* Tells its process group that the terminal is gone. We are in that group, too, unless it has made
 * one of its own. */
void sp_command_hang_up(struct sp_command *command);
/* Exit status as a shell gives it: 128 + signal for one that was killed. */
int sp_command_status(const struct sp_command *command);
/* A child that was not started is killed; one that runs is left alone. */
void sp_command_free(struct sp_command *command);

/* The file that exec would run for @name: itself if it has a slash, else looked up in PATH. To be
 * freed; NULL if there is none. */
char *sp_command_find(const char *name);

#endif
