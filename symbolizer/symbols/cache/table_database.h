/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Symbol tables in their stored form (symbol_pack.h), by identity, in SQLite (symbols.db in the
 * data folder), and what became of the tries to make one. All of it can be made anew from the
 * debuginfo: a file that is damaged or of another format is begun anew.
 *
 * A table is valid for the contents that it was made from. When making one from newer contents
 * fails, the older table stays beside the failure: names that were known are not lost to a bad
 * upload. Thread-safe.
 */

#include "common/clock.h"
#include "common/executable_id.h"
#include "common/hash.h"
#include "common/scoped.h"
#include "symbolizer/symbols/cache/helper_process.h"

struct table_database;

/* The contents that a table is made from. Zeros: there was none. */
struct input_hashes {
	struct hash128 main;
	struct hash128 executable; /* beside a main file that has no code */
	struct hash128 alt;
	struct hash128 split;
};

struct stored_table {
	int64_t number; /* in the database */

	/* The last try. */
	struct input_hashes inputs;
	struct executable_id alt_id; /* NONE: the main file names no alternative one */
	uint32_t layout_version;     /* of the program that tried */
	enum helper_outcome outcome;
	uint32_t n_deaths; /* in a row, with these sources */
	uint64_t tried_wall_ns;
	char why[HELPER_WHY_SIZE];

	/* The table: of that try, or of an earlier one. */
	uint64_t stored_bytes; /* 0: there is none */
	uint64_t made_wall_ns;
	uint32_t symbol_sources; /* enum symbol_source */
	uint32_t n_functions;
	uint32_t n_locations;
	struct hash128 hash; /* of the stored form: names the table */
};

/*
 * Bounds the stored tables to @quota_bytes; the least recently used go first. Where the disk takes
 * no new file, tables are kept in memory instead, and few of them.
 */
int table_database_open(const char *folder, const struct clock *clock, uint64_t quota_bytes,
			struct table_database **ret_database);
struct table_database *table_database_free(struct table_database *database);

/* 1 found, 0 nothing was tried yet. */
int table_database_find(struct table_database *database, const struct executable_id *id,
			struct stored_table *ret_table);

/* Appends the stored form to @out, if it is still the one with @hash. 1 found, 0 gone. */
int table_database_load(struct table_database *database, const struct executable_id *id,
			const struct hash128 *hash, struct bytes *out);

/* Replaces what there was. hash, made_wall_ns and stored_bytes are filled in. */
int table_database_put(struct table_database *database, const struct executable_id *id,
		       struct stored_table *table, struct bytes_view stored);

/* Remembers the try; what table there was stays. */
int table_database_put_failure(struct table_database *database, const struct executable_id *id,
			       const struct stored_table *failure);

/* 1 removed, 0 was not there. */
int table_database_remove(struct table_database *database, const struct executable_id *id);

uint64_t table_database_bytes(struct table_database *database);

DEFINE_SCOPED(struct table_database *, table_database_free);
