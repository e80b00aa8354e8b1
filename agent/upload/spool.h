/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Batches that wait on disk. Each is a file "EPOCH-SEQUENCE.batch" with 16 hex digits each, so that
 * the order of names is the order of sending. A file is written atomically (temporary file, fsync,
 * rename). It is removed only by spool_remove_first(), or to stay below the maximum size. A
 * checksum in its header reveals damage by a crash or the disk.
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
 * Called when a batch is lost: the maximum size was reached (@problem 0), or its file is damaged
 * (-EBADMSG) or unreadable.
 */
typedef void (*spool_lost)(void *argument, const struct spool_key *key, int problem);

struct spool_options {
	const char *folder; /* created with mode 0700 if missing */
	uint64_t max_bytes;
	spool_lost lost;
	void *argument; /* of lost */
};

/* Also finds batches of an earlier run. -EBUSY: another process owns the folder. */
int spool_open(const struct spool_options *options, struct spool **ret_spool);
struct spool *spool_close(struct spool *spool);

size_t spool_count(const struct spool *spool);
uint64_t spool_bytes(const struct spool *spool);

/*
 * Writes one batch. Removes the oldest batches until the new one fits below max_bytes, but never
 * the batch that spool_first() returned. -EFBIG: the new batch does not fit, alone or beside that
 * one. Other negative errno: a disk error; the new batch is not stored, but older ones may be
 * removed.
 */
int spool_push(struct spool *spool, const struct spool_key *key, struct bytes_view batch);

/*
 * Appends the oldest batch to @out. 1; 0: the spool is empty. Damaged files are reported as lost
 * and removed. Negative errno only if memory is short.
 */
int spool_first(struct spool *spool, struct spool_key *ret_key, struct bytes *out);

/* Deletes the batch that spool_first() returned: it was delivered or permanently refused. */
void spool_remove_first(struct spool *spool);

#include "common/scoped.h"
DEFINE_SCOPED(struct spool *, spool_close);
