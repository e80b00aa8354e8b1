/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by the fuzz targets of imported profiles. */

#include "symbolizer/import/import.h"
#include "symbolizer/ingest/batch_decoder.h"

/* 2026-11-27 12:00 UTC */
#define FUZZ_NOW_NS (UINT64_C(1795780800) * NSEC_PER_SEC)

static const struct import_request fuzz_request = {
	.name = "app{region=eu}",
	.now_ns = FUZZ_NOW_NS,
	.sample_rate_hz = 100,
};

/* The server accepts every batch that an import makes, unless memory is short. */
static inline void check_batches(struct import_result *result)
{
	for (size_t i = 0; i < result->batches.count; i++) {
		scoped(arena_freep) struct arena *arena = NULL;
		char message[DECODE_MESSAGE_SIZE];
		struct batch batch;
		int r = arena_new(BATCH_MAX_DECODED_BYTES, &arena);

		if (r == 0)
			r = batch_decode(bytes_view_of(&result->batches.items[i]), arena, &batch,
					 message);
		assert(r == 0 || r == -ENOMEM || r == -EFBIG);
	}
	import_result_release(result);
}
