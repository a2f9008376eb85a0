/* SPDX-License-Identifier: BSD-2-Clause
 *
 * user_test.c - root reads source text on behalf of a program's user no more than that user may.
 * Without root there is nothing to be seen (exit 77).
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/check.h"
#include "userspace/analysis/source.h"
#include "userspace/base/cleanup.h"
#include "userspace/export/finalize_internal.h"

#define OWNER 65533u
#define STRANGER 65532u
#define TEAM 65531u

static char directory[4096];

static const struct sp_user nobody,
	root = {.known = true}, owner = {.uid = OWNER, .gid = OWNER, .known = true},
	stranger = {.uid = STRANGER, .gid = STRANGER, .known = true},
	member = {.uid = OWNER, .gid = OWNER, .known = true, .group_count = 1, .groups = {TEAM}};

static char *in(const char *name)
{
	static char path[2][8192];
	static unsigned next;
	char *at = path[next++ % 2];

	snprintf(at, sizeof(path[0]), "%s/%s", directory, name);
	return at;
}

static void make(const char *name, mode_t mode, uid_t uid)
{
	FILE *file = fopen(in(name), "w");

	if (!file || fputs("the text\n", file) < 0 || fclose(file) || chmod(in(name), mode) ||
	    chown(in(name), uid, uid))
		abort();
}

static bool stored(const struct sp_user *user, const char *name)
{
	sp_cleanup(sp_freep) char *line = sp_source_line(NULL, user, NULL, in(name), 1);
	const char *text;
	struct sp_sources *sources;
	bool both, one;

	CHECK(line && sp_sources_new(NULL, &sources) == 0);
	one = !strcmp(line, "the text");
	CHECK(one || !*line);
	sp_sources_set_user(sources, user);
	both = sp_sources_line(sources, in(name), 1, (struct timespec){0}, &text) ==
	       SP_SOURCE_FOUND;
	CHECK(both == one);
	sp_sources_free(sources);
	return one;
}

static void test_reading(void)
{
	make("open", 0644, OWNER);
	make("closed", 0600, OWNER);
	CHECK(!mkdir(in("private"), 0700) || errno == EEXIST);
	CHECK(!chown(in("private"), OWNER, OWNER));
	make("private/file", 0644, OWNER);
	CHECK(!mkdir(in("of_root"), 0700) || errno == EEXIST);
	make("of_root/file", 0644, 0);
	/* The group is root's own: it must not come along. */
	CHECK(!mkdir(in("of_group"), 0750) || errno == EEXIST);
	make("of_group/file", 0644, 0);

	CHECK(stored(&owner, "open") && stored(&stranger, "open") && stored(&nobody, "open"));
	CHECK(stored(&root, "open"));
	/* What is stored may be read by all, so not even his own. */
	CHECK(!stored(&owner, "closed") && !stored(&stranger, "closed") &&
	      !stored(&root, "closed"));
	CHECK(stored(&owner, "private/file") && stored(&root, "private/file"));
	CHECK(!stored(&stranger, "private/file") && !stored(&nobody, "private/file"));
	CHECK(stored(&root, "of_root/file"));
	CHECK(!stored(&owner, "of_root/file") && !stored(&nobody, "of_root/file"));
	CHECK(stored(&root, "of_group/file"));
	/* A group that he was given. */
	CHECK(!mkdir(in("of_team"), 0750) || errno == EEXIST);
	make("of_team/file", 0644, 0);
	CHECK(!chown(in("of_team"), 0, TEAM));
	CHECK(stored(&member, "of_team/file") && !stored(&owner, "of_team/file"));
	CHECK(!stored(&member, "of_root/file"));
	CHECK(!stored(&owner, "of_group/file") && !stored(&nobody, "of_group/file"));
}

static void test_coming_back(void)
{
	gid_t groups[3] = {0, 5, 7}, seen[8];
	struct sp_user_before before;

	CHECK(!setgroups(3, groups));
	CHECK_NUMBER(sp_user_enter(&owner, &before), 0);
	CHECK(access("/proc/self/mem", R_OK) == 0); /* by the real id, which is unchanged */
	CHECK_NUMBER(open(in("closed"), O_RDONLY | O_CLOEXEC) >= 0, 1);
	CHECK_NUMBER(open(in("of_root/file"), O_RDONLY | O_CLOEXEC), -1);
	CHECK_NUMBER(getgroups(8, seen), 0);
	sp_user_leave(&before);
	CHECK_NUMBER(getgroups(8, seen), 3);
	CHECK(!memcmp(groups, seen, sizeof(groups)));
	CHECK(open(in("of_root/file"), O_RDWR | O_CLOEXEC) >= 0);
	CHECK_NUMBER(sp_user_enter(&member, &before), 0);
	CHECK(getgroups(8, seen) == 1 && seen[0] == TEAM);
	sp_user_leave(&before);
	CHECK_NUMBER(getgroups(8, seen), 3);
	CHECK_NUMBER(sp_user_enter(&root, &before), 0);
	CHECK(!before.changed);
	sp_user_leave(&before);
}

/* As id(1) has it. */
static void test_accounts(void)
{
	struct sp_user user = {.uid = 0, .gid = 0, .known = true},
		       none = {.uid = 4000000, .known = true};
	char ours[1024] = "", theirs[1024] = "";
	FILE *id = popen("id -G root", "r");
	size_t at = 0;

	CHECK(id && fgets(theirs, sizeof(theirs), id));
	pclose(id);
	sp_user_find_groups(&user);
	for (unsigned i = 0; i < user.group_count; i++)
		at += (size_t)snprintf(ours + at, sizeof(ours) - at, "%s%u", i ? " " : "",
				       user.groups[i]);
	theirs[strcspn(theirs, "\n")] = 0;
	CHECK(!strcmp(ours, theirs));
	none.group_count = 3;
	sp_user_find_groups(&none);
	CHECK_NUMBER(none.group_count, 0);
}

int main(void)
{
	if (geteuid() != 0)
		return getenv("CI") && !strcmp(getenv("CI"), "true") ? 1 : 77;
	/* Where everybody may go. */
	snprintf(directory, sizeof(directory), "/tmp/sp-user-XXXXXX");
	if (!mkdtemp(directory) || chmod(directory, 0755))
		return 2;
	test_reading();
	test_coming_back();
	test_accounts();
	if (fork() == 0)
		execlp("rm", "rm", "-rf", directory, NULL);
	return check_result();
}
