/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Takes the batches of agents: decodes, checks, deduplicates and stores a batch, and answers with
 * the executables whose debuginfo the server needs from this agent.
 */

#include "common/bytes.h"
#include "common/clock.h"
#include "common/scoped.h"
#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/store/store.h"

struct ingest;

/* Parts of an executable without debuginfo that agents send (Wanted.what of proto/batch.proto). */
enum ingest_policy {
	INGEST_WANTS_SYMBOLS = 1,        /* symbol tables: the default */
	INGEST_WANTS_DEBUG_SECTIONS = 2, /* symbol tables and all debug sections */
};

int ingest_new(struct store *store, struct debuginfo_store *debuginfo, const struct clock *clock,
	       struct ingest **ret_ingest);
struct ingest *ingest_free(struct ingest *ingest);

/* The memory for batches that are being decoded. Beyond it, batches are refused with -ENOMEM. Call
 * it before the first batch. */
void ingest_set_memory(struct ingest *ingest, struct memory_budget *memory);

/* Call it before the first batch. */
void ingest_set_policy(struct ingest *ingest, enum ingest_policy policy);

#define INGEST_MESSAGE_SIZE 320

struct ingest_request {
	const char *tenant;
	struct bytes_view body;
	const char *clock;  /* header X-Hearth-Clock of the agent (sender_clock.h); NULL: none */
	uint64_t waited_ns; /* since the arrival of the request, see batch_interval.h */
	bool is_imported;   /* no agent sent it, so that no debuginfo can be requested from it */
};

struct ingest_result {
	bool stored;  /* false: a duplicate, or numbers are unknown */
	bool too_old; /* refused: older than the store's retention */
	uint32_t n_rows;
	/* Parts of a stored batch that this version does not understand. */
	uint32_t n_unknown_frames, n_unknown_types, n_unknown_fields, n_rows_with_context;
	char message[INGEST_MESSAGE_SIZE]; /* the error, for the client */
};

/*
 * Takes one request. Appends a packed hearth.v1.BatchAnswer to @answer. Returns 0; -EBADMSG or
 * -EFBIG: the batch is invalid; -EPROTONOSUPPORT: it has a later format, and the agent keeps it
 * until the server is upgraded; -ETIME: the clocks of agent and server differ too much; -EDQUOT:
 * the agent has defined too many new stacks within an hour; -ENOSPC, -EIO, ...: an error of the
 * server. Except for an invalid batch, nothing of the batch was stored, and the agent keeps it and
 * retries. All set the message. Thread-safe.
 */
int ingest_batch(struct ingest *ingest, const struct ingest_request *request, struct bytes *answer,
		 struct ingest_result *ret_result);

/* Agents with a clock that differed from the server's when they sent their last batch. */
size_t ingest_count_wrong_clocks(struct ingest *ingest);

DEFINE_SCOPED(struct ingest *, ingest_free);
