/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the unwind tables of files with readelf.
 *
 *   unwind_check [-v] FILE...     FILE of "-": names come from standard input, one a line
 *
 * Prints the number of rows that agree, and of those that do not, by reason. Exits 1 if a file is
 * refused, or if fewer than 99.9 % of the rows agree.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/scoped.h"
#include "tests/unwind_check/compare.h"

/* The share of rows that has to agree. */
#define GOAL 0.999

struct totals {
	struct comparison comparison;
	uint64_t n_files;
	uint64_t n_skipped;
	uint64_t n_refused;
	uint64_t n_below_goal;
	bool is_verbose;
	FILE *nowhere;
};

static double share_of(const struct comparison *comparison)
{
	uint64_t rows = comparison_rows(comparison);

	return rows == 0 ? 1.0 : (double)comparison_agreeing(comparison) / (double)rows;
}

static void add(struct comparison *sum, const struct comparison *file)
{
	for (size_t i = 0; i < OUTCOME_COUNT; i++)
		sum->counts[i] += file->counts[i];
	sum->n_fdes += file->n_fdes;
	sum->n_table_rows += file->n_table_rows;
	sum->n_table_bytes += file->n_table_bytes;
}

static void check_one(struct totals *totals, const char *path)
{
	struct comparison comparison = {};
	int r = compare_file(path, &comparison, totals->is_verbose ? stdout : totals->nowhere);

	if (r == 0) {
		totals->n_skipped++;
		return;
	}
	if (r < 0) {
		totals->n_refused++;
		printf("%s: refused: %s\n", path, strerror(-r));
		return;
	}
	totals->n_files++;
	if (share_of(&comparison) < GOAL || comparison.counts[OUTCOME_INVENTED] > 0) {
		totals->n_below_goal++;
		printf("%s: %" PRIu64 " of %" PRIu64 " rows agree, %" PRIu64 " are invented\n",
		       path, comparison_agreeing(&comparison), comparison_rows(&comparison),
		       comparison.counts[OUTCOME_INVENTED]);
	}
	add(&totals->comparison, &comparison);
}

static void check_names_from_input(struct totals *totals)
{
	scoped_free char *line = NULL;
	size_t capacity = 0;
	ssize_t length;

	while ((length = getline(&line, &capacity, stdin)) >= 0) {
		if (length > 0 && line[length - 1] == '\n')
			line[length - 1] = '\0';
		check_one(totals, line);
	}
}

static void report(const struct totals *totals)
{
	static const struct {
		const char *name;
		const char *meaning;
	} outcomes[] = {
#define X(id, name_, meaning_) { name_, meaning_ },
		OUTCOMES(X)
#undef X
	};
	const struct comparison *comparison = &totals->comparison;

	printf("%" PRIu64 " files compared, %" PRIu64 " not executable code, %" PRIu64
	       " refused, %" PRIu64 " below %.1f %%\n",
	       totals->n_files, totals->n_skipped, totals->n_refused, totals->n_below_goal,
	       GOAL * 100);
	printf("%" PRIu64 " FDEs, %" PRIu64 " rows of readelf, %" PRIu64
	       " of the tables (%.2f bytes each)\n",
	       comparison->n_fdes, comparison_rows(comparison), comparison->n_table_rows,
	       comparison->n_table_rows > 0
		       ? (double)comparison->n_table_bytes / (double)comparison->n_table_rows
		       : 0.0);
	for (size_t i = 0; i < OUTCOME_COUNT; i++)
		printf("%12" PRIu64 " %-16s %s\n", comparison->counts[i], outcomes[i].name,
		       outcomes[i].meaning);
	printf("%.4f %% agree\n", share_of(comparison) * 100);
}

int main(int argc, char **argv)
{
	scoped_file FILE *nowhere = fopen("/dev/null", "we");
	struct totals totals = { .nowhere = nowhere };

	if (!nowhere || argc < 2) {
		fprintf(stderr, "usage: %s [-v] FILE...\n", argv[0]);
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-v") == 0)
			totals.is_verbose = true;
		else if (strcmp(argv[i], "-") == 0)
			check_names_from_input(&totals);
		else
			check_one(&totals, argv[i]);
	}
	report(&totals);
	return totals.n_refused > 0 || totals.comparison.counts[OUTCOME_INVENTED] > 0 ||
	       share_of(&totals.comparison) < GOAL;
}
