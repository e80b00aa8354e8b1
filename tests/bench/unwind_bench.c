/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Measures how fast unwind tables are compiled, and their memory. For comparison: how fast libdw
 * returns the rules for the same addresses.
 *
 *   unwind_bench FILE...      prints figures of all files together, and a line for each file on
 *                             standard error
 */

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/unwind/unwind_compile.h"
#include "common/elf/elf_file.h"
#include "common/scoped.h"
#include "tests/bench/array_map.h"

/* A file is compiled again and again for at least this time, so that the figure is an average. */
#define LEAST_RUN_NS (500 * NSEC_PER_MSEC)

/* Maximum number of rows looked up with libdw, which needs microseconds for each. */
#define PEER_ROWS 20000

struct figures {
	uint64_t n_rows_compiled; /* sum of all runs */
	uint64_t compile_ns;
	uint64_t n_rows;
	uint64_t n_bytes;
	uint64_t n_array_bytes; /* size with each row as an element of a BPF array, one per file */
	uint64_t n_peer_rows;
	uint64_t peer_ns;
	uint64_t peak_bytes; /* maximum of all files */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* Returns a line of /proc/self/status, in bytes. */
static uint64_t status_bytes(const char *field)
{
	scoped_file FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	uint64_t kib;

	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, field, strlen(field)) == 0 &&
		    sscanf(line + strlen(field), ": %" SCNu64, &kib) == 1)
			return kib * KIB;
	return 0;
}

/* Sets the peak (VmHWM) to the current resident memory. */
static void reset_peak(void)
{
	scoped_file FILE *clear = fopen("/proc/self/clear_refs", "we");

	if (clear)
		(void)fputs("5", clear);
}

static uint64_t table_bytes(const struct unwind_table *table)
{
	return table->n_rows * sizeof(struct abi_unwind_row) +
	       (table->n_pages + 1) * sizeof(uint32_t) +
	       table->n_rules * sizeof(struct abi_unwind_rule);
}

/* Looks up the address of every n-th row with libdw, like a debugger. */
static void measure_peer(const char *path, const struct unwind_table *table,
			 struct figures *figures)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint32_t step = table->n_rows / PEER_ROWS + 1;
	uint64_t started;
	Dwarf_CFI *cfi;
	Elf *elf;

	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	started = now_ns();
	for (uint32_t page = 0; cfi && page < table->n_pages; page++)
		for (uint32_t i = table->page_first[page]; i < table->page_first[page + 1]; i++) {
			uint64_t elf_addr = table->base_address +
					    ((uint64_t)page << UNWIND_PAGE_SHIFT) +
					    table->rows[i].offset;
			Dwarf_Frame *frame = NULL;

			if (i % step != 0)
				continue;
			(void)dwarf_cfi_addrframe(cfi, elf_addr, &frame);
			free(frame);
			figures->n_peer_rows++;
		}
	figures->peer_ns += now_ns() - started;
	if (cfi)
		(void)dwarf_cfi_end(cfi);
	(void)elf_end(elf);
}

static int measure_compile(const char *path, const struct elf_file *elf, struct figures *figures)
{
	uint64_t n_runs = 0, started, elapsed, resident, peak;
	struct unwind_table_stats stats;
	struct unwind_table table = {};
	int r;

	reset_peak();
	resident = status_bytes("VmRSS");
	started = now_ns();
	do {
		unwind_table_release(&table);
		r = unwind_table_compile(elf, &(struct unwind_options){}, &table, &stats);
		if (r <= 0)
			return r;
		n_runs++;
		elapsed = now_ns() - started;
	} while (elapsed < LEAST_RUN_NS);
	peak = status_bytes("VmHWM") - resident;

	figures->n_rows_compiled += n_runs * stats.n_rows_before_merge;
	figures->compile_ns += elapsed;
	figures->n_rows += table.n_rows;
	figures->n_bytes += table_bytes(&table);
	figures->n_array_bytes += array_map_bytes(table.n_rows);
	figures->peak_bytes = MAX(figures->peak_bytes, peak);
	fprintf(stderr,
		"# %s: %u FDEs, %u lost, %u rows -> %u, %u rules, %.2f ms, peak %.1f MiB; %" PRIu64
		" bytes, as an array of elements %" PRIu64 "\n",
		path, stats.n_fdes, stats.n_fdes_lost, stats.n_rows_before_merge, table.n_rows,
		table.n_rules, (double)elapsed / (double)n_runs / NSEC_PER_MSEC, (double)peak / MIB,
		table_bytes(&table), array_map_bytes(table.n_rows));
	measure_peer(path, &table, figures);
	unwind_table_release(&table);
	return 1;
}

static int measure(const char *path, struct figures *figures)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = elf_file_open(fd, &elf);
	return r < 0 ? r : measure_compile(path, elf, figures);
}

static double per_s(uint64_t count, uint64_t ns)
{
	return ns > 0 ? (double)count * NSEC_PER_SEC / (double)ns : 0;
}

int main(int argc, char **argv)
{
	struct figures figures = {};
	double ours, theirs;

	for (int i = 1; i < argc; i++) {
		int r = measure(argv[i], &figures);

		if (r <= 0)
			fprintf(stderr, "# %s: %s\n", argv[i],
				r < 0 ? strerror(-r) : "no call frame information");
	}
	if (figures.n_rows == 0)
		return 1;
	ours = per_s(figures.n_rows_compiled, figures.compile_ns);
	theirs = per_s(figures.n_peer_rows, figures.peer_ns);
	printf("unwind.compile_rows_per_s %.0f rows/s\n", ours);
	printf("unwind.libdw_rows_per_s %.0f rows/s\n", theirs);
	printf("unwind.compile_ratio %.2f x\n", theirs > 0 ? ours / theirs : 0);
	printf("unwind.compile_peak_bytes %" PRIu64 " bytes\n", figures.peak_bytes);
	printf("unwind.bytes_per_row %.3f bytes/row\n",
	       (double)figures.n_bytes / (double)figures.n_rows);
	if (figures.n_array_bytes > 0) {
		printf("unwind.array_bytes_per_row %.3f bytes/row\n",
		       (double)figures.n_array_bytes / (double)figures.n_rows);
		printf("unwind.array_bytes_ratio %.2f x\n",
		       (double)figures.n_array_bytes / (double)figures.n_bytes);
	}
	return 0;
}
