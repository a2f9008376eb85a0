// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_json_tables.c - "threads" and "tasks" of a JSON profile.
 *
 * Invariant: the tables belong to the profile from their first row on, so that a failure frees them
 * with it.
 */
#include <string.h>

#include "formats/profile_json.h"
#include "formats/util.h"

#define FIELD(type, key, read, member) \
	{ \
		key, read, offsetof(struct sp_##type##_row, member), true \
	}

int sp_json_add_table_row(struct sp_json_profile *json, enum sp_h5_table which, size_t *capacity,
			  size_t size, void **ret_row, struct sp_error *error)
{
	struct sp_profile_table *table = &json->profile->tables[which];

	if (sp_array_reserve(&table->rows, capacity, table->n, size))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	*ret_row = (char *)table->rows + size * table->n++;
	memset(*ret_row, 0, size);
	return 0;
}

static int read_daemon(struct sp_json_profile *json, const struct sp_json_token *token,
		       void *target, struct sp_error *error)
{
	int64_t number;
	bool daemon = false;
	int r;

	if (token->kind != SP_JSON_NUMBER) {
		r = sp_json_read_bool(json, token, &daemon, error);
	} else {
		r = sp_json_read_integer(json, token, &number, error);
		daemon = !r && number;
	}
	if (!r)
		*(int8_t *)target = daemon;
	return r;
}

static int read_thread(struct sp_json_profile *json, const struct sp_json_token *token,
		       void *target, struct sp_error *error)
{
	static const struct sp_json_field fields[] = {
		FIELD(thread, "index", sp_json_read_integer, index),
		FIELD(thread, "name", sp_json_read_text, name),
		FIELD(thread, "ident", sp_json_read_integer, ident),
		FIELD(thread, "native_id", sp_json_read_integer, native_id),
		FIELD(thread, "daemon", read_daemon, daemon),
		FIELD(thread, "start_ns", sp_json_read_integer, start_ns),
		FIELD(thread, "end_ns", sp_json_read_integer, end_ns),
		FIELD(thread, "cpu_ns", sp_json_read_integer, cpu_ns),
	};
	struct sp_thread_row *row;
	void *new = NULL;
	int r = sp_json_add_table_row(json, SP_H5_TABLE_thread, &json->threads_capacity,
				      sizeof(*row), &new, error);

	if (r)
		return r;
	row = new;
	row->rank = *(uint32_t *)target;
	row->process = UINT32_MAX;
	return sp_json_read_object(json, token, fields, sizeof(fields) / sizeof(fields[0]), row,
				   NULL, error);
}

static int read_task(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		     struct sp_error *error)
{
	static const struct sp_json_field fields[] = {
		FIELD(task, "index", sp_json_read_integer, index),
		FIELD(task, "kind", sp_json_read_text, kind),
		FIELD(task, "name", sp_json_read_text, name),
		FIELD(task, "coro_name", sp_json_read_text, coro_name),
		FIELD(task, "thread_index", sp_json_read_integer, thread_index),
		FIELD(task, "created_ns", sp_json_read_integer, created_ns),
		FIELD(task, "done_ns", sp_json_read_integer, done_ns),
		FIELD(task, "steps", sp_json_read_integer, steps),
		FIELD(task, "running_ns", sp_json_read_integer, running_ns),
		FIELD(task, "suspended_ns", sp_json_read_integer, suspended_ns),
	};
	struct sp_task_row *row;
	void *new = NULL;
	int r = sp_json_add_table_row(json, SP_H5_TABLE_task, &json->tasks_capacity, sizeof(*row),
				      &new, error);

	if (r)
		return r;
	row = new;
	row->rank = *(uint32_t *)target;
	return sp_json_read_object(json, token, fields, sizeof(fields) / sizeof(fields[0]), row,
				   NULL, error);
}

static int read_rank_threads(struct sp_json_profile *json, const struct sp_json_token *token,
			     uint32_t rank, struct sp_error *error)
{
	return sp_json_read_list(json, token, read_thread, &rank, error);
}

static int read_rank_tasks(struct sp_json_profile *json, const struct sp_json_token *token,
			   uint32_t rank, struct sp_error *error)
{
	return sp_json_read_list(json, token, read_task, &rank, error);
}

int sp_json_read_threads(struct sp_json_profile *json, const struct sp_json_token *token,
			 void *target, struct sp_error *error)
{
	(void)target;
	return sp_json_read_ranks(json, token, read_rank_threads, error);
}

int sp_json_read_tasks(struct sp_json_profile *json, const struct sp_json_token *token,
		       void *target, struct sp_error *error)
{
	(void)target;
	return sp_json_read_ranks(json, token, read_rank_tasks, error);
}

void sp_json_shift_tables(struct sp_json_profile *json)
{
	const struct sp_profile_table *tables = json->profile->tables;
	int64_t origin = json->profile->info.start_time_ns;
	struct sp_thread_row *threads = tables[SP_H5_TABLE_thread].rows;
	struct sp_task_row *tasks = tables[SP_H5_TABLE_task].rows;

	for (size_t i = 0; i < tables[SP_H5_TABLE_thread].n; i++) {
		threads[i].start_ns = sp_wrap_add(threads[i].start_ns, origin);
		if (threads[i].end_ns != -1)
			threads[i].end_ns = sp_wrap_add(threads[i].end_ns, origin);
	}
	for (size_t i = 0; i < tables[SP_H5_TABLE_task].n; i++) {
		tasks[i].created_ns = sp_wrap_add(tasks[i].created_ns, origin);
		if (tasks[i].done_ns != -1)
			tasks[i].done_ns = sp_wrap_add(tasks[i].done_ns, origin);
	}
}
