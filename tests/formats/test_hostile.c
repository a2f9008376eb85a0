// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_hostile.c - damaged files of every kind: each bit flipped, each length.
 *
 *	test_hostile native|hdf5 GOLDEN_DIR WORK_DIR
 *
 * Our own parsers must survive in this very process, under the sanitizers. libhdf5 does not survive
 *all of its own damaged files, so those are read in a child with limits, as a command does it;
 *there it must never be our code that goes wrong, and a file that was cut must never pass for a
 *whole one.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "formats/h5_write.h"
#include "formats/profile_read.h"
#include "formats/sps.h"
#include "tests/formats/check.h"

static const char *work;
static struct sp_error error;

/* Reads all there is to read. */
static int read_everything(const char *path)
{
	const struct sp_thread_row *threads;
	const struct sp_module_row *modules;
	const struct sp_fact *facts;
	struct sp_sample_row sample;
	struct sp_profile *profile;
	int64_t start, end;
	size_t n;
	int r = sp_profile_open(path, &profile, &error);

	if (r)
		return r;
	r = sp_profile_complete(profile, 1 << 16, &error);
	for (uint32_t i = 0; !r && i < sp_profile_info(profile)->n_rows; i++)
		for (uint64_t k = 0; !r && k < sp_profile_row(profile, i)->stats.calls; k++)
			r = sp_profile_read_calls(profile, i, k, 1,
						  &(struct sp_calls){.start = &start, .end = &end},
						  &error);
	for (uint64_t i = 0; !r && i < sp_profile_info(profile)->n_samples; i++)
		r = sp_profile_read_samples(profile, i, 1, &sample, &error);
	if (!r)
		r = sp_profile_threads(profile, &threads, &n, &error);
	if (!r)
		r = sp_profile_modules(profile, &modules, &n, &error);
	if (!r)
		r = sp_profile_metadata(profile, &facts, &n, &error);
	sp_profile_free(profile);
	return r;
}

static void test_native(const char *source)
{
	static unsigned char data[1 << 16];
	const char *path = check_path(work, "flipped");
	size_t size = check_read_file(source, data, sizeof(data));
	unsigned int refused = 0;

	CHECK(size > 20 && size < 4096);
	CHECK_INT(read_everything(source), 0);
	for (size_t bit = 0; bit < 8 * size; bit++) {
		data[bit / 8] ^= (unsigned char)(1u << bit % 8);
		check_write_file(path, data, size);
		error.text[0] = '\0';
		if (read_everything(path)) {
			refused++;
			CHECK(error.text[0]);
		}
		data[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	CHECK(refused > 8 * 8); /* the magic, at the very least */
}

static void write_samples(const char *path)
{
	static const char *const regions[] = {"solve", "io"};
	static const struct sp_sps_module modules[] = {{"/bin/x", 0x400000}};
	struct sp_sps_writer *writer;

	MUST(sp_sps_writer_open(path, SP_OUTPUT_REPLACE, 0, 99, regions, 2, modules, 1, &writer,
				&error));
	for (int i = 0; i < 4; i++)
		MUST(sp_sps_writer_add(writer, &(struct sp_sps_sample){i % 2, i % 2 - 1, 0x401000},
				       1, &error));
	MUST(sp_sps_writer_commit(writer, 9, &error));
	sp_sps_writer_free(writer);
}

static void write_profile(const char *path)
{
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE, .columns = SP_CALLS_id};
	int64_t times[] = {1, 2, 3};
	struct sp_calls calls = {.start = times, .end = times, .id = times};
	struct sp_h5_writer *writer;
	uint32_t region;

	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	MUST(sp_h5_writer_add_region(writer, "a", &region, &error));
	MUST(sp_h5_writer_begin_row(writer, &(struct sp_h5_row){.region = region}, &error));
	MUST(sp_h5_writer_add_calls(writer, &calls, 3, &error));
	MUST(sp_h5_writer_add_threads(writer, &(struct sp_thread_row){.name = "main"}, 1, &error));
	MUST(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);
}

enum outcome { READ, REFUSED, DIED, OURS };

/* Reads in a child that may neither grow nor go on for ever. */
static enum outcome read_in_child(const char *path)
{
	pid_t child = fork();
	int status;

	if (!child) {
		struct rlimit seconds = {1, 2};

		setrlimit(RLIMIT_CPU, &seconds);
		_exit(read_everything(path) ? 10 : 11);
	}
	CHECK(waitpid(child, &status, 0) == child);
	if (WIFSIGNALED(status))
		return DIED;
	return WEXITSTATUS(status) == 11 ? READ : WEXITSTATUS(status) == 10 ? REFUSED : OURS;
}

static void test_hdf5(const char *source, size_t step)
{
	static unsigned char data[1 << 20];
	const char *path = check_path(work, "damaged.h5");
	size_t size = check_read_file(source, data, sizeof(data));
	unsigned int outcomes[4] = {0};

	CHECK_INT(read_in_child(source), READ);
	for (size_t cut = 0; cut < size; cut += step) {
		enum outcome outcome;

		check_write_file(path, data, cut);
		outcome = read_in_child(path);
		check_that(__FILE__, __LINE__, outcome == REFUSED || outcome == DIED,
			   "%s cut at %zu of %zu: outcome %d", source, cut, size, outcome);
	}
	for (size_t bit = 0; bit < 8 * size; bit += 8 * step + 1) {
		data[bit / 8] ^= (unsigned char)(1u << bit % 8);
		check_write_file(path, data, size);
		outcomes[read_in_child(path)]++;
		data[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	printf("%s, bits flipped: %u read, %u refused, %u killed libhdf5, %u other\n", source,
	       outcomes[READ], outcomes[REFUSED], outcomes[DIED], outcomes[OURS]);
	CHECK_INT(outcomes[OURS], 0);
}

int main(int argc, char **argv)
{
	char path[4096];

	if (argc != 4)
		return 2;
	work = argv[3];
	mkdir(work, 0777);
	if (strcmp(argv[1], "native") == 0) {
		snprintf(path, sizeof(path), "%s/native-v1.spt", argv[2]);
		test_native(path);
		snprintf(path, sizeof(path), "%s/native-v2.spt", argv[2]);
		test_native(path);
		write_samples(check_path(work, "good.sps"));
		test_native(check_path(work, "good.sps"));
		return check_end();
	}
	write_profile(check_path(work, "good.h5"));
	test_hdf5(check_path(work, "good.h5"), 97);
	snprintf(path, sizeof(path), "%s/hdf5-schema-3.h5", argv[2]);
	test_hdf5(path, 101);
	snprintf(path, sizeof(path), "%s/hdf5-schema-1.h5", argv[2]);
	test_hdf5(path, 101);
	return check_end();
}
