/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Symbol tables in their stored form (symbol_pack.h), by identity, in SQLite (symbols.db in the
 * data folder). Each row also has the outcome of the last attempt to compile the table. All of it
 * can be made again from the debuginfo, so a file that is damaged or of another format is replaced
 * by an empty one.
 *
 * A table is valid for the files that it was compiled from. If compiling newer files fails, the
 * older table stays in the row, so that a bad upload does not lose names. Thread-safe.
 */

#include "common/clock.h"
#include "common/executable_id.h"
#include "common/hash.h"
#include "common/scoped.h"
#include "symbolizer/symbols/cache/helper_process.h"

struct table_database;

/* Hashes of the files that a table is compiled from (compile_inputs.h); all zeros for no file. */
struct input_hashes {
	struct hash128 main;
	struct hash128 executable;
	struct hash128 alt;
	struct hash128 split;
};

struct stored_table {
	int64_t number; /* in the database */

	/* The last attempt. */
	struct input_hashes inputs;
	struct executable_id alt_id; /* of the alt file; NONE if the main file refers to none */
	uint32_t layout_version;     /* SYMBOL_LAYOUT_VERSION then; 0: no attempt yet */
	enum helper_outcome outcome;
	uint32_t n_deaths; /* successive attempts with these inputs that ended with HELPER_DIED */
	uint64_t tried_wall_ns;
	char why[HELPER_WHY_SIZE];

	/* The table, of that attempt or an earlier one. */
	uint64_t stored_bytes; /* 0: there is no table */
	uint64_t made_wall_ns;
	uint32_t symbol_sources; /* enum symbol_source */
	uint32_t n_functions;
	uint32_t n_locations;
	struct hash128 hash; /* of the stored form; the name of the flat file */
};

/*
 * Opens or makes the database. If stored tables take more than @quota_bytes, the least recently
 * used ones are removed. If the file cannot be made on the disk, a small database in memory is
 * used.
 */
int table_database_open(const char *folder, const struct clock *clock, uint64_t quota_bytes,
			struct table_database **ret_database);
struct table_database *table_database_free(struct table_database *database);

/* Returns 1, or 0 if there was no attempt yet. */
int table_database_find(struct table_database *database, const struct executable_id *id,
			struct stored_table *ret_table);

/* Appends the stored form to @out. Returns 1, or 0 if the table with @hash is no longer stored. */
int table_database_load(struct table_database *database, const struct executable_id *id,
			const struct hash128 *hash, struct bytes *out);

/* Stores an attempt and its table. Sets hash, made_wall_ns and stored_bytes of @table. */
int table_database_put(struct table_database *database, const struct executable_id *id,
		       struct stored_table *table, struct bytes_view stored);

/* Stores a failed attempt; an older table stays. */
int table_database_put_failure(struct table_database *database, const struct executable_id *id,
			       const struct stored_table *failure);

/* Returns 1 if a row was removed, and 0 if there was none. */
int table_database_remove(struct table_database *database, const struct executable_id *id);

uint64_t table_database_bytes(struct table_database *database);

DEFINE_SCOPED(struct table_database *, table_database_free);
