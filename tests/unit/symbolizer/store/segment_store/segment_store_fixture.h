/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Opens the engine with the decoder of ingest. Batches and sums are those of the SQLite tests. */

#include "symbolizer/store/segment_store/segment_store.h"
#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include "symbolizer/ingest/batch_payload.h"

static inline struct segment_db_decoder segment_test_decoder(void)
{
	return (struct segment_db_decoder){ .decode = batch_payload_decode,
					    .extract_definitions = batch_payload_definitions,
					    .decode_definitions =
						    batch_payload_decode_definitions };
}

static inline struct store *open_segment_store(const char *folder, const struct clock *clock,
					       size_t max_head_bytes)
{
	const struct segment_store_options options = {
		.folder = folder,
		.clock = clock,
		.decoder = segment_test_decoder(),
		.max_head_bytes = max_head_bytes,
	};
	struct store *store = NULL;

	assert_ok(segment_store_open(&options, &store));
	return store;
}
