// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_json.c - JSON profiles: every part, in any order of keys, plain and packed, small and large.
 *
 *	test_json GOLDEN_DIR WORK_DIR
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#include "formats/json_pull.h"
#include "tests/formats/json_text.h"

static void refuse(const char *path, int code, const char *words)
{
	struct sp_profile *profile;
	int r = sp_profile_open(path, &profile, &error);

	CHECK_INT(r, code);
	check_that(__FILE__, __LINE__, strstr(error.text, words) != NULL,
		   "\"%s\" does not say \"%s\"", error.text, words);
	if (!r)
		sp_profile_free(profile);
}

/* Half of it, backwards, with keys that nobody knows. */
static const char shuffled[] =
	" \n\t{\"unknown\": [{\"a\": [[[]]]}, \"\\u0000\", 1e400], \"tasks\": null, \"threads\": "
	"{\"0\": [{"
	"\"name\": \"main\", \"cpu_ns\": 9, \"end_ns\": 8, \"start_ns\": 1, \"daemon\": 1, "
	"\"native_id\": 77,"
	"\"ident\": 5, \"index\": 0, \"more\": {}}]}, \"regions\": [{\"exclusive_total_ns\": 30, "
	"\"call_ids\":"
	"[0, 1e0, 2.0], \"end_times_ns\": [1015,\t1033 ,1055], \"what\": {\"rank\": 9}, \"rank\": "
	"0, \"tags\": [],"
	"\"start_times_ns\": [1010, 1020, 1040], \"parent_ids\": null, \"name\": \"solve\"}],"
	"\"metadata\": {\"start_time_ns\": 1000}, \"format_version\": 1,"
	"\"format\": \"scope-profiler-profile\"}\n";

/* ---- what is read ---- */

static void check_rows(struct sp_profile *profile)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	const struct sp_row *row = sp_profile_row(profile, 0);
	char *json = NULL;
	struct sp_calls calls;

	CHECK_INT(info->format, SP_FORMAT_JSON);
	CHECK_INT(info->n_regions, 2);
	CHECK_INT(info->n_rows, 3);
	CHECK_INT(info->n_calls, 4);
	CHECK_INT(info->n_ranks, 2);
	CHECK_INT(info->start_time_ns, 1000);
	/* Ids that not all calls have are none. */
	CHECK_INT(info->columns, 0x3f & ~(SP_CALLS_id | SP_CALLS_parent));
	CHECK(!info->aggregate && info->has_event_metadata && info->has_source_lines);
	CHECK_TEXT(sp_profile_region(profile, 0), "solve");
	CHECK_TEXT(sp_profile_region(profile, 1), "io");
	CHECK_TEXT(row->source_file, "a.c");
	CHECK_TEXT(row->source_text, "x\n\ty");
	CHECK_TEXT(row->tags, "[\"io\", \"a\\\"b,c\"]");
	CHECK_INT(row->source_line, 7);
	CHECK_INT(row->stats.self, 30);
	CHECK_INT(sp_profile_row(profile, 1)->stats.calls, 0);
	CHECK_INT(sp_profile_row(profile, 2)->region, 0);
	CHECK_INT(sp_profile_row(profile, 2)->rank, 2);
	if (sp_calls_alloc(&calls, 3, info->columns | SP_CALLS_depth))
		exit(1);
	MUST(sp_profile_read_calls(profile, 0, 0, 3, &calls, &error));
	CHECK(calls.start[2] == 1040 && calls.end[0] == 1015 && calls.gpu_ns[1] == -1);
	CHECK(calls.thread[2] == 1);
	CHECK(calls.task[1] == 0 && calls.await_ns[1] == 3 && calls.depth[1] == 0);
	MUST(sp_profile_read_calls(profile, 0, 2, 1, &calls, &error));
	CHECK(calls.start[0] == 1040 && calls.end[0] == 1055 && calls.gpu_ns[0] == 2);
	MUST(sp_profile_read_calls(profile, 2, 0, 1, &calls, &error));
	CHECK(calls.start[0] == -5 && calls.end[0] == INT64_MAX);
	CHECK_INT(sp_profile_read_calls(profile, 0, 1, 3, &calls, &error), -EINVAL);
	sp_calls_free(&calls);
	MUST(sp_profile_event_metadata(profile, 0, &json, &error));
	CHECK_TEXT(json, "[{\"k\":[1,2]},{},{\"s\":\"a b\"}]");
	free(json);
	MUST(sp_profile_event_metadata(profile, 1, &json, &error));
	CHECK(!json);
	MUST(sp_profile_complete(profile, UINT64_MAX, &error));
	CHECK_INT(row->stats.total, 33);
	CHECK_INT(row->stats.gpu_total, 3);
	CHECK_INT(row->stats.self, 30);
}

static void check_fact(const struct sp_fact *facts, size_t n, const char *key,
		       enum sp_fact_kind kind, const char *text, size_t n_items)
{
	const struct sp_fact *fact = sp_fact_find(facts, n, key);

	if (!fact) {
		check_that(__FILE__, __LINE__, 0, "there is no fact \"%s\"", key);
		return;
	}
	CHECK_INT(fact->kind, kind);
	CHECK_TEXT(fact->text, text);
	CHECK_INT(fact->n_items, n_items);
	CHECK_INT(fact->is_number, kind == SP_FACT_NUMBER);
}

static void check_facts(struct sp_profile *profile)
{
	const struct sp_rank_fact_row *rank_facts;
	const struct sp_fact *facts;
	size_t n;

	MUST(sp_profile_metadata(profile, &facts, &n, &error));
	CHECK_INT(n, 11);
	for (size_t i = 1; i < n; i++)
		CHECK(strcmp(facts[i - 1].key, facts[i].key) < 0);
	check_fact(facts, n, "start_time_ns", SP_FACT_NUMBER, "1000", 0);
	check_fact(facts, n, "label", SP_FACT_TEXT, "gr\303\274n", 0);
	check_fact(facts, n, "real", SP_FACT_REAL, "1", 0);
	check_fact(facts, n, "none", SP_FACT_REAL, "nan", 0);
	check_fact(facts, n, "flag", SP_FACT_BOOL, "true", 0);
	check_fact(facts, n, "modules", SP_FACT_TEXTS, "gcc, mpi", 2);
	check_fact(facts, n, "list", SP_FACT_NUMBERS, "1, 2", 2);
	check_fact(facts, n, "reals", SP_FACT_REALS, "1, 2.5, nan", 3);
	check_fact(facts, n, "mixed", SP_FACT_TEXT, "[1,\"a\"]", 0);
	check_fact(facts, n, "nested", SP_FACT_TEXT, "{\"a\":[1,{\"b\":null}]}", 0);
	check_fact(facts, n, "empty", SP_FACT_TEXTS, "", 0);
	MUST(sp_profile_meta(profile, &facts, &n, &error));
	CHECK_INT(n, 1);
	check_fact(facts, n, "command_line", SP_FACT_TEXT, "./a", 0);
	MUST(sp_profile_rank_facts(profile, &rank_facts, &n, &error));
	CHECK_INT(n, 1);
	CHECK(n == 1 && rank_facts[0].rank == 2 && strcmp(rank_facts[0].text, "9") == 0);
}

static void check_tables(struct sp_profile *profile)
{
	const struct sp_thread_row *threads;
	const struct sp_task_row *tasks;
	const struct sp_extras *extras;
	const struct sp_likwid *likwid;
	size_t n;

	MUST(sp_profile_threads(profile, &threads, &n, &error));
	CHECK(n == 1 && threads[0].start_ns == 1000 && threads[0].end_ns == -1);
	CHECK(n == 1 && strcmp(threads[0].name, "main") == 0 && threads[0].native_id == 77);
	MUST(sp_profile_tasks(profile, &tasks, &n, &error));
	CHECK(n == 1 && tasks[0].created_ns == 1004 && tasks[0].done_ns == 1050);
	CHECK(n == 1 && strcmp(tasks[0].coro_name, "c") == 0 && tasks[0].suspended_ns == 7);
	MUST(sp_profile_extras(profile, &extras, &error));
	CHECK_INT(extras->n_likwid, 1);
	likwid = &extras->likwid[0];
	CHECK(likwid->rank == 1 && likwid->n_threads == 2 && likwid->cpus[1] == 4);
	CHECK(likwid->times[0] == 0.5 && isnan(likwid->times[1]) && likwid->call_counts[1] == 4);
	CHECK(likwid->n_events == 1 && likwid->events[1] == 2e300 && likwid->n_metrics == 2);
	CHECK(likwid->metrics[2] == 3 && isnan(likwid->metrics[3]));
	CHECK_TEXT(likwid->metric_names[1], "n");
	CHECK_INT(extras->n_line_profiles, 1);
	CHECK(extras->line_profiles[0].n == 2 && extras->line_profiles[0].hits[1] == 2);
	CHECK(extras->line_profiles[0].unit == 1e-9 && extras->line_profiles[0].times[1] == 4);
	CHECK_TEXT(extras->line_profiles[0].source, "void f(void)");
	CHECK_INT(extras->n_perf_events, 1);
	CHECK(extras->perf_events[0].values[0] == UINT64_MAX && extras->perf_events[0].calls == 3);
	CHECK_TEXT(extras->perf_events[0].names[1], "instructions");
	CHECK_INT(extras->n_likwid_environments, 1);
	CHECK_TEXT(extras->likwid_environments[0].facts[0].text, "x86");
}

static void test_full(void)
{
	unsigned char packed[sizeof(json_full) + 100];
	size_t size = json_pack(json_full, sizeof(json_full) - 1, packed, sizeof(packed));
	const char *paths[2] = {json_write("full.json", json_full, sizeof(json_full) - 1),
				json_write("full.json.gz", packed, size)};

	for (int i = 0; i < 2; i++) {
		struct sp_profile *profile;

		MUST(sp_profile_open(paths[i], &profile, &error));
		CHECK_INT(sp_profile_info(profile)->compressed, i);
		check_facts(profile);
		check_tables(profile);
		check_rows(profile);
		sp_profile_free(profile);
	}
}

static void test_shuffled(void)
{
	const char *path = json_write("shuffled.json", shuffled, sizeof(shuffled) - 1);
	const struct sp_thread_row *threads;
	struct sp_profile *profile;
	int64_t starts[3], ids[3], parents[3];
	size_t n;

	MUST(sp_profile_open(path, &profile, &error));
	CHECK_INT(sp_profile_info(profile)->columns, SP_CALLS_id);
	MUST(sp_profile_read_calls(
		profile, 0, 0, 3, &(struct sp_calls){.start = starts, .id = ids, .parent = parents},
		&error));
	CHECK(starts[0] == 1010 && starts[2] == 1040 && ids[1] == 1 && ids[2] == 2);
	CHECK_INT(parents[2], -1);
	MUST(sp_profile_threads(profile, &threads, &n, &error));
	CHECK(n == 1 && threads[0].start_ns == 1001 && threads[0].end_ns == 1008);
	CHECK(n == 1 && threads[0].daemon == 1);
	sp_profile_free(profile);
}

static void test_aggregate(void)
{
	static const char text[] =
		HEAD "\"regions\": [{\"name\": \"a\", \"rank\": 1, \"aggregate\": {\"count\": 4, "
		     "\"total\": 40,"
		     "\"minimum\": 5, \"maximum\": 20, \"exclusive\": 30}}, {\"name\": \"a\", "
		     "\"rank\": 0,"
		     "\"aggregate\": {\"count\": 2, \"total\": 10, \"minimum\": 5, \"maximum\": 5, "
		     "\"first\": 5, \"last\": 5,"
		     "\"start_minimum\": 3, \"end_maximum\": 99, \"gpu_count\": 1, \"gpu_total\": "
		     "7, \"mean\": 5,"
		     "\"m2\": 0.5, \"exclusive\": 10}, \"event_data_available\": false}]}";
	const struct sp_row *row;
	struct sp_profile *profile;
	int64_t start;

	MUST(sp_profile_open(json_write("aggregate.json", text, sizeof(text) - 1), &profile,
			     &error));
	CHECK(sp_profile_info(profile)->aggregate);
	row = sp_profile_row(profile, 0);
	CHECK(row->stats.calls == 4 && row->stats.total == 40 && row->stats.self == 30);
	CHECK(row->stats.mean == 10 && row->stats.m2 == -1 && row->stats.first == -1);
	row = sp_profile_row(profile, 1);
	CHECK(row->stats.m2 == 0.5 && row->stats.end_maximum == 99 && row->stats.gpu_total == 7);
	CHECK_INT(sp_profile_read_calls(profile, 0, 0, 1, &(struct sp_calls){.start = &start},
					&error),
		  -ENOTSUP);
	sp_profile_free(profile);
}

/* ---- what does not fit into memory ---- */

static void test_spill(void)
{
	enum { N = 300000 };
	const char *path = check_path(work, "large.json");
	FILE *file = fopen(path, "w");
	int64_t *ends = calloc(N, sizeof(*ends));
	struct rlimit limit, small;
	struct sp_profile *profile;

	if (!file || !ends)
		exit(1);
	for (int column = 0; column < 2; column++) {
		fputs(column ? "], \"end_times_ns\": ["
			     : HEAD "\"regions\": [{\"name\": \"a\", "
				    "\"rank\": 0, \"start_times_ns\": [",
		      file);
		for (int i = 0; i < N; i++)
			fprintf(file, "%s%d", i ? "," : "", 10 * i + column);
	}
	fputs("]}]}", file);
	fclose(file);
	MUST(sp_profile_open(path, &profile, &error));
	for (uint64_t at = 0; at < N; at += 77777) {
		size_t n = N - at < 77777 ? (size_t)(N - at) : 77777;

		MUST(sp_profile_read_calls(profile, 0, at, n, &(struct sp_calls){.end = ends + at},
					   &error));
	}
	for (int i = 0; i < N; i++)
		if (ends[i] != 10 * i + 1) {
			CHECK_INT(ends[i], 10 * i + 1);
			break;
		}
	sp_profile_free(profile);
	free(ends);
	/* No room: the sentence says whose. */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	small = limit;
	small.rlim_cur = 1 << 19;
	setrlimit(RLIMIT_FSIZE, &small);
	refuse(path, -EFBIG, "temporary file");
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* ---- lists ---- */

static void check_list(const char *text, int code, uint64_t length, enum sp_json_list_kind kind)
{
	enum sp_json_list_kind is = SP_JSON_LIST_OTHER;
	uint64_t n = 77;
	int r = sp_json_list_length(text, strlen(text), &n, &is);

	check_that(__FILE__, __LINE__,
		   r == code && n == (code ? 77 : length) && (code || is == kind),
		   "%s: %d, %" PRIu64 " elements, kind %d", text, r, n, is);
}

static void test_lists(void)
{
	check_list("[]", 0, 0, SP_JSON_LIST_EMPTY);
	check_list(" [ ] ", 0, 0, SP_JSON_LIST_EMPTY);
	check_list("[\"a\", \"\"]", 0, 2, SP_JSON_LIST_TEXTS);
	check_list("[{}, {\"a\": [{}, 1]}]", 0, 2, SP_JSON_LIST_OBJECTS);
	check_list("[{}, \"a\"]", 0, 2, SP_JSON_LIST_OTHER);
	check_list("[1, NaN, -Infinity]", 0, 3, SP_JSON_LIST_OTHER);
	check_list("[[], []]", 0, 2, SP_JSON_LIST_OTHER);
	check_list("{}", -SP_E_DAMAGED, 0, 0);
	check_list("1", -SP_E_DAMAGED, 0, 0);
	check_list("", -SP_E_TRUNCATED, 0, 0);
	check_list("[1", -SP_E_TRUNCATED, 0, 0);
	check_list("[1] 2", -SP_E_TRAILING, 0, 0);
	check_list("[1}", -SP_E_DAMAGED, 0, 0);
	check_list("[\"\xff\"]", -SP_E_UTF8, 0, 0);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	work = argv[2];
	test_full();
	test_shuffled();
	test_aggregate();
	test_spill();
	test_lists();
	return check_end();
}
