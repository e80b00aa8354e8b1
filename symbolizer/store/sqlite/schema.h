/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The database files of the SQLite engine: their names, tables and statements.
 *
 * hearth.db has hosts, processes, executables, stacks and series. samples-YYYY-MM-DD.db has the
 * samples of one UTC day as blocks (block.h), one per batch. Blocks refer to hosts and series by
 * the IDs of hearth.db, so each day file has the identity of its hearth.db.
 */

#include "common/limits.h"
#include "symbolizer/sqlite/sqlite_db.h"
#include "symbolizer/store/sqlite/statements.def"

#define SLOTS_PER_DAY (24 * 3600 * NSEC_PER_SEC / SLOT_NS)

enum hearth_statement {
#define X(id, sql) SQL_##id,
	HEARTH_STATEMENTS(X)
#undef X
		HEARTH_STATEMENT_COUNT,
};

enum day_statement {
#define X(id, sql) SQL_##id,
	DAY_STATEMENTS(X)
#undef X
		DAY_STATEMENT_COUNT,
};

/* Column "what" of table number. Part of the file format. */
enum number_kind {
	NUMBER_EXECUTABLE = 1,
	NUMBER_PROCESS = 2,
	NUMBER_SERIES = 3,
	NUMBER_STACK = 4,
	NUMBER_CODE_OBJECT = 5,
	NUMBER_KIND_END,
};

/* node.frame: the kind of a frame in the lowest bits, above it its object. */
#define NODE_KIND_BITS 8

/* Bits of process.flags. */
#define PROCESS_KERNEL_THREAD  1
#define PROCESS_WITHOUT_STACKS 2

/* Identity of a hearth.db: random, generated when the file is created. */
struct store_identity {
	uint8_t bytes[16];
};

/* Totals of one day file. */
struct day_total {
	uint64_t n_batches; /* the first day of which is this one */
	uint64_t n_rows;
	uint64_t max_span; /* slots between the first and the last row of any block */
};

/* Days since 1970-01-01 (UTC). */
typedef uint32_t day_number;

static inline day_number day_of_slot(uint64_t slot)
{
	return (day_number)(slot / SLOTS_PER_DAY);
}

static inline day_number day_of_wall_ns(uint64_t wall_ns)
{
	return day_of_slot(wall_ns / SLOT_NS);
}

#define DAY_FILE_NAME_SIZE sizeof("samples-YYYY-MM-DD.db-wal")

/* "samples-2026-01-31.db" */
void day_file_name(day_number day, char ret_name[DAY_FILE_NAME_SIZE]);

/* Returns whether @name is the name of a day file. The names of its WAL and index are not. */
bool day_file_parse(const char *name, day_number *ret_day);

/*
 * Renames a damaged day file and its WAL to @ret_name in the same folder, so that a new file can
 * replace it and an administrator can examine it. The caller has closed its connections to it.
 */
#define DAY_FILE_ASIDE_SIZE (DAY_FILE_NAME_SIZE + sizeof(".damaged-18446744073709551615"))
int day_samples_set_aside(const char *folder, day_number day, uint64_t wall_ns,
			  char ret_name[DAY_FILE_ASIDE_SIZE]);

/* Opens <folder>/hearth.db. The writer's connection creates the file if it does not exist. */
int hearth_db_open(const char *folder, bool writer, struct sqlite_db **ret_db);
int hearth_db_identity(struct sqlite_db *db, struct store_identity *ret_identity);

/*
 * Opens the file of @day. The writer's connection creates the file if it does not exist. -ESTALE:
 * the file belongs to another hearth.db.
 */
int day_db_open(const char *folder, day_number day, bool writer,
		const struct store_identity *identity, struct sqlite_db **ret_db);
int day_db_total(struct sqlite_db *db, struct day_total *ret_total);
