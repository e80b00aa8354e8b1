/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A batch with at least one item of each kind, for the tests of the decoder.
 */

#include "symbolizer/ingest/batch_decoder.h"
#include "tests/support/batch_builder.h"

#define OPENED (UINT64_C(1767225600) * NSEC_PER_SEC) /* 2026-01-01 00:00 UTC */
#define CLOSED (OPENED + 5 * NSEC_PER_SEC)

struct batch_builder *small_batch(void);

/*
 * The same in format 2, with code objects, labels of a series, an event type and a frame kind that
 * the server does not know.
 */
#define UNKNOWN_KIND 19
struct batch_builder *small_batch_2(void);

/* Packs, compresses and decodes @message. */
int decode_message(const Hearth__V1__Batch *message, struct arena *arena, struct batch *batch,
		   char reason[DECODE_MESSAGE_SIZE]);
