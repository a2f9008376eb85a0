/* SPDX-License-Identifier: BSD-2-Clause
 *
 * kallsyms_test.c - names of kernel addresses from made-up lists, and from the kernel's own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/kallsyms.h"
#include "tests/loader/check.h"
#include "userspace/base/cleanup.h"

static char directory[] = "/tmp/sp-kallsyms-XXXXXX";
static char symbols[64], modules[64];

/* What was found, one line a function. */
static char got[4096];
static struct sp_kallsyms_counts counts;

static void take(void *arg, uint64_t address, uint64_t end, const char *name, const char *module)
{
	size_t at = strlen(got);

	(void)arg;
	snprintf(got + at, sizeof(got) - at, "%" PRIx64 " %" PRIx64 " %s [%s]\n", address, end,
		 name, module);
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

static void add(struct sp_kallsyms *k, size_t kernel, size_t n, const uint64_t *frames)
{
	struct {
		struct sp_ev_sample sample;
		uint64_t frames[64];
	} event = {.sample = {.head = {.type = SP_EV_sample},
			      .kernel_frames = (uint32_t)kernel,
			      .tail_bytes = 8 * n}};

	memcpy(event.frames, frames, 8 * n);
	sp_kallsyms_add(k, &event.sample);
}

static int resolve(struct sp_kallsyms *k, struct sp_error *err)
{
	got[0] = 0;
	return sp_kallsyms_resolve(k, take, NULL, &counts, err);
}

static struct sp_kallsyms *make(const char *symbol_text, const char *module_text)
{
	struct sp_kallsyms_paths paths = {symbols, modules};
	struct sp_kallsyms *k = NULL;
	int r;

	put(symbols, symbol_text);
	if (module_text)
		put(modules, module_text);
	else
		unlink(modules);
	r = sp_kallsyms_new(&paths, &k);
	CHECK(r == 0, "%d", r);
	if (r < 0)
		abort();
	return k;
}

#define CORE \
	"ffffffff81000000 t local_alias\n" \
	"ffffffff81000000 T first\n" \
	"ffffffff81000000 T second_name\n" \
	"ffffffff81002000 T third\n" \
	"ffffffff81000100 t middle\n" \
	"ffffffff81000180 D some_data\n" \
	"ffffffff81001000 W weak\n" \
	"this is no line of it\n" \
	"0000000000000000 T at_zero\n"

#define MODULE \
	"ffffffffc0000040 t m_two\t[mod]\n" \
	"ffffffffc0000000 T m_one\t[mod]\n" \
	"ffffffffc0002000 t other\t[gone]\n"

static void test_functions(void)
{
	struct sp_kallsyms *k = make(CORE MODULE, "mod 4096 1 - Live 0xffffffffc0000000 (O)\n"
						  "gone 4096 0 - Live 0xffffffffc0002000\n");
	/* The first is exact, the others return addresses; the last two are the user's. */
	const uint64_t frames[] = {0xffffffff81000000, 0xffffffff81000100,
				   0xffffffff81000181, 0xffffffff81001004,
				   0xffffffff81003000, 0xffffffffc0000041,
				   0xffffffffc0001000, 0xffffffffc0001008,
				   0x400100,	       0};
	struct sp_error err = {0};
	int r;

	add(k, 8, sp_array_size(frames), frames);
	add(k, 8, sp_array_size(frames), frames); /* nothing new */
	add(k, 99, 1, frames);			  /* claims more than it has */
	r = resolve(k, &err);
	CHECK(r == 0, "%d %s", r, err.text);
	CHECK(counts.addresses == 8 && counts.named == 7 && !counts.dropped, "%zu %zu %zu",
	      counts.addresses, counts.named, counts.dropped);
	/* c0001007 is behind the module, though m_two is the nearest symbol. */
	CHECK(!strcmp(got, "ffffffff81000000 ffffffff81000100 first []\n"
			   "ffffffff81000100 ffffffff81001000 middle []\n"
			   "ffffffff81001000 ffffffff81002000 weak []\n"
			   "ffffffff81002000 0 third []\n"
			   "ffffffffc0000040 ffffffffc0001000 m_two [mod]\n"),
	      "%s", got);
	sp_kallsyms_free(k);
}

/* A module that is unloaded before the end has its names from the start. */
static void test_unloaded(void)
{
	struct sp_kallsyms *k = make(CORE MODULE, "mod 4096 1 - Live 0xffffffffc0000000\n"
						  "gone 4096 0 - Live 0xffffffffc0002000\n");
	const uint64_t frames[] = {0xffffffffc0002010, 0xffffffffc0000042};
	struct sp_error err = {0};

	add(k, 2, 2, frames);
	put(symbols, CORE);
	put(modules, "");
	CHECK(resolve(k, &err) == 0, "%s", err.text);
	CHECK(!strcmp(got, "ffffffffc0000040 ffffffffc0001000 m_two [mod]\n"
			   "ffffffffc0002000 ffffffffc0003000 other [gone]\n"),
	      "%s", got);
	/* Another one in its place: what is there at the end holds. */
	put(symbols, CORE "ffffffffc0002000 t newcomer\t[new]\n");
	put(modules, "new 4096 0 - Live 0xffffffffc0002000\n");
	CHECK(resolve(k, &err) == 0, "%s", err.text);
	CHECK(strstr(got, "newcomer [new]") && !strstr(got, "other"), "%s", got);
	sp_kallsyms_free(k);
}

static void test_nothing(void)
{
	struct sp_kallsyms *k = make("0000000000000000 T first\n0000000000000000 t second\n", NULL);
	const uint64_t frames[] = {0xffffffff81000000};
	struct sp_error err = {0};

	/* Nobody asked for anything. */
	CHECK(resolve(k, &err) == 0 && !counts.addresses && !got[0], "%s", err.text);
	add(k, 1, 1, frames);
	CHECK(resolve(k, &err) == -EACCES, "%s", err.text);
	CHECK(strstr(err.text, "kptr_restrict"), "%s", err.text);
	unlink(symbols);
	CHECK(resolve(k, &err) == -ENOENT && strstr(err.text, symbols), "%s", err.text);
	sp_kallsyms_free(k);
}

static void test_long_and_many(void)
{
	static char text[70000];
	size_t at = (size_t)snprintf(text, sizeof(text), "ffffffff81000000 T ");
	struct sp_kallsyms *k;
	struct sp_error err = {0};

	memset(text + at, 'x', 60000);
	strcpy(text + at + 60000, "\nffffffff81000010 T short\n");
	k = make(text, NULL);
	for (uint64_t i = 0; i < SP_KALLSYMS_ADDRESSES + 10; i++)
		add(k, 1, 1, &(uint64_t){0xffffffff81000000 + i});
	CHECK(resolve(k, &err) == 0, "%s", err.text);
	CHECK(counts.addresses == SP_KALLSYMS_ADDRESSES && counts.dropped == 10 &&
		      counts.named == SP_KALLSYMS_ADDRESSES,
	      "%zu %zu %zu", counts.addresses, counts.dropped, counts.named);
	CHECK(strstr(got, "xxx []") && strstr(got, "ffffffff81000010 0 short []"), "%.200s", got);
	sp_kallsyms_free(k);
}

/* The running kernel's own list, where it shows it. */
static void test_real(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	struct sp_kallsyms *k;
	struct sp_error err = {0};
	uint64_t address = 0;
	char line[256], name[200] = "", wanted[240];
	int r;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 " T %199s", &address, name) == 2 &&
		    !strcmp(name, "vfs_read"))
			break;
	if (file)
		fclose(file);
	if (!address || strcmp(name, "vfs_read")) {
		printf("the kernel's addresses are not shown to us: not tried\n");
		return;
	}
	r = sp_kallsyms_new(NULL, &k);
	CHECK(r == 0, "%d", r);
	add(k, 1, 1, &(uint64_t){address + 5});
	CHECK(resolve(k, &err) == 0, "%s", err.text);
	snprintf(wanted, sizeof(wanted), "%" PRIx64 " ", address);
	CHECK(strstr(got, wanted) && strstr(got, " vfs_read []"), "%s", got);
	sp_kallsyms_free(k);
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	snprintf(symbols, sizeof(symbols), "%s/kallsyms", directory);
	snprintf(modules, sizeof(modules), "%s/modules", directory);
	test_functions();
	test_unloaded();
	test_nothing();
	test_long_and_many();
	test_real();
	unlink(symbols);
	unlink(modules);
	rmdir(directory);
	return check_done();
}
