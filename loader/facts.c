/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/facts.h"

#include <ctype.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "loader/procinfo.h"
#include "userspace/base/cleanup.h"

char *sp_facts_program(const struct sp_options *o)
{
	sp_cleanup(sp_freep) struct sp_procinfo *info = calloc(1, sizeof(*info));
	const char *path = "", *name;
	char *program;
	size_t n;

	if (!info)
		return NULL;
	if (o->command)
		path = o->command[0];
	else if (sp_procinfo_read_little(o->pids[0], info) == 0)
		path = info->exe[0] ? info->exe : info->comm;
	name = strrchr(path, '/');
	name = name ? name + 1 : path;
	program = strndup(*name ? name : "program", 100);
	for (n = 0; program && program[n]; n++)
		if (!isalnum((unsigned char)program[n]) && !strchr("-_.+", program[n]))
			program[n] = '_';
	if (program && (program[0] == '.' || program[0] == '-'))
		program[0] = '_';
	return program;
}

static void add_line_of(struct sp_recorder *r, const char *key, const char *path)
{
	sp_cleanup(sp_fclosep) FILE *f = fopen(path, "re");
	char line[256];

	if (!f || !fgets(line, sizeof(line), f))
		return;
	line[strcspn(line, "\n")] = 0;
	sp_recorder_meta(r, key, "%s", line);
}

static void add_command(struct sp_recorder *r, char *const *command)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	for (size_t i = 0; f && command[i]; i++)
		fprintf(f, "%s%s", i ? " " : "", command[i]);
	if (f && fclose(f) == 0)
		sp_recorder_meta(r, "command", "%.4000s", text);
	free(text);
}

void sp_facts_write(struct sp_recorder *r, const struct sp_identity *identity, char *const *command)
{
	struct utsname u;
	char directory[PATH_MAX];

	sp_recorder_meta(r, "version", "%s", SP_VERSION);
	if (command)
		add_command(r, command);
	if (uname(&u) == 0) {
		sp_recorder_meta(r, "hostname", "%s", u.nodename);
		sp_recorder_meta(r, "kernel", "%s %s", u.sysname, u.release);
		sp_recorder_meta(r, "uname", "%s %s %s %s %s", u.sysname, u.nodename, u.release,
				 u.version, u.machine);
		sp_recorder_meta(r, "machine", "%s", u.machine);
	}
	add_line_of(r, "boot_id", "/proc/sys/kernel/random/boot_id");
	sp_recorder_meta(r, "cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	sp_recorder_meta(r, "user", "%s", identity->name ? identity->name : "");
	if (getcwd(directory, sizeof(directory)))
		sp_recorder_meta(r, "working_directory", "%s", directory);
}

void sp_facts_add_name(struct sp_recorder *r, struct sp_look *look,
		       const struct sp_ev_dynamic_site *site)
{
	sp_cleanup(sp_freep) struct sp_look_name *name = calloc(1, sizeof(*name));
	struct sp_ev_dynamic_site copy = *site;

	if (site->tail_bytes || !name) {
		sp_recorder_add(r, SP_STREAM_RECORDER, &site->head);
		return;
	}
	if (sp_look_name(look, (pid_t)site->pid, site->address, name) == 0)
		copy.line = name->line;
	if (name->is_read)
		sp_recorder_add_text(r, &copy.head, name->name, name->file, name->tags, NULL);
	else
		sp_recorder_add(r, SP_STREAM_RECORDER, &copy.head);
	if (!name->is_read)
		sp_recorder_lost(r, &(struct sp_ev_loss){
					    .first = site->time,
					    .last = site->time,
					    .count = 1,
					    .cause = SP_LOSS_NAME_UNREADABLE,
					    .cpu = -1,
					    .site = site->site,
				    });
}
