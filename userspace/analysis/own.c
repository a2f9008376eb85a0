/* SPDX-License-Identifier: BSD-2-Clause
 *
 * own.c - paths, made plain, against directories; each file is looked at once.
 */
#include "userspace/analysis/own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/idmap.h"

struct rule {
	char *path; /* plain, without a slash at its end */
	bool own;
};

struct sp_own {
	struct rule *rules;
	size_t n_rules, room;
	struct sp_idmap known; /* by the text's address and the kind of module: 1 own, 0 not */
};

int sp_own_new(struct sp_own **ret_own)
{
	struct sp_own *own = calloc(1, sizeof(*own));

	if (!own)
		return -ENOMEM;
	*ret_own = own;
	return 0;
}

void sp_own_free(struct sp_own *own)
{
	if (!own)
		return;
	for (size_t i = 0; i < own->n_rules; i++)
		free(own->rules[i].path);
	free(own->rules);
	sp_idmap_free(&own->known);
	free(own);
}

/* The path without "//", "/./" and "/x/../": compilers name their headers
 * /usr/lib/gcc/…/../../../include/c++/12/vector. */
char *sp_own_plain(const char *path)
{
	char *plain = malloc(strlen(path) + 1), *out = plain;
	const char *floor; /* what ".." cannot take away */

	if (!plain)
		return NULL;
	if (*path == '/')
		*out++ = '/';
	floor = out;
	while (*path) {
		size_t length = strcspn(path, "/");

		if (length == 2 && !strncmp(path, "..", 2) && out > floor) {
			/* The last part, and the slash before it. */
			while (out > floor && *--out != '/')
				;
		} else if (length && !(length == 1 && *path == '.')) {
			if (out > plain && out[-1] != '/')
				*out++ = '/';
			memcpy(out, path, length);
			out += length;
			if (length == 2 && !strncmp(path, "..", 2))
				floor = out;
		}
		path += length;
		path += strspn(path, "/");
	}
	*out = '\0';
	return plain;
}

int sp_own_add(struct sp_own *own, const char *directory, bool is_own)
{
	char *plain = sp_own_plain(directory);
	struct rule *rule = plain ? sp_array_add(&own->rules, &own->n_rules, &own->room) : NULL;

	if (!rule) {
		free(plain);
		return -ENOMEM;
	}
	*rule = (struct rule){plain, is_own};
	sp_idmap_clear(&own->known);
	return 0;
}

/* True if @path is @directory or in it; with @open_end also what only begins like it (cuda-12). */
static bool is_in(const char *path, const char *directory, bool open_end)
{
	size_t length = strlen(directory);

	return !strncmp(path, directory, length) &&
	       (open_end || !path[length] || path[length] == '/');
}

static bool is_of_system(const char *path)
{
	static const char *const directories[] = {
		"/usr/include",	  "/usr/lib",	       "/usr/lib32",	 "/usr/lib64",
		"/usr/libx32",	  "/usr/libexec",      "/usr/local/lib", "/usr/local/lib64",
		"/usr/src/debug", "/usr/local/include"};
	static const char *const beginnings[] = {"/usr/local/cuda", "/opt/intel", "/opt/nvidia",
						 "/opt/cray",	    "/opt/rocm",  "/opt/AMD",
						 "/opt/amd",	    "/opt/arm",	  "/opt/nec",
						 "/opt/FJSV",	    "/opt/ibm",	  "/opt/aocc"};
	static const char *const parts[] = {"/lib/gcc/",     "/lib64/gcc/",   "/lib/clang/",
					    "/lib64/clang/", "/include/c++/", "/lib/rustlib/"};

	for (size_t i = 0; i < sp_array_size(directories); i++)
		if (is_in(path, directories[i], false))
			return true;
	for (size_t i = 0; i < sp_array_size(beginnings); i++)
		if (is_in(path, beginnings[i], true))
			return true;
	for (size_t i = 0; i < sp_array_size(parts); i++)
		if (strstr(path, parts[i]))
			return true;
	/* "<built-in>", "<artificial>", "??" */
	return path[0] == '<' || path[0] == '?';
}

/* Code of distributions' libraries, whose paths of sources are those of the machine that built
 * them. */
static bool is_system_module(const char *module)
{
	static const char *const directories[] = {"/lib",	"/lib32",      "/lib64",
						  "/libx32",	"/usr/lib",    "/usr/lib32",
						  "/usr/lib64", "/usr/libx32", "/usr/libexec"};

	for (size_t i = 0; i < sp_array_size(directories); i++)
		if (is_in(module, directories[i], false))
			return true;
	return false;
}

/* How much of the path the rule is about, 0 if it does not fit. */
static size_t fit(const struct rule *rule, const char *path)
{
	size_t length = strlen(rule->path);

	if (rule->path[0] == '/' || !length)
		return length && is_in(path, rule->path, false) ? length : 0;
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (is_in(at, rule->path, false))
			return (size_t)(at - path) + length;
	}
	return 0;
}

static bool decide(const struct sp_own *own, const char *path, bool in_system)
{
	size_t best = 0;
	bool answer = !in_system && !is_of_system(path);

	for (size_t i = 0; i < own->n_rules; i++) {
		size_t length = fit(&own->rules[i], path);

		if (length && length >= best) {
			best = length;
			answer = own->rules[i].own;
		}
	}
	return answer;
}

/* @file: a text of the symbols (known again by its address). */
static bool is_own(struct sp_own *own, const char *file, bool in_system)
{
	uint64_t key = (uint64_t)(uintptr_t)file << 1 | in_system;
	uint32_t known = sp_idmap_get(&own->known, key);
	sp_cleanup(sp_freep) char *plain = NULL;

	if (known != SP_IDMAP_NONE)
		return known;
	plain = sp_own_plain(file);
	known = decide(own, plain ? plain : file, in_system);
	/* Without memory it is decided again the next time. */
	sp_idmap_set(&own->known, key, known);
	return known;
}

struct sp_frame sp_own_frame(struct sp_own *own, const struct sp_symbol *symbol, const char *module)
{
	struct sp_frame frame = sp_symbol_innermost(symbol);
	bool in_system = module && is_system_module(module);

	do {
		if (frame.line && is_own(own, frame.file, in_system))
			break;
	} while (sp_frame_leave(&frame));
	return frame;
}
