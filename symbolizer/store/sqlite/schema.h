/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The files of the SQLite engine: what is in them, and opening them.
 *
 * hearth.db keeps what lasts. samples-YYYY-MM-DD.db keeps the samples of one UTC day as blocks
 * (block.h), one per batch; its rows name hosts and series by hearth.db's ids, so each day
 * file carries the identity of the hearth.db that it belongs to.
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

/* The `what` of rows of table number. Part of the file format. */
enum number_kind {
	NUMBER_EXECUTABLE = 1,
	NUMBER_PROCESS = 2,
	NUMBER_SERIES = 3,
	NUMBER_STACK = 4,
	NUMBER_KIND_END,
};

/* Bits of process.flags. */
#define PROCESS_KERNEL_THREAD  1
#define PROCESS_WITHOUT_STACKS 2

/* Which hearth.db it is: drawn at random when it is made. */
struct store_identity {
	uint8_t bytes[16];
};

/* What one day file says about itself. */
struct day_total {
	uint64_t n_batches; /* that began on this day */
	uint64_t n_rows;
	uint64_t max_span; /* slots between the first and the last row of any block */
};

/* A day is counted from 1970-01-01 (UTC). */
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

/* Whether @name is the name of a day file (not of its WAL). */
bool day_file_parse(const char *name, day_number *ret_day);

/*
 * Renames a damaged day file, with its WAL, to @ret_name in the same folder: for people, and out of
 * the way of a new one. Nothing may have it open for writing.
 */
#define DAY_FILE_ASIDE_SIZE (DAY_FILE_NAME_SIZE + sizeof(".damaged-18446744073709551615"))
int day_file_set_aside(const char *folder, day_number day, uint64_t wall_ns,
		       char ret_name[DAY_FILE_ASIDE_SIZE]);

/* Opens <folder>/hearth.db. The writer's connection makes it where it is not there yet. */
int hearth_db_open(const char *folder, bool writer, struct sqlite_db **ret_db);
int hearth_db_identity(struct sqlite_db *db, struct store_identity *ret_identity);

/*
 * Opens the file of @day; the writer's connection makes it where it is not there yet. -ESTALE: it
 * belongs to another hearth.db.
 */
int day_db_open(const char *folder, day_number day, bool writer,
		const struct store_identity *identity, struct sqlite_db **ret_db);
int day_db_total(struct sqlite_db *db, struct day_total *ret_total);
