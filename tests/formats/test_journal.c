/* SPDX-License-Identifier: BSD-2-Clause
 *
 * test_journal.c - formats/journal_*.c: what is written is read; of a journal that was cut or
 * damaged anywhere, the whole blocks before; a full disk loses what did not fit, counts it, and
 * leaves a good file.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "formats/journal.h"
#include "tests/formats/check.h"

static const char *directory;
static struct sp_error error;

/* Call events that can be told from their number. */
static struct sp_ev_call call_of(uint64_t i)
{
	return (struct sp_ev_call){
		.head = {.type = SP_EV_call, .flags = (uint16_t)(i % 7), .lane = (uint32_t)(i % 3)},
		.start = i * 1000003,
		.end = i * 1000003 + i % 977,
		.number = i,
		.site = (uint32_t)(i * 2654435761u),
	};
}

static int is_call(const struct sp_event *event, uint64_t i)
{
	struct sp_ev_call wanted = call_of(i);

	return event->head->type == SP_EV_call && !memcmp(event->head, &wanted, sizeof(wanted));
}

static int new_file(const char *name)
{
	int fd = open(check_path(directory, name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0) {
		perror(name);
		exit(1);
	}
	return fd;
}

static struct sp_journal_writer *new_writer(const char *name)
{
	struct sp_journal_writer *w = NULL;

	MUST(sp_journal_writer_new(new_file(name), &w));
	return w;
}

static void add_calls(struct sp_journal_writer *w, unsigned stream, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++) {
		struct sp_ev_call call = call_of(i);

		MUST(sp_journal_add(w, stream, &call.head));
	}
}

/* Reads to the end: the events must be calls 0, 1, 2 … Returns how many. */
static uint64_t count_calls(struct sp_journal *j)
{
	const struct sp_event *event;
	uint64_t n = 0;
	int r;

	while ((r = sp_journal_next(j, &event)) == 1) {
		if (!is_call(event, n)) {
			CHECK(!"an event that was not written, or out of order");
			return n;
		}
		n++;
	}
	CHECK_INT(r, 0);
	CHECK_INT(sp_journal_next(j, &event), 0);
	return n;
}

static void check_intact(struct sp_journal *j, int intact, uint64_t good, uint64_t file)
{
	uint64_t good_bytes = 0, file_bytes = 0;
	const char *reason = NULL;

	CHECK_INT(sp_journal_intact(j, &good_bytes, &file_bytes, &reason), intact);
	CHECK_INT(good_bytes, good);
	CHECK_INT(file_bytes, file);
	CHECK(reason && !!reason[0] == !intact);
}

/* Over many blocks, and back to the beginning. */
static void test_many(void)
{
	enum { COUNT = 200000 };
	struct sp_journal_writer *w = new_writer("many");
	struct sp_journal *j = NULL;
	uint64_t bytes;

	add_calls(w, 0, 0, COUNT);
	MUST(sp_journal_flush(w));
	bytes = sp_journal_bytes(w);
	CHECK_INT(sp_journal_lost(w), 0);
	MUST(sp_journal_writer_free(w));
	CHECK(bytes / COUNT <= 40); /* a call, as the design promises */
	MUST(sp_journal_open(check_path(directory, "many"), &j, &error));
	CHECK_INT(count_calls(j), COUNT);
	check_intact(j, 1, bytes, bytes);
	sp_journal_rewind(j);
	CHECK_INT(count_calls(j), COUNT);
	sp_journal_free(j);
	sp_journal_free(NULL);
	MUST(sp_journal_writer_free(NULL));
}

/* Streams stay apart and in their order; text events and ones too long for a block. */
static void test_streams(void)
{
	static const unsigned streams[] = {0, 1, 63, 65534, SP_STREAM_RECORDER};
	enum { STREAMS = 5, COUNT = 500, HUGE_TEXT = 300000 };
	struct sp_journal_writer *w = new_writer("streams");
	struct {
		struct sp_ev_meta ev;
		char text[HUGE_TEXT];
	} *huge = calloc(1, sizeof(*huge));
	uint64_t next[STREAMS] = {0}, huge_seen = 0;
	const struct sp_event *event;
	struct sp_journal *j = NULL;

	huge->ev.head.type = SP_EV_meta;
	huge->ev.tail_bytes = HUGE_TEXT;
	memset(huge->text, 'x', HUGE_TEXT);
	for (uint64_t i = 0; i < COUNT; i++)
		for (unsigned s = 0; s < STREAMS; s++) {
			struct sp_ev_call call = call_of(i * STREAMS + s);

			MUST(sp_journal_add(w, streams[s], &call.head));
			if (i % 100 == 50 && s == 2)
				MUST(sp_journal_add(w, streams[s], &huge->ev.head));
			if (i % 37 == 0)
				MUST(sp_journal_flush(w));
		}
	MUST(sp_journal_writer_free(w)); /* flushes */
	MUST(sp_journal_open(check_path(directory, "streams"), &j, &error));
	while (sp_journal_next(j, &event) == 1) {
		unsigned s = 0;

		while (s < STREAMS && streams[s] != sp_journal_stream(j))
			s++;
		if (s == STREAMS) {
			CHECK(!"a stream that was not written");
			break;
		}
		if (event->head->type == SP_EV_meta) {
			CHECK_INT(s, 2);
			CHECK_INT(event->tail_bytes, HUGE_TEXT);
			CHECK(!memcmp(event->tail, huge->text, HUGE_TEXT));
			huge_seen++;
		} else {
			CHECK(is_call(event, next[s] * STREAMS + s));
			next[s]++;
		}
	}
	for (unsigned s = 0; s < STREAMS; s++)
		CHECK_INT(next[s], COUNT);
	CHECK_INT(huge_seen, 5);
	sp_journal_free(j);
	free(huge);
}

/* A small journal of four blocks; where each ends, the schema's first. Returns the bytes. */
static size_t make_small(uint8_t *data, size_t room, uint64_t *ends)
{
	struct sp_journal_writer *w = new_writer("small");
	size_t n;

	ends[0] = sp_journal_bytes(w);
	for (unsigned block = 0; block < 4; block++) {
		add_calls(w, block % 2, 5 * block, 5);
		MUST(sp_journal_flush(w));
		ends[block + 1] = sp_journal_bytes(w);
	}
	MUST(sp_journal_writer_free(w));
	n = check_read_file(check_path(directory, "small"), data, room);
	CHECK_INT(n, ends[4]);
	return n;
}

/* Cut at every byte: the blocks before are there, and nothing else. */
static void test_truncation(void)
{
	static uint8_t data[65536];
	uint64_t ends[5];
	size_t n = make_small(data, sizeof(data), ends);
	const char *path = check_path(directory, "cut");

	for (size_t cut = 0; cut <= n; cut++) {
		struct sp_journal *j = NULL;
		unsigned whole = 0;
		int r;

		check_write_file(path, data, cut);
		error = (struct sp_error){0};
		r = sp_journal_open(path, &j, &error);
		if (cut < ends[0]) {
			CHECK_INT(r, -SP_E_TRUNCATED);
			CHECK(strstr(error.text, cut ? "ends inside its schema" : "is empty"));
			CHECK(!j);
			continue;
		}
		if (r) {
			CHECK_INT(r, 0);
			continue;
		}
		while (whole < 4 && ends[whole + 1] <= cut)
			whole++;
		CHECK_INT(count_calls(j), 5 * whole);
		check_intact(j, cut == ends[whole], ends[whole], cut);
		sp_journal_free(j);
	}
}

/* Any one bit flipped: it is noticed; the blocks before it are there, none from it on. */
static void test_bit_flips(void)
{
	static uint8_t data[65536];
	uint64_t ends[5];
	size_t n = make_small(data, sizeof(data), ends);
	int fd = new_file("flipped");

	for (size_t bit = 0; bit < 8 * n; bit++) {
		struct sp_journal *j = NULL;
		unsigned before = 0;
		int r;

		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (pwrite(fd, data, n, 0) != (ssize_t)n)
			exit(1);
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		error = (struct sp_error){0};
		r = sp_journal_open_fd(dup(fd), &j, &error);
		if (bit / 8 < 7) {
			CHECK_INT(r, -SP_E_FORMAT);
		} else if (bit / 8 < 8) {
			CHECK_INT(r, -SP_E_VERSION);
		} else if (bit / 8 < ends[0]) {
			CHECK(r == -SP_E_DAMAGED || r == -SP_E_TRUNCATED);
		}
		if (bit / 8 < ends[0]) {
			CHECK(error.text[0]);
			sp_journal_free(j);
			continue;
		}
		while (before < 4 && ends[before + 1] <= bit / 8)
			before++;
		if (r) {
			CHECK_INT(r, 0);
			continue;
		}
		CHECK_INT(count_calls(j), 5 * before);
		check_intact(j, 0, ends[before], n);
		sp_journal_free(j);
	}
	close(fd);
}

/* Whole blocks missing, doubled or swapped: each is good in itself, and the sequence tells. */
static void test_blocks_moved(void)
{
	static uint8_t data[65536], other[65536];
	uint64_t ends[5];
	size_t n = make_small(data, sizeof(data), ends), block = ends[2] - ends[1];
	const char *path = check_path(directory, "moved");
	struct sp_journal *j = NULL;

	memcpy(other, data, ends[1]); /* the second is missing */
	memcpy(other + ends[1], data + ends[2], n - ends[2]);
	check_write_file(path, other, n - block);
	MUST(sp_journal_open(path, &j, &error));
	CHECK_INT(count_calls(j), 5);
	check_intact(j, 0, ends[1], n - block);
	sp_journal_free(j);
	memcpy(other, data, ends[2]); /* the second stands twice */
	memcpy(other + ends[2], data + ends[1], n - ends[1]);
	check_write_file(path, other, n + block);
	MUST(sp_journal_open(path, &j, &error));
	CHECK_INT(count_calls(j), 10);
	check_intact(j, 0, ends[2], n + block);
	sp_journal_free(j);
}

/* A header that claims more than there is, and events that are not in the payload. */
static void test_false_claims(void)
{
	static uint8_t data[65536];
	uint64_t ends[5];
	size_t n = make_small(data, sizeof(data), ends);
	const char *path = check_path(directory, "claims");
	struct sp_block_header h;
	struct sp_journal *j = NULL;
	struct rusage before, after;

	memcpy(&h, data + ends[3], sizeof(h));
	h.bytes = SP_JOURNAL_BLOCK_MAX; /* which is allowed, but not there */
	memcpy(data + ends[3], &h, sizeof(h));
	check_write_file(path, data, n);
	MUST(sp_journal_open(path, &j, &error));
	getrusage(RUSAGE_SELF, &before);
	CHECK_INT(count_calls(j), 15);
	getrusage(RUSAGE_SELF, &after);
	CHECK(after.ru_maxrss - before.ru_maxrss < 8192); /* KiB: nothing was taken for the claim */
	check_intact(j, 0, ends[3], n);
	sp_journal_free(j);
	h.bytes = SP_JOURNAL_BLOCK_MAX + 1;
	memcpy(data + ends[3], &h, sizeof(h));
	check_write_file(path, data, n);
	MUST(sp_journal_open(path, &j, &error));
	CHECK_INT(count_calls(j), 15);
	sp_journal_free(j);
}

static void test_not_a_journal(void)
{
	const char *path = check_path(directory, "strange");
	struct sp_journal *j = NULL;
	int ends[2];

	CHECK_INT(sp_journal_open(check_path(directory, "no such file"), &j, &error), -ENOENT);
	check_write_file(path, "", 0);
	CHECK_INT(sp_journal_open(path, &j, &error), -SP_E_TRUNCATED);
	CHECK(strstr(error.text, "is empty"));
	check_write_file(path, "SPTRJNL2 and more text than a magic number has", 46);
	CHECK_INT(sp_journal_open(path, &j, &error), -SP_E_VERSION);
	CHECK(strstr(error.text, "version '2'"));
	check_write_file(path, "SPTXJNL1 and more text than a magic number has", 46);
	CHECK_INT(sp_journal_open(path, &j, &error), -SP_E_FORMAT);
	CHECK(strstr(error.text, "not a journal"));
	CHECK_INT(sp_journal_open(directory, &j, &error), -EISDIR);
	CHECK_INT(sp_journal_open("/dev/null", &j, &error), -SP_E_FORMAT);
	/* A descriptor that somebody else has opened may be of anything. */
	CHECK_INT(pipe(ends), 0);
	CHECK_INT(sp_journal_open_fd(ends[0], &j, &error), -EINVAL);
	CHECK(strstr(error.text, "not a regular file"));
	close(ends[1]);
	CHECK(!j);
}

/* In a child whose files cannot grow beyond a limit, as on a disk that is full. */
static void in_small_disk(const char *path, rlim_t limit)
{
	struct rlimit small = {limit, limit};
	struct sp_journal_writer *w = NULL;
	uint64_t added = 0, refused = 0, lost;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), r;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	r = sp_journal_writer_new(fd, &w);
	if (r < 0)
		_exit(r == -EFBIG ? 3 : 4);
	for (uint64_t i = 0; i < 20000; i++) {
		struct sp_ev_call call = call_of(i);

		r = sp_journal_add(w, 0, &call.head);
		if (r < 0 && r != -EFBIG)
			_exit(5);
		refused += r < 0;
		added++;
		if (i % 1000 == 999 && sp_journal_flush(w) < 0)
			refused++;
	}
	lost = sp_journal_lost(w);
	if (!refused || !lost || lost > added || sp_journal_bytes(w) > limit)
		_exit(6);
	r = sp_journal_writer_free(w);
	_exit(r < 0 && r != -EFBIG ? 7 : 0);
}

static void test_full_disk(void)
{
	const char *path = check_path(directory, "full");
	unsigned kinds = 0;

	for (rlim_t limit = 1; limit < 120000; limit = limit * 2 + 777) {
		struct sp_journal *j = NULL;
		const struct sp_event *event;
		uint64_t last = 0, n = 0;
		struct stat st;
		int status = 0;
		pid_t pid = fork();

		if (pid == 0)
			in_small_disk(path, limit);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			exit(1);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 3) { /* no room for the schema */
			kinds |= 1;
			continue;
		}
		kinds |= 2;
		CHECK_INT(status, 0);
		MUST(sp_journal_open(path, &j, &error));
		while (sp_journal_next(j, &event) == 1) {
			uint64_t i = ((const struct sp_ev_call *)event->head)->number;

			CHECK(is_call(event, i)); /* some are missing, the others are right */
			CHECK(n == 0 || i > last);
			last = i;
			n++;
		}
		CHECK(n < 20000);
		MUST(stat(path, &st));
		check_intact(j, 1, (uint64_t)st.st_size, (uint64_t)st.st_size);
		sp_journal_free(j);
	}
	CHECK_INT(kinds, 3);
}

/* A device that is always full: nothing can be cut back there, but nothing breaks either. */
static void test_full_device(void)
{
	struct sp_journal_writer *w = NULL;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	CHECK_INT(sp_journal_writer_new(fd, &w), -ENOSPC);
	CHECK(!w);
	CHECK(fcntl(fd, F_GETFD) < 0); /* it was taken over and closed */
}

/* A reader of a file that grows sees what was whole when it was opened. */
static void test_alive(void)
{
	struct sp_journal_writer *w = new_writer("alive");
	struct sp_journal *j = NULL;
	uint64_t bytes;

	add_calls(w, 0, 0, 100);
	MUST(sp_journal_flush(w));
	bytes = sp_journal_bytes(w);
	add_calls(w, 0, 100, 100); /* not flushed */
	MUST(sp_journal_open(check_path(directory, "alive"), &j, &error));
	MUST(sp_journal_flush(w));
	CHECK_INT(count_calls(j), 100);
	check_intact(j, 1, bytes, bytes);
	sp_journal_free(j);
	MUST(sp_journal_open(check_path(directory, "alive"), &j, &error));
	CHECK_INT(count_calls(j), 200);
	/* And one that becomes shorter meanwhile. */
	sp_journal_rewind(j);
	CHECK_INT(truncate(check_path(directory, "alive"), (off_t)bytes - 1), 0);
	CHECK_INT(count_calls(j), 0);
	{
		uint64_t good, file;
		const char *reason;

		CHECK(!sp_journal_intact(j, &good, &file, &reason));
		CHECK(good < bytes);
		CHECK(strstr(reason, "shorter"));
	}
	sp_journal_free(j);
	MUST(sp_journal_writer_free(w));
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: test_journal DIRECTORY\n");
		return 2;
	}
	directory = argv[1];
	test_many();
	test_streams();
	test_truncation();
	test_bit_flips();
	test_blocks_moved();
	test_false_claims();
	test_not_a_journal();
	test_full_disk();
	test_full_device();
	test_alive();
	return check_end();
}
