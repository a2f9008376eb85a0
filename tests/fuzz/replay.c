// SPDX-License-Identifier: BSD-2-Clause
/*
 * replay.c - runs a fuzz target over files, and over each of them mutated a number of times. Stands
 * in where libFuzzer is not to be had; the seed is fixed, so a failure comes again.
 *
 *	fuzz_<target> MUTATIONS DIR
 */
#include <dirent.h>
#include <string.h>

#include "tests/fuzz/fuzz_file.h"

enum { MAX = 1 << 16 };

static uint64_t state = 42;

static uint64_t random_64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Flips bits, writes odd numbers, cuts, repeats a piece. */
static size_t mutate(uint8_t *data, size_t size)
{
	static const uint32_t odd[] = {0, 1, 2, 0xffffffff, 0x7fffffff, 0x80000000, 0x100000, 255};

	for (uint64_t times = 1 + random_64() % 4; times && size > 8; times--) {
		size_t at = random_64() % size, other = random_64() % size;
		uint32_t number = odd[random_64() % 8];

		switch (random_64() % 5) {
		case 0:
			data[at] ^= (uint8_t)(1u << random_64() % 8);
			break;
		case 1:
			data[at] = (uint8_t)random_64();
			break;
		case 2:
			memcpy(data + at, &number, size - at < 4 ? size - at : 4);
			break;
		case 3:
			size = at;
			break;
		default:
			if (size + at < MAX) {
				memmove(data + other + at, data + other, size - other);
				size += at;
			}
		}
	}
	return size;
}

int main(int argc, char **argv)
{
	static uint8_t good[MAX], data[MAX];
	unsigned long mutations, files = 0;
	struct dirent *entry;
	DIR *directory;

	if (argc != 3 || !(directory = opendir(argv[2])))
		return 2;
	mutations = strtoul(argv[1], NULL, 10);
	while ((entry = readdir(directory))) {
		char path[4096];
		size_t size;
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s", argv[2], entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
		if (!file)
			continue;
		size = fread(good, 1, sizeof(good), file);
		fclose(file);
		files++;
		LLVMFuzzerTestOneInput(good, size);
		for (unsigned long i = 0; i < mutations; i++) {
			memcpy(data, good, size);
			LLVMFuzzerTestOneInput(data, mutate(data, size));
		}
	}
	closedir(directory);
	printf("%lu files, each mutated %lu times\n", files, mutations);
	return files ? 0 : 1;
}
