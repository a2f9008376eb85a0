/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fake_unwind.c - an sp-unwind that a hostile file has taken over: does what the file says.
 *
 * The file's first word: FINE (three rows), NONE (no table), DIE, HANG, DRIP (a byte a second), and
 * lies of every kind. A word that is not known kills it by a call that is not allowed.
 */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/unwind_reply.h"
#include "loader/unwind_scan.h"

#define ROWS 3
#define RULES 3

struct answer {
	struct sp_unwind_reply reply;
	struct sp_unwind_segment segment;
	struct sp_unwind_rule rules[RULES];
	uint64_t pc[ROWS];
	uint16_t rule[ROWS];
	char text[4];
};

static const struct answer fine = {
	.reply = {SP_UNWIND_REPLY_MAGIC, 0, 1, RULES, ROWS, 0},
	.segment = {0x1000, 0, 16},
	.rules = {{0},
		  {.kind = SP_UNWIND_REG, .reg = 7, .offset = 8, .fp = SP_UNWIND_SAME, .ra = -1},
		  {.kind = SP_UNWIND_REG, .reg = 7, .offset = 16, .fp = -2, .ra = -1}},
	.pc = {0x1000, 0x1004, 0x1010},
	.rule = {1, 2, 0},
};

/* A field of the answer, and what stands in it. */
#define AT(field) offsetof(struct answer, field), sizeof(fine.field)
static const struct {
	const char *word;
	size_t offset, size;
	int64_t value;
} lies[] = {
	{"MAGIC", AT(reply.magic), 1},
	{"POSITIVE", AT(reply.error), 5},
	{"ERROR+ROWS", AT(reply.error), -5},
	{"SEGMENTS", AT(reply.segments), SP_UNWIND_LIMIT_SEGMENTS + 1},
	{"NO-SEGMENT", AT(reply.segments), 0},
	{"RULES", AT(reply.rules), SP_UNWIND_LIMIT_RULES + 1},
	{"NO-RULE", AT(reply.rules), 0},
	{"ROWS", AT(reply.rows), SP_UNWIND_LIMIT_ROWS + 1},
	{"ROWS-", AT(reply.rows), -1},
	{"NO-ROW", AT(reply.rows), 0},
	{"TEXT", AT(reply.text), SP_UNWIND_REPLY_TEXT + 1},
	{"BEYOND", AT(segment.file_size), 1 << 20},
	{"WRAPS", AT(segment.file_offset), -1},
	{"ADDRESS", AT(segment.address), -4},
	{"BEFORE", AT(pc[0]), 0xfff},
	{"BEHIND", AT(pc[2]), 0x1011},
	{"DOWN", AT(pc[1]), 0x1000},
	{"NUMBER", AT(rule[0]), RULES},
	{"TWICE", AT(rule[0]), 2},
	{"NO-END", AT(rule[2]), 1},
	{"FIRST", AT(rules[0].kind), SP_UNWIND_REG},
	{"FIRST-OFFSET", AT(rules[0].offset), 1},
	{"KIND", AT(rules[1].kind), SP_UNWIND_KINDS},
	{"KIND-NONE", AT(rules[1].kind), SP_UNWIND_NONE},
	{"REGISTER", AT(rules[1].reg), SP_UNWIND_REGS},
	{"OFFSET", AT(rules[1].offset), INT32_MAX},
	{"OFFSET-", AT(rules[1].offset), INT32_MIN},
	{"FLAGS", AT(rules[1].flags), 8},
	{"BOTH-FLAGS", AT(rules[1].flags), 3},
	{"ADDEND", AT(rules[1].addend), 1},
	{"RA", AT(rules[1].ra), SP_UNWIND_UNDEFINED},
	{"OUTERMOST", AT(rules[1].kind), SP_UNWIND_OUTERMOST},
	{"UNSUPPORTED", AT(rules[1].kind), SP_UNWIND_UNSUPPORTED},
	{"SIGNAL", AT(rules[1].kind), SP_UNWIND_SIGNAL},
};

static void put(const void *bytes, size_t n)
{
	if (write(1, bytes, n) != (ssize_t)n)
		_exit(4);
}

static void put_answer(const struct answer *a, const char *text)
{
	struct sp_unwind_reply reply = a->reply;

	if (text)
		reply.text = (uint32_t)strlen(text);
	put(&reply, sizeof(reply));
	put(&a->segment, sizeof(a->segment));
	put(a->rules, sizeof(a->rules));
	put(a->pc, sizeof(a->pc));
	put(a->rule, sizeof(a->rule));
	if (text)
		put(text, strlen(text));
}

static void do_word(const char *word)
{
	struct answer a = fine;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		if (strcmp(word, lies[i].word))
			continue;
		memcpy((char *)&a + lies[i].offset, &lies[i].value, lies[i].size);
		put_answer(&a, NULL);
		return;
	}
	if (!strcmp(word, "FINE")) {
		put_answer(&fine, NULL);
	} else if (!strcmp(word, "REMARK")) {
		put_answer(&fine, "half of it\033[31m");
	} else if (!strcmp(word, "NONE")) {
		a.reply = (struct sp_unwind_reply){.magic = SP_UNWIND_REPLY_MAGIC, -SP_E_MISSING};
		put(&a.reply, sizeof(a.reply));
	} else if (!strcmp(word, "HALF")) {
		put(&fine.reply, sizeof(fine.reply));
		_exit(0);
	} else if (!strcmp(word, "HANG")) {
		pause();
	} else if (!strcmp(word, "DRIP")) {
		for (;;) {
			put("S", 1);
			sleep(1);
		}
	} else if (!strcmp(word, "SPIN")) {
		for (;;)
			;
	} else {
		raise(SIGKILL);
	}
}

int main(int argc, char **argv)
{
	int n = argc == 2 ? atoi(argv[1]) : 0;

	for (int i = 0; i < n; i++) {
		char word[17] = "";

		if (pread(3 + i, word, 16, 0) < 1)
			return 2;
		word[strcspn(word, " ")] = 0;
		do_word(word);
	}
	return 0;
}
