/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_ingest */

#include "symbolizer/ingest/batch_decoder.h"

/*
 * Decodes uncompressed messages, because a fuzzer cannot guess the checksums of zstd. Checks that a
 * decoded batch keeps the limits on which the store relies.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(arena_freep) struct arena *arena = NULL;
	char message[DECODE_MESSAGE_SIZE];
	struct batch batch;

	if (arena_new(BATCH_MAX_DECODED_BYTES, &arena) < 0)
		return 0;
	if (batch_decode_plain((struct bytes_view){ data, size }, arena, &batch, message) < 0)
		return 0;
	for (uint32_t i = 0; i < batch.n_stacks; i++) {
		assert(batch.stacks[i].n_frames <= STACK_MAX_FRAMES);
		for (uint32_t k = 0; k < batch.stacks[i].n_frames; k++)
			assert(batch.stacks[i].frames[k].kind != 0);
	}
	for (uint32_t i = 0; i < batch.n_rows; i++)
		assert(batch.rows[i].series != 0 &&
		       batch.rows[i].slot <= batch.closed_wall_ns / SLOT_NS + 1);
	return 0;
}
