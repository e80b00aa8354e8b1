/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A batch's way in: decode, check, deduplicate, store, and answer with what the server wants of
 * this agent.
 */

#include "common/bytes.h"
#include "common/clock.h"
#include "common/scoped.h"
#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/store/store.h"

struct ingest;

/* What agents are asked to send for an executable without debuginfo (Wanted.what of
 * proto/batch.proto). */
enum ingest_policy {
	INGEST_WANTS_SYMBOLS = 1,        /* symbol tables: the default */
	INGEST_WANTS_DEBUG_SECTIONS = 2, /* all debug sections as well */
};

int ingest_new(struct store *store, struct debuginfo_store *debuginfo, const struct clock *clock,
	       struct ingest **ret_ingest);
struct ingest *ingest_free(struct ingest *ingest);

/* Before the first batch. */
void ingest_set_policy(struct ingest *ingest, enum ingest_policy policy);

#define INGEST_MESSAGE_SIZE 320

struct ingest_result {
	bool stored;  /* false: duplicate or unknown numbers */
	bool too_old; /* refused: beyond the store's retention */
	uint32_t n_rows;
	char message[INGEST_MESSAGE_SIZE]; /* what was wrong, for the client */
};

/*
 * Takes one request body. Appends a packed hearth.v1.BatchAnswer to @answer. 0; -EBADMSG or -EFBIG
 * (the client's fault, message set); -ENOSPC, -EIO ... (the server's fault, message set; nothing of
 * this batch is stored, the agent keeps it and tries again). Thread-safe.
 */
int ingest_batch(struct ingest *ingest, const char *tenant, struct bytes_view body,
		 struct bytes *answer, struct ingest_result *ret_result);

DEFINE_SCOPED(struct ingest *, ingest_free);
