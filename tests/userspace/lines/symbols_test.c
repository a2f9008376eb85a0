/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbols_test.c - symbols beyond what the command shows: the workers' messages, hostile
 *ELF.
 *
 *	symbols_test messages
 *	symbols_test own
 *	symbols_test hostile ELF_FILE SCRATCH_FILE ROUNDS [here]
 *	symbols_test again ELF_FILE
 *	symbols_test stuck ELF_FILE OTHER_ELF_FILE	reading the first one never ends
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/analysis/own.h"
#include "userspace/analysis/symbol_worker.h"
#include "userspace/analysis/symbols.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/vdso.h"

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			exit(1); \
		} \
	} while (0)

static uint64_t random_state = 88172645463325252u;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* ---- messages of workers ---- */

struct heard {
	size_t texts, links, places;
};

static int hear_status(void *context, enum sp_symbols_status status, const char *reason)
{
	(void)context;
	CHECK(status > SP_SYMBOLS_PENDING && status <= SP_SYMBOLS_DAMAGED &&
	      strlen(reason) < 70000);
	return 0;
}

static int hear_debug_file(void *context, const char *path)
{
	(void)context;
	CHECK(path != NULL);
	return 0;
}

static int hear_text(void *context, const char *text)
{
	CHECK(text != NULL);
	((struct heard *)context)->texts++;
	return 0;
}

static int hear_link(void *context, const struct sp_worker_link *link)
{
	struct heard *heard = context;

	CHECK(link->function < heard->texts || link->function == SP_WORKER_NONE);
	CHECK(link->call_file < heard->texts || link->call_file == SP_WORKER_NONE);
	CHECK(link->around < heard->links || link->around == SP_WORKER_NONE);
	heard->links++;
	return 0;
}

static int hear_place(void *context, const struct sp_worker_place *place)
{
	struct heard *heard = context;

	CHECK(place->index < 10);
	CHECK(place->link < heard->links || place->link == SP_WORKER_NONE);
	CHECK(place->file < heard->texts || place->file == SP_WORKER_NONE);
	heard->places++;
	return 0;
}

/* A stream of messages that a worker could send. */
static size_t good_stream(unsigned char *out)
{
	const struct {
		struct sp_worker_header head;
		uint32_t words[10];
	} messages[] = {
		{{SP_WORKER_STATUS, 8}, {SP_SYMBOLS_LINES, 0x6b6f6f6c}},
		{{SP_WORKER_DEBUG_FILE, 4}, {0x67756264}},
		{{SP_WORKER_TEXT, 4}, {0x6e69616d}},
		{{SP_WORKER_TEXT, 3}, {0x00632e61}},
		{{SP_WORKER_LINKS, 40}, {0, 0, SP_WORKER_NONE, SP_WORKER_NONE, 0, 0, 0, 0, 1, 42}},
		{{SP_WORKER_PLACES, 32}, {3, 1, 1, 7, 4, SP_WORKER_NONE, SP_WORKER_NONE, 0}},
		{{SP_WORKER_END, 0}, {0}},
	};
	size_t size = 0;

	for (size_t i = 0; i < sp_array_size(messages); i++) {
		memcpy(out + size, &messages[i].head, sizeof(messages[i].head));
		size += sizeof(messages[i].head);
		memcpy(out + size, messages[i].words, messages[i].head.bytes);
		size += messages[i].head.bytes;
	}
	return size;
}

/* Feeds in pieces of random sizes, as pipes do. */
static int feed(const unsigned char *bytes, size_t size, struct heard *heard, int *ret_finished)
{
	struct sp_symbol_sink sink = {hear_status, hear_debug_file, hear_text,
				      hear_link,   hear_place,	    heard};
	struct sp_worker_reader reader = {.n_addresses = 10};
	int r = 0;

	*heard = (struct heard){0};
	for (size_t at = 0; at < size && r == 0;) {
		size_t part = 1 + random_number() % 40;

		part = part < size - at ? part : size - at;
		r = sp_worker_feed(&reader, bytes + at, part, &sink);
		at += part;
	}
	*ret_finished = reader.finished;
	sp_worker_reader_done(&reader);
	return r;
}

/* Each link inside of the one before, more of them than a symbol has frames. */
static void test_long_chain(void)
{
	struct {
		struct sp_worker_header head;
		struct sp_worker_link links[SP_WORKER_MAX_FRAMES + 1];
	} chain = {0};
	struct heard heard;
	int finished;

	for (uint32_t i = 0; i <= SP_WORKER_MAX_FRAMES; i++)
		chain.links[i] =
			(struct sp_worker_link){SP_WORKER_NONE, SP_WORKER_NONE,
						i ? i - 1 : SP_WORKER_NONE, SP_WORKER_NONE, 1};
	for (uint32_t n = SP_WORKER_MAX_FRAMES; n <= SP_WORKER_MAX_FRAMES + 1; n++) {
		chain.head = (struct sp_worker_header){SP_WORKER_LINKS,
						       n * (uint32_t)sizeof(chain.links[0])};
		CHECK(feed((const unsigned char *)&chain, sizeof(chain.head) + chain.head.bytes,
			   &heard, &finished) == (n > SP_WORKER_MAX_FRAMES ? -EBADMSG : 0));
		CHECK(heard.links == SP_WORKER_MAX_FRAMES);
	}
}

static void test_messages(void)
{
	unsigned char good[512], bad[512];
	size_t size = good_stream(good), refused = 0;
	struct heard heard;
	int finished;

	CHECK(feed(good, size, &heard, &finished) == 0 && finished);
	CHECK(heard.texts == 2 && heard.links == 2 && heard.places == 2);
	for (size_t cut = 0; cut < size; cut++)
		CHECK(feed(good, cut, &heard, &finished) == 0 && !finished);
	for (int round = 0; round < 200000; round++) {
		memcpy(bad, good, size);
		for (int i = 0; i < 1 + round % 4; i++)
			bad[random_number() % size] = (unsigned char)random_number();
		refused += feed(bad, size, &heard, &finished) == -EBADMSG;
	}
	CHECK(refused > 1000);
	test_long_chain();
}

/* ---- hostile files ---- */

static unsigned char *read_all(const char *path, size_t *ret_size)
{
	struct stat status;
	unsigned char *bytes;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && fstat(fd, &status) == 0);
	bytes = malloc((size_t)status.st_size);
	CHECK(bytes && read(fd, bytes, (size_t)status.st_size) == status.st_size);
	close(fd);
	*ret_size = (size_t)status.st_size;
	return bytes;
}

static void write_all(const char *path, const unsigned char *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static void check_frames(const struct sp_symbol *symbol)
{
	struct sp_frame frame = sp_symbol_innermost(symbol);
	uint32_t n = 0;

	do {
		CHECK(frame.function && frame.raw && frame.file);
		n++;
	} while (sp_frame_leave(&frame));
	CHECK(n == symbol->n_frames);
}

/* Looks up addresses all over the file. Whatever it is, there is an answer, and it is well formed.
 */
static enum sp_symbols_status look_up(const char *path, bool here, size_t *ret_lines)
{
	struct sp_symbols_options options = {.in_process = here, .patience_s = 20};
	struct sp_symbols *symbols;
	enum sp_symbols_status status;
	uint32_t module;

	CHECK(sp_symbols_new(&options, &symbols) == 0);
	CHECK(sp_symbols_add_module(symbols, path, NULL, &module) == 0);
	for (uint64_t address = 0x1000; address < 0x1800; address += 7)
		CHECK(sp_symbols_add(symbols, module, address) == 0);
	CHECK(sp_symbols_add(symbols, module, UINT64_MAX) == 0);
	CHECK(sp_symbols_add(symbols, module, 0) == 0);
	CHECK(sp_symbols_resolve(symbols) == 0);
	*ret_lines = 0;
	for (uint64_t address = 0x1000; address < 0x1800; address += 7) {
		const struct sp_symbol *symbol = sp_symbols_find(symbols, module, address);

		CHECK(symbol && symbol->n_frames && symbol->n_frames <= 64);
		*ret_lines += symbol->line != 0;
		check_frames(symbol);
	}
	status = sp_symbols_module(symbols, module)->status;
	CHECK(status != SP_SYMBOLS_PENDING);
	CHECK(status < SP_SYMBOLS_CHANGED || *sp_symbols_module(symbols, module)->reason);
	sp_symbols_free(symbols);
	return status;
}

static void mutate(unsigned char *bytes, size_t size)
{
	/* Values that lengths, offsets and counts go wrong at. */
	static const uint64_t odd[] = {0,	   1,	       0x7f,	   0x80,      0xff,
				       0x7fffffff, 0xffffffff, UINT64_MAX, INT64_MAX, 1u << 31};
	int changes = 1 + (int)(random_number() % 12);

	for (int i = 0; i < changes; i++) {
		/* Half of them in the headers and the section table, at the ends of the file. */
		size_t span = random_number() % 2 ? size : 2048;
		size_t at = random_number() % (span < size ? span : size);
		uint64_t value = random_number() % 2 ? odd[random_number() % sp_array_size(odd)]
						     : random_number();
		size_t width = (size_t)1 << random_number() % 4;

		if (random_number() % 2)
			at = size - 1 - at;
		if (at + width <= size)
			memcpy(bytes + at, &value, width);
	}
}

static void test_hostile(const char *path, const char *scratch, int rounds, bool here)
{
	size_t size, lines, answered = 0, counts[SP_SYMBOLS_DAMAGED + 1] = {0};
	unsigned char *good = read_all(path, &size), *bad = malloc(size);

	CHECK(bad && look_up(path, here, &lines) == SP_SYMBOLS_LINES && lines > 10);
	for (int round = 0; round < rounds; round++) {
		size_t length = size;

		memcpy(bad, good, size);
		if (round % 8 == 0)
			length = random_number() % size;
		else
			mutate(bad, size);
		write_all(scratch, bad, length);
		counts[look_up(scratch, here, &lines)]++;
		answered += lines != 0;
	}
	unlink(scratch);
	printf("%d files: %zu with lines, %zu with names, %zu damaged; lines from %zu\n", rounds,
	       counts[SP_SYMBOLS_LINES], counts[SP_SYMBOLS_NAMES], counts[SP_SYMBOLS_DAMAGED],
	       answered);
	/* Else the mutations were no test. */
	CHECK(counts[SP_SYMBOLS_DAMAGED] && answered);
	free(good);
	free(bad);
}

/* ---- resolving again ---- */

static void test_again(const char *path)
{
	struct sp_symbols *symbols;
	const struct sp_symbol *first;
	uint32_t module, same, other;

	CHECK(sp_symbols_new(NULL, &symbols) == 0);
	CHECK(sp_symbols_add_module(symbols, path, NULL, &module) == 0);
	CHECK(sp_symbols_add_module(symbols, path, "", &same) == 0 && same == module);
	CHECK(sp_symbols_add_module(symbols, path, "00", &other) == 0 && other != module);
	CHECK(sp_symbols_add(symbols, 77, 0) == -EINVAL);
	CHECK(!strcmp(sp_symbols_find(symbols, module, 0x1100)->innermost->function, "??"));
	for (uint64_t address = 0x1200; address < 0x1300; address += 2)
		CHECK(sp_symbols_add(symbols, module, address) == 0);
	CHECK(sp_symbols_resolve(symbols) == 0);
	first = sp_symbols_find(symbols, module, 0x1202);
	const struct sp_call *innermost = first->innermost;

	for (uint64_t address = 0x1000; address < 0x1400; address++)
		CHECK(sp_symbols_add(symbols, module, address) == 0);
	CHECK(sp_symbols_add(symbols, other, 0x1202) == 0);
	CHECK(sp_symbols_resolve(symbols) == 0);
	CHECK(sp_symbols_find(symbols, module, 0x1202)->innermost == innermost);
	CHECK(sp_symbols_module(symbols, other)->status == SP_SYMBOLS_CHANGED);
	CHECK(!strcmp(sp_symbols_find(symbols, other, 0x1202)->innermost->function, "??"));
	CHECK(sp_symbols_resolve(symbols) == 0);
	sp_symbols_free(symbols);
}

/* ---- the kernel's code in every process ---- */

/* Whether a function of the vDSO is found, if its build-id is said to be @build_id. */
static bool knows_vdso(const char *build_id, enum sp_symbols_status *ret_status)
{
	struct sp_symbols *symbols;
	uint32_t module;
	bool known = false;

	CHECK(sp_symbols_new(NULL, &symbols) == 0);
	CHECK(sp_symbols_add_module(symbols, SP_VDSO_NAME, build_id, &module) == 0);
	for (uint64_t address = 0; address < 0x4000; address += 16)
		CHECK(sp_symbols_add(symbols, module, address) == 0);
	CHECK(sp_symbols_resolve(symbols) == 0);
	for (uint64_t address = 0; address < 0x4000; address += 16)
		known |= !strcmp(sp_symbols_find(symbols, module, address)->innermost->function,
				 "__vdso_clock_gettime");
	*ret_status = sp_symbols_module(symbols, module)->status;
	sp_symbols_free(symbols);
	return known;
}

/* Only what is the same as ours is looked up in ours. */
static void test_vdso(void)
{
	enum sp_symbols_status status;
	char id[SP_VDSO_BUILD_ID];

	sp_vdso_build_id(id);
	if (!*id)
		exit(77);
	CHECK(knows_vdso(id, &status) && status != SP_SYMBOLS_MISSING);
	CHECK(!knows_vdso("", &status) && status == SP_SYMBOLS_MISSING);
	id[0] ^= 1; /* another digit */
	CHECK(!knows_vdso(id, &status) && status == SP_SYMBOLS_CHANGED);
}

/* ---- workers that hang or die ---- */

/* Kills the worker of @parent: its second child, but for @except, behind the one that looks at
 * files. */
static void kill_worker(pid_t parent, pid_t except)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	for (int tries = 0; tries < 200; tries++) {
		FILE *file = fopen(path, "re");
		int child, others = 0;

		while (file && fscanf(file, "%d", &child) == 1)
			if (child != except && ++others == 2) {
				usleep(200000); /* into its open(), or wherever it hangs */
				kill(child, SIGKILL);
				_exit(0);
			}
		if (file)
			fclose(file);
		usleep(10000);
	}
	_exit(1);
}

/* One module hangs; the answers for the other one come all the same, and a reason for this one. */
static void look_up_stuck(const char *stuck, const char *other, unsigned int patience_s,
			  const char *reason)
{
	struct sp_symbols_options options = {.patience_s = patience_s, .jobs = 1};
	struct sp_symbols *symbols;
	uint32_t modules[2];

	CHECK(sp_symbols_new(&options, &symbols) == 0);
	CHECK(sp_symbols_add_module(symbols, stuck, NULL, &modules[0]) == 0);
	CHECK(sp_symbols_add_module(symbols, other, NULL, &modules[1]) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(sp_symbols_add(symbols, modules[i], 0x1202) == 0);
	CHECK(sp_symbols_resolve(symbols) == 0);
	CHECK(sp_symbols_module(symbols, modules[0])->status == SP_SYMBOLS_DAMAGED);
	CHECK(strstr(sp_symbols_module(symbols, modules[0])->reason, reason));
	CHECK(sp_symbols_module(symbols, modules[1])->status == SP_SYMBOLS_LINES);
	sp_symbols_free(symbols);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void test_stuck(const char *stuck, const char *other)
{
	pid_t parent = getpid(), killer;
	int status;

	time_t start = time(NULL);

	look_up_stuck(stuck, other, 600, "a FIFO");
	CHECK(time(NULL) - start < 300); /* it sleeps, so not all the patience is spent */
	killer = fork();
	CHECK(killer >= 0);
	if (!killer) {
		/* Not a child of the test, which counts its children. */
		killer = getpid();
		if (fork() == 0)
			kill_worker(parent, killer);
		_exit(0);
	}
	CHECK(waitpid(killer, &status, 0) == killer);
	look_up_stuck(stuck, other, 60, "Killed");
}

/* ---- whose code ---- */

/* Distributions build in directories that say nothing. */
static void test_own(void)
{
	static const struct {
		const char *module;
		bool is_own;
	} modules[] = {
		{NULL, true},
		{"/lib/x86_64-linux-gnu/libm.so.6", false},
		{"/usr/lib/x86_64-linux-gnu/libm.so.6", false},
		{"/usr/lib64/libm.so.6", false},
		{"/usr/libexec/heat", false},
		{"/library/libm.so.6", true},
		{"/usr/local/bin/heat", true},
		{"/usr/local/lib/libheat.so", true},
		{"/home/alice/lib/libheat.so", true},
	};
	struct sp_call outer = {.function = "cos", .raw = "cos"},
		       inner = {.function = "hold",
				.raw = "hold",
				.call_file = "./math/../sysdeps/s_sin.c",
				.call_line = 7,
				.around = &outer};
	struct sp_symbol symbol = {&inner, "./math/../sysdeps/fenv_private.h", 416, 2};
	struct sp_own *own;

	CHECK(sp_own_new(&own) == 0);
	for (size_t i = 0; i < sp_array_size(modules); i++)
		CHECK(sp_own_frame(own, &symbol, modules[i].module).line ==
		      (modules[i].is_own ? 416u : 7u));
	/* Who says otherwise is heard. */
	CHECK(sp_own_add(own, "sysdeps", true) == 0);
	CHECK(sp_own_frame(own, &symbol, modules[1].module).line == 416);
	sp_own_free(own);
}

int main(int argc, char **argv)
{
	if (getenv("SP_TEST_SEED"))
		random_state += strtoull(getenv("SP_TEST_SEED"), NULL, 10);
	if (argc == 2 && !strcmp(argv[1], "messages"))
		test_messages();
	else if (argc == 2 && !strcmp(argv[1], "own"))
		test_own();
	else if (argc >= 5 && !strcmp(argv[1], "hostile"))
		test_hostile(argv[2], argv[3], atoi(argv[4]), argc > 5);
	else if (argc == 3 && !strcmp(argv[1], "again"))
		test_again(argv[2]);
	else if (argc == 2 && !strcmp(argv[1], "vdso"))
		test_vdso();
	else if (argc == 4 && !strcmp(argv[1], "stuck"))
		test_stuck(argv[2], argv[3]);
	else
		return 2;
	return 0;
}
