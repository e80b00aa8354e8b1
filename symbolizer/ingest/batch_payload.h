/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stored payloads: the bodies of requests as they were received, and their definitions alone.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "symbolizer/store/batch.h"

/*
 * Decodes a body that batch_decode() has accepted before, and moves its times by @step_ns
 * (sender_clock.h). Errors are those of batch_decode(), without its message. @unused: see
 * segment_db_decoder.
 */
int batch_payload_decode(void *unused, struct bytes_view body, int64_t step_ns, struct arena *arena,
			 struct batch *ret_batch);

/* Appends the message of a body without rows, counters and contexts, not compressed, to @out. */
int batch_payload_definitions(void *unused, struct bytes_view body, struct bytes *out);

/* Decodes what batch_payload_definitions() has appended. */
int batch_payload_decode_definitions(void *unused, struct bytes_view message, struct arena *arena,
				     struct batch *ret_batch);
