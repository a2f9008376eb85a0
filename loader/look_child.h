/* SPDX-License-Identifier: BSD-2-Clause
 *
 * look_child.h - what the recorder asks the process that looks (look.h), and what that answers.
 */
#ifndef SP_LOADER_LOOK_CHILD_H
#define SP_LOADER_LOOK_CHILD_H

#include "loader/companion.h"
#include "loader/look.h"

enum sp_look_what {
	SP_LOOK_MAP,
	SP_LOOK_PROGRAM,
	SP_LOOK_OPEN_FILE,
	SP_LOOK_PROCESS,
	SP_LOOK_NAME,
	SP_LOOK_JUDGE,
	SP_LOOK_MARK,
};

/* Some have a descriptor beside them. */
struct sp_look_question {
	enum sp_look_what what;
	pid_t pid;
	uint64_t address;
	bool has_user; /* else he is NULL */
	struct sp_user user;
	struct sp_procmap map; /* but for its path */
	char path[PATH_MAX];
};

/* That to the first two has the file beside it. */
struct sp_look_answer {
	int result;
	union {
		struct sp_look_file file;
		struct sp_procinfo process;
		struct sp_look_name name;
		bool is_private;
	};
};

/* Forks it; the same for it as sp_companion_start(). @identity: as in sp_look_start(). */
int sp_look_child_start(const struct sp_identity *identity, pid_t *ret_pid, int *ret_socket);

#endif
