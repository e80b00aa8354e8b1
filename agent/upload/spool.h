/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Batches that wait on disk: one file each, "EPOCH-SEQUENCE.batch" in 16 hex digits each, so that
 * the names sort in the order of sending. A file appears whole (temporary file, fsync, rename) and
 * goes away only by spool_remove_first() or when the bound is reached; a checksum in its header
 * tells a file that a crash or the disk has damaged.
 *
 * One process owns the folder (flock). Used by one thread. Only keys and sizes are kept in memory.
 */

#include "common/bytes.h"

struct spool;

struct spool_key {
	uint64_t epoch;
	uint64_t sequence;
};

/*
 * A batch is lost: the bound was reached (@problem 0), or its file is damaged (-EBADMSG) or
 * unreadable.
 */
typedef void (*spool_lost)(void *argument, const struct spool_key *key, int problem);

struct spool_options {
	const char *folder; /* made with mode 0700 where it is missing */
	uint64_t max_bytes;
	spool_lost lost;
	void *argument; /* of lost */
};

/* Finds what an earlier run left. -EBUSY: another process has the folder. */
int spool_open(const struct spool_options *options, struct spool **ret_spool);
struct spool *spool_close(struct spool *spool);

size_t spool_count(const struct spool *spool);
uint64_t spool_bytes(const struct spool *spool);

/*
 * Writes one batch; the oldest go until it fits below max_bytes, but never the one that
 * spool_first() gave out. -EFBIG: it alone is too large. Other negative errno: the disk; the spool
 * is as it was.
 */
int spool_push(struct spool *spool, const struct spool_key *key, struct bytes_view batch);

/*
 * Appends the oldest batch to @out. 1; 0 when the spool is empty. Damaged files on the way are
 * reported as lost and removed. Negative errno only when memory is short.
 */
int spool_first(struct spool *spool, struct spool_key *ret_key, struct bytes *out);

/* Deletes what spool_first() gave out: it has been delivered, or refused for good. */
void spool_remove_first(struct spool *spool);

#include "common/scoped.h"
DEFINE_SCOPED(struct spool *, spool_close);
