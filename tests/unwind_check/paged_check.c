/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares table files with the tables that they were written from: at the first and the last
 * address of every row of every file.
 *
 *   paged_check FILE...     FILE of "-": names come from standard input, one a line
 *
 * Prints the totals, and the bytes per row including indexes and rules. Exits 1 if a row is lost or
 * differs.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/unwind/table/table_file.h"
#include "agent/unwind/unwind_compile.h"
#include "common/elf/elf_file.h"
#include "common/scoped.h"

struct totals {
	uint64_t n_files, n_refused, n_rows, n_chunks, n_dense_chunks, n_pages, n_rules;
	uint64_t n_differ, n_lost;
};

/* The record that was read last. Neighbouring rows have the same one. */
struct reader {
	struct table_file file;
	struct chunk_record record;
	bool has_record;
};

static bool covers(const struct abi_unwind_chunk *chunk, uint64_t elf_addr)
{
	return (elf_addr >> chunk->unit_shift) - chunk->first_unit < chunk->n_units;
}

static const struct abi_unwind_rule *find(struct reader *reader, uint64_t elf_addr,
					  struct totals *totals)
{
	const struct abi_unwind_chunk *chunk = &reader->record.chunk;
	const struct abi_unwind_rule *rule = NULL;
	uint64_t unit;

	if (!reader->has_record || !covers(chunk, elf_addr)) {
		reader->has_record = table_file_read(&reader->file, elf_addr, &reader->record) == 1;
		if (!reader->has_record)
			return NULL;
		totals->n_chunks++;
		totals->n_dense_chunks += chunk->unit_shift != UNWIND_PAGE_SHIFT;
	}
	unit = (elf_addr >> chunk->unit_shift) - chunk->first_unit;
	for (uint32_t i = chunk->halves[UNWIND_CHUNK_FIRST_HALF + unit];
	     i < chunk->halves[UNWIND_CHUNK_FIRST_HALF + unit + 1]; i++)
		if (chunk->rows[i].offset <= (elf_addr & UNWIND_PAGE_MASK))
			rule = &reader->record.rules[chunk->rows[i].rule];
	return rule;
}

static void check_address(struct reader *reader, const struct unwind_table *table,
			  uint64_t elf_addr, struct totals *totals)
{
	const struct abi_unwind_rule *rule = find(reader, elf_addr, totals);

	if (!rule)
		totals->n_lost++;
	else if (memcmp(rule, unwind_table_find(table, elf_addr), sizeof(*rule)) != 0)
		totals->n_differ++;
}

static void check_rows(struct reader *reader, const struct unwind_table *table,
		       struct totals *totals)
{
	for (uint32_t page = 0; page < table->n_pages; page++) {
		uint64_t start = table->base_address + ((uint64_t)page << UNWIND_PAGE_SHIFT);

		for (uint32_t i = table->page_first[page]; i < table->page_first[page + 1]; i++) {
			bool is_last = i + 1 == table->page_first[page + 1];

			check_address(reader, table, start + table->rows[i].offset, totals);
			check_address(reader, table,
				      start + (is_last ? UNWIND_PAGE_MASK
						       : table->rows[i + 1].offset - 1u),
				      totals);
		}
	}
}

/* 1; 0: no executable code; negative errno. */
static int check_file(const char *path, struct totals *totals)
{
	static const struct hash128 key = {};
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped(unwind_table_release) struct unwind_table table = {};
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped_fd int out_fd = memfd_create("table", MFD_CLOEXEC);
	struct unwind_table_stats stats;
	struct reader reader = {};
	uint64_t bytes;
	int r;

	if (fd < 0 || out_fd < 0)
		return -errno;
	r = elf_file_open(fd, &elf);
	if (r == 0)
		r = unwind_table_compile(elf, &(struct unwind_options){}, &table, &stats);
	if (r <= 0)
		return r;
	r = table_file_write(out_fd, &key, &table, &bytes);
	if (r == 0)
		r = table_file_open(out_fd, &key, &reader.file);
	if (r < 0)
		return r;
	check_rows(&reader, &table, totals);
	totals->n_files++;
	totals->n_rows += table.n_rows;
	totals->n_pages += table.n_pages;
	totals->n_rules += table.n_rules;
	return 1;
}

static void check(const char *path, struct totals *totals)
{
	struct totals before = *totals;
	int r = check_file(path, totals);

	if (r < 0 && r != -ENOEXEC) {
		totals->n_refused++;
		printf("%s: refused: %s\n", path, strerror(-r));
	}
	if (totals->n_lost + totals->n_differ > before.n_lost + before.n_differ)
		printf("%s: rows differ\n", path);
}

int main(int argc, char **argv)
{
	struct totals totals = {};
	scoped_free char *line = NULL;
	size_t capacity = 0;
	ssize_t length;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-") != 0) {
			check(argv[i], &totals);
			continue;
		}
		while ((length = getline(&line, &capacity, stdin)) > 0) {
			line[length - 1] = line[length - 1] == '\n' ? '\0' : line[length - 1];
			check(line, &totals);
		}
	}
	printf("%" PRIu64 " files, %" PRIu64 " refused; %" PRIu64 " rows: %" PRIu64
	       " differ, %" PRIu64 " lost\n",
	       totals.n_files, totals.n_refused, totals.n_rows, totals.n_differ, totals.n_lost);
	/*
	 * Memory in the maps: chunks, a cell for each page, and at most the rules of each file
	 * (equal rules of all files are stored once).
	 */
	if (totals.n_rows > 0)
		printf("%" PRIu64 " chunks, %" PRIu64 " of them of dense pages; %.3f bytes a row\n",
		       totals.n_chunks, totals.n_dense_chunks,
		       (double)(totals.n_chunks * UNWIND_SLOT_BYTES +
				totals.n_pages * sizeof(uint32_t) +
				totals.n_rules * sizeof(struct abi_unwind_rule)) /
			       (double)totals.n_rows);
	return totals.n_differ + totals.n_lost > 0;
}
