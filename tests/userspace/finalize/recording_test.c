/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recording_test.c - who belongs where: ranks, jobs, inherited identities, lanes, maps and biases.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/userspace/finalize/read_back.h"
#include "userspace/analysis/recording.h"

static char path[4096];

static const struct sp_lane *lane(const struct sp_recording *rec, uint32_t id)
{
	return &rec->lanes[sp_recording_lane(rec, id)];
}

static const struct sp_unit *unit_of(const struct sp_recording *rec, uint32_t lane_id)
{
	return &rec->units[rec->processes[lane(rec, lane_id)->process].unit];
}

static void call(struct maker *m, uint32_t lane_id, uint64_t number, uint64_t start)
{
	maker_call(m, (struct maker_call){.lane = lane_id,
					  .site = 1,
					  .number = number,
					  .start = start,
					  .end = start + 10});
}

/* mpirun (no rank) forks two shells which exec two ranks; a rank forks a helper without exec. */
static void test_ranks(void)
{
	struct maker m = maker_open(path);
	struct sp_recording *rec;

	maker_site(&m, 1, 0, "r", "a.c", 1, "");
	/* Calls before the events that explain them: rings are drained in any order. */
	for (uint32_t l = 3; l <= 7; l++)
		call(&m, l, 1, 1000 + l);
	maker_process(&m, 4, 21, 1, 2, "/bin/app", "app", "");
	maker_process(&m, 3, 20, 0, 2, "/bin/app", "app -v", "");
	maker_process(&m, 1, 10, -1, -1, "/bin/mpirun", "mpirun", "");
	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1, "mpirun");
	maker_task(&m, 2, 2, 1, 20, 20, SP_TASK_FORK, 5, "mpirun");
	maker_task(&m, 3, 3, 2, 20, 20, SP_TASK_EXEC, 9, "app");
	maker_task(&m, 4, 4, 1, 21, 21, SP_TASK_EXEC, 8, "app");
	maker_task(&m, 5, 3, 0, 20, 99, SP_TASK_CLONE, 20, "worker");
	maker_task(&m, 6, 5, 3, 30, 30, SP_TASK_FORK, 30, "app");    /* child of rank 0 */
	maker_task(&m, 7, 6, 1, 40, 40, SP_TASK_FORK, 40, "mpirun"); /* child of mpirun, active */
	rec = read_back(&m, path, true);
	CHECK_NUMBER(rec->n_units, 3);
	CHECK_NUMBER(unit_of(rec, 3)->rank, 0);
	CHECK(!unit_of(rec, 3)->other);
	CHECK_NUMBER(unit_of(rec, 3)->size, 2);
	CHECK_NUMBER(unit_of(rec, 4)->rank, 1);
	CHECK(unit_of(rec, 5) == unit_of(rec, 3));
	CHECK(unit_of(rec, 6) == unit_of(rec, 3));
	CHECK(unit_of(rec, 7)->other);
	CHECK_NUMBER(unit_of(rec, 7)->rank, 0);
	CHECK_NUMBER(unit_of(rec, 3)->threads, 3);
	CHECK_NUMBER(unit_of(rec, 3)->processes, 2);
	/* mpirun itself, and its child before exec, did nothing. */
	CHECK_NUMBER(rec->processes[lane(rec, 1)->process].unit, SP_NONE);
	CHECK_NUMBER(rec->processes[lane(rec, 2)->process].unit, SP_NONE);
	/* Threads are numbered in order of appearance. */
	CHECK_NUMBER(lane(rec, 3)->thread, 0);
	CHECK_NUMBER(lane(rec, 5)->thread, 1);
	CHECK_NUMBER(lane(rec, 6)->thread, 2);
	/* A fork child runs its parent's program; exec ended the lane before it. */
	CHECK_TEXT(rec->processes[lane(rec, 6)->process].command_line, "app -v");
	CHECK_NUMBER(lane(rec, 2)->end, 9);
	CHECK_NUMBER(lane(rec, 3)->end, 0);
	CHECK_NUMBER(rec->made_up_lanes, 0);
	sp_recording_free(rec);
}

/* One user's programs, all that did something, or nobody's. */
static void test_user(void)
{
	struct maker m = maker_open(path);
	struct sp_recording *rec;
	struct sp_user user;
	uint32_t fork, late;

	maker_site(&m, 1, 0, "r", "a.c", 1, "");
	maker_process(&m, 1, 10, -1, -1, "/a", "a", "");
	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1, "a");
	maker_task(&m, 2, 2, 1, 20, 20, SP_TASK_FORK, 2, "a");
	maker_task(&m, 3, 3, 2, 20, 20, SP_TASK_EXEC, 3, "b"); /* gone before it was looked at */
	call(&m, 1, 1, 100);
	call(&m, 2, 1, 100);
	rec = read_back(&m, path, true);
	fork = lane(rec, 2)->process;
	late = lane(rec, 3)->process;
	sp_recording_user(rec, &user);
	CHECK(user.known && user.uid == getuid() && user.gid == getgid());
	CHECK_NUMBER(rec->processes[fork].user, getuid() + 1);
	CHECK_NUMBER(rec->processes[late].user, 0);
	rec->processes[fork].user++;
	sp_recording_user(rec, &user);
	CHECK(!user.known);
	rec->processes[fork].user--;
	rec->processes[late].unit = 0; /* it did something */
	sp_recording_user(rec, &user);
	CHECK(!user.known);
	sp_recording_free(rec);
}

static void test_without_ranks(void)
{
	struct maker m = maker_open(path);
	struct sp_recording *rec;

	maker_site(&m, 1, 0, "r", "a.c", 1, "");
	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1, "a");
	maker_task(&m, 2, 2, 0, 20, 20, SP_TASK_FOUND, 2, "b");
	call(&m, 1, 1, 100);
	call(&m, 2, 1, 100);
	call(&m, 9, 1, 50); /* its task event was lost, and nothing says whose it is */
	maker_sample(&m, (struct maker_sample){
				 .lane = 8, .process = 2, .pid = 20, .tid = 23, .time = 70});
	rec = read_back(&m, path, true);
	CHECK_NUMBER(rec->n_units, 1);
	CHECK(!rec->units[0].other);
	CHECK_NUMBER(rec->units[0].threads, 4);
	CHECK_NUMBER(rec->made_up_lanes, 2);
	CHECK_TEXT(lane(rec, 9)->name, "?");
	CHECK_NUMBER(unit_of(rec, 9)->rank, 0);
	/* The sample says whose thread it is. */
	CHECK_NUMBER(rec->processes[lane(rec, 8)->process].number, 2);
	CHECK_NUMBER(lane(rec, 8)->tid, 23);
	sp_recording_free(rec);
}

static void test_jobs(void)
{
	struct maker m = maker_open(path);
	struct sp_recording *rec;

	maker_site(&m, 1, 0, "r", "a.c", 1, "");
	for (uint32_t i = 0; i < 2; i++) {
		maker_task(&m, 1 + i, 1 + i, 0, 10 + i, 10 + i, SP_TASK_FOUND, 1, "a");
		maker_process(&m, 1 + i, 10 + i, 0, 1, "/a", "a", i ? "200" : "100");
		call(&m, 1 + i, 1, 100);
	}
	rec = read_back(&m, path, true);
	CHECK(rec->several_jobs);
	CHECK_NUMBER(rec->n_units, 2);
	CHECK_TEXT(unit_of(rec, 1)->job, "100");
	CHECK_TEXT(unit_of(rec, 2)->job, "200");
	sp_recording_free(rec);
}

static void test_regions(void)
{
	struct maker m = maker_open(path);
	struct sp_recording *rec;
	const struct sp_site *site;

	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1, "a");
	/* One name at three sites, in two images and at run time. */
	maker_site(&m, 7, 2, "same", "late.c", 70, "");
	maker_site(&m, 3, 1, "same", "early.c", 30, "a,b");
	maker_dynamic_site(&m, 1, 1, "same");
	maker_dynamic_site(&m, 2, 1, NULL);
	maker_dynamic_site(&m, 3, 1, "");
	maker_site(&m, 4, 1, "bad \xff name", "x.c", 1, "");
	for (uint32_t i = 0; i < 5; i++)
		maker_call(&m, (struct maker_call){.lane = 1,
						   .number = i + 1,
						   .start = 10 * i,
						   .end = 10 * i + 5,
						   .site = i == 0   ? 3
							   : i == 1 ? 7
							   : i == 2 ? 1 | SP_SITE_DYNAMIC
							   : i == 3 ? 2 | SP_SITE_DYNAMIC
								    : 55});
	maker_call(&m, (struct maker_call){.lane = 1,
					   .number = 6,
					   .start = 60,
					   .end = 65,
					   .site = 3 | SP_SITE_DYNAMIC});
	rec = read_back(&m, path, true);
	site = &rec->sites[sp_recording_site(rec, 3)];
	CHECK(site->region == rec->sites[sp_recording_site(rec, 7)].region);
	CHECK(site->region == rec->sites[sp_recording_site(rec, 1 | SP_SITE_DYNAMIC)].region);
	CHECK_TEXT(rec->sites[rec->regions[site->region].site].file, "early.c");
	CHECK_NUMBER(rec->n_regions, 5);
	CHECK_NUMBER(rec->unknown_sites, 2);
	CHECK_NUMBER(rec->unknown_site_calls, 2);
	CHECK_TEXT(rec->sites[sp_recording_site(rec, 55)].name, "[unknown region 55]");
	CHECK_TEXT(rec->sites[sp_recording_site(rec, 2 | SP_SITE_DYNAMIC)].name,
		   "[unknown region d2]");
	CHECK_TEXT(rec->sites[sp_recording_site(rec, 3 | SP_SITE_DYNAMIC)].name, "");
	CHECK_TEXT(rec->sites[sp_recording_site(rec, 4)].name, "bad \xef\xbf\xbd name");
	sp_recording_free(rec);
}

static void check_place(const struct sp_recording *rec, uint32_t site, const char *file,
			int64_t line)
{
	struct sp_place place = sp_recording_place(rec, sp_recording_site(rec, site));

	CHECK_TEXT(place.file, file);
	CHECK_NUMBER(place.line, line);
}

/* Where a call began that is known by its end: at the one place where its region begins, if it is
 * one. */
static void test_places(void)
{
	struct maker m = maker_open(path);
	struct sp_recording *rec;
	struct sp_loss loss = {.site = 4};

	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1, "a");
	maker_site(&m, 1, 1, "once", "a.c", 10, "");
	maker_end_site(&m, 2, 1, "once", "a.c", 20);
	maker_site(&m, 3, 1, "twice", "a.c", 30, "");
	maker_end_site(&m, 4, 1, "twice", "a.c", 40);
	maker_site(&m, 5, 1, "twice", "b.c", 50, "");
	maker_end_site(&m, 6, 1, "never", "c.c", 60); /* nothing names it */
	maker_end_site(&m, 7, 1, "ends", "c.c", 70);
	for (uint32_t i = 1; i < 8; i++)
		if (i != 6)
			maker_call(
				&m,
				(struct maker_call){
					.lane = 1, .site = i, .number = i, .start = i, .end = i});
	rec = read_back(&m, path, true);
	check_place(rec, 1, "a.c", 10);
	check_place(rec, 2, "a.c", 10);
	check_place(rec, 4, "a.c", 40);
	check_place(rec, 5, "b.c", 50);
	check_place(rec, 7, "c.c", 70);
	check_place(rec, 99, "", -1);
	CHECK_NUMBER(sp_recording_begin(rec, sp_recording_site(rec, 2)), sp_recording_site(rec, 1));
	CHECK_NUMBER(sp_recording_begin(rec, sp_recording_site(rec, 4)), SP_NONE);
	CHECK_NUMBER(sp_recording_begin(rec, sp_recording_site(rec, 6)), SP_NONE);
	/* Of an end that was lost, where it is. */
	CHECK_NUMBER(sp_recording_loss_place(rec, &loss).line, 40);
	CHECK_TEXT(sp_recording_loss_region(rec, &loss), "twice");
	loss.site = 6;
	CHECK_NUMBER(sp_recording_loss_place(rec, &loss).line, 60);
	CHECK_TEXT(sp_recording_loss_region(rec, &loss), "never");
	loss.site = 0;
	CHECK_TEXT(sp_recording_loss_place(rec, &loss).file, "");
	sp_recording_free(rec);
}

static void check_map(const struct sp_recording *rec, uint32_t process, uint64_t ip, uint64_t time,
		      const char *wanted, uint64_t bias)
{
	uint32_t map = sp_recording_find_map(rec, sp_idmap_get(&rec->process_by_number, process),
					     ip, time);

	CHECK_TEXT(map == SP_NONE ? "none" : rec->maps[map].path, wanted);
	if (map != SP_NONE)
		CHECK_NUMBER(rec->maps[map].bias, bias);
}

static void test_maps(void)
{
	struct maker m = maker_open(path);
	struct sp_recording *rec;

	maker_task(&m, 1, 1, 0, 10, 10, SP_TASK_FOUND, 1, "a");
	maker_task(&m, 2, 2, 1, 20, 20, SP_TASK_FORK, 100, "a");
	maker_task(&m, 3, 3, 2, 20, 20, SP_TASK_EXEC, 200, "b");
	/* As lld links: address and offset of the segment differ by a page. */
	maker_image(&m, 1, 11, 3, "/pie", "aa");
	maker_segment(&m, 1, 0x2340, 0x1340, 0x800);
	maker_image(&m, 2, 12, 2, "/fixed", "bb");
	maker_segment(&m, 2, 0x401000, 0x1000, 0x800);
	maker_map(&m, 1, 5, 0x555500001000, 0x555500002000, 0x1000, 11, "/pie");
	maker_map(&m, 1, 5, 0x401000, 0x402000, 0x1000, 12, "/fixed");
	maker_map(&m, 1, 5, 0x7000, 0x8000, 0x1000, 13, "/unseen");
	maker_map(&m, 1, 50, 0x9000, 0xa000, 0, 14, "/old.so");
	maker_map(&m, 1, 150, 0x9000, 0xa000, 0, 15, "/new.so");
	maker_map(&m, 1, 5, 0x100000, 0x900000, 0, 16, "/large");
	maker_map(&m, 3, 210, 0x9000, 0xa000, 0, 17, "/b");
	rec = read_back(&m, path, true);
	check_map(rec, 1, 0x555500001400, 60, "/pie", 0x555500000000 - 0x1000);
	check_map(rec, 1, 0x401080, 60, "/fixed", 0);
	check_map(rec, 1, 0x7000, 60, "/unseen", 0x6000);
	check_map(rec, 1, 0x8000, 60, "none", 0);
	check_map(rec, 1, 0x500000, 60, "/large", 0x100000); /* behind maps that begin later */
	check_map(rec, 1, 0x9100, 60, "/old.so", 0x9000);
	check_map(rec, 1, 0x9100, 160, "/new.so", 0x9000);
	check_map(rec, 1, 0x9100, 10, "/old.so", 0x9000); /* before it was seen: the earliest */
	/* The fork child has what its parent had then, not what came later. */
	check_map(rec, 2, 0x9100, 160, "/old.so", 0x9000);
	check_map(rec, 2, 0x401080, 160, "/fixed", 0);
	/* exec starts afresh. */
	check_map(rec, 3, 0x9100, 220, "/b", 0x9000);
	check_map(rec, 3, 0x401080, 220, "none", 0);
	check_map(rec, 0, 0x401080, 220, "none", 0);
	sp_recording_free(rec);
}

/* Processes that descend from each other in a circle, and lanes that claim everything. */
static void test_nonsense(void)
{
	struct maker m = maker_open(path);
	struct sp_recording *rec;

	maker_task(&m, 1, 1, 2, 10, 10, SP_TASK_FORK, 1, "a");
	maker_task(&m, 2, 2, 1, 20, 20, SP_TASK_FORK, 2, "b");
	maker_task(&m, 3, 3, 3, 30, 30, SP_TASK_FORK, 3, "c");
	maker_task(&m, 0, 0, 0, 0, 0, 99, 0, "");
	maker_process(&m, 0, 0, 5, 6, "x", "y", "z");
	call(&m, 1, 1, 5);
	call(&m, 3, UINT64_MAX, UINT64_MAX);
	call(&m, UINT32_MAX, 0, 0);
	maker_sample(&m, (struct maker_sample){.lane = 1, .site = 77, .ip = 1});
	maker_map(&m, 2, 0, 100, 50, 0, 0, "backwards");
	maker_segment(&m, 9, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	rec = read_back(&m, path, true);
	CHECK_NUMBER(rec->n_units, 1);
	check_map(rec, 1, 70, 10, "none", 0);
	sp_recording_free(rec);
}

int main(int argc, char **argv)
{
	const char *directory = argc > 1 ? argv[1] : ".";

	mkdir(directory, 0777);
	snprintf(path, sizeof(path), "%s/j.spj", directory);
	test_ranks();
	test_without_ranks();
	test_user();
	test_jobs();
	test_regions();
	test_places();
	test_maps();
	test_nonsense();
	return check_result();
}
