/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The definitions of an epoch, by the numbers of its agent, on disk.
 *
 * An agent does not repeat a definition once a batch with it is accepted. So the definitions of all
 * accepted batches are kept as long as the agent may send batches of the epoch: in the inbox, with
 * the payload, and after a flush as a chunk in the table "definition". A chunk is one zstd frame of
 * definitions of any number of batches: for each batch a varint size and the bytes of
 * segment_db_decoder.extract_definitions(). When an epoch has many chunks, they become one.
 *
 * The definitions of an epoch have at most segment_db_options.max_numbers_bytes in memory. A batch
 * with which they would have more starts again without definitions (INBOX_RESETS), and the agent is
 * asked for those that it uses. It can answer, unless it has ended since: batches in the spool of
 * an ended agent that use definitions from before are lost. Definitions are also dropped when the
 * epoch has been silent for long (segment_db_drop_silent_epochs()), earlier if the agent has begun
 * a newer epoch (segment_db_drop_superseded()).
 */

#include "symbolizer/store/segment_db/segment_db_private.h"

/*
 * Reads the definitions of batches up to @upto_id, also if they are more than fit: they were
 * accepted. @inbox is a connection to inbox.db.
 */
int epoch_load_numbers(const struct segment_db *db, struct sqlite_db *inbox, int64_t epoch,
		       uint64_t upto_id, struct numbers **ret_numbers);

/* What a flush changes for one epoch. */
struct epoch_change {
	int64_t epoch;
	bool replaces_chunks; /* the new chunk, if any, replaces all others */
	struct bytes chunk;   /* empty: none */
};

/*
 * Makes the chunk with the definitions of batches that are after state.flushed_id, up to @upto_id.
 * Fills *@ret_change, which the caller releases, also after a failure.
 */
int epoch_make_chunk(const struct segment_db *db, struct sqlite_db *inbox, int64_t epoch,
		     uint64_t upto_id, struct epoch_change *ret_change);

static inline void epoch_change_release(struct epoch_change *change)
{
	bytes_release(&change->chunk);
}
