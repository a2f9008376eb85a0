/* SPDX-License-Identifier: BSD-2-Clause
 *
 * archive_test.c - what is copied and what is not, under which names, and that no link is followed.
 * As root also: on behalf of a user.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/archive.h"
#include "tests/loader/check.h"

static char directory[] = "/tmp/sp-archive-XXXXXX";
static struct sp_identity self;
static char told[4096]; /* a line a file */
static unsigned asked, ask_until = UINT32_MAX;

static void wrote(void *arg, uint32_t image, uint64_t size, int error, const char *path,
		  const char *name, const char *why)
{
	size_t at = strlen(told);

	(void)arg;
	(void)name;
	CHECK((error != 0) == (why[0] != 0) && (error == 0) == (path[0] != 0), "%d '%s' '%s'",
	      error, why, path);
	snprintf(told + at, sizeof(told) - at, "%u %llu %d %s\n", image, (unsigned long long)size,
		 error, path);
}

static int go_on(void *arg)
{
	(void)arg;
	return ++asked > ask_until ? -EINTR : 0;
}

static const struct sp_archive_ops ops = {wrote, go_on};

static char *in(const char *name)
{
	static char path[8][256];
	static unsigned next;
	char *at = path[next++ % 8];

	snprintf(at, sizeof(path[0]), "%s/%s", directory, name);
	return at;
}

/* A file that begins like ELF, and is told apart by what follows. */
static void make(const char *name, const char *content, size_t size)
{
	FILE *file = fopen(in(name), "w");

	if (!file || fputs(content, file) < 0 || fclose(file) || truncate(in(name), (off_t)size))
		abort();
}

static void put(const char *name, const char *text, off_t at)
{
	int fd = open(in(name), O_WRONLY | O_CLOEXEC);

	if (fd < 0 || pwrite(fd, text, strlen(text), at) != (ssize_t)strlen(text) || close(fd))
		abort();
}

static uint64_t bytes_on_disk(const char *name)
{
	struct stat status;

	return stat(in(name), &status) == 0 ? (uint64_t)status.st_blocks * 512 : 0;
}

static int open_file(const char *name)
{
	int fd = open(in(name), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		abort();
	return fd;
}

static struct sp_archive *begin(const char *recording, const struct sp_identity *identity,
				int *ret_fd)
{
	struct sp_archive *archive = NULL;

	mkdir(in(recording), 0777);
	chmod(in(recording), 0777);
	*ret_fd = open(in(recording), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(sp_archive_new(*ret_fd, identity, &archive) == 0, "no archive");
	told[0] = 0;
	asked = 0;
	return archive;
}

static void add_of(struct sp_archive *archive, const char *name, const char *path, const char *id,
		   uint32_t image, const struct sp_user *user)
{
	int fd = open_file(name), r = sp_archive_add(archive, fd, path, id, image, user);

	CHECK(r == 0, "%d", r);
	close(fd);
}

static void add(struct sp_archive *archive, const char *name, const char *path, const char *id,
		uint32_t image)
{
	add_of(archive, name, path, id, image, NULL);
}

static struct sp_archive_counts end(struct sp_archive *archive, int fd)
{
	struct sp_archive_counts counts;

	sp_archive_write(archive, &ops, NULL, &counts);
	sp_archive_free(archive);
	close(fd);
	return counts;
}

static bool same(const char *a, const char *b)
{
	char command[1024];

	snprintf(command, sizeof(command), "cmp -s '%s' '%s'", in(a), in(b));
	return system(command) == 0;
}

static void test_names(void)
{
	int fd;
	struct sp_archive *archive = begin("names", &self, &fd);
	struct sp_archive_counts counts;

	make("a", "\177ELF a", 70000);
	make("b", "\177ELF b", 20u << 20); /* with holes: in the middle, and at its end */
	put("b", "middle", 10 << 20);
	make("c", "#!/bin/sh", 100);
	make("d", "\177ELF d", 7);
	add(archive, "a", "/usr/bin/a", "00ff", 1);
	add(archive, "b", "/x/lib b;$(rm -rf).so (deleted)", "", 2);
	add(archive, "c", "/usr/bin/script", "", 3);  /* no ELF file */
	add(archive, "d", "/elsewhere/a", "00ff", 4); /* another with this build-id */
	add(archive, "d", "../../etc/passwd", "../x", 5);
	add(archive, "d", "", "", 6);
	unlink(in("a"));
	counts = end(archive, fd);
	CHECK(counts.copied == 5 && !counts.left && counts.bytes == 70000 + (20u << 20) + 21,
	      "%zu %zu %llu", counts.copied, counts.left, (unsigned long long)counts.bytes);
	CHECK(!strcmp(told, "1 70000 0 archive/00ff-a\n"
			    "2 20971520 0 archive/image2-lib_b___rm_-rf_.so\n"
			    "4 7 0 archive/00ff-4-a\n"
			    "5 7 0 archive/image5-passwd\n"
			    "6 7 0 archive/image6-\n"),
	      "%s", told);
	make("a", "\177ELF a", 70000);
	CHECK(same("a", "names/archive/00ff-a"), "a differs");
	CHECK(same("b", "names/archive/image2-lib_b___rm_-rf_.so"), "b differs");
	if (bytes_on_disk("b") < 1 << 20) /* where files have holes */
		CHECK(bytes_on_disk("names/archive/image2-lib_b___rm_-rf_.so") < 1 << 20,
		      "holes were copied");
	CHECK(same("d", "names/archive/00ff-4-a"), "d differs");
}

static void test_limits(void)
{
	int fd;
	struct sp_archive *archive = begin("limits", &self, &fd);
	struct sp_archive_counts counts;

	make("big", "\177ELF", 1u << 20);
	sp_archive_limit(archive, 3 << 19, 3);
	add(archive, "big", "/big1", "", 1);
	add(archive, "big", "/big2", "", 2);
	add(archive, "d", "/d", "", 3);
	add(archive, "d", "/d", "", 4);
	counts = end(archive, fd);
	CHECK(counts.copied == 2 && counts.left == 2, "%zu %zu", counts.copied, counts.left);
	CHECK(strstr(told, "2 1048576 -27 \n") && strstr(told, "4 7 -24 \n"), "%s", told);

	/* Changed while it was held. */
	archive = begin("changed", &self, &fd);
	add(archive, "big", "/big", "", 1);
	make("big", "\177ELF", 1 << 19);
	counts = end(archive, fd);
	CHECK(counts.left == 1 && strstr(told, "1 1048576 -116 \n"), "%s", told);

	/* Interrupted in the middle: no half a file is left, and nothing more is tried. */
	archive = begin("interrupted", &self, &fd);
	add(archive, "b", "/b", "", 1);
	add(archive, "d", "/d", "", 2);
	ask_until = 1;
	counts = end(archive, fd);
	ask_until = UINT32_MAX;
	CHECK(!counts.copied && counts.left == 2 && asked >= 2, "%s %u", told, asked);
	CHECK(rmdir(in("interrupted/archive")) == 0, "something is left: %s", strerror(errno));

	archive = begin("nothing", &self, &fd);
	counts = end(archive, fd);
	CHECK(!counts.copied && !counts.left && rmdir(in("nothing")) == 0, "a folder was made");
}

/* A file system that does not answer, and one whose reader is killed: -Wl,--wrap. */
static off_t hang_at, die_at;
ssize_t __real_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t n,
			       unsigned flags);
ssize_t __wrap_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t n,
			       unsigned flags);
ssize_t __wrap_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t n,
			       unsigned flags)
{
	off_t size = lseek(in, 0, SEEK_END);

	if (hang_at && size >= hang_at && *in_at) /* not before a part of it is there */
		for (;;)
			pause();
	if (die_at && size >= die_at)
		raise(SIGKILL);
	return __real_copy_file_range(in, in_at, out, out_at, n, flags);
}

static void test_hangs(void)
{
	int fd;
	struct sp_archive *archive = begin("hangs", &self, &fd);
	struct sp_archive_counts counts;

	hang_at = 20u << 20;
	sp_archive_hurry(archive, 1000);
	add(archive, "d", "/d1", "", 1);
	add(archive, "b", "/b2", "", 2);
	add(archive, "d", "/d3", "", 3);
	add(archive, "b", "/b4", "", 4);
	counts = end(archive, fd);
	CHECK(counts.copied == 2 && counts.left == 2, "%s", told);
	CHECK(!strcmp(told, "1 7 0 archive/image1-d1\n2 20971520 -110 \n"
			    "3 7 0 archive/image3-d3\n4 20971520 -110 \n"),
	      "%s", told);
	CHECK(same("d", "hangs/archive/image3-d3"), "d differs");
	/* Half copies are gone, also the last one. */
	unlink(in("hangs/archive/image1-d1"));
	unlink(in("hangs/archive/image3-d3"));
	CHECK(rmdir(in("hangs/archive")) == 0, "something is left: %s", strerror(errno));

	/* Three are enough. */
	archive = begin("hangs_more", &self, &fd);
	sp_archive_hurry(archive, 400);
	for (uint32_t i = 1; i <= 5; i++)
		add(archive, i == 5 ? "d" : "b", "/b", "", i);
	counts = end(archive, fd);
	CHECK(!counts.copied && counts.left == 5 && strstr(told, "5 7 -110 \n"), "%s", told);

	/* Ctrl-C meanwhile. */
	archive = begin("hangs_asked", &self, &fd);
	add(archive, "b", "/b", "", 1);
	add(archive, "d", "/d", "", 2);
	ask_until = 4;
	counts = end(archive, fd);
	ask_until = UINT32_MAX;
	CHECK(!counts.copied && !strcmp(told, "1 20971520 -4 \n2 7 -4 \n"), "%s", told);
	hang_at = 0;

	archive = begin("dies", &self, &fd);
	die_at = 20u << 20;
	add(archive, "b", "/b", "", 1);
	add(archive, "d", "/d", "", 2);
	counts = end(archive, fd);
	CHECK(!strcmp(told, "1 20971520 -10 \n2 7 0 archive/image2-d\n"), "%s", told);
	die_at = 0;
}

static void test_links(void)
{
	int fd;
	struct sp_archive *archive = begin("links", &self, &fd);
	struct sp_archive_counts counts;

	/* The folder is a link. */
	mkdir(in("elsewhere"), 0777);
	CHECK(symlink(in("elsewhere"), in("links/archive")) == 0, "%s", strerror(errno));
	add(archive, "d", "/d", "ab", 1);
	counts = end(archive, fd);
	CHECK(!counts.copied && counts.left == 1 && rmdir(in("elsewhere")) == 0, "%s", told);

	/* The file is one, under both names. */
	unlink(in("links/archive"));
	mkdir(in("links/archive"), 0777);
	make("victim", "as it was", 9);
	CHECK(symlink(in("victim"), in("links/archive/ab-d")) == 0 &&
		      symlink(in("victim"), in("links/archive/ab-1-d")) == 0,
	      "%s", strerror(errno));
	archive = begin("links", &self, &fd);
	add(archive, "d", "/d", "ab", 1);
	counts = end(archive, fd);
	CHECK(!counts.copied && strstr(told, "1 7 -17 \n"), "%s", told);
	make("copy", "as it was", 9);
	CHECK(same("victim", "copy"), "the victim was written to");
}

/* Root records for a user: files are the user's, and what the user may not read is not copied. */
static void test_user(void)
{
	struct sp_identity user = {.uid = 65534, .gid = 65534, .changed = true};
	struct sp_archive_counts counts;
	struct sp_archive *archive;
	struct stat st;
	int fd;

	if (geteuid() != 0) {
		printf("not root: what root does for a user is not tried\n");
		return;
	}
	archive = begin("user", &user, &fd);
	chmod(directory, 0755);
	make("secret", "\177ELF secret", 100);
	chmod(in("secret"), 0700);
	make("open", "\177ELF open", 100);
	chmod(in("open"), 0755);
	add(archive, "secret", "/secret", "", 1);
	add(archive, "open", "/open", "", 2);
	counts = end(archive, fd);
	CHECK(geteuid() == 0, "not root any more");
	CHECK(counts.copied == 1 && strstr(told, "1 100 -13 \n"), "%s", told);
	CHECK(stat(in("user/archive/image2-open"), &st) == 0 && st.st_uid == 65534 &&
		      st.st_gid == 65534,
	      "not the user's");
	/* A directory that the user may not write to. */
	archive = begin("roots", &user, &fd);
	chmod(in("roots"), 0755);
	add(archive, "open", "/open", "", 2);
	counts = end(archive, fd);
	CHECK(!counts.copied && strstr(told, "2 100 -13 \n"), "%s", told);
}

/* Root records the programs of several users. */
static void test_others(void)
{
	struct sp_identity root = {0}, user = {.uid = 65534, .gid = 65534, .changed = true};
	const struct sp_user other = {.uid = 65533, .gid = 65533, .known = true}, container = {0};
	const struct sp_user member = {
		.uid = 65533, .gid = 65533, .known = true, .group_count = 1, .groups = {65531}};
	gid_t team = 65531;
	struct sp_archive_counts counts;
	struct sp_archive *archive;
	struct stat st;
	int fd;

	if (geteuid() != 0)
		return;
	chmod(directory, 0755);
	mkdir(in("private"), 0700);
	make("private/prog", "\177ELF prog", 100);
	chmod(in("private/prog"), 0755);
	CHECK(chown(in("private"), 65533, 65533) == 0 &&
		      chown(in("private/prog"), 65533, 65533) == 0,
	      "chown");
	make("only_run", "\177ELF only_run", 100);
	chmod(in("only_run"), 0711);
	make("shared", "\177ELF shared", 100);
	chmod(in("shared"), 0755);

	archive = begin("other", &user, &fd);
	add_of(archive, "private/prog", in("private/prog"), "", 1, &other);
	add_of(archive, "only_run", in("only_run"), "", 2, &other);
	add_of(archive, "shared", in("shared"), "", 3, &other);
	add_of(archive, "private/prog", "/prog", "", 4, &container);
	add_of(archive, "shared", "/nowhere", "", 5, &container);
	/* In a directory of a group's: both must be in it. */
	mkdir(in("team"), 0750);
	make("team/prog", "\177ELF team", 100);
	chmod(in("team/prog"), 0750);
	CHECK(chown(in("team"), 0, team) == 0 && chown(in("team/prog"), 0, team) == 0, "chown");
	add_of(archive, "team/prog", in("team/prog"), "", 6, &other);
	add_of(archive, "team/prog", in("team/prog"), "", 7, &member);
	counts = end(archive, fd);
	CHECK(counts.copied == 2 && counts.left == 5, "%s", told);
	CHECK(strstr(told, "6 100 -13 \n") && strstr(told, "7 100 -1 \n"), "%s", told);
	CHECK(strstr(told, "1 100 -1 \n") && strstr(told, "2 100 -13 \n") &&
		      strstr(told, "4 100 -1 \n"),
	      "%s", told);

	archive = begin("root", &root, &fd);
	add_of(archive, "private/prog", in("private/prog"), "", 1, &other);
	add_of(archive, "only_run", in("only_run"), "", 2, &other);
	add_of(archive, "shared", in("shared"), "", 3, &other);
	counts = end(archive, fd);
	CHECK(geteuid() == 0 && counts.copied == 2 && strstr(told, "2 100 -13 \n"), "%s", told);
	CHECK(stat(in("root/archive/image1-prog"), &st) == 0 && (st.st_mode & 0777) == 0600,
	      "others can read a private file's copy");
	CHECK(stat(in("root/archive/image3-shared"), &st) == 0 && st.st_mode & 0044,
	      "a public file's copy is private");

	user.groups = &team;
	user.group_count = 1;
	archive = begin("team_recording", &user, &fd);
	add_of(archive, "team/prog", in("team/prog"), "", 1, &member);
	counts = end(archive, fd);
	CHECK(counts.copied == 1, "%s", told);
	user.group_count = 0;
	user.uid = user.gid = 65533;
	archive = begin("same", &user, &fd);
	add_of(archive, "private/prog", in("private/prog"), "", 1, &other);
	counts = end(archive, fd);
	CHECK(counts.copied == 1, "%s", told);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(directory))
		return 1;
	self = (struct sp_identity){.uid = getuid(), .gid = getgid()};
	test_names();
	test_limits();
	test_hangs();
	test_links();
	test_user();
	test_others();
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command) != 0 || check_done();
}
