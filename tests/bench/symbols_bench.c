/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Measures how long symbol tables take to compile, their size, and how fast lookups are.
 *
 *   symbols_bench compile FILE STORED    compiles FILE and writes the stored form to STORED
 *   symbols_bench expand STORED FLAT     writes the flat form to FLAT
 *   symbols_bench lookup FLAT COUNT      looks up COUNT random addresses, then the same ones sorted
 *   symbols_bench addresses FLAT COUNT   prints COUNT random addresses that have a location
 *
 * A lookup includes reading the texts of the whole inline chain from the table.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "common/file.h"
#include "common/scoped.h"
#include "symbolizer/symbols/compile/symbol_compile.h"
#include "symbolizer/symbols/symbol_limits.h"
#include "symbolizer/symbols/table/symbol_file.h"
#include "symbolizer/symbols/table/symbol_pack.h"

/* Number of addresses in one call of symbol_file_find(), as in queries. */
#define BATCH 4096

#define PASSES 7

/* Processor time of this thread. Other programs on the machine change it less than elapsed time. */
static double seconds_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t peak_rss_bytes(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss * KIB;
}

static int fail(const char *what, int r)
{
	fprintf(stderr, "symbols_bench: %s: %s\n", what, strerror(-r));
	return 1;
}

static int compile_file(const char *path, const char *out)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped_fd int out_fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct symbol_compile_input input = {
		.main_fd = fd,
		.executable_fd = -1,
		.alt_fd = -1,
		.split_fd = -1,
	};
	struct symbol_compile_report report;
	const double start = seconds_now();
	off_t stored_bytes;
	int r;

	if (fd < 0 || out_fd < 0)
		return fail(fd < 0 ? path : out, -errno);
	r = symbol_compile(&input, out_fd, &report);
	if (r < 0) {
		fprintf(stderr, "%s\n", report.message);
		return fail(path, r);
	}
	stored_bytes = lseek(out_fd, 0, SEEK_CUR);
	printf("seconds %.3f\nrss_bytes %" PRIu64 "\nstored_bytes %lld\nflat_bytes %" PRIu64
	       "\nranges %u\nlocations %u\nfunctions %u\nsources %#x\n",
	       seconds_now() - start, peak_rss_bytes(), (long long)stored_bytes, report.flat_bytes,
	       report.n_ranges, report.n_locations, report.n_functions, report.sources);
	if (report.message[0])
		printf("message %s\n", report.message);
	return 0;
}

static int expand_file(const char *path, const char *out)
{
	struct bytes stored = BYTES_INIT(SYMBOL_FLAT_MAX_BYTES);
	struct bytes flat = BYTES_INIT(SYMBOL_FLAT_MAX_BYTES);
	double start;
	int r;

	r = file_read(path, &stored);
	start = seconds_now();
	if (r == 0)
		r = symbol_unpack(bytes_view_of(&stored), &flat);
	if (r == 0) {
		printf("seconds %.3f\n", seconds_now() - start);
		r = file_replace(out, flat.data, flat.size, 0644);
	}
	bytes_release(&stored);
	bytes_release(&flat);
	return r < 0 ? fail(path, r) : 0;
}

static int open_table(const char *path, struct symbol_file **ret_file)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : symbol_file_open(fd, ret_file);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Random addresses with a location, uniformly distributed. */
static uint64_t *random_addresses(const struct symbol_file *file, size_t count)
{
	const struct symbol_file_info *info = symbol_file_info(file);
	uint64_t *addresses = malloc(count * sizeof(*addresses));
	uint64_t state = 42;

	if (!addresses || info->start >= info->end) {
		free(addresses);
		return NULL;
	}
	for (size_t i = 0; i < count;) {
		uint64_t address = info->start + next_random(&state) % (info->end - info->start);
		uint32_t location;

		symbol_file_find(file, &address, 1, &location);
		if (location != SYMBOL_NO_LOCATION)
			addresses[i++] = address;
	}
	return addresses;
}

struct totals {
	uint64_t frames;
	uint64_t check; /* keeps the compiler from removing the reads */
};

static void read_chains(const struct symbol_file *file, const uint32_t *locations, size_t count,
			struct totals *totals)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t location = locations[i];

		while (location != SYMBOL_NO_LOCATION) {
			struct symbol_frame frame;

			location = symbol_file_frame(file, location, &frame);
			totals->frames++;
			totals->check +=
				(uintptr_t)frame.function + (uintptr_t)frame.path + frame.line;
		}
	}
}

static double look_all_up(const struct symbol_file *file, const uint64_t *addresses, size_t count,
			  struct totals *totals)
{
	static uint32_t locations[BATCH];
	const double start = seconds_now();

	*totals = (struct totals){};
	for (size_t i = 0; i < count; i += BATCH) {
		const size_t n = MIN(count - i, (size_t)BATCH);

		symbol_file_find(file, addresses + i, n, locations);
		read_chains(file, locations, n, totals);
	}
	return (double)count / (seconds_now() - start);
}

/* Returns the best rate of a few passes: other programs may slow down some of them. */
static double best_rate(const struct symbol_file *file, const uint64_t *addresses, size_t count,
			struct totals *totals)
{
	double best = 0;

	for (int i = 0; i < PASSES; i++) {
		double rate = look_all_up(file, addresses, count, totals);

		best = MAX(best, rate);
	}
	return best;
}

static int compare_addresses(const void *left, const void *right)
{
	const uint64_t *a = left;
	const uint64_t *b = right;

	return *a < *b ? -1 : *a > *b;
}

static int measure_lookups(const char *path, size_t count)
{
	scoped(symbol_file_freep) struct symbol_file *file = NULL;
	scoped_free uint64_t *addresses = NULL;
	struct totals totals;
	double start = seconds_now();
	double rate;
	int r;

	r = open_table(path, &file);
	if (r < 0)
		return fail(path, r);
	printf("open_seconds %.4f\n", seconds_now() - start);
	addresses = random_addresses(file, count);
	if (!addresses)
		return fail(path, -ENODATA);
	rate = best_rate(file, addresses, count, &totals);
	printf("random_per_s %.0f\nframes_per_lookup %.2f\n", rate,
	       (double)totals.frames / (double)count);
	qsort(addresses, count, sizeof(*addresses), compare_addresses);
	rate = best_rate(file, addresses, count, &totals);
	printf("sorted_per_s %.0f\ncheck %#" PRIx64 "\n", rate, totals.check & 0xf);
	return 0;
}

static int print_addresses(const char *path, size_t count)
{
	scoped(symbol_file_freep) struct symbol_file *file = NULL;
	scoped_free uint64_t *addresses = NULL;
	int r = open_table(path, &file);

	if (r < 0)
		return fail(path, r);
	addresses = random_addresses(file, count);
	for (size_t i = 0; addresses && i < count; i++)
		printf("0x%" PRIx64 "\n", addresses[i]);
	return addresses ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "compile") == 0)
		return compile_file(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "expand") == 0)
		return expand_file(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "lookup") == 0)
		return measure_lookups(argv[2], strtoull(argv[3], NULL, 10));
	if (argc == 4 && strcmp(argv[1], "addresses") == 0)
		return print_addresses(argv[2], strtoull(argv[3], NULL, 10));
	fprintf(stderr, "usage: symbols_bench {compile FILE STORED | expand STORED FLAT | "
			"lookup FLAT COUNT | addresses FLAT COUNT}\n");
	return 2;
}
