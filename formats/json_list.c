// SPDX-License-Identifier: BSD-2-Clause
/*
 * json_list.c - whether a text is one JSON list, and of what.
 */
#include "formats/json_pull.h"

static enum sp_json_list_kind kind_of(enum sp_json_kind kind)
{
	if (kind == SP_JSON_OBJECT)
		return SP_JSON_LIST_OBJECTS;
	return kind == SP_JSON_TEXT ? SP_JSON_LIST_TEXTS : SP_JSON_LIST_OTHER;
}

static int count(struct sp_json_pull *json, uint64_t *ret_n, enum sp_json_list_kind *ret_kind)
{
	enum sp_json_list_kind kind = SP_JSON_LIST_EMPTY;
	struct sp_json_token token;
	uint64_t n = 0;
	bool is_list;
	int r = sp_json_pull_next(json, &token, NULL);

	if (r)
		return r;
	is_list = token.kind == SP_JSON_ARRAY;
	while (is_list && !(r = sp_json_pull_next(json, &token, NULL)) &&
	       token.kind != SP_JSON_ARRAY_END) {
		enum sp_json_list_kind this = kind_of(token.kind);

		kind = !n || kind == this ? this : SP_JSON_LIST_OTHER;
		n++;
		r = sp_json_pull_skip(json, &token, NULL);
		if (r)
			break;
	}
	/* What comes after the list counts, too. */
	while (!r && token.kind != SP_JSON_END)
		r = sp_json_pull_next(json, &token, NULL);
	if (r || !is_list)
		return r ? r : -SP_E_DAMAGED;
	*ret_n = n;
	*ret_kind = kind;
	return 0;
}

int sp_json_list_length(const char *text, size_t size, uint64_t *ret_n,
			enum sp_json_list_kind *ret_kind)
{
	struct sp_json_pull *json;
	int r = sp_json_pull_open_text(text, size, SP_JSON_CONSTANTS, &json, NULL);

	if (r)
		return r;
	r = count(json, ret_n, ret_kind);
	sp_json_pull_close(json);
	return r;
}
