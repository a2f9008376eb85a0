/* SPDX-License-Identifier: BSD-2-Clause
 *
 * name_short.c - readable names in the form that people use for functions: one pass from the left,
 * which keeps what stands outside of brackets.
 *
 * Names are anything; what does not look like C++ is left alone. Memory: four times the name.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/names.h"
#include "userspace/base/cleanup.h"

#define FEW_ARGUMENTS 20 /* bytes of template arguments that are shown as they are */
#define ANONYMOUS "(anonymous namespace)"
#define INNER_NAMESPACE "__cxx11::" /* of libstdc++'s strings and lists */
#define LAMBDA "{lambda"

struct shortening {
	const char *name, *end;
	char *out;
	size_t used;
	bool in_operator; /* blanks belong to the name */
};

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static const char *skip_word(const char *text, const char *word)
{
	return begins(text, word) ? text + strlen(word) : text;
}

static void put(struct shortening *to, const char *text, size_t bytes)
{
	memcpy(to->out + to->used, text, bytes);
	to->used += bytes;
}

/* Length of "operator" and the brackets that belong to its name and nest with nothing; 0 if @at, in
 * @name, is not the start of an operator's name. */
static size_t operator_length(const char *name, const char *at)
{
	static const char *const symbols[] = {"<<=", ">>=", "<=>", "->*", "<<", ">>",
					      "<=",  ">=",  "->",  "<",	  ">"}; /* longest first */
	size_t n = strlen("operator");

	if (!begins(at, "operator") || (at > name && at[-1] != ':' && at[-1] != ' ') ||
	    isalnum((unsigned char)at[n]) || at[n] == '_')
		return 0;
	if (begins(at + n, "()"))
		return n + 2;
	if (at[n] == ' ') /* operator new, operator bool */
		return n + 1;
	for (size_t i = 0; i < sp_array_size(symbols); i++)
		if (begins(at + n, symbols[i]))
			return n + strlen(symbols[i]);
	return n;
}

/* Where what sp_name_readable put behind the name begins: " [omp 1] [clone .cold]". Of a function
 * whose name nobody knows it is all: "[omp 1]". */
static const char *find_end(const char *name)
{
	const char *end = name + strlen(name);

	while (end > name && end[-1] == ']') {
		const char *open = end;

		while (open > name && *open != '[')
			open--;
		if (open == name)
			return name;
		if (open[-1] != ' ')
			break;
		end = open - 1;
	}
	return end;
}

/* Behind the bracket that closes the one at @at; @end if none does. */
static const char *skip_brackets(const char *at, const char *end)
{
	const char *from = at;
	size_t depth = 0;

	while (at < end) {
		size_t word = operator_length(from, at);

		if (word > strlen("operator")) {
			at += word;
			continue;
		}
		if (strchr("<({", *at))
			depth++;
		else if (strchr(">)}", *at) && (*at != '>' || at[-1] != '-') && depth && !--depth)
			return at + 1;
		at++;
	}
	return end;
}

/* What the call operator of a lambda adds to its name: nothing. Behind it. */
static const char *skip_call(const char *at, const char *end)
{
	if (!begins(at, "::operator()"))
		return at;
	at += strlen("::operator()");
	return at < end && *at == '<' ? skip_brackets(at, end) : at;
}

static void put_lambda(struct shortening *to, unsigned long number)
{
	if (number > 1)
		to->used += (size_t)sprintf(to->out + to->used, "{lambda#%lu}", number);
	else
		to->used += (size_t)sprintf(to->out + to->used, "{lambda}");
}

/* "{lambda(double)#2}", "{lambda#2}". Behind it. */
static const char *take_lambda(struct shortening *to, const char *at)
{
	const char *end = skip_brackets(at, to->end), *number = end - 1;

	while (number > at && isdigit((unsigned char)number[-1]))
		number--;
	put_lambda(to, number > at && number[-1] == '#' ? strtoul(number, NULL, 10) % 1000 : 1);
	return skip_call(end, to->end);
}

/* clang's lambdas that nobody else can name: "$_0". Behind it. */
static const char *take_clang_lambda(struct shortening *to, const char *at)
{
	char *end;
	unsigned long number = strtoul(at + 2, &end, 10) % 999;

	put_lambda(to, number + 1);
	return skip_call(end, to->end);
}

static bool is_clang_lambda(const struct shortening *to, const char *at)
{
	return begins(at, "$_") && isdigit((unsigned char)at[2]) &&
	       (at == to->name || at[-1] == ':');
}

/* "<double, 3>". Behind it. */
static const char *take_arguments(struct shortening *to, const char *at)
{
	const char *end = skip_brackets(at, to->end);

	if (end - at <= FEW_ARGUMENTS + 2 && end[-1] == '>')
		put(to, at, (size_t)(end - at));
	else
		put(to, "<\xe2\x80\xa6>", 5);
	return end;
}

/* What begins at @at, outside of brackets. Behind it; NULL: the name is not C++'s. */
static const char *take(struct shortening *to, const char *at)
{
	size_t word = operator_length(to->name, at);
	const char *behind, *follows;

	if (word) {
		put(to, at, word);
		to->in_operator = true;
		return at + word;
	}
	if (begins(at, ANONYMOUS)) {
		put(to, at, strlen(ANONYMOUS));
		return at + strlen(ANONYMOUS);
	}
	if (begins(at, INNER_NAMESPACE) && to->used && at[-1] == ':')
		return at + strlen(INNER_NAMESPACE);
	if (begins(at, LAMBDA))
		return take_lambda(to, at);
	if (is_clang_lambda(to, at))
		return take_clang_lambda(to, at);
	if (begins(at, "[abi:") && strchr(at, ']'))
		return strchr(at, ']') + 1;
	if (*at == '<')
		return take_arguments(to, at);
	if (*at == '(') {
		behind = skip_brackets(at, to->end);
		if (*behind == '.') /* Go: (*T).Method */
			return NULL;
		follows = skip_word(behind, " const");
		/* The parameters end the name, unless more of it follows, or nothing was before. */
		if (begins(follows, "::"))
			return follows;
		return to->used ? to->end : behind;
	}
	if (*at == ' ') {
		/* What stood before was the return type, which only templates have; without
		 * parameters it was none: "main program", "TLS init function for x". */
		if (!to->in_operator && !memchr(at, '(', (size_t)(to->end - at)))
			return NULL;
		if (!to->in_operator)
			to->used = 0;
		else if ((at[1] != '<' && at[1] != '(') || to->out[to->used - 1] == '<')
			put(to, at, 1); /* operator< <int> */
		return at + 1;
	}
	put(to, at, 1);
	return at + 1;
}

char *sp_name_shorten(const char *name)
{
	struct shortening to = {.name = name, .end = find_end(name)};
	sp_cleanup(sp_freep) char *out = malloc(strlen(name) * 4 + 16);
	const char *at = name;

	if (!out)
		return NULL;
	to.out = out;
	while (at && at < to.end)
		at = take(&to, at);
	if (!at || !to.used)
		return strdup(name);
	strcpy(out + to.used, to.end);
	return sp_take(out);
}
