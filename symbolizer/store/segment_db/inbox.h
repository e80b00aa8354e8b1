/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The file inbox.db: its tables and statements.
 *
 *   meta        one row. Batches up to flushed_id are in segments; their rows are deleted later, in
 *               small pieces, because deleting the payloads of many batches takes long.
 *   epoch       one run of an agent, and the sequences of all its batches that are in segments
 *   inbox       accepted batches, and when they arrived. IDs increase and are never reused.
 *   definition  definitions of an epoch by batches that are in segments (epoch.h)
 *   host        hosts, by batches that are in segments (host_table.h)
 */

#include "symbolizer/sqlite/sqlite_db.h"
#include "symbolizer/store/segment_db/inbox.def"

enum inbox_statement {
#define X(id, sql) INBOX_SQL_##id,
	INBOX_STATEMENTS(X)
#undef X
		INBOX_STATEMENT_COUNT,
};

/* Bits of inbox.flags. */
#define INBOX_DEFINES 1u /* the batch has definitions */
#define INBOX_RESETS  2u /* definitions of earlier batches of the epoch were dropped before it */

/* Opens <folder>/inbox.db, and creates it if it does not exist. */
int inbox_open(const char *folder, struct sqlite_db **ret_db);

struct inbox_state {
	uint64_t last_flush, flushed_id;
	uint64_t max_id; /* of all batches so far */
};
int inbox_read_state(struct sqlite_db *db, struct inbox_state *ret_state);
